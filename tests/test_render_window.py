"""The window: what a person chooses by mouse and keys, and how it closes. No screen is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import rs_env
from rs_env.agent import check_is_agent
from rs_env.cards import PICKUP
from rs_env.envs.gymnasium_single import RollingStoneEnv
from rs_env.envs.gymnasium_vector import RollingStoneVectorEnv
from rs_env.game import Game
from rs_env.history import Histories
from rs_env.render import Table, last_of_game, table_of_game
from rs_env.render.scene import scene_of
from rs_env.rules import Rules

pygame = pytest.importorskip("pygame")

from rs_env.render.window import Human, Window, WindowClosed  # noqa: E402  needs pygame


@pytest.fixture
def window() -> Iterator[Window]:
    with Window((600, 400)) as opened:
        yield opened
    pygame.display.quit()


def key(window: Window, code: int) -> Any:
    return pygame.event.Event(pygame.KEYDOWN, key=code, window=window._window)


def choose(window: Window, table: Table, *events: Any) -> int:
    """What is chosen when these events come, one after the other, while the window waits."""
    waiting = list(events)
    with patch("rs_env.render.window.time.sleep", lambda _: pygame.event.post(waiting.pop(0))):
        action = window.choose(table)
    assert not waiting
    return action


def middle_of(table: Table, action: int) -> tuple[float, float]:
    """A place in the window at which the action lies on top."""
    x, y, width, height = next(place for each, *place in scene_of(table, (600, 400)).targets if each == action)
    return x + 0.2 * width, y + 0.3 * height


def own_turn(until: int | None = None) -> Table:
    """A seat's table with several legal actions, or with that one alone."""
    game = Game(seed=3)
    while game.legal_actions() != [until] if until is not None else len(game.legal_actions()) < 3:
        game.play(game.legal_actions()[0])
    return table_of_game(game, seat=game.turn)


def test_a_click_chooses(window: Window) -> None:
    table = own_turn()
    for action in table.legal:
        clicks = [
            pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=pygame.BUTTON_LEFT, pos=at, window=window._window)
            for at in ((1, 1), middle_of(table, action))  # beside all cards nothing is chosen
        ]
        assert choose(window, table, *clicks) == action


def test_keys_choose(window: Window) -> None:
    table = own_turn()
    right, left, enter, pick_up = (
        key(window, code) for code in (pygame.K_RIGHT, pygame.K_LEFT, pygame.K_RETURN, pygame.K_p)
    )
    assert choose(window, table, right, enter) == table.legal[0]
    assert choose(window, table, enter, right, right, enter) == table.legal[1]
    assert choose(window, table, left, enter) == table.legal[-1]
    assert choose(window, table, right, left, enter) == table.legal[-1]
    assert choose(window, table, pick_up, right, enter) == table.legal[0]  # it may not be picked up
    assert choose(window, own_turn(PICKUP), pick_up) == PICKUP


def test_what_was_clicked_before_is_no_choice(window: Window) -> None:
    table = own_turn()
    place = middle_of(table, table.legal[0])
    pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1, pos=place, window=window._window))
    assert choose(window, table, key(window, pygame.K_LEFT), key(window, pygame.K_RETURN)) == table.legal[-1]


def test_a_marked_card_is_shown(window: Window) -> None:
    table = own_turn()
    window.show(table)
    before = pygame.surfarray.array3d(window._window.get_surface())
    motion = pygame.event.Event(pygame.MOUSEMOTION, pos=middle_of(table, table.legal[0]), window=window._window)
    assert window._chosen(motion, table.legal) is None
    assert (pygame.surfarray.array3d(window._window.get_surface()) != before).any()


@pytest.mark.parametrize("close", [pygame.WINDOWCLOSE, pygame.KEYDOWN])
def test_closing_the_window(window: Window, close: int) -> None:
    pygame.event.post(pygame.event.Event(close, key=pygame.K_ESCAPE, window=window._window))
    with pytest.raises(WindowClosed, match="closed"):
        window.choose(own_turn())
    assert not window.is_open
    window.show(own_turn())  # nothing, so that what runs goes on
    window.close()


