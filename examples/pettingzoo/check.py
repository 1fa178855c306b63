"""PettingZoo's own tests and wrappers, and its conversion to parallel environments."""

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, render_test, seed_test
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import rs_env

GAMES = 20


WRAPPERS = {
    "OrderEnforcingWrapper": wrappers.OrderEnforcingWrapper,
    "AssertOutOfBoundsWrapper": wrappers.AssertOutOfBoundsWrapper,
    "TerminateIllegalWrapper": lambda env: wrappers.TerminateIllegalWrapper(env, illegal_reward=-1),
}


def play(env) -> tuple[int, int]:
    """Some games by the masks; turns and illegal moves, which have a reward of -1."""
    turns = illegal = 0
    for game in range(GAMES):
        env.reset(seed=game)
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            illegal += reward < 0
            over = terminated or truncated
            env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
            turns += not over
    return turns, illegal


def play_parallel(env) -> int:
    """Games of the conversion; the number of steps. An illegal move raises."""
    steps = 0
    for game in range(GAMES):
        observations, _ = env.reset(seed=game)
        while env.agents:
            masks = {agent: shown["action_mask"] for agent, shown in observations.items()}
            actions = {agent: env.action_space(agent).sample(mask) for agent, mask in masks.items() if mask.any()}
            observations, _, _, _, _ = env.step(actions | dict.fromkeys(set(env.agents) - set(actions), 0))
            steps += 1
    return steps


def films() -> Iterator[Path]:
    """One game of each of the two interfaces, filmed."""
    with tempfile.TemporaryDirectory() as temporary:
        for name, record, make in (
            ("aec", wrappers.RecordVideo, rs_env.env),
            ("parallel", wrappers.RecordVideoParallel, rs_env.parallel_env),
        ):
            env = make(render_mode="rgb_array", render_size=(480, 320), num_players=2)
            env = record(env, str(Path(temporary) / name), episode_trigger=lambda game: game == 1)
            (play if name == "aec" else play_parallel)(env)
            env.close()
            yield from (Path(temporary) / name).glob("*.mp4")


if __name__ == "__main__":
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # render_test opens windows
    print(", ".join(f"{name} {version(name)}" for name in ("pettingzoo", "gymnasium", "numpy")))
    with contextlib.redirect_stdout(io.StringIO()):  # the tests print what they have passed
        api_test(rs_env.env(), num_cycles=1000)
        seed_test(rs_env.env)
        parallel_api_test(rs_env.parallel_env(), num_cycles=1000)
        parallel_seed_test(rs_env.parallel_env)
        render_test(lambda render_mode: rs_env.env(render_mode=render_mode, max_actions=40))
    print("api_test, seed_test, parallel_api_test, parallel_seed_test, render_test pass")
    for name, wrap in WRAPPERS.items():
        turns, illegal = play(wrap(rs_env.raw_env()))
        print(f"{name}: {GAMES} games, {turns} turns, {illegal} illegal moves")
        assert illegal == 0
    steps = play_parallel(turn_based_aec_to_parallel(rs_env.raw_env()))
    print(f"turn_based_aec_to_parallel: {GAMES} games, {steps} steps, no illegal move")
    sizes = [film.stat().st_size for film in films()]
    print(f"RecordVideo, RecordVideoParallel: films of {sizes} bytes")
    assert len(sizes) == 2 and min(sizes) > 0
