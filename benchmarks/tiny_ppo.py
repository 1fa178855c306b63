"""How far self-play comes from optimal: exact NashConv of PPO on a tiny game while it learns.

    python benchmarks/tiny_ppo.py                     # a minute; prints the table of docs/exact.md
    python benchmarks/tiny_ppo.py --seeds 1 2 3 --picture benchmarks/results/tiny_ppo.png

The game is the preset `tiny` with the number of actions given, the policy the network's own at temperature 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # agents/ is no part of the package

import numpy as np
import torch

from agents.architectures import NetworkConfig
from agents.learner import LearnerConfig
from agents.ppo import PPO, PPOConfig
from rs_env.rules import Rules
from rs_env.solve.exact import GameTree, nash_conv

SETTINGS = PPOConfig(
    num_envs=128,
    steps=16,
    epochs=2,
    minibatch=256,
    learning_rate=2e-3,
    gamma=1.0,
    entropy_start=0.05,
    entropy_end=0.005,
)


def curve(tree: GameTree, decisions: int, points: int, seed: int) -> tuple[list[int], list[float]]:
    """Decisions played, and NashConv then, at so many points of a run."""
    network = NetworkConfig(hidden=64, layers=2)
    learner = PPO(LearnerConfig(rules=tree.rules, total_decisions=decisions, seed=seed, network=network), SETTINGS)
    marks = {round(mark) for mark in np.geomspace(1, learner.iterations, points)}
    played, gaps = [0], [nash_conv(learner.agent("ppo", 1.0), tree).nash_conv]
    while learner.iteration < learner.iterations:
        learner.iterate()
        if learner.iteration in marks:
            played.append(learner.decisions)
            gaps.append(nash_conv(learner.agent("ppo", 1.0), tree).nash_conv)
    return played, gaps


def draw(path: Path, curves: dict[int, tuple[list[int], list[float]]]) -> None:
    """The curves as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
    for seed, (played, gaps) in curves.items():
        axes.plot(played, gaps, label=f"seed {seed}")
    axes.axhline(0.1, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xlabel="decisions", ylabel="NashConv", ylim=(0, None))
    axes.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Train, print a table in Markdown, and draw where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=400_000)
    parser.add_argument("--actions", type=int, default=24, help="limit of a deal")
    parser.add_argument("--players", type=int, default=2)
    parser.add_argument("--points", type=int, default=9)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--picture", type=Path, help="draw the curves to this file; needs matplotlib")
    given = parser.parse_args()
    torch.set_num_threads(1)
    tree = GameTree(Rules.preset("tiny", num_players=given.players, max_actions=given.actions))
    curves = {seed: curve(tree, given.decisions, given.points, seed) for seed in given.seeds}
    print(f"| decisions | {' | '.join(f'seed {seed}' for seed in curves)} |\n|---:|{'---:|' * len(curves)}")
    for k, played in enumerate(next(iter(curves.values()))[0]):
        print(f"| {played:,} | {' | '.join(f'{gaps[k]:.4f}' for _, gaps in curves.values())} |")
    if given.picture:
        draw(given.picture, curves)


if __name__ == "__main__":
    main()
