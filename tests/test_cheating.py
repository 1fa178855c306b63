"""Agents that try to see or to do more than their seat may: wherever agents are asked, they gain nothing and play
nothing illegal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asking import PLACES, frozen_before_a_best_response

from rs_env import Game, replay
from rs_env.arena import duel
from rs_env.baselines import make_agent
from rs_env.cards import PICKUP, members
from rs_env.engine.view import VIEW
from rs_env.record import read_records


class Curious:
    """Looks for memory behind its views, keeps them, and tries to write to them."""

    name = "curious"

    def __init__(self) -> None:
        self.seen_behind: list[Any] = []
        self.kept: list[tuple[np.ndarray, bytes]] = []
        self.written = 0

    def reset(self, seed: int | None) -> None:
        pass

    def act(self, views: np.ndarray) -> np.ndarray:
        behind = views.base
        while behind is not None:
            self.seen_behind.append(behind)
            behind = getattr(behind, "base", None)
        assert all(
            kept.tobytes() == content for kept, content in self.kept
        )  # nothing that was handed out is used again
        self.kept = [*self.kept[-3:], (views, views.tobytes())]
        try:
            views["legal"] = np.uint64(1) << np.uint64(PICKUP)
            self.written += 1
        except ValueError:
            pass
        return np.array([members(legal)[-1] for legal in views["legal"].tolist()])


class Forger(Curious):
    """Makes its views writable, writes that any card is legal, and plays one that it does not hold."""

    name = "forger"

    def act(self, views: np.ndarray) -> np.ndarray:
        views.flags.writeable = True  # the copy is its own
        views["legal"] = np.uint64((1 << 53) - 1)
        return np.array([next(a for a in range(52) if not hand >> a & 1) for hand in views["hand"].tolist()])


@pytest.mark.parametrize("ask_it", PLACES)
def test_views_have_nothing_behind_them_and_cannot_be_written_to(ask_it: Callable[[Any], None]) -> None:
    agent = Curious()
    ask_it(agent)
    if ask_it is not frozen_before_a_best_response:  # which plays with a copy
        assert agent.kept
    assert agent.seen_behind == []
    assert agent.written == 0


@pytest.mark.parametrize("ask_it", PLACES)
def test_what_an_agent_writes_makes_nothing_legal(ask_it: Callable[[Any], None]) -> None:
    with pytest.raises(ValueError, match="agent 'forger' chose the illegal action"):
        ask_it(Forger())


def test_games_with_a_curious_agent_can_be_replayed(tmp_path: Any) -> None:
    duel(Curious(), "heuristic", deals=2, out=tmp_path / "run")
    records = list(read_records(tmp_path / "run" / "games.jsonl"))
    assert len(records) == 8
    for record in records:
        replay({key: value for key, value in record.items() if key != "arena"})


@pytest.mark.parametrize("name", ["random", "heuristic", "pimc:worlds=2", "ismcts:iterations=4"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("still_in", 0),
        ("seat", 77),
        ("seat", 1),
        ("turn", 6),
        ("legal", 1 << 63),
        ("legal", (1 << 53) - 1),
        ("hand", 0),
        ("status", 1),
    ],
)
def test_impossible_views_are_refused(name: str, field: str, value: int) -> None:
    game = Game(seed=1, dealer=3)  # seat 0 leads
    views = np.array([game.view(0), game.view(0)], VIEW)
    make_agent(name).act(views)
    views[field][1] = value
    with pytest.raises(ValueError, match=r"views\[1\]"):
        make_agent(name).act(views)


def test_impossible_numbers_of_players_are_refused() -> None:
    views = np.array([Game(seed=1, dealer=3).view(0)], VIEW)
    for number in (0, 1, 9):
        views["rules"]["num_players"] = number
        with pytest.raises(ValueError, match=r"views\[0\]"):
            make_agent("random").act(views)
