"""`rs_env.solve.exact`, OpenSpiel's CFR+ and the search responder against plain recursion over the list-based
reference."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from plain_tree import Node, PlainCFR, all_deals, best_value, followers, forest, plain_nash_conv
from reference import ReferenceGame
from test_exact import SMALL

from rs_env.cards import NUM_ACTIONS
from rs_env.game import Game
from rs_env.rules import Rules
from rs_env.solve.exact import GameTree, nash_conv
from rs_env.solve.responder import SearchResponder


def uneven(node: Node) -> list[float]:
    weights = [1.0 + action % 5 + node.seat for action in node.actions]
    return [weight / sum(weights) for weight in weights]


def uneven_profile(tree: GameTree) -> np.ndarray:
    profile = (1.0 + np.arange(NUM_ACTIONS) % 5 + tree.seat[:, None]) * tree.legal
    return profile / profile.sum(1, keepdims=True)


@pytest.mark.parametrize("name", SMALL)
def test_nash_conv_is_that_of_plain_recursion(name: str) -> None:
    rules = SMALL[name]
    tree, trees = GameTree(rules), forest(rules)
    result = nash_conv(uneven_profile(tree), tree)
    plain, values = plain_nash_conv(trees, uneven, rules.num_players)
    assert result.values == pytest.approx(values)
    assert result.nash_conv == pytest.approx(plain)
    assert result.best_response_values == pytest.approx(
        [best_value(trees, uneven, seat) for seat in range(rules.num_players)]
    )
    assert plain > 0.01


@pytest.mark.parametrize("name", ["two players", "three players", "silent"])
def test_cfr_plus_of_openspiel_is_that_of_plain_python(name: str) -> None:
    pytest.importorskip("pyspiel")
    from rs_env.openspiel import cfr

    rules, trees = SMALL[name], forest(SMALL[name])
    tree, plain = GameTree(rules), PlainCFR(trees, rules.num_players)
    for iterations, profile in cfr(tree, [1, 2, 6]):
        plain.run(iterations - plain.iteration)
        expected, values = plain_nash_conv(trees, plain.average, rules.num_players)
        result = nash_conv(profile, tree)
        assert result.nash_conv == pytest.approx(expected)
        assert result.values == pytest.approx(values)


# The search responder's choice: all worlds and all play-outs by recursion, instead of samples

SEARCHED = {
    "immediate": Rules.preset("tiny", num_players=3, max_actions=30),
    "completed": Rules(num_players=3, suits=2, ranks=3, max_actions=30),
    "trump": Rules(num_players=3, suits=3, ranks=2, trump="clubs", max_actions=30),
    "cards": Rules(num_players=2, suits=2, ranks=3, scoring="cards", max_actions=9),
    "silent": Rules(num_players=2, suits=3, ranks=2, silent_catch=0.4, max_actions=12),
}
HORIZON, NOISE = 7, 0.1


class Extreme:
    """The lowest legal action, or the highest."""

    def __init__(self, choose: Callable[[list[int]], int]) -> None:
        self.name, self.choose = choose.__name__, choose

    def reset(self, seed: int | None) -> None:
        """Nothing is drawn."""

    def act(self, views: np.ndarray) -> np.ndarray:
        return np.array(
            [self.choose([a for a in range(NUM_ACTIONS) if legal >> a & 1]) for legal in views["legal"].tolist()]
        )


def positions_that_look_alike(game: Game, deck: list[int], actions: list[tuple[int, bool]]) -> list[ReferenceGame]:
    """Every position that the player to act cannot tell from the true one: other deals of the cards, the same hand and
    play."""
    true = ReferenceGame(game.rules, [deck], game.dealer)
    mine = (game.dealer, true.hands[game.turn])
    played = [true, *(deal for deal in all_deals(game.rules) if (deal.dealer, deal.hands[game.turn]) == mine)]
    alike = []
    for deal in played:
        try:
            for action, noticed in actions:
                deal.play(action, noticed)
        except ValueError:
            continue  # somebody could not have done that
        alike.append(deal)
    return [deal for deal in alike[1:] if deal.events == true.events]


def worth(game: ReferenceGame, seat: int, taken: int) -> float:
    """As `docs/baselines.md` has it: what the deal is worth, or a share of 1 / (1 + cards) where a play-out was
    stopped."""
    cards = [len(hand) for hand in game.hands]
    if game.rules.scoring == "cards":
        return 0.999**taken * (1 - cards[seat] / sum(map(len, game.decks)))
    if game.is_over:
        return 0.999**taken * (game.out[:1] == [seat])
    return 0.999**taken / (1 + cards[seat]) / sum(1 / (1 + c) for c in cards)


def played_out(game: ReferenceGame, seat: int, taken: int) -> float:
    """Expected worth when the seat plays the highest action with noise, and all others the lowest."""
    if game.is_over or taken > HORIZON:
        return worth(game, seat, taken)
    legal = game.legal_actions()
    chances = {min(legal): 1.0}
    if game.turn == seat:
        chances = {action: NOISE / len(legal) + (1 - NOISE) * (action == max(legal)) for action in legal}
    follow = [(p * chance, other) for action, p in chances.items() for chance, other in followers(game, action)]
    return sum(p * played_out(other, seat, taken + 1) for p, other in follow)


@pytest.mark.parametrize("name", SEARCHED)
def test_search_responder_takes_the_best_action_of_all_worlds_and_play_outs(name: str) -> None:
    rules, rng, gaps = SEARCHED[name], random.Random(name), []
    responder = SearchResponder(Extreme(min), worlds=2000, horizon=HORIZON, default=Extreme(max), noise=NOISE)
    responder.reset(3)
    for _ in range(15):
        start, actions = rng.choice(all_deals(rules)), []
        game = Game(rules, seed=rng.getrandbits(32), deck=start.decks[0], dealer=start.dealer)
        while not game.is_over and (len(game.legal_actions()) == 1 or rng.random() < 0.6):
            seat, action = game.turn, rng.choice(game.legal_actions())
            game.play(action)
            actions.append((action, action in game.hands[seat]))  # a card that was noticed is back in the hand
        if game.is_over:
            continue
        seat, alike = game.turn, positions_that_look_alike(game, start.decks[0], actions)
        assert game.hands in [world.hands for world in alike]
        follow = {a: [(c, other) for world in alike for c, other in followers(world, a)] for a in game.legal_actions()}
        values = {
            a: sum(c * played_out(other, seat, 1) for c, other in some) / len(alike) for a, some in follow.items()
        }
        (chosen,) = responder.act(np.array([game.view(seat)]))
        gaps.append(max(values.values()) - min(values.values()))
        assert values[int(chosen)] > max(values.values()) - 0.02
    assert sum(gap > 0.04 for gap in gaps) >= 3  # where it matters


def test_search_responder_gets_no_more_than_the_exact_best_response_and_most_of_what_it_gains() -> None:
    tree = GameTree(Rules.preset("tiny", num_players=3, max_actions=12))
    frozen = tree.profile_of("low")
    exact = nash_conv(frozen, tree)
    searching = tree.profile_of(SearchResponder("low"), seeds=1)
    for seat in range(3):
        got = tree.values(np.where((tree.seat == seat)[:, None], searching, frozen))[seat]
        gain = exact.best_response_values[seat] - exact.values[seat]
        assert exact.values[seat] + 0.8 * gain < got < exact.best_response_values[seat] + 1e-9
