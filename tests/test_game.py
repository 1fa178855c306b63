"""`Game`: its public names, what it refuses, and what holds in every game."""

from __future__ import annotations

import copy
import math
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import random_action, random_rules, random_style

from rs_env.cards import PICKUP, action_text, cards_text
from rs_env.engine.observation import state_spec
from rs_env.game import Game, IllegalActionError
from rs_env.rules import Rules

# Seat 1 leads in the first of these, seat 0 with clubs in the second.
TINY_DECK = "Qc Kc Ac Qd Kd Ad"
CLUBS_AGAINST_DIAMONDS = "Qc Qd Kc Kd Ac Ad"


def tiny(deck: str = TINY_DECK, dealer: int = 0) -> Game:
    return Game("tiny", deck=deck, dealer=dealer)


def play_randomly(game: Game, rng: random.Random, actions: int = 10**6, style: str = "any") -> Game:
    """The game itself after so many more random actions, or at its end."""
    for _ in range(actions):
        if game.is_over:
            break
        game.play(random_action(rng, game.legal_actions(), style))
    return game


# Positions


def test_position_of_a_new_game() -> None:
    game = tiny()
    assert (game.turn, game.dealer, game.leader, game.num_players) == (1, 0, 1, 2)
    assert [cards_text(hand) for hand in game.hands] == ["Kc Qd Ad", "Qc Ac Kd"]
    assert (game.trick, game.trick_plays, game.dead, game.out) == ([], [], [], [])
    assert (game.known, game.excluded) == ([[], []], [[], []])
    assert (game.trump, game.led_suit, game.barred_suit) == (None, None, None)
    assert (game.is_over, game.terminated, game.truncated) == (False, False, False)
    assert game.scores() == game.rewards() == [0.0, 0.0]


def test_position_in_mid_trick() -> None:
    game = tiny()
    game.play("Ac")
    assert (game.turn, game.leader, game.led_suit, game.num_actions) == (0, 1, 0, 1)
    assert [(seat, action_text(card)) for seat, card in game.trick_plays] == [(1, "Ac")]
    assert game.legal_actions() == [11]
    game.play("Kc")
    assert (game.turn, game.leader, game.led_suit) == (1, 1, None)
    assert cards_text(game.dead) == "Kc Ac"


def test_nothing_is_legal_when_the_game_is_over() -> None:
    game = tiny()
    for action in ("Ac", "Kc", "Kd", "Ad", "Qd"):
        game.play(action)
    assert (game.is_over, game.terminated, game.out) == (True, True, [0])
    assert game.turn is None
    assert game.legal_actions() == []
    with pytest.raises(IllegalActionError, match="over"):
        game.play("Qc")


@pytest.mark.parametrize("action", [12, "Ac", np.int64(12), np.uint8(12), np.str_("Ac")])
def test_actions_are_ids_or_text(action: Any) -> None:
    game = tiny()
    game.play(action)
    assert game.trick == [12]
    assert game.history == [[(1, 12)]]
    assert type(game.history[0][0][1]) is int


@pytest.mark.parametrize("action", [PICKUP, "pickup", np.int8(52)])
def test_pickup_is_an_id_or_text(action: Any) -> None:
    game = tiny(CLUBS_AGAINST_DIAMONDS, dealer=1)
    game.play("Qc")
    assert game.legal_actions() == [52]
    game.play(action)
    assert cards_text(game.hands[1]) == "Qc Qd Kd Ad"


def test_text_shows_the_hands() -> None:
    game = tiny()
    game.play("Ac")
    lines = str(game).splitlines()
    for seat, cards in enumerate((["Kc", "Qd", "Ad"], ["Qc", "Kd"])):
        (line,) = [line for line in lines if f"seat {seat} " in line]
        assert [word for word in line.partition(":")[2].split() if len(word) == 2] == cards
    assert repr(game) == "<Game of 2: 1 actions, seat 0 to act>"


def test_action_limit_ends_a_game_that_goes_round_in_circles() -> None:
    game = Game("tiny", deck="Kc Qc Ac Kd Qd Ad", dealer=1)  # seat 0 has Kc Ac Qd
    while not game.is_over:
        game.play(game.legal_actions()[0])  # both always play the lowest
    assert (game.truncated, game.terminated, game.num_actions, game.out) == (True, False, 500, [])
    assert game.rewards() == [0.0, 0.0]


