"""What notebooks show of a game."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser

import pytest

from rs_env import Game
from rs_env.cards import action_text, suit_of
from rs_env.notebook import MOST_PAGES, game_html, slider_html


class Balanced(HTMLParser):
    """Fails where tags are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag != "input":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def played(actions: int, **options: object) -> Game:
    game, rng = Game(seed=4, **options), random.Random(4)  # type: ignore[arg-type]
    while not game.is_over and sum(map(len, game.history)) < actions:
        game.play(rng.choice(game.legal_actions()))
    return game


@pytest.mark.parametrize("options", [{}, {"target": 2, "trump": "last_dealt"}, {"num_players": 2, "silent_catch": 0.5}])
def test_a_game_shows_all_its_positions_and_the_present_one_first(options: dict) -> None:
    game = played(40, **options)
    shown = game._repr_html_()
    parser = Balanced()
    parser.feed(shown)
    assert not parser.open
    pages = shown.split('<div style="display:')[1:]
    assert len(pages) == sum(map(len, game.history)) + 1
    assert [page.startswith("block") for page in pages] == [False] * (len(pages) - 1) + [True]
    assert game_html(game) in pages[-1] and game_html(next(game.positions())) in pages[0]


def test_every_card_of_the_table_is_in_the_page_once() -> None:
    games = [played(actions) for actions in range(8, 60, 3)]
    assert any(game.trick for game in games) and any(game.dead for game in games)
    for game in games:
        cards = re.findall(r"[2-9TJQKA][♣♦♥♠]", game_html(game))
        assert sorted(cards) == sorted(action_text(card)[0] + "♣♦♥♠"[suit_of(card)] for card in game.rules.deck)


def test_positions_are_those_that_were_played() -> None:
    game, again = played(30), Game(seed=4)
    for number, position in enumerate(game.positions()):
        assert position.states.tobytes() == again.states.tobytes()
        if number < 30:
            again.play(game.history[0][number][1])
    assert position.states.tobytes() == game.states.tobytes()


def test_a_game_made_of_a_state_shows_the_present_position_alone() -> None:
    game = played(10)
    of_state = Game.of_state(game.rules, game.states[0])
    assert of_state._repr_html_() == f'<div><div style="display:block">{game_html(game)}</div></div>'
    with pytest.raises(ValueError, match="what was played before"):
        next(of_state.positions())


def test_sliders_have_a_page_at_least_and_not_too_many() -> None:
    for count in (0, MOST_PAGES + 1):
        with pytest.raises(ValueError, match="pages: "):
            slider_html(["page"] * count)
