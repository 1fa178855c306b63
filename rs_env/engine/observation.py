"""The observation: named sections of one int8 vector, their encoder, decoder, bounds and documentation.

Observations are egocentric: relative seat 0 is the observer, then clockwise. The size depends on the number of players
only, and every entry lies in 0..``spec.high``, so ``observation / spec.high`` lies in 0..1.
`OBSERVATION_VERSION` changes whenever the meaning of an entry does; checkpoints carry it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rs_env.cards import NUM_ACTIONS, NUM_CARDS, NUM_SUITS
from rs_env.engine.bits import EMPTY, ONE, bit, store, unpack_byte, unpack_cards
from rs_env.engine.jit import njit
from rs_env.engine.play import card_played
from rs_env.engine.state import RUNNING
from rs_env.rules import MAX_PLAYERS, MIN_PLAYERS

OBSERVATION_VERSION = 1
PERCENT = 100
WORD = 8
_RING = np.array([i % n if n else 0 for n in range(MAX_PLAYERS + 1) for i in range(2 * MAX_PLAYERS)], dtype=np.uint8)
_ROUNDING = 1e-9  # more than the error of a product, less than the distance of 1 percent / (2**31 - 1) to the next one
_ONE_SUIT = np.array([0, *(1 << (8 * suit) for suit in range(NUM_SUITS))], dtype=np.uint32)  # by suit + 1
_SUIT_BYTES = np.array(
    [sum((suits >> s & 1) << (8 * s) for s in range(NUM_SUITS)) for suits in range(1 << NUM_SUITS)], dtype=np.uint32
)


@dataclass(frozen=True)
class Section:
    """A named part of a vector: `rows` (1, n, or n - 1) times `width` entries, each in 0..`high`."""

    name: str
    rows: int
    width: int
    high: int
    meaning: str

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.rows * self.width


def _observation_sections(n: int) -> tuple[Section, ...]:
    others = n - 1
    return (
        Section("hand", 1, NUM_CARDS, 1, "own cards"),
        Section("trick", n, NUM_CARDS, 1, "the card that each seat has in the trick"),
        Section("dead", 1, NUM_CARDS, 1, "cards of completed tricks"),
        Section("known", others, NUM_CARDS, 1, "cards in each other seat's hand that everybody has seen there"),
        Section("excluded", others, NUM_SUITS, 1, "suits that each other seat's unseen cards cannot have"),
        Section("hand_sizes", n, 1, NUM_CARDS, "number of cards in each hand"),
        Section("still_in", n, 1, 1, "seats not yet out for good"),
        Section("leader", n, 1, 1, "who leads or has led the trick"),
        Section("led_suit", 1, NUM_SUITS, 1, "suit led; all zero before the lead"),
        Section("trump", 1, NUM_SUITS, 1, "trump suit; all zero without one"),
        Section("barred_suit", 1, NUM_SUITS, 1, "suit that may not be led now; all zero without one"),
        Section("progress", 1, 1, PERCENT, "actions taken, in percent of the deal's limit, rounded down"),
        Section("totals", n, 1, PERCENT, "totals of a match, in percent of the target, rounded down, at most 100"),
    )


def _state_sections(n: int) -> tuple[Section, ...]:
    return (
        Section("turn", n, 1, 1, "who is to act; all zero at the end"),
        Section("hands", n, NUM_CARDS, 1, "cards of each seat"),
        *(
            Section(s.name, n if s.name in ("known", "excluded") else s.rows, s.width, s.high, s.meaning)
            for s in _observation_sections(n)[1:]
        ),
    )


class Layout:
    """Where each named section of a vector lies: ``spec["known"]`` is a slice."""

    def __init__(self, num_players: int, sections: Callable[[int], tuple[Section, ...]]) -> None:
        if not isinstance(num_players, int | np.integer) or not MIN_PLAYERS <= num_players <= MAX_PLAYERS:
            raise ValueError(
                f"num_players={num_players!r} is not allowed: it must be a whole number from {MIN_PLAYERS} to {MAX_PLAYERS}"
            )
        self.num_players = int(num_players)
        self.sections = {section.name: section for section in sections(self.num_players)}
        self.slices: dict[str, slice] = {}
        self.size = 0
        for name, section in self.sections.items():
            self.slices[name] = slice(self.size, self.size + section.size)
            self.size += section.size

    @property
    def low(self) -> np.ndarray:
        """Lower bound of each entry, int8 (D,): zeros."""
        return np.zeros(self.size, np.int8)

    @property
    def high(self) -> np.ndarray:
        """Upper bound of each entry, int8 (D,); a fresh array, for torch warns of read-only ones."""
        return np.concatenate([np.full(s.size, s.high, np.int8) for s in self.sections.values()])

    def __getitem__(self, name: str) -> slice:
        """The slice of a section. Raises KeyError, listing the names, for any other."""
        if name not in self.slices:
            raise KeyError(f"no section {name!r}; there are {', '.join(self.slices)}")
        return self.slices[name]

    def split(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """The sections by name; those with several rows of several entries as matrices. Views, not copies."""
        vector = np.asarray(vector)
        if vector.shape != (self.size,):
            raise ValueError(
                f"shape {vector.shape} is not allowed: for {self.num_players} players it must be ({self.size},)"
            )
        return {
            name: vector[self[name]].reshape(section.rows, section.width)
            if min(section.rows, section.width) > 1
            else vector[self[name]]
            for name, section in self.sections.items()
        }


class ObservationSpec(Layout):
    """The observation of a game with this number of players (2..8).

    ``size``: number of int8 entries. ``low``, ``high``: bounds of each, shape (size,). ``spec["known"]``: slice of a
    section.
    """

    version = OBSERVATION_VERSION

    def __init__(self, num_players: int) -> None:
        super().__init__(num_players, _observation_sections)

    def decode(self, observation: np.ndarray) -> dict[str, Any]:
        """What the vector, plain (int8) or scaled to 0..1 (float32), says in words of the game.

        Seats are relative: 0 is the observer, then clockwise.
        ``hand``, ``dead``: sorted card ids. ``trick``: {seat: card}. ``known``, ``excluded``: for each seat 1..n-1 its
        sorted cards or suits. ``hand_sizes``: counts. ``still_in``: sorted seats. ``leader``: seat. ``led_suit``,
        ``trump``, ``barred_suit``: suit or None. ``progress``, ``totals``: percent. Raises ValueError for a wrong
        shape.
        """
        observation = np.asarray(observation)
        if observation.dtype.kind == "f" and observation.shape == (self.size,):
            observation = np.rint(observation * self.high).astype(np.int8)
        parts = self.split(observation)
        many = {name: parts[name].reshape(self.sections[name].rows, -1) for name in ("trick", "known", "excluded")}
        one = {name: _members(parts[name]) for name in ("leader", "led_suit", "trump", "barred_suit")}
        return {
            "hand": _members(parts["hand"]),
            "trick": {seat: _members(row)[0] for seat, row in enumerate(many["trick"]) if row.any()},
            "dead": _members(parts["dead"]),
            "known": [_members(row) for row in many["known"]],
            "excluded": [_members(row) for row in many["excluded"]],
            "hand_sizes": parts["hand_sizes"].tolist(),
            "still_in": _members(parts["still_in"]),
            **{name: found[0] if found else None for name, found in one.items()},
            "progress": int(parts["progress"][0]),
            "totals": parts["totals"].tolist(),
        }


class StateSpec(Layout):
    """The global state of ``env.state()``, for a central critic: all hands and all that is public, by absolute seat."""

    def __init__(self, num_players: int) -> None:
        super().__init__(num_players, _state_sections)


@cache
def observation_spec(num_players: int) -> ObservationSpec:
    """The one shared `ObservationSpec` for this number of players."""
    return ObservationSpec(num_players)


@cache
def state_spec(num_players: int) -> StateSpec:
    """The one shared `StateSpec` for this number of players."""
    return StateSpec(num_players)


OBSERVATION_DTYPES = ("int8", "float32")


def check_observation_dtype(dtype: Any) -> str:
    """The name of the dtype. Raises ValueError for any but int8 and float32."""
    try:
        name = np.dtype(dtype).name if dtype is not None else None
    except TypeError:
        name = None
    if name not in OBSERVATION_DTYPES:
        raise ValueError(
            f"observation_dtype={dtype!r} is not allowed: it must be one of {', '.join(map(repr, OBSERVATION_DTYPES))}"
        )
    return name


def scaled(vectors: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Vectors of int8, (..., D), divided by their upper bounds `high` (float32, (D,)): float32 in 0..1."""
    return np.divide(vectors, high, dtype=np.float32)


