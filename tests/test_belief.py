"""The belief against slow enumeration of all deals, rejection sampling, and the engine that plays its samples on."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hidden import observe, positions
from scipy.stats import chisquare, kstest
from strategies import preset_rules

from rs_env import Game, Rules, SelfPlayVectorEnv, belief
from rs_env.cards import members, set_of, suit_of
from rs_env.engine.state import PUBLIC_FIELDS, STATE
from rs_env.engine.view import VIEW
from rs_env.rules import BROKEN_EXIT, GOING_OUT, LEAD_AFTER_PICKUP, SUIT_NAMES, TRUMP_PLAY

CASES = [pytest.param(rules, id=f"{name}-{rules.num_players}") for name, rules in preset_rules()]
# All 52 cards, where the tables of the belief are fullest, and trumps that show held suits.
FULL_DECKS = [Rules.preset("schweller", num_players=n, ranks=13) for n in range(2, 9)]
TRUMPED_DECKS = [replace(rules, trump="last_dealt", trump_play="anytime") for rules in FULL_DECKS]
EVERY_CASE = [*CASES, *FULL_DECKS, *TRUMPED_DECKS]
MOST_DEALS = 4000  # more than that are not enumerated


# Deals of the hidden cards, enumerated


class Position(NamedTuple):
    """A game as one seat sees it, and all deals that agree with that: the unknown cards of each seat, as sets."""

    game: Game
    seat: int
    deals: list[tuple[int, ...]]


class Hidden(NamedTuple):
    """What a seat does not see, from the properties of a game: the unseen cards, and the places that they lie in."""

    cards: list[int]
    room: list[int]  # unknown cards of each seat
    excluded: list[list[int]]
    held: list[list[int]]  # by the other seats


def hidden(game: Game, seat: int) -> Hidden:
    hands, known = game.hands, game.known
    seen = {*game.dead, *game.trick, *hands[seat], *(card for cards in known for card in cards)}
    room = [0 if other == seat else len(hands[other]) - len(known[other]) for other in range(game.num_players)]
    held = [[] if other == seat else suits for other, suits in enumerate(game.held)]
    return Hidden([card for card in game.rules.deck if card not in seen], room, game.excluded, held)


def enumerate_deals(what: Hidden) -> list[tuple[int, ...]]:
    """Every way to put the cards, one after the other, into places that are free and may hold them, so that some of
    each held suit lie where they must."""
    hands, room = [0] * len(what.room), list(what.room)

    def deal(i: int) -> Iterator[tuple[int, ...]]:
        if i == len(what.cards):
            if all({suit_of(card) for card in members(hand)} >= {*what.held[seat]} for seat, hand in enumerate(hands)):
                yield tuple(hands)
            return
        card = what.cards[i]
        for seat in range(len(room)):
            if room[seat] > 0 and suit_of(card) not in what.excluded[seat]:
                room[seat] -= 1
                hands[seat] |= 1 << card
                yield from deal(i + 1)
                hands[seat] ^= 1 << card
                room[seat] += 1

    return list(deal(0))


def free_deals(room: list[int]) -> int:
    """Number of deals without any exclusion or held suit, which is at least that of all that agree."""
    number, left = 1, sum(room)
    for places in room:
        for k in range(places):
            number = number * (left - k) // (k + 1)
        left -= places
    return number


def unknown_cards(states: np.ndarray, game: Game, seat: int) -> np.ndarray:
    """The sampled deals: the unknown cards of each seat, uint64 (k, n)."""
    known = [set_of(cards) for cards in game.known]
    known[seat] = set_of(game.hands[seat])
    hands = states["hand"][:, : game.num_players]
    assert (hands & np.array(known, np.uint64) == known).all()
    return hands ^ np.array(known, np.uint64)


def small_rules(rng: random.Random) -> Rules:
    """Decks of up to 16 cards for up to five players, with all that changes who may hold what."""
    n = rng.randint(2, 5)
    suits = rng.randint(2, 4)
    ranks = rng.randint(max(2, -(-n // suits)), 4)
    variant = rng.choice(("plain", "plain", "ruff", "anytime", "silent", "both"))
    return Rules(
        num_players=n,
        suits=suits,
        ranks=ranks,
        going_out=rng.choice(GOING_OUT),
        broken_exit=rng.choice(BROKEN_EXIT),
        play_on=rng.random() < 0.5,
        lead_after_pickup=rng.choice(LEAD_AFTER_PICKUP),
        trump="none" if variant in ("plain", "silent") else rng.choice(("last_dealt", *SUIT_NAMES[:suits])),
        trump_play="anytime" if variant == "anytime" else TRUMP_PLAY[0],
        silent_catch=rng.choice((0.2, 0.8)) if variant in ("silent", "both") else None,
        max_actions=rng.choice((12, 40, 80)),
    )


@cache
def moments(rules: Rules) -> list[Game]:
    """Positions of a game to its end and of one that is cut short, to look at only."""
    return positions(rules, 6, 5) + positions(replace(rules, max_actions=15), 7, 2)


@cache
def small_positions() -> list[Position]:
    """More than a thousand, of random games of random rule sets, seen by any seat; some with held suits."""
    rng = random.Random(5)
    found = []
    for seed in range(700):
        rules = small_rules(rng)
        for game in positions(rules, seed, 4)[:: rng.choice((1, -1))]:
            seat = rng.randrange(rules.num_players)
            what = hidden(game, seat)
            if free_deals(what.room) <= MOST_DEALS and rng.random() < 0.4:
                found.append(Position(game, seat, enumerate_deals(what)))
    for seed in range(300):
        for game in games_of_trumps(seed):
            seat = rng.randrange(game.num_players)
            what = hidden(game, seat)
            if any(what.held) and free_deals(what.room) <= MOST_DEALS:
                found.append(Position(game, seat, enumerate_deals(what)))
    return found


def games_of_trumps(seed: int) -> list[Game]:
    """Positions of a game in which everybody trumps other suits whenever possible, and plays at random otherwise."""
    rng = random.Random(seed)
    game = Game(num_players=3 + seed % 2, ranks=4, seed=seed, trump="clubs", trump_play="anytime")
    found = []
    while not game.is_over and game.num_actions < 12:
        legal = game.legal_actions()
        trumps = [card for card in legal if suit_of(card) == game.trump] if game.led_suit else []
        game.play(rng.choice(trumps or legal))
        found.append(game.clone())
    return found


def test_small_positions_are_of_all_kinds() -> None:
    kinds: Counter[str] = Counter()
    for game, seat, deals in small_positions():
        what = hidden(game, seat)
        unseen = {suit_of(card) for card in what.cards}
        barred = [unseen & set(what.excluded[other]) for other, room in enumerate(what.room) if room]
        holders = [suits for suits in what.held if suits]
        kinds["all"] += 1
        kinds["held"] += len(deals) > 1 and len(holders) > 0
        kinds["several suits held"] += len(deals) > 1 and len(set().union(*holders)) > 1
        kinds["two held suits"] += len(deals) > 1 and any(len(suits) > 1 for suits in holders)
        kinds["two holders"] += len(deals) > 1 and len(holders) > 1
        kinds["held and excluded"] += len(deals) > 1 and len(holders) > 0 and any(barred)
        kinds["mover" if seat == game.turn else "end" if game.is_over else "not the mover"] += 1
        kinds["several deals"] += len(deals) > 1
        kinds["fewer for exclusions"] += 1 < len(deals) < free_deals(what.room)
        kinds["two restricted seats"] += sum(map(bool, barred)) >= 2 and len(deals) > 1
        kinds["different exclusions"] += len({frozenset(suits) for suits in barred if suits}) >= 2 and len(deals) > 1
        kinds["uneven"] += len(game.rules.deck) % game.num_players > 0
        kinds["silent"] += game.rules.silent_catch is not None
        kinds["trump shown"] += game.rules.trump == "last_dealt"
        kinds["anytime"] += game.rules.trump != "none" and game.rules.trump_play == "anytime"
        kinds["play on"] += game.rules.play_on and len(game.out) > 0 and not game.is_over
        kinds["open trick"] += len(game.trick) > 0
    assert kinds["all"] >= 1000
    assert {kind: number for kind, number in kinds.items() if number < 30} == {}


def test_count_is_that_of_the_enumeration_and_the_true_deal_is_among_them() -> None:
    for game, seat, deals in small_positions():
        assert belief.count(game.view(seat)) == len(deals) == len(set(deals))
        (true,) = unknown_cards(game.states, game, seat).tolist()
        assert tuple(true) in deals


def test_samples_are_of_the_enumerated_deals() -> None:
    for number, (game, seat, deals) in enumerate(small_positions()):
        drawn = set(map(tuple, unknown_cards(belief.sample(game.view(seat), 30, number), game, seat).tolist()))
        assert drawn <= set(deals)
        assert len(drawn) > 1 or len(deals) < 3  # all 30 alike: once in 3**29 otherwise


def test_marginals_are_those_of_the_enumeration() -> None:
    for game, seat, deals in small_positions():
        expected = (np.array(deals, np.uint64)[:, :, None] >> np.arange(52, dtype=np.uint64) & np.uint64(1)).mean(0)
        for other in range(game.num_players):
            expected[other, game.hands[seat] if other == seat else game.known[other]] = 1
        np.testing.assert_allclose(belief.marginals(game.view(seat)), expected, rtol=0, atol=1e-12)


def test_samples_are_uniform() -> None:
    """If they are, the p-values of tests of single positions are uniform themselves."""
    weights = np.random.default_rng(0).integers(1 << 64, size=8, dtype=np.uint64)
    p_values = []
    for number, (game, seat, deals) in enumerate(small_positions()):
        if not 4 <= len(deals) <= 60 or len(deals) == free_deals(hidden(game, seat).room):
            continue
        names = (np.array(deals, np.uint64) * weights[: game.num_players]).sum(1)
        order = np.sort(names)
        assert (order[1:] > order[:-1]).all()
        drawn = (
            unknown_cards(belief.sample(game.view(seat), 400 * len(deals), number), game, seat)
            * weights[: game.num_players]
        ).sum(1)
        counts = np.bincount(np.searchsorted(order, drawn), minlength=len(deals))
        assert (order[np.searchsorted(order, drawn)] == drawn).all()
        p_values.append(chisquare(counts).pvalue)
    assert len(p_values) >= 50
    assert kstest(p_values, "uniform").pvalue > 1e-3


# Real decks


def rejection_sample(what: Hidden, tries: int, rng: np.random.Generator) -> np.ndarray:
    """Who holds each unseen card, (accepted, cards): shuffles of all, of which those stay that agree with exclusions
    and held suits."""
    owners = np.repeat(np.arange(len(what.room)), what.room)
    shuffled = rng.permuted(np.tile(owners, (tries, 1)), axis=1)
    barred = np.array([[suit in suits for suit in range(4)] for suits in what.excluded])
    suit_of_each = np.array([suit_of(card) for card in what.cards], int)
    wrong = barred[shuffled, suit_of_each].any(1)
    for seat, suits in enumerate(what.held):
        for suit in suits:
            wrong |= (shuffled[:, suit_of_each == suit] != seat).all(1)
    return shuffled[~wrong]


def assert_shares(found: np.ndarray, expected: np.ndarray, number: int) -> None:
    """Shares of `number` draws lie within five standard deviations of their probabilities, and two draws for rare
    cards."""
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / number) + 2 / number).all()
    assert (found[expected == 0] == 0).all()
    assert (found[expected == 1] == 1).all()


@pytest.mark.parametrize(
    "rules",
    [
        *map(Rules.preset, ("rolling_stone", "schweller", "penalty", "places", "trump", "silent", "historic")),
        Rules.preset("trump", trump_play="anytime"),
    ],
)
def test_samples_and_marginals_agree_with_rejection_sampling(rules: Rules) -> None:
    rng = np.random.default_rng(1)
    compared, seed = 0, 0
    while compared < 6:
        seed += 1
        assert seed < 100
        for game in positions(rules, seed, 4):
            seat = (game.turn or 0) if seed % 2 else seed % 4
            what = hidden(game, seat)
            accepted = rejection_sample(what, 3000, rng)
            if not 500 <= len(accepted) < 3000:  # too few to compare, or nothing excluded
                continue
            compared += 1
            probabilities = belief.marginals(game.view(seat))
            by_card = probabilities[:, what.cards]
            assert_shares(np.array([(accepted == other).mean(0) for other in range(4)]), by_card, len(accepted))
            drawn = unknown_cards(belief.sample(game.view(seat), 2000, seed), game, seat)
            shares = (drawn[:, :, None] >> np.array(what.cards, np.uint64) & np.uint64(1)).mean(0)
            assert_shares(shares, by_card, 2000)


@pytest.mark.parametrize("rules", EVERY_CASE)
def test_true_cards_are_possible_and_what_is_seen_is_certain(rules: Rules) -> None:
    for game in moments(rules)[::2]:
        for seat in {0, rules.num_players - 1, game.turn or 0}:
            view = game.view(seat)
            assert belief.count(view) >= 1
            probabilities = belief.marginals(view)
            assert probabilities.shape == (rules.num_players, 52)
            np.testing.assert_allclose(probabilities.sum(1), [len(hand) for hand in game.hands], atol=1e-9)
            np.testing.assert_allclose(probabilities.sum(0)[hidden(game, seat).cards], 1, atol=1e-9)
            assert all((probabilities[other, hand] > 0).all() for other, hand in enumerate(game.hands))
            assert all((probabilities[other, cards] == 1).all() for other, cards in enumerate(game.known))
            assert (probabilities[seat] == [card in game.hands[seat] for card in range(52)]).all()
            in_no_hand = [
                card for card in range(52) if card not in rules.deck or card in game.dead or card in game.trick
            ]
            assert (probabilities[:, in_no_hand] == 0).all()
            assert probabilities.min() >= 0
            assert probabilities.max() <= 1 + 1e-12


def test_count_without_exclusions_is_a_multinomial_number() -> None:
    for rules in FULL_DECKS:
        game = Game(rules, dealer=rules.num_players - 1)
        assert belief.count(game.view(0)) == free_deals(hidden(game, 0).room)
    assert belief.count(Game(FULL_DECKS[2]).view(1)) == 84_478_098_072_866_400  # 39! / 13!**3


def test_count_with_held_suits_is_right_where_the_tables_are_fullest() -> None:
    view = Game(replace(TRUMPED_DECKS[1], trump="clubs")).view(0)  # of three players
    view["hand"], view["hand_size"][:3], view["held"][1] = 0, (0, 26, 26), 0b1111
    # Of all halves of a deck those with some of each suit, by inclusion and exclusion.
    assert belief.count(view) == math.comb(52, 26) - 4 * math.comb(39, 26) + 6 * math.comb(26, 26)
    view["held"][2] = 0b1111
    halves = sum(
        math.prod(math.comb(13, k) for k in ks) for ks in itertools.product(range(1, 13), repeat=4) if sum(ks) == 26
    )
    assert belief.count(view) == halves
    np.testing.assert_allclose(belief.marginals(view)[1:3], 0.5, rtol=1e-12)


def test_held_cards_that_cannot_be_there_are_refused() -> None:
    rules = Rules(num_players=3, suits=3, ranks=4, trump="clubs", trump_play="anytime")
    absent, seen = Game(rules).view(0), Game(rules).view(0)
    absent["held"][1] = 0b1000
    seen["known"][1], seen["held"][1] = Game(rules).states["hand"][0, 1], 1
    for view in (absent, seen):
        with pytest.raises(ValueError, match="no deal of the hidden cards"):
            belief.count(view)


# Sampled states


@pytest.mark.parametrize("rules", EVERY_CASE)
def test_the_viewer_cannot_tell_a_sample_from_the_game(rules: Rules) -> None:
    for game in moments(rules):
        for seat in {0, rules.num_players - 1, game.turn or 0}:
            seen = [array.tobytes() for array in observe(game, seat)]
            for state in belief.sample(game.view(seat), 3, 1):
                other = game.clone()
                other.states[0] = state
                assert [array.tobytes() for array in observe(other, seat)] == seen
                assert other.view(seat).tobytes() == game.view(seat).tobytes()
                assert all(np.array_equal(state[name], game.states[name][0]) for name, *_ in PUBLIC_FIELDS)
                assert [hand.bit_count() for hand in state["hand"].tolist()] == state["hand_size"].tolist()
                assert state["deck"].tolist() == [-1] * 52
                assert sorted(other.trick + other.dead + [card for hand in other.hands for card in hand]) == list(
                    rules.deck
                )


@pytest.mark.parametrize("rules", EVERY_CASE)
def test_samples_can_be_played_on(rules: Rules) -> None:
    going_on = [game for game in moments(rules) if not game.is_over]
    states = np.concatenate(
        [belief.sample(game.view(seat), 2, 2) for game in going_on for seat in range(rules.num_players)]
    )
    vec = SelfPlayVectorEnv(len(states), rules)
    vec.restore(states)
    for _ in range(60):
        vec.step(vec.random_actions())
        places = np.column_stack([vec.states["hand"], vec.states["trick"], vec.states["dead"]])
        assert (np.bitwise_or.reduce(places, axis=1) == set_of(rules.deck)).all()
        assert (np.bitwise_count(places).sum(axis=1) == len(rules.deck)).all()
        known, hands = vec.states["known"], vec.states["hand"]
        assert (known & ~hands == 0).all()


def test_chance_and_later_decks_are_drawn_anew() -> None:
    game = Game(Rules.preset("silent", target=3), seed=4)
    states = belief.sample(game.view(0), 50, 1)
    for name in ("key", "chance"):
        assert len(set(states[name].tolist())) == 50
        assert game.states[name][0] not in states[name]


# Arguments


def test_the_seed_gives_the_sample() -> None:
    view = Game(seed=3).view(1)
    first = belief.sample(view, 5, 7)
    assert first.dtype == STATE
    assert first.shape == (5,)
    assert (
        belief.sample(view, 5, 7).tobytes() == belief.sample(np.array([view], VIEW), 5, 7).tobytes() == first.tobytes()
    )
    assert belief.sample(view, 5, 8).tobytes() != first.tobytes()
    assert belief.sample(view, 5).tobytes() != belief.sample(view, 5).tobytes()
    assert belief.sample(view, 0, 7).shape == (0,)


def test_a_generator_gives_samples_one_after_the_other() -> None:
    view = Game(seed=3).view(1)
    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    samples = [belief.sample(view, 5, rng).tobytes() for _ in range(2)]
    assert samples[0] != samples[1]
    assert [belief.sample(view, 5, same).tobytes() for _ in range(2)] == samples


def test_the_view_is_left_alone_and_may_be_read_only() -> None:
    game = Game(Rules.preset("trump"), seed=3)
    views = np.array([game.view(1)], VIEW)
    views.flags.writeable = False
    before = views.tobytes()
    assert belief.count(views) == belief.count(game.view(1))
    assert belief.sample(views, 5, 7).tobytes() == belief.sample(game.view(1), 5, 7).tobytes()
    assert (belief.marginals(views) == belief.marginals(game.view(1))).all()
    assert views.tobytes() == before


@pytest.mark.parametrize("k", [-1, 2.0, "3", None, True])
def test_wrong_numbers_of_samples_are_refused(k: Any) -> None:
    with pytest.raises(ValueError, match="k="):
        belief.sample(Game().view(0), k, 0)


@pytest.mark.parametrize("rng", [-1, 1.5, "1", 1 << 64])
def test_wrong_seeds_are_refused(rng: Any) -> None:
    with pytest.raises(ValueError, match="seed="):
        belief.sample(Game().view(0), 1, rng)


@pytest.mark.parametrize("view", [np.zeros(3), np.zeros(2, VIEW), np.zeros(0, VIEW), np.zeros(1, STATE), "view", None])
@pytest.mark.parametrize("ask", [belief.count, belief.marginals, lambda view: belief.sample(view, 1)])
def test_what_is_no_view_is_refused(ask: Any, view: Any) -> None:
    with pytest.raises(ValueError, match="view"):
        ask(view)


def impossible(**changes: Any) -> np.void:
    view = Game(seed=3, dealer=3).view(0)
    for name, change in changes.items():
        view[name] = change(view[name])
    return view


@pytest.mark.parametrize(
    "view",
    [
        np.zeros((), VIEW),
        impossible(seat=lambda _: 200),
        impossible(hand_size=lambda sizes: sizes + 1),
        impossible(hand=lambda hand: hand & (hand - np.uint64(1))),
        impossible(dead=lambda _: ~np.uint64(0)),
        impossible(excluded=lambda _: 0b1111),
        impossible(held=lambda _: 1, excluded=lambda _: 1),
        impossible(
            known=lambda _: [
                0,
                1 << members(Game(seed=3, dealer=3).states["hand"][0, 1])[0],
                0x3FF << 13,
                0,
                0,
                0,
                0,
                0,
            ]
        ),
    ],
    ids=[
        "zeros",
        "seat",
        "too many places",
        "too few cards seen",
        "all dead",
        "all excluded",
        "held and excluded",
        "more known than in hand",
    ],
)
@pytest.mark.parametrize("ask", [belief.count, belief.marginals, lambda view: belief.sample(view, 1)])
def test_impossible_views_are_refused(ask: Any, view: Any) -> None:
    with pytest.raises(
        ValueError, match=r"view: (no deal of the hidden cards agrees with it|seat .* must come from a game)"
    ):
        ask(view)
