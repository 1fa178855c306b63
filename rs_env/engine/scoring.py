"""What a deal or match is worth: scores, totals, rewards. Section 5 of ``docs/rules.md``."""

from __future__ import annotations

import numpy as np

from rs_env.cards import NUM_RANKS
from rs_env.engine.bits import EMPTY, lowest, without_lowest
from rs_env.engine.jit import njit
from rs_env.engine.state import RUNNING, TRUNCATED
from rs_env.engine.types import CardSet, CompiledRules, Real, Seat, State
from rs_env.scorings import Basis

_WIN, _PLACE, _OWN_HAND, _ALL_HANDS = (int(basis) for basis in Basis)


@njit
def deal_score(rules: CompiledRules, s: State, seat: Seat) -> Real:
    """Score of a seat by the hands as they are, as at the end of a deal."""
    if rules.basis == _OWN_HAND:
        return value_of(rules, s.hand[seat])
    if rules.basis == _PLACE:
        return (rules.num_players - place(rules, s, seat)) / (rules.num_players - 1)
    if s.num_out == 0 or s.out[0] != seat:
        return 0.0
    return 1.0 if rules.basis == _WIN else value_of_hands(rules, s)


@njit
def value_of(rules: CompiledRules, cards: CardSet) -> Real:
    """What a set of cards counts."""
    total = 0
    while cards != EMPTY:
        total += rules.card_values[lowest(cards) % NUM_RANKS]
        cards = without_lowest(cards)
    return np.float64(total)


@njit
def value_of_hands(rules: CompiledRules, s: State) -> Real:
    """What the cards in all hands count."""
    hands = EMPTY
    for seat in range(rules.num_players):
        hands |= s.hand[seat]
    return value_of(rules, hands)


@njit
def place(rules: CompiledRules, s: State, seat: Seat) -> Real:
    """Place of a seat, 1 being best; who is not out ranks by cards in hand, equals sharing their places."""
    for i in range(s.num_out):
        if s.out[i] == seat:
            return i + 1.0
    count = s.hand_size[seat]
    ahead, equal = np.int64(s.num_out), np.int64(0)
    for other in range(rules.num_players):
        if s.still_in >> other & 1:
            ahead += s.hand_size[other] < count
            equal += s.hand_size[other] == count
    return ahead + (equal + 1) / 2


@njit
def add_scores(rules: CompiledRules, s: State) -> Real:
    """Add the scores of the deal to the totals of the match; returns the highest total."""
    highest_total = 0.0
    for seat in range(rules.num_players):
        s.totals[seat] = exact(rules, s.totals[seat] + deal_score(rules, s, seat))
        highest_total = max(highest_total, s.totals[seat])
    return highest_total


@njit
def exact(rules: CompiledRules, total: Real) -> Real:
    """The float nearest to a total that is a sum of scores.

    Scores for places are multiples of 1 / 2(n - 1); added up in floating point, equal totals could differ in the last
    bit, and a total at the target could lie below it.
    """
    unit = 2.0 * (rules.num_players - 1)
    return np.floor(total * unit + 0.5) / unit if rules.basis == _PLACE else total


@njit(cache=True, nogil=True)
def score(rules: CompiledRules, s: State, seat: Seat) -> Real:
    """Score of a seat: of the deal once it is over (before that 0), or the running total of a match."""
    if rules.target > 0.0:
        return s.totals[seat]
    return deal_score(rules, s, seat) if s.status != RUNNING else 0.0


@njit(cache=True, nogil=True)
def reward(rules: CompiledRules, s: State, seat: Seat) -> Real:
    """Reward of a seat: 0 while the game runs; then its score, negative where low is good, or its share of the
    match.
    """
    if s.status == RUNNING:
        return 0.0
    if rules.target == 0.0:
        value = deal_score(rules, s, seat)
        return 0.0 - value if rules.low_is_good else value
    if s.status == TRUNCATED:
        return 0.0
    sign = -1.0 if rules.low_is_good else 1.0
    equals = 0
    for other in range(rules.num_players):
        if sign * s.totals[other] > sign * s.totals[seat]:
            return 0.0
        equals += s.totals[other] == s.totals[seat]
    return 1.0 / equals
