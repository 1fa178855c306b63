"""The table in a terminal, and the commands."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from models import Broken, Slow, is_over
from rich.console import Console

from rs_env import Rules, replay
from rs_env.cards import PICKUP
from rs_env.web import minds, terminal
from rs_env.web.commands import Play, main
from rs_env.web.session import PERSON, Session
from rs_env.web.terminal import chosen, play_in_terminal

ROOT = Path(__file__).parents[1]
TABLE = [PERSON, "heuristic", "random", "heuristic"]


@pytest.fixture
def screen(monkeypatch: Any) -> Iterator[Console]:
    """A terminal of 80 columns whose text is kept."""
    console = Console(file=io.StringIO(), width=80, height=24, highlight=False)
    monkeypatch.setattr(terminal, "Console", lambda **more: console)
    yield console


def answers(monkeypatch: Any, *given: str) -> list[str]:
    """Answer so; after that the terminal is gone. The questions that were asked."""
    left, asked = list(given), []

    def ask(console: Console, prompt: Any) -> str:
        asked.append(str(prompt))
        if not left:
            raise EOFError
        return left.pop(0)

    monkeypatch.setattr(Console, "input", ask)
    return asked


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_answers_are_cards_numbers_and_p() -> None:
    legal = [5, 8, 21, PICKUP]  # 7c, Tc, Td
    for text, action in (
        ("7c", 5),
        ("7C", 5),
        (" tc ", 8),
        ("10c", 8),
        ("1", 5),
        ("3", 21),
        ("p", PICKUP),
        ("Pickup", PICKUP),
    ):
        assert chosen(text, legal) == action
    for text in ("", "0", "5", "8c", "pick", "7x", "²", "-1"):
        with pytest.raises(ValueError, match="you may play 1 or 7c, 2 or Tc, 3 or Td, 4 or pickup"):
            chosen(text, legal)


def test_a_whole_game_and_the_next_one(monkeypatch: Any, screen: Console, tmp_path: Path) -> None:
    session = Session(Rules(), TABLE, 1)
    asked = answers(monkeypatch, "?", "k", "h", "x", *["1"] * 60)
    play_in_terminal(session, tmp_path, 0.0, "heuristic")
    text = shown(screen)
    for told in ("undo, back to your last decision", "Chances in percent", "heuristic takes", "'x' is not allowed"):
        assert told in text
    assert "The end:" in text and "Games won:" in text and len(asked) > 10
    assert replay(json.loads(next(tmp_path.iterdir()).read_text())).is_over


def test_the_end_offers_new_cards_the_same_ones_and_an_undo(monkeypatch: Any, screen: Console) -> None:
    session = Session(Rules.preset("tiny"), [PERSON, "random"], 1)
    session.auto.add(0)

    def to_the_end() -> None:
        while not session.game.is_over:
            question = session.question()
            if question:
                session.answer(question, question.ask())
            else:
                session.play(0, session.game.legal_actions()[0], session.version)

    to_the_end()
    hands = replay(session.record()).decks
    answers(monkeypatch, "s", "q")
    play_in_terminal(session, None, 0.0, None)
    assert session.game.decks == hands and session.seat_of(0) == 1
    to_the_end()
    answers(monkeypatch, "u", "u", "h", "q")
    play_in_terminal(session, None, 0.0, None)
    assert not session.game.is_over and "There is no agent to ask" in shown(screen)


@pytest.mark.parametrize("rules", [Rules(num_players=8), Rules(num_players=2, ranks=13), Rules.preset("penalty")])
def test_the_table_fits_80_columns_and_24_lines(rules: Rules, monkeypatch: Any, screen: Console) -> None:
    session = Session(rules, [PERSON, *["random"] * (rules.num_players - 1)], 2)
    answers(monkeypatch, *["1"] * 25)
    drawn: list[str] = []
    draw = terminal._Terminal._draw

    def keep(self: Any) -> None:
        before = len(shown(screen))
        draw(self)
        drawn.append(shown(screen)[before:])

    monkeypatch.setattr(terminal._Terminal, "_draw", keep)
    play_in_terminal(session, None, 0.0, None)
    assert len(drawn) > 10
    for page in drawn:
        lines = page.splitlines()
        assert len(lines) <= 22 and max(map(len, lines)) <= 80


def test_others_cards_are_not_shown(monkeypatch: Any, screen: Console) -> None:
    session = Session(Rules(), TABLE, 3)
    answers(monkeypatch)
    play_in_terminal(session, None, 0.0, None)
    text, game = shown(screen), session.game
    signs = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
    played = {card for event in session.story.events for _, card in event.trick}
    for seat in range(1, 4):
        for card in set(game.hands[seat]) - set(game.known[seat]) - played:
            name = "23456789TJQKA"[card % 13] + "cdhs"[card // 13]
            assert name not in text and name[0] + signs[name[1]] not in text


def test_an_agent_that_fails_is_told_of(monkeypatch: Any, screen: Console, tmp_path: Path) -> None:
    session = Session(Rules(), TABLE, 3)
    session._agents = [None, *[Broken("no idea")] * 3]
    monkeypatch.setattr(minds, "answers_at_once", lambda agent: True)  # it needs no process to fail in
    answers(monkeypatch, "1", "q")
    play_in_terminal(session, tmp_path, 0.0, None)
    assert "broken failed: RuntimeError: no idea" in shown(screen)


def test_a_hint_that_fails_ends_no_game(monkeypatch: Any, screen: Console) -> None:
    monkeypatch.setattr(terminal, "as_agent", lambda name: Broken("no [idea]"))
    monkeypatch.setattr(minds, "answers_at_once", lambda agent: True)
    session = Session(Rules.preset("tiny"), [PERSON, "random"], 1)
    asked = answers(monkeypatch, "h", "q")
    play_in_terminal(session, None, 0.0, "broken")
    assert len(asked) == 2 and "broken failed: RuntimeError: no [idea]" in shown(screen)


def test_ctrl_c_gives_up_a_hint_and_the_process_that_thinks_about_it(
    monkeypatch: Any, screen: Console, tmp_path: Path
) -> None:
    slow = Slow(tmp_path)
    monkeypatch.setattr(terminal, "as_agent", lambda name: slow)
    asked, processes = answers(monkeypatch, "h", "q"), []

    def interrupt() -> None:
        processes.append(slow.thinks())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # as commands do; a job of a shell may ignore it
    try:
        threading.Thread(target=interrupt).start()
        play_in_terminal(Session(Rules(), TABLE, 1), None, 0.0, "slow")
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(asked) == 2 and "Given up." in shown(screen) and is_over(processes[0])


def test_a_hint_is_below_the_table_that_is_drawn_next(monkeypatch: Any, screen: Console) -> None:
    answers(monkeypatch, "h", "q")
    play_in_terminal(Session(Rules(), TABLE, 1), None, 0.0, "heuristic")
    assert shown(screen).rindex("heuristic takes") > shown(screen).rindex("out of play")


def test_a_folder_for_records_that_cannot_be_one_is_refused_before_the_first_deal(
    monkeypatch: Any, screen: Console, tmp_path: Path, capsys: Any
) -> None:
    asked = answers(monkeypatch, "q")
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    for out in (tmp_path / "file", tmp_path / "file" / "games"):
        assert main(Play, ["--text", "--rules", "tiny", "--out", str(out)], "test") == 2
        error = capsys.readouterr().err
        assert f"out='{out}'" in error and f"{tmp_path / 'file'} is no folder" in error
    assert not asked and (tmp_path / "file").read_text(encoding="utf-8") == "kept"


def test_the_command_plays_and_keeps_the_game(monkeypatch: Any, screen: Console, tmp_path: Path, capsys: Any) -> None:
    answers(monkeypatch, "1", "q")
    folder = tmp_path / "games"
    arguments = [
        "--text",
        "--rules",
        "schweller",
        "--players",
        "3",
        "--agents",
        "random",
        "heuristic",
        "--out",
        str(folder),
    ]
    assert main(Play, [*arguments, "--seed", "5"], "test") == 0
    record = json.loads(next(folder.iterdir()).read_text())
    assert record["players"] == ["Player", "random", "heuristic"] and record["seed"] == 5
    for wrong, told in (
        (["--people", "5"], "people=5"),
        (["--people", "2"], "one person at most"),
        (["--agents", "nobody"], "'nobody' is not known"),
        (["--agents", "sees_all"], "it sees all hands"),
        (["--pace", "-1"], "pace"),
        (["--advisers", "nobody"], "'nobody' is not known"),
    ):
        assert main(Play, ["--text", "--out", "None", *wrong], "test") == 2
        assert told in capsys.readouterr().err


def run(*arguments: str, stubs: Path, **missing: str) -> subprocess.CompletedProcess[str]:
    for module, error in missing.items():
        (stubs / f"{module}.py").write_text(f"raise ImportError({error!r})", encoding="utf-8")
    path = os.pathsep.join(map(str, (stubs, ROOT)))
    command = [sys.executable, "-m", "rs_env", *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, cwd=stubs, env=environment, capture_output=True, text=True, check=False, input="q\n")


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    done = run("play", "--no-browser", stubs=tmp_path, starlette="no starlette")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "pip install 'rs_env[web]'" in done.stderr
    done = run("play", "--text", "--out", "None", stubs=tmp_path)
    assert done.returncode == 0 and "your turn" in done.stdout
    done = run("watch", "x", stubs=tmp_path, tyro="no tyro")
    assert done.returncode == 2 and "pip install 'rs_env[web]'" in done.stderr


def test_nothing_of_it_is_loaded_by_the_package() -> None:
    unwanted = ("starlette", "uvicorn", "websockets", "rich", "rs_env.web")
    code = f"import sys, rs_env; print([m for m in sys.modules if m.startswith({unwanted})])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
