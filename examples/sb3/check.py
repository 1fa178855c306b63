"""MaskablePPO of sb3-contrib learns to beat random opponents, and makes no illegal move while it does."""

from importlib.metadata import version

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

import rs_env  # noqa: F401  registers the environments

STEPS, GAMES = 20_000, 400
FAIR = 0.25  # what each of four equal players wins


class CountIllegal(BaseCallback):
    """Counts the illegal moves of a run."""

    illegal = 0

    def _on_step(self) -> bool:
        self.illegal += sum(bool(info.get("illegal_action")) for info in self.locals["infos"])
        return True


def main() -> None:
    """Train, play, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("stable-baselines3", "sb3-contrib", "gymnasium", "torch")))

    options = {"observation_dtype": "float32", "opponents": "random", "skip_forced": True}
    env = make_vec_env("rs_env/RollingStone-v0", n_envs=8, seed=1, env_kwargs=options)
    model = MaskablePPO("MlpPolicy", env, n_steps=256, batch_size=512, gamma=1.0, seed=1, device="cpu")
    count = CountIllegal()
    model.learn(STEPS, callback=count)
    share, _ = evaluate_policy(model, env, n_eval_episodes=GAMES)  # the reward of a game is 1 for its winner
    print(f"MaskablePPO: {model.num_timesteps} steps, {count.illegal} illegal moves")
    print(f"against random opponents it wins {share:.3f} of {GAMES} games, where {FAIR} is fair")
    assert count.illegal == 0
    assert share > FAIR + 0.05

    # Algorithms that know no masks need an environment that plays something else for an illegal move.
    env = make_vec_env("rs_env/RollingStone-v0", n_envs=8, seed=1, env_kwargs=options | {"illegal_action": "random"})
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=512, seed=1, device="cpu")
    count = CountIllegal()
    model.learn(2048, callback=count)
    print(f"PPO without masks: {model.num_timesteps} steps, {count.illegal} illegal moves replaced by random ones")
    assert count.illegal > 0


if __name__ == "__main__":
    main()
