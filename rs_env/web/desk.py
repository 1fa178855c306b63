"""Where pages ask: connections, what tokens allow, agents that give their opinion, and games to look back at.

All of it happens in one thread, that of the event loop. Only agents and exact probabilities are computed in others,
from copies, and games are read in others: whatever takes long, pages are answered.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from rs_env.agent import Agent
from rs_env.baselines import as_agent
from rs_env.cards import action_text
from rs_env.web.replay import Library, Replay
from rs_env.web.thinking import choice, opinion

ADVISERS = ("expert", "heuristic", "pimc", "ismcts", "adaptive")
"""Agents that pages can ask, if the command names no others."""

_WAITING = 4096  # messages that a page has not taken yet; it gets no more
_REPLAYS = 8  # games that are kept ready

T = TypeVar("T")


@dataclass(frozen=True)
class Role:
    """What a token is good for. person: the number of the person whose cards it shows, in order of the seats, or None.
    control: whether it runs the table.
    """

    person: int | None
    control: bool


class Connection:
    """One page that is open, and what it is to be sent."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self.questions: dict[str, asyncio.Task[None]] = {}  # by type, those that are being thought about
        self.comparison = 0  # number of the newest; earlier ones stop
        self._waiting: deque[dict[str, Any] | None] = deque()
        self._filled = asyncio.Event()

    def send(self, message: dict[str, Any] | None) -> None:
        """Queue a message; None stands for the newest state, which is made when it is sent, and so waits but once. A
        page that takes nothing gets no more.
        """
        if (message is None and None in self._waiting) or len(self._waiting) >= _WAITING:
            return
        self._waiting.append(message)
        self._filled.set()

    async def next(self) -> dict[str, Any] | None:
        """The next message, as soon as there is one."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.popleft()


class Advisers:
    """Agents that are asked for their opinion, one question at a time each, in threads."""

    def __init__(self, names: Sequence[str], threads: ThreadPoolExecutor) -> None:
        """Raises ValueError for what is no agent."""
        self.names = list(dict.fromkeys(names))
        self._agents: dict[str, Agent] = {name: as_agent(name) for name in self.names}
        self._locks = {name: asyncio.Lock() for name in self.names}
        self._threads = threads

    def check(self, name: str) -> None:
        """Raise ValueError unless there is an adviser of that name."""
        if name not in self._agents:
            raise ValueError(f"agent={name!r} is not allowed: it must be one of {', '.join(self.names)}")

    async def ask(self, name: str, work: Callable[[Agent], T]) -> T:
        """What `work` makes of the adviser."""
        self.check(name)
        async with self._locks[name]:
            return await self.run(lambda: work(self._agents[name]))

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` gives, done in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


class Desk:
    """What rooms and shelves share: connections, and questions that take time, one for each page at once."""

    def __init__(self, advisers: Advisers) -> None:
        self.advisers = advisers
        self.connections: set[Connection] = set()

    def join(self, connection: Connection) -> None:
        """A page has opened."""
        self.connections.add(connection)

    def leave(self, connection: Connection) -> None:
        """A page has closed."""
        self.connections.discard(connection)

    def hello(self, role: Role) -> dict[str, Any]:
        """What a page is told first."""
        raise NotImplementedError

    def state(self, role: Role) -> dict[str, Any] | None:
        """What a page is told after every change; None where nothing changes by itself."""
        raise NotImplementedError

    async def take(self, connection: Connection, message: dict[str, Any]) -> None:
        """Do what a checked message asks for. The page's next message waits for it, those of others do not. Raises
        ValueError, with nothing changed, where that is not allowed.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Nobody will come any more."""

    def _think(
        self, connection: Connection, kind: str, work: Callable[[], Coroutine[Any, Any, dict[str, Any]]]
    ) -> None:
        """Let a page's question be answered. Raises ValueError while one of the same kind is."""
        if kind in connection.questions:
            raise ValueError(f"{kind} is not allowed now: the question before this one is still being thought about")

        async def answer() -> None:
            try:
                told = await work()
            except Exception as error:  # an agent may fail in any way; the page is told
                told = {"type": "error", "message": f"{type(error).__name__}: {error}"}
            del connection.questions[kind]
            connection.send(told)

        connection.questions[kind] = asyncio.get_running_loop().create_task(answer())

    async def _look_back(self, connection: Connection, message: dict[str, Any], replay: Replay) -> None:
        """Answer a question about a game that is over. Raises ValueError for what is not allowed."""
        kind, head = message["type"], {key: message[key] for key in message.keys() & {"type", "game", "at", "seat"}}
        for name in message.get("agents", ()):
            self.advisers.check(name)
        if kind == "game":
            connection.send({**head, **replay.outline()})
        elif kind == "position":
            connection.send({**head, "table": replay.position(message["at"], message["seat"])})
        elif kind == "chances":
            rows = await self.advisers.run(partial(replay.chances, message["at"], message["seat"]))
            connection.send({**head, "chances": rows})
        elif kind == "think":
            position = replay.question(message["at"])
            if position is None:
                connection.send({**head, "opinions": []})
                return

            async def ask_all() -> dict[str, Any]:
                work = partial(opinion, position=position)
                return {**head, "opinions": [await self.advisers.ask(name, work) for name in message["agents"]]}

            self._think(connection, kind, ask_all)
        else:
            connection.comparison += 1
            number = connection.comparison
            self._think(
                connection,
                f"compare {number}",
                lambda: self._compare(connection, number, {**message, "chosen": None}, replay),
            )

    async def _compare(
        self, connection: Connection, number: int, told: dict[str, Any], replay: Replay
    ) -> dict[str, Any]:
        """What two agents choose at every decision of a game; the page is told of each as it comes."""
        for at in range(replay.length):
            position = replay.question(at)
            if connection not in self.connections or number != connection.comparison:
                break
            if position is not None:
                chosen = [await self.advisers.ask(name, partial(choice, position=position)) for name in told["agents"]]
                connection.send({**told, "at": at, "chosen": [action_text(action) for action in chosen]})
        return {**told, "at": None}


class Shelf(Desk):
    """Games to look back at. Each page goes its own way, so nothing is told to all."""

    def __init__(self, library: Library, advisers: Advisers) -> None:
        super().__init__(advisers)
        self._library = library
        self._replays: dict[int, Replay] = {}

    def hello(self, role: Role) -> dict[str, Any]:
        """What a page is told first."""
        return {
            "type": "hello",
            "mode": "watch",
            "control": role.control,
            "advisers": self.advisers.names,
            "file": self._library.name,
            "games": len(self._library),
        }

    def state(self, role: Role) -> None:
        """Nothing changes by itself."""

    async def take(self, connection: Connection, message: dict[str, Any]) -> None:
        """Answer a question about a game. Raises ValueError for anything else."""
        number = message.get("game")
        if number is None:
            raise ValueError(f"{message['type']} is not allowed: these games are over")
        if number not in self._replays:
            replay = await self.advisers.run(partial(self._library.game, number))
            while len(self._replays) >= _REPLAYS:
                self._replays.pop(next(iter(self._replays)))
            self._replays[number] = replay
        await self._look_back(connection, message, self._replays[number])
