"""Each tip of the rule-based players alone, in a position that shows what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rs_env import Game, Rules
from rs_env.baselines import make_agent
from rs_env.baselines.rule_based import RuleBasedAgent
from rs_env.baselines.tips import TIPS, weights_of
from rs_env.cards import action_text

SIX: dict[str, Any] = {"num_players": 2, "suits": 2, "ranks": 3}
# Options of the rules, deck in dealing order, dealer, actions so far, and what the tip chooses among.
LEAD = (SIX, "Qc Ac Kc Qd Ad Kd", 1, "")  # from Qc Kc Ad, the other player having Ac Qd Kd
ALL_CLUBS = "Qd Qc Kd Kc Ad Ac"  # of the player who gets the second card
SHOWN: dict[str, tuple[dict[str, Any], str, int, str, set[str]]] = {
    "void": (*LEAD, {"Qc", "Kc"}),  # of clubs one is unseen, of diamonds two are
    "long": (*LEAD, {"Qc", "Kc"}),
    "low": (*LEAD, {"Qc"}),
    "cheap": (*LEAD, {"Ad"}),
    "high": (*LEAD, {"Ad"}),
    "single": (*LEAD, {"Qc", "Kc"}),
    # Seat 0 is left with Jc and Kd, seat 2 with one card; clubs are gone.
    "block": ({"num_players": 3, "suits": 2, "ranks": 4}, "Jc Qc Kc Ac Jd Ad Kd Qd", 2, "Ac Qc Kc", {"Jc"}),
    "duck": (SIX, "Ac Qc Qd Kc Kd Ad", 0, "Ac", {"Qc"}),
    "last": (SIX, "Kc Qc Qd Ac Kd Ad", 0, "Kc", {"Ac"}),
    "dump": ({"num_players": 3, "suits": 2, "ranks": 3}, "Qc Kc Kd Qd Ac Ad", 2, "Qc", {"Ac"}),
    "ruff": ({**SIX, "trump": "clubs"}, ALL_CLUBS, 1, "Qd", {"Qc", "Kc", "Ac"}),
    "silent": ({**SIX, "silent_catch": 0.5}, ALL_CLUBS, 1, "Qd", {"Qc", "Kc", "Ac"}),
}


def chosen(tip: str, weight: float) -> set[str]:
    """What a player with this tip alone chooses among."""
    options, deck, dealer, actions, _ = SHOWN[tip]
    game = Game(Rules(**options), deck=deck, dealer=dealer)
    for action in actions.split():
        game.play(action)
    policy = RuleBasedAgent(tip, weights_of(**{tip: weight})).policy(np.array([game.view(game.turn)]))
    return {action_text(action) for action in np.flatnonzero(policy[0])}


def test_every_tip_is_shown_and_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "baselines.md").read_text(encoding="utf-8")
    assert SHOWN.keys() == set(TIPS) == {tip for tip in TIPS if f"| `{tip}`: " in page}


@pytest.mark.parametrize("tip", SHOWN)
def test_a_tip_alone_does_what_it_says(tip: str) -> None:
    assert chosen(tip, 1.0) == SHOWN[tip][-1]


@pytest.mark.parametrize("tip", SHOWN)
def test_its_weight_turns_it_round(tip: str) -> None:
    assert not chosen(tip, -1.0) & SHOWN[tip][-1]


def test_what_the_tips_add_makes_the_choice() -> None:
    game, player = Game(seed=5), make_agent("heuristic")
    while not game.is_over:
        view = np.array([game.view(game.turn)])
        values, legal = player.tip_values(view)[0], game.legal_actions()
        score = values.sum(axis=0)
        assert np.isfinite(score[legal]).all() and np.isneginf(np.delete(score, legal)).all()
        assert set(np.flatnonzero(score > score.max() - 1e-9)) == set(np.flatnonzero(player.policy(view)[0]))
        game.play(legal[0])
