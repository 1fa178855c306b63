"""Random play and rules of thumb, compiled.

A player is a function of a view and a one-element `stream` (np.uint64), from which it draws in place, so that the same stream
and view give the same action. `RANDOM` and `HEURISTIC` name the players in compiled code, where functions cannot be passed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rs_env.bits import EMPTY, bit, lowest, nth_member, popcount, suit_set, without_lowest
from rs_env.cards import NUM_RANKS, NUM_SUITS, PICKUP
from rs_env.rng import advance, below, unit

# Weights of a lead, in units of one certain break of the trick by a void player.
PER_CARD_OF_SUIT = 0.2
LOW_TO_BREAK = 0.05  # per rank, the more the likelier the break
HIGH_TO_KEEP = 0.01  # per rank
TIE_BREAK = 1e-6

PLAYERS = ("random", "heuristic")
RANDOM, HEURISTIC = range(len(PLAYERS))


@njit(cache=True, nogil=True)
def act_all(player, views, stream, actions):
    """Write the action of the player of this number for each view, all drawing from one stream."""
    for i in range(views.shape[0]):
        actions[i] = act(player, views[i], stream)


@njit
def act(player, view, stream):
    """The action of the player of this number."""
    return by_heuristic(view, stream) if player == HEURISTIC else at_random(view, stream)


@njit
def at_random(view, stream):
    """Any legal action, uniformly."""
    stream[0] = advance(stream[0])
    return nth_member(view.legal, below(stream[0], popcount(view.legal)))


@njit
def by_heuristic(view, stream):
    """Lead from a long suit in which somebody is likely to be void, follow as low as possible, ruff rather than pick up.

    A led card that somebody else must pick up costs its leader nothing, so a break is what a lead aims at; and a long suit
    keeps the short ones to follow with. If a break is likely the lead is low, which leaves the high cards for later; if
    everybody is likely to follow it is high, to keep the lead, since only who leads is safe from picking up. The weights are
    rounded from a random search in games against random players.
    """
    return best_lead(view, stream) if view.led < 0 else best_answer(view)


@njit
def best_lead(view, stream):
    """The legal lead with the best score, ties broken at random."""
    best_score, best = -1.0, PICKUP
    for suit in range(NUM_SUITS):
        cards = view.legal & suit_set(suit)
        if cards == EMPTY:
            continue
        length = PER_CARD_OF_SUIT * popcount(view.hand & suit_set(suit))
        broken = chance_of_break(view, suit)
        while cards != EMPTY:
            card = lowest(cards)
            cards = without_lowest(cards)
            stream[0] = advance(stream[0])
            rank = card % NUM_RANKS
            score = length + broken * (1.0 - LOW_TO_BREAK * rank) + HIGH_TO_KEEP * rank + TIE_BREAK * unit(stream[0])
            if score > best_score:
                best_score, best = score, card
    return best


@njit
def best_answer(view):
    """The lowest card that follows, else the lowest trump, else a silent play if it is as likely to pass as not, else the pickup."""
    following = view.legal & suit_set(view.led)
    if following != EMPTY:
        return lowest(following)
    if view.trump >= 0 and view.legal & suit_set(view.trump):
        return lowest(view.legal & suit_set(view.trump))
    cards = view.legal & ~bit(PICKUP)
    if cards != EMPTY and view.rules.silent_catch <= 0.5:
        return lowest(cards)
    return np.int64(PICKUP)


@njit
def chance_of_break(view, suit):
    """Probability that somebody still in cannot follow a lead of this suit, the seats taken as independent."""
    all_follow = 1.0
    for seat in range(view.rules.num_players):
        if seat != view.seat and view.still_in >> seat & 1:
            all_follow *= 1.0 - chance_void(view, seat, suit)
    return 1.0 - all_follow


@njit
def chance_void(view, seat, suit):
    """Probability that another seat has none of a suit, its unknown cards taken as drawn from all unseen cards."""
    cards = suit_set(suit)
    if view.known[seat] & cards:
        return 0.0
    if view.excluded[seat] >> suit & 1:
        return 1.0
    seen = view.hand | view.dead | view.trick
    for other in range(view.rules.num_players):
        seen |= view.known[other]
    unseen = view.rules.deck & ~seen
    if unseen == EMPTY:
        return 1.0
    unknown = view.hand_size[seat] - popcount(view.known[seat])
    return (1.0 - popcount(unseen & cards) / popcount(unseen)) ** unknown
