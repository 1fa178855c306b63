"""Random numbers of the engine: SplitMix64, one 64-bit counter for each stream.

Every stream is named by what it is for, never by when it was made: the deck of deal ``k`` of game ``i`` of seed ``s``
comes from ``deal_stream(game_key(s, i), k)`` and from nothing else, so it does not depend on batch size, threads or
play.

SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np

from rs_env.engine.jit import njit
from rs_env.engine.types import Key, Number, Real, Stream

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)

DECK, CHANCE, DEALER, LEARNER, CHOICE = (np.uint64(number) for number in range(1, 6))
"""What a stream of a deal is for: the shuffle, noticed silent plays, the first dealer, the seat of a learner, and what
a learner does (there decisions stand in the place of deals).
"""


@njit(inline="always")
def mix(x: Key) -> Key:
    """SplitMix64's finaliser: a bijection of 64-bit integers whose outputs look random."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@njit
def game_key(seed: Key, index: Number) -> Key:
    """Key of game `index` of a batch with this seed (both np.uint64)."""
    return mix(mix(seed + _GOLDEN) + (index + np.uint64(1)) * _GOLDEN)


@njit(inline="always")
def deal_stream(key: Key, deal: Number, purpose: Key) -> Stream:
    """First state of the stream that serves `purpose` in deal number `deal` of the game with this key."""
    return mix(mix(key + np.uint64(deal + 1) * _GOLDEN) + purpose * _GOLDEN)


@njit(inline="always")
def advance(stream: Stream) -> Stream:
    """The stream's next state."""
    return stream + _GOLDEN


@njit(inline="always")
def below(stream: Stream, n: Number) -> Number:
    """A whole number in 0..n-1 from a stream's state, by fixed-point multiplication (bias under n / 2**32)."""
    return np.int64(((mix(stream) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(inline="always")
def unit(stream: Stream) -> Real:
    """A float in [0, 1) from a stream's state."""
    return np.float64(mix(stream) >> np.uint64(11)) * _TO_UNIT
