"""What pictures of the table consist of, and the outlines of the four suits.

A picture is a list of shapes, in the order in which they are drawn. Coordinates are pixels from the upper left corner,
colours are (red, green, blue).
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Literal

from rs_env.cards import rank_of, suit_of

Colour = tuple[int, int, int]
Points = tuple[tuple[float, float], ...]
Anchor = Literal["start", "middle", "end"]

RED_SUITS = (1, 2)
RANK_NAMES = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")
BASELINE = 0.35
"""How far below the middle of a line of text its letters stand, for the size of the type."""

SUIT_SHARE = 0.94
"""What of its square a suit fills."""

CARD_RATIO = 0.7
"""Width of a card for its height."""


@dataclass(frozen=True)
class Box:
    """A rectangle with round corners; without a fill or without an outline where that is None."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: Colour | None
    outline: Colour | None = None
    line: float = 1.0


@dataclass(frozen=True)
class Text:
    """A line of text. x is its start, middle or end, by the anchor; y its middle; size that of the type."""

    x: float
    y: float
    text: str
    size: float
    colour: Colour
    anchor: Anchor = "start"


@dataclass(frozen=True)
class SuitShape:
    """A suit in a square with this middle; crossed out or not."""

    x: float
    y: float
    size: float
    suit: int
    colour: Colour
    crossed: Colour | None = None


@dataclass(frozen=True)
class CardShape:
    """A card; None is its back. look: the colours."""

    x: float
    y: float
    height: float
    card: int | None
    look: CardLook

    @property
    def width(self) -> float:
        """Of the card."""
        return self.height * CARD_RATIO


@dataclass(frozen=True)
class CardLook:
    """The colours of a card: its face, its back, its edge, red and black suits."""

    face: Colour
    back: Colour
    edge: Colour
    red: Colour
    black: Colour

    def faded(self, ground: Colour, share: float) -> CardLook:
        """The same, so far mixed with the ground on which it lies."""
        return CardLook(
            mixed(self.face, ground, share),
            mixed(self.back, ground, share),
            mixed(self.edge, ground, share),
            mixed(self.red, ground, share),
            mixed(self.black, ground, share),
        )


Shape = Box | Text | SuitShape | CardShape


def card_parts(card: CardShape) -> tuple[Box | Text | SuitShape, ...]:
    """What a card consists of: rank and suit in the corner, where a fan of cards shows them, and the suit once more,
    large; or a back.
    """
    x, y, width, height, look = card.x, card.y, card.width, card.height, card.look
    fill = look.back if card.card is None else look.face
    edge = Box(x, y, width, height, height * 0.09, fill, look.edge, max(height / 90, 0.7))
    if card.card is None:
        inset = height * 0.07
        frame = Box(
            x + inset, y + inset, width - 2 * inset, height - 2 * inset, height * 0.05, None, look.face, height * 0.02
        )
        return edge, frame, SuitShape(x + width / 2, y + height / 2, height * 0.3, 1, look.face)
    suit, rank = suit_of(card.card), RANK_NAMES[rank_of(card.card)]
    colour = look.red if suit in RED_SUITS else look.black
    left = x + width * 0.235
    return (
        edge,
        Text(left, y + height * 0.165, rank, height * (0.26 if len(rank) == 1 else 0.24), colour, "middle"),
        SuitShape(left, y + height * 0.38, height * 0.2, suit, colour),
        SuitShape(x + width * 0.63, y + height * 0.68, height * 0.38, suit, colour),
    )


def mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """A colour with a share 0..1 of another."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


# Suits, in a square from -1 to 1 with y downwards


def _circle(x: float, y: float, radius: float) -> Points:
    turns = [math.tau * k / 24 for k in range(24)]
    return tuple((x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns)


def _heart(upside_down: bool = False) -> Points:
    points = []
    for k in range(48):
        turn = math.tau * k / 48
        x = math.sin(turn) ** 3
        y = (13 * math.cos(turn) - 5 * math.cos(2 * turn) - 2 * math.cos(3 * turn) - math.cos(4 * turn)) / 16
        points.append((0.95 * x, y - 0.12 if upside_down else -0.95 * y - 0.08))
    return tuple(points)


_STEM: Points = ((-0.08, 0.2), (0.08, 0.2), (0.14, 0.7), (0.38, 0.95), (-0.38, 0.95), (-0.14, 0.7))
_DIAMOND: Points = ((0.0, -1.0), (0.74, 0.0), (0.0, 1.0), (-0.74, 0.0))


@cache
def suit_outline(suit: int) -> tuple[Points, ...]:
    """The polygons that a suit 0..3 consists of, in a square from -1 to 1 with y downwards."""
    return (
        (_circle(0, -0.5, 0.46), _circle(-0.5, 0.22, 0.46), _circle(0.5, 0.22, 0.46), _STEM),
        (_DIAMOND,),
        (_heart(),),
        (_heart(upside_down=True), _STEM),
    )[suit]


# Text

_NARROW, _BROAD = set("iljtfrI.,:;'|!()[] "), set("mwMW@%")


def text_width(text: str, size: float) -> float:
    """About how wide a text is, rather too much than too little."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in _NARROW:
        return 0.36
    if letter in _BROAD:
        return 0.92
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    return 0.7 if letter.isupper() else 0.6


def elided(text: str, size: float, width: float) -> str:
    """The text, or as much of its beginning as fits into a width, and an ellipsis."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return f"{text.rstrip()}…"
