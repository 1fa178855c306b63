"""Broken input of every kind, thousands of times: it is answered by an error in words, or it is not broken.

make test ARGS="-m soak tests/test_fuzz.py"    # half a minute; left out otherwise
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import random_rules

from rs_env import Game, Rules, read_records, replay
from rs_env.__main__ import main as rs_env_main
from rs_env.baselines import make_agent
from rs_env.baselines.checkpoints import read_network
from rs_env.baselines.network_players import PRETRAINED
from rs_env.describe import describe, parse_action

pytestmark = pytest.mark.soak
fuzz = settings(
    max_examples=2000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), print_blob=True
)

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(PLAIN, lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=8), x, max_size=3))
WORDS = st.text(st.sampled_from("abc=:,.-_0123456789 \té\0\n'\"{}[]"), max_size=24)


def some_record(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    game = Game(random_rules(rng), seed=seed)
    for _ in range(rng.randrange(60)):
        if game.is_over:
            break
        game.play(rng.choice(game.legal_actions()))
    return game.record()


RECORDS = [some_record(seed) for seed in range(40)]


@fuzz
@given(st.sampled_from(RECORDS), st.data())
def test_records_replay_or_are_refused(record: dict[str, Any], data: st.DataObject) -> None:
    broken = copy.deepcopy(record)
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = broken["rules"] if data.draw(st.booleans()) and isinstance(broken.get("rules"), dict) else broken
        key = data.draw(st.sampled_from(sorted(place)) if place else st.text(max_size=5))
        if data.draw(st.booleans()):
            place.pop(key, None)
        else:
            place[key] = data.draw(JSON)
    try:
        game = replay(broken)
    except (ValueError, TypeError) as error:
        assert str(error)
    else:
        assert isinstance(game, Game)


@fuzz
@given(st.sampled_from(RECORDS), st.data())
def test_lines_of_records_are_read_or_refused_with_file_and_line(record: dict[str, Any], data: st.DataObject) -> None:
    line = bytearray(json.dumps(record).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    path = FOLDER / "records.jsonl"
    path.write_bytes(line[: data.draw(st.integers(0, len(line)))])
    try:
        for read in read_records(path):
            replay(read)
    except (ValueError, TypeError) as error:
        assert str(error)


FOLDER = Path()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> None:
    globals()["FOLDER"] = tmp_path


@fuzz
@given(st.dictionaries(st.sampled_from([*Rules().to_dict(), "nonsense", ""]), JSON, max_size=4))
def test_rules_are_made_or_refused(options: dict[str, Any]) -> None:
    try:
        rules = Rules(**options)
    except (ValueError, TypeError) as error:
        assert str(error)
    else:
        assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules


@fuzz
@given(st.sampled_from(["random", "heuristic", "pimc", "ismcts", "expert", "checkpoint", "net", "search", ""]), WORDS)
def test_agents_are_made_by_name_or_refused(name: str, options: str) -> None:
    with contextlib.suppress(ValueError, OSError):  # a path that cannot be read
        assert make_agent(f"{name}:{options}").name


@fuzz
@given(st.sampled_from(RECORDS), st.text(max_size=40) | WORDS)
def test_answers_name_a_legal_action_or_are_refused(record: dict[str, Any], answer: str) -> None:
    game = replay(record)
    if game.is_over:
        return
    view = game.view(game.turn)
    assert "Legal actions" in describe(view)
    with contextlib.suppress(ValueError):
        assert parse_action(answer, view) in game.legal_actions()


WORDS_OF_COMMANDS = st.sampled_from(
    ["duel", "league", "report", "best-response", "--deals", "--rules", "--players", "--out", "--seed", "--trump", "-h"]
)


@settings(fuzz, max_examples=300)
@given(st.sampled_from(["arena", "warm", "doctor", ""]), st.lists(WORDS_OF_COMMANDS | WORDS, max_size=5))
def test_command_lines_end_with_a_status_and_without_a_traceback(command: str, words: list[str]) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            status: object = rs_env_main([command, *words, "--no-such-flag"])  # so that none of them plays or compiles
        except SystemExit as end:
            status = end.code
    assert status in (0, 2) or isinstance(status, str), printed.getvalue()
    assert "Traceback" not in printed.getvalue()


@settings(fuzz, max_examples=500)
@given(st.data())
def test_checkpoints_are_read_or_refused(data: st.DataObject) -> None:
    pytest.importorskip("safetensors")
    whole = bytearray(next(PRETRAINED.glob("*.safetensors")).read_bytes())
    head = int.from_bytes(whole[:8], "little") + 8
    for _ in range(data.draw(st.integers(0, 3))):
        whole[data.draw(st.integers(0, head) | st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = FOLDER / "broken.safetensors"
    path.write_bytes(whole if data.draw(st.booleans()) else whole[: data.draw(st.integers(0, len(whole)))])
    try:
        read_network(path)
    except ValueError as error:
        assert str(error)


@settings(fuzz, max_examples=1000)
@given(st.data())
def test_configurations_are_read_or_refused(data: st.DataObject) -> None:
    load = pytest.importorskip("agents.config").load_experiment
    source = data.draw(st.sampled_from(sorted((Path(__file__).parents[1] / "configs").glob("*.toml"))))
    lines = source.read_text(encoding="utf-8").splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(lines) - 1))
        key = lines[number].partition("=")[0]
        lines[number] = data.draw(
            st.sampled_from(["", f"{key}=", f"{key}= -1", f"{key}= 1e400", f"{key}= 'x'", f"{key}= []", "nonsense = 1"])
            | WORDS
        )
    path = FOLDER / "broken.toml"
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    try:
        load(path)
    except (ValueError, TypeError) as error:  # of which tomllib.TOMLDecodeError is one
        assert str(error)
    else:
        tomllib.loads(path.read_text(encoding="utf-8"))
