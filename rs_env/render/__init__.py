"""Drawings of a game: text, and its picture."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from rs_env.render.text import render_text

RenderMode = Literal["ansi", "human", "rgb_array"]
RENDER_MODES: tuple[RenderMode, ...] = get_args(RenderMode)


def check_render_mode(mode: RenderMode | None) -> RenderMode | None:
    """The mode. Raises ValueError for any but None and `RENDER_MODES`."""
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(
            f"render_mode={mode!r} is not allowed: it must be None or one of {', '.join(map(repr, RENDER_MODES))}"
        )
    return mode


def render(game: Any, mode: str | None) -> str | np.ndarray | None:
    """The table with open cards: text in mode ``"ansi"``, printed in mode ``"human"``, a picture in ``"rgb_array"``;
    else None.
    """
    if mode == "ansi":
        return render_text(game)
    if mode == "rgb_array":
        from rs_env.render.picture import picture_of_text

        return picture_of_text(render_text(game))
    if mode == "human":
        print(render_text(game), end="\n\n")
    return None
