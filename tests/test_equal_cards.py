"""Cards that differ only in name are one branch of a tree, and a search that is decided ends early."""

from __future__ import annotations

import numpy as np
import pytest

from rs_env import Game, Rules
from rs_env.baselines.search import new_memory
from rs_env.baselines.tree import NODE, Tree, is_decided, one_of_equals
from rs_env.cards import PICKUP, cards_text, parse_cards
from rs_env.engine.state import compile_rules


def distinct(game: Game) -> list[int]:
    legal = sum(1 << action for action in game.legal_actions())
    found = int(one_of_equals(compile_rules(game.rules)[0], game.states[0], np.uint64(legal)))
    return [action for action in range(PICKUP + 1) if found >> action & 1]


def plainly_distinct(game: Game) -> list[int]:
    """Card by card: is one of my other playable cards the next lower one of its suit that has not left the game?"""
    legal = game.legal_actions()
    kept = []
    for action in legal:
        lower = [
            card
            for card in game.rules.deck
            if action != PICKUP and card // 13 == action // 13 and card < action and card not in game.dead
        ]
        if not lower or max(lower) not in legal:
            kept.append(action)
    return kept


@pytest.mark.parametrize("rules", ["rolling_stone", "schweller", "places", "trump", "silent"])
@pytest.mark.parametrize("num_players", [3, 5])
def test_what_is_left_are_the_cards_with_another_card_below_them(rules: str, num_players: int) -> None:
    fewer = 0
    for seed in range(6):
        game, rng = Game(rules, seed, num_players=num_players), np.random.default_rng(seed)
        while not game.is_over and game.num_actions < 150:
            assert distinct(game) == plainly_distinct(game)
            fewer += len(distinct(game)) < len(game.legal_actions())
            game.play(int(rng.choice(game.legal_actions())))
    assert fewer > 50


def test_where_cards_count_they_are_not_equal() -> None:
    game = Game("face_value", seed=1)
    assert distinct(game) == game.legal_actions()


def test_a_card_of_the_trick_lies_between() -> None:
    """7 and 9 of clubs are two choices while the 8 lies on the table, and one when it has left the game."""
    rules = Rules(num_players=2, suits=1, ranks=6)  # 9 T J Q K A of clubs
    game = Game(rules, deck="Tc 9c Qc Jc Kc Ac", dealer=1)
    assert cards_text(game.hands[0]) == "Tc Qc Kc"
    assert distinct(game) == parse_cards("Tc Qc")
    game.play("Tc")
    assert game.turn == 1 and cards_text(game.hands[1]) == "9c Jc Ac"
    assert distinct(game) == parse_cards("9c Jc Ac")


def tree_of(visits: list[int]) -> Tree:
    """A root with one child for each number of visits, for actions 0, 1, ..."""
    nodes = np.zeros(len(visits) + 1, NODE)
    nodes["first_child"][0] = 1
    nodes["visits"][1:] = visits
    nodes["action"][1:] = np.arange(len(visits))
    nodes["next_sibling"][1:-1] = np.arange(2, len(visits) + 1)
    return Tree(nodes, np.zeros(1, np.int64), 0.5)


@pytest.mark.parametrize(
    ("visits", "left", "decided"),
    [([10, 4], 5, True), ([10, 4], 6, False), ([4, 10, 7], 2, True), ([4, 10, 7], 3, False), ([5, 5], 0, False)],
)
def test_a_search_is_decided_when_the_rest_cannot_change_it(visits: list[int], left: int, decided: bool) -> None:
    assert is_decided(tree_of(visits), new_memory(), left) is decided


def test_a_sure_loss_decides_nothing() -> None:
    memory = new_memory()
    memory.losses[0] = 10
    assert not is_decided(tree_of([10, 4]), memory, 2)