def test_a_table_without_a_choice_is_refused(window: Window) -> None:
    game = Game(seed=1)
    with pytest.raises(ValueError, match="no legal actions"):
        window.choose(table_of_game(game, seat=(game.turn or 0) - 1))
    with pytest.raises(ValueError, match="fps=0"):
        Window(fps=0)


def test_pictures_stay_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = [0.0], []

    def sleep(seconds: float) -> None:
        clock[0] += seconds
        slept.append(seconds)

    monkeypatch.setattr("rs_env.render.window.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("rs_env.render.window.time.sleep", sleep)
    game = Game(seed=1)
    with Window((300, 200), fps=2) as window:
        window.show(table_of_game(game))
        window.show(table_of_game(game))  # the same
        assert not slept
        game.play(game.legal_actions()[0])
        window.show(table_of_game(game))
        assert sum(slept) == pytest.approx(0.5, abs=0.03)
    pygame.display.quit()


def test_no_display_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pygame.display, "get_driver", lambda: "offscreen")
    with pytest.raises(RuntimeError, match=r"no display.*rgb_array"):
        Window()


def test_a_person_is_an_agent(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Table] = []

    def choose(table: Table) -> int:
        asked.append(table)
        return table.legal[-1]

    monkeypatch.setattr(window, "choose", choose)
    human = Human(Rules(), ["Ann", "Bob", "Cid", "Dan"], window)
    check_is_agent(human)
    env = RollingStoneEnv(opponents=["random", human, "random"])
    env.reset(seed=3)
    while not env.game.is_over:
        env.step(int(env.action_masks().argmax()))
    assert asked and all(table.viewer == table.turn == 2 and len(table.legal) > 1 for table in asked)
    assert asked[-1].seats[1].name == "Bob" and asked[-1].last is not None
    game = Game("silent", seed=5)
    while not game.is_over:
        game.play(game.legal_actions()[-1])
        if game.turn is not None:
            human.rules = game.rules
            human.act(np.array([game.view(game.turn)]), Histories.of([game]))
            assert asked[-1].last == last_of_game(game)


@pytest.mark.parametrize("kind", ["aec", "single", "batch"])
def test_environments_show_each_step_in_one_window(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    closed: list[bool] = []

    class Recorder:
        def __init__(self, *arguments: Any) -> None:
            shown.append(arguments)

        def show(self, table: Any) -> None:
            shown.append(table)

        show_picture = show

        def close(self) -> None:
            closed.append(True)

    monkeypatch.setattr("rs_env.render.window.Window", Recorder)
    options: dict[str, Any] = {"render_mode": "human", "render_size": (300, 200), "render_seat": 1}
    if kind == "aec":
        env: Any = rs_env.env(**options)
        env.reset(seed=1)
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    else:
        env = RollingStoneEnv(**options) if kind == "single" else RollingStoneVectorEnv(2, **options)
        env.reset(seed=1)
        env.step(int(env.action_masks().argmax()) if kind == "single" else env.action_masks().argmax(1))
    assert shown[0] == ((300, 200), "dark", 1) and len(shown) == 3
    assert env.render() is None and len(shown) == 4
    if kind == "batch":
        assert shown[1].shape == (200, 600, 3)
    else:
        assert shown[1].viewer == 1 and shown[2] == shown[3] != shown[1]
    env.close()
    assert closed == [True]


def test_a_real_window_shows_a_batch(window: Window) -> None:
    window.show_picture(np.full((50, 300, 3), 200, np.uint8))
    pixels = pygame.surfarray.array3d(window._window.get_surface())
    assert pixels.shape == (600, 400, 3)
    assert (pixels[:, :100] == 200).all() and not pixels[:, 101:].any()
