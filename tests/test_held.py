"""Held suits by example: what a trump played instead of following shows of the hand that it came from.

Diamonds or hearts are trump, and may be played at any time by a player who could follow; see `card_text`.
"""

from __future__ import annotations

import pytest
from card_text import go, legal, play, shown, table

from rs_env.cards import SUITS
from rs_env.game import Game
from rs_env.rules import Rules


def anytime(suits: int, ranks: int, trump: str = "diamonds", **options: object) -> Rules:
    return table(3, suits, ranks, trump=trump, trump_play="anytime", **options)


def held(game: Game) -> str:
    """Held suits of each seat, parted by slashes."""
    return " / ".join("".join(SUITS[suit] for suit in suits) or "-" for suits in game.held)


def test_a_trump_instead_of_following_shows_that_the_led_suit_is_held() -> None:
    game = play(anytime(2, 3), "Qc Kd / Kc Qd / Ac Ad", "Qc Qd")
    assert held(game) == "- / c / -"
    assert game.excluded == [[], [], []]


def test_nothing_is_held_where_trumps_are_for_the_void() -> None:
    game = play(table(3, 2, 3, trump="diamonds"), "Qc Kc / Qd Kd / Ac Ad", "Qc Qd")
    assert (held(game), game.excluded) == ("- / - / -", [[], [0], []])


def test_a_suit_is_held_no_longer_when_an_unseen_card_of_it_is_played() -> None:
    game = play(anytime(2, 3), "Qc Kd / Kc Qd / Ac Ad", "Qc Qd Ac |")
    assert held(game) == "- / c / -"
    assert held(go(game, "Kc")) == "- / - / -"


def test_following_and_leading_trumps_show_nothing() -> None:
    game = play(anytime(2, 3), "Qd Qc / Kd Kc / Ad Ac", "Qd Kd Ad | Ac")
    assert held(game) == "- / - / -"


def test_a_suit_with_a_known_card_in_hand_becomes_not_held() -> None:
    # Seat 1 picks up the queen of clubs, with which it could follow: its trump shows no other club.
    game = play(anytime(3, 3, "hearts"), "Qc Kc Qd / Kd Kh Ah / Ac Ad Qh", "Qc pickup | Kd Ad Qd | Ac Kc")
    assert (legal(game), shown(game.known)) == ("Qc Kh Ah", "- / Qc / -")
    assert held(go(game, "Kh |")) == "- / - / -"


def test_a_suit_stays_held_for_the_other_cards_that_are_played() -> None:
    # Clubs are held until the club comes, while diamonds are led, followed and trumped.
    game = play(anytime(3, 4, "hearts"), "Qc Qd Jc Jh / Kc Kd Qh Kh / Ac Ad Jd Ah", "Qc Qh Ah |")
    assert held(game) == "- / c / c"
    assert held(go(game, "Jd Qd Kh |")) == "- / cd / c"
    assert held(go(game, "Kd Ad")) == "- / c / c"
    assert held(go(game, "pickup | Jh")) == "- / c / c"


def test_a_suit_is_held_again_when_it_is_trumped_again() -> None:
    game = play(anytime(2, 7), "8c 9c Ac 8d 9d / Qc Kc Jd Qd Kd / Tc Jc Td Ad", "8c Qd Jc | Qc Tc Ac | 9c")
    assert held(game) == "- / - / -"
    assert held(go(game, "Kd")) == "- / c / -"


@pytest.mark.parametrize("broken_exit", ["leaver", "void"])
def test_a_last_card_that_comes_back_is_known_and_not_held(broken_exit: str) -> None:
    game = play(anytime(2, 3, broken_exit=broken_exit), "Qc Kd / Kc Qd / Ac Ad", "Qc Qd Ac | Kc pickup |")
    assert (held(game), shown(game.known), game.turn) == ("- / - / -", "- / Kc / -", 2)


def test_a_player_who_is_out_holds_nothing() -> None:
    game = play(anytime(2, 3, going_out="immediate", play_on=True), "Qc Kd / Kc Qd / Ac Ad", "Qc Qd Ac | Kc")
    assert (held(game), game.out) == ("- / - / -", [1])


def test_held_suits_start_afresh_with_each_deal() -> None:
    rules = anytime(2, 3, scoring="cards", target=100, max_actions=3)
    game = play(rules, "Qc Kd / Kc Qd / Ac Ad", "Qc Qd")
    assert held(game) == "- / c / -"
    go(game, "Ac")
    assert (game.deals_done, held(game)) == (1, "- / - / -")
