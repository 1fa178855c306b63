"""Where agents think: in processes, which are ended when nobody waits for the answer any more.

A search may take minutes, and within a process nothing can stop it. Rules of thumb and networks answer at once, and do
so here: most tables need no process at all.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from rs_env.agent import Agent
from rs_env.baselines.network_players import NetworkAgent
from rs_env.baselines.rule_based import RuleBasedAgent
from rs_env.executors import Process

_AT_ONCE = (RuleBasedAgent, NetworkAgent)

T = TypeVar("T")


def answers_at_once(agent: Agent) -> bool:
    """Whether the agent takes no time worth speaking of, and may think in any thread."""
    return isinstance(agent, _AT_ONCE)


class Mind:
    """One process in which agents think, one question after the other; it starts with the first one."""

    def __init__(self) -> None:
        self._process: Process | None = None

    @property
    def runs(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    def start(self) -> None:
        """Start the process, if none runs."""
        if self._process is None:
            self._process = Process(with_main=False)

    def think(self, work: Callable[..., T], agent: Agent, *arguments: Any) -> T:
        """What `work` makes of an agent and arguments, all of which travel pickled; an agent that answers at once does
        so here.

        Raises what `work` raises, and ChildProcessError where the process has ended. Where anything else interrupts it,
        such as Ctrl-C, the process is ended.
        """
        if answers_at_once(agent):
            return work(agent, *arguments)
        call = pickle.dumps((work, (agent, *arguments), {}))
        self.start()
        assert self._process is not None
        try:
            done, result = self._process.do(call)
        except BaseException as error:
            self.end()
            if isinstance(error, (EOFError, OSError)):
                raise ChildProcessError("its process has ended") from None
            raise
        if not done:
            raise result
        answer: T = result
        return answer

    def end(self) -> None:
        """End the process, whatever it is at. Any thread may do that."""
        process, self._process = self._process, None
        if process is not None:
            process.end()


class Minds:
    """Minds of an event loop, so many at most; whoever comes when all of them think waits for one."""

    def __init__(self, most: int) -> None:
        self._places = asyncio.Semaphore(most)
        self._waiting = ThreadPoolExecutor(most, "mind")  # threads that wait for a process
        self._at_once = ThreadPoolExecutor(1, "rule of thumb")
        self._idle: list[Mind] = []
        self._busy: set[Mind] = set()

    async def think(self, work: Callable[..., T], agent: Agent, *arguments: Any) -> T:
        """See `Mind.think`. Cancelled, it ends the process."""
        loop = asyncio.get_running_loop()
        if answers_at_once(agent):
            return await loop.run_in_executor(self._at_once, partial(work, agent, *arguments))
        async with self._places:
            mind = self._idle.pop() if self._idle else Mind()
            self._busy.add(mind)
            try:
                mind.start()  # here, so that it can be ended from now on
                return await loop.run_in_executor(self._waiting, partial(mind.think, work, agent, *arguments))
            except asyncio.CancelledError:
                mind.end()
                raise
            finally:
                self._busy.discard(mind)
                if mind.runs:
                    self._idle.append(mind)

    def close(self) -> None:
        """End all processes."""
        for mind in (*self._idle, *self._busy):
            mind.end()
        self._waiting.shutdown(wait=False, cancel_futures=True)
        self._at_once.shutdown(wait=False, cancel_futures=True)
