"""TorchRL's PPO by self-play: one network plays all seats of a PettingZoo table, and learns seat by seat.

TorchRL's GAE follows the time of its data. Around the parallel environment every seat has a column of its own in each
step, whether it acts or waits, so that advantages run along the steps of one seat and no two seats are mixed. Seats
that wait, and turns without a choice, are left out of the loss.
"""

from importlib.metadata import version
from time import perf_counter

import numpy as np
import torch
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import ExplorationType, set_exploration_type
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import rs_env
from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent

STEPS, ROLLOUT, EPOCHS, MINIBATCH = 49_152, 4096, 4, 256
RULES = Rules(num_players=2)  # two equal players win half of the games each
GROUP = "player"  # TorchRL's name for all seats player_0, player_1, ...
OBSERVATION, MASK = (GROUP, "observation", "observation"), (GROUP, "action_mask")


def make_env() -> PettingZooWrapper:
    """All seats in one group; seats that wait may pick up; an illegal move raises `IllegalActionError`."""
    env = rs_env.raw_env(RULES, observation_dtype="float32", mark_waiting=True)
    return PettingZooWrapper(turn_based_aec_to_parallel(env), categorical_actions=True)


class MaskedNet(nn.Module):
    """Logits of which those of illegal actions are a large negative number."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 53))

    def forward(self, observation: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits (..., 53)."""
        return self.net(observation).masked_fill(mask == 0, -1e9)


def decisions(steps: TensorDict) -> TensorDict:
    """The rows (N,) of a rollout (T,) in which a seat had a choice, of all seats."""
    rows = steps[GROUP].reshape(-1)
    rows = rows[rows["action_mask"].sum(-1) > 1]
    return TensorDict({GROUP: rows}, batch_size=rows.batch_size)


def main() -> None:
    """Train, measure before and after, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("torchrl", "tensordict", "pettingzoo", "torch")))
    torch.manual_seed(1)
    torch.set_num_threads(1)
    env = make_env()
    env.set_seed(1)
    size = env.observation_spec[OBSERVATION].shape[-1]
    net = MaskedNet(size)
    actor = ProbabilisticActor(
        TensorDictModule(net, [OBSERVATION, MASK], [(GROUP, "logits")]),
        in_keys=[(GROUP, "logits")],
        out_keys=[env.action_key],
        distribution_class=Categorical,
        return_log_prob=True,
        log_prob_key=(GROUP, "log_prob"),
        default_interaction_type=ExplorationType.RANDOM,
    )
    value = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))
    critic = ValueOperator(value, [OBSERVATION], [(GROUP, "value")])
    keys = {name: (GROUP, name) for name in ("value", "advantage", "value_target")}
    advantages = GAE(gamma=1.0, lmbda=0.95, value_network=critic, average_gae=False)
    # The deal limit is part of the game, so that a truncated game is over: nothing follows it.
    advantages.set_keys(reward=(GROUP, "reward"), done=(GROUP, "done"), terminated=(GROUP, "done"), **keys)
    loss_of = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=1.0)
    loss_of.set_keys(action=env.action_key, sample_log_prob=(GROUP, "log_prob"), **keys)
    optimizer = torch.optim.Adam(loss_of.parameters(), 1e-3)

    def logits(rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return net.net(torch.from_numpy(rows)).numpy()

    agent = LogitsAgent(logits, "PPO")
    print("before:", duel(agent, "random", RULES, deals=500))
    begin = perf_counter()
    collector = Collector(
        env, actor, frames_per_batch=ROLLOUT, total_frames=STEPS, auto_register_policy_transforms=False
    )
    with set_exploration_type(ExplorationType.RANDOM):  # the likeliest action of all seats may never end a game
        for steps in collector:
            with torch.no_grad():
                advantages(steps)
            rows = decisions(steps)
            better = rows[GROUP, "advantage"]
            rows[GROUP, "advantage"] = (better - better.mean()) / (better.std() + 1e-8)
            for _ in range(EPOCHS):
                for chosen in torch.randperm(len(rows)).split(MINIBATCH):
                    losses = loss_of(rows[chosen])
                    loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(loss_of.parameters(), 0.5)
                    optimizer.step()
    collector.shutdown()
    print(f"{STEPS} steps, {STEPS / (perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent, "random", RULES, deals=500)
    print("after:", after)
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main()
