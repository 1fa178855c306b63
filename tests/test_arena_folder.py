"""Folders of comparisons: nothing is lost by a kill, doubled by a second process, or believed that is not as it was
written."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killing import Killer, in_a_process

from rs_env.arena import league
from rs_env.arena.__main__ import main
from rs_env.arena.games import UNITS, game_of_line
from rs_env.arena.report import write_report
from rs_env.arena.storage import read_folder
from rs_env.baselines import make_agent
from rs_env.files import only_process_in, write_whole
from rs_env.rules import Rules

RULES = Rules(num_players=3, suits=3, ranks=4, max_actions=60)
AGENTS = ["random", "heuristic", "low", "longest"]
HOW: dict[str, Any] = {"rules": RULES, "deals": 6, "matrix_deals": 1, "seed": 4}


def play(folder: Path, **changes: Any) -> Any:
    return league(**{"agents": AGENTS, **HOW, "out": folder, **changes})


def games_of(folder: Path) -> bytes:
    return (folder / "games.jsonl").read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    play(folder)
    return folder


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    for name in ("games.jsonl", "run.json"):
        (tmp_path / name).write_bytes((whole / name).read_bytes())
    return tmp_path


# Kills and other processes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_league_that_is_killed_again_and_again_ends_as_one_that_is_not(whole: Path, tmp_path: Path) -> None:
    rng, kills = random.Random(5), 0
    for trial in range(60):
        folder = tmp_path / str(trial)
        while True:
            moment = rng.randrange(1, 40)

            def work(folder: Path = folder, moment: int = moment) -> None:
                with pytest.MonkeyPatch.context() as patch:
                    Killer(moment).install(patch)
                    play(folder, resume=(folder / "run.json").exists(), games_at_once=8)

            status = in_a_process(work)
            if status == 0:
                break
            assert status == 9
            kills += 1
        assert games_of(folder) == games_of(whole)
        assert {path.name for path in folder.iterdir()} == {"run.json", "games.jsonl", ".lock"}
        if kills >= 30:
            return
    raise AssertionError(kills)


def test_a_second_process_is_refused_while_one_plays(tmp_path: Path) -> None:
    tried = []

    class Trying:
        name = "trying"

        def __init__(self) -> None:
            self.player = make_agent("random")

        def reset(self, seed: int | None) -> None:
            self.player.reset(seed)

        def act(self, views: np.ndarray) -> np.ndarray:
            for resume in (False, True):
                with pytest.raises(ValueError, match="another process is at a comparison there"):
                    play(tmp_path, agents=["random", "heuristic"], resume=resume)
            tried.append(True)
            return self.player.act(views)

    play(tmp_path, agents=[Trying(), "random"])
    assert tried
    assert len(read_folder(tmp_path).games["mixed"]) == len(games_of(tmp_path).splitlines()) - len(
        read_folder(tmp_path).games["matrix"]
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_lock_goes_with_its_process(tmp_path: Path) -> None:
    def hold() -> None:
        context = only_process_in(tmp_path, "this")
        context.__enter__()
        os._exit(7)

    assert in_a_process(hold) == 7
    with only_process_in(tmp_path, "this"):
        pass


@pytest.mark.parametrize("name", ["run.json", "games.jsonl"])
def test_a_folder_with_anything_of_a_run_is_a_run(copied: Path, name: str) -> None:
    (copied / name).unlink()
    left = {path.name: path.read_bytes() for path in copied.iterdir()}
    with pytest.raises(ValueError, match="holds a run"):
        play(copied)
    assert {path.name: path.read_bytes() for path in copied.iterdir() if path.name != ".lock"} == left


def test_games_without_their_settings_are_not_gone_on_with(copied: Path) -> None:
    (copied / "run.json").unlink()
    before = games_of(copied)
    with pytest.raises(ValueError, match="is no folder of a comparison"):
        play(copied, resume=True)
    assert games_of(copied) == before


# What is not as it was written


def rewritten(line: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """A line of changed content with the digest that goes with it, as somebody who knows the format would forge it."""
    import hashlib

    record = json.loads(line)
    del record["digest"]
    change(record)
    body = json.dumps(record, separators=(",", ":"))[:-1]
    return f'{body},"digest":"{hashlib.sha256(body.encode()).hexdigest()[:16]}"}}\n'.encode()


def flip(line: bytes) -> bytes:
    place = len(line) // 2
    return line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]


DAMAGES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int]] = {
    "deleted": (lambda lines: lines[:4] + lines[5:], 5),
    "first deleted": (lambda lines: lines[1:], 1),
    "doubled": (lambda lines: [*lines[:5], lines[4], *lines[5:]], 6),
    "swapped": (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], 3),
    "a deal doubled": (lambda lines: [*lines, *lines[:6]], 40),
    "changed": (lambda lines: [*lines[:7], flip(lines[7]), *lines[8:]], 8),
    "torn inside": (lambda lines: [*lines[:7], lines[7][:50] + b"\n", *lines[8:]], 8),
    "empty line": (lambda lines: [*lines[:2], b"\n", *lines[2:]], 3),
    "another encoding": (lambda lines: [*lines[:2], b"\xff\xfe\n", *lines[2:]], 3),
    "a record of no arena": (lambda lines: [*lines[:2], b'{"format": "rs_env.record/1"}\n', *lines[2:]], 3),
    "deep": (lambda lines: [*lines[:2], b"[" * 100_000 + b"\n", *lines[2:]], 3),
    "forged credit": (
        lambda lines: [rewritten(lines[0], lambda r: r["arena"].update(credit=[840_000, 0, 0])), *lines[1:]],
        1,
    ),
    "forged seating": (
        lambda lines: [rewritten(lines[0], lambda r: r["arena"].update(seating=[0, 0, 0])), *lines[1:]],
        1,
    ),
    "forged deal": (lambda lines: [rewritten(lines[0], lambda r: r.update(index=10**30)), *lines[1:]], 1),
    "forged rules": (lambda lines: [rewritten(lines[0], lambda r: r["rules"].update(max_actions=61)), *lines[1:]], 1),
    "forged table": (lambda lines: [rewritten(lines[0], lambda r: r["arena"].update(table="round")), *lines[1:]], 1),
    "a field missing": (lambda lines: [rewritten(lines[0], lambda r: r["arena"].pop("credit")), *lines[1:]], 1),
    "text for a number": (
        lambda lines: [rewritten(lines[0], lambda r: r["arena"].update(actions="many")), *lines[1:]],
        1,
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_games_are_refused_by_line_and_left_alone(name: str, copied: Path) -> None:
    damage, number = DAMAGES[name]
    lines = games_of(copied).splitlines(keepends=True)
    if name == "a deal doubled":
        number = len(lines) + 1
    (copied / "games.jsonl").write_bytes(b"".join(damage(lines)))
    before = games_of(copied)
    with pytest.raises(ValueError, match=rf"games\.jsonl, line {number}: "):
        read_folder(copied)
    with pytest.raises(ValueError, match=rf"line {number}: "):
        play(copied, resume=True)
    assert games_of(copied) == before


def test_games_of_another_seed_are_refused(copied: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    play(other, seed=5)
    (copied / "games.jsonl").write_bytes(games_of(other))
    with pytest.raises(ValueError, match="out of place"):
        read_folder(copied)


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.66, 0.999])
def test_what_is_complete_of_a_torn_file_is_read(kept: float, whole: Path, copied: Path) -> None:
    content = games_of(copied)
    (copied / "games.jsonl").write_bytes(content[: int(kept * len(content))])
    games, all_games = read_folder(copied).games, read_folder(whole).games
    for table, some in games.items():
        assert np.array_equal(some, all_games[table][: len(some)])
        assert (
            len(some) % len(all_games[table]) == 0
            or len(some) % (len(all_games[table]) // HOW["deals" if table == "mixed" else "matrix_deals"]) == 0
        )


def change_run(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    change(run)
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.pop("agents"),
        lambda run: run.update(agents=["random"]),
        lambda run: run.update(agents=[1, 2, 3, 4]),
        lambda run: run.update(cheats=[]),
        lambda run: run.update(rules={"num_players": 99}),
        lambda run: run.update(rules=None),
        lambda run: run.update(table="round"),
        lambda run: run.update(seconds=[1.0]),
        lambda run: run.update(seconds=["a", "b", "c", "d"]),
        lambda run: run.update(asked=[-1, 0, 0, 0]),
        lambda run: run.update(asked=None),
        lambda run: run.update(about=7),
        lambda run: run.update(seed=None),
        lambda run: run.update(seed=float("inf")),
        lambda run: run.update(deals=[]),
        lambda run: run.update(deals=None),
        lambda run: run.update(matrix_deals=-1),
        lambda run: run.update(precision="high"),
        lambda run: run.update(format="rs_env.arena/1"),
    ],
)
def test_damaged_settings_are_refused_in_one_line(
    change: Callable[[dict[str, Any]], None], copied: Path, capsys: Any
) -> None:
    change_run(copied, change)
    with pytest.raises(ValueError, match=r"run\.json is not as it was written|is no folder"):
        read_folder(copied)
    assert main(["report", str(copied)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1


def test_a_resume_that_is_refused_cuts_nothing_off(copied: Path) -> None:
    change_run(copied, lambda run: run.update(seconds=[1.0]))
    torn = games_of(copied)[:-100]
    (copied / "games.jsonl").write_bytes(torn)
    with pytest.raises(ValueError, match=r"run\.json"):
        play(copied, resume=True)
    assert games_of(copied) == torn


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_settings_that_are_no_settings_are_refused_in_one_line(content: bytes, copied: Path, capsys: Any) -> None:
    (copied / "run.json").write_bytes(content)
    assert main(["report", str(copied)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_report_before_the_first_deal_says_so(copied: Path, capsys: Any) -> None:
    (copied / "games.jsonl").write_bytes(b"")
    assert main(["report", str(copied)]) == 2
    assert "no deal has been played" in capsys.readouterr().err


def test_a_name_for_the_folder_is_asked_for(capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="out=''"):
        play(Path("unused"), out="")
    assert main(["duel", "random", "random", "--deals", "2", "--out", ""]) == 2
    assert "out=''" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_can_be_read_again_line_by_line(whole: Path) -> None:
    for line in games_of(whole).decode().splitlines(keepends=True):
        _, game = game_of_line(line, RULES, len(AGENTS))
        assert UNITS - 2 <= game["credit"].sum() <= UNITS
    with pytest.raises(ValueError, match="as it was written"):
        game_of_line(line[:-1], RULES, len(AGENTS))


def test_names_of_agents_are_shown_as_they_are_in_both_reports(tmp_path: Path) -> None:
    player: Any = make_agent("random")
    player.name = "<script>alert(1)</script> | `x` [a](http://b)\n# heading"
    report = play(tmp_path, agents=[player, "random"], matrix_deals=0)
    for path in write_report(report, tmp_path):
        text = path.read_text(encoding="utf-8")
        assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text
    markdown = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert r"\| \`x\` \[a\](http://b) # heading" in markdown
    assert "\n# heading" not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| ") and "script" in line]
    assert rows


# Files


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_whole(path, "before")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            write_whole(path, "after")
    assert path.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]
    write_whole(path, b"after")
    assert path.read_bytes() == b"after"
