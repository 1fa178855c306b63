"""`Rules`: decks, presets, refusals, and what makes a rule set a value."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import re
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import random_rules

from rs_env.cards import RANKS, SUITS, cards_text, parse_cards
from rs_env.game import Game
from rs_env.rules import Rules


def pack(ranks: str, suits: str = SUITS, without: str = "") -> list[int]:
    """Sorted ids of all cards of these ranks and suits, but for some."""
    return sorted(set(parse_cards([rank + suit for rank in ranks for suit in suits])) - set(parse_cards(without)))


# Decks


@pytest.mark.parametrize(
    ("num_players", "ranks", "without", "each"),
    [
        (2, "JQKA", "", 8),
        (3, "9TJQKA", "", 8),
        (4, "789TJQKA", "", 8),
        (5, "56789TJQKA", "", 8),
        (6, "3456789TJQKA", "", 8),
        (7, RANKS, "2c 2d 2h", 7),
        (8, "3456789TJQKA", "", 6),
    ],
)
def test_usual_deck(num_players: int, ranks: str, without: str, each: int) -> None:
    rules = Rules(num_players=num_players)
    assert list(rules.deck) == pack(ranks, without=without)
    assert [len(hand) for hand in Game(rules).hands] == [each] * num_players


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"suits": 4, "ranks": None, "hand_size": None}, pack(RANKS, without="2c 2d 2h")),  # the defaults, spelt out
        ({"ranks": 13}, pack(RANKS)),
        ({"ranks": 12}, pack(RANKS[1:])),
        ({"suits": 3}, pack(RANKS, "cdh")),
        # Out of the full pack: 2c 2d 2h are the lowest of 52, and would not be were they taken out before.
        ({"hand_size": 7}, pack(RANKS, without="2c 2d 2h")),
        ({"hand_size": 6}, pack(RANKS[1:], without="3c 3d 3h 3s 4c 4d")),
        ({"suits": 3, "hand_size": 5}, pack(RANKS[1:], "cdh", without="3c")),
    ],
)
def test_cards_leave_the_seven_player_pack_only_by_default(options: dict[str, Any], expected: list[int]) -> None:
    assert list(Rules(num_players=7, **options).deck) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"suits": 2}, pack("789TJQKA", "cd")),
        ({"suits": 1, "ranks": 4}, pack("JQKA", "c")),
        ({"ranks": 1}, pack("A")),
        ({"hand_size": 8}, pack("789TJQKA")),
        ({"hand_size": 7}, pack("89TJQKA")),
        ({"num_players": 3, "hand_size": 7}, pack("9TJQKA", without="9c 9d 9h")),
        ({"num_players": 3, "hand_size": 6}, pack("TJQKA", without="Tc Td")),
        ({"num_players": 2, "suits": 3, "hand_size": 1}, pack("A", "dh")),
    ],
)
def test_suits_ranks_and_hand_size(options: dict[str, Any], expected: list[int]) -> None:
    assert list(Rules(**options).deck) == expected


@pytest.mark.parametrize(
    ("options", "dealer", "sizes"),
    [
        ({"num_players": 7, "ranks": 13}, 2, [7, 7, 7, 8, 8, 8, 7]),
        ({"num_players": 7, "ranks": 13}, 5, [8, 8, 7, 7, 7, 7, 8]),
        ({"num_players": 8, "ranks": 13}, 7, [7, 7, 7, 7, 6, 6, 6, 6]),
        ({"num_players": 3, "ranks": 8}, 0, [10, 11, 11]),
        ({"num_players": 2, "suits": 1, "ranks": 3}, 1, [2, 1]),
    ],
)
def test_first_seats_after_the_dealer_get_one_more(options: dict[str, Any], dealer: int, sizes: list[int]) -> None:
    assert [len(hand) for hand in Game(Rules(**options), dealer=dealer).hands] == sizes


def test_action_limit() -> None:
    assert Rules(num_players=5).action_limit == 1250
    assert Rules(num_players=5, max_actions=17).action_limit == 17


# Presets

DEFAULTS: dict[str, Any] = {
    "num_players": 4,
    "suits": 4,
    "ranks": None,
    "hand_size": None,
    "going_out": "completed_trick",
    "broken_exit": "leaver",
    "play_on": False,
    "lead_after_pickup": "any",
    "trump": "none",
    "trump_play": "ruff",
    "silent_catch": None,
    "scoring": "win",
    "target": None,
    "max_actions": None,
    "max_deals": 100,
}


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("rolling_stone", {}),
        ("schweller", {"going_out": "immediate"}),
        ("penalty", {"scoring": "cards", "target": 30}),
        ("face_value", {"scoring": "face", "target": 50}),
        ("parlett", {"going_out": "immediate", "scoring": "parlett"}),
        ("places", {"play_on": True, "scoring": "places"}),
        ("trump", {"trump": "last_dealt"}),
        ("silent", {"silent_catch": 0.5}),
        ("historic", {"going_out": "immediate", "ranks": 8}),
        ("tiny", {"num_players": 2, "suits": 2, "ranks": 3, "going_out": "immediate"}),
    ],
)
def test_preset(name: str, changed: dict[str, Any]) -> None:
    assert Rules.preset(name).to_dict() == {**DEFAULTS, **changed}
    assert Rules.preset(name, max_actions=9, max_deals=4).to_dict() == {
        **DEFAULTS,
        **changed,
        "max_actions": 9,
        "max_deals": 4,
    }


def test_default_rules() -> None:
    assert Rules().to_dict() == DEFAULTS
    assert Rules.preset("schweller", num_players=5, going_out="completed_trick") == Rules(num_players=5)


def test_tiny_deck() -> None:
    assert cards_text(Rules.preset("tiny").deck) == "Qc Kc Ac Qd Kd Ad"


@pytest.mark.parametrize(("num_players", "ranks"), [(2, 8), (3, 8), (4, 8), (5, 13), (6, 13), (7, 13), (8, 13)])
def test_historic_deals_a_whole_pack(num_players: int, ranks: int) -> None:
    rules = Rules.preset("historic", num_players=num_players)
    assert rules.ranks == ranks
    assert list(rules.deck) == pack(RANKS[-ranks:])


def test_historic_with_other_options() -> None:
    assert Rules.preset("historic", num_players=5, ranks=10).ranks == 10
    # Larger hands than the usual deck of five players has cards for.
    assert len(Rules.preset("historic", num_players=5, hand_size=10).deck) == 50


# Refusals


class Other:
    """A value of a type that no option takes."""

    def __repr__(self) -> str:
        return "<other>"


HUGE = 10**400  # beyond every float
COUNTS = [True, 2.0, "3", math.nan, math.inf, -1, 0, HUGE, Other()]
CHOICES = [None, "", "None", "WIN", 0, True, ["any"], Other()]

WRONG: dict[str, tuple[list[Any], list[str]]] = {
    "num_players": ([None, 1, 9, *COUNTS], ["2", "8"]),
    "suits": ([None, 5, *COUNTS], ["1", "4"]),
    "ranks": ([14, *COUNTS], ["1", "13", "None"]),
    "hand_size": ([53, *COUNTS], ["1", "52", "None"]),
    "going_out": (CHOICES, ["'completed_trick'", "'immediate'"]),
    "broken_exit": (CHOICES, ["'leaver'", "'void'"]),
    "play_on": ([None, 0, 1, "yes", math.nan, Other()], ["True", "False"]),
    "lead_after_pickup": (CHOICES, ["'any'", "'other_suit'"]),
    "trump": ([*CHOICES, "c"], ["'none'", "'clubs'", "'diamonds'", "'hearts'", "'spades'", "'last_dealt'"]),
    "trump_play": (CHOICES, ["'ruff'", "'anytime'"]),
    "silent_catch": ([True, False, -0.1, 1.1, 2, math.nan, math.inf, "0.5", 1j, HUGE, Other()], ["0", "1", "None"]),
    "scoring": (CHOICES, ["'win'", "'places'", "'cards'", "'face'", "'parlett'"]),
    "target": ([True, 0, -1, math.nan, math.inf, -math.inf, "30", HUGE, Other()], ["0", "None"]),
    "max_actions": (COUNTS, ["1", "None"]),
    "max_deals": ([None, *COUNTS], ["1"]),
}


@pytest.mark.parametrize(
    ("field", "value"), [pytest.param(f, v, id=f"{f}={v!r:.20}") for f in WRONG for v in WRONG[f][0]]
)
def test_wrong_value_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError) as refusal:
        Rules(**{field: value})
    assert_names(refusal.value, field, value, WRONG[field][1])


def assert_names(error: ValueError, field: str, value: Any, allowed: list[str]) -> None:
    """The message must have the field, the value, and after them each word of what is allowed."""
    named, _, rest = str(error).partition(f"{field}={value!r}")
    assert rest, f"{named!r} does not name {field}={value!r}"
    assert [word for word in allowed if word not in rest] == []


def test_every_option_has_refusals() -> None:
    assert WRONG.keys() == DEFAULTS.keys()


@pytest.mark.parametrize(
    ("options", "field", "allowed"),
    [
        ({"num_players": 4, "suits": 1, "ranks": 3}, "num_players", ["3"]),
        ({"num_players": 8, "ranks": 1}, "num_players", ["4"]),
        ({"hand_size": 9}, "hand_size", ["8", "32"]),
        ({"num_players": 7, "hand_size": 8}, "hand_size", ["7", "52"]),
        ({"num_players": 4, "suits": 2, "ranks": 2, "hand_size": 2}, "hand_size", ["1", "4"]),
        ({"suits": 3, "trump": "spades"}, "trump", ["'clubs'", "'diamonds'", "'hearts'"]),
        ({"num_players": 2, "hand_size": 1, "trump": "diamonds"}, "trump", ["'hearts'", "'spades'"]),
        ({"trump": "clubs", "trump_play": "anytime", "silent_catch": 0.0}, "silent_catch", ["None"]),
        ({"trump": "last_dealt", "trump_play": "anytime", "silent_catch": 1.0}, "silent_catch", ["None"]),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], field: str, allowed: list[str]) -> None:
    with pytest.raises(ValueError) as refusal:
        Rules(**options)
    assert_names(refusal.value, field, options[field], allowed)


@pytest.mark.parametrize(
    "options",
    [
        {"num_players": 4, "suits": 1, "ranks": 4},
        {"num_players": 7, "hand_size": 7},
        {"suits": 3, "trump": "hearts"},
        {"suits": 1, "trump": "last_dealt"},
        {"num_players": 2, "hand_size": 1, "trump": "hearts"},
        {"trump": "clubs", "trump_play": "ruff", "silent_catch": 1},
        {"trump": "none", "trump_play": "anytime", "silent_catch": 0},
        {"target": sys.float_info.min, "max_actions": 1, "max_deals": 1},
    ],
)
def test_limits_of_what_is_allowed(options: dict[str, Any]) -> None:
    rules = Rules(**options)
    assert {name: rules.to_dict()[name] for name in options} == options


@pytest.mark.parametrize("unknown", ["trumps", "", 3])
def test_unknown_option_is_refused(unknown: Any) -> None:
    with pytest.raises(ValueError) as refusal:
        Rules.from_dict({"num_players": 4, unknown: 1})
    assert_names(refusal.value, "option", unknown, list(DEFAULTS))
    with pytest.raises(ValueError, match="option='trumps'"):
        Rules.preset("tiny", trumps="none")


@pytest.mark.parametrize("unknown", ["bridge", "", None, 3, ["tiny"]])
def test_unknown_preset_is_refused(unknown: Any) -> None:
    presets = [
        "rolling_stone",
        "schweller",
        "penalty",
        "face_value",
        "parlett",
        "places",
        "trump",
        "silent",
        "historic",
        "tiny",
    ]
    with pytest.raises(ValueError) as refusal:
        Rules.preset(unknown)
    assert_names(refusal.value, "preset", unknown, list(map(repr, presets)))


@pytest.mark.parametrize("options", [None, 4, "tiny", [("num_players", 4)]])
def test_what_is_no_mapping_is_refused(options: Any) -> None:
    with pytest.raises(ValueError) as refusal:
        Rules.from_dict(options)
    assert_names(refusal.value, "rules", options, ["mapping"])


# A value


@given(st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_round_trip_by_dict_and_json(rng: random.Random) -> None:
    rules = random_rules(rng)
    assert Rules.from_dict(rules.to_dict()) == rules
    again = Rules.from_dict(json.loads(json.dumps(rules.to_dict())))
    assert again == rules
    assert hash(again) == hash(rules)
    assert again.deck == rules.deck


def test_missing_options_of_a_dict_take_their_defaults() -> None:
    assert Rules.from_dict({"scoring": "face"}) == Rules(scoring="face")


def test_rules_are_frozen_and_a_dictionary_of_them_is_a_copy() -> None:
    rules = Rules()
    rules.to_dict()["suits"] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.suits = 2  # type: ignore[misc]
    assert rules.suits == 4
    assert {Rules(): 1, Rules(suits=3): 2, Rules(num_players=4): 3} == {Rules(): 3, Rules(suits=3): 2}


def test_options_are_named() -> None:
    with pytest.raises(TypeError):
        Rules(4)  # type: ignore[call-arg]


def test_numpy_values_become_plain_ones() -> None:
    values: dict[str, Any] = {
        "num_players": np.int8(5),
        "suits": np.uint64(3),
        "ranks": np.int64(9),
        "play_on": np.True_,
        "silent_catch": np.float64(0.25),
        "scoring": np.str_("cards"),
        "target": np.int32(30),
        "max_actions": np.int16(99),
    }
    rules = Rules(**values)
    assert rules == Rules(
        num_players=5, suits=3, ranks=9, play_on=True, silent_catch=0.25, scoring="cards", target=30, max_actions=99
    )
    assert {type(value) for value in rules.to_dict().values()} == {int, float, bool, str, type(None)}


# For readers


def test_help_tells_what_every_option_is() -> None:
    text = str(Rules.__doc__)
    for field in dataclasses.fields(Rules):
        assert re.search(rf"    {field.name}: .+\n        [A-Z].+\.", text), field.name
