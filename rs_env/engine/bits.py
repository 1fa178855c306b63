"""Sets of cards as 64-bit integers inside compiled code: count, lowest, highest, next in a ring, and unpacking to
bytes.

The intrinsics are single LLVM instructions, which Numba does not offer by name. Everything here takes and gives
np.uint64 for sets and np.int64 for counts and positions; a signed integer mixed with a uint64 would turn both into
floats.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rs_env.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS, PICKUP
from rs_env.engine.jit import njit
from rs_env.engine.types import CardSet, Number, Seat, SeatSet, Suit

ONE = np.uint64(1)
EMPTY = np.uint64(0)
ALL_RANKS = np.uint64((1 << NUM_RANKS) - 1)
ALL_CARDS = np.uint64((1 << NUM_CARDS) - 1)
PICKUP_BIT = np.uint64(1 << PICKUP)
_PAIRS = np.uint64(0x5555_5555_5555_5555)
_NIBBLE_PAIRS = np.uint64(0x3333_3333_3333_3333)
_NIBBLES = np.uint64(0x0F0F_0F0F_0F0F_0F0F)
_EACH_BYTE = np.uint64(0x0101_0101_0101_0101)
_HIGH_BITS = np.uint64(0x8080_8080_8080_8080)
_PLACE_IN_BYTE = np.array(
    [([i for i in range(8) if byte >> i & 1] + [0] * 8)[n] for byte in range(256) for n in range(8)], dtype=np.int8
)
SUIT_SETS = np.array([((1 << NUM_RANKS) - 1) << (NUM_RANKS * suit) for suit in range(NUM_SUITS)], dtype=np.uint64)


@intrinsic
def popcount(typingctx, x):
    """Number of members of a set."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def lowest(typingctx, x):
    """Position of the lowest member; 64 for the empty set."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], cgutils.false_bit)

    return types.int64(types.uint64), codegen


@intrinsic
def _leading_zeros(typingctx, x):
    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], cgutils.false_bit)

    return types.int64(types.uint64), codegen


@njit(inline="always")
def highest(x: CardSet) -> Number:
    """Position of the highest member; -1 for the empty set."""
    return np.int64(63) - _leading_zeros(x)


@njit(inline="always")
def bit(position: Number) -> CardSet:
    """The set with one member."""
    return ONE << np.uint64(position)


@njit(inline="always")
def suit_set(suit: Suit) -> CardSet:
    """All 13 cards of a suit."""
    return ALL_RANKS << np.uint64(NUM_RANKS * suit)


@njit(inline="always")
def without_lowest(x: CardSet) -> CardSet:
    """The set less its lowest member."""
    return x & (x - ONE)


@njit(inline="always")
def nth_member(x: CardSet, n: Number) -> Number:
    """Position of member number `n`, counted from the lowest as 0.

    Without a loop, whose length no processor could foresee: the byte that holds it by counts of members up to each
    byte, then its place in that byte from a table. (S. Vigna, "Broadword implementation of rank/select queries", WEA
    2008.)
    """
    counts = x - ((x >> np.uint64(1)) & _PAIRS)
    counts = (counts & _NIBBLE_PAIRS) + ((counts >> np.uint64(2)) & _NIBBLE_PAIRS)
    counts = ((counts + (counts >> np.uint64(4))) & _NIBBLES) * _EACH_BYTE  # byte k: members in bytes 0..k
    full_bytes = popcount((((_EACH_BYTE * np.uint64(n)) | _HIGH_BITS) - counts) & _HIGH_BITS)
    first = np.uint64(8 * full_bytes)
    before = ((counts << np.uint64(8)) >> first) & np.uint64(0xFF)
    byte = (x >> first) & np.uint64(0xFF)
    return np.int64(first) + _PLACE_IN_BYTE[byte << np.uint64(3) | (np.uint64(n) - before)]


@njit(inline="always")
def next_seat(seats: SeatSet, seat: Seat, num_players: Number) -> Seat:
    """The first member of the set of seats that follows `seat` clockwise; `seat` itself comes last."""
    ring = np.uint64(seats)
    ring = (ring | ring << np.uint64(num_players)) >> np.uint64(seat + 1)
    found = np.int64(seat) + 1 + lowest(ring)
    return found - num_players if found >= num_players else found


@njit(inline="always")
def left_of(seat: Seat, num_players: Number) -> Seat:
    """The next seat clockwise, in or out of the game."""
    return seat + 1 if seat + 1 < num_players else 0


# Writing rows of bytes. A row is given by the address of its first entry, since Numba would count references to an
# array in each of the many small functions that write to it. There is no bounds check: the caller must know that the
# row is long enough.


@intrinsic
def address_of(typingctx, array):
    """Address of the first entry of a contiguous array; the array must be kept alive by the caller."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.uint64(array), codegen


def _pointer(builder, address, offset, pointee):
    return builder.inttoptr(builder.add(address, offset), pointee.as_pointer())


def _unpacker(*chunks):
    """Code that writes, for each (first, width), bits ``first .. first + width - 1`` as bytes of 0 or 1 in one vector
    store.
    """

    def codegen(context, builder, signature, args):
        address, offset, bits = args
        for first, width in chunks:
            chunk = builder.trunc(builder.lshr(bits, ir.Constant(bits.type, first)), ir.IntType(width))
            lanes = builder.bitcast(chunk, ir.VectorType(ir.IntType(1), width))
            lanes = builder.zext(lanes, ir.VectorType(ir.IntType(8), width))
            place = builder.add(offset, ir.Constant(offset.type, first))
            builder.store(lanes, _pointer(builder, address, place, lanes.type)).align = 1
        return context.get_dummy_value()

    return codegen


@intrinsic
def unpack_cards(typingctx, row, offset, cards):
    """Write a set of cards as 52 entries of 0 or 1, from entry `offset` of the row on.

    Two overlapping vector stores instead of 52 single ones, so that not a byte beyond is touched.
    """
    return types.void(types.uint64, types.int64, types.uint64), _unpacker((0, 32), (20, 32))


@intrinsic
def unpack_actions(typingctx, row, offset, actions):
    """The same for a set of actions and 53 entries."""
    return types.void(types.uint64, types.int64, types.uint64), _unpacker((0, 32), (21, 32))


@intrinsic
def unpack_byte(typingctx, row, offset, bits):
    """The same for the lowest 8 bits and 8 entries."""
    return types.void(types.uint64, types.int64, types.uint64), _unpacker((0, 8))


@intrinsic
def store(typingctx, row, offset, value):
    """Write an integer of any width as that many bytes, lowest first, from byte `offset` of the row on."""

    def codegen(context, builder, signature, args):
        builder.store(args[2], _pointer(builder, args[0], args[1], args[2].type)).align = 1
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64, value), codegen
