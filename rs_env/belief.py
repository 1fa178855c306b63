"""What a view tells about the hidden cards: the number of deals that agree with it, uniform samples, exact marginals.

The unseen cards lie in the seats' unknown places (hand size less known cards), and a seat's unknown cards have nothing
of its excluded suits and at least one of each of its held suits. With no model of how people play, all such deals are
equally likely (``docs/rules.md``, what everybody knows). `rs_env.engine.belief` tells the method. `count` is a whole
number without error.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rs_env.cards import NUM_CARDS, members
from rs_env.checks import check_seed, check_whole
from rs_env.engine.belief import SLOTS, draw_all, expect, new_belief, prepare_first
from rs_env.engine.rng import game_key
from rs_env.engine.state import STATE
from rs_env.engine.view import as_one_view
from rs_env.rules import MAX_PLAYERS


def _believe(view: Any) -> tuple[np.ndarray, np.ndarray]:
    views, beliefs = as_one_view(view), new_belief()
    if not prepare_first(views, beliefs) > 0.0:
        raise ValueError("view: no deal of the hidden cards agrees with it")
    return views, beliefs


def count(view: Any) -> int:
    """The exact number of deals of the hidden cards that agree with a view.

    view: one record of dtype `rs_env.engine.view.VIEW`.
    Raises ValueError for anything but a view, and for a view that no deal agrees with.
    """
    b = _believe(view)[1][0]
    unknown = [int(b["unknown"][seat]) for seat in b["seats"][: b["num_seats"]]]
    ways: dict[tuple[int, ...], int] = {tuple(b["sizes"].tolist()): 1}  # of each number of remaining cards by class
    for j in range(b["num_restricted"]):
        after: defaultdict[tuple[int, ...], int] = defaultdict(int)
        for k in b["splits"][j, : b["num_splits"][j]].tolist():
            for r, number in ways.items():
                product = number * math.prod(map(math.comb, r, k))
                if product:
                    after[tuple(left - taken for left, taken in zip(r, k, strict=True))] += product
        ways = after
    free = unknown[b["num_restricted"] :]
    return sum(ways.values()) * (math.factorial(sum(free)) // math.prod(map(math.factorial, free)))


def sample(view: Any, k: int, rng: np.random.Generator | int | None = None) -> np.ndarray:
    """`k` states of dtype `STATE`, drawn uniformly from those that agree with a view, with replacement.

    rng: a NumPy generator, a seed, or None for a random one. The states can be played on with the engine or put into a
    `SelfPlayVectorEnv` by ``restore`` (while the game goes on); their ``deck`` is unknown (-1), later decks and chance
    are drawn anew. Raises ValueError as `count` does.
    """
    check_whole("k", k, 0, (1 << 31) - 1)
    views, beliefs = _believe(view)
    seed = int(rng.integers(1 << 63)) if isinstance(rng, np.random.Generator) else check_seed(rng)
    states = np.zeros(k, STATE)
    draw_all(views, beliefs, np.uint64(game_key(np.uint64(seed), np.uint64(0))), states)
    return states


def marginals(view: Any) -> np.ndarray:
    """Probability that a seat holds a card in hand, float64 (n, 52), over all deals that agree with a view.

    1 for known cards and the viewer's own; rows add up to hand sizes. Raises ValueError as `count` does.
    """
    views, beliefs = _believe(view)
    v, b = views[0], beliefs[0]
    expected = np.zeros((MAX_PLAYERS, SLOTS))
    expect(beliefs, expected)
    result = np.zeros((int(v["rules"]["num_players"]), NUM_CARDS))
    for seat in range(len(result)):
        for slot in range(SLOTS):
            cards = members(b["cards"][slot])
            if cards:
                result[seat, cards] = expected[seat, slot] / len(cards)
        result[seat, members(v["known"][seat])] = 1.0
    result[int(v["seat"]), members(v["hand"])] = 1.0
    return result


# With a model of how the others play


class Model(Protocol):
    """What `weigh` needs to know of the other players; `rs_env.baselines.models.OpponentModel` is one."""

    def rate(self, view: Any, events: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the weights of worlds, float64 (M,), but for a common constant; and how likely each seat is of
        each type in each world, float64 (M, n, T).
        """


@dataclass(frozen=True)
class Weighed:
    """Worlds that agree with a view, and how likely each of them is by what has been played.

    states: dtype `rs_env.engine.state.STATE`, (k,). weights: float64 (k,), adding up to one. types: float64 (n, T), how
    likely each seat is of each type of the model; zeros for the viewer.
    """

    states: np.ndarray
    weights: np.ndarray
    types: np.ndarray

    @property
    def effective_size(self) -> float:
        """Number of equally weighed worlds that would say as much: 1 / sum of squared weights (Kong 1992), 1..k."""
        return float(1 / np.square(self.weights).sum())

    @cached_property
    def marginals(self) -> np.ndarray:
        """Probability that a seat holds a card in hand, float64 (n, 52): the weighed share of worlds where it does."""
        hands = self.states["hand"][:, : len(self.types)]
        held = (hands[:, :, None] >> np.arange(NUM_CARDS, dtype=np.uint64) & np.uint64(1)).astype(np.float64)
        return np.tensordot(self.weights, held, 1)


def weigh(
    view: Any, events: np.ndarray, model: Model, k: int = 1000, rng: np.random.Generator | int | None = None
) -> Weighed:
    """`k` worlds as `sample` draws them, weighed by a model of the other players and what has been played.

    events: the public history of the view's game, uint8, see `rs_env.history` and `rs_env.Game.events`. Importance
    sampling: the weights are those of the model, so that estimates get exact as k grows; `Weighed.effective_size` tells
    how far they can be trusted. Raises ValueError as `count` does, and for a history that does not lead to the view.
    """
    states = sample(view, check_whole("k", k, 1, (1 << 31) - 1), rng)
    log_weights, posterior = model.rate(view, events, states)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    return Weighed(states, weights, np.tensordot(weights, posterior, 1))
