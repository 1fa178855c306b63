"""Games in card text small enough to check by hand.

``play(rules, "Kc Kd / Ac / Ad", "Kc Ac")``: the hands of seats 0, 1, 2 are parted by slashes, and seat 0 leads unless
another seat is named. A bar in the moves says that the trick is over.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from rs_env.cards import cards_text
from rs_env.game import Game, IllegalActionError
from rs_env.rules import Rules


def table(num_players: int, suits: int, ranks: int, **options: Any) -> Rules:
    """The `ranks` highest of the first `suits` suits, all dealt."""
    return Rules(num_players=num_players, suits=suits, ranks=ranks, **options)


def deck_of(hands: str, first: int = 0) -> str:
    """The deck, in dealing order, that gives the seats these hands when seat `first` gets the first card."""
    dealt = [hand.split() for hand in hands.split("/")]
    rounds = zip_longest(*dealt[first:], *dealt[:first], fillvalue="")
    return " ".join(card for cards in rounds for card in cards if card)


def play(rules: Rules, hands: str, moves: str = "", first: int = 0, seed: int = 0) -> Game:
    """The game of these hands after these moves, the first by seat `first`."""
    return go(Game(rules, seed, deck=deck_of(hands, first), dealer=(first - 1) % rules.num_players), moves)


def go(game: Game, moves: str) -> Game:
    """The game after some more moves."""
    for move in moves.split():
        if move == "|":
            assert game.trick == []
        else:
            game.play(move)
    return game


def shown(sets: Iterable[Iterable[int]]) -> str:
    """Cards of each seat, parted by slashes."""
    return " / ".join(cards_text(cards) or "-" for cards in sets)


def legal(game: Game) -> str:
    return cards_text(game.legal_actions())


def refuses(game: Game, action: str) -> bool:
    try:
        game.play(action)
    except IllegalActionError:
        return True
    return False
