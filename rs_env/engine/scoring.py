"""What a deal or match is worth: scores, totals, rewards. Section 5 of ``docs/rules.md``."""

from __future__ import annotations

import numpy as np

from rs_env.cards import NUM_CARDS, NUM_RANKS
from rs_env.engine.bits import bit
from rs_env.engine.jit import njit
from rs_env.engine.state import CARDS, FACE, PLACES, RUNNING, TRUNCATED, WIN

FACE_VALUES = np.array([2, 3, 4, 5, 6, 7, 8, 9, 10, 2, 3, 4, 11], dtype=np.int64)
PARLETT_VALUES = np.array([2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 1], dtype=np.int64)


@njit(inline="always")
def low_is_good(rules):
    """Whether scores are penalty points."""
    return rules.scoring == CARDS or rules.scoring == FACE


@njit
def deal_score(rules, s, seat):
    """Score of a seat by the hands as they are, as at the end of a deal."""
    scoring = rules.scoring
    if scoring == CARDS:
        return float(s.hand_size[seat])
    if scoring == FACE:
        return card_values(s.hand[seat], FACE_VALUES)
    if scoring == PLACES:
        return (rules.num_players - place(rules, s, seat)) / (rules.num_players - 1)
    if s.num_out == 0 or s.out[0] != seat:
        return 0.0
    if scoring == WIN:
        return 1.0
    total = 0.0
    for other in range(rules.num_players):
        total += card_values(s.hand[other], PARLETT_VALUES)
    return total


@njit
def card_values(cards, values):
    """Sum of the values, given by rank, of a set of cards."""
    total = 0.0
    for card in range(NUM_CARDS):
        if cards & bit(card):
            total += values[card % NUM_RANKS]
    return total


@njit
def place(rules, s, seat):
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
def add_scores(rules, s):
    """Add the scores of the deal to the totals of the match; returns the highest total."""
    highest_total = 0.0
    for seat in range(rules.num_players):
        s.totals[seat] = exact(rules, s.totals[seat] + deal_score(rules, s, seat))
        highest_total = max(highest_total, s.totals[seat])
    return highest_total


@njit
def exact(rules, total):
    """The float nearest to a total that is a sum of scores.

    Scores for places are multiples of 1 / 2(n - 1); added up in floating point, equal totals could differ in the last
    bit, and a total at the target could lie below it.
    """
    unit = 2.0 * (rules.num_players - 1)
    return np.floor(total * unit + 0.5) / unit if rules.scoring == PLACES else total


@njit(cache=True, nogil=True)
def score(rules, s, seat):
    """Score of a seat: of the deal once it is over (before that 0), or the running total of a match."""
    if rules.target > 0.0:
        return s.totals[seat]
    return deal_score(rules, s, seat) if s.status != RUNNING else 0.0


@njit(cache=True, nogil=True)
def reward(rules, s, seat):
    """Reward of a seat: 0 while the game runs; then its score, negative where low is good, or its share of the
    match.
    """
    if s.status == RUNNING:
        return 0.0
    if rules.target == 0.0:
        value = deal_score(rules, s, seat)
        return 0.0 - value if low_is_good(rules) else value
    if s.status == TRUNCATED:
        return 0.0
    sign = -1.0 if low_is_good(rules) else 1.0
    equals = 0
    for other in range(rules.num_players):
        if sign * s.totals[other] > sign * s.totals[seat]:
            return 0.0
        equals += s.totals[other] == s.totals[seat]
    return 1.0 / equals
