"""The compiled part of `rs_env.belief`: ways to deal the hidden cards, uniform samples, expected numbers.

The unseen cards lie in the seats' unknown places (hand size less known cards), and a seat's unknown cards have nothing
of its excluded suits and at least one of each of its held suits. With no model of how people play, all such deals are
equally likely (``docs/rules.md``, what everybody knows).

Method. Suits that the same seats exclude are alike and form one *class*; a suit that somebody holds is a class of its
own. Seats that exclude something unseen, or hold something, are *restricted*; the others take what those leave, in
equally many ways whatever it is. Let W_j(r) be the number of ways to deal to the restricted seats j, j + 1, ... out of
r[c] remaining cards of each class c, u_j being the unknown cards of seat j. Then

    W_j(r) = sum over k of  W_{j+1}(r - k) * product over c of binomial(r[c], k[c]),

over all k with u_j cards in all, none of a class that seat j excludes and some of each that it holds; W is 1 after the
last seat. A sample draws k
for one restricted seat after the other in proportion to the terms of this sum, then the cards of each class without
regard to which, then shuffles the rest to the other seats. Weights are float64, exact up to 2**53 and rounded above, so
a sample is uniform up to relative errors of about 1e-14.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from rs_env.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS
from rs_env.engine.bits import EMPTY, bit, lowest, nth_member, popcount, suit_set
from rs_env.engine.jit import njit
from rs_env.engine.rng import advance, below, game_key, unit
from rs_env.engine.state import NO_CARD
from rs_env.engine.types import (
    Array,
    CardSet,
    CompiledRules,
    Number,
    Public,
    Real,
    Seat,
    State,
    States,
    Stream,
    View,
    Views,
)
from rs_env.engine.view import copy_public
from rs_env.rules import MAX_PLAYERS

SLOTS = NUM_SUITS  # there are at most as many classes as suits
_LAST = SLOTS - 1  # the largest class; what remains of it follows from the rest, so tables leave it out
_TABLE = 14**3  # three classes of up to 13 cards beside the largest, or two of up to 13, or one of up to 26
_SPLITS = _TABLE  # a seat takes of three such classes what it likes, and what it takes of the largest follows

# All that is derived from a view before sampling. One record serves any number of views, one after the other.
BELIEF = np.dtype(
    [
        ("cards", np.uint64, (SLOTS,)),  # of each class, unseen
        ("sizes", np.int64, (SLOTS,)),  # how many they are
        ("remaining", np.uint64, (SLOTS,)),  # scratch of `draw`: cards not yet dealt
        ("seats", np.int64, (MAX_PLAYERS,)),  # with unknown cards, the restricted ones first
        ("unknown", np.int64, (MAX_PLAYERS,)),  # number of unknown cards, by seat
        ("num_restricted", np.int64),
        ("num_seats", np.int64),
        ("num_splits", np.int64, (MAX_PLAYERS,)),
        ("splits", np.int8, (MAX_PLAYERS, _SPLITS, SLOTS)),  # the k of each restricted seat; small, as it is cleared
        ("ways", np.float64, (MAX_PLAYERS, _TABLE)),  # W
    ],
    align=True,
)

_BINOMIAL = np.array([[float(math.comb(n, k)) for k in range(NUM_CARDS + 1)] for n in range(NUM_CARDS + 1)])


Belief: TypeAlias = Any
"""A record of dtype `BELIEF`."""


def new_belief() -> np.ndarray:
    """Memory for `prepare`: an array of one `BELIEF` record."""
    return np.zeros(1, BELIEF)


@njit(inline="always")
def unseen_cards(rules: CompiledRules, p: Public) -> CardSet:
    """Cards that only their holder has seen: not dead, not in the trick, not known. p: a view or a state."""
    seen = p.dead | p.trick
    for seat in range(rules.num_players):
        seen |= p.known[seat]
    return rules.deck & ~seen


@njit(cache=True, nogil=True)
def prepare(view: View, b: Belief) -> Real:
    """Derive everything from a view; returns the number of ways to deal to the restricted seats, 0 if nothing agrees
    with the view.
    """
    rules = view.rules
    unseen = unseen_cards(rules, view) & ~view.hand
    _find_classes(rules, view, unseen, b)
    places = 0
    for seat in range(rules.num_players):
        unknown = np.int64(view.hand_size[seat]) - popcount(view.known[seat])
        if unknown < 0:
            return 0.0
        b.unknown[seat] = 0 if seat == view.seat else unknown
        places += b.unknown[seat]
    if places != popcount(unseen) or not _held_is_there(rules, view, unseen, b):
        return 0.0
    b.num_seats = 0
    _append_seats(rules, view, unseen, True, b)
    b.num_restricted = b.num_seats
    _append_seats(rules, view, unseen, False, b)
    for j in range(b.num_restricted):
        _list_splits(view, b, j)
    total = np.int64(places)
    for j in range(b.num_restricted):
        total -= b.unknown[b.seats[j]]
    for j in range(b.num_restricted - 1, 0, -1):
        total += b.unknown[b.seats[j]]
        _fill_ways(b, j, total)
    if b.num_restricted == 0:
        return 1.0
    r0, r1, r2, r3 = b.sizes[0], b.sizes[1], b.sizes[2], b.sizes[3]
    b.ways[0, _index(b, r0, r1, r2)] = _sum_of_splits(b, 0, r0, r1, r2, r3)
    return b.ways[0, _index(b, r0, r1, r2)]


@njit
def _append_seats(rules: CompiledRules, view: View, unseen: CardSet, restricted: bool, b: Belief) -> None:
    """Append to ``b.seats`` those with unknown cards that are restricted, or those that are not."""
    for seat in range(rules.num_players):
        if b.unknown[seat] > 0 and _is_restricted(view, unseen, seat) == restricted:
            b.seats[b.num_seats] = seat
            b.num_seats += 1


@njit(inline="always")
def _is_restricted(view: View, unseen: CardSet, seat: Seat) -> bool:
    """Whether the seat excludes a suit of which cards are unseen, or holds one."""
    barred = EMPTY
    for suit in range(NUM_SUITS):
        if view.excluded[seat] >> suit & 1:
            barred |= suit_set(suit)
    return unseen & barred != EMPTY or view.held[seat] != 0


@njit(inline="always")
def _held_is_there(rules: CompiledRules, view: View, unseen: CardSet, b: Belief) -> bool:
    """Whether there are unseen cards of each suit that another seat holds, and a place for one."""
    for seat in range(rules.num_players):
        for suit in range(NUM_SUITS):
            if seat != view.seat and view.held[seat] >> suit & 1:
                if b.unknown[seat] == 0 or unseen & suit_set(suit) == EMPTY:
                    return False
    return True


@njit
def _find_classes(rules: CompiledRules, view: View, unseen: CardSet, b: Belief) -> None:
    """Put the suits into classes by the seats that exclude them, each that is held into its own, and the largest class
    into the last slot.
    """
    marks = np.uint64(0)  # a byte for each slot: the seats that exclude its suits, and the viewer's bit if it is held
    used = 0
    for slot in range(SLOTS):
        b.cards[slot] = EMPTY
    for suit in range(NUM_SUITS):
        cards = unseen & suit_set(suit)
        if cards == EMPTY:
            continue
        mark, held = EMPTY, False
        for seat in range(rules.num_players):
            if seat != view.seat:
                mark |= bit(seat) if view.excluded[seat] >> suit & 1 else EMPTY
                held |= view.held[seat] >> suit & 1 != 0
        if held:
            mark |= bit(view.seat)
        slot = used if held else 0
        while slot < used and (marks >> np.uint64(8 * slot)) & np.uint64(0xFF) != mark:
            slot += 1
        if slot == used:
            marks |= mark << np.uint64(8 * slot)
            used += 1
        b.cards[slot] |= cards
    largest = 0
    for slot in range(1, SLOTS):
        if popcount(b.cards[slot]) > popcount(b.cards[largest]):
            largest = slot
    b.cards[largest], b.cards[_LAST] = b.cards[_LAST], b.cards[largest]
    for slot in range(SLOTS):
        b.sizes[slot] = popcount(b.cards[slot])


@njit(inline="always")
def _allowed(view: View, b: Belief, seat: Seat, slot: Number) -> tuple[Number, Number]:
    """The fewest and the most cards of a class that the seat may have among its unknown ones."""
    if b.sizes[slot] == 0:
        return 0, 0
    suit = lowest(b.cards[slot]) // NUM_RANKS
    fewest = np.int64(view.held[seat] >> suit & 1)
    return fewest, 0 if view.excluded[seat] >> suit & 1 else b.sizes[slot]


@njit
def _list_splits(view: View, b: Belief, j: Number) -> None:
    """All ways k to split the unknown cards of restricted seat j among the classes."""
    seat = b.seats[j]
    u = b.unknown[seat]
    count = 0
    fewest0, most0 = _allowed(view, b, seat, 0)
    fewest1, most1 = _allowed(view, b, seat, 1)
    fewest2, most2 = _allowed(view, b, seat, 2)
    fewest3, most3 = _allowed(view, b, seat, 3)
    for k0 in range(fewest0, min(u, most0) + 1):
        for k1 in range(fewest1, min(u - k0, most1) + 1):
            for k2 in range(fewest2, min(u - k0 - k1, most2) + 1):
                k3 = u - k0 - k1 - k2
                if fewest3 <= k3 <= most3:
                    split = b.splits[j, count]
                    split[0], split[1], split[2], split[3] = k0, k1, k2, k3
                    count += 1
    b.num_splits[j] = count


@njit(inline="always")
def _index(b: Belief, r0: Number, r1: Number, r2: Number) -> Number:
    """Place of W(r) in a table."""
    return (r0 * (b.sizes[1] + 1) + r1) * (b.sizes[2] + 1) + r2


@njit(inline="always")
def _term(b: Belief, j: Number, i: Number, r0: Number, r1: Number, r2: Number, r3: Number) -> Real:
    """The term of W_j(r) that belongs to split i."""
    k0, k1, k2, k3 = b.splits[j, i, 0], b.splits[j, i, 1], b.splits[j, i, 2], b.splits[j, i, 3]
    if k0 > r0 or k1 > r1 or k2 > r2 or k3 > r3:
        return 0.0
    ways = _BINOMIAL[r0, k0] * _BINOMIAL[r1, k1] * _BINOMIAL[r2, k2] * _BINOMIAL[r3, k3]
    return ways * b.ways[j + 1, _index(b, r0 - k0, r1 - k1, r2 - k2)] if j + 1 < b.num_restricted else ways


@njit(inline="always")
def _sum_of_splits(b: Belief, j: Number, r0: Number, r1: Number, r2: Number, r3: Number) -> Real:
    total = 0.0
    for i in range(b.num_splits[j]):
        total += _term(b, j, i, r0, r1, r2, r3)
    return total


@njit
def _fill_ways(b: Belief, j: Number, total: Number) -> None:
    """Write W_j(r) for every r with `total` cards in all."""
    for r0 in range(b.sizes[0] + 1):
        for r1 in range(b.sizes[1] + 1):
            for r2 in range(b.sizes[2] + 1):
                r3 = total - r0 - r1 - r2
                ways = _sum_of_splits(b, j, r0, r1, r2, r3) if 0 <= r3 <= b.sizes[3] else 0.0
                b.ways[j, _index(b, r0, r1, r2)] = ways


@njit(inline="always")
def take_some(cards: CardSet, count: Number, stream: Stream) -> tuple[CardSet, Stream]:
    """A uniformly random subset of so many cards, and the stream after it."""
    taken = EMPTY
    left = popcount(cards)
    if count == left:
        return cards, stream
    for _ in range(count):
        stream = advance(stream)
        card = bit(nth_member(cards, below(stream, left)))
        taken |= card
        cards ^= card
        left -= 1
    return taken, stream


@njit(cache=True, nogil=True)
def draw(view: View, b: Belief, stream: Stream, s: State) -> Stream:
    """Write a uniformly random state that agrees with the view, after `prepare`; returns the stream after it.

    The deck is unknown; decks and noticed silent plays to come are drawn from `stream` as well.
    """
    copy_public(view, s)
    for seat in range(MAX_PLAYERS):
        s.hand[seat] = view.known[seat]
    s.hand[view.seat] = view.hand
    for slot in range(SLOTS):
        b.remaining[slot] = b.cards[slot]
    for j in range(b.num_restricted):
        stream = _deal_restricted(b, j, stream, s)
    pool = b.remaining[0] | b.remaining[1] | b.remaining[2] | b.remaining[3]
    for j in range(b.num_restricted, b.num_seats):
        seat = b.seats[j]
        taken, stream = take_some(pool, b.unknown[seat], stream)
        pool ^= taken
        s.hand[seat] |= taken
    stream = advance(stream)
    s.key = game_key(stream, np.uint64(0))
    s.chance = game_key(stream, np.uint64(1))
    s.deal = 0
    for i in range(NUM_CARDS):
        s.deck[i] = NO_CARD
    return stream


@njit(inline="always")
def _deal_restricted(b: Belief, j: Number, stream: Stream, s: State) -> Stream:
    """Draw the split of restricted seat j, then its cards."""
    r0 = popcount(b.remaining[0])
    r1 = popcount(b.remaining[1])
    r2 = popcount(b.remaining[2])
    r3 = popcount(b.remaining[3])
    stream = advance(stream)
    mark = unit(stream) * b.ways[j, _index(b, r0, r1, r2)]
    chosen = 0
    for i in range(b.num_splits[j]):
        term = _term(b, j, i, r0, r1, r2, r3)
        if term > 0.0:  # rounding can leave a mark beyond the last term, so the last possible split stands
            chosen = i
            mark -= term
            if mark < 0.0:
                break
    seat = b.seats[j]
    for slot in range(SLOTS):
        k = np.int64(b.splits[j, chosen, slot])
        if k > 0:
            taken, stream = take_some(b.remaining[slot], k, stream)
            b.remaining[slot] ^= taken
            s.hand[seat] |= taken
    return stream


@njit(cache=True, nogil=True)
def draw_all(views: Views, beliefs: Array, stream: Stream, states: States) -> None:
    """`draw` each of the states from the first view, after `prepare_first`."""
    for i in range(states.shape[0]):
        stream = draw(views[0], beliefs[0], stream, states[i])


@njit(cache=True, nogil=True)
def prepare_first(views: Views, beliefs: Array) -> Real:
    """`prepare` the first belief from the first view."""
    return prepare(views[0], beliefs[0])


@njit(cache=True, nogil=True)
def expect(beliefs: Array, expected: Array) -> None:
    """Write the expected number of cards of each class that each seat's unknown places hold, to float64 (8, 4)."""
    b = beliefs[0]
    weight = np.zeros((MAX_PLAYERS + 1, _TABLE))  # of all deals to the seats before j that leave r
    weight[0, _index(b, b.sizes[0], b.sizes[1], b.sizes[2])] = 1.0
    total = popcount(b.cards[0] | b.cards[1] | b.cards[2] | b.cards[3])
    for j in range(b.num_restricted):
        seat = b.seats[j]
        for r0 in range(b.sizes[0] + 1):
            for r1 in range(b.sizes[1] + 1):
                for r2 in range(b.sizes[2] + 1):
                    r3 = total - r0 - r1 - r2
                    here = weight[j, _index(b, r0, r1, r2)]
                    if here == 0.0:
                        continue
                    for i in range(b.num_splits[j]):
                        term = _term(b, j, i, r0, r1, r2, r3)
                        if term > 0.0:
                            k = b.splits[j, i]
                            place = _index(b, r0 - k[0], r1 - k[1], r2 - k[2])
                            after = b.ways[j + 1, place] if j + 1 < b.num_restricted else 1.0
                            weight[j + 1, place] += here * (term / after)
                            for slot in range(SLOTS):
                                expected[seat, slot] += (
                                    here * term * k[slot] / b.ways[0, _index(b, b.sizes[0], b.sizes[1], b.sizes[2])]
                                )
        total -= b.unknown[seat]
    for slot in range(SLOTS):
        left = np.float64(b.sizes[slot])
        for j in range(b.num_restricted):
            left -= expected[b.seats[j], slot]
        for j in range(b.num_restricted, b.num_seats):
            expected[b.seats[j], slot] = left * b.unknown[b.seats[j]] / total
