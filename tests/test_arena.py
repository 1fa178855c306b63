"""The arena: equal players are equal, games are what they are said to be, and runs do not depend on how they are
played."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rs_env import Rules, read_records, replay
from rs_env.arena import League, duel, league, play_games
from rs_env.arena.__main__ import main
from rs_env.arena.games import UNITS
from rs_env.arena.report import markdown
from rs_env.arena.settings import Settings
from rs_env.arena.storage import read_folder
from rs_env.arena.tables import TABLES, seatings
from rs_env.baselines import AGENTS
from rs_env.cards import PICKUP
from rs_env.engine.state import STATE
from rs_env.engine.view import VIEW

SMALL = Rules(num_players=3, max_actions=60)
RULES = {
    "default": Rules(),
    "capped": Rules(max_actions=30),
    "three": SMALL,
    "seven": Rules(num_players=7, max_actions=120),
    "silent": Rules.preset("silent", num_players=3, silent_catch=0.9, max_actions=80),
    "places": Rules.preset("places", max_actions=150),
    "match": Rules.preset("penalty", num_players=3, max_actions=60, max_deals=4),
    "won match": Rules(num_players=2, target=2, max_actions=60),
}
MIXED = ["random", "heuristic", "random"]


class Lowest:
    """Takes the legal action of the lowest number, and remembers what it was given."""

    name = "lowest"

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def reset(self, seed: int | None) -> None:
        self.seed = seed

    def act(self, views: np.ndarray) -> np.ndarray:
        self.seen.append(views.copy())
        return np.array([(legal & -legal).bit_length() - 1 for legal in views["legal"].tolist()])


class Interrupted(Lowest):
    """Lowest, until Ctrl-C comes."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    def act(self, views: np.ndarray) -> np.ndarray:
        if len(self.seen) >= self.calls:
            raise KeyboardInterrupt
        return super().act(views)


