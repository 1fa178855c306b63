"""Measure actions per second of rs_env and of the peers that are installed, interleaved in one run.

    python benchmarks/bench.py              # about five minutes on an idle machine; two cores for the rows with two
    threads python benchmarks/bench.py --quick      # half a minute, to see that it works

Prints a Markdown table (median, lowest and highest of the rounds) with the ratios that matter, and writes
``benchmarks/results/bench.json`` and, with matplotlib, ``bench.png``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from peers import LIBRARIES, Measurement, aec
from plain_loop import PlainLoop

import rs_env
from rs_env import SelfPlayVectorEnv

RESULTS = Path(__file__).parent / "results"
BATCHES = (1, 64, 1024, 4096, 16384)
PLAYERS = range(2, 9)
GYM_ID = "rs_env/RollingStone-v0"


def repeated(work: Callable[[], int]) -> Measurement:
    """A measurement that does `work`, which returns its number of actions, until the budget is spent."""

    def run(budget: float) -> int:
        actions, end = 0, time.perf_counter() + budget
        while time.perf_counter() < end:
            actions += work()
        return actions

    return run


def batch(games: int, **options: object) -> Measurement:
    """A batch with observations and masks, random legal actions drawn inside the engine."""
    vec = SelfPlayVectorEnv(games, **options)

    def work() -> int:
        for _ in range(max(1, 4096 // games)):
            vec.step(vec.random_actions())
        return max(1, 4096 // games) * games

    return repeated(work)


def engine_only(games: int = 1024, num_players: int = 4) -> Measurement:
    """The engine without observations."""
    vec = SelfPlayVectorEnv(games, rs_env.Rules(num_players=num_players))

    def work() -> int:
        vec.play_randomly(100)
        return 100 * games

    return repeated(work)


def gym_single() -> Measurement:
    """One learner at random against heuristics, through gymnasium.make; counted are the learner's actions."""
    env = gymnasium.make(GYM_ID)
    rng = np.random.default_rng(0)

    def work() -> int:
        _, info = env.reset()
        actions, done = 0, False
        while not done:
            *_, terminated, truncated, info = env.step(rng.choice(info["action_mask"].nonzero()[0]))
            actions, done = actions + 1, terminated or truncated
        return actions

    return repeated(work)


def gym_vector(games: int = 1024) -> Measurement:
    """The same in a batch of 1024."""
    env = gymnasium.make_vec(GYM_ID, num_envs=games, vectorization_mode="vector_entry_point")
    rng = np.random.default_rng(0)
    infos = [env.reset(seed=0)[1]]

    def work() -> int:
        mask = infos[0]["action_mask"]
        infos[0] = env.step((mask * rng.random(mask.shape, np.float32)).argmax(1))[-1]
        return games

    return repeated(work)


def copying(games: int) -> Measurement:
    """Copying an observation and mask buffer of this many games: what the memory allows."""
    pairs = [
        (np.zeros((games, width), np.int8), np.ones((games, width), np.int8))
        for width in (rs_env.ObservationSpec(4).size, 53)
    ]

    def work() -> int:
        for target, source in pairs:
            np.copyto(target, source)
        return games

    return repeated(work)


