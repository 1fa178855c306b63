"""Drawings of the table: as data, text, pictures and films, in a window; see ``docs/rendering.md``.

`Table` describes a position, open or as one seat knows it; all else are drawings of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rs_env.render.film import save
    from rs_env.render.modes import RENDER_MODES, Renderer, RenderMode, grid
    from rs_env.render.picture import picture_of_table
    from rs_env.render.seen import table_of_view
    from rs_env.render.svg import svg_of_table
    from rs_env.render.table import Table, last_of_game, table_of_game
    from rs_env.render.text import render_text, text_of_table

# Loaded at first use (PEP 562): `rs_env.Game` draws itself as text, and what makes films plays games.
_HOME = {
    "Table": "table",
    "last_of_game": "table",
    "table_of_game": "table",
    "table_of_view": "seen",
    "render_text": "text",
    "text_of_table": "text",
    "picture_of_table": "picture",
    "svg_of_table": "svg",
    "RenderMode": "modes",
    "RENDER_MODES": "modes",
    "Renderer": "modes",
    "grid": "modes",
    "save": "film",
}

__all__ = [
    "RENDER_MODES",
    "RenderMode",
    "Renderer",
    "Table",
    "grid",
    "last_of_game",
    "picture_of_table",
    "render_text",
    "save",
    "svg_of_table",
    "table_of_game",
    "table_of_view",
    "text_of_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
