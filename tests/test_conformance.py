"""Recorded deals, played again: every turn, legal set and state must be as recorded.

``data/traces.jsonl``, ``data/steps.jsonl`` and ``data/held.jsonl`` hold one deal or match a line: ``rules`` (what
differs from the defaults), ``dealer`` and ``decks``, ``steps`` as [seat to act, its legal actions, the action taken],
the result, and the state after the last step (``end``), but in the first file after each (``after``). A state's trick
is in order of play, all other cards by id. The third file is of trumps at any time; only its states say what is held.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from reference import ReferenceGame

from rs_env.cards import SUITS, cards_text, parse_action, parse_cards
from rs_env.game import Game
from rs_env.rules import Rules

Recorded = dict[str, Any]
AnyGame = Game | ReferenceGame

DATA = Path(__file__).parent / "data"


def recorded_deals() -> list[Any]:
    """Every recorded deal as a pytest parameter, named by its file and line."""
    deals = []
    for name, count in (("traces", 150), ("steps", 60), ("held", 24)):
        lines = (DATA / f"{name}.jsonl").read_text(encoding="ascii").splitlines()
        assert len(lines) == count
        deals += [pytest.param(json.loads(line), id=f"{name}-{number}") for number, line in enumerate(lines, 1)]
    return deals


DEALS = recorded_deals()


@pytest.mark.parametrize("deal", DEALS)
def test_game_plays_as_recorded(deal: Recorded) -> None:
    game = Game(Rules(**deal["rules"]), deck=deal["decks"], dealer=deal["dealer"])
    check_replay(deal, game, game.play)


@pytest.mark.parametrize("deal", DEALS)
def test_reference_plays_as_recorded(deal: Recorded) -> None:
    game = ReferenceGame(Rules(**deal["rules"]), [parse_cards(deck) for deck in deal["decks"]], deal["dealer"])
    check_replay(deal, game, game.play)


def check_replay(deal: Recorded, game: AnyGame, play: Callable[[int], Any]) -> None:
    """Play the recorded actions with `play`, which must move `game`, and compare `game` with the record all the way."""
    steps = [(seat, legal, parse_action(action)) for seat, legal, action in deal["steps"]]
    for number, (seat, legal, action) in enumerate(steps):
        where = f"before step {number}"
        assert not game.is_over, where
        assert game.turn == seat, where
        assert cards_text(game.legal_actions()) == legal, where
        assert game.rewards() == [0.0] * game.num_players, where
        play(action)
        table = plays_of(game)
        assert table == [(s, a) for s, _, a in steps[number + 1 - len(table) : number + 1]], f"after step {number}"
        if "after" in deal:
            assert state_text(game, deal["end"]) == deal["after"][number], f"after step {number}"
    check_end(deal, game)


def check_end(deal: Recorded, game: AnyGame) -> None:
    """The game must be over, with the recorded result."""
    assert game.is_over
    assert game.turn is None
    assert game.legal_actions() == []
    assert state_text(game, deal["end"]) == deal["end"]
    assert game.truncated == deal["truncated"]
    assert game.out == deal["out"]
    assert game.scores() == pytest.approx(deal["scores"], abs=1e-9)
    assert game.rewards() == pytest.approx(deal["rewards"], abs=1e-9)
    if game.rules.target is not None:
        assert game.deals_done == len(deal["decks"])


def plays_of(game: AnyGame) -> list[tuple[int, int]]:
    """(seat, card) of the trick, in order of play."""
    return game.trick if isinstance(game, ReferenceGame) else game.trick_plays


def state_text(game: AnyGame, names: Iterable[str]) -> dict[str, Any]:
    """The whole state as it stands in the records that have these names in them."""
    state = {
        "hands": [cards_text(hand) for hand in game.hands],
        "known": [cards_text(cards) for cards in game.known],
        "excluded": ["".join(SUITS[suit] for suit in suits) for suits in game.excluded],
        "held": ["".join(SUITS[suit] for suit in suits) for suits in game.held],
        "dead": cards_text(sorted(game.dead)),
        "trick": cards_text(card for _, card in plays_of(game)),
        "trump": None if game.trump is None else SUITS[game.trump],
    }
    return {name: state[name] for name in names}
