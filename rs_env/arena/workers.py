"""The players at work: sittings played in chunks, in this process or by an executor's workers, handed over in order."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from threading import local
from typing import Any

import numpy as np

from rs_env.agent import Agent
from rs_env.arena.games import games_of, lines_of
from rs_env.arena.play import play_games
from rs_env.arena.players import agent_seed, build_agents
from rs_env.arena.settings import How, Plan
from rs_env.arena.sitting import Memories
from rs_env.arena.tables import games_per_deal, seatings
from rs_env.executors import executor_of, in_order

GAMES_AT_ONCE = 1024
_CHUNKS_PER_PROCESS = 4  # at least, so that all have something to do to the end
_worker = local()  # the crew of this thread, and the job that it is for


@dataclass(frozen=True)
class Chunk:
    """Games of some deals, as records and (if asked for) as lines; seconds (k,) and decisions asked (k,) of each
    player.
    """

    games: np.ndarray
    lines: list[str]
    seconds: np.ndarray
    asked: np.ndarray


class Crew:
    """Players that play any deals of a plan. Each is reset once, to a seed of its name."""

    def __init__(self, agents: Sequence[Agent | str], plan: Plan, how: How) -> None:
        self.agents = build_agents(agents, how.fair, how.isolated)
        self.names = [agent.name for agent in self.agents]
        self.plan, self._how = plan, how
        for agent in self.agents:
            agent.reset(agent_seed(plan.seed, agent.name))

    def play(self, table: str, first: int, last: int) -> Chunk:
        """Deals `first` .. `last` - 1, whole sittings, at tables of this kind."""
        plan, k = self.plan, len(self.agents)
        sittings = np.arange(first // plan.sitting, last // plan.sitting)
        seating = np.concatenate([seatings(table, k, plan.rules.num_players, plan.seed, int(s)) for s in sittings])
        begin = np.repeat(plan.sitting * sittings, len(seating) // len(sittings))  # the first deal at each table
        memories = Memories(self.agents, seating % k) if plan.sitting > 1 else None
        parts = [self._play_deal(table, seating, begin + number, memories) for number in range(plan.sitting)]
        games = np.concatenate([part.games for part in parts])
        lines = [line for part in parts for line in part.lines]
        order = np.argsort(games["deal"], kind="stable")
        seconds, asked = sum(part.seconds for part in parts), sum(part.asked for part in parts)
        return Chunk(games[order], [lines[i] for i in order] if lines else [], seconds, asked)  # type: ignore[arg-type]

    def _play_deal(self, table: str, seating: np.ndarray, deals: np.ndarray, memories: Memories | None) -> Chunk:
        """One deal at each table."""
        rules, seed, players = self.plan.rules, self.plan.seed, seating % len(self.agents)
        outcomes = play_games(rules, self.agents, players, seed, deals, fair=self._how.fair, memories=memories)
        games, lines = games_of(rules, seating, deals, outcomes), []
        if self._how.out is not None:
            lines = lines_of(rules, seed, table, self.plan.sitting, self.names, games, outcomes)
        return Chunk(games, lines, outcomes.seconds, outcomes.asked)


@contextmanager
def at_work(how: How) -> Iterator[How]:
    """The same with an executor that is open within, or without any where this process plays alone."""
    if how.executor is not None or not how.elsewhere:
        yield how
        return
    # Daemons may have no processes of their own, which isolated agents need.
    with executor_of(how.processes, how.cluster, daemon=not how.isolated) as (executor, places):
        yield replace(how, cluster=None, executor=executor, processes=places)


class Workplace:
    """Where agents play: a context within which `play` hands over chunks in the order of their deals, of whole
    sittings. crew: the players of this process.

    They play, unless `how` has others: see `How`. ``how.games_at_once``: in each piece of work; None: 1024, or less
    where some worker would have none; games of a sitting count, though they are played one after the other.
    """

    def __init__(self, agents: Sequence[Agent | str], plan: Plan, how: How) -> None:
        self._how, self._elsewhere = how, how.elsewhere
        self.crew = Crew(agents, plan, replace(how, isolated=False) if self._elsewhere else how)
        self._job = _job_of(agents, plan, how) if self._elsewhere else b""
        self._context = ExitStack()

    def __enter__(self) -> Workplace:
        self._how = self._context.enter_context(at_work(self._how))
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def play(self, table: str, first: int, last: int) -> Iterator[Chunk]:
        """Chunks of the deals `first` .. `last` - 1."""
        size = self._deals_at_once(table, last - first)
        pieces = ((table, start, min(start + size, last)) for start in range(first, last, size))
        if self._how.executor is None:
            return (self.crew.play(*piece) for piece in pieces)
        named = ((self._job, *piece) for piece in pieces)
        return in_order(self._how.executor, play_piece, named, self._how.processes)

    def _deals_at_once(self, table: str, deals: int) -> int:
        plan = self.crew.plan
        per_deal = games_per_deal(table, len(self.crew.agents), plan.rules.num_players)
        if self._how.games_at_once is not None:
            most = self._how.games_at_once // per_deal
        else:
            share = -(-deals // (_CHUNKS_PER_PROCESS * self._how.processes)) if self._elsewhere else deals
            most = min(GAMES_AT_ONCE // per_deal, share)
        return max(1, most // plan.sitting) * plan.sitting


def _job_of(agents: Sequence[Agent | str], plan: Plan, how: How) -> bytes:
    """What a worker needs to get a crew together. Raises ValueError, naming the agent, for one that cannot be sent."""
    for agent in agents:
        try:
            pickle.dumps(agent)
        except Exception as error:
            name: Any = agent if isinstance(agent, str) else agent.name
            raise ValueError(
                f"{how.elsewhere} is not allowed: agent {name!r} cannot be sent to a process ({error})"
            ) from None
    return pickle.dumps((agents, plan, replace(how, executor=None, cluster=None, processes=1)))


def play_piece(job: bytes, table: str, first: int, last: int) -> Chunk:
    """At a worker: deals `first` .. `last` - 1 of a job. The crew waits for the next piece; each thread has its own."""
    if getattr(_worker, "job", None) != job:
        _worker.job = None  # the crew before it goes first, with its processes
        _worker.crew = None
        _worker.crew = Crew(*_sent(job))
        _worker.job = job
    return _worker.crew.play(table, first, last)


def _sent(job: bytes) -> tuple[Any, ...]:
    try:
        return pickle.loads(job)
    except (AttributeError, ImportError) as error:
        raise ValueError(f"agents: a worker cannot load one of them, whose module it lacks ({error})") from None