# Illegal actions


NOT_HELD_OR_NOT_FOLLOWING: list[Any] = [23, 25, "Qd", "Ad", PICKUP, "pickup"]
NO_ACTION: list[Any] = [53, -1, 2**70, np.int64(-1), np.int64(60), "", "xx", "25", "ad", "Ad Kd"]
NO_ID: list[Any] = [
    True,
    False,
    np.True_,
    3.0,
    25.0,
    math.nan,
    np.float64(25),
    None,
    b"Ad",
    [25],
    (25,),
    {},
    np.array(25),
    np.array([25]),
]


@pytest.mark.parametrize("action", NOT_HELD_OR_NOT_FOLLOWING + NO_ACTION + NO_ID, ids=repr)
@pytest.mark.parametrize("moves", ["", "Ac", "Ac Kc Kd Ad Qd"], ids=["lead", "follow", "over"])
def test_illegal_action_is_refused_and_changes_nothing(moves: str, action: Any) -> None:
    # Seat 1 may lead Qc, Ac or Kd; seat 0 holds Qd and Ad as well, but must follow with Kc.
    game = tiny()
    for move in moves.split():
        game.play(move)
    states, record = game.states.copy(), game.record()
    with pytest.raises(IllegalActionError) as refusal:
        game.play(action)
    assert game.states.tobytes() == states.tobytes()
    assert game.record() == record
    assert repr(action) in str(refusal.value)
    for legal in game.legal_actions():
        assert f"{legal} ({action_text(legal)})" in str(refusal.value)


def test_illegal_action_error_is_a_value_error() -> None:
    assert issubclass(IllegalActionError, ValueError)


# Arguments


@pytest.mark.parametrize(
    "deck",
    [
        "",
        [],
        "Qc Kc Ac Qd Kd",  # a card is missing
        "Qc Kc Ac Qd Kd Kd",  # one twice
        "Qc Kc Ac Qd Kd Ad Ad",
        "Qc Kc Ac Qd Kd Jd",  # one of another deck
        "Qc Kc Ac Qd Kd pickup",
        "Qc Kc Ac Qd Kd 1d",
        [10, 11, 12, 23, 24, 52],
        [10, 11, 12, 23, 24, -1],
        [10, 11, 12, 23, 24, None],
        [10, 11, 12, 23, 24, 25.0],
        [TINY_DECK, TINY_DECK],  # several for a single deal
        [[10, 11, 12, 23, 24, 25], [10, 11, 12, 23, 24, 25]],
        [[10, 11, 12, 23, 24, math.inf]],
        [[10, 11, 12, 23, 24, np.float32(25.5)]],
        [None],
        7,
    ],
    ids=repr,
)
def test_wrong_deck_is_refused(deck: Any) -> None:
    with pytest.raises(ValueError, match="deck"):
        Game("tiny", deck=deck)


def test_refusal_of_a_deck_names_the_cards() -> None:
    with pytest.raises(ValueError, match="missing: Ad; not in the rule set: Jd; 6 given"):
        Game("tiny", deck="Qc Kc Ac Qd Kd Jd")


@pytest.mark.parametrize(
    "deck",
    [
        TINY_DECK,
        TINY_DECK.split(),
        [10, 11, 12, 23, 24, 25],
        (10, "Kc", 12, "Qd", 24, 25),
        np.array([10, 11, 12, 23, 24, 25]),
        iter(TINY_DECK.split()),
        [TINY_DECK],
        [[10, 11, 12, 23, 24, 25]],
    ],
)
def test_forms_of_a_deck(deck: Any) -> None:
    assert Game("tiny", deck=deck, dealer=0).hands == [[11, 23, 25], [10, 12, 24]]


@pytest.mark.parametrize("dealer", [2, -1, True, 1.0, "0", np.float64(0)])
def test_wrong_dealer_is_refused(dealer: Any) -> None:
    with pytest.raises(ValueError) as refusal:
        Game("tiny", dealer=dealer)
    assert f"dealer={dealer!r}" in str(refusal.value)
    assert "0..1" in str(refusal.value)


