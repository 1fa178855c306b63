"""MaskablePPO of sb3-contrib makes no illegal move, and learns to beat a random opponent."""

import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecVideoRecorder

import rs_env  # noqa: F401  registers the environments

STEPS, GAMES = 20_000, 400
OPTIONS = {"observation_dtype": "float32"}
LEARNING = OPTIONS | {
    "num_players": 2,
    "opponents": "random",
    "skip_forced": True,
}  # two equal players win half of the games each


class CountIllegal(BaseCallback):
    """Counts the illegal moves of a run."""

    illegal = 0

    def _on_step(self) -> bool:
        self.illegal += sum(bool(info.get("illegal_action")) for info in self.locals["infos"])
        return True


def train(
    learner: type[PPO] | type[MaskablePPO], steps: int, options: dict, **settings
) -> tuple[PPO | MaskablePPO, int]:
    """A model after so many steps of eight environments, and how many of its moves were illegal."""
    env = make_vec_env("rs_env/RollingStone-v0", n_envs=8, seed=1, env_kwargs=options)
    model = learner("MlpPolicy", env, n_steps=256, batch_size=256, gamma=1.0, seed=1, device="cpu", **settings)
    count = CountIllegal()
    model.learn(steps, callback=count)
    return model, count.illegal


def film(model: MaskablePPO) -> tuple[tuple[int, ...], int]:
    """The size of a picture of four tables, and the bytes of a film of them, on which the model plays."""
    env = make_vec_env("rs_env/RollingStone-v0", 4, seed=1, env_kwargs=OPTIONS | {"render_size": (300, 200)})
    assert env.render_mode == "rgb_array"  # which make_vec_env asks for unless it is told otherwise
    env.reset()
    picture = env.render()
    assert picture is not None and len(np.unique(picture)) > 10
    with tempfile.TemporaryDirectory() as temporary:
        env = VecVideoRecorder(env, temporary, record_video_trigger=lambda step: step == 0, video_length=20)
        observations = env.reset()
        for _ in range(25):
            masks = np.stack(env.env_method("action_masks"))
            actions, _ = model.predict(observations, action_masks=masks)
            observations, *_ = env.step(actions)
        env.close()
        (recorded,) = Path(temporary).glob("*.mp4")
        return picture.shape, recorded.stat().st_size


def main() -> None:
    """Train, play, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("stable-baselines3", "sb3-contrib", "gymnasium", "torch")))
    torch.set_num_threads(1)  # small networks: more threads only wait for one another

    model, illegal = train(MaskablePPO, STEPS, OPTIONS, n_epochs=2)
    print(f"MaskablePPO, four players: {model.num_timesteps} steps, {illegal} illegal moves")
    assert illegal == 0

    size, length = film(model)
    print(f"make_vec_env: a picture of four tables is {size}, a film of them has {length} bytes")
    assert size == (400, 600, 3) and length > 0

    model, illegal = train(MaskablePPO, STEPS, LEARNING, learning_rate=1e-3)
    share, _ = evaluate_policy(
        model, model.get_env(), n_eval_episodes=GAMES
    )  # the reward of a game is 1 for its winner
    print(
        f"MaskablePPO, two players: {model.num_timesteps} steps, {illegal} illegal moves, then {share:.3f} of {GAMES}"
        " games won"
    )
    assert illegal == 0
    assert share > 0.6

    # Algorithms that know no masks need an environment that plays something else for an illegal move.
    model, illegal = train(PPO, 2048, OPTIONS | {"illegal_action": "random"}, n_epochs=2)
    print(f"PPO without masks: {model.num_timesteps} steps, {illegal} illegal moves replaced by random ones")
    assert illegal > 0


if __name__ == "__main__":
    main()
