"""The players at work: sittings played in chunks, in this process or in several, handed over in order."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, cast

import numpy as np

from rs_env.agent import Agent
from rs_env.arena.games import games_of, lines_of
from rs_env.arena.play import play_games
from rs_env.arena.players import agent_seed, build_agents
from rs_env.arena.settings import How, Plan
from rs_env.arena.sitting import Memories
from rs_env.arena.tables import games_per_deal, seatings

GAMES_AT_ONCE = 1024
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_CHUNKS_PER_PROCESS = 4  # at least, so that all have something to do to the end


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


class Workplace:
    """Where agents play: a context within which `play` hands over chunks in the order of their deals, of whole
    sittings. crew: the players of this process.

    With ``how.processes`` 1 they play, otherwise crews in so many others, which are spawned, so that a script must
    start its work under ``if __name__ == "__main__"``. ``how.games_at_once``: in each process; None: 1024, or less
    where some process would have none; games of a sitting count, though they are played one after the other.
    """

    def __init__(self, agents: Sequence[Agent | str], plan: Plan, how: How) -> None:
        elsewhere = how.processes > 1
        self.crew = Crew(agents, plan, replace(how, isolated=False) if elsewhere else how)
        self._how = how
        self._arguments = (agents, plan, how)
        self._workers: dict[Connection, SpawnProcess] = {}
        self._running: dict[Connection, int] = {}  # number of the job that each is at
        self._jobs = 0  # given out so far
        for agent in agents if elsewhere else ():
            _check_sendable(agent, how.processes)

    def __enter__(self) -> Workplace:
        try:
            with one_thread_in_each():
                for _ in range(self._how.processes if self._how.processes > 1 else 0):
                    self._start()
            for connection in self._workers:
                _send(connection, self._arguments)  # agents may start processes, which one that is being born cannot
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy the locks of Numba's threads
        ours, theirs = context.Pipe()
        # Daemons may have no processes of their own, which isolated agents need.
        process = context.Process(target=_work, args=(theirs,), daemon=not self._how.isolated)
        process.start()
        self._workers[ours] = process
        theirs.close()  # so that ours ends when the process does

    def __exit__(self, *_: object) -> None:
        for connection, process in self._workers.items():
            process.terminate()
            process.join()
            connection.close()

    def play(self, table: str, first: int, last: int) -> Iterator[Chunk]:
        """Chunks of the deals `first` .. `last` - 1."""
        size = self._deals_at_once(table, last - first)
        jobs = ((table, start, min(start + size, last)) for start in range(first, last, size))
        return self._play_elsewhere(jobs) if self._workers else (self.crew.play(*job) for job in jobs)

    def _play_elsewhere(self, jobs: Iterator[tuple[str, int, int]]) -> Iterator[Chunk]:
        """Chunks in the order of the jobs; what is still played of jobs given out before is dropped when it comes."""
        due = self._jobs
        finished: dict[int, Chunk] = {}
        while True:
            for connection in self._workers.keys() - self._running.keys():
                job = next(jobs, None)
                if job is not None:
                    _send(connection, job)
                    self._running[connection] = self._jobs
                    self._jobs += 1
            if due == self._jobs:
                return
            for ready in cast(list[Connection], wait(list(self._running))):
                finished[self._running.pop(ready)] = _received(ready)
            while due in finished:
                yield finished.pop(due)
                due += 1

    def _deals_at_once(self, table: str, deals: int) -> int:
        plan = self.crew.plan
        per_deal = games_per_deal(table, len(self.crew.agents), plan.rules.num_players)
        if self._how.games_at_once is not None:
            most = self._how.games_at_once // per_deal
        else:
            share = -(-deals // (_CHUNKS_PER_PROCESS * self._how.processes)) if self._how.processes > 1 else deals
            most = min(GAMES_AT_ONCE // per_deal, share)
        return max(1, most // plan.sitting) * plan.sitting


@contextmanager
def one_thread_in_each() -> Iterator[None]:
    """Processes started within compute on one thread each, where the environment does not say otherwise.

    As many threads in each as there are cores would wait for one another. Libraries of linear algebra, torch's and
    NumPy's among them, read these variables once, when they are loaded. A new process may load them before it comes to
    any line of this module, with its main module or the agents; so it has to be born with the variables.
    """
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _check_sendable(agent: Any, processes: int) -> None:
    try:
        pickle.dumps(agent)
    except Exception as error:
        raise ValueError(
            f"processes={processes} is not allowed: agent {agent.name!r} cannot be sent to a process ({error})"
        ) from None


def _work(connection: Connection) -> None:
    """In a process of its own: get a crew together and play the jobs that come, until no more do.

    An error is sent as what came of a job; RuntimeError is that of an isolated agent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process, which ends this one
    try:
        try:
            crew = Crew(*connection.recv())
        except (ValueError, RuntimeError) as error:
            connection.send(error)
            return
        while True:
            job = connection.recv()
            try:
                connection.send(crew.play(*job))
            except (ValueError, RuntimeError) as error:
                connection.send(error)
    except (EOFError, BrokenPipeError):  # the main process is gone
        return


def _send(connection: Connection, content: Any) -> None:
    """Send it; that the other process has ended shows when its answer is waited for."""
    with suppress(ConnectionError):
        connection.send(content)


def _received(connection: Connection) -> Chunk:
    try:
        result = connection.recv()
    except (EOFError, ConnectionError):
        raise ChildProcessError(
            "a process that was to play has ended; if it left no error above, it was killed"
        ) from None
    if isinstance(result, Exception):
        raise result
    return result
