"""What all commands share: how they end, what they say, and the flags of the rules."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from rs_env.__main__ import COMMANDS, main, script
from rs_env.baselines import AGENTS, NETWORK_AGENTS, OTHER_AGENTS
from rs_env.command_line import interrupted_with, status_of
from rs_env.flags import RuleFlags, RuleOptions, parsed
from rs_env.inform import WHAT_AGENTS_DO, WHAT_OPTIONS_MEAN, options_of
from rs_env.rules import PRESETS, Rules

ROOT = Path(__file__).parents[1]


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
    for option in fields(Rules):
        assert "--" + {"num_players": "players"}.get(option.name, option.name).replace("_", "-") in printed
    assert "historic" in printed
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


# One entrance


def run(*arguments: str, stubs: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Python with these arguments; modules in `stubs` come before those of their names."""
    path = os.pathsep.join(str(folder) for folder in (stubs, ROOT) if folder is not None)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=stubs or ROOT,  # whose modules come first with -m and -c
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_command_is_told_of_and_has_its_help() -> None:
    told = run("-m", "rs_env", "--help").stdout
    for command in COMMANDS:
        assert f"  {command}" in told
        done = run("-m", "rs_env", command, "--help")
        assert done.returncode == 0
        assert f"usage: python -m rs_env {command}" in done.stdout


def test_the_arena_is_entered_both_ways() -> None:
    arguments = ["duel", "random", "nobody"]
    one, other = run("-m", "rs_env", "arena", *arguments), run("-m", "rs_env.arena", *arguments)
    assert one.returncode == other.returncode == 2
    assert one.stderr == other.stderr
    assert one.stderr.startswith("error: agent 'nobody' is not known")


def test_without_the_extras_there_are_the_version_the_help_and_warm(tmp_path: Path) -> None:
    for module in ("tyro", "rich"):
        (tmp_path / f"{module}.py").write_text("raise ImportError('no such module')", encoding="utf-8")
    for arguments in (["--version"], ["--help"], ["warm", "--help"], ["bench", "--help"], ["agents", "--help"]):
        done = run("-m", "rs_env", *arguments, stubs=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    done = run("-m", "rs_env", "arena", "report", "x", stubs=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "rs_env[arena]" in done.stderr
    assert "rs_env[arena]" in run("-m", "rs_env", "rules", stubs=tmp_path).stderr


def test_rules_are_told_with_what_they_change(capsys: Any) -> None:
    assert main(["rules", "--rules", "schweller", "--players", "5", "--trump", "hearts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "schweller, with 2 changes"
    assert [line.split() for line in lines if line.startswith("*")] == [
        ["*", "num_players", "5", "(schweller", "has", "4)"],
        ["*", "trump", "hearts", "(schweller", "has", "none)"],
    ]
    assert any(line.startswith("  deck") and "40 cards, 8 each" in line for line in lines)
    assert main(["rules", "--rules", "historic", "--json"]) == 0
    assert Rules.from_dict(json.loads(capsys.readouterr().out)) == Rules.preset("historic")
    assert main(["rules", "--players", "99"]) == 2
    assert capsys.readouterr().err.startswith("error: num_players=99")


def test_agents_are_told_with_all_options_and_their_meaning(capsys: Any) -> None:
    assert main(["agents"]) == 0
    told = capsys.readouterr().out
    for name, factory in (AGENTS | NETWORK_AGENTS | OTHER_AGENTS).items():
        assert f"\n{name}: " in f"\n{told}"
        for option, default in options_of(factory).items():
            assert f" {option}={default}" in told
    named = {option for factory in (AGENTS | NETWORK_AGENTS | OTHER_AGENTS).values() for option in options_of(factory)}
    assert named == set(WHAT_OPTIONS_MEAN) and set(WHAT_AGENTS_DO) == set(AGENTS | NETWORK_AGENTS | OTHER_AGENTS)


def test_bench_gives_a_figure_for_each_way_to_play(capsys: Any) -> None:
    assert main(["bench", "--seconds", "0.01"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and all(line.endswith(" random actions a second") for line in lines[1:])
    assert main(["bench", "--seconds", "-1"]) == 2
    assert "seconds=-1.0" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_shell_completes_commands_flags_and_names(capsys: Any) -> None:
    assert main(["completion"]) == 0
    script = capsys.readouterr().out
    for words, found in (
        (["pl"], ["play"]),
        (["arena", "le"], ["league"]),
        (["play", "--peo"], ["--people"]),
        (["play", "--text", "--agents", "low", "heu"], ["heuristic"]),
        (["arena", "league", "--rules", "sch"], ["schweller"]),
        (["arena", "duel", "exp"], ["expert"]),
        (["arena", "duel", "low", "--sit"], ["--sitting"]),
        (["watch", "--no"], ["--no-browser"]),
        (["watch", "ga"], []),  # a file
    ):
        ask = f"COMP_WORDS=(rs-env {' '.join(words)}); COMP_CWORD={len(words)}; _rs_env; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(["bash", "-c", script + ask], capture_output=True, text=True, check=True)
        assert (done.stdout.split(), done.stderr) == (found, ""), words


def test_the_console_script_is_the_command() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"rs-env": "rs_env.__main__:script"}
    with pytest.raises(SystemExit) as ended, patch.object(sys, "argv", ["rs-env", "--version"]):
        script()
    assert ended.value.code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="sends itself a signal")
@pytest.mark.parametrize("module", ["rs_env", "rs_env.arena"])
@pytest.mark.parametrize("loading", ["gymnasium", "tyro"])
def test_ctrl_c_while_libraries_are_loaded_leaves_no_traceback(module: str, loading: str, tmp_path: Path) -> None:
    """gymnasium is loaded by the package itself, before any line of a command runs; tyro by the arena's command."""
    stub = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise ImportError('it went on')"
    (tmp_path / f"{loading}.py").write_text(stub, encoding="utf-8")
    done = run("-m", module, *(["arena"] if module == "rs_env" else []), "report", "x", stubs=tmp_path)
    assert done.returncode in (130, -signal.SIGINT)
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [("-c", "import rs_env"), ("-m", "user.tool"), ("-m", "user"), ("-c", "import rs_env", "-m", "rs_env")],
)
def test_whoever_imports_the_library_keeps_ctrl_c_as_it_is(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    for name in ("__init__", "__main__", "tool"):
        (tmp_path / "user" / f"{name}.py").write_text("import rs_env", encoding="utf-8")
    stub = "import signal\nassert signal.getsignal(signal.SIGINT) is not signal.SIG_DFL"
    (tmp_path / "gymnasium.py").write_text(stub + "\nraise SystemExit('untouched')", encoding="utf-8")
    assert run(*arguments, stubs=tmp_path).stderr == "untouched\n"