@pytest.mark.parametrize("seed", [-1, 2**64, True, 1.0, "0", math.nan])
def test_wrong_seed_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError) as refusal:
        Game("tiny", seed=seed)
    assert f"seed={seed!r}" in str(refusal.value)
    assert "2**64 - 1" in str(refusal.value)


@pytest.mark.parametrize("number", [-1, 2**80, True, 1.0, "0", None])
@pytest.mark.parametrize("name", ["index", "first_deal"])
def test_wrong_number_of_a_game_or_deal_is_refused(name: str, number: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Game("tiny", **{name: number})


@pytest.mark.parametrize("rules", [None, 4, ["tiny"], "bridge", {"players": 4}])
def test_wrong_rules_are_refused(rules: Any) -> None:
    with pytest.raises(ValueError, match=r"rules|preset|option"):
        Game(rules)


def test_rules_may_be_a_preset_or_a_mapping() -> None:
    options: Any = {"num_players": 2, "suits": 2, "ranks": 3, "going_out": "immediate"}
    assert Game("tiny").rules == Game(options).rules == Rules.preset("tiny")


def test_seed_makes_the_game() -> None:
    seed: Any = np.uint64(2**64 - 1)
    assert Game(seed=seed).decks == Game(seed=2**64 - 1).decks
    assert Game(seed=1).decks != Game(seed=2).decks
    assert Game(seed=None).seed != Game(seed=None).seed


@pytest.mark.parametrize("seat", [-1, 4, 8, True, 1.0, "0", None])
def test_view_of_no_seat_is_refused(seat: Any) -> None:
    with pytest.raises(ValueError) as refusal:
        Game().view(seat)
    assert f"seat={seat!r}" in str(refusal.value)
    assert "0..3" in str(refusal.value)


def test_view_is_a_copy_for_the_seat() -> None:
    game = Game()
    seat: Any = np.int64(2)
    view = game.view(seat)
    assert view["hand"] == sum(1 << card for card in game.hands[2])
    view["hand"] = 0
    assert len(game.hands[2]) == 8


# Clones


def test_clone_and_game_go_separate_ways() -> None:
    game = play_randomly(Game(seed=3), random.Random(1), 20)
    states, record = game.states.copy(), game.record()
    clone = game.clone()
    assert (clone.states.tobytes(), clone.record()) == (states.tobytes(), record)
    play_randomly(clone, random.Random(2), 10)
    assert (game.states.tobytes(), game.record()) == (states.tobytes(), record)
    assert clone.num_actions == 30
    later = clone.record()
    play_randomly(game, random.Random(3))
    assert clone.record() == later


def test_clone_has_the_same_future() -> None:
    rules = Rules.preset("silent", scoring="cards", target=60, max_actions=60)
    game = play_randomly(Game(rules, seed=3), random.Random(1), 30)
    clone = game.clone()
    play_randomly(game, random.Random(2))
    play_randomly(clone, random.Random(2))
    assert game.deals_done > 1
    assert clone.states.tobytes() == game.states.tobytes()
    assert clone.record() == game.record()


# Matches


def test_match_goes_on_by_the_seed_where_its_decks_end() -> None:
    rules = Rules(num_players=2, suits=1, ranks=3, scoring="cards", target=9)
    decks = ["Qc Ac Kc", "Kc Ac Qc"]
    game = Game(rules, seed=7, deck=decks)
    while game.deals_done < 4:
        game.play(game.legal_actions()[0])
    assert [cards_text(deck) for deck in game.decks[:2]] == decks
    by_seed = [Game(rules, seed=7, first_deal=deal).decks[0] for deal in range(5)]
    assert game.decks[2:] == by_seed[2:]
    assert game.decks[:2] != by_seed[:2]


@pytest.mark.parametrize("wrong", [["Qc Ac Kc", "Kc Ac"], ["Qc Ac Kc", "Kc Ac Ac"], ["Qc Ac Kc", None]])
def test_each_deck_of_a_match_is_checked(wrong: Any) -> None:
    with pytest.raises(ValueError, match="deck"):
        Game(Rules(num_players=2, suits=1, ranks=3, scoring="cards", target=9), deck=wrong)


# Every game


@given(st.randoms(use_true_random=False), st.integers(0, 2**64 - 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_cards_are_conserved_and_every_game_ends_within_its_limits(rng: random.Random, seed: int) -> None:
    rules = random_rules(rng)
    game = Game(rules, seed)
    style = random_style(rng)
    moves = random.Random(seed)  # not by Hypothesis, which draws no more than some thousand choices
    while not game.is_over:
        check_cards(game)
        assert game.num_actions < rules.action_limit
        game.play(random_action(moves, game.legal_actions(), style))
    check_cards(game)
    assert [len(deal) <= rules.action_limit for deal in game.history] == [True] * len(game.decks)
    assert game.terminated != game.truncated
    assert game.deals_done <= rules.max_deals if rules.target is not None else game.deals_done == 0


def check_cards(game: Game) -> None:
    """Each card is in one place: a hand, the trick or the dead. A player who is in has cards or has just played the
    last one.
    """
    everywhere = [*(card for hand in game.hands for card in hand), *game.trick, *game.dead]
    assert sorted(everywhere) == list(game.rules.deck)
    assert sorted(card for _, card in game.trick_plays) == game.trick
    played = [seat for seat, _ in game.trick_plays]
    for seat, hand in enumerate(game.hands):
        assert set(game.known[seat]) <= set(hand)
        if seat in game.out:
            assert hand == []
        elif not hand:
            assert game.rules.going_out == "completed_trick"
            assert seat in played


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))], ids=["deepcopy", "pickle"]
)
def test_copies_and_pickles_play_on_by_themselves(duplicate: Callable[[Game], Game]) -> None:
    game = Game("silent", seed=5)
    for _ in range(20):
        game.play(game.legal_actions()[0])
    other = duplicate(game)
    assert other.turn == game.turn and other.states.tobytes() == game.states.tobytes()
    assert np.array_equal(other.observation, game.observation) and np.array_equal(other.action_mask, game.action_mask)
    before = game.states.tobytes()
    for _ in range(20):
        if not other.is_over:
            other.play(other.legal_actions()[-1])
            assert other.turn is None or other.turn == other.states["turn"][0]
    assert game.states.tobytes() == before and other.states.tobytes() != before
    assert game.record() != other.record()


