"""Views in words, what answers in words name, and language models as players, asked at a stub on this machine."""

from __future__ import annotations

import importlib.util
import random
import re
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from rs_env import Game, Rules, belief
from rs_env.baselines.language_model import LanguageModel
from rs_env.baselines.logits import LogitsAgent
from rs_env.cards import PICKUP, action_text, cards_text
from rs_env.describe import describe, describe_rules, parse_action, rule_sentences
from rs_env.testing import check_agent

RUN = Path(__file__).parents[1] / "examples" / "language_model" / "run.py"


def random_games(rules: Rules, seed: int, actions: int) -> Game:
    game, rng = Game(rules, seed=seed), random.Random(seed)
    while not game.is_over and game.num_actions < actions:
        game.play(rng.choice(game.legal_actions()))
    return game


@pytest.mark.parametrize("preset", ["rolling_stone", "schweller"])
def test_the_text_tells_what_the_seat_knows_and_no_more(preset: str) -> None:
    for seed in range(10):
        game = random_games(Rules.preset(preset), seed, 5 + 3 * seed)
        if game.is_over:
            continue
        seat = game.turn
        text = describe(game.view(seat))
        assert f"You are seat {seat} of 4." in text
        hand = next(line for line in text.splitlines() if line.startswith("Your hand"))
        assert re.findall(r"[2-9TJQKA][cdhs]", hand) == cards_text(game.hands[seat]).split()
        assert f"Legal actions: {' '.join(map(action_text, game.legal_actions()))}." in text
        for other in set(range(4)) - {seat}:
            line = next(line for line in text.splitlines() if line.startswith(f"Seat {other}"))
            assert re.findall(r"[2-9TJQKA][cdhs]", line) == cards_text(game.known[other]).split()


def test_no_text_changes_with_the_hidden_cards() -> None:
    game = random_games(Rules(), 3, 12)
    seat = game.turn
    text = describe(game.view(seat))
    for state in belief.sample(game.view(seat), 5, 0):
        other = Game.of_state(game.rules, state)
        assert other.hands != game.hands or belief.count(game.view(seat)) == 1
        assert describe(other.view(seat)) == text
    assert describe(game.view((seat + 1) % 4)) != text


def test_every_option_of_the_rules_is_told() -> None:
    plain = describe_rules(Game().view(0))
    for options in (
        {"going_out": "immediate"}, {"broken_exit": "void"}, {"play_on": True}, {"lead_after_pickup": "other_suit"},
        {"trump": "hearts"}, {"trump": "hearts", "trump_play": "anytime"}, {"silent_catch": 0.5}, {"scoring": "places"},
        {"scoring": "cards"}, {"scoring": "parlett"}, {"target": 3}, {"max_actions": 77}, {"num_players": 3},
    ):  # fmt: skip
        assert describe_rules(Game(**options).view(0)) != plain, options
    silent = [told for told in rule_sentences(Game(silent_catch=0.5).view(0)) if "silently" in told]
    assert len(silent) == 1 and silent[0].startswith("A player who cannot follow")


def test_a_match_and_a_bar_and_a_trump_stand_in_the_text() -> None:
    game = Game(target=3, trump="last_dealt", seed=2)
    assert "Totals: seat 0 0" in describe(game.view(0)) and "Trump: " in describe(game.view(0))


def view_with(*legal: str) -> np.void:
    """The view of a leader with these cards, which are all legal."""
    game = Game(num_players=2, seed=1, dealer=1)
    view = game.view(0).copy()
    bits = sum(1 << action for action in map(number, legal))
    view["legal"] = bits
    return view


def number(text: str) -> int:
    from rs_env.cards import parse_action as card

    return card(text)


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("7c", "7c"),
        (" 7C.\n", "7c"),
        ("as", "As"),
        ("I play **7c**", "7c"),
        ("10♠ is too high, so the seven of clubs", "7c"),
        ("Not the 7c: the Ace of Spades!", "As"),
        ("10s", "Ts"),
        ("10 of spades", "Ts"),
        ("My options are 7c, As and Ts. Final answer: Ts", "Ts"),
        ("As it is low, I take 7c as my lead", "7c"),
        ("A♠", "As"),
    ],
)
def test_answers_name_actions(answer: str, action: str) -> None:
    assert parse_action(answer, view_with("7c", "As", "Ts")) == number(action)


@pytest.mark.parametrize("answer", ["pickup", "Pick up", "I pick up the trick", "I am picking up."])
def test_answers_name_the_pickup(answer: str) -> None:
    assert parse_action(answer, view_with("pickup")) == PICKUP


