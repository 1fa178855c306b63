"""What the belief deduces is all that can be deduced: every deal is tried against everything that has been seen.

A seat looks on as a random game is played. Every deal that agrees with its own first hand, and with the card shown, is
played along by the reference, and dropped as soon as the action that everybody sees would not be legal in it. What
remains must be what `rs_env.belief` counts and averages over.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from reference import ReferenceGame

from rs_env import Game, Rules, belief
from rs_env.cards import PICKUP, parse_cards, set_of, suit_of
from rs_env.rules import BROKEN_EXIT, GOING_OUT, LEAD_AFTER_PICKUP

DECKS = ((2, 2, 3), (3, 2, 3), (3, 3, 2), (3, 3, 3), (3, 2, 4), (4, 3, 3))  # players, suits, ranks; two are uneven
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ruff": {"trump": "clubs"},
    "ruff, trump shown": {"trump": "last_dealt"},
    "anytime": {"trump": "clubs", "trump_play": "anytime"},
    "anytime, trump shown": {"trump": "last_dealt", "trump_play": "anytime"},
    "never noticed": {"silent_catch": 0},
    "always noticed": {"silent_catch": 1},
    "sometimes noticed, with ruffs": {"silent_catch": 0.5, "trump": "diamonds"},
}


def all_rules(variant: str) -> Iterator[Rules]:
    """All decks and ways of going out, with these options."""
    ways = itertools.product(DECKS, GOING_OUT, BROKEN_EXIT, (False, True))
    for number, ((n, suits, ranks), going_out, broken_exit, play_on) in enumerate(ways):
        yield Rules(
            num_players=n,
            suits=suits,
            ranks=ranks,
            going_out=going_out,
            broken_exit=broken_exit,
            play_on=play_on,
            lead_after_pickup=LEAD_AFTER_PICKUP[number % len(LEAD_AFTER_PICKUP)],
            max_actions=25,
            **VARIANTS[variant],
        )


def all_hands(cards: list[int], sizes: list[int]) -> Iterator[list[tuple[int, ...]]]:
    """Every way to deal cards to hands of these sizes."""
    if not sizes:
        yield []
        return
    for hand in itertools.combinations(cards, sizes[0]):
        for rest in all_hands([card for card in cards if card not in hand], sizes[1:]):
            yield [hand, *rest]


def deals_seen_by(game: Game, seat: int) -> list[ReferenceGame]:
    """The start of every game in which the seat has this first hand and the same card is shown."""
    n, deck = game.num_players, game.decks[0]
    seats = [(game.dealer + 1 + place) % n for place in range(len(deck))]
    last = [deck[-1]] if game.rules.trump == "last_dealt" else []
    fixed = {seat: game.hands[seat]} | ({} if last == [] or seats[-1] == seat else {seats[-1]: last})
    others = [card for card in deck if all(card not in cards for cards in fixed.values())]
    sizes = [seats.count(other) - len(fixed.get(other, [])) for other in range(n)]
    deals = []
    for hands in all_hands(others, sizes):
        piles = [[card for card in (*fixed.get(other, []), *hands[other]) if card not in last] for other in range(n)]
        piles[seats[-1]] += last
        dealt = [iter(pile) for pile in piles]
        deals.append(ReferenceGame(game.rules, [[next(dealt[other]) for other in seats]], game.dealer))
    return deals


def what_happens(game: Game, action: int) -> bool:
    """Take the action, and say whether it was a silent play that was noticed."""
    seat = game.turn
    assert seat is not None
    game.play(action)
    return action != PICKUP and action in game.hands[seat]


def liked(rng: random.Random, game: Game) -> int:
    """A random action, mostly a trump where another suit can be followed."""
    legal = game.legal_actions()
    trumps = [card for card in legal if suit_of(card) == game.trump != game.led_suit is not None]
    return rng.choice(trumps if trumps and rng.random() < 0.7 else legal)


def check(game: Game, seat: int, deals: list[ReferenceGame], kinds: Counter[str]) -> None:
    """Compare the belief of a seat with the deals that are left."""
    view = game.view(seat)
    hands = {tuple(map(tuple, deal.hands)) for deal in deals}
    assert len(hands) == len(deals)  # cards that were seen are where they are in each of them
    assert belief.count(view) == len(deals)
    expected = np.zeros((game.num_players, 52))
    for deal in deals:
        for other, hand in enumerate(deal.hands):
            expected[other, hand] += 1 / len(deals)
    np.testing.assert_allclose(belief.marginals(view), expected, rtol=0, atol=1e-12)
    kinds["positions"] += 1
    kinds["several deals"] += len(deals) > 1
    if any(suits for other, suits in enumerate(game.held) if other != seat):
        view["held"] = 0
        kinds["fewer for held suits"] += belief.count(view) > len(deals)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_deal_that_could_have_been_played_so_is_counted_and_no_other(variant: str) -> None:
    kinds: Counter[str] = Counter()
    for seed, rules in enumerate(all_rules(variant)):
        rng = random.Random(f"{variant} {seed}")
        game = Game(rules, seed=seed)
        left = [deals_seen_by(game, seat) for seat in range(rules.num_players)]
        while not game.is_over:
            action = liked(rng, game)
            noticed = what_happens(game, action)
            for seat, deals in enumerate(left):
                possible = [deal for deal in deals if action in deal.legal_actions()]
                for deal in possible:
                    deal.play(action, noticed)
                left[seat] = possible
                assert {deal.turn for deal in possible} == {game.turn}
                check(game, seat, possible, kinds)
    assert kinds["positions"] > 1000
    assert kinds["several deals"] > 100
    assert (kinds["fewer for held suits"] > 10) == ("anytime" in variant)


def test_a_trump_instead_of_following_leaves_seven_deals_of_ten() -> None:
    # Seat 1 plays the queen of clubs to the queen of hearts: of the other hearts it has one or two.
    rules = Rules(num_players=3, suits=3, ranks=3, trump="clubs", trump_play="anytime", going_out="immediate")
    game = Game(rules, deck="Qd Kd Kc Ad Qc Ac Qh Kh Ah", dealer=2)
    for move in ("Qh", "Qc"):
        game.play(move)
    view = game.view(0)
    assert belief.count(view) == 7
    hands = belief.sample(view, 200, 0)["hand"][:, 1]
    assert (hands & np.uint64(set_of(parse_cards("Kh Ah"))) != 0).all()
    view["held"] = 0
    assert belief.count(view) == 10
