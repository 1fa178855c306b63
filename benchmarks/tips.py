"""What each tip of the rule-based players is worth: the best player without it, and the plainest player with it alone.

    python benchmarks/tips.py --deals 5000

Prints a Markdown table of win shares against three random players. A tip alone is added to a player that leads and follows at
random, with the weight that it has in the best player.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines.agent import RuleBasedAgent
from rs_env.baselines.tips import LADDER, TIPS, weights_of

BEST = "heuristic"
# Tips that the best player does without, with a weight to try them at.
OTHERS = {"low": 0.02, "dump": 0.15}
# Tips that matter in a variant only.
VARIANTS = {"ruff": "trump", "silent": "silent"}


def measured(tips: dict[str, float], presets: Sequence[str], deals: int) -> list[str]:
    """Win shares of a player with these tips, in percent, with 95 % intervals."""
    player = RuleBasedAgent("tips", weights_of(**tips))
    results = [duel(player, "random", Rules.preset(preset, num_players=4), deals=deals) for preset in presets]
    return [f"{100 * result.win_share:.1f} ± {100 * result.interval:.1f}" for result in results]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", type=int, default=5000, help="each played from all four seats")
    deals = parser.parse_args().deals
    main_presets = ("rolling_stone", "schweller")
    print("| player | rolling_stone | schweller |\n|---|---:|---:|")
    for name, tips in LADDER.items():
        print(f"| {name} |", " | ".join(measured(tips, main_presets, deals)), "|")
    print("\n| tip | alone: rolling_stone | schweller | best player without it: rolling_stone | schweller |\n|---|---:|---:|---:|---:|")
    for tip in (tip for tip in TIPS if tip not in VARIANTS):
        weight = LADDER[BEST].get(tip, 0.0) or OTHERS[tip]
        alone = measured({tip: weight}, main_presets, deals)
        if tip in OTHERS:
            print(
                f"| {tip} |",
                " | ".join(alone),
                "| with it: " + " | with it: ".join(measured({**LADDER[BEST], tip: weight}, main_presets, deals)),
                "|",
            )
        else:
            print(f"| {tip} |", " | ".join([*alone, *measured({**LADDER[BEST], tip: 0.0}, main_presets, deals)]), "|")
    print("\n| tip | variant | best player | without it |\n|---|---|---:|---:|")
    for tip, preset in VARIANTS.items():
        both = [measured({**LADDER[BEST], **change}, (preset,), deals)[0] for change in ({}, {tip: 0.0})]
        print(f"| {tip} | {preset} |", " | ".join(both), "|")


if __name__ == "__main__":
    main()
