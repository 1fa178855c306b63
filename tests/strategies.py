"""Random rule sets and ways to play for tests."""

from __future__ import annotations

import random
from typing import Any

from rs_env.cards import PICKUP, SUIT_NAMES, suit_of
from rs_env.rules import (
    BROKEN_EXIT,
    GOING_OUT,
    LEAD_AFTER_PICKUP,
    MAX_PLAYERS,
    MIN_PLAYERS,
    PRESETS,
    TRUMP_PLAY,
    Rules,
)
from rs_env.scorings import SCORINGS

STYLES = ("any", "stubborn", "lowest")

# Small enough that matches end, large enough that not all end with their first deal.
_TARGETS: dict[str, tuple[float, ...]] = {
    "win": (1, 2, 3),
    "places": (0.5, 1, 1.5, 2, 3, 4),
    "cards": (3, 8, 15, 30),
    "face": (10, 30, 50, 120),
    "parlett": (5, 40, 100, 200),
}
_OTHER_TARGETS = (10, 30, 50, 120)


def random_rules(rng: random.Random) -> Rules:
    """A rule set with random, valid values of every option; the deals of a match are few, those of tiny decks many."""
    pack = _random_pack(rng)
    trump, trump_play = _random_trump(rng, Rules(**pack))
    scoring = rng.choice(list(SCORINGS))
    is_match = rng.random() < 0.3
    return Rules(
        **pack,
        going_out=rng.choice(GOING_OUT),
        broken_exit=rng.choice(BROKEN_EXIT),
        play_on=rng.random() < 0.5,
        lead_after_pickup=rng.choice(LEAD_AFTER_PICKUP),
        trump=trump,
        trump_play=trump_play,
        silent_catch=None if trump != "none" and trump_play == "anytime" else _random_silent_catch(rng),
        scoring=scoring,
        target=rng.choice(_TARGETS.get(scoring, _OTHER_TARGETS)) if is_match else None,
        max_actions=_random_max_actions(rng, is_match),
        max_deals=rng.randint(1, 6) if is_match else 100,
    )


def _random_pack(rng: random.Random) -> dict[str, Any]:
    """Players and cards: the usual deck for a third, else any that has a card for everybody."""
    n = rng.randint(MIN_PLAYERS, MAX_PLAYERS)
    pack: dict[str, Any] = {"num_players": n}
    if rng.random() < 1 / 3:
        return pack
    pack["suits"] = suits = rng.choice((1, 2, 3, 4, 4))
    if rng.random() < 0.7:
        pack["ranks"] = rng.randint(-(-n // suits), 13)
    if rng.random() < 0.4:
        pack["hand_size"] = rng.randint(1, len(Rules(**pack).deck) // n)
    return pack


def _random_trump(rng: random.Random, rules: Rules) -> tuple[str, str]:
    suits = sorted(set(map(suit_of, rules.deck)))
    trump = rng.choice(("none", "none", "last_dealt", SUIT_NAMES[rng.choice(suits)]))
    return trump, rng.choice(TRUMP_PLAY)


def _random_silent_catch(rng: random.Random) -> float | None:
    return rng.choice((None, None, 0.0, 1.0, rng.uniform(0.05, 0.95)))


def _random_max_actions(rng: random.Random, is_match: bool) -> int | None:
    limits = (rng.randint(1, 12), rng.randint(10, 80), rng.randint(50, 300))
    return rng.choice(limits if is_match else (None, *limits))


def preset_rules() -> list[tuple[str, Rules]]:
    """Each preset with each number of players that its deck allows."""
    rules = []
    for name in PRESETS:
        for n in range(MIN_PLAYERS, MAX_PLAYERS + 1):
            if name != "tiny" or n <= 6:  # its deck has six cards
                rules.append((name, Rules.preset(name, num_players=n)))
    return rules


def random_style(rng: random.Random) -> str:
    """A way to play for `random_action`."""
    return rng.choices(STYLES, weights=(4, 4, 1))[0]


def random_action(rng: random.Random, legal: list[int], style: str) -> int:
    """A legal action: any, any but an avoidable pickup ("stubborn"), or the lowest card (which often loops)."""
    if style == "lowest":
        return legal[0]
    if style == "stubborn" and len(legal) > 1:
        legal = [action for action in legal if action != PICKUP]
    return rng.choice(legal)
