"""How far from optimal: exact NashConv of the baselines, and of OpenSpiel's CFR+ by iterations, on the `tiny` preset.

    python benchmarks/tiny_cfr.py                            # all baselines that see no hidden cards; about five
    minutes, 5 GB python benchmarks/tiny_cfr.py random heuristic --no-cfr  # these alone
    python benchmarks/tiny_cfr.py --cfr-actions 24           # CFR+ with deals that end after 24 actions: seconds
    python benchmarks/tiny_cfr.py --cfr-actions 12 --cfr-players 3

Prints the tables of ``docs/exact.md``. Nothing is drawn but the actions of agents that have no method ``policy``: their
mixtures are estimated from the seeds 0 .. SEEDS-1, and only with the lower caps where the rest would take longer than
--patience.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable

from rs_env.arena.players import fair_baselines
from rs_env.baselines import make_agent
from rs_env.rules import Rules
from rs_env.solve.exact import GameTree, nash_conv


def rules_with(max_actions: int, num_players: int = 2) -> Rules:
    """The preset with deals of at most so many actions."""
    return Rules.preset("tiny", num_players=num_players, max_actions=max_actions)


def size(tree: GameTree) -> str:
    """How large a tree is."""
    rules, size = tree.rules, f"{tree.num_nodes:,} histories, {tree.num_sets:,} sets"
    return f"{rules.num_players} players, max_actions={rules.max_actions}: {size}"


def agent_rows(names: Iterable[str], trees: list[GameTree], seeds: int, patience: float) -> Iterable[str]:
    """A row of NashConv for each agent, a column for each tree, the smaller ones first."""
    yield row("uniform", "exact", [f"{nash_conv(tree.uniform(), tree).nash_conv:.4f}" for tree in trees])
    for name in names:
        agent = make_agent(name)
        cells: list[str] = []
        last_sets, last_time = 0, 0.0
        for tree in trees:
            if last_sets and last_time * tree.num_sets / last_sets > patience:
                cells.append("-")
                continue
            start = time.perf_counter()
            cells.append(f"{nash_conv(agent, tree, seeds=seeds).nash_conv:.4f}")
            last_sets, last_time = tree.num_sets, time.perf_counter() - start
        yield row(name, "exact" if hasattr(agent, "policy") else f"{seeds} seeds", cells)


def cfr_rows(tree: GameTree, checkpoints: list[int]) -> Iterable[str]:
    """A row for each number of iterations: NashConv, values of the seats, seconds."""
    from rs_env.openspiel import cfr

    start = time.perf_counter()
    for iterations, profile in cfr(tree, checkpoints):
        result = nash_conv(profile, tree)
        values = " ".join(f"{value:.4f}" for value in result.values)
        yield row(f"{iterations}", f"{result.nash_conv:.5f}", [values, f"{time.perf_counter() - start:.0f}"])


def row(first: str, second: str, cells: list[str]) -> str:
    """A row of a Markdown table."""
    return f"| {first} | {second} | " + " | ".join(cells) + " |"


def table(headings: list[str], rows: Iterable[str]) -> None:
    """Print a Markdown table row by row."""
    print(row(headings[0], headings[1], headings[2:]))
    print("|---" * len(headings) + "|")
    for line in rows:
        print(line, flush=True)
    print()


def main() -> None:
    """Print the tables asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "agents", nargs="*", help="names for rs_env.make_agent; default: all baselines that see no hidden cards"
    )
    parser.add_argument("--seeds", type=int, default=16, help="for agents without a method policy")
    parser.add_argument("--patience", type=float, default=60, help="seconds for one cell of the table of agents")
    parser.add_argument("--cfr-actions", type=int, default=500, help="max_actions for CFR+")
    parser.add_argument("--cfr-players", type=int, default=2, help="num_players for CFR+")
    parser.add_argument("--iterations", type=int, nargs="+", default=[1, 2, 5, 10, 20, 50], help="of CFR+, increasing")
    parser.add_argument("--no-cfr", action="store_true", help="only the table of agents")
    options = parser.parse_args()
    trees = [GameTree(rules_with(12, num_players=3)), *(GameTree(rules_with(limit)) for limit in (24, 500))]
    for tree in trees:
        print(size(tree))
    print()
    headings = [
        "agent",
        "mixture",
        *(f"{tree.rules.num_players} players, {tree.rules.max_actions} actions" for tree in trees),
    ]
    table(headings, agent_rows(options.agents or fair_baselines(), trees, options.seeds, options.patience))
    if not options.no_cfr:
        tree = GameTree(rules_with(options.cfr_actions, options.cfr_players))
        print(size(tree))
        table(["iterations of CFR+", "NashConv", "values", "seconds"], cfr_rows(tree, options.iterations))


if __name__ == "__main__":
    main()
