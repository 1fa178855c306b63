"""The exact numbers of docs/exact.md by another way: CFR+ in plain Python, and what the search responder leaves on the
table.

    python -m benchmarks.check_exact         # half a minute on one core

The first table grows the game of three players and 12 actions from the list-based rules of ``tests/reference.py``, runs
CFR+ on it, and computes NashConv by recursion (``tests/plain_tree.py``): it shares no code with `rs_env.solve.exact`
and none with OpenSpiel. The second gives the exact value of `rs_env.arena.SearchResponder` (its mixture estimated from
two seeds) against frozen agents, beside that of an exact best response, which it cannot exceed: means over the seats.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.tiny_cfr import rules_with, table
from rs_env.solve.exact import GameTree, nash_conv
from rs_env.solve.responder import SearchResponder
from tests.plain_tree import PlainCFR, forest, plain_nash_conv


def cfr_cells(iterations: Iterable[int]) -> Iterable[str]:
    """A row for each number of iterations."""
    rules = rules_with(12, num_players=3)
    trees = forest(rules)
    cfr = PlainCFR(trees, rules.num_players)
    for number in iterations:
        cfr.run(number - cfr.iteration)
        gap, values = plain_nash_conv(trees, cfr.average, rules.num_players)
        yield f"| {number} | {gap:.5f} | " + " ".join(f"{value:.4f}" for value in values) + " |"


def search_cells() -> Iterable[str]:
    """A row for each game and frozen agent: values of the agent itself, of the search, and of an exact best
    response.
    """
    for rules in (rules_with(12, num_players=3), rules_with(24)):
        tree = GameTree(rules)
        for agent in ("heuristic", "random", "low"):
            frozen = tree.profile_of(agent)
            exact, searching = nash_conv(frozen, tree), tree.profile_of(SearchResponder(agent), seeds=2)
            mixed = [np.where((tree.seat == seat)[:, None], searching, frozen) for seat in range(rules.num_players)]
            found = np.mean([tree.values(profile)[seat] for seat, profile in enumerate(mixed)])
            values = (exact.values.mean(), found, exact.best_response_values.mean())
            yield (
                f"| {rules.num_players}, {rules.max_actions} | {agent} | "
                + " | ".join(f"{value:.4f}" for value in values)
                + " |"
            )


def main() -> None:
    """Print the tables."""
    table(["iterations of CFR+", "NashConv", "values"], cfr_cells([1, 2, 5, 10, 20, 50]))
    table(["players, actions", "frozen agent", "itself", "search", "exact best response"], search_cells())


if __name__ == "__main__":
    main()
