"""The search guided by networks: its play-outs against plain Python, what it depends on, and what it asks."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hidden import positions, resampled
from networks import write_network

import rs_env.baselines.guided as guided
from rs_env import Game, Rules, belief
from rs_env.agent import draws_by_seed, is_own
from rs_env.arena import duel
from rs_env.baselines import make_agent, network_players
from rs_env.baselines.checkpoints import read_network
from rs_env.baselines.networks import Network
from rs_env.engine.observation import observation_spec
from rs_env.engine.view import VIEW
from rs_env.scorings import SCORINGS
from rs_env.testing import check_agent

QUICK = "worlds=3,horizon=4"


def choices(rules: Rules, count: int = 30) -> list[Game]:
    """Positions of random games in which somebody has a choice."""
    return [game for game in positions(rules, 5, count) if len(game.legal_actions()) > 1]


def views_of(games: list[Game]) -> np.ndarray:
    """What the seat to act may know, in each game."""
    return np.array([game.view(game.turn) for game in games], VIEW)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network for four players."""
    return write_network(tmp_path_factory.mktemp("run") / "checkpoint.safetensors")


@pytest.fixture(scope="module")
def network(file: Path) -> Network:
    """The same, read."""
    return read_network(file)


def searcher(file: Path, options: str = QUICK) -> Any:
    return make_agent(f"search:checkpoint={file},{options}")


# What holds for all players


def test_it_plays_as_any_agent_must(file: Path) -> None:
    agent = searcher(file)
    assert draws_by_seed(agent) and is_own(agent)
    check_agent(agent, positions=40)


def test_choices_depend_on_seed_and_view_alone(file: Path) -> None:
    views = views_of(choices(Rules()))
    agent, other = searcher(file, "worlds=3,horizon=20"), searcher(file, "worlds=3,horizon=20")
    agent.reset(5)
    first = agent.act(views).tolist()
    assert agent.act(views[::-1]).tolist() == first[::-1]
    other.reset(5)
    assert [int(other.act(view)[0]) for view in views] == first
    other.reset(6)
    assert other.act(views).tolist() != first


def test_hidden_cards_change_nothing(file: Path) -> None:
    agent = searcher(file)
    for game in choices(Rules(), 12):
        action = agent.act(views_of([game])).tolist()
        assert agent.act(views_of([resampled(game, game.turn, random.Random(0))])).tolist() == action


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("target", [None, 20])
def test_any_scoring_is_played(tmp_path: Path, scoring: str, target: float | None) -> None:
    rules = Rules(num_players=3, scoring=scoring, target=target)
    views = views_of(choices(rules, 8))
    agent = searcher(write_network(tmp_path / "x", rules), "worlds=2,horizon=1")
    assert all(
        int(legal) >> action & 1 for legal, action in zip(views["legal"], agent.act(views).tolist(), strict=True)
    )


# Play-outs


def play_outs(network: Network, game: Game, actions: list[int], worlds: int, how: tuple[int, float]) -> np.ndarray:
    """The utilities (worlds, actions) for the seat to act. how: horizon and temperature."""
    count, (horizon, temperature) = worlds * len(actions), how
    outs, rows = guided.new_side_by_side(count), np.zeros((count, observation_spec(4).size), np.int8)
    assert guided.begin(views_of([game]), np.zeros(1, np.uint64), np.array(actions), worlds, outs)
    while (shown := guided.show(outs, count, game.turn, horizon, rows)) > 0:
        guided.go_on(outs, shown, *network.evaluate(rows[:shown]), temperature)
    assert (outs.stage == guided.OVER).all()
    return outs.worth.reshape(worlds, len(actions))


def test_at_the_end_the_utility_counts_and_at_the_horizon_the_value(network: Network) -> None:
    """In one world of a view in which all cards are known, step by step in plain Python."""
    checked = ended = 0
    for game in choices(Rules(), 400):
        if belief.count(game.view(game.turn)) != 1:
            continue
        seat, worth = game.turn, play_outs(network, game, game.legal_actions(), 1, (0, 1e-6))[0]
        for action, found in zip(game.legal_actions(), worth, strict=True):
            trial, taken = game.clone(), 1
            trial.play(action)
            while not trial.is_over:
                options = trial.legal_actions()
                if len(options) > 1 and (trial.turn == seat or taken >= guided.LONGEST):
                    break
                observation = np.zeros(observation_spec(4).size, np.int8)
                trial.observe_into(trial.turn, observation, np.zeros(53, np.int8))
                logits, _ = network.evaluate(observation[None])
                trial.play(options[int(logits[0, options].argmax())])  # at this temperature the likeliest
                taken += 1
            if trial.is_over:
                expected = float(trial.rewards()[seat])
                ended += 1
            else:
                observation = np.zeros(observation_spec(4).size, np.int8)
                trial.observe_into(seat, observation, np.zeros(53, np.int8))
                expected = float(np.clip(network.evaluate(observation[None])[1][0], 0.0, 1.0))
            assert found == pytest.approx(expected * guided.PATIENCE**taken, abs=1e-5)
            checked += 1
    assert checked > 20 and 0 < ended < checked


