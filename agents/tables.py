"""Tables of several rule sets: ``[[tables]]`` in a configuration, and their games side by side as one rollout.

Only a network whose weights serve them all can learn from them, one of kind "general" (`rs_env.baselines.general`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from agents.collector import Collector, Decide
from agents.company import Company
from agents.distributed import ranks
from agents.learner import LearnerConfig
from agents.rollout import Rollout
from agents.seeds import TRAINING_SEEDS
from agents.settings import check
from rs_env.cards import NUM_ACTIONS
from rs_env.engine.rng import game_key


class Mixture:
    """A collector for each rule set of the configuration, with its share of the games, as one `Collector`.

    The columns of `rollout` are the games of the first rule set, then those of the next. It has as many seats as the
    largest of them; those that are not there are paid nothing. Decks of different rule sets have different seeds.
    """

    first_game = 0  # of all: ranks cannot share them out

    def __init__(self, config: LearnerConfig, games: int, steps: int, company: Company | None, notes: int) -> None:
        check("tables", len(config.tables), ranks().size == 1, "none where several ranks train")
        self.games, self.first = games, max(rules.num_players for rules in config.rule_sets)
        size = config.network.size(self.first)
        self.rollout = Rollout.empty(self.first + steps, games, self.first, size, NUM_ACTIONS, notes=notes)
        self._collectors: list[Collector] = []
        self._begins = np.cumsum([0, *config.shared_out(games)]).tolist()
        for number, rules in enumerate(config.rule_sets):
            begin, end = self._begins[number : number + 2]
            own = replace(config, rules=rules, tables=(), seed=seed_of_table(config.seed, number))
            part = self.rollout.part(slice(begin, end))
            self._collectors.append(Collector(own, end - begin, steps, company, notes=notes, rollout=part))

    def collect(self, decide: Decide, iteration: int) -> dict[str, float]:
        """As `Collector.collect`, one rule set after the other."""
        found = []
        for begin, collector in zip(self._begins[:-1], self._collectors, strict=True):

            def decide_here(t: int, games: np.ndarray, begin: int = begin) -> np.ndarray:
                return decide(t, begin + games)

            found.append(collector.collect(decide_here, iteration))
        ended = sum(metrics["charts/episodes"] for metrics in found)
        capped = sum(metrics["charts/episodes"] * metrics["charts/capped_share"] for metrics in found)
        return {
            "charts/episodes": ended,
            "charts/decisions_per_episode": self.rollout.done[self.first :].size / max(ended, 1),
            "charts/capped_share": capped / max(ended, 1),
        }

    def tensors(self) -> dict[str, Tensor]:
        """Those of each collector."""
        return {
            f"tables.{number}.{name}": value
            for number, collector in enumerate(self._collectors)
            for name, value in collector.tensors().items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on with these games. Raises ValueError for what does not fit."""
        for number, collector in enumerate(self._collectors):
            start = f"tables.{number}."
            collector.restore(
                {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}
            )


def collector_of(
    config: LearnerConfig, games: int, steps: int, company: Company | None, **kept: Any
) -> Collector | Mixture:
    """What plays the games of a configuration. kept: `states` and `notes`, as of `Collector`."""
    if not config.tables:
        return Collector(config, games, steps, company, **kept)
    check("tables", len(config.tables), not kept.pop("states", False), "none with a critic that sees all hands")
    return Mixture(config, games, steps, company, kept.get("notes", 0))


def seed_of_table(seed: int, number: int) -> int:
    """The seed of a rule set's decks: that of the run for the first one."""
    return seed if number == 0 else int(game_key(np.uint64(seed), np.uint64(number))) & (TRAINING_SEEDS - 1)
