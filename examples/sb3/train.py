"""MaskablePPO of sb3-contrib learns against random players, and makes no illegal move."""

from importlib.metadata import version
from time import perf_counter

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent
from rs_env.envs.sb3 import RollingStoneVecEnv

STEPS, DEALS = 200_000, 500
RULES = Rules(num_players=2)  # two equal players win half of the games each
OPTIONS = {"rules": RULES, "opponents": "random", "skip_forced": True}


class CountIllegal(BaseCallback):
    """Counts the illegal moves of a run."""

    illegal = 0

    def _on_step(self) -> bool:
        self.illegal += sum(bool(info.get("illegal_action")) for info in self.locals["infos"])
        return True


def agent(model: MaskablePPO) -> LogitsAgent:
    """The model as an agent for the arena."""

    def logits(rows, masks):
        with torch.inference_mode():
            return model.policy.get_distribution(torch.from_numpy(rows), action_masks=masks).distribution.logits

    return LogitsAgent(logits, "MaskablePPO")


def learn(env, steps: int, settings: dict) -> tuple[MaskablePPO, int]:
    """A model after so many steps, and how many of its moves were illegal."""
    model = MaskablePPO("MlpPolicy", env, gamma=1.0, seed=1, device="cpu", **settings)
    count, begin = CountIllegal(), perf_counter()
    model.learn(steps, callback=count)
    print(
        f"{model.num_timesteps} steps, {steps / (perf_counter() - begin):.0f} a second, {count.illegal} illegal moves"
    )
    assert count.illegal == 0
    return model, count.illegal


def main() -> None:
    """Train, play, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("stable-baselines3", "sb3-contrib", "gymnasium", "torch")))
    torch.set_num_threads(1)  # small networks: more threads only wait for one another

    # What stable-baselines3 makes by itself: one game after the other.
    env = make_vec_env(
        "rs_env/RollingStone-v0", n_envs=8, seed=1, env_kwargs=OPTIONS | {"observation_dtype": "float32"}
    )
    learn(env, 4096, {"n_steps": 256})

    # The batch: all games in one step.
    env = RollingStoneVecEnv(64, **OPTIONS)
    env.seed(1)
    settings = {"n_steps": 128, "batch_size": 1024, "n_epochs": 4, "learning_rate": 1e-3, "ent_coef": 0.005}
    untrained = MaskablePPO("MlpPolicy", env, device="cpu", seed=1)
    print("before:", duel(agent(untrained), "random", RULES, deals=DEALS))
    model, _ = learn(env, STEPS, settings | {"policy_kwargs": {"net_arch": [256, 256]}})
    after = duel(agent(model), "random", RULES, deals=DEALS)
    print("after:", after)
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main()
