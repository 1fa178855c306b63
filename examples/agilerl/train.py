"""AgileRL's PPO for one learner, with masks from the infos of a Gymnasium batch, learns against a random player."""

from importlib.metadata import version
from time import perf_counter

import gymnasium
import numpy as np
import torch
from agilerl.algorithms import PPO
from agilerl.rollouts.on_policy import collect_rollouts

import rs_env  # noqa: F401  registers the environments
from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent

ENVS, LEARN_STEP, ROUNDS = 64, 8192, 20
RULES = Rules(num_players=2)  # two equal players win half of the games each


def main() -> None:
    """Train, measure before and after, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("agilerl", "gymnasium", "torch")))
    torch.manual_seed(1)
    torch.set_num_threads(1)
    envs = gymnasium.make_vec(
        "rs_env/RollingStone-v0",
        num_envs=ENVS,
        vectorization_mode="vector_entry_point",
        rules=RULES,
        opponents="random",
        skip_forced=True,
        observation_dtype="float32",
        illegal_action="raise",
    )
    learner = PPO(
        envs.single_observation_space,
        envs.single_action_space,
        net_config={"encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}},
        batch_size=512,
        lr=1e-3,
        learn_step=LEARN_STEP,
        gamma=1.0,
        num_envs=ENVS,
        normalize_images=False,
    )

    def logits(rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            actor = learner.actor
            return actor.head_net.wrapped(actor.extract_features(torch.from_numpy(rows))).numpy()

    agent = LogitsAgent(logits, "PPO")
    print("before:", duel(agent, "random", RULES, deals=500))
    begin, last = perf_counter(), {}
    for _ in range(ROUNDS):
        _, *now = collect_rollouts(learner, envs, **last)
        last = dict(zip(("last_obs", "last_done", "last_scores", "last_info"), now, strict=True))
        learner.learn()
    steps = ROUNDS * LEARN_STEP
    print(f"{steps} steps, {steps / (perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent, "random", RULES, deals=500)
    print("after:", after)
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main()
