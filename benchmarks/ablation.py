"""What each part of the player "adaptive" is worth: the same deals with one part changed at a time.

python benchmarks/ablation.py --deals 100 --opponents random heuristic low expert
"""

from __future__ import annotations

import argparse

import numpy as np

from rs_env import make_agent
from rs_env.agent import Agent
from rs_env.arena import duel

VARIANTS = {
    "as it is": "",
    "the history is not looked at": "blind",
    "the history tells of types, not of hidden cards": "trust=0",
    "the history of the last 12 decisions": "memory=12",
    "a quarter of the worlds": "worlds=16",
    "four times the worlds": "worlds=256",
    "all others for players at random": "types=random",
    "all others for heuristics": "types=heuristic",
    "all others for searchers": "types=searcher",
    "no searchers": "types=random+heuristic+careless+dumper+longest+low",
    "own noise 0.1": "noise=0.1",
    "own noise 1": "noise=1",
    "horizon 20": "horizon=20",
    "horizon 100": "horizon=100",
    "exploration 0.25": "exploration=0.25",
    "exploration 1": "exploration=1",
    "a third of the iterations": "iterations=100",
    "four times the iterations": "iterations=1200",
    "no budget of actions": "budget=1000",
    "half the budget of actions": "budget=20",
}


class Blind:
    """A player that is not told the history."""

    def __init__(self, agent: Agent) -> None:
        self.name, self._agent = "blind", agent

    def reset(self, seed: int | None) -> None:
        """As the player."""
        self._agent.reset(seed)

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """What the player does from the views alone."""
        return self._agent.act(views, seeds)


def main() -> None:
    """Print a table in Markdown, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", type=int, default=100, help="for each number, each played from every seat")
    parser.add_argument("--opponents", nargs="+", default=["random", "heuristic", "low", "expert"])
    parser.add_argument("--rules", default="rolling_stone")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"| what is changed | {' | '.join(given.opponents)} |\n|---|{'---:|' * len(given.opponents)}")
    for told, options in VARIANTS.items():
        agent = Blind(make_agent("adaptive")) if options == "blind" else f"adaptive:{options}".rstrip(":")
        cells = []
        for opponent in given.opponents:
            found = duel(agent, opponent, rules=given.rules, deals=given.deals, seed=given.seed)
            capped = f", {found.capped:.0%} capped" if found.capped >= 0.005 else ""
            cells.append(f"{found.win_share:.1%} ± {found.interval:.1%}{capped}")
        print(f"| {told}{f' (`{options}`)' if '=' in options else ''} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