def table() -> str:
    """The sections as a Markdown table, n being the number of players."""
    sizes = {n: observation_spec(n) for n in range(MIN_PLAYERS, MAX_PLAYERS + 1)}
    lines = ["| section | entries | each in | meaning |", "|---|---|---|---|"]
    for few, many in zip(sizes[2].sections.values(), sizes[3].sections.values(), strict=True):
        rows = {(1, 1): "", (2, 3): "n", (1, 2): "(n - 1)"}[few.rows, many.rows]
        entries = f"{rows} x {few.width}" if rows and few.width > 1 else rows or str(few.width)
        lines.append(f"| `{few.name}` | {entries} | 0..{few.high} | {few.meaning} |")
    lines += ["", "| players | " + " | ".join(map(str, sizes)) + " |", "|---" * (len(sizes) + 1) + "|"]
    lines.append("| size | " + " | ".join(str(spec.size) for spec in sizes.values()) + " |")
    return "\n".join(lines)


def _members(row: np.ndarray) -> list[int]:
    return np.flatnonzero(row).tolist()


# The encoder. It works on any record with the public fields, a state or a view, so that batches need not copy a view
# first; what is not public (the observer's hand, the legal actions) is passed in. A row is an address, see rs_env.engine.bits.
# Sections are written in order, in whole words where a section is shorter than a word: what spills over is part of the
# next section and is written again.


