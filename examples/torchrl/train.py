"""TorchRL learns by PPO with masks: one learner against a random player, by its collector, its GAE and its loss.

One learner sits among named opponents, so that neighbouring steps are those of one player, as TorchRL's GAE takes them;
``self_play.py`` has one network play all seats.
"""

from importlib.metadata import version
from time import perf_counter

import numpy as np
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.data import Binary
from torchrl.envs import GymEnv
from torchrl.envs.gym_like import default_info_dict_reader
from torchrl.envs.utils import ExplorationType, set_exploration_type
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import rs_env  # noqa: F401  registers the environments
from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent

STEPS, ROLLOUT, EPOCHS, MINIBATCH = 40_960, 2048, 4, 256


def make_env() -> GymEnv:
    """Two players; the mask comes from the info, and an illegal move raises."""
    env = GymEnv(
        "rs_env/RollingStone-v0",
        num_players=2,
        opponents="random",
        skip_forced=True,
        observation_dtype="float32",
        illegal_action="raise",
        categorical_action_encoding=True,
    )
    return env.set_info_dict_reader(
        default_info_dict_reader(["action_mask"], spec={"action_mask": Binary(53, dtype=torch.int8)})
    )


class MaskedNet(nn.Module):
    """Logits of which those of illegal actions are a large negative number: finite, for rows without legal actions."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 53))

    def forward(self, observation: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits (..., 53)."""
        return self.net(observation).masked_fill(mask == 0, -1e9)


def main() -> None:
    """Train, measure before and after, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("torchrl", "tensordict", "gymnasium", "torch")))
    torch.manual_seed(1)
    torch.set_num_threads(1)
    env = make_env()
    env.set_seed(1)
    size = env.observation_spec["observation"].shape[-1]
    net = MaskedNet(size)
    actor = ProbabilisticActor(
        TensorDictModule(net, ["observation", "action_mask"], ["logits"]),
        in_keys=["logits"],
        distribution_class=Categorical,
        return_log_prob=True,
        default_interaction_type=ExplorationType.RANDOM,
    )
    value = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))
    critic = ValueOperator(value, ["observation"])
    advantages = GAE(gamma=1.0, lmbda=0.95, value_network=critic, average_gae=True)
    loss_of = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=1.0)
    optimizer = torch.optim.Adam(loss_of.parameters(), 1e-3)

    def logits(rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return net.net(torch.from_numpy(rows)).numpy()

    agent = LogitsAgent(logits, "PPO")
    print("before:", duel(agent, "random", Rules(num_players=2), deals=500))
    begin = perf_counter()
    collector = Collector(
        env, actor, frames_per_batch=ROLLOUT, total_frames=STEPS, auto_register_policy_transforms=False
    )
    with set_exploration_type(ExplorationType.RANDOM):  # the likeliest action of all seats may never end a game
        for steps in collector:
            for _ in range(EPOCHS):
                with torch.no_grad():
                    advantages(steps)
                for chosen in torch.randperm(len(steps)).split(MINIBATCH):
                    losses = loss_of(steps[chosen])
                    loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(loss_of.parameters(), 0.5)
                    optimizer.step()
    collector.shutdown()
    print(f"{STEPS} steps, {STEPS / (perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent, "random", Rules(num_players=2), deals=500)
    print("after:", after)
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main()
