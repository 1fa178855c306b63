"""TorchRL plays all three kinds of environments by their masks, without an illegal move."""

from importlib.metadata import version

import torch
from tensordict.nn import (
    InteractionType,
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
)
from torchrl.data import Binary
from torchrl.envs import ActionMask, GymEnv, PettingZooWrapper, TransformedEnv, check_env_specs
from torchrl.envs.gym_like import default_info_dict_reader
from torchrl.modules import MaskedCategorical

import rs_env

STEPS = 500


def single() -> None:
    """One learner among named opponents: TorchRL reads the mask from the info. An illegal move raises here."""
    env = GymEnv(
        "rs_env/RollingStone-v0", observation_dtype="float32", illegal_action="raise", categorical_action_encoding=True
    )
    check_env_specs(GymEnv("rs_env/RollingStone-v0"))
    mask = {"action_mask": Binary(53, dtype=torch.int8)}
    env = TransformedEnv(env.set_info_dict_reader(default_info_dict_reader(["action_mask"], spec=mask)), ActionMask())
    env.set_seed(1)
    steps = env.rollout(STEPS, break_when_any_done=False)
    report("GymEnv", steps, steps["next", "reward"])


def parallel() -> None:
    """All seats in one group, and a network that plays each of them; seats that wait have their pickup marked."""
    env = PettingZooWrapper(rs_env.parallel_env(observation_dtype="float32", mark_waiting=True))
    check_env_specs(env)
    env.set_seed(1)
    steps = env.rollout(STEPS, break_when_any_done=False)
    report("PettingZooWrapper, parallel", steps, steps["next", "player", "reward"])

    observation, mask, logits = (
        ("player", "observation", "observation"),
        ("player", "action_mask"),
        ("player", "logits"),
    )
    network = torch.nn.Sequential(torch.nn.LazyLinear(64), torch.nn.ReLU(), torch.nn.LazyLinear(53))
    choice = ProbabilisticTensorDictModule(
        {"logits": logits, "mask": mask},
        [env.action_key],
        distribution_class=MaskedCategorical,
        # The default takes the likeliest action, and such play may never end.
        default_interaction_type=InteractionType.RANDOM,
    )
    policy = ProbabilisticTensorDictSequential(TensorDictModule(network, [observation], [logits]), choice)
    steps = env.rollout(STEPS, policy, break_when_any_done=False)
    report("the same with a network", steps, steps["next", "player", "reward"])


def turns() -> None:
    """The AEC environment: a group for each seat, all masks as they are."""
    env = PettingZooWrapper(rs_env.env(observation_dtype="float32"), use_mask=True)
    check_env_specs(env)
    env.set_seed(1)
    steps = env.rollout(STEPS, break_when_any_done=False)
    report("PettingZooWrapper, AEC", steps, torch.stack([steps["next", group, "reward"] for group in env.group_map]))


def report(name: str, steps, rewards: torch.Tensor) -> None:
    """Say how far it came. The reward of an illegal move is -1, and the rules as they are by default have no other
    below 0.
    """
    games, illegal = int(steps["next", "done"].sum()), int((rewards < 0).sum())
    print(f"{name}: {len(steps)} steps, {games} games ended, {illegal} illegal moves")
    assert len(steps) == STEPS
    assert games > 0
    assert illegal == 0


if __name__ == "__main__":
    print(
        ", ".join(f"{name} {version(name)}" for name in ("torchrl", "tensordict", "pettingzoo", "gymnasium", "torch"))
    )
    torch.manual_seed(1)
    single()
    parallel()
    turns()
