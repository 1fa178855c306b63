"""Rule-based players: tips of card players, each a small function with its reason, weighed against one another.

A player is a vector of weights, one for each tip. It plays the legal action with the highest weighed sum, equals being
drawn at random; with all weights zero it plays at random. `LADDER` names the players, `TIPS` the tips.

The functions here are compiled and work on any record with the public fields, a view or a state of a search; the
caller passes in what is not public: the hand, the legal actions, and the chances that others are void
(`chances_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rs_env.cards import NUM_ACTIONS, NUM_RANKS, NUM_SUITS, PICKUP
from rs_env.engine.belief import unseen_cards
from rs_env.engine.bits import EMPTY, bit, highest, lowest, nth_member, popcount, suit_set, without_lowest
from rs_env.engine.jit import njit
from rs_env.engine.rng import advance, below, mix, unit
from rs_env.engine.state import NO_SUIT
from rs_env.engine.types import (
    Action,
    ActionSet,
    Array,
    Card,
    CardSet,
    CompiledRules,
    Key,
    Number,
    Public,
    Rank,
    Real,
    Seat,
    Stream,
    Suit,
    View,
    Views,
)
from rs_env.engine.view import view_key

TIE_BREAK = 1e-6
_BREAKS, _BLOCKS, _LATER = 0, NUM_SUITS, 2 * NUM_SUITS  # places in the array of chances
NUM_CHANCES = 2 * NUM_SUITS + 1


class Choice(NamedTuple):
    """A card that might be played, and what a tip may look at to judge it."""

    rules: CompiledRules
    public: Public
    seat: Seat
    """Who is to play."""
    hand: CardSet
    """The cards of that seat."""
    card: Card
    suit: Suit
    rank: Rank
    broken: Real
    """For a lead: the chance that somebody cannot follow."""
    blocked: Real
    """For a lead: the chance that somebody with one card left cannot follow."""
    later: Real
    """For a follow: the chance that somebody yet to play to the trick cannot follow."""


# Tips for a lead. A led card that another player must pick up has cost its leader nothing but the lead, and no card of
# a completed trick comes back either: a lead is always safe for its leader.


def _void(c: Choice) -> Real:
    """Lead a suit that somebody lacks: the trick goes to another hand, which can win no more with so many cards."""
    return c.broken


def _long(c: Choice) -> Real:
    """Lead from a long suit: a player who keeps a card of every suit can follow any lead."""
    return popcount(c.hand & suit_set(c.suit))


def _low(c: Choice) -> Real:
    """Lead low: high cards are kept to win tricks, which is what gives the lead."""
    return -c.rank


def _cheap(c: Choice) -> Real:
    """The likelier the trick is broken the lower the lead: a high card would be wasted on it."""
    return -c.rank * c.broken


def _high(c: Choice) -> Real:
    """Lead high: if everybody follows, the highest card leads again, and the leader need not pick up."""
    return c.rank


def _single(c: Choice) -> Real:
    """Keep the last card of a suit: without it the suit cannot be followed."""
    return -1.0 if without_lowest(c.hand & suit_set(c.suit)) == EMPTY else 0.0


def _block(c: Choice) -> Real:
    """Lead a suit that a player with one card left lacks, who could otherwise leave with that card."""
    return c.blocked


# Tips for following suit.


def _duck(c: Choice) -> Real:
    """Follow low: high cards are kept to win tricks, which is what gives the lead."""
    return -c.rank


def _last(c: Choice) -> Real:
    """Last to play, win the trick if you can, and with it the lead."""
    is_last, suit = c.public.pending == 1 << c.seat, suit_set(c.public.led)
    return 1.0 if is_last and c.card > highest(c.public.trick & suit) else 0.0


def _dump(c: Choice) -> Real:
    """Follow high if somebody later in the trick may be void and pick it all up."""
    return c.rank * c.later


# Tips for a player who cannot follow; the pickup counts 0.


def _ruff(c: Choice) -> Real:
    """Trump rather than pick up."""
    return 1.0 if c.suit == c.public.trump else 0.0


def _silent(c: Choice) -> Real:
    """Play on silently rather than pick up, unless that is noticed more often than not."""
    return 0.0 if c.suit == c.public.trump else 1.2 - 2.0 * c.rules.silent_catch


# A new tip is a function and its row in one of these.
_LEADS = {
    "void": _void,
    "long": _long,
    "low": _low,
    "cheap": _cheap,
    "high": _high,
    "single": _single,
    "block": _block,
}
_FOLLOWS = {"duck": _duck, "last": _last, "dump": _dump}
_VOIDS = {"ruff": _ruff, "silent": _silent}

TIPS = (*_LEADS, *_FOLLOWS, *_VOIDS)
"""The names of all tips; weights stand in this order."""

MEANINGS = {name: tip.__doc__ or "" for name, tip in (_LEADS | _FOLLOWS | _VOIDS).items()}
"""What each tip says and why."""

# The ladder, from nothing to all that helps. Weights for leads are in units of one certain break of the trick. Those of
# the last are rounded from a search (cross-entropy method) for the most wins against random players under both main
# rule sets and against an earlier version of itself; what each is worth is in ``docs/baselines.md``.
LADDER: dict[str, dict[str, float]] = {
    "random": {},
    "low": {"low": 1.0, "duck": 1.0, "ruff": 1.0},
    "longest": {"long": 1.0, "low": 0.01, "duck": 1.0, "ruff": 1.0},
    "dumper": {"void": 1.0, "low": 0.01, "duck": 1.0, "ruff": 1.0},
    "heuristic": {
        "void": 1.0,
        "long": 0.15,
        "cheap": 0.045,
        "high": 0.02,
        "single": 0.1,
        "block": 0.4,
        "duck": 0.3,
        "last": 2.5,
        "ruff": 1.0,
        "silent": 1.0,
    },
}


def weights_of(**tips: float) -> np.ndarray:
    """The weights as an array in the order of `TIPS`, float64; tips that are not named have none."""
    return np.array([tips.get(name, 0.0) for name in TIPS])


# The player


@njit(inline="always")
def _no_tips(w: Array, c: Choice) -> Real:
    return 0.0


def _weighed_sum(tips: Mapping[str, Callable[[Choice], Real]]) -> Any:
    """The compiled function ``(w, choice)`` that adds these tips up, each times its weight."""
    total = _no_tips
    for name, tip in tips.items():
        total = _with_tip(total, TIPS.index(name), njit(inline="always")(tip))
    return total


def _with_tip(others: Any, place: int, tip: Any) -> Any:
    @njit(inline="always")
    def total(w: Array, c: Choice) -> Real:
        return others(w, c) + w[place] * tip(c)

    return total


_lead_score, _follow_score, _void_score = _weighed_sum(_LEADS), _weighed_sum(_FOLLOWS), _weighed_sum(_VOIDS)
_DUCK, DUMP = TIPS.index("duck"), TIPS.index("dump")


@njit(inline="always")
def score_of(
    w: Array, rules: CompiledRules, p: Public, seat: Seat, hand: CardSet, card: Action, chances: Array
) -> Real:
    """The weighed sum of the tips for an action; the pickup has 0."""
    if card == PICKUP:
        return 0.0
    suit, rank = card // NUM_RANKS, np.float64(card % NUM_RANKS)
    c = Choice(
        rules, p, seat, hand, card, suit, rank, chances[_BREAKS + suit], chances[_BLOCKS + suit], chances[_LATER]
    )
    if p.led == NO_SUIT:
        return _lead_score(w, c)
    if suit == p.led:
        return _follow_score(w, c)
    if hand & suit_set(p.led):  # a trump though the suit could be followed, for which there is no tip but to keep it
        return _follow_score(w, c) - NUM_RANKS * w[_DUCK]
    return _void_score(w, c) - 0.01 * w[_DUCK] * rank  # equals are played low


@njit
def choose(
    w: Array,
    rules: CompiledRules,
    p: Public,
    seat: Seat,
    hand: CardSet,
    legal: ActionSet,
    chances: Array,
    stream: Stream,
) -> Action:
    """The action with the highest score; nothing but the draw among equals depends on `stream`."""
    best_score, best = -np.inf, np.int64(PICKUP)
    while legal != EMPTY:
        card = lowest(legal)
        legal = without_lowest(legal)
        score = score_of(w, rules, p, seat, hand, card, chances) + TIE_BREAK * unit(mix(stream + np.uint64(card)))
        if score > best_score:
            best_score, best = score, card
    return best


@njit(inline="always")
def at_random(legal: ActionSet, stream: Stream) -> Action:
    """Any legal action, uniformly."""
    return nth_member(legal, below(stream, popcount(legal)))


# Chances that others are void


@njit
def chances_of(rules: CompiledRules, p: Public, seat: Seat, hand: CardSet, chances: Array) -> None:
    """Write the chances that others are void, as a seat with this hand sees it, the other seats taken as independent.

    First for each suit the chance that somebody cannot follow its lead, then for each that somebody with one card left
    cannot, then that somebody yet to play to the trick cannot follow.
    """
    unseen = unseen_cards(rules, p) & ~hand
    total = popcount(unseen)
    for i in range(NUM_CHANCES):
        chances[i] = 1.0
    for other in range(rules.num_players):
        if other == seat or not p.still_in >> other & 1:
            continue
        unknown = p.hand_size[other] - popcount(p.known[other])
        if p.led != NO_SUIT:
            if p.pending >> other & 1:
                chances[_LATER] *= 1.0 - _chance_void(p, other, p.led, unseen, total, unknown)
            continue
        for suit in range(NUM_SUITS):
            follows = 1.0 - _chance_void(p, other, suit, unseen, total, unknown)
            chances[_BREAKS + suit] *= follows
            if p.hand_size[other] == 1:
                chances[_BLOCKS + suit] *= follows
    for i in range(NUM_CHANCES):
        chances[i] = 1.0 - chances[i]


@njit(inline="always")
def _chance_void(p: Public, seat: Seat, suit: Suit, unseen: CardSet, total: Number, unknown: Number) -> Real:
    """Probability that another seat has none of a suit, its unknown cards taken as drawn from all unseen cards with
    replacement.
    """
    cards = suit_set(suit)
    if p.known[seat] & cards:
        return 0.0
    if p.excluded[seat] >> suit & 1 or total == 0:
        return 1.0
    return _power(1.0 - popcount(unseen & cards) / total, unknown)


@njit(inline="always")
def _power(x: Real, exponent: Number) -> Real:
    """A whole power, by squaring: a fraction of the time of a general one."""
    result = 1.0
    while exponent > 0:
        if exponent & 1:
            result *= x
        x *= x
        exponent >>= 1
    return result


@njit
def act(w: Array, view: View, seed: Key, chances: Array) -> Action:
    """The action of the player with weights `w` for a view. Draws depend on the view and on `seed` only."""
    stream = advance(view_key(view, seed))
    plain = True
    for tip in range(w.shape[0]):
        plain = plain and w[tip] == 0.0
    if plain:
        return at_random(view.legal, stream)
    chances_of(view.rules, view, view.seat, view.hand, chances)
    return choose(w, view.rules, view, view.seat, view.hand, view.legal, chances, stream)


@njit(cache=True, nogil=True)
def act_all(w: Array, views: Views, seeds: Array, actions: Array) -> None:
    """Write the action of the player with weights `w` for each view, drawn from the seed beside it."""
    chances = np.empty(NUM_CHANCES)
    for i in range(views.shape[0]):
        actions[i] = act(w, views[i], seeds[i], chances)


@njit
def _scores_of(w: Array, view: View, chances: Array, scores: Array) -> None:
    """Write the score of each legal action, -inf for the others."""
    chances_of(view.rules, view, view.seat, view.hand, chances)
    for action in range(NUM_ACTIONS):
        scores[action] = -np.inf
        if view.legal & bit(action):
            scores[action] = score_of(w, view.rules, view, view.seat, view.hand, action, chances)


@njit(cache=True, nogil=True)
def policy_all(w: Array, views: Views, probabilities: Array) -> None:
    """Write the probability of each action of the player with weights `w`, 0 before, for each view: the best ones
    alike.
    """
    chances = np.empty(NUM_CHANCES)
    scores = np.empty(NUM_ACTIONS)
    for i in range(views.shape[0]):
        _scores_of(w, views[i], chances, scores)
        best = scores > scores.max() - TIE_BREAK
        for action in range(NUM_ACTIONS):
            if best[action]:
                probabilities[i, action] = 1.0 / best.sum()


@njit(cache=True, nogil=True)
def shares_all(w: Array, views: Views, shares: Array) -> None:
    """Write what each tip adds to the score of each legal action for each view, (B, tips, 53), -inf for others."""
    chances = np.empty(NUM_CHANCES)
    alone = np.zeros(w.shape[0])
    for i in range(views.shape[0]):
        for tip in range(w.shape[0]):
            alone[tip] = w[tip]
            _scores_of(alone, views[i], chances, shares[i, tip])
            alone[tip] = 0.0
