"""Every position of the `tiny` preset (two players, Q K A of two suits, immediate exit), against a second model of that
game."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations
from typing import NamedTuple

import pytest

from rs_env.cards import action_text
from rs_env.game import Game
from rs_env.rules import Rules

CARDS = ("Qc", "Kc", "Ac", "Qd", "Kd", "Ad")


class Position(NamedTuple):
    """hands: cards of both seats. table: cards played to the trick, in order. turn: seat to act, None at the end;
    winner."""

    hands: tuple[frozenset[str], frozenset[str]]
    table: tuple[str, ...]
    turn: int | None
    winner: int | None


def after(position: Position) -> Iterator[Position]:
    """The model: each position that one legal action leads to."""
    if position.turn is None:
        return
    me, other = position.turn, 1 - position.turn
    mine, theirs = position.hands[me], position.hands[other]

    def hands(my_new: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        return (my_new, theirs) if me == 0 else (theirs, my_new)

    playable = {card for card in mine if not position.table or card[1] == position.table[0][1]}
    if not playable:
        yield Position(hands(mine | set(position.table)), (), me, None)
    for card in playable:
        table = (*position.table, card)
        if mine == {card}:
            yield Position(hands(frozenset()), table, None, me)
        elif len(table) == 1:
            yield Position(hands(mine - {card}), table, other, None)
        else:
            i_win = "QKA".index(card[0]) > "QKA".index(table[0][0])
            yield Position(hands(mine - {card}), (), me if i_win else other, None)


def position_of(game: Game) -> Position:
    hands = [frozenset(map(action_text, hand)) for hand in game.hands]
    table = tuple(action_text(card) for _, card in game.trick_plays)
    return Position((hands[0], hands[1]), table, game.turn, game.out[0] if game.out else None)


def games_after(game: Game) -> Iterator[Game]:
    """The engine: a clone for each legal action."""
    for action in game.legal_actions():
        clone = game.clone()
        clone.play(action)
        yield clone


def reachable(start: Position, successors: Callable[[Position], Iterable[Position]]) -> set[Position]:
    """All positions, breadth first."""
    found = {start}
    frontier = [start]
    while frontier:
        frontier = list(dict.fromkeys(chain.from_iterable(map(successors, frontier))).keys() - found)
        found.update(frontier)
    return found


def engine_positions(game: Game) -> set[Position]:
    """All positions, breadth first, with one game kept for each."""
    found = {position_of(game)}
    frontier = [game]
    while frontier:
        new = {position_of(later): later for earlier in frontier for later in games_after(earlier)}
        frontier = [later for position, later in new.items() if position not in found]
        found.update(new)
    return found


def deal(first: tuple[str, ...], dealer: int) -> Game:
    """The game in which the seat left of the dealer, who leads, holds these three cards."""
    others = [card for card in CARDS if card not in first]
    return Game("tiny", deck=[card for pair in zip(first, others, strict=True) for card in pair], dealer=dealer)


DEALS = [(first, dealer) for dealer in (0, 1) for first in combinations(CARDS, 3)]


@pytest.mark.parametrize(
    ("first", "dealer"), DEALS, ids=lambda value: "".join(map(str, value)) if isinstance(value, tuple) else value
)
def test_engine_and_model_reach_the_same_positions(first: tuple[str, ...], dealer: int) -> None:
    game = deal(first, dealer)
    leader, rest = frozenset(first), frozenset(CARDS) - set(first)
    start = Position((rest, leader) if dealer == 0 else (leader, rest), (), 1 - dealer, None)
    assert position_of(game) == start
    assert engine_positions(game) == reachable(start, after)


def test_number_of_positions_is_frozen() -> None:
    counts: Counter[str] = Counter()
    for first, dealer in DEALS:
        positions = engine_positions(deal(first, dealer))
        counts["positions"] += len(positions)
        winners = [position.winner for position in positions if position.turn is None]
        counts["won by seat 0"] += winners.count(0)
        counts["won by seat 1"] += winners.count(1)
        counts["deals that both can win"] += len(set(winners)) == 2
    # Over all 40 deals; the two halves are the same but for the names of the seats.
    assert counts == {"positions": 2740, "won by seat 0": 294, "won by seat 1": 294, "deals that both can win": 32}


def test_seats_are_alike() -> None:
    """Dealing from the other side swaps the seats and changes nothing else."""
    first = ("Qc", "Ac", "Kd")
    swapped = {
        Position(
            (p.hands[1], p.hands[0]),
            p.table,
            None if p.turn is None else 1 - p.turn,
            None if p.winner is None else 1 - p.winner,
        )
        for p in engine_positions(deal(first, 0))
    }
    assert swapped == engine_positions(deal(first, 1))


def test_preset_is_what_this_file_is_about() -> None:
    assert [action_text(card) for card in Rules.preset("tiny").deck] == list(CARDS)
