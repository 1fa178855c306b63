"""Where things stand in a vector: named sections, each of one kind and about somebody, and what follows from them.

Sizes, slices, bounds, the decoder, packed observations, the table in the documentation and the way in which networks
group entries are all derived from a list of `Section`. What the sections of the observation are, and how each is
written, is in `rs_env.engine.observation`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from rs_env.cards import NUM_CARDS, NUM_SUITS
from rs_env.rules import MAX_PLAYERS, MIN_PLAYERS

ObservationDtype = Literal["int8", "float32"]
OBSERVATION_DTYPES: tuple[ObservationDtype, ...] = get_args(ObservationDtype)


class Kind(Enum):
    """What one row of a section holds."""

    CARDS = "a set of cards"
    CARD = "a card or none"
    SUITS = "a set of suits"
    SUIT = "a suit or none"
    SEATS = "a set of seats"
    SEAT = "a seat or none"
    COUNT = "a number"

    def width(self, num_players: int) -> int:
        """Number of entries: one for each card, suit or seat that there might be, 1 for a number."""
        if self is Kind.COUNT:
            return 1
        if self in (Kind.SEATS, Kind.SEAT):
            return num_players
        return NUM_CARDS if self in (Kind.CARDS, Kind.CARD) else NUM_SUITS

    @property
    def is_single(self) -> bool:
        """Whether it is one or none of several, not a set."""
        return self in (Kind.CARD, Kind.SUIT, Kind.SEAT)


class About(Enum):
    """Whom a section is about; it has a row for each of them."""

    SELF = "the observer"
    TABLE = "the table"
    EACH = "each seat, the observer's first"
    OTHERS = "each other seat"

    def rows(self, num_players: int) -> int:
        """Number of rows."""
        return {About.EACH: num_players, About.OTHERS: num_players - 1}.get(self, 1)


@dataclass(frozen=True)
class Section:
    """A named part of a vector.

    value: function ``(rules, public, hand, seat)`` for the compiler: what the row about `seat` holds. That is a set of
        cards (np.uint64), suits or seats, one of them by number with -1 for none, or a number in 0..`high`. `public` is
        a state or a view, of which it may read public fields only; `hand` are the observer's cards.
    high: upper bound of each entry.
    only_if: function ``(rules)`` for the compiler: where it is false all rows about several seats are zero.
    """

    name: str
    kind: Kind
    about: About
    meaning: str
    value: Callable[..., Any]
    high: int = 1
    only_if: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Part:
    """Where a section lies in the vectors of one number of players: `rows` times `width` entries from `start` on."""

    section: Section
    rows: int
    width: int
    start: int

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.rows * self.width

    @property
    def high(self) -> int:
        """Upper bound of each entry."""
        return self.section.high

    @property
    def slice(self) -> slice:
        """Which entries of a vector."""
        return slice(self.start, self.start + self.size)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and entries, less what is 1."""
        return (self.rows, self.width) if min(self.rows, self.width) > 1 else (self.size,)

    def decode(self, entries: np.ndarray) -> Any:
        """What the entries, int8 (size,), say; see `Layout.decode`."""
        rows = [self._decode_row(row) for row in entries.reshape(self.rows, self.width)]
        if self.section.about not in (About.EACH, About.OTHERS):
            return rows[0]
        if self.section.kind.is_single:
            first = 1 if self.section.about is About.OTHERS else 0
            return {seat: found for seat, found in enumerate(rows, first) if found is not None}
        return rows

    def _decode_row(self, row: np.ndarray) -> Any:
        if self.section.kind is Kind.COUNT:
            return int(row[0])
        found = np.flatnonzero(row).tolist()
        return (found[0] if found else None) if self.section.kind.is_single else found


