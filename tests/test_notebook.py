"""What notebooks show of games and agents."""

from __future__ import annotations

import inspect
import random
import re
from html.parser import HTMLParser

import pytest

from rs_env import Game
from rs_env.baselines import AGENTS, OTHER_AGENTS, make_agent
from rs_env.baselines.language_model import LanguageModel
from rs_env.baselines.logits import LogitsAgent
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


def shown_agent(agent: object) -> str:
    shown = agent._repr_html_()  # type: ignore[attr-defined]
    parser = Balanced()
    parser.feed(shown)
    assert not parser.open
    return shown


@pytest.mark.parametrize("name", [*AGENTS, *OTHER_AGENTS])
def test_an_agent_shows_its_name_its_options_and_what_it_is(name: str) -> None:
    agent = make_agent(name)
    shown = shown_agent(agent)
    assert f"<b>{agent.name}</b>" in shown
    assert type(agent).__doc__.split()[0] in shown  # type: ignore[union-attr]
    makers = {**AGENTS, **OTHER_AGENTS}
    for option, parameter in inspect.signature(makers[name]).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert re.search(rf">{option}</td><td [^>]*>{re.escape(str(parameter.default))}</td>", shown), option


def test_an_agent_shows_the_options_that_it_was_made_with_and_what_it_needs() -> None:
    shown = shown_agent(make_agent("pimc:worlds=7"))
    assert re.search(r">worlds</td><td [^>]*>7</td>", shown) and "needs" not in shown
    assert "the history of the deal" in shown_agent(make_agent("adaptive"))
    assert "all hands open" in shown_agent(make_agent("sees_all"))
    network = shown_agent(make_agent("net:temperature=0.25"))
    assert "safetensors" in network and re.search(r">temperature</td><td [^>]*>0.25</td>", network)
    assert "float32" in shown_agent(LogitsAgent(lambda rows, masks: masks, "mine"))


def test_what_an_agent_shows_is_text_and_no_secret() -> None:
    shown = shown_agent(LanguageModel("<script>", key="hunter2"))
    assert "&lt;script&gt;" in shown and "<script>" not in shown
    assert "hunter2" not in shown and "http://localhost:8000/v1" in shown
