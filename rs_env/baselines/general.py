"""What a network of kind "general" reads: one layout for any number of players and any rules.

An observation is spread out to the layout for the most players: each section keeps its name, and the entries of seats
that are not there are zeros. Behind it stand the rules as numbers, `RULE_SECTIONS`. This is the one place in which
rules reach a network; all weights are the same whatever is played.

The numbers come from the compiled rules, which hold all that play depends on. Rule sets that play alike have the same
numbers; of those that do not, the numbers differ, but for differences below one percent. Which suit is trump is told by
the observation. `RULES_VERSION` changes whenever the meaning of an entry does; checkpoints of such networks carry it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from rs_env.cards import NUM_ACTIONS, NUM_CARDS, NUM_RANKS
from rs_env.encoding import observations
from rs_env.engine.layout import About, Kind, Layout, Section
from rs_env.engine.observation import SECTIONS, observation_spec
from rs_env.engine.state import LAST_DEALT, compile_rules
from rs_env.engine.view import as_views
from rs_env.rules import MAX_PLAYERS, Rules
from rs_env.scorings import Basis

RULES_VERSION = 1
PERCENT = 100
_ALWAYS_THERE = ("hand", "trick", "dead", "hand_sizes", "still_in", "leader", "led_suit", "progress")
"""Sections of which the observer's own entries are of use in each game."""

Numbers = Callable[[np.ndarray], np.ndarray]


def _deck(rules: np.ndarray) -> np.ndarray:
    return (rules["deck"][:, None] >> np.arange(NUM_CARDS, dtype=np.uint64)) & np.uint64(1)


def _worth(rules: np.ndarray) -> np.ndarray:
    values = rules["card_values"].astype(np.float64)
    by_rank = PERCENT * values / values.max(1, keepdims=True) * _pays_cards(rules)[:, None]
    return by_rank[:, np.arange(NUM_CARDS) % NUM_RANKS] * _deck(rules)


def _pays_cards(rules: np.ndarray) -> np.ndarray:
    return (rules["basis"] == Basis.OWN_HAND) | (rules["basis"] == Basis.ALL_HANDS)


def _target(rules: np.ndarray) -> np.ndarray:
    deal = np.where(_pays_cards(rules), rules["deck_value"], 1.0)
    return PERCENT * rules["target"] / (rules["target"] + deal)


def _deals(rules: np.ndarray) -> np.ndarray:
    return PERCENT * rules["max_deals"] / (rules["max_deals"] + 100.0) * (rules["target"] > 0)


def _limit(rules: np.ndarray) -> np.ndarray:
    return PERCENT * rules["max_actions"] / (rules["max_actions"] + 250.0 * rules["num_players"])


def _flag(name: str, meaning: str, holds: Numbers) -> Section:
    return Section(name, Kind.COUNT, About.TABLE, f"1 where {meaning}", holds)


def _percent(name: str, meaning: str, value: Numbers) -> Section:
    return Section(name, Kind.COUNT, About.TABLE, f"{meaning}, in percent", value, PERCENT)


RULE_SECTIONS = (
    Section("deck", Kind.CARDS, About.TABLE, "the cards in play", _deck),
    Section(
        "worth",
        Kind.CARDS,
        About.TABLE,
        "what each of them counts, in percent of the dearest rank; zero where hands do not score",
        _worth,
        PERCENT,
    ),
    Section(
        "seats",
        Kind.SEATS,
        About.TABLE,
        "seats that play",
        lambda rules: np.arange(MAX_PLAYERS) < rules["num_players"][:, None],
    ),
    _flag("immediate", "a last card counts at once (`going_out`)", lambda rules: rules["immediate"]),
    _flag("void_takes", "the void player takes a broken trick (`broken_exit`)", lambda rules: rules["void_takes"]),
    _flag("play_on", "places are played for (`play_on`)", lambda rules: rules["play_on"]),
    _flag("bar_suit", "another suit must be led after a pickup (`lead_after_pickup`)", lambda rules: rules["bar_suit"]),
    _flag("ruff", "void players may trump (`trump_play`)", lambda rules: rules["ruff"]),
    _flag("anytime", "players who can follow may trump (`trump_play`)", lambda rules: rules["anytime"]),
    _flag("last_dealt", "the last card dealt is the trump (`trump`)", lambda rules: rules["trump"] == LAST_DEALT),
    _flag("silent", "silent plays are allowed (`silent_catch`)", lambda rules: rules["silent_catch"] >= 0),
    _percent(
        "silent_catch",
        "how likely they are noticed",
        lambda rules: PERCENT * np.maximum(rules["silent_catch"], 0.0),
    ),
    _flag("pays_win", "a deal pays its winner (`scoring`)", lambda rules: rules["basis"] == Basis.WIN),
    _flag("pays_place", "it pays by places", lambda rules: rules["basis"] == Basis.PLACE),
    _flag("pays_own_hand", "it pays by the own hand", lambda rules: rules["basis"] == Basis.OWN_HAND),
    _flag("pays_all_hands", "its winner is paid all hands", lambda rules: rules["basis"] == Basis.ALL_HANDS),
    _flag("low_is_good", "scores are penalty points", lambda rules: rules["low_is_good"]),
    _flag("match", "a match is played (`target`)", lambda rules: rules["target"] > 0),
    _percent("target", "`target` t as t / (t + the most that a deal pays)", _target),
    _percent("max_deals", "of a match: `max_deals` d as d / (d + 100)", _deals),
    _percent("max_actions", "`max_actions` a of n players as a / (a + 250 n)", _limit),
)
"""The rules as numbers. ``value`` of these sections is a function of records of dtype `rs_env.engine.state.RULES`,
(B,), that gives the entries of each, (B, W), or (B,) where there is one; they are rounded to whole numbers.
"""


