"""What all commands share: how they end, what they say, and the flags of the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import pytest

from rs_env.command_line import interrupted_with, status_of
from rs_env.flags import RuleFlags, RuleOptions, parsed
from rs_env.rules import PRESETS, Rules


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command with nothing but rules."""

    rules: RuleOptions = field(default_factory=RuleFlags)


def chosen(*arguments: str, **otherwise: Any) -> Rules:
    rules: Rules = parsed(Command, "test", arguments).rules.chosen(**otherwise)
    return rules


# Rules


def test_without_flags_the_rules_are_the_given_ones() -> None:
    other = Rules(num_players=5, scoring="face", play_on=True)
    assert chosen() == Rules()
    assert chosen(otherwise=other) == other
    assert chosen("--play-on", otherwise=other) == other


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_as_it_is_and_can_be_changed(preset: str) -> None:
    assert chosen("--rules", preset) == Rules.preset(preset)
    assert chosen("--rules", preset, "--players", "3") == Rules.preset(preset, num_players=3)


OTHER_THAN_DEFAULT: dict[str, Any] = {
    "num_players": 6, "suits": 3, "ranks": 9, "hand_size": 4, "going_out": "immediate", "broken_exit": "void",
    "play_on": True, "lead_after_pickup": "other_suit", "trump": "hearts", "trump_play": "anytime",
    "silent_catch": 0.25, "scoring": "parlett", "target": 30.0, "max_actions": 77, "max_deals": 9,
}  # fmt: skip


@pytest.mark.parametrize("option", [f.name for f in fields(Rules)])
def test_every_option_of_the_rules_is_a_flag(option: str) -> None:
    value = OTHER_THAN_DEFAULT[option]
    assert value != getattr(Rules(), option)
    flag = "--" + {"num_players": "players"}.get(option, option).replace("_", "-")
    assert chosen(flag, *(() if value is True else (str(value),))) == Rules(**{option: value})


def test_flags_together_change_a_preset_or_the_rules_of_an_experiment() -> None:
    given = ("--trump", "hearts", "--scoring", "parlett", "--play-on", "--target", "30")
    changes: dict[str, Any] = {"trump": "hearts", "scoring": "parlett", "play_on": True, "target": 30}
    assert chosen("--rules", "schweller", *given) == Rules.preset("schweller", **changes)
    assert chosen(*given, otherwise=Rules(num_players=6)) == Rules(num_players=6, **changes)


def test_what_a_preset_sets_can_be_unset() -> None:
    assert chosen("--rules", "places", "--no-play-on") == Rules.preset("places", play_on=False)
    assert chosen("--rules", "penalty", "--target", "None") == Rules.preset("penalty", target=None)
    assert chosen("--rules", "historic", "--ranks", "none") == Rules.preset("historic", ranks=None)
    assert chosen("--trump", "none").trump == "none"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rules", "whist"), "preset='whist' is not allowed: preset must be one of 'rolling_stone'"),
        (("--players", "9"), "num_players=9 is not allowed: num_players must be a whole number from 2 to 8"),
        (("--players", "4.0"), "num_players='4.0' is not allowed"),
        (("--players", "none"), "num_players='none' is not allowed"),
        (("--silent-catch", "often"), "silent_catch='often' is not allowed"),
        (("--target", "nan"), "target=nan is not allowed"),
        (("--trump", "red"), "trump='red' is not allowed: trump must be one of 'none', 'clubs'"),
        (("--trump", ""), "trump='' is not allowed"),
        (("--play-on", "--no-play-on"), "--play-on and --no-play-on cannot be given together"),
    ],
)
def test_wrong_rules_are_refused_in_the_words_of_the_rules(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        chosen(*arguments)


def test_help_has_the_rules_in_a_group_of_their_own_with_the_words_of_each_option(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        parsed(Command, "test", ["--help"])
    printed = capsys.readouterr().out
    for said in ("rules options", "--rules PRESET", "--players N", "--going-out {completed_trick,immediate}"):
        assert said in printed
    for said in ("players, 2 to 8", "historic", "go on for places after the first player is out"):
        assert said in printed
    assert "{None}" not in printed and "STR" not in printed


# How commands end


def raising(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (ValueError("deals=1 is not allowed"), 2, "error: deals=1 is not allowed\n"),
        (ValueError("one\nline"), 2, "error: one line\n"),
        (
            OSError(28, "No space left on device", "run.json"),
            2,
            "error: [Errno 28] No space left on device: 'run.json'\n",
        ),
        (MemoryError("1 TiB"), 2, "error: not enough memory: 1 TiB\n"),
        (MemoryError(), 2, "error: not enough memory\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_each_end_has_a_status_and_one_line(error: BaseException, status: int, told: str, capsys: Any) -> None:
    assert status_of(raising(error)) == status
    assert capsys.readouterr() == ("", told)
    assert status_of(lambda: 7) == 0


def test_faults_of_the_program_and_ends_of_a_parser_go_on() -> None:
    for error in (ZeroDivisionError(), SystemExit(2)):
        with pytest.raises(type(error)):
            status_of(raising(error))


def test_ctrl_c_says_what_is_kept(capsys: Any) -> None:
    def work() -> None:
        with interrupted_with("all is kept"):
            raise KeyboardInterrupt

    assert status_of(work) == 130
    assert capsys.readouterr().err == "interrupted: all is kept\n"
