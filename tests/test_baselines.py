"""Agents are made by name and reproducible; duels and games between agents are what they say. How agents choose:
``test_search.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hidden import positions
from strategies import preset_rules

from rs_env import Game, Rules
from rs_env.arena import duel, play_games
from rs_env.arena.players import agent_seed
from rs_env.arena.statistics import share_bounds
from rs_env.baselines import AGENTS, make_agent
from rs_env.engine.view import VIEW

CASES = [pytest.param(rules, id=f"{name}-{rules.num_players}") for name, rules in preset_rules()]
NAMES = ["random", "heuristic"]


def turns(rules: Rules, most: int = 20) -> list[Game]:
    """Positions of random games in which somebody is to act."""
    games = positions(rules, 3, most) + positions(replace(rules, max_actions=15), 4, most // 2)
    return [game for game in games if not game.is_over]


def views_of(games: list[Game]) -> np.ndarray:
    """What the seat to act may know, in each game."""
    return np.array([game.view(game.turn) for game in games], VIEW)  # type: ignore[arg-type]


class Lowest:
    """Takes the legal action of the lowest number: plain enough to be told from its views alone."""

    name = "lowest"

    def reset(self, seed: int | None) -> None:
        """Nothing is drawn."""

    def act(self, views: np.ndarray) -> np.ndarray:
        """The lowest bit of each set of legal actions."""
        return np.array([(legal & -legal).bit_length() - 1 for legal in views["legal"].tolist()])


class Wrong(Lowest):
    """Hands out legal actions only after something has been done to them."""

    name = "wrong"

    def __init__(self, distort: Callable[[np.ndarray], np.ndarray]) -> None:
        self.distort = distort

    def act(self, views: np.ndarray) -> np.ndarray:
        """Distorted actions."""
        return self.distort(super().act(views))


# Agents


@pytest.mark.parametrize("name", NAMES)
def test_agents_are_made_by_name(name: str) -> None:
    assert make_agent(name).name == name
    assert make_agent(name + ":").name == name


@pytest.mark.parametrize("text", ["", "Random", "randomly", "pi mc"])
def test_unknown_agents_are_refused_with_the_known_names(text: str) -> None:
    with pytest.raises(ValueError, match=f"agent '{text}' is not known") as refused:
        make_agent(text)
    assert all(repr(name) in str(refused.value) for name in AGENTS)


@pytest.mark.parametrize("text", ["random:depth=2", "heuristic:x", "random:=1"])
def test_unknown_options_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"option '{text.partition(':')[2]}' is not allowed"):
        make_agent(text)


@pytest.mark.parametrize("name", NAMES)
def test_actions_depend_on_seed_and_view_alone(name: str) -> None:
    views = views_of(turns(Rules(), 60))
    agent, other = make_agent(name), make_agent(name)
    agent.reset(5)
    first = agent.act(views).tolist()
    assert agent.act(views).tolist() == first
    assert agent.act(views[::-1]).tolist() == first[::-1]
    other.reset(5)
    assert [int(other.act(view)[0]) for view in views] == first


def test_random_draws_change_with_the_seed() -> None:
    views = views_of(turns(Rules(), 60))
    agent = make_agent("random")
    actions = set()
    for seed in (5, 6, 7):
        agent.reset(seed)
        actions.add(tuple(agent.act(views).tolist()))
    assert len(actions) == 3


def test_random_agent_is_uniform_over_seeds_for_one_view() -> None:
    game, agent = Game(seed=1), make_agent("random")
    view = views_of([game])
    actions = []
    for seed in range(4000):
        agent.reset(seed)
        actions.append(int(agent.act(view)[0]))
    assert_uniform(np.bincount(actions, minlength=53)[game.legal_actions()], 4000)


def test_random_agent_is_uniform_over_views_for_one_seed() -> None:
    games = [Game(seed=seed) for seed in range(2000)]
    actions = make_agent("random").act(views_of(games))
    places = [game.legal_actions().index(action) for game, action in zip(games, actions, strict=True)]
    assert_uniform(np.bincount(places, minlength=8), 2000)


def assert_uniform(counts: np.ndarray, total: int) -> None:
    assert counts.shape == (8,)
    assert counts.sum() == total
    expected = total / 8
    assert (
        (counts - expected) ** 2 / expected
    ).sum() < 24.3  # exceeded by chance once in a thousand seeds, at 7 degrees of freedom


def test_a_single_view_is_taken() -> None:
    game = Game()
    assert make_agent("heuristic").act(game.view(game.turn)).shape == (1,)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_views_of_idle_seats_are_refused(name: str) -> None:
    game = Game(dealer=3)
    over = positions(Rules(), 0, 0)[-1]
    for idle in (game.view(2), over.view(0)):
        views = np.array([game.view(0), idle], VIEW)
        with pytest.raises(ValueError, match=rf"views\[1\]: seat {idle['seat']} "):
            make_agent(name).act(views)


@pytest.mark.parametrize(
    "views", [np.zeros(3), np.zeros((1, 1), VIEW), [1, 2], None], ids=["float", "matrix", "list", "None"]
)
def test_what_are_no_views_is_refused(views: Any) -> None:
    with pytest.raises(ValueError, match="views"):
        make_agent("random").act(views)


# Duels


def test_heuristic_beats_random() -> None:
    result = duel("heuristic", "random", deals=300)
    assert (result.agent, result.opponent, result.games, result.parity) == ("heuristic", "random", 1200, 0.25)
    assert result.win_share - result.interval > 0.35


def test_identical_players_are_exactly_at_parity() -> None:
    result = duel("random", "random", "schweller", deals=40)
    assert result.capped == 0
    assert result.win_share == result.share == result.parity
    assert result.interval == result.share_interval == 0


def test_players_that_differ_in_their_draws_alone_are_at_parity() -> None:
    result = duel(
        "random",
        "heuristic:void=0,long=0,cheap=0,high=0,single=0,block=0,duck=0,last=0,ruff=0,silent=0",
        "schweller",
        deals=400,
    )
    assert abs(result.win_share - result.parity) < 2 * result.interval
    assert 0 < result.interval < 0.05


def test_duel_counts_as_a_count_by_hand() -> None:
    rules = Rules(num_players=3, max_actions=60)
    result = duel(Lowest(), "heuristic", rules, deals=20, seed=4)
    indices, seats = np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20)
    heuristic = make_agent("heuristic")
    heuristic.reset(agent_seed(4, "heuristic"))
    outcomes = play_games(rules, [Lowest(), heuristic], np.where(np.arange(3) == seats[:, None], 0, 1), 4, indices)
    wins = np.array([winner == seat for winner, seat in zip(outcomes.winner, seats, strict=True)]).reshape(20, 3)
    assert result.win_share == pytest.approx(wins.sum() / 60)
    assert result.bounds == pytest.approx(share_bounds(np.array(wins.mean()), wins.mean(1)).tolist())
    assert result.capped == pytest.approx(np.mean(outcomes.truncated))
    assert result.actions == pytest.approx(np.mean(outcomes.actions))


def test_duel_is_reproducible_and_changes_with_the_seed() -> None:
    results = [duel("heuristic", "random", deals=30, seed=seed) for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]


def test_duel_does_not_depend_on_how_many_games_are_played_at_once() -> None:
    rules = Rules(num_players=3, max_actions=60)
    results = [duel("heuristic", "random", rules, deals=25, games_at_once=games) for games in (1, 7, 4096)]
    assert results[0] == results[1] == results[2]
    assert results[0].interval > 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"deals": 1}, "deals=1"),
        ({"deals": 0}, "deals=0"),
        ({"agent": "nobody"}, "nobody"),
        ({"opponent": "nobody"}, "nobody"),
        ({"rules": "whist"}, "whist"),
        ({"seed": -1}, "seed"),
    ],
)
def test_duel_refuses_wrong_arguments(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        duel(**{"agent": "random", "opponent": "random", "deals": 2, **arguments})


# Games between agents


@pytest.mark.parametrize("rules", CASES)
def test_outcomes_are_those_of_single_games(rules: Rules) -> None:
    rules = replace(rules, max_actions=40)
    outcomes = play_games(rules, [Lowest()], np.zeros((4, rules.num_players), int), 8, np.array([0, 3, 3, 5]))
    for i, index in enumerate([0, 3, 3, 5]):
        game = Game(rules, seed=8, index=index)
        while not game.is_over:
            game.play(game.legal_actions()[0])
        assert outcomes.rewards[i].tolist() == game.rewards()
        assert outcomes.truncated[i] == game.truncated
        assert outcomes.actions[i] == sum(map(len, game.history))
        if rules.target is None:
            assert outcomes.winner[i] == (game.out[0] if game.out else -1)
        else:
            best = max(game.rewards())
            assert outcomes.winner[i] == (game.rewards().index(best) if best else -1)


@pytest.mark.parametrize("action", [-1, 53, 5, 52], ids=["-1", "53", "not in the deck", "pickup at a lead"])
def test_an_agent_with_an_illegal_action_is_refused(action: int) -> None:
    with pytest.raises(ValueError, match=f"agent 'wrong' chose the illegal action {action}$"):
        play_games(Rules(), [Wrong(lambda legal: np.full(len(legal), action))], np.zeros((3, 4), int), 0, np.arange(3))


@pytest.mark.parametrize(
    "distort",
    [
        lambda legal: legal[:-1],
        lambda legal: legal[:0],
        lambda legal: np.append(legal, 0),
        lambda legal: legal[:, None],
        lambda legal: legal + 0.25,
    ],
    ids=["too few", "none", "too many", "matrix", "fractions"],
)
def test_actions_of_wrong_form_are_refused(distort: Callable[[np.ndarray], np.ndarray]) -> None:
    with pytest.raises(ValueError, match="'wrong'"):
        play_games(Rules(max_actions=3), [Wrong(distort)], np.zeros((3, 4), int), 0, np.arange(3))


@pytest.mark.parametrize(
    "seating", [np.zeros((3, 3), int), np.zeros((2, 4), int), np.ones((3, 4), int), np.full((3, 4), -1)]
)
def test_wrong_seating_is_refused(seating: np.ndarray) -> None:
    with pytest.raises(ValueError, match="seating"):
        play_games(Rules(), [make_agent("random")], seating, 0, np.arange(3))
