"""One network for all rules: what it reads, that it plays any of them, and that it learns from several at once."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hidden import positions
from networks import write_network

from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines import make_agent
from rs_env.baselines.checkpoints import read_network
from rs_env.baselines.general import (
    RULE_SECTIONS,
    general_observations,
    general_spec,
    rule_entries,
    sometimes_there,
    spread,
)
from rs_env.encoding import observations
from rs_env.engine.layout import Kind
from rs_env.engine.observation import SECTIONS, observation_spec
from rs_env.engine.state import compile_rules
from rs_env.engine.view import VIEW
from rs_env.rules import OPTIONS, PRESETS
from rs_env.testing import check_agent

PLAYERS = range(2, 9)
SEVERAL = [
    Rules(num_players=3),
    Rules.preset("schweller"),
    Rules.preset("trump", num_players=6),
    Rules(scoring="face", target=50, num_players=2),
    Rules(silent_catch=0.3, suits=3, ranks=12, num_players=8),
]


def views_of(rules: Rules, count: int = 30) -> np.ndarray:
    """What the seat to act may know, in positions of random games."""
    games = [game for game in positions(rules, 5, count) if not game.is_over]
    return np.array([game.view(game.turn) for game in games], VIEW)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A general network with random weights."""
    return write_network(tmp_path_factory.mktemp("run") / "checkpoint.safetensors", kind="general")


# What it reads


@pytest.mark.parametrize("players", PLAYERS)
def test_entries_stand_under_the_same_names_and_seats_that_are_not_there_are_zeros(players: int) -> None:
    rules = Rules(num_players=players)
    plain, _ = observations(views_of(rules))
    wide = spread(plain, players, rule_entries(rules))
    here, there = observation_spec(players), general_spec()
    for section in SECTIONS:
        part, wider = here.sections[section.name], there.sections[section.name]
        entries = np.zeros((len(plain), wider.rows, wider.width), np.int8)
        entries[:, : part.rows, : part.width] = plain[:, part.slice].reshape(-1, part.rows, part.width)
        assert (wide[:, wider.slice].reshape(entries.shape) == entries).all(), section.name
    told = there.decode(wide[0])
    assert told["seats"] == list(range(players)) and told["deck"] == list(rules.deck)


def test_views_of_several_rules_are_read_together() -> None:
    views = np.concatenate([views_of(rules, 6) for rules in SEVERAL])
    order = np.random.default_rng(0).permutation(len(views))
    rows, masks = general_observations(views[order])
    for row, mask, view in zip(rows, masks, views[order], strict=True):
        plain, own = observations(view[None])
        n = int(view["rules"]["num_players"])
        assert (row == spread(plain, n, rule_entries(view["rules"][None]))[0]).all() and (mask == own[0]).all()


def test_all_entries_lie_within_their_bounds() -> None:
    rows = np.concatenate([general_observations(views_of(rules, 20))[0] for rules in SEVERAL])
    assert (rows >= 0).all() and (rows <= general_spec().high).all()
    assert rows[:, sometimes_there()].any() and rows[:, ~sometimes_there()].any()


OTHER_VALUES: dict[str, tuple[Any, ...]] = {
    "num_players": (2, 3, 5, 6, 7, 8),
    "suits": (3,),
    "ranks": (7, 13),
    "hand_size": (5, 7),
    "going_out": ("immediate",),
    "broken_exit": ("void",),
    "play_on": (True,),
    "lead_after_pickup": ("other_suit",),
    "trump": ("hearts", "last_dealt"),
    "trump_play": ("anytime",),
    "silent_catch": (0.0, 0.5, 1.0),
    "scoring": ("places", "cards", "face", "parlett"),
    "target": (1, 5, 30),
    "max_actions": (100, 10_000),
    "max_deals": (10, 1000),
}
"""Of each option some that are not the default."""
NEEDS = {"trump_play": {"trump": "hearts"}, "max_deals": {"target": 5}}
"""Options that change nothing without another one."""


