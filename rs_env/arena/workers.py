"""The players at work: deals played in chunks, in this process or in several, handed over in order."""

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
from rs_env.arena.settings import How
from rs_env.arena.tables import games_per_deal, seatings
from rs_env.rules import Rules

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
    """Players that play any deals of a seed. Each is reset once, to a seed of its name."""

    def __init__(self, agents: Sequence[Agent | str], rules: Rules, seed: int, how: How) -> None:
        self.agents = build_agents(agents, how.fair, how.isolated)
        self.names = [agent.name for agent in self.agents]
        self.rules, self.seed, self._how = rules, seed, how
        for agent in self.agents:
            agent.reset(agent_seed(seed, agent.name))

    def play(self, table: str, first: int, last: int) -> Chunk:
        """Deals `first` .. `last` - 1 at tables of this kind."""
        deals = range(first, last)
        seating = np.concatenate(
            [seatings(table, len(self.agents), self.rules.num_players, self.seed, deal) for deal in deals]
        )
        indices = np.repeat(np.arange(first, last), len(seating) // len(deals))
        outcomes = play_games(
            self.rules, self.agents, seating % len(self.agents), self.seed, indices, fair=self._how.fair
        )
        games = games_of(self.rules, seating, indices, outcomes)
        written = self._how.out is not None
        lines = lines_of(self.rules, self.seed, table, self.names, games, outcomes) if written else []
        return Chunk(games, lines, outcomes.seconds, outcomes.asked)


class Workplace:
    """Where agents play: a context within which `play` hands over chunks in the order of their deals. crew: the players
    of this process.

    With ``how.processes`` 1 they play, otherwise crews in so many others, which are spawned, so that a script must
    start its work under ``if __name__ == "__main__"``. ``how.games_at_once``: in each process; None: 1024, or less
    where some process would have none.
    """

    def __init__(self, agents: Sequence[Agent | str], rules: Rules, seed: int, how: How) -> None:
        elsewhere = how.processes > 1
        self.crew = Crew(agents, rules, seed, replace(how, isolated=False) if elsewhere else how)
        self._how = how
        self._arguments = (agents, rules, seed, how)
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
        per_deal = games_per_deal(table, len(self.crew.agents), self.crew.rules.num_players)
        if self._how.games_at_once is not None:
            return max(1, self._how.games_at_once // per_deal)
        share = -(-deals // (_CHUNKS_PER_PROCESS * self._how.processes)) if self._how.processes > 1 else deals
        return max(1, min(GAMES_AT_ONCE // per_deal, share))


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
