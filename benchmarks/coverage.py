"""How often the arena's 95 % intervals hold: from few deals, in real games, and after stopping by `precision`.

    python benchmarks/coverage.py            # three tables, about two minutes on one core

The first table simulates deals of four games each: a share of games won, and how much the games of a deal are alike
(beta-binomial, 0: independent, 1: all four end alike). The second cuts one long duel into many short ones, which should
cover the long one's share. The third stops as `rs_env.arena` does, after the first multiple of 100 deals at which the
interval is narrow enough: looking often could make intervals too narrow. Beside the arena's intervals, those by the
plain normal approximation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

import numpy as np

from rs_env.arena.league import CHECK_EVERY, compare
from rs_env.arena.settings import How, Plan
from rs_env.arena.statistics import NORMAL_95, share_bounds, widths
from rs_env.rules import Rules

Bounds = Callable[[np.ndarray, np.ndarray], np.ndarray]
SHARES = (0.02, 0.07, 0.25, 0.47)
ALIKE = (0.0, 0.2, 1.0)
GAMES = 4  # of each deal


def normal_bounds(shares: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Ends by the plain normal approximation, for comparison."""
    half = NORMAL_95 * values.std(0, ddof=1) / np.sqrt(len(values))
    return np.stack([shares - half, shares + half])


METHODS: tuple[Bounds, ...] = (share_bounds, normal_bounds)


def simulated_deals(share: float, alike: float, deals: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Share of each deal's games that are won, float64 (deals, runs); `alike` is the correlation of the games of a
    deal.
    """
    if alike == 1.0:
        return (rng.random((deals, runs)) < share).astype(np.float64)
    chance = np.full((deals, runs), share)
    if alike > 0:
        total = 1 / alike - 1
        chance = rng.beta(share * total, (1 - share) * total, (deals, runs))
    return rng.binomial(GAMES, chance) / GAMES


def misses(share: float, bounds: np.ndarray) -> np.ndarray:
    """In how many of a hundred runs the interval lies below and above the share."""
    return 100 * np.array([(bounds[1] < share).mean(), (bounds[0] > share).mean()])


def cell(missed: np.ndarray) -> str:
    """Coverage in percent, and how many of a hundred intervals are too low and too high."""
    return f"{100 - missed.sum():.1f} ({missed[0]:.1f}, {missed[1]:.1f})"


def few_deals(runs: int, rng: np.random.Generator) -> Iterable[list[str]]:
    """Coverage from a fixed number of deals."""
    yield ["deals", "share", *(f"{name}, alike {alike}" for alike in ALIKE for name in ("arena", "normal"))]
    for deals in (5, 10, 20, 40, 100, 400):
        for share in SHARES:
            row = []
            for alike in ALIKE:
                values = simulated_deals(share, alike, deals, runs, rng)
                row += [cell(misses(share, bounds(values.mean(0), values))) for bounds in METHODS]
            yield [str(deals), str(share), *row]


def real_games(deals: int) -> Iterable[list[str]]:
    """Coverage of parts of long duels, by the number of deals of a part."""
    yield ["duel", "share", "deals", "arena", "normal"]
    for agent, opponent in (("heuristic", "random"), ("random", "heuristic"), ("low", "heuristic")):
        plan = Plan(rules=Rules(), seed=1, table="one", deals=deals)
        values = compare([agent, opponent], plan, How()).deal_shares[:, 0]
        share = float(values.mean())
        for part in (5, 10, 20, 40, 100):
            parts = values[: len(values) // part * part].reshape(-1, part).T
            cells = [cell(misses(share, bounds(parts.mean(0), parts))) for bounds in METHODS]
            yield [f"{agent}, {opponent}", f"{share:.3f}", str(part), *cells]


def stopped(
    share: float, alike: float, precision: float, bounds: Bounds, runs: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """The interval of each run at its end, (2, runs), and the mean number of deals."""
    ends, at, running = np.zeros((2, runs)), np.zeros(runs), np.arange(runs)
    values = np.zeros((0, runs))
    while len(running):
        values = np.concatenate([values, simulated_deals(share, alike, CHECK_EVERY, len(running), rng)])
        mean = values.mean(0)
        now = bounds(mean, values)
        done = widths(mean, now) <= precision
        ends[:, running[done]], at[running[done]] = now[:, done], len(values)
        running, values = running[~done], values[:, ~done]
    return ends, at.mean()


def stopping(runs: int, rng: np.random.Generator) -> Iterable[list[str]]:
    """Coverage after stopping when the interval is narrow enough."""
    yield ["share", "alike", "precision", "deals", "arena", "deals, normal", "normal"]
    for share in SHARES:
        for alike in ALIKE:
            spread = np.sqrt(share * (1 - share) * (1 + (GAMES - 1) * alike) / GAMES)
            for about in (150, 250, 1000):
                precision = NORMAL_95 * spread / np.sqrt(about)
                row = [str(share), str(alike), f"{precision:.3f}"]
                for bounds in METHODS:
                    ends, deals = stopped(share, alike, precision, bounds, runs, rng)
                    row += [f"{deals:.0f}", cell(misses(share, ends))]
                yield row


def table(title: str, rows: Iterable[list[str]]) -> None:
    """Print a Markdown table row by row."""
    print(f"{title}: coverage in percent (intervals too low, too high)\n")
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |", flush=True)
        if number == 0:
            print("|" + "---|" * len(row))
    print()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000, help="simulations for each number")
    parser.add_argument("--deals", type=int, default=40_000, help="of each long duel")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    table("Simulated deals", few_deals(options.runs, rng))
    table("Parts of real duels", real_games(options.deals))
    table("Stopped by precision", stopping(options.runs, rng))


if __name__ == "__main__":
    main()
