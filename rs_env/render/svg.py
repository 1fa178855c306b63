"""The table as a picture in SVG, which browsers and papers show at any size; needs no library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from rs_env.cards import SUIT_NAMES
from rs_env.render.scene import Scene, scene_of
from rs_env.render.shapes import (
    BASELINE,
    SUIT_SHARE,
    Box,
    CardShape,
    Colour,
    Shape,
    SuitShape,
    Text,
    card_parts,
    suit_outline,
)
from rs_env.render.table import Table

_FONTS = "Helvetica, Arial, 'Noto Sans', 'Noto Sans CJK SC', 'Noto Color Emoji', sans-serif"


def svg_of_table(table: Table, size: Sequence[int] | None = None, theme: str = "dark") -> str:
    """The table as the text of an SVG file; see `rs_env.render.scene.scene_of` for the arguments."""
    return svg_of_scene(scene_of(table, size, theme))


def svg_of_scene(scene: Scene) -> str:
    """A picture that has been laid out, as the text of an SVG file."""
    width, height = scene.size
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' font-family="{_FONTS}">',
        "<defs>",
        *(_symbol(suit) for suit in range(len(SUIT_NAMES))),
        "</defs>",
        f'<rect width="{width}" height="{height}" fill="{_colour(scene.ground)}"/>',
        *(line for shape in scene.shapes for line in _elements(shape)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _elements(shape: Shape) -> Iterator[str]:
    match shape:
        case Box():
            yield _rect(shape)
        case Text(x, y, text, size, colour, anchor):
            yield _text(x, y + BASELINE * size, text, size, colour, anchor)
        case SuitShape(x, y, size, suit, colour, crossed):
            yield _suit(x, y, size * SUIT_SHARE, suit, colour)
            if crossed is not None:
                half = size / 2
                yield (
                    f'<path d="M{x - half:.2f} {y + half:.2f}L{x + half:.2f} {y - half:.2f}"'
                    f' stroke="{_colour(crossed)}" stroke-width="{0.13 * size:.2f}"/>'
                )
        case CardShape():
            for part in card_parts(shape):
                yield from _elements(part)


def _rect(box: Box) -> str:
    fill = "none" if box.fill is None else _colour(box.fill)
    radius = min(box.radius, box.width / 2, box.height / 2)
    line = ""
    if box.outline is not None:
        line = f' stroke="{_colour(box.outline)}" stroke-width="{box.line:.2f}"'
    return (
        f'<rect x="{box.x:.2f}" y="{box.y:.2f}" width="{box.width:.2f}" height="{box.height:.2f}" rx="{radius:.2f}"'
        f' fill="{fill}"{line}/>'
    )


def _text(x: float, y: float, text: str, size: float, colour: Colour, anchor: str) -> str:
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="{size:.2f}" fill="{_colour(colour)}"{placed}>{escape(text)}</text>'
    )


def _suit(x: float, y: float, size: float, suit: int, colour: Colour) -> str:
    return (
        f'<use href="#{SUIT_NAMES[suit]}" fill="{_colour(colour)}"'
        f' transform="translate({x:.2f} {y:.2f}) scale({size / 2:.3f})"/>'
    )


def _symbol(suit: int) -> str:
    outlines = ("M" + "L".join(f"{x:.3f} {y:.3f}" for x, y in points) + "Z" for points in suit_outline(suit))
    return f'<path id="{SUIT_NAMES[suit]}" d="{"".join(outlines)}"/>'


def _colour(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
