"""The table as a picture: its text, drawn by Pillow on a canvas of one size."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError as error:
    raise ImportError(f"render_mode='rgb_array' needs Pillow ({error}): pip install 'rs_env[render]'") from None

WIDTH, HEIGHT = 960, 640
_MARGIN = 24
_LARGEST, _SMALLEST = 26, 7  # of the font, in pixels
_FELT, _INK = (22, 74, 53), (238, 236, 224)


def picture_of_text(text: str) -> np.ndarray:
    """The text in the largest type that fits: uint8 (640, 960, 3), always that size, so that frames make a video."""
    image = Image.new("RGB", (WIDTH, HEIGHT), _FELT)
    draw = ImageDraw.Draw(image)
    for size in range(_LARGEST, _SMALLEST - 1, -1):
        _, _, right, bottom = draw.multiline_textbbox((_MARGIN, _MARGIN), text, font=_font(size), spacing=size // 2)
        if right <= WIDTH - _MARGIN and bottom <= HEIGHT - _MARGIN:
            break
    draw.multiline_text((_MARGIN, _MARGIN), text, fill=_INK, font=_font(size), spacing=size // 2)
    return np.asarray(image).copy()  # writable, and nothing of Pillow behind it


@cache
def _font(size: int) -> Any:
    return ImageFont.load_default(size)
