"""A window that shows the table, and where a person plays; needs the extra ``rs_env[window]``.

    window = Window()
    game = Game(seed=1)
    while not game.is_over:
        window.show(table_of_game(game, seat=0))
        action = window.choose(table_of_game(game, seat=0)) if game.turn == 0 else other(game)
        game.play(action)
    window.close()

A card is chosen by a click, or by the arrow keys and Enter; ``p`` picks up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from rs_env.cards import PICKUP
from rs_env.engine.history import COMPLETED
from rs_env.history import Histories, recent
from rs_env.render.scene import Scene, check_size, scene_of
from rs_env.render.seen import table_of_view
from rs_env.render.table import WHAT, Last, Table
from rs_env.render.themes import ThemeName, check_theme
from rs_env.rules import Rules

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # pygame greets on stdout
try:
    import pygame
except ImportError as error:
    raise ImportError(f"a window needs pygame ({error}): pip install 'rs_env[window]'") from None

from rs_env.render.fonts import drawable
from rs_env.render.picture import picture_of_scene

_NOWHERE = ("offscreen", "dummy")  # video drivers that show nothing
_PAUSE = 0.02  # seconds between looks at mouse and keys
_LARGEST, _SMALLEST = 4096, 160


_open: list[Any] = []  # windows, so that each leaves the others their events


class WindowClosed(RuntimeError):  # noqa: N818  named for what happened
    """The person closed the window while a choice was asked for."""


class Window:
    """A window with the table.

    size: of its inside in pixels, (width, height) in 160..4096; None: (960, 640). It may be resized. theme: ``"dark"``
    or ``"light"``. fps: pictures that `show` shows in a second at the most; None: as many as there are. Raises
    RuntimeError where there is no display.

    `is_open` becomes False when somebody closes it, by its button or with Escape; from then on `show` does nothing and
    `choose` raises WindowClosed.
    """

    def __init__(
        self,
        size: Sequence[int] | None = None,
        theme: ThemeName = "dark",
        fps: float | None = None,
        title: str = "Rolling Stone",
    ) -> None:
        width_height, self.theme = check_size(size), check_theme(theme)
        if fps is not None and not fps > 0:
            raise ValueError(f"fps={fps!r} is not allowed: it must be a number above 0, or None")
        self.fps = fps
        try:
            pygame.display.init()
            if pygame.display.get_driver() in _NOWHERE and "SDL_VIDEODRIVER" not in os.environ:
                pygame.display.quit()
                raise pygame.error("no display")
            self._window: Any = pygame.Window(title, width_height, resizable=True)
        except pygame.error as error:
            raise RuntimeError(
                f"cannot open a window ({error}): render_mode='rgb_array' and rs_env.render.save need no display"
            ) from None
        self._window.minimum_size = _SMALLEST, _SMALLEST
        _open.append(self._window)
        self.is_open = True
        self._next = 0.0  # when the next picture may be shown, by time.monotonic
        self._shown: Table | np.ndarray | None = None
        self._scene: Scene | None = None
        self._marked: int | None = None

    def show(self, table: Table) -> None:
        """Show a table, once the one before has been there for 1 / `fps` seconds."""
        self._show(table)

    def show_picture(self, picture: np.ndarray) -> None:
        """Show a picture, uint8 (height, width, 3), as large as the window has room for."""
        self._show(picture)

    def choose(self, table: Table) -> int:
        """Show a table and wait until a person chooses one of its legal actions; that action.

        Raises ValueError where there is none, and WindowClosed when the window is closed.
        """
        if not table.legal:
            raise ValueError("table: it has no legal actions: it must be that of the seat to act")
        self._next, self._marked = 0.0, None
        self._shown = None
        self._show(table)
        chosen = None
        while chosen is None:
            if not self.is_open:
                raise WindowClosed("the window has been closed: nothing was chosen")
            for event in self._events():
                chosen = self._chosen(event, table.legal)
                if chosen is not None:
                    break
            else:
                time.sleep(_PAUSE)
        self._marked = None
        return chosen

    def close(self) -> None:
        """Close the window."""
        if self.is_open:
            self.is_open = False
            _open.remove(self._window)
            self._window.destroy()

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _show(self, shown: Table | np.ndarray) -> None:
        if (
            isinstance(shown, Table) and isinstance(self._shown, Table) and shown == self._shown
        ):  # as where both an environment and its user show it
            self._events()
            return
        while self.is_open and time.monotonic() < self._next:
            self._events()
            time.sleep(_PAUSE)
        self._events()
        self._shown = shown
        self._draw()
        self._next = time.monotonic() + 1 / self.fps if self.fps is not None else 0.0

    def _events(self) -> list[Any]:
        """What has happened to this window since the last look; closing and resizing are seen to here."""
        if not self.is_open:
            return []
        mine = []
        for event in pygame.event.get():
            window = getattr(event, "window", None)
            if window is None or window is self._window:
                mine.append(event)
            elif window in _open:
                pygame.event.post(event)
        for event in mine:
            escape = event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE
            if event.type in (pygame.QUIT, pygame.WINDOWCLOSE) or escape:
                self.close()
                return []
            if event.type in (pygame.WINDOWRESIZED, pygame.WINDOWEXPOSED):
                self._draw()
        return mine

    def _chosen(self, event: Any, legal: Sequence[int]) -> int | None:
        """The action that an event chooses; mouse and arrows mark one."""
        if event.type == pygame.MOUSEBUTTONDOWN and event.button == pygame.BUTTON_LEFT:
            return self._action_at(event.pos)
        marked = self._marked
        if event.type == pygame.MOUSEMOTION:
            marked = self._action_at(event.pos)
        elif event.type == pygame.KEYDOWN:
            if event.key in (pygame.K_RETURN, pygame.K_KP_ENTER, pygame.K_SPACE):
                return marked
            if event.key == pygame.K_p and PICKUP in legal:
                return PICKUP
            if event.key in (pygame.K_LEFT, pygame.K_RIGHT):
                step = 1 if event.key == pygame.K_RIGHT else -1
                place = legal.index(marked) + step if marked is not None else (0 if step > 0 else -1)
                marked = legal[place % len(legal)]
        if marked != self._marked:
            self._marked = marked
            self._draw()
        return None

    def _action_at(self, place: tuple[int, int]) -> int | None:
        return None if self._scene is None else self._scene.action_at(*place)

    def _draw(self) -> None:
        if not self.is_open or self._shown is None:
            return
        width, height = (min(max(edge, _SMALLEST), _LARGEST) for edge in self._window.size)
        surface = self._window.get_surface()
        if isinstance(self._shown, np.ndarray):
            surface.fill((0, 0, 0))
            self._scene, picture = None, _surface(self._shown)
            share = min(width / picture.get_width(), height / picture.get_height())
            fitting = max(int(picture.get_width() * share), 1), max(int(picture.get_height() * share), 1)
            surface.blit(pygame.transform.smoothscale(picture, fitting), (0, 0))
        else:
            self._scene = scene_of(drawable(self._shown), (width, height), self.theme, self._marked)
            surface.blit(_surface(picture_of_scene(self._scene)), (0, 0))
        self._window.flip()


def _surface(picture: np.ndarray) -> Any:
    height, width, _ = picture.shape
    return pygame.image.frombuffer(picture.tobytes(), (width, height), "RGB")


class Human:
    """A person who plays in a window, as an agent: for ``opponents=`` of the Gymnasium environments, `rs_env.agent.ask`
    and loops of your own.

    rules: of the games. names: of the players, by seat. window: where to show and ask; None: one that opens at the
    first question. Raises WindowClosed when the person closes it.
    """

    name = "human"

    def __init__(self, rules: Rules, names: Sequence[str] | None = None, window: Window | None = None) -> None:
        self.rules, self.names, self.window = rules, names, window

    def reset(self, seed: int | None) -> None:
        """Nothing: a person draws from no seed."""

    def act(self, views: np.ndarray, histories: Histories | None = None) -> np.ndarray:
        """The person's choice for each view, one after the other: int64 (B,)."""
        if self.window is None:
            self.window = Window()
        chosen = []
        for i in range(len(views)):
            last = None if histories is None else _last_of_history(views[i : i + 1], histories[i : i + 1])
            chosen.append(self.window.choose(table_of_view(views[i], self.rules, self.names, last)))
        return np.array(chosen, np.int64)


def _last_of_history(views: np.ndarray, histories: Histories) -> Last | None:
    """The last action of the running deal of one game; None before the first one."""
    viewer, players = int(views["seat"][0]), int(views["rules"]["num_players"][0])
    rows = recent(views, histories, 2 * players)[0].tolist()
    trick: list[tuple[int, int]] = []
    last = None
    for relative, action, told in rows:
        seat, (completes, what) = (viewer + relative) % players, divmod(told, COMPLETED)
        if not what:
            continue
        trick = [] if WHAT[what - 1] == "led" else trick
        if action != PICKUP:
            trick.append((seat, action))
        is_over = completes or WHAT[what - 1] in ("picked up", "noticed")
        last = Last(seat, action, WHAT[what - 1], tuple(trick) if is_over else (), ended_deal=False)
    return last
