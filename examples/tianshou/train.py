"""Tianshou 2: PPO with a masked actor learns against a random player, and DQN plays all seats of a PettingZoo table.

Tianshou's DQN reads the mask of an observation by itself; its own actors for PPO do not, so the actor here does.
"""

from importlib.metadata import version
from time import perf_counter

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import DQN, PPO
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.net.common import AbstractDiscreteActor, Net
from tianshou.utils.net.discrete import dist_fn_categorical_from_logits
from torch import nn

import rs_env
from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent

STEPS, TABLE_STEPS = 60_000, 4_000
QUIET = {"verbose": False, "show_progress": False}


class MaskInObservation(gymnasium.Wrapper):
    """Observations as Tianshou wants them: the vector under `obs`, the mask under `mask`."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        actions = gymnasium.spaces.MultiBinary(int(env.action_space.n))
        self.observation_space = gymnasium.spaces.Dict({"obs": env.observation_space, "mask": actions})

    def reset(self, **options):
        """As the environment's."""
        row, info = self.env.reset(**options)
        return {"obs": row, "mask": info["action_mask"] == 1}, {}

    def step(self, action):
        """As the environment's."""
        row, reward, terminated, truncated, info = self.env.step(action)
        return {"obs": row, "mask": info["action_mask"] == 1}, reward, terminated, truncated, {}


def make_env() -> gymnasium.Env:
    """One learner against one random player; an illegal move raises."""
    return MaskInObservation(
        gymnasium.make(
            "rs_env/RollingStone-v0",
            num_players=2,
            opponents="random",
            skip_forced=True,
            observation_dtype="float32",
            illegal_action="raise",
        )
    )


class MaskedActor(AbstractDiscreteActor):
    """Logits of which those of illegal actions are a large negative number."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__(actions)
        self.net = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 53))

    def get_preprocess_net(self):
        """None: there is no net before the actor's own."""
        return None  # noqa: RET501

    def forward(self, obs, state=None, info=None):
        """Logits (B, 53) and no state."""
        logits = self.net(torch.as_tensor(obs.obs))
        return logits.masked_fill(~torch.as_tensor(obs.mask, dtype=torch.bool), -1e9), state


class Critic(nn.Module):
    """Values of observations."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))

    def forward(self, obs, state=None, info=None):
        """Values (B, 1)."""
        return self.net(torch.as_tensor(obs.obs))


def ppo() -> None:
    """Train PPO, and measure it before and after."""
    envs, one = DummyVectorEnv([make_env] * 16), make_env()
    space, actions = one.observation_space["obs"], one.action_space
    actor = MaskedActor(space.shape[0], int(actions.n))
    policy = ProbabilisticActorPolicy(
        actor=actor, dist_fn=dist_fn_categorical_from_logits, action_space=actions, action_scaling=False
    )
    learner = PPO(policy=policy, critic=Critic(space.shape[0]), optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0)

    def logits(rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return actor.net(torch.from_numpy(rows)).numpy()

    agent, begin = LogitsAgent(logits, "PPO"), perf_counter()
    print("before:", duel(agent, "random", Rules(num_players=2), deals=500))
    parameters = OnPolicyTrainerParams(
        training_collector=Collector(learner, envs, VectorReplayBuffer(16 * 256, 16)),
        max_epochs=1,
        epoch_num_steps=STEPS,
        collection_step_num_env_steps=4096,
        update_step_num_repetitions=4,
        batch_size=512,
        **QUIET,
    )
    learner.run_training(parameters)
    print(f"PPO: {STEPS} steps, {STEPS / (perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent, "random", Rules(num_players=2), deals=500)
    print("after:", after)
    assert after.bounds[0] > after.parity


def dqn() -> None:
    """A DQN for each of four seats of one table, where an illegal move raises."""
    envs = DummyVectorEnv([lambda: PettingZooEnv(rs_env.raw_env(observation_dtype="float32"))] * 4)
    table = PettingZooEnv(rs_env.raw_env(observation_dtype="float32"))
    size, actions = table.observation_space["observation"].shape, table.action_space

    def seat() -> DQN:
        net = Net(state_shape=size, action_shape=actions.n, hidden_sizes=(64,))
        policy = DiscreteQLearningPolicy(model=net, action_space=actions, eps_training=0.1)
        return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=100)

    learner = MultiAgentOffPolicyAlgorithm(algorithms=[seat() for _ in table.agents], env=table)
    parameters = OffPolicyTrainerParams(
        training_collector=Collector(learner, envs, VectorReplayBuffer(20_000, 4), exploration_noise=True),
        max_epochs=1,
        epoch_num_steps=TABLE_STEPS,
        collection_step_num_env_steps=200,
        update_step_num_gradient_steps_per_sample=0.02,
        multi_agent_return_reduction=lambda returns: returns[:, 0],
        **QUIET,
    )
    learner.run_training(parameters)
    print(f"DQN on four seats: {TABLE_STEPS} turns, 0 illegal moves")


if __name__ == "__main__":
    print(", ".join(f"{name} {version(name)}" for name in ("tianshou", "gymnasium", "pettingzoo", "torch")))
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002  where Tianshou draws from
    torch.set_num_threads(1)
    ppo()
    dqn()
