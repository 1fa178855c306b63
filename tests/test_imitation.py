"""Types fitted to agents: what rule-based players do is found again, and others are told apart by it."""

from __future__ import annotations

import numpy as np
import pytest

from rs_env import Game, belief, make_agent
from rs_env.arena import fit_type
from rs_env.baselines.models import TYPES, OpponentModel, PlayerType
from rs_env.baselines.rule_based import RuleBasedAgent


def agreement(kind: PlayerType, name: str, games: int) -> float:
    """How often the type's own choice is what the named player does, on games that the fit has not seen."""
    player, copy = make_agent(name), RuleBasedAgent("copy", kind.weights)
    same = []
    for number in range(games):
        game = Game(seed=900 + number)
        while not game.is_over:
            view = game.view(game.turn)
            action = int(player.act(view)[0])
            if len(game.legal_actions()) > 1:
                same.append(int(copy.act(view)[0]) == action)
            game.play(action)
    return float(np.mean(same))


@pytest.mark.parametrize("name", ["low", "dumper"])
def test_what_a_rule_based_player_does_is_found_again(name: str) -> None:
    kind = fit_type(name, deals=20, seed=3)
    assert kind.noise < 0.05
    assert agreement(kind, name, 10) > 0.9 > agreement(PlayerType("random", 1.0), name, 10)


def test_a_player_at_random_is_one_of_noise_alone() -> None:
    assert fit_type("random", deals=30).noise > 0.85


def test_a_searching_player_is_told_from_others_by_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its type is likelier than that of a player at random and of a rule for most who do search."""
    kind = fit_type("expert:worlds=8", deals=15, play_outs=PlayerType("heuristic", 0.1), common=2.0)
    assert kind.common == 2.0 and kind.play_outs == PlayerType("heuristic", 0.1)
    monkeypatch.setitem(TYPES, "fitted", kind)
    model = OpponentModel(["random", "low", "dumper", "fitted"])
    searcher, votes = make_agent("expert:worlds=8"), []
    for seed in range(6):
        game = Game(seed=seed)
        while not game.is_over and game.num_actions < 60:
            game.play(searcher.act(game.view(game.turn))[0])
        if not game.is_over:
            weighed = belief.weigh(game.view(0), game.events, model, k=50, rng=0)
            votes += [model.names[kinds.argmax()] for kinds in weighed.types[1:]]
    assert len(votes) >= 6 and votes.count("fitted") > 0.6 * len(votes)


def test_the_agent_is_asked_with_histories_where_it_wants_them() -> None:
    assert isinstance(fit_type("adaptive:worlds=2,iterations=4", ["random"], deals=1), PlayerType)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"deals": 0}, "deals"),
        ({"opponents": "random"}, "opponents"),
        ({"opponents": []}, "opponents"),
        ({"rules": "bridge"}, "preset"),
        ({"common": 0.0, "deals": 1}, "common"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_is_refused(arguments: dict, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        fit_type("low", **arguments)


def test_the_last_seed_is_a_seed() -> None:
    assert isinstance(fit_type("low", ["random"], deals=1, seed=(1 << 64) - 1), PlayerType)


@pytest.mark.parametrize(
    ("player", "play_outs", "told"),
    [
        (5, None, "player=5"),
        ([], None, "player"),
        ((("void", "x"),), None, "void.*'x'"),
        ((("void", 1.0), ("void", 2.0)), None, "each once"),
        ((("void", float("nan")),), None, "finite"),
        ("low", "heuristic", "play_outs='heuristic'"),
    ],
)
def test_what_is_no_type(player: object, play_outs: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        PlayerType(player, 0.5, play_outs)  # type: ignore[arg-type]