class Peeker:
    """Sees all hands, and leads what the next player lacks."""

    name, cheats = "peeker", True

    def reset(self, seed: int | None) -> None:
        """Nothing is drawn."""

    def act_states(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        assert states.dtype == STATE
        actions = []
        for state in states:
            hand, led = int(state["hand"][state["turn"]]), int(state["led"])
            suit = 0x1FFF << 13 * led if led >= 0 else -1
            bits = hand & suit
            actions.append((bits & -bits).bit_length() - 1 if bits else PICKUP)
        return np.array(actions)


def bytes_of(folder: Path) -> bytes:
    return (folder / "games.jsonl").read_bytes()


# Fairness


@pytest.mark.parametrize("name", RULES)
def test_equal_players_have_exactly_equal_shares(name: str) -> None:
    rules = RULES[name]
    for table in ("one", "rest", "half"):
        result = duel("heuristic", "heuristic", rules, deals=6, table=table)
        assert result.share == result.parity == 1 / rules.num_players
        assert result.share_interval < 1e-12
        assert (result.capped > 0.3) == (name != "won match")
    for players in (2, 5):
        standings = league(["random"] * players, rules, deals=4).standings
        assert [s.share for s in standings] == [1 / rules.num_players] * players


@pytest.mark.parametrize("name", RULES)
def test_shares_of_each_game_add_up_to_one_and_follow_the_winner(name: str) -> None:
    rules = RULES[name]
    games = league(MIXED, rules, deals=12, matrix_deals=2).played.games
    for table in games.values():
        assert (table["credit"].sum(1) == UNITS).all()
        won = table["winner"] >= 0
        sole = table["credit"].max(1) == UNITS
        assert (table["credit"].argmax(1) == table["winner"])[won & sole].all()
        assert (table["credit"][~won] == UNITS // rules.num_players).all()
    result = league(MIXED, rules, deals=12)
    total = sum(s.share * s.games for s in result.standings)
    assert total == pytest.approx(len(result.games))
    assert sum(s.win_share * s.games for s in result.standings) == (result.games["winner"] >= 0).sum()


@pytest.mark.parametrize(("players", "n"), [(2, 4), (3, 4), (4, 4), (5, 4), (9, 4), (7, 3), (10, 8)])
def test_mixed_tables_are_balanced(players: int, n: int) -> None:
    met: set[tuple[int, int]] = set()
    for deal in range(60):
        rows = seatings("mixed", players, n, 3, deal)
        counts = np.array([[(rows[:, seat] == player).sum() for seat in range(n)] for player in range(players)])
        assert (counts == counts[:, :1]).all()  # everybody on each seat equally often
        assert counts.min() >= 1
        assert len(rows) == n * -(-players // n)
        for row in rows.tolist():
            assert len(set(row)) == min(n, players)
            met |= set(combinations(sorted(set(row)), 2))
    assert met == set(combinations(range(players), 2))
    assert not np.array_equal(seatings("mixed", 9, 4, 3, 0), seatings("mixed", 9, 4, 4, 0))


def test_seatings_of_two() -> None:
    assert seatings("one", 2, 3, 0, 0).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert seatings("rest", 2, 3, 0, 0).tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert len(seatings("half", 2, 4, 0, 0)) == 6
    assert len(seatings("half", 2, 5, 0, 0)) == 20
    matrix = seatings("matrix", 2, 3, 0, 0)
    assert sorted(map(tuple, np.sort(matrix, 1).tolist())) == sorted([(r, c, c) for r in (0, 1) for c in (2, 3)] * 3)


def test_matrix_agrees_with_duels() -> None:
    share, interval = league(["random", "heuristic"], SMALL, deals=2, matrix_deals=20).matrix  # type: ignore[misc]
    for row, column in ((0, 1), (1, 0)):
        expected = duel(["random", "heuristic"][row], ["random", "heuristic"][column], SMALL, deals=20)
        assert share[row, column] == pytest.approx(expected.share)
        assert interval[row, column] == pytest.approx(expected.share_interval)
    assert share.diagonal().tolist() == [1 / 3, 1 / 3]


def test_one_against_the_rest_is_the_rest_against_one() -> None:
    one = duel("random", "heuristic", SMALL, deals=10)
    rest = duel("heuristic", "random", SMALL, deals=10, table="rest")
    assert one.share + 2 * rest.share == pytest.approx(1)
    assert one.share != rest.share


def test_seeds_follow_names() -> None:
    agents = [Lowest(), Lowest()]
    agents[1].name = "other"
    seeds = set()
    for seed in (1, 2):
        for order in (agents, agents[::-1]):
            duel(*order, SMALL, deals=2, seed=seed)
            seeds |= {(seed, agent.name, agent.seed) for agent in agents}
    assert len(seeds) == 4
    assert len({seed for *_, seed in seeds}) == 4


def test_forced_turns_are_not_asked() -> None:
    agent = Lowest()
    result = league([agent, "random"], SMALL, deals=5)
    views = np.concatenate(agent.seen)
    assert all(legal & legal - 1 for legal in views["legal"].tolist())
    assert len(views) == result.games["decisions"][result.games["seating"] == 0].sum() == result.played.asked[0]
    assert views.dtype == VIEW


# Cheats


def test_agents_that_see_hands_are_refused() -> None:
    for play in (lambda: duel(Peeker(), "random"), lambda: league(["random", Peeker()])):  # type: ignore[arg-type, list-item]
        with pytest.raises(ValueError, match="'peeker' is not allowed: it sees all hands"):
            play()
    with pytest.raises(ValueError, match="'peeker'"):
        play_games(SMALL, [Peeker()], np.zeros((1, 3), int), 0, np.arange(1))  # type: ignore[list-item]


def test_agents_that_see_hands_play_when_allowed_and_are_marked(tmp_path: Path) -> None:
    result = league(["random", Peeker()], SMALL, deals=10, fair=False, out=tmp_path)  # type: ignore[list-item]
    assert [s.cheats for s in result.standings] == [False, True]
    assert "peeker (sees all hands)" in markdown(result)
    assert "peeker (sees all hands)" in markdown(League.read(tmp_path))


# Records


@pytest.mark.parametrize("name", RULES)
def test_games_replay_to_the_same_result(name: str, tmp_path: Path) -> None:
    rules = RULES[name]
    result = league(MIXED, rules, deals=4, seed=5, matrix_deals=2, out=tmp_path)
    records = list(read_records(tmp_path / "games.jsonl"))
    assert len(records) == sum(map(len, result.played.games.values()))
    for record in random.Random(0).sample(records, 12):
        game, arena = replay(record), record["arena"]
        assert game.is_over
        assert arena["cards"] == [len(hand) for hand in game.hands]
        assert arena["actions"] == sum(map(len, game.history))
        taken = [(seat, action) for deal in game.history for seat, action in deal]
        assert arena["pickups"] == [taken.count((seat, PICKUP)) for seat in range(rules.num_players)]
        assert arena["decisions"] == decisions_of(record)
        assert arena["players"] == [MIXED[player % 3] for player in arena["seating"]]
        assert sum(arena["places"]) == pytest.approx(rules.num_players * (rules.num_players + 1) / 2)
        if rules.target is None:
            assert [arena["places"][seat] for seat in game.out] == list(range(1, len(game.out) + 1))
    again = read_folder(tmp_path)
    assert all(np.array_equal(again.games[table], games) for table, games in result.played.games.items())


def decisions_of(record: dict[str, Any]) -> list[int]:
    """How often each seat had a choice, by playing the record again."""
    from rs_env import Game

    rules = Rules.from_dict(record["rules"])
    game = Game(rules, record["seed"], dealer=record["dealer"], index=record["index"])
    counts = [0] * rules.num_players
    for action in " ".join(record["actions"]).split():
        counts[game.turn] += len(game.legal_actions()) > 1  # type: ignore[index]
        game.play(action)
    return counts


# How it is played changes nothing


def test_chunks_and_processes_change_nothing(tmp_path: Path) -> None:
    results = {}
    for key, how in {"whole": {}, "few": {"games_at_once": 7}, "two": {"processes": 2, "games_at_once": 40}}.items():
        results[key] = league(MIXED, SMALL, deals=400, precision=0.03, matrix_deals=2, out=tmp_path / key, **how)
    assert results["whole"].deals < 400
    assert len(results["whole"].played.games["matrix"]) == 2 * 27
    for key in ("few", "two"):
        assert bytes_of(tmp_path / key) == bytes_of(tmp_path / "whole")
        assert all(
            np.array_equal(games, results["whole"].played.games[table])
            for table, games in results[key].played.games.items()
        )


def test_agents_that_cannot_be_sent_to_processes_are_refused() -> None:
    agent = Lowest()
    agent.act = lambda views: views  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="processes=2 is not allowed: agent 'lowest'"):
        league([agent, "random"], SMALL, deals=2, processes=2)


class Failing(Lowest):
    """Gives an illegal action, or ends its process."""

    def __init__(self, dies: bool) -> None:
        super().__init__()
        self.dies = dies

    def act(self, views: np.ndarray) -> np.ndarray:
        if self.dies:
            os._exit(1)
        return np.full(len(views), -1)


@pytest.mark.parametrize(
    ("dies", "error", "said"), [(False, ValueError, "'lowest' chose the illegal"), (True, ChildProcessError, "ended")]
)
def test_what_goes_wrong_in_a_process_is_told(dies: bool, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        league([Failing(dies), "random"], SMALL, deals=4, processes=2)


@pytest.mark.parametrize("games_at_once", [17, 1024])
def test_play_stops_when_intervals_are_narrow_enough(games_at_once: int, tmp_path: Path) -> None:
    wide = league(["random", "heuristic"], SMALL, deals=300)
    widths = [
        max(s.interval for s in league(["random", "heuristic"], SMALL, deals=deals).standings) for deals in (100, 200)
    ]
    assert widths[1] < widths[0]
    precise = {"precision": (widths[0] + widths[1]) / 2, "games_at_once": games_at_once, "out": tmp_path}
    result = league(["random", "heuristic"], SMALL, deals=300, **precise)  # type: ignore[arg-type]
    assert result.deals == 200
    assert np.array_equal(result.games, wide.games[: len(result.games)])
    assert len(bytes_of(tmp_path).splitlines()) == len(result.games)
    resumed = league(["random", "heuristic"], SMALL, deals=300, resume=True, **precise)  # type: ignore[arg-type]
    assert resumed.deals == 200


def test_an_interrupted_run_goes_on_to_the_same_end(tmp_path: Path) -> None:
    whole = league([Lowest(), "random"], SMALL, deals=20, matrix_deals=3, out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        league([Interrupted(200), "random"], SMALL, deals=20, matrix_deals=3, games_at_once=12, out=tmp_path / "part")
    assert 0 < len(bytes_of(tmp_path / "part")) < len(bytes_of(tmp_path / "whole"))
    result = league([Lowest(), "random"], SMALL, deals=20, matrix_deals=3, out=tmp_path / "part", resume=True)
    assert bytes_of(tmp_path / "part") == bytes_of(tmp_path / "whole")
    assert np.array_equal(result.games, whole.games)


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.93, 1.0])
def test_a_file_torn_anywhere_is_completed(kept: float, tmp_path: Path) -> None:
    league(MIXED, SMALL, deals=6, matrix_deals=1, out=tmp_path)
    before = bytes_of(tmp_path)
    (tmp_path / "games.jsonl").write_bytes(before[: int(kept * len(before))])
    league(MIXED, SMALL, deals=6, matrix_deals=1, out=tmp_path, resume=True)
    assert bytes_of(tmp_path) == before


def test_a_run_can_be_made_longer(tmp_path: Path) -> None:
    league(MIXED, SMALL, deals=3, out=tmp_path)
    longer = league(MIXED, SMALL, deals=8, out=tmp_path, resume=True)
    assert np.array_equal(longer.games, league(MIXED, SMALL, deals=8).games)


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    league(MIXED, SMALL, deals=3, out=tmp_path)
    before = bytes_of(tmp_path)
    with pytest.raises(ValueError, match="holds a run"):
        league(MIXED, SMALL, deals=3, out=tmp_path)
    for changes, named in (
        ({"seed": 1}, "seed=1"),
        ({"agents": ["random", "random"]}, "agents="),
        ({"rules": Rules()}, "rules="),
    ):
        with pytest.raises(ValueError, match=named):
            league(**{"agents": MIXED, "rules": SMALL, "deals": 5, "out": tmp_path, "resume": True, **changes})  # type: ignore[arg-type]
    lines = before.splitlines(keepends=True)
    damaged = b"".join([lines[0], b"{}\n", *lines[2:]])
    (tmp_path / "games.jsonl").write_bytes(damaged)
    with pytest.raises(ValueError, match="line 2"):
        league(MIXED, SMALL, deals=5, out=tmp_path, resume=True)
    assert bytes_of(tmp_path) == damaged


# Arguments


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"agents": ["random"]}, "agents="),
        ({"agents": "random"}, "agents='random'"),
        ({"agents": ["random", "nobody"]}, "nobody"),
        ({"deals": 1}, "deals=1"),
        ({"matrix_deals": -1}, "matrix_deals=-1"),
        ({"precision": 0}, "precision=0"),
        ({"precision": "x"}, "precision='x'"),
        ({"processes": 0}, "processes=0"),
        ({"games_at_once": 0}, "games_at_once=0"),
        ({"resume": True}, "resume=True"),
        ({"seed": -1}, "seed=-1"),
        ({"rules": "whist"}, "whist"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        league(**{"agents": MIXED, "rules": SMALL, "deals": 2, **arguments})


def test_wrong_table_is_refused() -> None:
    with pytest.raises(ValueError, match="table='mixed' is not allowed: table must be one of 'one', 'rest', 'half'"):
        duel("random", "random", table="mixed")
    assert set(TABLES) > {"one", "rest", "half"}


def test_plain_use_needs_no_extra() -> None:
    code = (
        # None of these can be imported.
        "import sys; sys.modules.update(dict.fromkeys(('rich', 'scipy', 'tyro', 'torch')));"
        "from rs_env.arena import duel, league;"
        "print(duel('random', 'heuristic', deals=2), league(['random'] * 2, deals=2).standings)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1]
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "random against 3 x heuristic" in done.stdout


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"deals": 1}, "deals=1 is not allowed"),
        ({"deals": True}, "deals=True is not allowed"),
        ({"matrix_deals": -1}, "matrix_deals=-1 is not allowed"),
        ({"precision": 1.0}, "precision=1.0 is not allowed"),
        ({"precision": "high"}, "precision='high' is not allowed"),
        ({"seed": 2**64}, "seed=18446744073709551616 is not allowed"),
        ({"table": "round"}, "table='round' is not allowed"),
        ({"rules": "penalty"}, "rules='penalty' is not allowed"),
        ({"agents": ["random"]}, r"agents=\('random',\) is not allowed"),
        ({"agents": ["random", 3]}, "agents=.* is not allowed"),
        ({"cheats": [False]}, r"cheats=\(False,\) is not allowed"),
    ],
)
def test_settings_check_themselves(changes: dict[str, Any], said: str) -> None:
    fine: dict[str, Any] = {"rules": SMALL, "seed": np.int64(1), "table": "mixed", "deals": np.int32(2)}
    fine |= {"agents": ["random", "low"], "cheats": [False, False]}
    assert type(Settings(**fine).deals) is type(Settings(**fine).seed) is int
    with pytest.raises(ValueError, match=said):
        Settings(**{**fine, **changes})


