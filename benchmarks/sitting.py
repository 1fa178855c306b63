"""What it is worth to remember the others: the share of a player by the number of the deal within a sitting.

    python benchmarks/sitting.py                           # some 12 minutes of one core
    python benchmarks/sitting.py --opponents low dumper --deals 200 --picture sitting.png

One agent sits among three players of one kind for sittings of 20 deals. For comparison it plays the same deals without
remembering anything. All intervals are from means per sitting.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from rs_env import Rules
from rs_env.arena.games import UNITS
from rs_env.arena.league import compare
from rs_env.arena.settings import How, Plan
from rs_env.arena.statistics import share_bounds, student_95

OPPONENTS = {"low": 400, "dumper": 400, "heuristic": 400, "random": 400, "pimc:worlds=32": 200, "expert": 200}  # deals
SITTING = 20
BLOCKS = ((1, 2), (3, 5), (6, 10), (11, 20))


def play(agent: str, opponent: str, deals: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The agent's share of each deal, with what it remembers and without: float64 (sittings, SITTING) each."""
    shares = []
    for sitting in (SITTING, 1):
        plan = Plan(rules=Rules(), seed=seed, table="one", deals=deals, sitting=sitting)
        games = compare([agent, opponent], plan, How()).games
        credit = np.where(games["seating"] == 0, games["credit"], 0).sum(1) / UNITS
        shares.append(credit.reshape(-1, SITTING, Rules().num_players).mean(2))
    return shares[0], shares[1]


def bounded(shares: np.ndarray, first: int, last: int) -> tuple[float, float, float]:
    """The share on these deals of the sittings, and the ends of its 95 % interval."""
    values = shares[:, first - 1 : last].mean(1)[:, None]
    low, high = share_bounds(values.mean(0), values)[:, 0]
    return float(values.mean()), float(low), float(high)


def row(opponent: str, told: np.ndarray, untold: np.ndarray, seconds: float) -> str:
    """A line of the table."""
    cells = [bounded(told, *block) for block in BLOCKS]
    gains = (told - untold)[:, 1:].mean(1)
    reach = student_95(len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains))
    texts = [f"{100 * share:.1f} ({100 * low:.1f} .. {100 * high:.1f})" for share, low, high in cells]
    games, rest = told.size * Rules().num_players, 100 * untold[:, 1:].mean()
    texts += [f"{rest:.1f}", f"{100 * gains.mean():+.1f} ± {100 * reach:.1f}", f"{seconds:.0f} s"]
    return f"| `{opponent}` | {games:,} | " + " | ".join(texts) + " |"


def draw(results: dict[str, tuple[np.ndarray, np.ndarray]], path: str) -> None:
    """Shares by blocks of deals with and without memory, a panel for each opponent."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(2.6 * len(results), 3), sharey=True)
    for axis, (opponent, pair) in zip(np.atleast_1d(axes), results.items(), strict=True):
        axis.axhline(1 / Rules().num_players, color="0.8")
        for shares, name, shift in zip(pair, ("remembers", "forgets"), (-0.2, 0.2), strict=True):
            share, low, high = np.array([bounded(shares, *block) for block in BLOCKS]).T
            middles = np.mean(BLOCKS, axis=1) + shift
            axis.errorbar(middles, share, [share - low, high - share], marker="o", markersize=3, capsize=2, label=name)
        axis.set(title=opponent, xlabel="deal of the sitting", ylim=(0, 1))
    np.atleast_1d(axes)[0].set(ylabel="share")
    np.atleast_1d(axes)[0].legend(loc="lower left")
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main() -> None:
    """Play, print the table, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", default="adaptive")
    parser.add_argument("--opponents", nargs="+", default=OPPONENTS)
    parser.add_argument("--deals", type=int, help=f"against each, a multiple of {SITTING}; 200 or 400 unless given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", help="file for the curves; needs matplotlib")
    options = parser.parse_args()
    heads = [f"deals {first}-{last}" for first, last in BLOCKS]
    heads += ["2-20, forgetting", "2-20, gain by memory", "time"]
    print("| opponents | games | " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) + 1), sep="\n")
    results = {}
    for opponent in options.opponents:
        begin, deals = time.perf_counter(), options.deals or OPPONENTS.get(opponent, 200)
        results[opponent] = play(options.agent, opponent, deals, options.seed)
        print(row(opponent, *results[opponent], time.perf_counter() - begin), flush=True)
    if options.picture:
        draw(results, options.picture)


if __name__ == "__main__":
    main()