class Layout:
    """Where each named section of a vector lies, for a number of players: ``spec["known"]`` is a slice.

    ``size``: number of int8 entries. ``low``, ``high``: bounds of each, shape (size,). Raises ValueError for a number
    of players that no game has.
    """

    listed: ClassVar[tuple[Section, ...]] = ()
    """The sections, in order."""

    def __init__(self, num_players: int) -> None:
        if not isinstance(num_players, int | np.integer) or not MIN_PLAYERS <= num_players <= MAX_PLAYERS:
            raise ValueError(
                f"num_players={num_players!r} is not allowed:"
                f" it must be a whole number from {MIN_PLAYERS} to {MAX_PLAYERS}"
            )
        self.num_players = n = int(num_players)
        self.sections: dict[str, Part] = {}
        self.size = 0
        for section in self.listed:
            part = Part(section, section.about.rows(n), section.kind.width(n), self.size)
            self.sections[section.name] = part
            self.size += part.size

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.num_players,)  # sections hold functions, which cannot be pickled

    @property
    def low(self) -> np.ndarray:
        """Lower bound of each entry, int8 (D,): zeros."""
        return np.zeros(self.size, np.int8)

    @property
    def high(self) -> np.ndarray:
        """Upper bound of each entry, int8 (D,); a fresh array, for torch warns of read-only ones."""
        return np.concatenate([np.full(part.size, part.high, np.int8) for part in self.sections.values()])

    def __getitem__(self, name: str) -> slice:
        """The slice of a section. Raises KeyError, listing the names, for any other."""
        if name not in self.sections:
            raise KeyError(f"no section {name!r}; there are {', '.join(self.sections)}")
        return self.sections[name].slice

    def of_kind(self, *kinds: Kind) -> list[Part]:
        """The parts of these kinds, in order."""
        return [part for part in self.sections.values() if part.section.kind in kinds]

    def split(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """The sections by name; those with several rows of several entries as matrices. Views, not copies."""
        vector = np.asarray(vector)
        if vector.shape != (self.size,):
            raise ValueError(
                f"shape {vector.shape} is not allowed: for {self.num_players} players it must be ({self.size},)"
            )
        return {name: vector[part.slice].reshape(part.shape) for name, part in self.sections.items()}

    def decode(self, vector: np.ndarray) -> dict[str, Any]:
        """What the vector, plain (int8) or scaled to 0..1 (float32), says in words of the game, by section.

        A set is a sorted list of card ids, suits or seats; one of several is its number, or None where there is none;
        a count is an int. A section about several seats is a list of these, one for each seat, or where there is one or
        none for each, a dict of those that there are by seat. Seats are relative: 0 is the observer, then clockwise.
        Raises ValueError for a wrong shape.
        """
        vector = np.asarray(vector)
        if vector.dtype.kind == "f" and vector.shape == (self.size,):
            vector = np.rint(vector * self.high).astype(np.int8)
        return {name: self.sections[name].decode(entries) for name, entries in self.split(vector).items()}


def table_of(layout: type[Layout]) -> str:
    """The sections as a Markdown table, n being the number of players, and the sizes."""
    lines = ["| section | entries | each in | holds | meaning |", "|---|---|---|---|---|"]
    rows = {About.EACH: "n", About.OTHERS: "(n - 1)"}
    for section in layout.listed:
        few, many = (section.kind.width(n) for n in (2, 3))
        width = str(few) if few == many else "n"
        parts = [rows.get(section.about, ""), "" if width == "1" and section.about in rows else width]
        entries = " x ".join(filter(None, parts))
        lines.append(f"| `{section.name}` | {entries} | 0..{section.high} | {section.kind.value} | {section.meaning} |")
    sizes = {n: layout(n).size for n in range(MIN_PLAYERS, MAX_PLAYERS + 1)}
    lines += ["", "| players | " + " | ".join(map(str, sizes)) + " |", "|---" * (len(sizes) + 1) + "|"]
    lines.append("| size | " + " | ".join(map(str, sizes.values())) + " |")
    return "\n".join(lines)


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
