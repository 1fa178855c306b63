"""The yardstick: a plain Numba loop that plays Rolling Stone (completed-trick rule, 2n highest ranks) at random.

What one writes first: one record per game, sets of cards as integers, entries of the observation one by one. It knows
no variants, matches or records, and its generator is a bare xorshift; it is here to be compared with, not to be used.
"""

from __future__ import annotations

import numpy as np
from numba import int64, njit, uint64

SEATS = 6
STATE = np.dtype(
    [
        ("rng", np.uint64), ("hand", np.uint64, (SEATS,)), ("known", np.uint64, (SEATS,)), ("dead", np.uint64),
        ("trick_set", np.uint64), ("trick", np.int8, (SEATS,)), ("void", np.uint8, (SEATS,)), ("turn", np.int8),
        ("leader", np.int8), ("length", np.int8), ("led", np.int8), ("winner", np.int8), ("steps", np.int32),
        ("tricks", np.int32),
    ],
    align=True,
)  # fmt: skip
OBSERVATION = 52 * (2 + SEATS) + 4 * SEATS + SEATS + 4


@njit(inline="always")
def draw(s):
    x = s.rng
    x ^= x << uint64(13)
    x ^= x >> uint64(7)
    x ^= x << uint64(17)
    s.rng = x
    return x


@njit(inline="always")
def below(s, n):
    return int64(((draw(s) >> uint64(32)) * uint64(n)) >> uint64(32))


@njit(inline="always")
def count(x):
    c = uint64(x)
    c = c - ((c >> uint64(1)) & uint64(0x5555555555555555))
    c = (c & uint64(0x3333333333333333)) + ((c >> uint64(2)) & uint64(0x3333333333333333))
    c = (c + (c >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    return int64((c * uint64(0x0101010101010101)) >> uint64(56))


@njit(inline="always")
def lowest(x):
    return count((x & (~x + uint64(1))) - uint64(1))


@njit
def deal(s, n, deck, buffer):
    m = len(deck)
    for i in range(m):
        buffer[i] = deck[i]
    for p in range(n):
        s.hand[p] = 0
        s.known[p] = 0
        s.void[p] = 0
    for i in range(m - 1, 0, -1):
        j = below(s, i + 1)
        buffer[i], buffer[j] = buffer[j], buffer[i]
    for i in range(m):
        s.hand[i % n] |= uint64(1) << uint64(buffer[i])
    s.dead = 0
    s.trick_set = 0
    s.turn = 0
    s.leader = 0
    s.length = 0
    s.led = -1
    s.winner = -1
    s.steps = 0
    s.tricks = 0


@njit(inline="always")
def legal(s):
    hand = s.hand[s.turn]
    if s.led < 0:
        return hand
    return hand & (uint64(0x1FFF) << uint64(13 * s.led))


@njit
def pick_up(s, n):
    p = s.turn
    s.void[p] |= np.uint8(1 << s.led)
    first = -1
    for k in range(s.length):
        q = (s.leader + k) % n
        if s.hand[q] == 0 and first < 0:
            first = q
    rest = s.trick_set
    taker = p
    if first >= 0:
        taker = first
        for k in range(s.length):
            q = (s.leader + k) % n
            card = uint64(1) << uint64(s.trick[k])
            if s.hand[q] == 0 and q != first:
                s.hand[q] |= card
                s.known[q] |= card
                rest &= ~card
    s.hand[taker] |= rest
    s.known[taker] |= rest
    s.leader = p
    s.length = 0
    s.led = -1
    s.trick_set = 0
    s.tricks += 1


@njit
def step(s, a, n):
    p = s.turn
    s.steps += 1
    if a == 52:
        pick_up(s, n)
        return
    card = uint64(1) << uint64(a)
    s.hand[p] &= ~card
    s.known[p] &= ~card
    if s.led < 0:
        s.led = a // 13
    s.trick[s.length] = a
    s.trick_set |= card
    s.length += 1
    if s.length < n:
        s.turn = p + 1 if p + 1 < n else 0
        return
    best = 0
    winner = -1
    for k in range(n):
        q = (s.leader + k) % n
        if s.trick[k] > s.trick[best]:
            best = k
        if winner < 0 and s.hand[q] == 0:
            winner = q
    s.dead |= s.trick_set
    s.trick_set = 0
    s.tricks += 1
    s.leader = (s.leader + best) % n
    s.turn = s.leader
    s.length = 0
    s.led = -1
    s.winner = winner


@njit(inline="always")
def expand(row, offset, cards):
    for c in range(52):
        row[offset + c] = (cards >> uint64(c)) & uint64(1)


@njit
def observe(s, row, mask, n):
    p = s.turn
    expand(row, 0, s.hand[p])
    expand(row, 52, s.dead)
    expand(row, 104, s.trick_set)
    offset = 156
    for k in range(1, n):
        expand(row, offset, s.known[(p + k) % n])
        offset += 52
    for k in range(1, n):
        q = (p + k) % n
        row[offset] = count(s.hand[q])
        for suit in range(4):
            row[offset + 1 + suit] = (s.void[q] >> suit) & 1
        offset += 5
    for suit in range(4):
        row[offset + suit] = s.led == suit
    options = legal(s)
    expand(mask, 0, options)
    mask[52] = options == 0


@njit(nogil=True)
def run(states, steps, n, deck, rows, masks, with_observation):
    """Take `steps` random legal actions in each game, dealing again at the end; returns the number of games that
    ended.
    """
    games = 0
    buffer = np.empty(52, np.int8)
    for _ in range(steps):
        for i in range(states.shape[0]):
            s = states[i]
            options = legal(s)
            if options == 0:
                a = 52
            else:
                for _ in range(below(s, count(options))):
                    options &= options - uint64(1)
                a = lowest(options)
            step(s, a, n)
            if s.winner >= 0 or s.tricks >= 1000:
                games += 1
                deal(s, n, deck, buffer)
            if with_observation:
                observe(s, rows[i], masks[i], n)
    return games


class PlainLoop:
    """`games` games of `n` players."""

    def __init__(self, games: int, n: int = 4) -> None:
        self.n = n
        self.deck = np.array([13 * suit + rank for suit in range(4) for rank in range(13 - 2 * n, 13)], np.int8)
        self.states = np.zeros(games, STATE)
        self.states["rng"] = np.random.default_rng(0).integers(1, 2**63, games).astype(np.uint64)
        self.rows, self.masks = np.zeros((games, OBSERVATION), np.int8), np.zeros((games, 53), np.int8)
        for i in range(games):
            deal(self.states[i], n, self.deck, np.empty(52, np.int8))

    def play(self, steps: int, with_observation: bool) -> int:
        """Take `steps` actions in each game; returns how many that are in all."""
        run(self.states, steps, self.n, self.deck, self.rows, self.masks, with_observation)
        return steps * len(self.states)
