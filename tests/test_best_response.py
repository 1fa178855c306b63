"""Best responses: they win, they know how the agent plays but neither its cards nor its draws, and the best of many is
not flattered."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
from hidden import positions, resampled

from rs_env import Rules
from rs_env.arena import best_response
from rs_env.arena.__main__ import main
from rs_env.arena.players import agent_seed
from rs_env.baselines import make_agent
from rs_env.solve.responder import SearchResponder

SMALL = Rules(num_players=3, max_actions=60)
QUICK: dict[str, Any] = {"worlds": 4, "horizon": 20}
RULES = {
    "default": Rules(),
    "seven": Rules(num_players=7, max_actions=100),
    "trump": Rules.preset("trump", num_players=3, max_actions=100),
    "silent": Rules.preset("silent", num_players=3, max_actions=80),
    "places": Rules.preset("places", num_players=3, max_actions=80),
    "match": Rules.preset("penalty", num_players=3, max_actions=40, max_deals=3),
    "tiny": Rules.preset("tiny"),
}


class Spy:
    """Random, and notes every seed that it or a copy of it was given."""

    name = "spy"
    seeds: list[int]
    given: list[np.ndarray]

    def __init__(self) -> None:
        self.seeds, self.given = [], []
        self.player = make_agent("random")

    def __deepcopy__(self, memo: dict) -> Spy:
        other = Spy()
        other.seeds, other.given = self.seeds, self.given
        return other

    def reset(self, seed: int) -> None:
        self.seeds.append(seed)
        self.player.reset(seed)

    def act(self, views: np.ndarray) -> np.ndarray:
        self.given.append(views.copy())
        return self.player.act(views)


class NoCopy(Spy):
    """Cannot be copied."""

    def __deepcopy__(self, memo: dict) -> Spy:
        raise TypeError("one of a kind")


def views_of(rules: Rules, seed: int, most: int = 12) -> np.ndarray:
    games = [game for game in positions(rules, seed, most) if not game.is_over and len(game.legal_actions()) > 1]
    return np.array([game.view(game.turn) for game in games])


def test_random_players_are_beaten_clearly() -> None:
    result = best_response("random", deals=60, seed=2, worlds=16)
    assert result.share - result.interval > 0.3 > result.parity == 0.25
    assert result.excess == result.share - result.parity
    assert result.duel.games == 240
    assert f"{result.share:.1%}" in str(result)
    assert "lower bound" in str(result)


def test_knowing_who_one_plays_against_is_worth_something() -> None:
    """Against a player that takes its lowest legal action the searcher wins more than one that takes it for a random
    player."""
    rules = Rules(num_players=2, max_actions=80)
    mistaken = SearchResponder("random", worlds=16)
    knowing = best_response("low", rules, deals=100, seed=3, worlds=16)
    assert knowing.share > best_response("low", rules, deals=100, seed=3, responders=[mistaken]).share + 0.05


@pytest.mark.parametrize("name", RULES)
def test_every_rule_set_can_be_played(name: str) -> None:
    result = best_response("heuristic", RULES[name], deals=2, **QUICK)
    assert result.parity == 1 / RULES[name].num_players
    assert 0 <= result.share <= 1


def test_equal_seeds_give_equal_results() -> None:
    def play(seed: int, games_at_once: int | None = None) -> Any:
        return best_response(
            "random", SMALL, deals=6, seed=seed, responders=["search", "low"], games_at_once=games_at_once, **QUICK
        )

    assert play(7) == play(7) == play(7, games_at_once=1)
    assert play(7).duel != play(8).duel


def test_choices_depend_on_seed_and_view_only() -> None:
    responder = SearchResponder("heuristic", **QUICK)
    responder.reset(5)
    views = np.concatenate([views_of(Rules(), seed) for seed in range(3)])
    together = responder.act(views)
    assert [int(responder.act(views[i : i + 1])[0]) for i in reversed(range(len(views)))] == together[::-1].tolist()
    responder.reset(6)
    assert (responder.act(views) != together).any()


@pytest.mark.parametrize("name", ["default", "silent", "match"])
def test_hidden_cards_change_nothing(name: str) -> None:
    rng = random.Random(4)
    responder = SearchResponder("heuristic", **QUICK)
    responder.reset(1)
    for game in positions(RULES[name], 11, 8):
        if not game.is_over:
            seat = game.turn
            views = np.array([game.view(seat), *(resampled(game, seat, rng).view(seat) for _ in range(3))])
            assert len(set(responder.act(views).tolist())) == 1


def test_draws_of_the_real_opponents_stay_their_own() -> None:
    """The copies in play-outs are never given the seed of those on the table, and nothing done to one reaches the
    other."""
    spy = Spy()
    best_response(spy, SMALL, deals=2, seed=9, default=None, **QUICK)
    assert spy.seeds.count(agent_seed(9, "spy")) == 1
    assert len(set(spy.seeds)) == len(spy.seeds) == 5  # two copies when made, two in the run, one on the table

    real = make_agent("random")
    views = views_of(SMALL, 5)
    choices = []
    for seed in (1, 2):
        real.reset(seed)
        responder = SearchResponder(real, **QUICK)
        responder.reset(3)
        choices.append(responder.act(views).tolist())
        assert real.seed == seed
    assert choices[0] == choices[1]


def test_frozen_agent_sees_the_rules_of_the_match_and_only_its_own_turns() -> None:
    spy = Spy()
    responder = SearchResponder(spy, default="random", noise=0.0, **QUICK)
    views = views_of(RULES["match"], 2)
    responder.act(views)
    asked = np.concatenate(spy.given)
    assert (asked["rules"] == views["rules"][0]).all()
    assert (asked["seat"] == asked["turn"]).all()
    assert np.bitwise_count(asked["legal"]).min() > 1
    assert set(asked["seat"].tolist()) <= {0, 1, 2}
    alone = SearchResponder(spy, default="random", noise=1.0, **QUICK)
    spy.given.clear()
    one = views[:1]
    alone.act(one)
    assert int(one["seat"][0]) not in np.concatenate(spy.given)["seat"]


def test_best_of_several_is_chosen_on_other_deals() -> None:
    result = best_response(
        "random", SMALL, deals=20, seed=4, responders=["random", "search", "heuristic"], selection_deals=30, **QUICK
    )
    assert [c.games for c in result.candidates] == [90] * 3
    shares = [c.share for c in result.candidates]
    assert shares == sorted(shares, reverse=True)
    assert result.duel.agent == result.candidates[0].agent != "random"
    chosen = "search" if result.duel.agent.startswith("search") else result.duel.agent
    alone = best_response("random", SMALL, deals=20, seed=4, responders=[chosen], **QUICK)
    assert alone.duel == result.duel  # the choice leaves the games of the report as they are
    assert "chosen of 3 responders on other deals (90 games each)" in str(result)
    assert best_response("random", SMALL, deals=2, **QUICK).candidates == ()


def test_responder_can_be_sent_to_processes() -> None:
    here = best_response("random", SMALL, deals=4, seed=1, **QUICK)
    assert best_response("random", SMALL, deals=4, seed=1, processes=2, **QUICK) == here


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"agent": "nobody"}, "nobody"),
        ({"agent": "sees_all"}, "sees all hands"),
        ({"agent": NoCopy()}, "agent 'spy' is not allowed: it cannot be copied (one of a kind)"),
        ({"worlds": 0}, "worlds=0"),
        ({"horizon": -1}, "horizon=-1"),
        ({"default": "nobody"}, "nobody"),
        ({"noise": 1.5}, "noise=1.5"),
        ({"noise": "x"}, "noise='x'"),
        ({"responders": []}, "responders=[]"),
        ({"responders": "search"}, "responders='search'"),
        ({"responders": ["random", "sees_all"]}, "sees all hands"),
        ({"selection_deals": 1}, "selection_deals=1"),
        ({"deals": 1}, "deals=1"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=re.escape(named)):
        best_response(**{"agent": "random", "rules": SMALL, "deals": 2, **QUICK, **arguments})


def test_views_of_several_rule_sets_are_refused() -> None:
    views = np.concatenate([views_of(SMALL, 0), views_of(Rules(), 0)])
    with pytest.raises(ValueError, match="several rule sets"):
        SearchResponder("random").act(views)


def test_impossible_views_are_refused() -> None:
    views = views_of(SMALL, 0)
    views["hand_size"][0, (views["seat"][0] + 1) % 3] += 1
    with pytest.raises(ValueError, match="no deal of the hidden cards"):
        SearchResponder("random").act(views)


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    quick = ["--players", "3", "--max-actions", "60", "--worlds", "2", "--horizon", "10"]
    command = ["best-response", "random", "--deals", "3", "--responders", "search", "low", "--selection-deals", "2"]
    assert main([*command, *quick]) == 0
    printed = capsys.readouterr().out
    assert "best response found to random" in printed
    assert "Standings" in printed
    assert main(["best-response", "nobody"]) == 2
    assert "agent 'nobody' is not known" in capsys.readouterr().err