def measurements(quick: bool) -> tuple[dict[str, Measurement], list[str]]:
    """All measurements by name, and the peers that are missing."""
    plain, wide = PlainLoop(1024), PlainLoop(4096)
    found: dict[str, Measurement] = {
        "plain loop, engine only": repeated(lambda: plain.play(100, False)),
        "rs_env engine only": engine_only(),
        "plain loop with observations": repeated(lambda: wide.play(5, True)),
    }
    for games in (1, 4096) if quick else BATCHES:
        for threads in (1, 2):
            if games >= threads:
                found[f"rs_env batch of {games}, {threads} thread{'s' * (threads > 1)}"] = batch(
                    games, num_threads=threads
                )
    found["rs_env batch of 4096, packed"] = batch(4096, packed=True)
    found["rs_env batch of 4096, forced turns skipped"] = batch(4096, skip_forced=True)
    found["copying buffers of 4096 observations"] = copying(4096)
    for n in () if quick else PLAYERS:
        found[f"rs_env batch of 1024, {n} players"] = batch(1024, rules=rs_env.Rules(num_players=n))
        found[f"rs_env engine only, {n} players"] = engine_only(num_players=n)
    found["rs_env raw_env (AEC)"] = aec(rs_env.raw_env())
    found["rs_env env (AEC, wrapped)"] = aec(rs_env.env())
    found["rs_env Gymnasium, one game"] = gym_single()
    found["rs_env Gymnasium, batch of 1024"] = gym_vector()
    missing = []
    for name, library in LIBRARIES.items():
        try:
            found |= library()
        except Exception as error:  # whatever keeps a peer from running is told, not fatal
            missing.append(f"{name} ({type(error).__name__}: {error})")
    for name, run in list(found.items()):
        try:
            run(0.05)  # compiled, warm
        except Exception as error:
            del found[name]
            missing.append(f"{name} ({type(error).__name__}: {error})")
    return found, missing


def measure(found: dict[str, Measurement], rounds: int, budget: float) -> dict[str, list[float]]:
    """Actions per second of each measurement in each round, all in turn."""
    rates: dict[str, list[float]] = {name: [] for name in found}
    for number in range(rounds):
        for name, run in found.items():
            begin = time.perf_counter()
            actions = run(budget)
            rates[name].append(actions / (time.perf_counter() - begin))
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    return rates


def in_processes(count: int, games: int = 16384, seconds: float = 2.0) -> float:
    """Actions per second of so many independent processes at once, each with a batch of one thread: what the machine
    allows threads.
    """
    context = multiprocessing.get_context("spawn")
    begin, results = context.Barrier(count), context.Queue()
    workers = [context.Process(target=_work, args=(games, seconds, begin, results)) for _ in range(count)]
    for worker in workers:
        worker.start()
    rates = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(rates)


def _work(games: int, seconds: float, begin: Any, results: Any) -> None:
    run = batch(games)
    run(0.2)
    begin.wait()
    start = time.perf_counter()
    actions = run(seconds)
    results.put(actions / (time.perf_counter() - start))


