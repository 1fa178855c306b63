"""Compiled encoders, put together from lists of sections: one piece for each section, written one after the other.

A row is an address, see `rs_env.engine.bits`. Sections are written in order. One of seats is written as a whole word
of 8 bytes, though it has an entry for each of n seats only: what spills over is part of the next sections and is
written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rs_env.cards import NUM_CARDS, NUM_SUITS
from rs_env.engine.bits import EMPTY, ONE, bit, store, unpack_byte, unpack_cards
from rs_env.engine.jit import njit
from rs_env.engine.layout import About, Kind, Section
from rs_env.rules import MAX_PLAYERS, MIN_PLAYERS

WORD = 8
_RING = np.array([i % n if n else 0 for n in range(MAX_PLAYERS + 1) for i in range(2 * MAX_PLAYERS)], dtype=np.uint8)
_ONE_SUIT = np.array([0, *(1 << (8 * suit) for suit in range(NUM_SUITS))], dtype=np.uint32)  # by suit + 1
_SUIT_BYTES = np.array(
    [sum((suits >> s & 1) << (8 * s) for s in range(NUM_SUITS)) for suits in range(1 << NUM_SUITS)], dtype=np.uint32
)


@njit(forceinline=True)
def _clockwise(n, seat, i):
    """The seat `i` places to the left of `seat`, unsigned and from a table: no branch, no test for negative indices.

    For the usual four players the compiler sees by the formula that all sections ask for the same seats.
    """
    if n == 4:
        return np.uint64((seat + i) & 3)
    return _RING[np.uint64((n << 4) + seat + i)]  # row n of a table with 16 columns


# How a row of each kind is written.


@njit(forceinline=True)
def _put_cards(row, offset, cards):
    unpack_cards(row, offset, cards)


@njit(forceinline=True)
def _put_card(row, offset, card):
    unpack_cards(row, offset, EMPTY)
    store(row, offset + max(card, 0), np.uint8(card >= 0))


@njit(forceinline=True)
def _put_suits(row, offset, suits):
    store(row, offset, _SUIT_BYTES[suits])


@njit(forceinline=True)
def _put_suit(row, offset, suit):
    store(row, offset, _ONE_SUIT[np.uint8(suit + 1)])


@njit(forceinline=True)
def _put_count(row, offset, number):
    store(row, offset, np.int8(number))


@njit(forceinline=True)
def _put_seats(row, offset, seats, n, seat):
    ring = np.uint64(seats)
    unpack_byte(row, offset, (ring | ring << np.uint64(n)) >> np.uint64(seat))


@njit(forceinline=True)
def _put_seat(row, offset, other, n, seat):
    places_on = np.int64(other) - np.int64(seat)
    places_on += n if places_on < 0 else 0
    store(row, offset, ONE << np.uint64(places_on << 3) if other >= 0 else EMPTY)


@njit(forceinline=True)
def _clear(row, begin, end):
    """Write zeros from one offset to another, by stores that are as wide as fit, of which the last two may overlap."""
    size = end - begin
    if size >= WORD:
        for place in range(begin, end - WORD, WORD):
            store(row, place, EMPTY)
        store(row, end - WORD, EMPTY)
    elif size >= 4:
        store(row, begin, np.uint32(0))
        store(row, end - 4, np.uint32(0))
    elif size >= 2:
        store(row, begin, np.uint16(0))
        store(row, end - 2, np.uint16(0))
    elif size == 1:
        store(row, begin, np.uint8(0))


@njit(forceinline=True)
def _put_cards_word(row, offset, cards):
    store(row, offset, cards)


@njit(forceinline=True)
def _put_card_word(row, offset, card):
    store(row, offset, bit(card) if card >= 0 else EMPTY)


_BYTES = {  # how a row of each kind is written, and how many bytes that takes
    Kind.CARDS: (_put_cards, NUM_CARDS),
    Kind.CARD: (_put_card, NUM_CARDS),
    Kind.SUITS: (_put_suits, NUM_SUITS),
    Kind.SUIT: (_put_suit, NUM_SUITS),
    Kind.COUNT: (_put_count, 1),
}
_WORDS = {**_BYTES, Kind.CARDS: (_put_cards_word, WORD), Kind.CARD: (_put_card_word, WORD)}  # in packed observations
_SPILLS = {Kind.SEATS: _put_seats, Kind.SEAT: _put_seat}  # n entries, written as a word


def encoder_of(sections: Sequence[Section], packed: bool = False) -> Any:
    """The compiled function ``(rules, public, hand, n, seat, row, offset)`` that writes these sections from byte
    `offset` of a row on and returns the offset behind them; see `Section` for what it reads.

    packed: cards are written as sets of 8 bytes. One function that calls all pieces in a row compiles in half the time
    of functions within functions, and Numba has no loop over functions; hence the text that is compiled.
    """
    _check_room(sections)
    pieces = {f"put_{section.name}": _piece(section, packed) for section in sections}
    calls = "".join(f"    offset = {name}(rules, public, hand, n, seat, row, offset)\n" for name in pieces)
    exec(f"def encode(rules, public, hand, n, seat, row, offset):\n{calls}    return offset\n", pieces)
    return njit(forceinline=True)(pieces["encode"])


def _check_room(sections: Sequence[Section]) -> None:
    """Raise ValueError where what spills over a section would go beyond the last one."""
    left = 0
    for section in reversed(sections):
        if section.kind in _SPILLS and left < WORD - MIN_PLAYERS:
            raise ValueError(
                f"section {section.name!r} is written as a word: at least {WORD - MIN_PLAYERS} entries must follow it"
            )
        left += section.about.rows(MIN_PLAYERS) * section.kind.width(MIN_PLAYERS)


def _piece(section: Section, packed: bool) -> Any:
    """The compiled function that writes one section."""
    value = njit(inline="always")(section.value)
    if section.kind in _SPILLS:
        return _seats_piece(value, _SPILLS[section.kind])
    write, width = (_WORDS if packed else _BYTES)[section.kind]
    if section.about in (About.EACH, About.OTHERS):
        first = 1 if section.about is About.OTHERS else 0
        return _rows_piece(value, write, width, first, section.only_if and njit(inline="always")(section.only_if))

    @njit(forceinline=True)
    def piece(rules, public, hand, n, seat, row, offset):
        write(row, offset, value(rules, public, hand, seat))
        return offset + width

    return piece


def _seats_piece(value: Any, write: Any) -> Any:
    @njit(forceinline=True)
    def piece(rules, public, hand, n, seat, row, offset):
        write(row, offset, value(rules, public, hand, seat), n, seat)
        return offset + n

    return piece


def _rows_piece(value: Any, write: Any, width: int, first: int, only_if: Any) -> Any:
    """A row for each seat from relative seat `first` on."""

    @njit(forceinline=True)
    def piece(rules, public, hand, n, seat, row, offset):
        end = offset + (n - first) * width
        if only_if is not None and not only_if(rules):
            _clear(row, offset, end)
            return end
        for i in range(first, n):
            write(row, offset, value(rules, public, hand, _clockwise(n, seat, i)))
            offset += width
        return end

    return piece
