"""What each tip of the rule-based players is worth: the best player without it, and the plainest player with it alone.

    python benchmarks/tips.py --deals 5000

Prints a Markdown table of win shares against three random players. A tip alone is added to a player that leads and
follows at random, with the weight that it has in the best player.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rs_env import Rules
from rs_env.arena import Duel, duel
from rs_env.baselines.rule_based import RuleBasedAgent
from rs_env.baselines.tips import LADDER, TIPS, weights_of

BEST = "heuristic"
MAIN = ("rolling_stone", "schweller")
# Tips that the best player does without, with a weight to try them at.
OTHERS = {"low": 0.02, "dump": 0.6}
# Tips that matter in a variant only.
VARIANTS = {"ruff": "trump", "silent": "silent"}


def measured(tips: dict[str, float], presets: Sequence[str], deals: int) -> list[str]:
    """Win shares of a player with these tips, in percent, with 95 % intervals, and the share of capped games where
    there were any.
    """
    player = RuleBasedAgent("tips", weights_of(**tips))
    results = [duel(player, "random", Rules.preset(preset, num_players=4), deals=deals) for preset in presets]
    return [cell(result) for result in results]


def cell(result: Duel) -> str:
    """A win share with its interval, and how many games were capped if any were."""
    capped = f" ({100 * result.capped:.2g} capped)" if result.capped else ""
    return f"{100 * result.win_share:.1f} ± {100 * result.interval:.1f}{capped}"


def row(*cells: str) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", type=int, default=5000, help="each played from all four seats")
    deals = parser.parse_args().deals
    row("player", *MAIN)
    row("---", *["---:"] * len(MAIN))
    for name, tips in LADDER.items():
        row(name, *measured(tips, MAIN, deals))
    print()
    row("tip", *(f"alone: {preset}" for preset in MAIN), *(f"best player without it: {preset}" for preset in MAIN))
    row("---", *["---:"] * 2 * len(MAIN))
    best = LADDER[BEST]
    for tip in (tip for tip in TIPS if tip in best and tip not in VARIANTS):
        row(tip, *measured({tip: best[tip]}, MAIN, deals), *measured({**best, tip: 0.0}, MAIN, deals))
    print()
    row(
        "tip that it does without",
        *(f"alone: {preset}" for preset in MAIN),
        *(f"best player with it: {preset}" for preset in MAIN),
    )
    row("---", *["---:"] * 2 * len(MAIN))
    for tip, weight in OTHERS.items():
        row(tip, *measured({tip: weight}, MAIN, deals), *measured({**best, tip: weight}, MAIN, deals))
    print()
    row("tip", "variant", "best player", "without it")
    row("---", "---", "---:", "---:")
    for tip, preset in VARIANTS.items():
        row(tip, preset, *measured(best, (preset,), deals), *measured({**best, tip: 0.0}, (preset,), deals))


if __name__ == "__main__":
    main()