@pytest.mark.parametrize("answer", ["", "I pass", "as good as it gets", "8c", "7c, no: 8c", "pickup", "17c", "7cd"])
def test_answers_without_a_legal_action_are_refused_with_what_is_allowed(answer: str) -> None:
    with pytest.raises(ValueError, match="allowed are 7c As"):
        parse_action(answer, view_with("7c", "As"))


def test_an_answer_is_a_text() -> None:
    with pytest.raises(TypeError, match="must be a text"):
        parse_action(7, view_with("7c"))  # type: ignore[arg-type]


def stub():  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location("language_model_run", RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_language_model_plays_by_what_it_answers() -> None:
    game = random_games(Rules(), 1, 4)
    while len(game.legal_actions()) < 2:
        game.play(game.legal_actions()[0])
    views = np.array([game.view(game.turn)] * 25)
    with stub().stub_server() as url:
        player = LanguageModel("stub", url, parallel=1, temperature=0)
        assert (player.act(views) == game.legal_actions()[-1]).all()
        assert player.refused == 2 and player.given_up == 0 and player.asked == 27
        once = LanguageModel("stub", url, parallel=1, tries=1)
        once.reset(5)
        assert set(once.act(views)) <= set(game.legal_actions()) and once.given_up >= 2


def test_an_endpoint_that_does_not_answer_is_named() -> None:
    game = Game(seed=1)
    views = np.array([game.view(game.turn)])
    with stub().stub_server() as url:
        pass  # it is gone again
    with pytest.raises(ConnectionError, match=re.escape(f"{url}/chat/completions does not answer")):
        LanguageModel("stub", url, timeout=2).act(views)


@pytest.mark.parametrize("wrong", [{"url": "file:///etc/passwd"}, {"timeout": 0}, {"tries": 0}, {"parallel": 0}])
def test_settings_of_a_language_model_are_checked(wrong: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LanguageModel("stub", **wrong)


def test_a_function_of_logits_is_an_agent() -> None:
    check_agent(LogitsAgent(lambda rows, masks: rows[:, :53]), positions=40)
    best = LogitsAgent(lambda rows, masks: np.tile(np.arange(53.0), (len(rows), 1)), temperature=0)
    game = Game(seed=1)
    assert best.act(np.array([game.view(game.turn)])) == [game.legal_actions()[-1]]


@pytest.mark.parametrize("wrong", [np.zeros((1, 52)), np.full((1, 53), np.nan)])
def test_logits_of_no_use_are_refused(wrong: np.ndarray) -> None:
    game = Game(seed=1)
    with pytest.raises(ValueError, match="agent 'network' gave logits"):
        LogitsAgent(lambda rows, masks: wrong).act(np.array([game.view(game.turn)]))


def test_logits_may_be_as_large_as_numbers_are() -> None:
    """Where float32 would make them infinite the policy is the same as of small ones."""
    game = Game(seed=3)
    views = np.array([game.view(game.turn)])
    flat = LogitsAgent(lambda rows, masks: np.full((len(rows), 53), 1e308), temperature=0.5)
    one = LogitsAgent(lambda rows, masks: np.where(np.arange(53) == game.legal_actions()[2], 1e308, -1e308)[None])
    chosen = set()
    for seed in range(40):
        flat.reset(seed)
        one.reset(seed)
        chosen.add(int(flat.act(views)[0]))
        assert int(one.act(views)[0]) == game.legal_actions()[2]
    assert len(chosen) > 3 and chosen <= set(game.legal_actions())


@pytest.mark.parametrize("kind", [np.complex128, np.object_, np.str_])
def test_logits_are_real_numbers(kind: type) -> None:
    game = Game(seed=3)
    with pytest.raises(ValueError, match="logits"):
        LogitsAgent(lambda rows, masks: np.ones((len(rows), 53)).astype(kind)).act(np.array([game.view(game.turn)]))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"url": "http://localhost:abc/v1"}, "url="),
        ({"url": "http://local host/v1"}, "url="),
        ({"url": "http:///v1"}, "url="),
        ({"timeout": float("inf")}, "timeout="),
        ({"timeout": "5"}, "timeout="),
        ({"key": "secret\n"}, "key: it"),
    ],
)
def test_settings_of_a_language_model_are_checked_before_it_is_asked(settings: dict, told: str) -> None:
    with pytest.raises(ValueError, match=told) as refused:
        LanguageModel("stub", **settings)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("answer", [b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{", b"deep"])
def test_a_server_that_answers_something_else_is_a_connection_error(answer: bytes) -> None:
    if answer == b"deep":
        body = b"[" * 100_000
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        game = Game(seed=3)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        with pytest.raises(ConnectionError, match=re.escape(url)):
            LanguageModel("stub", url, parallel=1, timeout=5).act(np.array([game.view(game.turn)]))
        thread.join()
