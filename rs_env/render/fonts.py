"""Fonts for names in any script: Pillow's own for ASCII, else one of the system that has all letters of a text.

Pillow draws a box, or nothing, for a letter that a font lacks. So fonts are asked first, and where the system has none
for a name, something else stands for it. Needs the extra ``rs_env[render]``.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from rs_env.render.table import Table

try:
    from PIL import ImageFont, features
except ImportError as error:
    raise ImportError(f"a picture of the table needs Pillow ({error}): pip install 'rs_env[render]'") from None

_ELLIPSIS = "…"
_SIZE = 20.0  # at which letters are compared
_NOWHERE = "\U0010fffd"  # a letter that no font has
_GOOD = ("sans", "regular", "cjk", "gothic", "noto", "dejavu")  # in the names of fonts that are tried first
_BAD = ("bold", "italic", "oblique", "mono", "serif", "narrow", "condensed", "light", "black", "thin")


def font_of(text: str, size: float) -> tuple[str, Any]:
    """A text as it can be drawn, and the font for that: as it is where a font has all its letters, else as far as ASCII
    goes, which may be nothing.
    """
    size = max(size, 1.0)
    if _plain(text).isascii():
        return text, ImageFont.load_default(size)
    file = _file_for(_plain(text))
    if file is None:
        return _ascii(text), ImageFont.load_default(size)
    has_ellipsis = _has(file, _ELLIPSIS)
    return text if has_ellipsis else text.replace(_ELLIPSIS, "..."), ImageFont.truetype(file, size)


def drawable(table: Table) -> Table:
    """The table with names that can be drawn: for one that no font has, the number of its seat and what is left of it
    in ASCII.
    """
    seats = tuple(replace(seat, name=_drawable_name(seat.name, seat.number)) for seat in table.seats)
    return replace(table, seats=seats)


def _drawable_name(name: str, seat: int) -> str:
    if _plain(name).isascii() or _file_for(_plain(name)) is not None:
        return name
    return f"seat {seat} {_ascii(name)}".rstrip()


def _plain(text: str) -> str:
    """What of a text a font must have: an ellipsis can be dots, and forms of signs need not be the wanted ones."""
    return "".join(letter for letter in text if letter != _ELLIPSIS and not "\ufe00" <= letter <= "\ufe0f")


def _ascii(text: str) -> str:
    """As much of a text as ASCII has."""
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return " ".join(letters.split())


@lru_cache(maxsize=512)
def _file_for(text: str) -> str | None:
    """The first font of the system that has all letters of a text; None where there is none, or where the letters have
    to be put in order and joined, and Pillow lacks what does that.
    """
    if any(map(_is_joined, text)) and not features.check("raqm"):
        return None
    return next((file for file in _files() if all(_has(file, letter) for letter in text)), None)


def _is_joined(letter: str) -> bool:
    """Whether a letter is written from right to left, or around others."""
    return unicodedata.bidirectional(letter) in ("R", "AL") or unicodedata.category(letter) == "Mc"


@lru_cache(maxsize=1 << 16)
def _has(file: str, letter: str) -> bool:
    """Whether a font has a letter: then it does not look like one that it lacks."""
    return letter.isspace() or _look(file, letter) not in (None, _look(file, _NOWHERE))


def _look(file: str, letter: str) -> tuple[Any, bytes] | None:
    """A letter's box and pixels; None in a font that cannot be read, or not at any size, as those of coloured signs."""
    with suppress(OSError, ValueError):
        font = _opened(file)
        return font.getbbox(letter), bytes(font.getmask(letter))
    return None


@lru_cache(maxsize=8)
def _opened(file: str) -> Any:
    return ImageFont.truetype(file, _SIZE)


@cache
def _files() -> tuple[str, ...]:
    """The fonts of the system, plain ones of sans serif first."""
    found = {file for folder in _folders() for file in folder.rglob("*") if file.suffix.lower() in _SUFFIXES}
    return tuple(str(file) for file in sorted(found, key=_rank))


_SUFFIXES = (".ttf", ".otf", ".ttc", ".otc")


def _rank(file: Path) -> tuple[int, str]:
    name = file.stem.lower()
    return sum(word in name for word in _BAD) - sum(word in name for word in _GOOD), str(file)


def _folders() -> list[Path]:
    """Where the system keeps fonts."""
    home = Path.home()
    if sys.platform == "win32":
        windows, own = os.environ.get("WINDIR", "C:\\Windows"), os.environ.get("LOCALAPPDATA", str(home))
        return [Path(windows) / "Fonts", Path(own) / "Microsoft" / "Windows" / "Fonts"]
    if sys.platform == "darwin":
        return [home / "Library" / "Fonts", Path("/Library/Fonts"), Path("/System/Library/Fonts")]
    own = os.environ.get("XDG_DATA_HOME") or str(home / ".local" / "share")
    shared = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    return [Path(own) / "fonts", home / ".fonts", *(Path(folder) / "fonts" for folder in shared.split(":"))]
