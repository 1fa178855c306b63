"""Where the time of training goes: decisions a second of each stage, and the shares of networks, engine and company.

    python benchmarks/training.py configs/strong.toml         # a minute or two; prints the table of docs/training.md
    python benchmarks/training.py configs/default.toml --iterations 20 --threads 1

Each stage begins anew with its own settings, from first weights, and iterates some times after two that are not
counted. What the networks alone take (forward, with the drawing of actions, and update) is the time that no engine
could save: its share of the whole is how near a stage comes to the speed that they would allow.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))  # agents/ is no part of the package

import torch

import agents.collector
from agents.config import TrainConfig, load_experiment
from agents.ppo import PPO
from agents.teacher import Teacher

UNCOUNTED = 2  # iterations in which things are compiled and memory is taken


class Clock:
    """Seconds spent in functions, by a name for each; none of them may call another."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def on(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        def timed(*arguments: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds[name] += time.perf_counter() - begin

        return timed


def measure_ppo(config: TrainConfig, iterations: int) -> tuple[float, dict[str, float]]:
    """Decisions a second, and the shares of the time."""
    learner, clock = config.make_learner(), Clock()
    assert isinstance(learner, PPO)
    collector = learner.collector
    learner._decide = clock.on("forward", learner._decide)  # type: ignore[method-assign]
    learner._learn = clock.on("update", learner._learn)  # type: ignore[method-assign]
    collector.env.step = clock.on("engine", collector.env.step)  # type: ignore[method-assign]
    if collector._suspicion is not None:
        collector._suspicion.of = clock.on("suspicion", collector._suspicion.of)  # type: ignore[method-assign]
    with patch.object(agents.collector, "act_frozen", clock.on("company", agents.collector.act_frozen)):
        for _ in range(UNCOUNTED):
            learner.iterate()
        clock.seconds.clear()
        begin, decisions = time.perf_counter(), learner.decisions
        for _ in range(iterations):
            learner.iterate()
        taken = time.perf_counter() - begin
    shares = {name: seconds / taken for name, seconds in clock.seconds.items()}
    return (learner.decisions - decisions) / taken, {**shares, "rest": 1 - sum(shares.values())}


def measure_lessons(config: TrainConfig) -> tuple[float, dict[str, float]]:
    """Lessons a second of one process, and the share of the search; the network is fitted meanwhile by another."""
    learner: Any = config.make_learner()
    teacher: Teacher = replace(learner.lessons.teacher, steps=32)
    teacher.piece(0)
    clock = Clock()
    teacher.search.values_among = clock.on("search", teacher.search.values_among)  # type: ignore[method-assign]
    begin = time.perf_counter()
    lessons = len(teacher.piece(1).values)
    taken = time.perf_counter() - begin
    share = clock.seconds["search"] / taken
    return lessons / taken, {"search": share, "rest": 1 - share}


def main() -> None:
    """Measure the stages of a configuration and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--iterations", type=int, default=8, help="of each stage that plays by a network")
    parser.add_argument("--threads", type=int, help="of PyTorch; as the configuration has it otherwise")
    arguments = parser.parse_args()
    experiment = load_experiment(arguments.config)
    print("| stage | decisions a second | of the time |\n|---|---:|---|")
    for config in experiment.configs(experiment.settings) or [experiment.settings]:
        torch.set_num_threads(arguments.threads or config.threads)
        if config.learner == "distill":
            speed, shares = measure_lessons(config)
        else:
            speed, shares = measure_ppo(config, arguments.iterations)
        told = ", ".join(f"{name} {share:.0%}" for name, share in sorted(shares.items(), key=lambda pair: -pair[1]))
        print(f"| {config.learner} | {speed:,.0f} | {told} |")


if __name__ == "__main__":
    main()