def memory_growth(steps: int) -> float:
    """MiB by which the process grew over so many steps of a batch."""
    vec = SelfPlayVectorEnv(4096)
    for _ in range(20):
        vec.step(vec.random_actions())
    before = resident()
    for _ in range(steps // 4096):
        vec.step(vec.random_actions())
    return (resident() - before) / 2**20


def resident() -> int:
    """Bytes of memory that the process holds (Linux)."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def start_up() -> dict[str, float]:
    """Seconds to import, to the first game with nothing compiled, and in a later process."""
    game = "import rs_env\nenv = rs_env.env()\nenv.reset(seed=0)\n"
    game += "for a in env.agent_iter():\n o, _, t, u, _ = env.last()\n"
    game += " env.step(None if t or u else env.action_space(a).sample(o['action_mask']))"
    codes = {"import": "import rs_env", "first game, nothing compiled": game, "first game, later process": game}
    seconds = {}
    with tempfile.TemporaryDirectory() as cache:
        for name, code in codes.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_CACHE_DIR": cache})
            seconds[name] = time.perf_counter() - begin
        begin = time.perf_counter()
        code = "import rs_env; v = rs_env.SelfPlayVectorEnv(64); v.step(v.random_actions())"
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_CACHE_DIR": cache})
        seconds["first batch, its kernels not compiled"] = time.perf_counter() - begin
    return seconds


def ratios(median: dict[str, float]) -> dict[str, float]:
    """The comparisons that the project sets itself, where both sides were measured."""
    pairs = {
        "engine / plain loop": ("rs_env engine only", "plain loop, engine only"),
        "engine / OpenSpiel crazy_eights in C++": ("rs_env engine only", "OpenSpiel crazy_eights, C++ rollouts"),
        "batch of 4096 / plain loop with observations": (
            "rs_env batch of 4096, 1 thread",
            "plain loop with observations",
        ),
        "batch of 4096 / OpenSpiel hearts with observations": (
            "rs_env batch of 4096, 1 thread",
            "OpenSpiel hearts, Python with observations",
        ),
        "packed / plain observations": ("rs_env batch of 4096, packed", "rs_env batch of 4096, 1 thread"),
        "two threads / one, batch of 4096": ("rs_env batch of 4096, 2 threads", "rs_env batch of 4096, 1 thread"),
        "two threads / one, batch of 16384": ("rs_env batch of 16384, 2 threads", "rs_env batch of 16384, 1 thread"),
        "two processes / one, batches of 16384": ("rs_env, two processes at once", "rs_env, one process"),
        "batch of 4096 / batch of 64, per step": ("rs_env batch of 4096, 1 thread", "rs_env batch of 64, 1 thread"),
        "8 players / 2 players, time per step": ("rs_env batch of 1024, 2 players", "rs_env batch of 1024, 8 players"),
        "share of memory bandwidth": ("rs_env batch of 4096, 1 thread", "copying buffers of 4096 observations"),
    }
    return {name: median[a] / median[b] for name, (a, b) in pairs.items() if a in median and b in median}


def machine() -> dict[str, str]:
    """Processor and versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    versions = {}
    for package in ("numpy", "numba", "gymnasium", "pettingzoo", "open_spiel", "rlcard", "pgx", "jax"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "missing"
    return {
        "processor": f"{model}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "rs_env": rs_env.__version__,
        **versions,
    }


def plot(median: dict[str, float], path: Path) -> None:
    """Actions per second as bars on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = sorted(median, key=median.__getitem__)
    figure, axes = pyplot.subplots(figsize=(9, 0.26 * len(names) + 1), layout="constrained")
    axes.barh(
        names,
        [median[name] for name in names],
        color=["#2a6f97" if name.startswith("rs_env") else "#a9a9a9" for name in names],
    )
    axes.set_xscale("log")
    axes.set_xlabel("actions per second")
    axes.tick_params(axis="y", labelsize=7)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds of the most important rows")
    quick = parser.parse_args().quick
    started = start_up()
    found, missing = measurements(quick)
    rates = measure(found, 3 if quick else 7, 0.1 if quick else 0.4)
    for _ in range(1 if quick else 3):
        for name, count in (("rs_env, one process", 1), ("rs_env, two processes at once", 2)):
            rates.setdefault(name, []).append(in_processes(count))
    growth = memory_growth(10**6 if quick else 10**7)
    median = {name: statistics.median(values) for name, values in rates.items()}
    facts, compared = machine(), ratios(median)
    print("| what | actions per second | lowest | highest |\n|---|---:|---:|---:|")
    for name, values in rates.items():
        print(f"| {name} | {median[name]:,.0f} | {min(values):,.0f} | {max(values):,.0f} |")
    print("\n| ratio | value |\n|---|---:|")
    for name, value in compared.items():
        print(f"| {name} | {value:.2f} |")
    print("\n| start | seconds |\n|---|---:|")
    for name, value in started.items():
        print(f"| {name} | {value:.2f} |")
    print(f"\nMemory grew by {growth:.2f} MiB over {10**6 if quick else 10**7:,} steps of a batch of 4096.")
    print("Missing: " + ("; ".join(missing) or "nothing") + ".")
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    RESULTS.mkdir(exist_ok=True)
    result = {
        "machine": facts,
        "rates": rates,
        "ratios": compared,
        "start": started,
        "memory_growth_mib": growth,
        "missing": missing,
    }
    (RESULTS / "bench.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    try:
        plot(median, RESULTS / "bench.png")
    except ImportError:
        print("(no plot: matplotlib is not installed)")


if __name__ == "__main__":
    main()
