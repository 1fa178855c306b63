"""How fast hidden deals are sampled, in the middle of four-player deals.

    python benchmarks/belief.py

Positions are those of random games after 20 actions. Prints medians over the positions.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from functools import partial

from rs_env import Game, belief

SAMPLES = 50_000


def positions(number: int, actions: int = 20) -> list[Game]:
    """Random games after so many actions."""
    games = []
    for seed in range(number):
        game, rng = Game(seed=seed), random.Random(seed)
        while not game.is_over and game.num_actions < actions:
            game.play(rng.choice(game.legal_actions()))
        if not game.is_over:
            games.append(game)
    return games


def seconds(work: Callable[[], object]) -> float:
    """Of the fastest of five runs."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Measure and print."""
    views = [game.view(game.turn) for game in positions(100)]
    counts = [belief.count(view) for view in views]
    belief.sample(views[0], 1, 0)  # compiles
    rates = [SAMPLES / seconds(partial(belief.sample, view, SAMPLES, 0)) for view in views]
    print(f"deals that agree with the view: median {statistics.median(counts):,.0f}, most {max(counts):,}")
    print(f"samples a second: median {statistics.median(rates):,.0f}, lowest {min(rates):,.0f}")


if __name__ == "__main__":
    main()
