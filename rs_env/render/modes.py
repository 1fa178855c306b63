"""The render modes of the environments."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rs_env.checks import check_whole
from rs_env.render.scene import check_size
from rs_env.render.table import Table, table_of_game
from rs_env.render.text import text_of_table
from rs_env.render.themes import ThemeName, check_theme
from rs_env.rules import Rules

if TYPE_CHECKING:
    from rs_env.render.window import Window

RenderMode = Literal["ansi", "human", "rgb_array"]
RENDER_MODES: tuple[RenderMode, ...] = get_args(RenderMode)

RENDER_FPS = 1
"""Pictures a second: of the window, and what the environments' metadata tell of films."""

Frame = str | np.ndarray | None


class Renderer:
    """Draws the games of an environment.

    mode: None, ``"ansi"``: text; ``"rgb_array"``: a picture, which needs Pillow; ``"human"``: a window, which needs
    pygame. size: of picture or window in pixels, (width, height) in 160..4096; None: (960, 640). seat: whose view is
    drawn; None: all hands are open. theme: ``"dark"`` or ``"light"``. Raises ValueError, naming the argument, for
    anything else, and ImportError where a library is missing.
    """

    def __init__(
        self,
        rules: Rules,
        mode: str | None,
        size: Sequence[int] | None = None,
        seat: int | None = None,
        theme: ThemeName = "dark",
    ) -> None:
        if mode is not None and mode not in RENDER_MODES:
            raise ValueError(
                f"render_mode={mode!r} is not allowed: it must be None or one of {', '.join(map(repr, RENDER_MODES))}"
            )
        self.mode = mode
        self.size, self.theme = check_size(size, "render_size"), check_theme(theme, "render_theme")
        self.seat = None if seat is None else check_whole("render_seat", seat, 0, rules.num_players - 1)
        if mode == "human" and importlib.util.find_spec("pygame") is None:
            raise ImportError("render_mode='human' needs pygame: pip install 'rs_env[window]'")
        self._window: Window | None = None

    def render(self, game: Any) -> Frame:
        """The table of a game: text, a picture as uint8 (height, width, 3), or None once the window shows it."""
        if self.mode is None:
            return None
        table = table_of_game(game, seat=self.seat)
        if self.mode == "ansi":
            return text_of_table(table)
        if self.mode == "rgb_array":
            return self._picture(table)
        self._open_window().show(table)
        return None

    def render_all(self, games: Sequence[Any]) -> tuple[Frame, ...] | None:
        """The tables of several games: each as `render` gives it, or in one window."""
        if self.mode != "human":
            return tuple(self.render(game) for game in games) if self.mode is not None else None
        frames = [self._picture(table_of_game(game, seat=self.seat)) for game in games]
        self._open_window().show_picture(grid(frames))
        return None

    def _picture(self, table: Table) -> np.ndarray:
        from rs_env.render.picture import picture_of_table

        return picture_of_table(table, self.size, self.theme)

    def _open_window(self) -> Window:
        from rs_env.render.window import Window

        if self._window is None:
            self._window = Window(self.size, self.theme, RENDER_FPS)
        return self._window

    def close(self) -> None:
        """Close the window, if there is one; a later `render` opens another."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the window, of which a copy opens its own."""
        return {**vars(self), "_window": None}


def grid(frames: Sequence[np.ndarray], columns: int | None = None) -> np.ndarray:
    """Pictures of several tables as one, row by row: uint8 (rows * height, columns * width, 3).

    frames: pictures of one size, uint8 (height, width, 3), as a vector environment gives them. columns: as many as make
    about a square where None. Places without a table are black. Raises ValueError where the frames do not fit.
    """
    frames = [np.asarray(frame) for frame in frames]
    if not frames:
        raise ValueError("frames: none are not allowed: there must be at least one picture")
    for number, frame in enumerate(frames):
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape != frames[0].shape:
            raise ValueError(
                f"frames[{number}]: {frame.dtype} of shape {frame.shape} is not allowed: all must be uint8 of one shape"
                " (height, width, 3)"
            )
    across = math.ceil(math.sqrt(len(frames))) if columns is None else check_whole("columns", columns, 1, 1 << 16)
    height, width, depth = frames[0].shape
    rows = math.ceil(len(frames) / across)
    whole = np.zeros((rows * height, across * width, depth), np.uint8)
    for place, frame in enumerate(frames):
        row, column = divmod(place, across)
        whole[row * height : (row + 1) * height, column * width : (column + 1) * width] = frame
    return whole