class GeneralSpec(Layout):
    """The observation of a game with this number of players, and the rules as numbers behind it; see `Layout`."""

    version = RULES_VERSION
    listed = (*SECTIONS, *RULE_SECTIONS)


@cache
def general_spec() -> GeneralSpec:
    """The one shared layout that general networks read: that for the most players."""
    return GeneralSpec(MAX_PLAYERS)


def rule_entries(rules: Rules | np.ndarray) -> np.ndarray:
    """The entries of `RULE_SECTIONS`, int8 (B, R). rules: records of dtype `RULES`, (B,); or one rule set, B = 1."""
    records = compile_rules(rules) if isinstance(rules, Rules) else rules
    columns = [np.asarray(section.value(records)).reshape(len(records), -1) for section in RULE_SECTIONS]
    return np.concatenate([np.rint(column.astype(np.float64)) for column in columns], 1).astype(np.int8)


@cache
def _places(num_players: int) -> np.ndarray:
    """Where each entry of an observation goes in the layout of general networks, int64 (D,)."""
    places, spec = [], general_spec()
    for name, part in observation_spec(num_players).sections.items():
        wide = spec.sections[name]
        places.append(wide.start + np.arange(part.rows)[:, None] * wide.width + np.arange(part.width))
    return np.concatenate([place.reshape(-1) for place in places])


def spread(observation: np.ndarray, num_players: int, rules: np.ndarray) -> np.ndarray:
    """What a general network reads, int8 (B, G), of observations of this number of players, int8 (B, D).

    rules: those of each, or of all, as `rule_entries` gives them, int8 (B, R) or (1, R).
    """
    rows = np.zeros((len(observation), general_spec().size), np.int8)
    rows[:, _places(num_players)] = observation
    rows[:, -rules.shape[1] :] = rules
    return rows


def general_observations(views: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a general network reads, int8 (B, G), and the action masks, int8 (B, 53), of views of any rules (B,)."""
    views = as_views(views)
    rows, masks = np.empty((len(views), general_spec().size), np.int8), np.empty((len(views), NUM_ACTIONS), np.int8)
    players = views["rules"]["num_players"]
    for n in np.unique(players):
        which = np.flatnonzero(players == n)
        observation, masks[which] = observations(views[which])
        rows[which] = spread(observation, int(n), rule_entries(views["rules"][which]))
    return rows, masks


@cache
def sometimes_there() -> np.ndarray:
    """Which entries training may never meet, bool (G,): those of other seats, of the rules, and of what only some rules
    have.
    """
    found = np.ones(general_spec().size, np.bool_)
    for name in _ALWAYS_THERE:
        part = general_spec().sections[name]
        own = 1 if part.section.kind in (Kind.SEATS, Kind.SEAT) else part.width
        found[part.start : part.start + own] = False
    return found


def table() -> str:
    """The rules as numbers, as a Markdown table."""
    lines = ["| section | entries | each in | meaning |", "|---|---|---|---|"]
    for section in RULE_SECTIONS:
        part = general_spec().sections[section.name]
        lines.append(f"| `{section.name}` | {part.size} | 0..{part.high} | {section.meaning} |")
    return "\n".join(lines)
