"""Is this checkout as fast as another one? The same measurements in both, in turns, as ratios.

    git worktree add ../before COMMIT
    python benchmarks/compare.py ../before            # about five minutes on an idle machine
    python benchmarks/compare.py ../before --rounds 3 --seconds 0.5

Each round starts a process in each checkout, now one first, now the other; a row's ratio is this checkout's rate over
the other's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def rate(work: Callable[[], int], seconds: float) -> float:
    """The median rate of `work`, which returns its number of actions."""
    work()  # compiles
    rates, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        rates.append(work() / (time.perf_counter() - begin))
    return statistics.median(rates)


def batch(games: int) -> Callable[[], int]:
    """Random steps of a batch with observations."""
    from rs_env import SelfPlayVectorEnv

    vec, steps = SelfPlayVectorEnv(games, seed=0), max(1, 65536 // games)

    def work() -> int:
        for _ in range(steps):
            vec.step(vec.random_actions())
        return steps * games

    return work


def gymnasium_batch() -> int:
    """A learner's lowest actions against three heuristic players, 1,024 games."""
    import gymnasium

    vec = gymnasium.make_vec(
        "rs_env/RollingStone-v0", 1024, vectorization_mode="vector_entry_point", opponents="heuristic"
    )
    _, infos = vec.reset(seed=0)
    for _ in range(20):
        *_, infos = vec.step(infos["action_mask"].argmax(1))
    return 20 * 1024


def gymnasium_single() -> int:
    """The same in single games."""
    import gymnasium

    env, actions = gymnasium.make("rs_env/RollingStone-v0", opponents="heuristic"), 0
    for seed in range(12):
        _, info = env.reset(seed=seed)
        while info["action_mask"].any():
            *_, info = env.step(int(info["action_mask"].argmax()))
            actions += 1
    return actions


def pettingzoo_games(name: str) -> int:
    """Eight random games through the AEC interface."""
    import rs_env

    env, actions = getattr(rs_env, name)(), 0
    for seed, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed)
    for seed in range(8):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            action = None if terminated or truncated else env.action_space(agent).sample(observation["action_mask"])
            env.step(action)
            actions += action is not None
    return actions


def duel_games() -> int:
    """1,000 games between rule-based players."""
    from rs_env.arena import duel

    return duel("heuristic", "random", deals=250, seed=1).games


def measure(seconds: float) -> dict[str, float]:
    """All rates of the checkout in the working directory."""
    import rs_env

    if not Path(rs_env.__file__).is_relative_to(Path.cwd()):
        raise RuntimeError(f"{rs_env.__file__} is not of {Path.cwd()}")
    rows: dict[str, Callable[[], int]] = {
        "batch of 4,096": batch(4096),
        "batch of 64": batch(64),
        "Gymnasium batch of 1,024": gymnasium_batch,
        "Gymnasium, one game": gymnasium_single,
        "raw_env": lambda: pettingzoo_games("raw_env"),
        "env": lambda: pettingzoo_games("env"),
        "duel": duel_games,
    }
    return {name: rate(work, seconds) for name, work in rows.items()}


def measured_in(checkout: Path, seconds: float) -> dict[str, float]:
    """The rates of a checkout, from a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", "--seconds", str(seconds)]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "RS_ENV_QUIET": "1"}
    return json.loads(
        subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    )


def main() -> None:
    """Measure in turns, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?", help="folder of the other checkout")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1.5, help="for each row")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.seconds)))
        return
    if arguments.other is None:
        parser.error("the folder of the other checkout is missing")
    checkouts = (arguments.other.resolve(), HERE)
    for checkout in checkouts:
        measured_in(checkout, 0.01)  # compiles
    rounds = []
    for number in range(arguments.rounds):
        order = checkouts if number % 2 == 0 else checkouts[::-1]
        found = {checkout: measured_in(checkout, arguments.seconds) for checkout in order}
        rounds.append([found[checkout] for checkout in checkouts])
    print("| actions a second (duel: games) | other | here | ratio of medians | of rounds: lowest, median, highest |")
    print("|---|---:|---:|---:|---:|")
    for name in rounds[0][0]:
        other, here = (statistics.median(each[k][name] for each in rounds) for k in (0, 1))
        ratios = sorted(each[1][name] / each[0][name] for each in rounds)
        spread = ", ".join(f"{ratio:.2f}" for ratio in (ratios[0], statistics.median(ratios), ratios[-1]))
        print(f"| {name} | {other:,.0f} | {here:,.0f} | {here / other:.2f} | {spread} |")


if __name__ == "__main__":
    main()