# Command line and pages


def test_command_line_writes_a_report_that_can_be_built_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["random", "heuristic"]
    game = ["--players", "3", "--max-actions", "60"]
    command = ["league", "--agents", *names, *game, "--deals", "20", "--matrix-deals", "3"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("Standings", "Matrix", *names))
    page, tables = (
        (tmp_path / "report.html").read_text(encoding="utf-8"),
        (tmp_path / "report.md").read_text(encoding="utf-8"),
    )
    assert League.read(tmp_path).rules == SMALL
    (tmp_path / "report.html").unlink()
    assert main(["report", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == tables
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["agents"] == names


def test_page_needs_nothing_else_and_names_everybody(tmp_path: Path) -> None:
    from html.parser import HTMLParser

    agents = [Lowest(), "random", "heuristic"]
    agents[0].name = "<b>&"  # type: ignore[union-attr]
    league(agents, SMALL, deals=10, matrix_deals=2, seed=77, out=tmp_path)  # type: ignore[arg-type]
    assert main(["report", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for forbidden in ("http", "<script", "<link", "<img", "src=", "url(", "@import", "<b>"):
        assert forbidden not in page
    opened: list[str] = []
    texts: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: opened.append(tag) if tag != "meta" else None  # type: ignore[method-assign]
    parser.handle_startendtag = lambda *_: None  # type: ignore[method-assign]
    parser.handle_endtag = lambda tag: (opened.pop() == tag) or pytest.fail(tag)  # type: ignore[method-assign]
    parser.handle_data = texts.append  # type: ignore[method-assign]
    parser.feed(page)
    assert opened == []  # all tags are closed, in order
    assert {"<b>&", "random", "heuristic", "77", "num_players=3, max_actions=60"} <= set(texts)
    assert "prefers-color-scheme: dark" in page


def test_command_line_duel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["duel", "heuristic", "random", "--deals", "10", "--table", "half"]) == 0
    assert "heuristic on half of the seats against random" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["duel", "nobody", "random"], "agent 'nobody' is not known"),
        (["duel", "random", "random", "--table", "x"], "table='x' is not allowed"),
        (["league", "--rules", "whist"], "preset='whist' is not allowed"),
        (["league", "--agents", "random", "random", "--trump", "x"], "trump='x' is not allowed"),
        (["league", "--agents", "random", "random", "--suits", "x"], "suits='x' is not allowed"),
        (["league", "--agents", "random", "random", "--deals", "1"], "deals=1 is not allowed"),
        (["league", "--agents", "random", "random", "--players", "9"], "num_players=9"),
        (["report", "no/such/folder"], "no/such/folder is no folder"),
    ],
)
def test_command_line_errors_are_one_clear_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1


def test_ctrl_c_on_the_command_line_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(AGENTS, "interrupted", lambda: Interrupted(3))
    assert main(["duel", "interrupted", "random", "--out", str(tmp_path)]) == 130
    assert "--resume" in capsys.readouterr().err
    assert read_folder(tmp_path).games == {}


def test_without_agents_all_fair_baselines_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "rs_env.arena.players.AGENTS", {"random": AGENTS["random"], "heuristic": AGENTS["heuristic"], "peeker": Peeker}
    )
    monkeypatch.setitem(AGENTS, "peeker", Peeker)
    assert league(rules=replace(SMALL, max_actions=20), deals=2).agents == ("random", "heuristic")
