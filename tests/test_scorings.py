"""A new scoring is one row of a table: rules, scores, matches, searches, the arena and the documentation find it."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from rs_env import Game, Rules, make_agent, replay
from rs_env.arena import play_games
from rs_env.cards import action_text, cards_text, rank_of
from rs_env.scorings import SCORINGS, Basis, Scoring, ScoringName, table

PIPS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 1)
NEW = {
    "burden": Scoring("pips of the cards in hand, penalty", Basis.OWN_HAND, low_is_good=True, card_values=PIPS),
    "hoard": Scoring("pips of the cards in hand, a gain", Basis.OWN_HAND, card_values=PIPS),
    "aces": Scoring("the winner gets 3 for each ace in the hands", Basis.ALL_HANDS, card_values=(*[1] * 12, 3)),
}


@pytest.fixture(autouse=True)
def with_new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, scoring in NEW.items():
        monkeypatch.setitem(SCORINGS, name, scoring)


def played_out(rules: Rules, seed: int) -> Game:
    game = Game(rules, seed)
    player = make_agent("heuristic")
    while not game.is_over:
        game.play(player.act(np.array([game.view(game.turn)]))[0])
    return game


def test_names_for_editors_are_those_of_the_table() -> None:
    assert get_args(ScoringName) == tuple(name for name in SCORINGS if name not in NEW)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", NEW)
def test_scores_follow_from_the_row(name: str, seed: int) -> None:
    game = played_out(Rules(scoring=name, max_actions=60), seed)
    values = [sum(NEW[name].card_values[rank_of(card)] for card in hand) for hand in game.hands]
    if name == "aces":
        winner = game.out[0] if game.out else None
        values = [sum(values) if seat == winner else 0 for seat in range(4)]
    assert game.scores() == values
    assert game.rewards() == [-value if name == "burden" else value for value in values]
    assert replay(game.record()).scores() == game.scores()


def test_direction_decides_matches_and_places() -> None:
    for name, best in (("burden", min), ("hoard", max)):
        rules = Rules(scoring=name, target=200, max_actions=40)
        game = played_out(rules, 3)
        totals = game.scores()
        assert max(totals) >= 200 and game.terminated
        assert [reward > 0 for reward in game.rewards()] == [total == best(totals) for total in totals]
        outcome = play_games(rules, [make_agent("random")], np.zeros((6, 4), np.int64), 1, np.arange(6))
        totals = outcome.states["totals"][:, :4]
        assert (outcome.places.argmin(1) == (totals.argmin(1) if best is min else totals.argmax(1))).all()


def test_search_wants_what_the_row_pays() -> None:
    """One action is left: a player with a jack, a king and an ace gets rid of what counts most, or least."""
    rules = {name: Rules(num_players=2, suits=2, ranks=4, hand_size=3, max_actions=1, scoring=name) for name in NEW}
    assert cards_text(rules["burden"].deck) == "Qc Kc Ac Qd Kd Ad"
    for name, card in (("burden", {"Qc", "Kc"}), ("hoard", {"Ad"})):
        game = Game(rules[name], dealer=1, deck="Qc Qd Kc Kd Ad Ac")
        for agent in ("pimc:worlds=8", "ismcts:iterations=60"):
            action = int(make_agent(agent).act(np.array([game.view(0)]))[0])
            assert action_text(action) in card


def test_documentation_has_the_row() -> None:
    assert "| `burden` | pips of the cards in hand, penalty | low |" in table()
    assert "| `hoard` | pips of the cards in hand, a gain | high |" in table()


@pytest.mark.parametrize("values", [(1,) * 12, (1,) * 14, (0, *[1] * 12), (200, *[1] * 12), (1.5, *[1] * 12)])
def test_card_values_that_compiled_rules_cannot_hold_are_refused(values: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="card_values"):
        Scoring("", Basis.OWN_HAND, card_values=values)
