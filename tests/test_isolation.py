"""Agents in processes of their own play as they do here and see nothing more, one by one and throughout the arena."""

from __future__ import annotations

import copy
import functools
import gc
import os
import socket
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asking import PLACES
from models import Floats, Forgetful, Model, Remembering, Searching, Writing

from rs_env.agent import draws_by_seed, wants_histories
from rs_env.arena import SearchResponder, best_response, duel, league
from rs_env.baselines import make_agent
from rs_env.isolation import Isolated
from rs_env.rules import Rules
from rs_env.testing import check_agent, random_views


class Ending(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        os._exit(3)


class Slow(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        time.sleep(60)
        return super().act(views, seeds)


class Talking(Model):
    """Finds its end of the socket and writes to it what it likes."""

    def say(self, content: bytes) -> None:
        (found,) = [o for o in gc.get_objects() if type(o) is socket.socket]
        found.sendall(content)

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        raise NotImplementedError


class HalfAHeader(Talking):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        self.say(b"xy")
        time.sleep(60)
        return super().act(views)


class Gigabytes(Talking):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        self.say((1).to_bytes(8, "little") + (1 << 40).to_bytes(8, "little"))
        time.sleep(60)
        return super().act(views)


class OddLength(Talking):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        self.say((1).to_bytes(8, "little") + (6).to_bytes(8, "little") + b"a12345")
        time.sleep(60)
        return super().act(views)


class Surplus(Talking):
    """Answers each question once more than it is asked, as if it had been asked before."""

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        self.say((77).to_bytes(8, "little") + (9).to_bytes(8, "little") + b"a" + bytes(8))
        return Model.act(self, views, seeds)


class Unspeakable(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        raise ValueError("\ud800")


class Numbered(Model):
    name = 5  # type: ignore[assignment]


class Old(Model):
    """Without the parameter `seeds`."""

    def act(self, views: np.ndarray) -> np.ndarray:  # type: ignore[override]
        return super().act(views)


@pytest.fixture
def closing() -> Any:
    made: list[Isolated] = []

    def make(*arguments: Any, **options: Any) -> Isolated:
        made.append(Isolated(*arguments, **options))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


def test_an_isolated_agent_plays_as_it_does_here(closing: Any) -> None:
    views, seeds = random_views(Rules(), 20, 1), np.arange(20, dtype=np.uint64)
    for given, here in (
        ("heuristic", make_agent("heuristic")),
        (Model(), Model()),
        (functools.partial(make_agent, "low"), make_agent("low")),
    ):
        there = closing(given)
        assert there.name == here.name
        for agent in (here, there):
            agent.reset(5)
        assert there.act(views).tolist() == here.act(views).tolist()
        assert there.act(views, seeds).tolist() == here.act(views, seeds).tolist()  # type: ignore[call-arg]
        check_agent(there, positions=20)
    assert not draws_by_seed(closing(Old()))
    assert wants_histories(closing(Forgetful())) and not wants_histories(closing(Model()))


def test_an_isolated_agent_gets_the_histories_that_it_wants(closing: Any) -> None:
    here, there = duel(Remembering(), "random", deals=3), duel(closing(Remembering()), "random", deals=3)
    assert (here.win_share, here.actions) == (there.win_share, there.actions)
    check_agent(closing(Forgetful()), positions=20)


@pytest.mark.parametrize("ask_it", PLACES)
def test_a_search_for_states_finds_them_here_and_nothing_in_a_process_of_its_own(
    ask_it: Callable[[Any], None], closing: Any
) -> None:
    with pytest.raises(ValueError, match="found states"):
        ask_it(Searching())
    ask_it(closing(Searching()))


def test_games_of_an_isolated_agent_are_the_same(closing: Any) -> None:
    here, there = duel(Model(), "random", deals=3), duel(closing(Model()), "random", deals=3)
    assert (here.win_share, here.actions) == (there.win_share, there.actions)
    again = copy.deepcopy(closing(Model()))
    views = random_views(Rules(), 5, 1)
    assert again.act(views).tolist() == Model().act(views).tolist()
    again.close()


def test_an_isolated_agent_that_fails_is_named(closing: Any) -> None:
    views = random_views(Rules(), 3, 1)
    with pytest.raises(RuntimeError, match="agent 'model': its process has ended"):
        closing(Ending()).act(views)
    with pytest.raises(RuntimeError, match=r"agent 'model': took longer than 0\.1 seconds"):
        closing(Slow(), seconds=0.1).act(views)
    for liar in (HalfAHeader, Gigabytes, OddLength):
        begin = time.monotonic()
        agent = closing(liar, seconds=2.0)
        with pytest.raises(RuntimeError, match=r"agent 'model'.* (took longer|answers with|answered)"):
            agent.act(views)
        assert time.monotonic() - begin < 45
        with pytest.raises(RuntimeError, match="its process has ended"):
            agent.act(views)
    assert closing(Surplus).act(views).tolist() == Model().act(views).tolist()
    with pytest.raises(RuntimeError, match="ValueError"):
        closing(Unspeakable).act(views)
    assert closing(Numbered).name == "5"
    with pytest.raises(RuntimeError, match="gave float64"):
        closing(Floats()).act(views)
    with pytest.raises(RuntimeError, match="ValueError: assignment destination is read-only"):
        closing(Writing()).act(views)
    with pytest.raises(RuntimeError, match="ValueError: agent 'nobody' is not known"):
        closing("nobody")
    with pytest.raises(ValueError, match="cannot be sent"):
        Isolated(lambda: Model())


# Arena


QUICK: dict[str, Any] = {"deals": 2, "seed": 1}
SEARCH: dict[str, Any] = {"worlds": 2, "horizon": 20, **QUICK}
IN_THE_ARENA: dict[str, Callable[..., Any]] = {
    "duel": lambda agent, **how: duel(agent, "random", **QUICK, **how),
    "opponent": lambda agent, **how: duel("random", agent, table="rest", **QUICK, **how),
    "both": lambda agent, **how: duel(agent, agent, table="half", **QUICK, **how),
    "league": lambda agent, **how: league(["random", agent, "low"], matrix_deals=1, **QUICK, **how),
    "frozen": lambda agent, **how: best_response(agent, **SEARCH, **how),
    "default": lambda agent, **how: best_response("random", default=agent, **SEARCH, **how),
    "responder": lambda agent, **how: best_response(
        "random", responders=["low", agent], selection_deals=2, **SEARCH, **how
    ),
    "in a responder": lambda agent, **how: best_response(
        "random", responders=[SearchResponder(agent, worlds=2, horizon=20)], **QUICK, **how
    ),
}


@pytest.mark.parametrize("place", IN_THE_ARENA)
def test_a_search_for_states_finds_none_in_an_isolated_arena(place: str) -> None:
    play = IN_THE_ARENA[place]
    with pytest.raises(ValueError, match="found states"):
        play(Searching())
    if place == "in a responder":  # which searches in its own process, among worlds of its own, away from the game
        with pytest.raises(RuntimeError, match=r"agent 'search:worlds=2.*found states"):
            play(Searching(), isolated=True)
    else:
        play(Searching(), isolated=True)


@pytest.mark.parametrize("place", ["league", "frozen"])
def test_an_isolated_arena_plays_the_same_games_in_any_number_of_processes(place: str, tmp_path: Any) -> None:
    hows: list[dict[str, Any]] = [{}, {"isolated": True}, {"isolated": True, "processes": 2}]
    for number, how in enumerate(hows):
        IN_THE_ARENA[place](Model(), out=tmp_path / str(number), **how)
    here, *others = [(tmp_path / str(number) / "games.jsonl").read_bytes() for number in range(len(hows))]
    assert others == [here, here]


def test_baselines_and_cheats_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr("rs_env.arena.players.Isolated", refuse)
    league(["random", "heuristic", make_agent("pimc:worlds=2")], isolated=True, **QUICK)
    duel("sees_all", "random", isolated=True, fair=False, **QUICK)
    best_response("random", isolated=True, **SEARCH)
    with pytest.raises(AssertionError, match="a process was started"):
        duel(Model(), "random", isolated=True, **QUICK)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_isolated_agent_that_fails_in_the_arena_is_named(processes: int) -> None:
    with pytest.raises(RuntimeError, match="agent 'model': its process has ended"):
        duel(Ending(), "random", isolated=True, processes=processes, **QUICK)


def test_an_agent_that_cannot_be_sent_is_refused_before_anything_is_written(tmp_path: Any) -> None:
    class Local(Model):
        pass

    with pytest.raises(ValueError, match=r"agent .* is not allowed: it cannot be sent to a process"):
        duel(Local(), "random", isolated=True, out=tmp_path / "run", **QUICK)
    assert not (tmp_path / "run").exists()
