"""Baseline agents see views only and act legally and reproducibly; duels measure what they say."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hidden import positions, resampled
from strategies import preset_rules

from rs_env import Game, Rules, make_agent
from rs_env.arena import duel, play_games
from rs_env.baselines import AGENTS
from rs_env.view import VIEW

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
@pytest.mark.parametrize("rules", CASES)
def test_actions_are_legal(rules: Rules, name: str) -> None:
    games = turns(rules)
    actions = make_agent(name).act(views_of(games))
    assert actions.dtype == np.int64
    assert actions.shape == (len(games),)
    assert all(action in game.legal_actions() for action, game in zip(actions, games, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_and_views_give_the_same_actions(name: str) -> None:
    views = views_of(turns(Rules(), 60))
    agent, other = make_agent(name), make_agent(name)
    agent.reset(5)
    first, second = agent.act(views), agent.act(views)
    other.reset(5)
    assert other.act(views).tolist() == first.tolist()
    assert other.act(views).tolist() == second.tolist()


def test_random_draws_change_with_the_seed_and_from_call_to_call() -> None:
    views = views_of(turns(Rules(), 60))
    agent = make_agent("random")
    agent.reset(5)
    first, second = agent.act(views), agent.act(views)
    agent.reset(6)
    assert len({tuple(actions.tolist()) for actions in (first, second, agent.act(views))}) == 3


def test_random_agent_is_uniform() -> None:
    game = Game(seed=1)
    actions = make_agent("random").act(np.repeat(views_of([game]), 4000))
    counts = np.bincount(actions, minlength=53)[game.legal_actions()]
    assert counts.sum() == 4000
    assert ((counts - 500) ** 2 / 500).sum() < 24.3  # exceeded by chance once in a thousand seeds, at 7 degrees of freedom


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rules", CASES)
def test_hidden_cards_do_not_change_the_choice(rules: Rules, name: str) -> None:
    rng = random.Random(0)
    agent = make_agent(name)
    for game in turns(rules, 6):
        choices = []
        for position in (game, resampled(game, game.turn, rng), resampled(game, game.turn, rng)):  # type: ignore[arg-type]
            agent.reset(1)
            choices.append(agent.act(views_of([position])).tolist())
        assert choices[0] == choices[1] == choices[2]


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


@pytest.mark.parametrize("views", [np.zeros(3), np.zeros((1, 1), VIEW), [1, 2], None], ids=["float", "matrix", "list", "None"])
def test_what_are_no_views_is_refused(views: Any) -> None:
    with pytest.raises(ValueError, match="views"):
        make_agent("random").act(views)


# Duels


def test_heuristic_beats_random() -> None:
    result = duel("heuristic", "random", deals=300)
    assert (result.agent, result.opponent, result.games, result.parity) == ("heuristic", "random", 1200, 0.25)
    assert result.win_share - result.interval > 0.35


def test_random_is_par_against_itself() -> None:
    result = duel("random", "random", "schweller", deals=400)
    assert abs(result.win_share - result.parity) < 2 * result.interval
    assert 0 < result.interval < 0.05


def test_duel_counts_as_a_count_by_hand() -> None:
    rules = Rules(num_players=3, max_actions=60)
    result = duel(Lowest(), "heuristic", rules, deals=20, seed=4)
    indices, seats = np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20)
    heuristic = make_agent("heuristic")
    heuristic.reset(5)
    outcomes = play_games(rules, [Lowest(), heuristic], np.where(np.arange(3) == seats[:, None], 0, 1), 4, indices)
    wins = np.array([winner == seat for winner, seat in zip(outcomes.winner, seats, strict=True)]).reshape(20, 3)
    assert result.win_share == pytest.approx(wins.sum() / 60)
    assert result.interval == pytest.approx(1.96 * np.std(wins.sum(axis=1) / 3, ddof=1) / 20**0.5, rel=1e-4)
    assert result.capped == pytest.approx(np.mean(outcomes.truncated))
    assert result.actions == pytest.approx(np.mean(outcomes.actions))


def test_duel_is_reproducible_and_changes_with_the_seed() -> None:
    results = [duel("heuristic", "random", deals=30, seed=seed) for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]


def test_duel_does_not_depend_on_how_many_games_are_played_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("rs_env.arena.duel")
    rules = Rules(num_players=3, max_actions=60)
    results = []
    for chunk in (1, 7, 4096):
        monkeypatch.setattr(module, "_CHUNK", chunk)
        results.append(duel(Lowest(), Lowest(), rules, deals=25))
    assert results[0] == results[1] == results[2]


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


@pytest.mark.parametrize("seating", [np.zeros((3, 3), int), np.zeros((2, 4), int), np.ones((3, 4), int), np.full((3, 4), -1)])
def test_wrong_seating_is_refused(seating: np.ndarray) -> None:
    with pytest.raises(ValueError, match="seating"):
        play_games(Rules(), [make_agent("random")], seating, 0, np.arange(3))