def test_rows_are_for_the_seat_that_moves_or_at_the_horizon_for_the_one_that_searches(network: Network) -> None:
    """So each shows the hand of that seat: the suspicions of the searching seat stand in its own rows alone."""
    game = next(game for game in choices(Rules()) if len(game.legal_actions()) == 2)
    outs, rows = guided.new_side_by_side(20), np.zeros((20, observation_spec(4).size), np.int8)
    assert guided.begin(views_of([game]), np.zeros(1, np.uint64), np.array(game.legal_actions()), 10, outs)
    seen, ended = set(), 0
    while (shown := guided.show(outs, 20, game.turn, 6, rows)) > 0:
        for row, i, viewer in zip(rows, outs.shown, guided.viewers(outs, shown, game.turn).tolist(), strict=False):
            cards = np.flatnonzero(row[observation_spec(4)["hand"]])
            assert sum(1 << int(card) for card in cards) == int(outs.states[i]["hand"][viewer])
            ended += outs.stage[i] == guided.ENDING
            seen.add(viewer)
        guided.go_on(outs, shown, *network.evaluate(rows[:shown]), 1.0)
    assert seen == {0, 1, 2, 3} and ended


def test_equal_branches_of_a_world_meet_the_same_draws(network: Network) -> None:
    """An action tried twice gives the same utility in each world, and worlds differ."""
    game = choices(Rules(), 5)[0]
    worth = play_outs(network, game, [game.legal_actions()[0]] * 2, 10, (12, 1.0))
    assert (worth[:, 0] == worth[:, 1]).all()
    assert len(np.unique(worth[:, 0])) > 1


def test_play_outs_end_beyond_the_horizon_whoever_is_to_act(network: Network) -> None:
    """Seen by a seat that is out of the game, which never has a decision again."""
    rules = Rules(going_out="immediate", play_on=True)
    games = [game for seed in range(20) for game in positions(rules, seed, 100) if len(game.legal_actions()) > 1]
    seen = 0
    for game, out in [(game, seat) for game in games for seat in range(4) if not game.hands[seat]][:20]:
        outs = guided.new_side_by_side(1)
        assert guided.begin(views_of([game]), np.zeros(1, np.uint64), np.array(game.legal_actions()[:1]), 1, outs)
        rows = np.zeros((1, observation_spec(4).size), np.int8)
        while guided.show(outs, 1, out, 0, rows) > 0:
            guided.go_on(outs, 1, *network.evaluate(rows), 1.0)
            seen += 1
        assert outs.stage[0] == guided.OVER
        assert outs.taken[0] < guided.LONGEST + 20  # and forced actions
    assert seen > 20


# The prior


def test_with_a_heavy_prior_it_takes_the_likeliest_action(file: Path) -> None:
    views = views_of(choices(Rules()))
    likeliest = make_agent(f"checkpoint:{file},temperature=0").act(views).tolist()
    assert searcher(file, QUICK + ",prior=1000").act(views).tolist() == likeliest
    assert searcher(file, QUICK + ",least=1").act(views).tolist() == likeliest
    assert searcher(file, QUICK + ",prior=0,least=0").act(views).tolist() != likeliest


# Wherever agents play


def test_it_plays_a_duel(file: Path) -> None:
    assert duel(searcher(file, "worlds=1,horizon=0"), "random", deals=2).games == 8


def test_the_networks_of_the_package_guide_it_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_network(tmp_path / "schweller-4.safetensors", "schweller")
    monkeypatch.setattr(network_players, "PRETRAINED", tmp_path)
    views = views_of(choices(Rules.preset("schweller"), 10))
    assert make_agent(f"search:{QUICK}").act(views).tolist() == searcher(path).act(views).tolist()
    with pytest.raises(ValueError, match="there is no pretrained network for these rules"):
        make_agent("search").act(views_of(choices(Rules(), 5)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("worlds=0", "worlds=0 is not allowed"),
        ("horizon=-1", "horizon=-1 is not allowed"),
        ("temperature=0", "temperature=0.0 is not allowed: it must be finite and at least 0.001"),
        ("prior=-1", r"prior=-1.0 is not allowed: it must be a number in 0..1000"),
        ("least=2", r"least=2.0 is not allowed: it must be a number in 0..1"),
    ],
)
def test_options_are_checked(file: Path, options: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        searcher(file, options)


def test_an_impossible_view_is_refused(file: Path) -> None:
    views = views_of(choices(Rules(), 5))[:2]
    views["hand_size"][1, 0] += 1
    with pytest.raises(ValueError, match=r"views\[1\]: no deal of the hidden cards agrees with it"):
        searcher(file, QUICK + ",least=0").act(views)
