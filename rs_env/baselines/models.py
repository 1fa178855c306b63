"""Who might sit there: types of players, and how well each explains what has been played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rs_env.baselines.evidence import Rating, new_rating, weigh_worlds
from rs_env.baselines.tips import LADDER, TIPS, weights_of
from rs_env.checks import check_whole
from rs_env.engine.history import new_trace, trace
from rs_env.engine.jit import njit
from rs_env.engine.state import STATE
from rs_env.engine.types import Array, Number, States, Views
from rs_env.engine.view import as_one_view
from rs_env.history import check_events
from rs_env.rules import MAX_PLAYERS

_LEAST_NOISE = 0.001
_MOST_COMMON = 1000


@dataclass(frozen=True)
class PlayerType:
    """A rule-based player that plays at random now and then, or looks like one.

    player: a name of `rs_env.baselines.tips.LADDER`, or weights of tips by name. noise: share of random actions, 0.001
    to 1: without any, a single action that the player would not take ruled it out for good. common: how often such
    players sit there, compared with those of other types.
    """

    player: str | tuple[tuple[str, float], ...]
    noise: float
    play_outs: PlayerType | None = None
    """How it plays in play-outs, if it is one that looks ahead: hardly one action of a searcher can be foretold, yet it
    plays well. In a tree such a player looks after itself.
    """
    common: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.player, str):
            if self.player not in LADDER:
                names = ", ".join(map(repr, LADDER))
                raise ValueError(f"player={self.player!r} is not allowed: it must be one of {names}")
        else:
            self._check_tips()
        if self.play_outs is not None and not isinstance(self.play_outs, PlayerType):
            raise ValueError(f"play_outs={self.play_outs!r} is not allowed: it must be a PlayerType, or None")
        is_number = isinstance(self.noise, int | float) and not isinstance(self.noise, bool)
        if not is_number or not _LEAST_NOISE <= self.noise <= 1.0:
            raise ValueError(f"noise={self.noise!r} is not allowed: it must be a number in {_LEAST_NOISE}..1")

        if not isinstance(self.common, int | float) or not 0.0 < self.common <= _MOST_COMMON:
            raise ValueError(
                f"common={self.common!r} is not allowed: it must be a number above 0, at most {_MOST_COMMON}"
            )

    def _check_tips(self) -> None:
        tips = self.player
        if not isinstance(tips, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in tips):
            raise ValueError(f"player={tips!r} is not allowed: it must be a name, or pairs of a tip and its weight")
        named = [tip for tip, _ in tips]
        for tip, weight in tips:
            is_number = isinstance(weight, int | float) and not isinstance(weight, bool) and np.isfinite(weight)
            if tip not in TIPS or not is_number or named.count(tip) > 1:
                raise ValueError(
                    f"player: {tip!r} with weight {weight!r} is not allowed: tips are {', '.join(TIPS)}, each once at"
                    " most, weights finite numbers"
                )

    @property
    def weights(self) -> np.ndarray:
        """Of the tips, float64, in their order."""
        return weights_of(**(LADDER[self.player] if isinstance(self.player, str) else dict(self.player)))


# Fitted to decisions of `pimc`, `ismcts` and `expert` by maximum likelihood and rounded: hardly better than a guess,
# but enough to tell them from players at random after some twenty decisions.
_LIKE_SEARCHERS = (
    ("void", 1.7),
    ("long", 0.4),
    ("single", -0.3),
    ("block", 0.4),
    ("low", 0.01),
    ("last", 0.6),
    ("duck", 0.02),
    ("ruff", 1.0),
    ("silent", 1.0),
)

TYPES: dict[str, PlayerType] = {
    "random": PlayerType("random", 1.0),
    "heuristic": PlayerType("heuristic", 0.05),
    "careless": PlayerType("heuristic", 0.4),
    "dumper": PlayerType("dumper", 0.05),
    "longest": PlayerType("longest", 0.05),
    "low": PlayerType("low", 0.05),
    "searcher": PlayerType(_LIKE_SEARCHERS, 0.7, PlayerType("heuristic", 0.1), common=8),
}
"""Types by name; add your own here before a model is made that uses them."""


class OpponentModel:
    """Types that the other players may be of, as likely as they are common before anything was played.

    types: names of `TYPES`; None: all of them. memory: decisions of others that are looked at, the newest ones. A model
    works in memory of its own, so threads need one each.
    """

    def __init__(self, types: Sequence[str] | None = None, memory: int = 128) -> None:
        if types is not None and (isinstance(types, str) or not isinstance(types, Sequence)):
            raise ValueError(f"types={types!r} is not allowed: it must be a list of names, or None")
        self.names = tuple(TYPES if types is None else types)
        for name in self.names:
            if not isinstance(name, str) or name not in TYPES:
                raise ValueError(f"types: {name!r} is not allowed: there are {', '.join(map(repr, TYPES))}")
        if not self.names:
            raise ValueError("types: none are not allowed: there must be at least one")
        check_whole("memory", memory, 1, 1 << 16)
        kinds = [TYPES[name] for name in self.names]
        self.play_outs = [kind.play_outs or kind for kind in kinds]
        self.looks_ahead = [kind.play_outs is not None for kind in kinds]
        self.prior = np.array([kind.common for kind in kinds], np.float64)
        self.prior /= self.prior.sum()
        self.trace = new_trace(memory)
        weights, noise = np.array([kind.weights for kind in kinds]), np.array([kind.noise for kind in kinds])
        self.rating = new_rating(weights, noise, np.tile(self.prior, (MAX_PLAYERS, 1)), self.trace[3])

    def rate(self, view: Any, events: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How likely worlds are by what has been played.

        view: one record of dtype `rs_env.engine.view.VIEW`. events: its game's public history, see `rs_env.history`.
        states: worlds that agree with the view, dtype `rs_env.engine.state.STATE`, (M,). Returns the logarithms of
        their weights, float64 (M,), and how likely each seat is of each type in each world, float64 (M, n, T), with
        zeros for the viewer. Raises ValueError for a history that does not lead to the view.
        """
        views, events = as_one_view(view), check_events(events)
        if not isinstance(states, np.ndarray) or states.dtype != STATE or states.ndim != 1:
            raise ValueError("states: they must be records of dtype rs_env.engine.state.STATE, shape (M,)")
        states = np.require(states, requirements=("C", "A", "W"))
        log_weights, posterior = np.zeros(len(states)), np.zeros((len(states), MAX_PLAYERS, len(self.names)))
        if _rate(views, events, states, (self.trace, self.rating), log_weights, posterior) < 0:
            raise ValueError("events: they do not lead to the view")
        return log_weights, posterior[:, : int(views["rules"]["num_players"][0])]


@njit(cache=True, nogil=True)
def _rate(
    views: Views,
    events: Array,
    states: States,
    how: tuple[tuple[Array, Array, Array, Array], Rating],
    log_weights: Array,
    posterior: Array,
) -> Number:
    count = trace(views[0], events, how[0])
    if count >= 0:
        weigh_worlds(views[0], count, states, how[1], log_weights, posterior)
    return count
