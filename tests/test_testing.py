"""`rs_env.testing.check_agent` finds each fault by name; agents in processes of their own play as they do here and see
nothing more."""

from __future__ import annotations

import copy
import functools
import gc
import os
import random
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asking import PLACES
from strategies import preset_rules

import rs_env
from rs_env import Game
from rs_env.agent import draws_by_seed
from rs_env.arena import duel
from rs_env.baselines import AGENTS, make_agent
from rs_env.cards import members
from rs_env.encoding import draws, observations
from rs_env.engine.state import STATE
from rs_env.engine.view import view_key
from rs_env.isolation import Isolated
from rs_env.rules import Rules
from rs_env.testing import AgentError, check_agent, random_views

QUICK = ["random", "heuristic", "low", "longest", "dumper", "pimc:worlds=2", "expert:worlds=2", "ismcts:iterations=10"]


class Model:
    """A faultless agent, from which the faulty ones are made."""

    name = "model"

    def __init__(self) -> None:
        self.seed = 0

    def reset(self, seed: int | None) -> None:
        self.seed = seed or 0

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        seeds = np.full(len(views), self.seed, np.uint64) if seeds is None else seeds
        choices = [members(view["legal"]) for view in views]
        return np.array(
            [c[int(view_key(v, s) % np.uint64(len(c)))] for c, v, s in zip(choices, views, seeds, strict=True)],
            np.int64,
        )


class Lucky(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        return np.array([random.choice(members(view["legal"])) for view in views], np.int64)


class Counting(Model):
    """What it does depends on how often it was asked."""

    asked = 0

    def reset(self, seed: int | None) -> None:
        self.asked = 0

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        self.asked += 1
        return np.array([members(view["legal"])[-(self.asked % 2)] for view in views], np.int64)


class Illegal(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        return np.full(len(views), 52)


class Writing(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        views["hand"] = 0
        return super().act(views, seeds)


class Peeking(Model):
    """Chooses by the hands of games that it finds in memory."""

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        games = [found for found in gc.get_objects() if type(found) is Game]
        hands = sum(sum(map(sum, game.hands[1:])) for game in games)
        return np.array([(m := members(view["legal"]))[hands % len(m)] for view in views], np.int64)


class TooFew(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        return super().act(views, seeds)[:1]


class Floats(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        return super().act(views, seeds).astype(float)


@pytest.mark.parametrize("name", QUICK)
def test_baselines_pass(name: str) -> None:
    check_agent(name, positions=40)
    assert draws_by_seed(make_agent(name))


def test_all_baselines_are_checked() -> None:
    assert {name.partition(":")[0] for name in QUICK} == set(AGENTS) - {"sees_all"}


@pytest.mark.parametrize(
    "rules", [pytest.param(rules, id=name) for name, rules in preset_rules() if len(rules.deck) > rules.num_players]
)
def test_a_faultless_agent_passes_with_any_rules(rules: Rules) -> None:
    check_agent(Model(), rules, positions=10)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (Lucky, "not reproducible"),
        (Counting, "depends on the other views asked with it"),
        (Illegal, "illegal action 52"),
        (Writing, "writes to its views"),
        (Peeking, "not blind"),
        (TooFew, "integers of shape"),
        (Floats, "gave float64"),
    ],
)
def test_each_fault_is_named(agent: Callable[[], Model], said: str) -> None:
    check_agent(Model(), positions=30)
    with pytest.raises(AgentError, match=said):
        check_agent(agent(), positions=30)


def test_what_is_no_agent_and_what_has_no_decisions_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a name, or an object"):
        check_agent(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sees all hands"):
        check_agent("sees_all")
    with pytest.raises(ValueError, match="hardly any decisions"):
        check_agent("random", Rules(num_players=2, suits=1, ranks=2), positions=1)


# Processes of their own


class Searching(Model):
    """Looks everywhere in its process for states, in what the collector knows and up the stack."""

    name = "searching"
    asked = 0

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        self.asked += 1
        if self.asked in (1, 3, 9):  # a search takes a tenth of a second
            self.search()
        return super().act(views, seeds)

    def search(self) -> None:
        found = []
        for holder in gc.get_objects():  # asked for exact types: others may do anything when they are asked
            content = (
                holder.values() if type(holder) is dict else holder if type(holder) in (list, tuple) else (holder,)
            )
            found += [o for o in list(content) if type(o) is np.ndarray and o.dtype == STATE and o.size]
        frame = sys._getframe(2)
        while frame is not None:
            near = list(frame.f_locals.values())
            for _ in range(2):
                near += [inside for o in near for inside in getattr(o, "__dict__", {}).values()]
            found += [o for o in near if type(o) is np.ndarray and o.dtype == STATE]
            frame = frame.f_back
        if found:
            raise ValueError("found states")


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


# Views for networks


@pytest.mark.parametrize("rules", ["rolling_stone", "schweller", "silent"])
def test_views_become_the_observations_of_the_environments(rules: str) -> None:
    plain, scaled = (rs_env.raw_env(rules, num_players=3, observation_dtype=dtype) for dtype in ("int8", "float32"))
    rng = random.Random(1)
    for env in (plain, scaled):
        env.reset(seed=4)
    for _ in range(40):
        if plain.game.is_over:
            break
        views = np.array([plain.game.view(plain.game.turn)] * 2)
        for env, dtype in ((plain, "int8"), (scaled, "float32")):
            seen = env.observe(env.agent_selection)
            rows, masks = observations(views, dtype)
            assert rows.dtype == dtype and masks.dtype == np.int8
            assert all(np.array_equal(row, seen["observation"]) for row in rows)
            assert all(np.array_equal(mask, seen["action_mask"]) for mask in masks)
        action = rng.choice(plain.game.legal_actions())
        plain.step(action)
        scaled.step(action)


def test_views_of_several_numbers_of_players_have_no_common_size() -> None:
    views = np.concatenate([random_views(Rules(num_players=n), 1, 1) for n in (3, 4)])
    with pytest.raises(ValueError, match="2 numbers of players"):
        observations(views)


def test_draws_of_views_are_uniform_and_belong_to_view_and_seed() -> None:
    views = random_views(Rules(), 400, 2)
    seeds = np.arange(400, dtype=np.uint64)
    numbers = draws(views, seeds)
    assert np.array_equal(draws(views[::-1].copy(), seeds[::-1]), numbers[::-1])
    assert (numbers >= 0).all() and (numbers < 1).all()
    assert abs(np.histogram(numbers, 8, (0, 1))[0] - 50).max() < 30
    assert len(np.unique(draws(np.repeat(views[:1], 50), seeds[:50]))) == 50
