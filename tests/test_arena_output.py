"""What the arena's commands print and write: files first, on every terminal, round numbers, open words about few
deals."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rs_env import Rules
from rs_env.arena import League, best_response, duel, league
from rs_env.arena.__main__ import main
from rs_env.arena.report import markdown
from rs_env.arena.report.html import page, round_step, round_ticks
from rs_env.arena.report.tables import two_digits
from rs_env.baselines import AGENTS, make_agent
from rs_env.command_line import terminal

SMALL = Rules(num_players=3, max_actions=60)
OPTIONS = ["--players", "3", "--max-actions", "60"]
COMMANDS = {
    "duel": ["duel", "réné", "random", "--deals", "3", *OPTIONS],
    "league": ["league", "--agents", "réné", "random", "--deals", "3", "--matrix-deals", "2", *OPTIONS],
    "best-response": ["best-response", "réné", "--deals", "2", "--worlds", "2", "--horizon", "10", *OPTIONS],
}


class Named:
    """Random under a name that an ASCII terminal cannot show."""

    name = "réné ± …"

    def __init__(self) -> None:
        self.player = make_agent("random")
        self.reset, self.act = self.player.reset, self.player.act


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGENTS, "réné", Named)


@contextmanager
def closed_pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Standard output whose reader has gone; not a fixture, since pytest sets the output anew between setup and
    test."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        yield


def reports_in(folder: Path) -> bool:
    return all((folder / name).stat().st_size > 500 for name in ("report.md", "report.html"))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_terminal_gets_text(command: str, encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(memory, encoding=encoding))
    assert main([*COMMANDS[command], "--out", str(tmp_path)]) == 0
    assert main(["report", str(tmp_path)]) == 0
    sys.stdout.flush()
    printed = memory.getvalue().decode(encoding)
    assert ("rene +- ..." if encoding == "ascii" else "réné ± …") in printed
    assert "Standings" in printed
    assert reports_in(tmp_path)
    assert "réné ± …" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_reports_are_written_though_nobody_reads_the_output(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closed_pipe(monkeypatch):
        assert main([*COMMANDS[command], "--out", str(tmp_path)]) == 0
        assert main(["report", str(tmp_path)]) == 0
    assert reports_in(tmp_path)


def test_help_may_be_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    with closed_pipe(monkeypatch):
        try:
            main(["league", "--help"])
        except SystemExit as end:
            assert end.code in (0, None)


def test_errors_with_any_letters_are_told_on_any_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(memory, encoding="ascii"))
    assert main(["duel", "Ünö", "random"]) == 2
    sys.stderr.flush()
    assert "agent 'Uno' is not known" in memory.getvalue().decode("ascii")


def test_a_closed_pipe_is_quiet_to_the_end_of_the_process() -> None:
    code = "from rs_env.command_line import terminal\nwith terminal(): print('one\\n' * 100_000)\nprint('two')"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(__file__).parents[1]
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stderr.close()


def test_what_has_no_plain_form_is_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(memory, encoding="ascii"))
    with terminal():
        print("5 ± 1 … naïve 石")
    assert memory.getvalue().decode() == "5 +- 1 ... naive ?\n"


# Few deals


def test_few_deals_are_said_wherever_an_interval_is() -> None:
    few, enough = (league(["random", "heuristic"], SMALL, deals=deals, matrix_deals=2) for deals in (10, 30))
    warnings = re.findall(r"only (\d+) deals", markdown(few))
    assert warnings == ["10", "2"]  # of the standings and of the matrix
    assert re.findall(r"only (\d+) deals", markdown(enough)) == ["2"]
    assert "only 10 deals" in str(duel("random", "heuristic", SMALL, deals=10))
    assert "only" not in str(duel("random", "heuristic", SMALL, deals=30))
    assert "only 2 deals" in str(best_response("random", SMALL, deals=2, worlds=1, horizon=2))


@pytest.mark.parametrize("limit", [4, 60])
def test_agents_that_have_won_nothing_have_intervals(limit: int) -> None:
    """No game won, for all were capped, and one win in ten deals: asymmetric, within 0..1, not points."""
    result = duel("random", "heuristic", Rules(num_players=3, max_actions=limit), deals=10)
    assert result.capped == 1 if limit == 4 else result.capped < 1
    for share, (low, high) in ((result.win_share, result.bounds), (result.share, result.share_bounds)):
        assert 0 <= low <= share < high <= 1
        assert high - low > 0.05
    assert result.win_share - result.bounds[0] < result.bounds[1] - result.win_share == result.interval
    (standing, _) = league(["random", "heuristic"], Rules(num_players=3, max_actions=limit), deals=10).standings
    assert standing.interval == max(standing.bounds[1] - standing.share, standing.share - standing.bounds[0]) > 0.05


def test_copies_of_a_player_have_exact_shares_but_not_exact_wins() -> None:
    capped = duel("random", "random", Rules(num_players=3, max_actions=4), deals=10)
    assert capped.share_bounds == (capped.share, capped.share) == (1 / 3, 1 / 3)
    assert capped.bounds[0] == capped.win_share == 0 < capped.bounds[1]
    share, low, high = league(["random", "low"], SMALL, deals=2, matrix_deals=3).matrix_bounds  # type: ignore[misc]
    assert (low.diagonal() == share.diagonal()).all()
    assert (high.diagonal() == share.diagonal()).all()
    assert low[0, 1] < share[0, 1] < high[0, 1]


def test_rating_of_an_agent_without_a_win_is_shown_as_a_limit() -> None:
    class Loser:
        """Wins nothing, as the games are made to say."""

        name = "loser"

        def __init__(self) -> None:
            self.player = make_agent("random")
            self.reset, self.act = self.player.reset, self.player.act

    result = league([Loser(), "random", "heuristic"], SMALL, deals=10)
    games = result.games
    lost = games["seating"] == 0
    games["credit"][lost] = 0
    assert "| below " in markdown(League(result.played))


# Numbers and pictures


def test_milliseconds_have_two_digits() -> None:
    assert [two_digits(x) for x in (0.0, 0.14912, 0.000166, 12.34, 1234.5, 0.0999)] == [
        "0",
        "0.15",
        "0.00017",
        "12",
        "1200",
        "0.1",
    ]
    result = league(["random", "heuristic"], SMALL, deals=3)
    column = [
        row.split("|")[-3].strip()
        for row in markdown(result).split("## ")[1].splitlines()
        if row.startswith(("| 1", "| 2"))
    ]
    assert len(column) == 2
    assert all(len(cell.replace(".", "").strip("0")) <= 2 for cell in column)


@pytest.mark.parametrize("top", [0.0137, 0.36, 1.0, 13, 60, 601, 801, 12_345])
def test_ticks_are_round_and_few(top: float) -> None:
    ticks = round_ticks(top)
    step = ticks[1]
    assert np.diff(ticks) == pytest.approx(np.full(len(ticks) - 1, step))
    assert f"{step:.0e}"[0] in "125"
    assert float(f"{step:.0e}") == pytest.approx(step)
    assert 5 <= len(ticks) <= 11
    assert top - step < ticks[-1] <= top


def test_steps_are_round() -> None:
    assert [round_step(x) for x in (1.0, 1.01, 2.5, 7)] == [1, 2, 5, 10]
    assert round_step(0.03) == pytest.approx(0.05)
    assert [round_step(x, whole=True) for x in (0.03, 1.5, 14)] == [1, 2, 20]


def test_histogram_has_round_ticks_and_whole_bins_with_every_game() -> None:
    result = league(["random", "heuristic"], Rules(num_players=3, max_actions=200), deals=40)
    drawing = page(result).split("<h2>How long games are</h2>")[1].split("</figure>")[0]
    counts, actions = (
        [int(t) for t in re.findall(rf'anchor="{anchor}">(\d+)</text>', drawing)] for anchor in ("end", "middle")
    )
    assert counts == round_ticks(counts[-1], min(4, counts[-1])).tolist()
    assert actions == round_ticks(actions[-1]).tolist()
    bars = {
        (int(a), int(b)): (int(e), int(c))
        for a, b, e, c in re.findall(r"<title>(\d+) to (\d+) actions: (\d+) ended, (\d+) capped", drawing)
    }
    games = result.games
    for (first, last), counts in bars.items():
        there = (first <= games["actions"]) & (games["actions"] <= last)
        assert counts == ((there & ~games["truncated"]).sum(), (there & games["truncated"]).sum())
    assert sum(map(sum, bars.values())) == len(games)
