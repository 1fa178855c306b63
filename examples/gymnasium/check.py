"""Gymnasium's own checker, and its wrappers around one game and around a batch of them."""

import os
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium import wrappers
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as vector_wrappers

import rs_env  # noqa: F401  registers the environments

NAME = "rs_env/RollingStone-v0"
GAMES, STEPS = 3, 200

SINGLE: dict[str, Callable[[gymnasium.Env], gymnasium.Env]] = {
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "NormalizeObservation": wrappers.NormalizeObservation,
    "NormalizeReward": wrappers.NormalizeReward,
    "RescaleObservation": lambda env: wrappers.RescaleObservation(env, np.float32(-1), np.float32(1)),
    "TimeAwareObservation": wrappers.TimeAwareObservation,
    "FlattenObservation": wrappers.FlattenObservation,
    "DtypeObservation": lambda env: wrappers.DtypeObservation(env, np.float64),
    "FrameStackObservation": lambda env: wrappers.FrameStackObservation(env, 4),
}
VECTOR: dict[str, Callable[[gymnasium.vector.VectorEnv], gymnasium.vector.VectorEnv]] = {
    "RecordEpisodeStatistics": vector_wrappers.RecordEpisodeStatistics,
    "NormalizeObservation": vector_wrappers.NormalizeObservation,
    "NormalizeReward": vector_wrappers.NormalizeReward,
    "RescaleObservation": lambda envs: vector_wrappers.RescaleObservation(envs, np.float32(-1), np.float32(1)),
    "FlattenObservation": vector_wrappers.FlattenObservation,
    "DtypeObservation": lambda envs: vector_wrappers.DtypeObservation(envs, np.float64),
}


def play(env: gymnasium.Env) -> int:
    """Play some games by the masks; the number of steps. Each observation must be in the space that the wrapper
    names.
    """
    steps = 0
    env.action_space.seed(1)
    for game in range(GAMES):
        observation, info = env.reset(seed=game)
        over = False
        while not over:
            assert env.observation_space.contains(observation)
            observation, _, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
            assert "illegal_action" not in info
            over, steps = terminated or truncated, steps + 1
    env.close()
    return steps


def play_batch(envs: gymnasium.vector.VectorEnv) -> int:
    """The same with a batch; the number of games that ended. In the step after the end of a game its row starts the
    next one.
    """
    _, infos = envs.reset(seed=0)
    envs.action_space.seed(1)
    games = 0
    for _ in range(STEPS):
        observations, _, terminated, truncated, infos = envs.step(envs.action_space.sample(infos["action_mask"]))
        assert envs.observation_space.contains(observations)
        assert "illegal_action" not in infos
        games += int((terminated | truncated).sum())
    envs.close()
    return games


def record() -> None:
    """Films one game."""
    with tempfile.TemporaryDirectory() as temporary:
        env = gymnasium.make(NAME, render_mode="rgb_array")
        folder = Path(temporary) / "films"
        env = wrappers.RecordVideo(env, str(folder), episode_trigger=lambda game: game == 0, disable_logger=True)
        steps = play(env)
        films = list(folder.glob("*.mp4"))
        print(f"RecordVideo: {len(films)} film of {films[0].stat().st_size} bytes, {GAMES} games of {steps} steps")
        assert len(films) == 1


if __name__ == "__main__":
    print(", ".join(f"{name} {version(name)}" for name in ("gymnasium", "numpy", "moviepy")))
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # check_env opens windows
    for dtype in ("int8", "float32"):
        check_env(gymnasium.make(NAME, observation_dtype=dtype, max_actions=40).unwrapped)
        print(f"check_env: {dtype} observations pass")
        for name, wrap in SINGLE.items():
            print(f"{name}, {dtype}: {play(wrap(gymnasium.make(NAME, observation_dtype=dtype)))} steps")
        for name, wrap_batch in VECTOR.items():
            envs = gymnasium.make_vec(
                NAME,
                num_envs=8,
                vectorization_mode="vector_entry_point",
                observation_dtype=dtype,
                autoreset_mode=AutoresetMode.NEXT_STEP,
            )
            games = play_batch(wrap_batch(envs))
            print(f"vector {name}, {dtype}: {games} games")
            assert games > 0
    record()
