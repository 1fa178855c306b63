"""What a deal pays, as data: each scoring is a row of `SCORINGS`, and everything that depends on it follows.

Compiled code has the row in the compiled rules (`rs_env.engine.scoring`); searches, the places of the arena, the
command line and the table in ``docs/rules.md`` read it too. A new scoring is a new row, and its name in `ScoringName`
for editors.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from rs_env.cards import NUM_RANKS

ScoringName = Literal["win", "places", "cards", "face", "parlett"]


class Basis(IntEnum):
    """What a seat's score is made of."""

    WIN = 0
    """1 for the winner, 0 for the others."""
    PLACE = 1
    """(n - place) / (n - 1)."""
    OWN_HAND = 2
    """The value of the cards left in the seat's own hand."""
    ALL_HANDS = 3
    """The value of the cards left in all hands for the winner, 0 for the others."""


@dataclass(frozen=True)
class Scoring:
    """How a deal is scored.

    meaning: the score of a seat at the end of a deal, for the table in the documentation. low_is_good: scores are
    penalty points. card_values: what a card counts by rank, from the two to the ace; for the bases that look at hands.
    """

    meaning: str
    basis: Basis
    low_is_good: bool = False
    card_values: tuple[int, ...] = (1,) * NUM_RANKS

    def __post_init__(self) -> None:
        fits = all(isinstance(value, int) and 1 <= value <= 127 for value in self.card_values)
        if len(self.card_values) != NUM_RANKS or not fits:
            raise ValueError(
                f"card_values={self.card_values!r} is not allowed: it must be {NUM_RANKS} whole numbers in 1..127"
            )


SCORINGS: dict[str, Scoring] = {
    "win": Scoring("1 for the winner, 0 for the others", Basis.WIN),
    "places": Scoring(
        "(n - place)/(n - 1); players who are not out rank after those who are, fewest cards in hand first, equal"
        " counts sharing (averaging) their places",
        Basis.PLACE,
    ),
    "cards": Scoring("1 penalty point for each card in hand", Basis.OWN_HAND, low_is_good=True),
    "face": Scoring(
        "A 11, K 4, Q 3, J 2, others their pips, for each card in hand",
        Basis.OWN_HAND,
        low_is_good=True,
        card_values=(2, 3, 4, 5, 6, 7, 8, 9, 10, 2, 3, 4, 11),
    ),
    "parlett": Scoring(
        "the winner gets the value of all cards in the hands (A 1, pips, courts 10); others 0",
        Basis.ALL_HANDS,
        card_values=(2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 1),
    ),
}


def table() -> str:
    """The scorings as a Markdown table."""
    lines = ["| name | score of a seat at the end of a deal | good is |", "|---|---|---|"]
    for number, (name, scoring) in enumerate(SCORINGS.items()):
        shown = f"`{name}`" + ("" if number else " (default)")
        lines.append(f"| {shown} | {scoring.meaning} | {'low' if scoring.low_is_good else 'high'} |")
    return "\n".join(lines)