def test_every_option_of_the_rules_is_told() -> None:
    assert OTHER_VALUES.keys() == set(OPTIONS), "a new option needs its entries in RULE_SECTIONS, and its line here"
    for option, values in OTHER_VALUES.items():
        base = Rules(**NEEDS.get(option, {}))
        told = [rule_entries(dataclasses.replace(base, **{option: value})).tobytes() for value in values]
        assert len({rule_entries(base).tobytes(), *told}) == len(values) + 1, option


def test_every_field_of_the_compiled_rules_that_play_depends_on_is_told() -> None:
    """Those that are left out follow from others."""
    record = compile_rules(Rules(num_players=3, scoring="face", target=40, silent_catch=0.5)).copy()
    follow = {"cards", "num_cards", "percent_per_action", "plain"}
    before = rule_entries(record)
    for name in set(record.dtype.names or ()) - follow:
        changed = record.copy()
        value = changed[name]
        if name == "card_values":
            value[0, -2] += 1
        elif name == "deck":
            value ^= np.uint64(1)
        elif value.dtype == np.bool_:
            value ^= True
        else:
            value[:] = 4 if name == "trump" else np.float64(value) * 3 if name != "silent_catch" else 0.7
        assert (rule_entries(changed) != before).any(), name


def test_presets_that_play_differently_are_told_apart() -> None:
    kinds = [(name, n) for name in PRESETS for n in PLAYERS if name != "tiny" or n < 7]
    every = [Rules.preset(name, num_players=n) for name, n in kinds]
    played = {compile_rules(rules).tobytes() for rules in every}
    assert len({rule_entries(rules).tobytes() for rules in every}) == len(played)


def test_sections_of_rules_have_names_and_bounds_of_their_own() -> None:
    assert not {section.name for section in RULE_SECTIONS} & {section.name for section in SECTIONS}
    widths = [section.kind.width(8) for section in RULE_SECTIONS]
    assert rule_entries(Rules()).shape == (1, sum(widths))
    assert {section.kind for section in RULE_SECTIONS} == {Kind.CARDS, Kind.SEATS, Kind.COUNT}


# Players by name


@pytest.mark.parametrize("rules", SEVERAL, ids=lambda rules: f"{rules.num_players}")
def test_the_same_weights_play_any_rules(file: Path, rules: Rules) -> None:
    assert duel(f"checkpoint:{file}", "random", rules, deals=2).games == 2 * rules.num_players


def test_it_plays_as_any_agent_must(file: Path) -> None:
    for name in (f"checkpoint:{file}", f"search:checkpoint={file},worlds=2,horizon=4"):
        check_agent(make_agent(name), rules=SEVERAL[2], positions=20)


def test_views_of_several_rules_may_come_together(file: Path) -> None:
    agent = make_agent(f"checkpoint:{file}")
    views = [views_of(rules, 6) for rules in SEVERAL]
    alone = np.concatenate([agent.act(part) for part in views])
    assert agent.act(np.concatenate(views)).tolist() == alone.tolist()


def test_a_search_shows_it_what_it_would_see_in_play(file: Path) -> None:
    rules = SEVERAL[1]
    views, network = views_of(rules), read_network(file)
    assert (network.read(observations(views)[0], compile_rules(rules)) == network.look(views)[0]).all()


def test_other_rules_are_other_numbers_to_it(file: Path) -> None:
    """The same position is worth something else by other rules."""
    network, plain = read_network(file), observations(views_of(Rules()))[0]
    values = [network.evaluate(network.read(plain, compile_rules(rules)))[1] for rules in (Rules(), SEVERAL[1])]
    assert not np.allclose(*values)


def test_files_with_other_numbers_of_the_rules_are_refused(tmp_path: Path) -> None:
    path = write_network(tmp_path / "x", kind="general", metadata={"rules_version": "0"})
    with pytest.raises(ValueError, match="rules_version is '0', this version reads '1'"):
        make_agent(f"checkpoint:{path}")
