"""The colours of pictures, dark and light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from rs_env.render.shapes import CardLook, Colour

ThemeName = Literal["dark", "light"]
THEMES: tuple[ThemeName, ...] = get_args(ThemeName)


@dataclass(frozen=True)
class Theme:
    """The colours of a picture; accent: of what asks for attention. red, black: of suits on the ground."""

    ground: Colour
    panel: Colour
    line: Colour
    ink: Colour
    quiet: Colour
    accent: Colour
    on_accent: Colour
    red: Colour
    black: Colour
    card: CardLook


COLOURS: dict[ThemeName, Theme] = {
    "dark": Theme(
        ground=(17, 52, 41),
        panel=(26, 71, 57),
        line=(48, 98, 82),
        ink=(240, 241, 232),
        quiet=(158, 186, 174),
        accent=(255, 196, 61),
        on_accent=(40, 30, 0),
        red=(255, 128, 120),
        black=(225, 232, 226),
        card=CardLook((252, 252, 247), (74, 104, 168), (24, 40, 34), (200, 30, 42), (24, 27, 34)),
    ),
    "light": Theme(
        ground=(226, 236, 226),
        panel=(246, 249, 244),
        line=(186, 203, 190),
        ink=(24, 38, 32),
        quiet=(94, 112, 102),
        accent=(226, 134, 0),
        on_accent=(255, 255, 255),
        red=(200, 30, 42),
        black=(24, 27, 34),
        card=CardLook((255, 255, 252), (88, 120, 190), (120, 132, 126), (200, 30, 42), (24, 27, 34)),
    ),
}


def check_theme(theme: str, name: str = "theme") -> ThemeName:
    """The theme. Raises ValueError for any but `THEMES`."""
    for known in THEMES:
        if theme == known:
            return known
    raise ValueError(f"{name}={theme!r} is not allowed: it must be one of {', '.join(map(repr, THEMES))}")
