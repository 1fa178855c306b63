"""`rs_env.testing.check_agent` finds each fault by name; views become observations and draws."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable

import numpy as np
import pytest
from models import Floats, Forgetful, Model, Remembering, Scribbling, Writing
from strategies import preset_rules

import rs_env
from rs_env import Game
from rs_env.agent import draws_by_seed
from rs_env.baselines import AGENTS, make_agent
from rs_env.cards import members
from rs_env.encoding import draws, observations
from rs_env.rules import Rules
from rs_env.testing import AgentError, check_agent, random_views

QUICK = ["random", "heuristic", "low", "longest", "dumper", "pimc:worlds=2", "expert:worlds=2", "ismcts:iterations=10"]
QUICK += ["adaptive:worlds=2,iterations=6"]


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


class Peeking(Model):
    """Chooses by the hands of games that it finds in memory."""

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        games = [found for found in gc.get_objects() if type(found) is Game]
        hands = sum(sum(map(sum, game.hands[1:])) for game in games)
        return np.array([(m := members(view["legal"]))[hands % len(m)] for view in views], np.int64)


class TooFew(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        return super().act(views, seeds)[:1]


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
    check_agent(Forgetful(), rules, positions=10)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (Lucky, "not reproducible"),
        (Counting, "depends on the other views asked with it"),
        (Illegal, "illegal action 52"),
        (Writing, "writes to its views"),
        (Scribbling, "writes to its views or histories"),
        (Remembering, "asked without histories"),
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