@njit(inline="always")
def put_cards(row, offset, cards):
    """Write a set of cards as 52 entries of 0 or 1; return the next offset."""
    unpack_cards(row, offset, cards)
    return offset + NUM_CARDS


@njit(inline="always")
def put_card(row, offset, card):
    """The same for one card, or none if it is negative."""
    unpack_cards(row, offset, EMPTY)
    store(row, offset + max(card, 0), np.uint8(card >= 0))
    return offset + NUM_CARDS


@njit(inline="always")
def put_cards_word(row, offset, cards):
    """Write a set of cards as one 64-bit word; return the next offset, in bytes."""
    store(row, offset, cards)
    return offset + WORD


@njit(inline="always")
def put_card_word(row, offset, card):
    """The same for one card, or none if it is negative."""
    store(row, offset, bit(card) if card >= 0 else EMPTY)
    return offset + WORD


@njit(inline="always")
def _clockwise(n, seat, i):
    """The seat `i` places to the left of `seat`, unsigned and from a table: no branch, no check for negative
    indices.
    """
    return _RING[np.uint64((n << 4) + seat + i)]


@njit(inline="always")
def _encode_public_sets(public, n, seat, row, offset, put_one, put_set, first_other):
    """Write the sections ``trick``, ``dead`` and ``known``, the last from relative seat `first_other` (0 or 1) on."""
    for i in range(n):
        offset = put_one(row, offset, card_played(public.played, _clockwise(n, seat, i)))
    offset = put_set(row, offset, public.dead)
    for i in range(first_other, n):
        offset = put_set(row, offset, public.known[_clockwise(n, seat, i)])
    return offset


@njit(inline="always")
def encode_counts(rules, public, n, seat, row, offset, first_other):
    """Write the sections from ``excluded`` on, all that is not a set of cards."""
    for i in range(first_other, n):
        store(row, offset, _SUIT_BYTES[public.excluded[_clockwise(n, seat, i)]])
        offset += NUM_SUITS
    for i in range(n):
        store(row, offset + i, public.hand_size[_clockwise(n, seat, i)])
    offset += n
    ring = np.uint64(public.still_in)
    unpack_byte(row, offset, (ring | ring << np.uint64(n)) >> np.uint64(seat))
    offset += n
    places_on = np.int64(public.leader) - np.int64(seat)
    places_on += n if places_on < 0 else 0
    store(row, offset, ONE << np.uint64(places_on << 3))
    offset += n
    store(row, offset + 3 * NUM_SUITS + 1 + n - WORD, EMPTY)  # totals of a single deal, and what is written now
    store(row, offset, _ONE_SUIT[np.uint8(public.led + 1)])
    store(row, offset + NUM_SUITS, _ONE_SUIT[np.uint8(public.trump + 1)])
    store(row, offset + 2 * NUM_SUITS, _ONE_SUIT[np.uint8(public.barred + 1)])
    offset += 3 * NUM_SUITS
    store(row, offset, np.int8(public.actions * rules.percent_per_action + _ROUNDING))
    offset += 1
    if rules.target > 0.0:
        for i in range(n):
            total = public.totals[_clockwise(n, seat, i)]
            store(row, offset + i, np.int8(min(np.float64(PERCENT), PERCENT * total / rules.target)))


@njit(inline="always")
def encode_sets(public, n, seat, hand, row, offset, put_one, put_set):
    """Write the sections from ``hand`` to ``known``, all sets of cards; return the next offset."""
    offset = put_set(row, offset, hand)
    return _encode_public_sets(public, n, seat, row, offset, put_one, put_set, 1)


@njit(inline="always")
def encode(rules, public, n, seat, hand, row, offset):
    """Write a seat's observation from entry `offset` of a row of int8 on.

    public: a state or a view, of which only public fields are read. n: number of players. hand: the seat's cards.
    """
    offset = encode_sets(public, n, seat, hand, row, offset, put_card, put_cards)
    encode_counts(rules, public, n, seat, row, offset, 1)


@njit(inline="always")
def encode_view(view, row, offset):
    """Write the observation of a view; `rs_env.encoding.observations` does it from Python."""
    encode(view.rules, view, np.int64(view.rules.num_players), view.seat, view.hand, row, offset)


@njit(inline="always")
def encode_state(rules, s, row, offset):
    """Write the global state."""
    n = np.int64(rules.num_players)
    for seat in range(n):
        store(row, offset + seat, np.uint8(s.status == RUNNING and s.turn == seat))
    offset += n
    for seat in range(n):
        offset = put_cards(row, offset, s.hand[seat])
    offset = _encode_public_sets(s, n, 0, row, offset, put_card, put_cards, 0)
    encode_counts(rules, s, n, 0, row, offset, 0)


def new_mask() -> np.ndarray:
    """An action mask that allows nothing: int8, shape (53,)."""
    return np.zeros(NUM_ACTIONS, np.int8)
