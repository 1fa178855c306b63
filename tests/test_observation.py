"""Observations, views and the global state: right, complete, within bounds, and without anything that a seat cannot
know.

``RS_ENV_RANDOM_ACTIONS`` sets the number of random actions after which cards are counted.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from hidden import global_state, observe, positions, resampled, unseen_places
from strategies import preset_rules, random_rules

from rs_env import ObservationSpec, Rules, SelfPlayVectorEnv, raw_env
from rs_env.cards import NUM_ACTIONS, set_of, suit_of
from rs_env.engine.encoder import encoder_of
from rs_env.engine.observation import SECTIONS, observation_spec, state_spec
from rs_env.game import Game

ACTIONS = int(os.environ.get("RS_ENV_RANDOM_ACTIONS", 1_000_000))
PRESETS = preset_rules()
PRESET_CASES = [pytest.param(rules, id=f"{name}-{rules.num_players}") for name, rules in PRESETS]
# Options that no preset has, such as a barred suit and totals of thirds.
CASES = [*PRESET_CASES, *(pytest.param(random_rules(random.Random(seed)), id=f"random-{seed}") for seed in range(60))]

CARD_SECTIONS = {"hand": 1, "trick": 4, "dead": 1, "known": 3}  # rows, of four players


def moments(rules: Rules, most: int) -> list[Game]:
    """Positions of a game to its end and of one that is cut short, so that tricks, hands and totals are left over."""
    return positions(rules, 1, most) + positions(replace(rules, max_actions=13), 2, most // 4)


# Layout


@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("make", [observation_spec, state_spec])
def test_sections_lie_side_by_side(make: Any, n: int) -> None:
    spec = make(n)
    places = np.concatenate([np.arange(spec.size)[spec[name]] for name in spec.sections])
    assert places.tolist() == list(range(spec.size))
    assert spec.low.shape == spec.high.shape == (spec.size,)


@pytest.mark.parametrize("n", range(2, 9))
def test_sizes(n: int) -> None:
    cards = 52 + 52 * n + 52 + 52 * (n - 1)
    assert observation_spec(n).size == cards + 2 * 4 * (n - 1) + 3 * n + 3 * 4 + 1 + n
    assert (
        state_spec(n).size == observation_spec(n).size + 52 * (n - 1) + n + 52 + 4 + 4
    )  # all hands, turn, own known, excluded and held


def test_sections_by_name() -> None:
    spec = ObservationSpec(4)
    assert list(spec.sections)[:4] == list(CARD_SECTIONS)
    start = 0
    for name, rows in CARD_SECTIONS.items():
        assert spec[name] == slice(start, start + 52 * rows)
        start += 52 * rows
    with pytest.raises(KeyError, match="'nonsense'") as refused:
        spec["nonsense"]
    assert all(name in str(refused.value) for name in spec.sections)


@pytest.mark.parametrize("n", [1, 9, 4.0, "4", None])
def test_wrong_number_of_players_is_refused(n: Any) -> None:
    with pytest.raises(ValueError, match="num_players"):
        ObservationSpec(n)


def test_wrong_shapes_are_refused() -> None:
    spec = ObservationSpec(4)
    for shape in [(spec.size + 1,), (1, spec.size), (observation_spec(5).size,), ()]:
        for read in (spec.decode, spec.split):
            with pytest.raises(ValueError, match="shape"):
                read(np.zeros(shape, np.int8))


# What is in it


def public_knowledge(game: Game, seat: int) -> dict[str, Any]:
    """What `decode` must say, from the properties of the game."""
    n = game.num_players
    clockwise = [(seat + k) % n for k in range(n)]
    hands, known, excluded, plays = game.hands, game.known, game.excluded, game.trick_plays
    target = game.rules.target
    totals = [Fraction(score).limit_denominator(1000) for score in game.scores()] if target else [Fraction(0)] * n
    return {
        "hand": hands[seat],
        "trick": {clockwise.index(player): card for player, card in plays},
        "dead": game.dead,
        "known": [known[other] for other in clockwise[1:]],
        "excluded": [excluded[other] for other in clockwise[1:]],
        "held": [game.held[other] for other in clockwise[1:]],
        "hand_sizes": [len(hands[other]) for other in clockwise],
        "still_in": [k for k, other in enumerate(clockwise) if other not in game.out],
        "leader": clockwise.index(game.leader),
        "led_suit": suit_of(plays[0][1]) if plays else None,
        "trump": game.trump,
        "barred_suit": game.barred_suit,
        "progress": 100 * game.num_actions // game.rules.action_limit,
        "totals": [min(100, floor(100 * totals[other] / Fraction(target or 1))) for other in clockwise],
    }


@pytest.mark.parametrize("rules", CASES)
def test_every_seat_sees_what_is_public(rules: Rules) -> None:
    spec = observation_spec(rules.num_players)
    for game in moments(rules, 8):
        for seat in range(rules.num_players):
            before = game.states.tobytes()
            observation, mask = observe(game, seat)
            game.view(seat)
            assert game.states.tobytes() == before
            assert (spec.low <= observation).all()
            assert (observation <= spec.high).all()
            assert spec.decode(observation) == public_knowledge(game, seat)
            legal = game.legal_actions() if seat == game.turn else []
            assert mask.tolist() == [action in legal for action in range(NUM_ACTIONS)]


@pytest.mark.parametrize("rules", CASES)
def test_global_state_shows_all_hands(rules: Rules) -> None:
    n = rules.num_players
    spec, seen = state_spec(n), observation_spec(n)
    space = raw_env(rules).state_space
    for game in moments(rules, 10):
        state = global_state(game)
        assert space.contains(state)
        parts = {name: state[spec[name]].reshape(section.rows, -1) for name, section in spec.sections.items()}
        assert np.flatnonzero(parts["turn"]).tolist() == ([] if game.turn is None else [game.turn])
        sets_of = {"hands": game.hands, "known": game.known, "excluded": game.excluded, "held": game.held}
        for name, sets in sets_of.items():
            assert [np.flatnonzero(row).tolist() for row in parts[name]] == sets
        observation, _ = observe(game, 0)  # what seats have in common is by absolute seat, as seat 0 sees it
        for name in set(seen.sections) - {"hand", *sets_of}:
            assert state[spec[name]].tolist() == observation[seen[name]].tolist()


# What is not in it


@pytest.mark.parametrize("rules", PRESET_CASES)
def test_nothing_hidden_is_shown(rules: Rules) -> None:
    rng = random.Random(0)
    kinds: Counter[str] = Counter()
    for game in moments(rules, 16):
        for seat in range(rules.num_players):
            other = resampled(game, seat, rng)
            kinds["end" if game.is_over else "own turn" if seat == game.turn else "turn of another"] += 1
            kinds["another deal"] += other.hands != game.hands
            assert [array.tobytes() for array in observe(other, seat)] == [
                array.tobytes() for array in observe(game, seat)
            ]
            assert other.view(seat).tobytes() == game.view(seat).tobytes()
    # Between two players the unseen cards are all in one hand, and nothing but the deck and the chance can differ.
    assert set(+kinds) == {"end", "own turn", "turn of another"} | (
        {"another deal"} if rules.num_players > 2 else set()
    )


@pytest.mark.parametrize("rules", CASES)
def test_unseen_cards_have_no_excluded_suit(rules: Rules) -> None:
    for game in moments(rules, 20):
        excluded = game.excluded
        for seat in (0, 1):
            assert all(suit_of(card) not in excluded[other] for other, card in unseen_places(game, seat))


@pytest.mark.parametrize("n", range(2, 7))
def test_unseen_cards_have_one_of_each_held_suit(n: int) -> None:
    found = 0
    for seed in range(5):
        for game in positions(Rules.preset("trump", num_players=n, trump_play="anytime"), seed, 20):
            for seat in range(n):
                unseen = {suit_of(card) for card in game.hands[seat] if card not in game.known[seat]}
                assert unseen >= set(game.held[seat])
                found += bool(game.held[seat])
    assert found > 0


# Cards


@pytest.mark.parametrize("rules", CASES)
def test_every_card_is_in_one_place_at_the_end(rules: Rules) -> None:
    for game in moments(rules, 0):
        assert sorted([card for hand in game.hands for card in hand] + game.trick + game.dead) == list(rules.deck)


@pytest.mark.parametrize("rules", PRESET_CASES)
def test_every_card_is_in_one_place_after_every_action(rules: Rules) -> None:
    actions = -(-ACTIONS // len(PRESETS))
    vec = SelfPlayVectorEnv(min(32, actions), rules, seed=3)
    deck, size = np.uint64(set_of(rules.deck)), len(rules.deck)
    for _ in range(-(-actions // vec.num_envs)):
        vec.step(vec.random_actions())
        places = np.column_stack([vec.states["hand"], vec.states["trick"], vec.states["dead"]])
        assert (np.bitwise_or.reduce(places, axis=1) == deck).all()
        assert (np.bitwise_count(places).sum(axis=1) == size).all()


def test_encoder_refuses_to_write_beyond_a_row() -> None:
    """Sections of seats are written as whole words, which spill over where they stand last."""
    names = list(observation_spec(2).sections)
    for last, fits in (("still_in", False), ("leader", False), ("led_suit", False), ("trump", True), ("totals", True)):
        sections = SECTIONS[: names.index(last) + 1]
        if fits:
            encoder_of(sections)
        else:
            with pytest.raises(ValueError, match="must follow"):
                encoder_of(sections)
