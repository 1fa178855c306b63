"""Sittings: what an agent remembers is its own seat's, of the deals of one sitting, and changes nothing else."""

from __future__ import annotations

import gc
import itertools
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import Model

from rs_env import Game
from rs_env.agent import ask, ask_to_remember, check_is_agent, wants_memories
from rs_env.arena import League, duel, league, play_games
from rs_env.arena.league import compare
from rs_env.arena.report import markdown
from rs_env.arena.settings import How, Plan
from rs_env.arena.sitting import Memories
from rs_env.arena.statistics import share_bounds
from rs_env.baselines import make_agent
from rs_env.cards import members, parse_action
from rs_env.history import Histories
from rs_env.isolation import Isolated
from rs_env.rules import Rules
from rs_env.testing import AgentError, check_agent

SMALL = Rules(num_players=3, suits=3, ranks=4, max_actions=60)


class Diary(Model):
    """Remembers a number that depends on all deals of its seat in their order, and chooses by it."""

    name = "diary"

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, int, bytes]] = []  # seat, memory and history so far of each view
        self.told: list[tuple[int, int, bytes]] = []  # the same of each deal that has ended

    def act(  # type: ignore[override]
        self,
        views: np.ndarray,
        seeds: np.ndarray | None = None,
        histories: Histories | None = None,
        memories: np.ndarray | None = None,
    ) -> np.ndarray:
        memories = self.new_memories(len(views)) if memories is None else memories
        if histories is not None:
            self.asked += entries(views, histories, memories)
        choices = [members(view["legal"]) for view in views]
        return np.array([c[int(row) % len(c)] for c, row in zip(choices, memories["number"], strict=True)])

    def new_memories(self, count: int) -> np.ndarray:
        return np.zeros(count, [("number", np.uint32)])

    def remember(self, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
        assert not views["legal"].any() and views["status"].all()
        self.told += entries(views, histories, memories)
        after = memories.copy()
        after["number"] = [added(int(m), e.tobytes()) for m, e in zip(memories["number"], histories, strict=True)]
        return after


def entries(views: np.ndarray, histories: Histories, memories: np.ndarray) -> Iterator[tuple[int, int, bytes]]:
    rows = zip(views["seat"].tolist(), memories["number"].tolist(), histories, strict=True)
    return ((seat, number, events.tobytes()) for seat, number, events in rows)


def added(number: int, events: bytes) -> int:
    return zlib.crc32(events, number)


def deals_in(folder: Path, sitting: int) -> list[tuple[int, list[int], bytes]]:
    """Sitting, seating and events of each game, in the order in which they were written."""
    found = []
    for line in (folder / "games.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        events = bytes(parse_action(text) for text in record["actions"][0].split())
        found.append((record["index"] // sitting, record["arena"]["seating"], events))
    return found


@pytest.mark.parametrize("players", [2, 4])
def test_each_seat_remembers_each_of_its_deals_once_and_no_others(players: int, tmp_path: Path) -> None:
    """Whatever an agent is asked or told comes with the memory of the deals that its seat has played in the sitting."""
    diary = Diary()
    if players == 2:
        duel(diary, "random", SMALL, deals=12, sitting=4, out=tmp_path)
    else:
        league([diary, "random", "low", "longest"], SMALL, deals=12, sitting=4, out=tmp_path)
    numbers: dict[tuple[Any, ...], int] = {}
    asked, told = set(diary.asked), []
    for sitting, seating, events in deals_in(tmp_path, 4):
        for seat in [seat for seat, player in enumerate(seating) if player == 0]:
            place = (sitting, *seating, seat)
            number = numbers.get(place, 0)
            told.append((seat, number, events))
            asked -= {entry for entry in asked if entry[:2] == (seat, number) and events.startswith(entry[2])}
            numbers[place] = added(number, events)
    assert sorted(told) == sorted(diary.told)
    assert not asked and diary.asked
    assert len(set(numbers.values())) == len(numbers)


def test_without_sittings_nothing_is_remembered() -> None:
    diary = Diary()
    duel(diary, "random", SMALL, deals=4)
    assert not diary.told and {number for _, number, _ in diary.asked} == {0}


@pytest.mark.parametrize("table", ["one", "half", "mixed"])
def test_sittings_change_nothing_for_agents_that_remember_nothing(table: str) -> None:
    once, together = (
        compare(["heuristic", "low"], Plan(rules=SMALL, seed=3, table=table, deals=8, sitting=sitting), How())
        for sitting in (1, 4)
    )
    if table == "mixed":  # they meet at other tables, which stay together
        seatings = together.games["seating"].reshape(2, 4, -1)
        assert (seatings == seatings[:, :1]).all()
    else:
        assert np.array_equal(once.games, together.games)
    assert np.array_equal(once.games["deal"], together.games["deal"])


def test_games_do_not_depend_on_how_sittings_are_played(tmp_path: Path) -> None:
    def play(name: str, **how: Any) -> bytes:
        agents = ["adaptive:worlds=4,iterations=12", "low"]
        league(agents, SMALL, deals=8, matrix_deals=4, sitting=4, out=tmp_path / name, **how)
        return (tmp_path / name / "games.jsonl").read_bytes()

    whole = play("whole")
    assert play("small", games_at_once=1) == whole
    assert play("two", processes=2) == whole
    for kept in (0.4, 0.7):
        (tmp_path / "two" / "games.jsonl").write_bytes(whole[: int(kept * len(whole))])
        assert play("two", resume=True) == whole
    read = League.read(tmp_path / "two")
    assert read.settings.sitting == 4 and len(read.games) == 8 * 3
    with pytest.raises(ValueError, match=r"sitting=2 is not allowed: the run .* sitting=4"):
        league(["adaptive:worlds=4,iterations=12", "low"], SMALL, deals=8, sitting=2, out=tmp_path / "two", resume=True)


def test_a_sitting_cut_short_is_played_again(tmp_path: Path) -> None:
    league(["random", "low"], SMALL, deals=8, sitting=4, out=tmp_path)
    lines = (tmp_path / "games.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "games.jsonl").write_bytes(b"".join(lines[:-1]))
    assert np.unique(League.read(tmp_path).games["deal"]).tolist() == [0, 1, 2, 3]
    (tmp_path / "games.jsonl").write_bytes(b"".join(lines[:3] + lines[6:9] + lines[3:6] + lines[9:]))
    with pytest.raises(ValueError, match="line 4: it is out of place: here must be deal 1"):
        League.read(tmp_path)


def test_intervals_come_from_sittings() -> None:
    result = compare(["heuristic", "random"], Plan(rules=SMALL, seed=1, table="one", deals=40, sitting=4), How())
    credit = np.where(result.games["seating"] == 0, result.games["credit"], 0).sum(1) / 840
    values = credit.reshape(10, -1).mean(1)[:, None]
    assert result.standings[0].bounds == pytest.approx(share_bounds(values.mean(0), values)[:, 0])
    assert len(result.deal_shares) == 10 and result.deals == 40
    assert "from means per sitting; only 10 sittings, fewer than 30" in markdown(result)
    assert "only 10 sittings" in str(duel("heuristic", "random", SMALL, deals=40, sitting=4))


def test_shares_in_the_course_of_a_sitting() -> None:
    result = compare(["heuristic", "random"], Plan(rules=SMALL, seed=1, table="one", deals=48, sitting=12), How())
    number = result.games["deal"] % 12 + 1
    credit = np.where(result.games["seating"] == 0, result.games["credit"], 0).sum(1) / 840
    blocks = [(first, last) for first, last, *_ in result.sitting_shares]
    assert blocks == [(1, 2), (3, 5), (6, 10), (11, 12)]
    for first, last, share, (low, high) in result.sitting_shares:
        assert share[0] == pytest.approx(credit[(first <= number) & (number <= last)].mean())
        assert low[0] < share[0] < high[0]
    assert "## Shares in the course of a sitting" in markdown(result)
    assert "course of a sitting" not in markdown(league(["random", "low"], SMALL, deals=2))


# Agents that remember what they should not, or not at all


class Forgetting(Diary):
    remember = None  # type: ignore[assignment]


class Widening(Diary):
    def remember(self, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
        return memories["number"].astype(np.float64)


class Hiding(Diary):
    def new_memories(self, count: int) -> np.ndarray:
        return np.zeros(count, [("number", object)])


class Scribbling(Diary):
    def remember(self, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
        memories["number"] = 1
        return memories


class Fickle(Diary):
    """Remembers how often it was told anything."""

    times = 0

    def remember(self, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
        self.times += 1
        after = memories.copy()
        after["number"] = self.times
        return after


class Mixing(Diary):
    """Takes what it is told together for one table."""

    def remember(self, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
        after = super().remember(views, histories, memories)
        after["number"] = after["number"].sum()
        return after


class Peeking(Diary):
    """Remembers the hands of games that it finds in memory."""

    def remember(self, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
        after = memories.copy()
        games = [found for found in gc.get_objects() if type(found) is Game]
        after["number"] = sum(zlib.crc32(game.states["hand"].tobytes()) for game in games) % 1000
        return after


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (Widening, "remembers float64 of shape .* must give"),
        (Hiding, "gave .* as new memories: .* without objects"),
        (Scribbling, "writes to its views or histories or memories"),
        (Fickle, "not reproducible: of the same deals"),
        (Mixing, "depends on those told beside it"),
        (Peeking, "not blind: told of one deal"),
    ],
)
def test_each_fault_of_a_memory_is_named(agent: type[Diary], said: str) -> None:
    check_agent(Diary(), positions=20)
    with pytest.raises(AgentError, match=said):
        check_agent(agent(), positions=20)


def test_an_agent_that_cannot_remember_is_refused() -> None:
    assert wants_memories(Diary()) and wants_memories(make_agent("adaptive")) and not wants_memories(Model())
    with pytest.raises(ValueError, match=r"parameter memories, so it must have .* no remember"):
        check_is_agent(Forgetting())


def test_an_isolated_agent_remembers_as_it_does_here() -> None:
    there = Isolated(Diary())
    assert wants_memories(there) and there.new_memories(3).shape == (3, 4)  # type: ignore[arg-type]
    results = [duel(agent, "low", SMALL, deals=8, sitting=4) for agent in (Diary(), there)]
    assert results[0] == results[1] != duel(Diary(), "low", SMALL, deals=8)
    check_agent(there, positions=20)
    for agent, said in (
        (Isolated(Widening()), "ValueError: .* remembers float64"),
        (Isolated(Hiding()), "without objects"),
    ):
        with pytest.raises(RuntimeError, match=said):
            duel(agent, "low", SMALL, deals=4, sitting=2)
        agent.close()
    there.close()


# The adaptive player


def sits_among(others: list[str], deals: int, agent: Any, memories: Memories | None, first: int = 0) -> Memories:
    """The agent on seat 0 among others for some deals, and what is known after these."""
    players = [agent, *map(make_agent, others)]
    seating = np.arange(4)[None]
    memories = Memories(players, seating) if memories is None else memories
    for deal in range(first, first + deals):
        play_games(Rules(), players, seating, 5, np.array([deal]), memories=memories)
    return memories


def types_of(agent: Any, memories: Memories) -> list[dict[str, float]]:
    """How likely each other seat is of each type, clockwise from the agent."""
    (row,) = memories.of(0, np.zeros(1, np.int64), np.zeros(1, np.int64))  # type: ignore[misc]
    return [dict(zip(agent._model.names, seat, strict=True)) for seat in row[1:4].tolist()]


def test_the_adaptive_player_gets_to_know_others_and_notices_who_changes() -> None:
    agent: Any = make_agent("adaptive:worlds=24,iterations=30")
    memories = sits_among(["low"] * 3, 4, agent, None)
    assert all(seat["low"] > 0.9 for seat in types_of(agent, memories))
    sits_among(["low", "dumper", "low"], 3, agent, memories, first=4)
    assert [max(seat, key=seat.get) for seat in types_of(agent, memories)] == ["low", "dumper", "low"]  # type: ignore[arg-type]
    for kind, seat in itertools.product(range(len(agent._model.names)), types_of(agent, memories)):
        assert list(seat.values())[kind] >= agent.change * agent.new_memories(1)[0, 0, kind] > 0


def test_what_is_remembered_changes_what_the_adaptive_player_does() -> None:
    agent = make_agent("adaptive:worlds=16,iterations=60")
    memories = sits_among(["low"] * 3, 3, agent, None)
    (row,) = memories.of(0, np.zeros(1, np.int64), np.zeros(1, np.int64))  # type: ignore[misc]
    views, _ = opening_views(40)
    known = np.repeat(row[None], 40, 0)
    blank = agent.new_memories(40)  # type: ignore[attr-defined]
    assert np.array_equal(ask(agent, views), ask(agent, views, memories=blank))
    chosen = ask(agent, views, memories=known)
    assert np.array_equal(chosen, ask(agent, views, memories=known.copy()))
    assert (chosen != ask(agent, views)).any()


def opening_views(count: int) -> tuple[np.ndarray, Histories]:
    games = [Game(seed=seed) for seed in range(count)]
    return np.array([game.view(game.turn) for game in games]), Histories.of(games)


def test_memories_are_turned_with_the_seat() -> None:
    """Whoever sits at the left is at the left of any seat."""
    agent, turned = make_agent("adaptive:worlds=24,iterations=30,types=low+dumper+random+longest"), []
    for seat in range(4):
        players = [make_agent(name) for name in ("low", "dumper", "random", "longest")]
        players.insert(0, agent)
        seating = np.roll([0, 1, 2, 3], seat)[None]  # low, dumper and random, clockwise from the agent
        memories = Memories(players, seating)
        for deal in range(2):
            play_games(Rules(), players, seating, 7, np.array([deal]), memories=memories)
        (row,) = memories.of(0, np.zeros(1, np.int64), np.array([seat]))  # type: ignore[misc]
        names: Any = agent._model.names  # type: ignore[attr-defined]
        turned.append([names[kind] for kind in row[1:4].argmax(1)])
    assert turned.count(["low", "dumper", "random"]) >= 3, turned


@pytest.mark.parametrize(
    "wrong", [np.zeros((1, 8, 7)), np.ones((2, 8, 7)), np.full((1, 8, 7), np.nan), np.ones((1, 7))]
)
def test_memories_of_another_form_are_refused(wrong: np.ndarray) -> None:
    views, _ = opening_views(1)
    with pytest.raises(ValueError, match=r"memories: float64 of shape .* is not allowed: they must be probabilities"):
        make_agent("adaptive:worlds=4,iterations=12").act(views, memories=wrong)  # type: ignore[call-arg]
    agent = make_agent("adaptive:worlds=4,iterations=12")
    with pytest.raises(ValueError, match="histories: number 0 does not lead to its view"):
        short = Histories(np.full((1, 3), 52, np.uint8), np.array([3]))
        ask_to_remember(agent, views, short, agent.new_memories(1))  # type: ignore[attr-defined]


def test_nobody_is_ever_ruled_out_however_long_they_sit_together() -> None:
    """Without change between deals likelihoods go to 0 and 1: what is remembered stays a memory all the same."""
    agent, other = make_agent("adaptive:worlds=4,iterations=1"), make_agent("low")
    agent.change = 0.0
    memories = agent.new_memories(1)
    for deal in range(40):
        game = Game(seed=deal)
        while not game.is_over:
            game.play(other.act(game.view(game.turn))[0])
        memories = agent.remember(np.array([game.view(0)]), Histories.of([game]), memories)
    assert memories.min() > 0 and memories.max() <= 1 and memories[0, 1].max() > 0.99
    for change in (-1.0, float("nan"), 2.0):
        agent.change = change
        with pytest.raises(ValueError, match="change"):
            agent.remember(np.array([game.view(0)]), Histories.of([game]), memories)
