"""The table as a picture, drawn by Pillow; needs the extra ``rs_env[render]``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from rs_env.render.fonts import drawable, font_of
from rs_env.render.scene import Scene, scene_of
from rs_env.render.shapes import BASELINE, SUIT_SHARE, Box, CardShape, SuitShape, Text, card_parts, suit_outline
from rs_env.render.table import Table

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError as error:
    raise ImportError(f"a picture of the table needs Pillow ({error}): pip install 'rs_env[render]'") from None

_FINE = 3  # times as large are cards and suits drawn, to be made smaller: their edges are smooth then


def picture_of_table(
    table: Table, size: Sequence[int] | None = None, theme: str = "dark", marked: int | None = None
) -> np.ndarray:
    """The table as uint8 (height, width, 3), a fresh array; see `rs_env.render.scene.scene_of` for the arguments."""
    return picture_of_scene(scene_of(drawable(table), size, theme, marked))


def picture_of_scene(scene: Scene) -> np.ndarray:
    """A picture that has been laid out, as uint8 (height, width, 3)."""
    image = Image.new("RGB", scene.size, scene.ground)
    for shape in scene.shapes:
        match shape:
            case Box():
                _box(image, shape)
            case Text():
                _text(image, shape)
            case SuitShape():
                _suit(image, shape)
            case CardShape():
                _card(image, shape)
    return np.asarray(image).copy()  # writable, and nothing of Pillow behind it


@lru_cache(maxsize=64)
def _font(size: float) -> Any:
    return ImageFont.load_default(max(size, 1.0))


def _text(image: Any, text: Text) -> None:
    mask, left, top = _text_mask(text.text, text.size)
    x = text.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * mask.width
    image.paste(text.colour, (round(x + left), round(text.y + BASELINE * text.size + top)), mask)


@lru_cache(maxsize=512)
def _text_mask(text: str, size: float) -> tuple[Any, int, int]:
    """A line of text with smooth edges and even gaps at any size, and where it begins, right and down of a point on the
    base line.
    """
    text, font = font_of(text, size * _FINE)
    left, top, right, bottom = (math.floor(edge / _FINE) for edge in font.getbbox(text, anchor="ls"))
    wide, high = max(right - left + 1, 1), max(bottom - top + 1, 1)
    mask = Image.new("L", (wide * _FINE, high * _FINE), 0)
    ImageDraw.Draw(mask).text((-left * _FINE, -top * _FINE), text, fill=255, font=font, anchor="ls")
    return mask.resize((wide, high), Image.Resampling.BOX), left, top


def _box(image: Any, box: Box) -> None:
    at_corner = replace(box, x=0, y=0, width=round(box.width), height=round(box.height))
    sprite = _sprite(at_corner.width, at_corner.height, at_corner)
    image.paste(sprite, (round(box.x), round(box.y)), sprite)


def _suit(image: Any, suit: SuitShape) -> None:
    whole = max(round(suit.size), 1)
    sprite = _sprite(whole, whole, replace(suit, x=whole / 2, y=whole / 2, size=whole))
    image.paste(sprite, (round(suit.x - whole / 2), round(suit.y - whole / 2)), sprite)


def _card(image: Any, card: CardShape) -> None:
    at_corner = replace(card, x=0, y=0, height=round(card.height, 1))
    sprite = _sprite(round(card.width), round(card.height), *card_parts(at_corner))
    image.paste(sprite, (round(card.x), round(card.y)), sprite)


@lru_cache(maxsize=2048)
def _sprite(width: float, height: float, *parts: Box | Text | SuitShape) -> Any:
    """A transparent image with some shapes, with smooth edges."""
    wide, high = max(int(width), 1), max(int(height), 1)
    image = Image.new("RGBA", (wide * _FINE, high * _FINE), (0, 0, 0, 0))
    draw = ImageDraw.Draw(image)
    for part in parts:
        _draw_fine(draw, part)
    return image.resize((wide, high), Image.Resampling.BOX)


def _draw_fine(draw: Any, part: Box | Text | SuitShape) -> None:
    match part:
        case Box(x, y, width, height, radius, fill, outline, line):
            corners = (x * _FINE, y * _FINE, (x + width) * _FINE - 1, (y + height) * _FINE - 1)
            radius = min(radius, width / 2, height / 2) * _FINE
            draw.rounded_rectangle(corners, radius, fill, outline, max(round(line * _FINE), 1))
        case Text(x, y, text, size, colour):  # of a card: in the middle
            place = x * _FINE, (y + BASELINE * size) * _FINE
            draw.text(place, text, fill=colour, font=_font(size * _FINE), anchor="ms")
        case SuitShape(x, y, size, suit, colour, crossed):
            half = SUIT_SHARE * size / 2
            for points in suit_outline(suit):
                draw.polygon([((x + px * half) * _FINE, (y + py * half) * _FINE) for px, py in points], colour)
            if crossed is not None:
                end = size * _FINE
                draw.line((0, end, end, 0), crossed, max(round(0.13 * end), 1))