# Buffers that compiled code writes to


@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: a[:-1],
        lambda a: np.zeros(len(a) + 1, np.int8),
        lambda a: a.astype(np.int64),
        lambda a: a.astype(np.uint8),
        lambda a: np.zeros(2 * len(a), np.int8)[::2],
        lambda a: np.broadcast_to(np.int8(0), a.shape),  # read-only
        lambda a: a[None],
        lambda a: a.tolist(),
        lambda _: None,
    ],
    ids=["short", "long", "int64", "uint8", "strided", "read-only", "matrix", "list", "None"],
)
def test_buffers_that_do_not_fit_are_refused(spoil: Any) -> None:
    game = Game(seed=1)
    observation, mask = game.observation.copy(), game.action_mask.copy()
    state = np.zeros(state_spec(4).size, np.int8)
    with pytest.raises(ValueError, match=r"observation: .* is not allowed"):
        game.observe_into(0, spoil(observation), mask)
    with pytest.raises(ValueError, match=r"mask: .* is not allowed"):
        game.observe_into(0, observation, spoil(mask))
    with pytest.raises(ValueError, match=r"vector: .* is not allowed"):
        game.global_state_into(spoil(state))


@pytest.mark.parametrize("seat", [4, -1, 99, 1.0, None, True])
def test_seats_that_do_not_exist_cannot_be_observed(seat: Any) -> None:
    game = Game(seed=1)
    with pytest.raises(ValueError, match="seat="):
        game.observe_into(seat, game.observation.copy(), game.action_mask.copy())


def test_entries_of_a_deck_that_are_no_cards_are_named() -> None:
    for entry in (1.5, None, 77):
        with pytest.raises(ValueError, match=f"card {entry} is not a card"):
            Game(deck=[entry] * 32)


def test_numbers_of_deals_never_wrap() -> None:
    with pytest.raises(ValueError, match="first_deal=2147483646"):
        Game("penalty", first_deal=2**31 - 2)
    assert Game("penalty", first_deal=2**31 - 2 - 2**20).first_deal == 2**31 - 2 - 2**20
