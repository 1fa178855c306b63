"""Where pages ask: connections, what tokens allow, agents that give their opinion, and games to look back at.

All of it happens in one thread, that of the event loop. Agents think in processes (`rs_env.web.minds`), and exact
probabilities are computed and games read in other threads, from copies: whatever takes long, pages are answered.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from rs_env.agent import Agent, wants_memories
from rs_env.baselines import as_agent
from rs_env.cards import action_text
from rs_env.web.minds import Minds
from rs_env.web.replay import Library, Replay
from rs_env.web.thinking import Position, Sitting, choice, memories_after, opinion

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
        self.questions: dict[str, asyncio.Task[dict[str, Any]]] = {}  # by type, those that are being thought about
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

    def give_up(self, *kinds: str) -> None:
        """Wait no longer for answers to questions of these kinds, or to all; the page is told."""
        for kind in kinds or tuple(self.questions):
            if kind in self.questions:
                self.questions[kind].cancel()

    async def next(self) -> dict[str, Any] | None:
        """The next message, as soon as there is one."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.popleft()


class Advisers:
    """Agents that are asked for their opinion."""

    def __init__(self, names: Sequence[str], minds: Minds, threads: ThreadPoolExecutor) -> None:
        """minds: where they think. threads: for all else. Raises ValueError for what is no agent."""
        self.names = list(dict.fromkeys(names))
        self._agents: dict[str, Agent] = {name: as_agent(name) for name in self.names}
        self._minds, self._threads = minds, threads

    def check(self, name: str) -> None:
        """Raise ValueError unless there is an adviser of that name."""
        if name not in self._agents:
            raise ValueError(f"agent={name!r} is not allowed: it must be one of {', '.join(self.names)}")

    async def ask(self, name: str, work: Callable[[Agent, Position], T], position: Position, sitting: Sitting) -> T:
        """What `work` makes of the adviser and a position, in which it remembers the sitting."""
        self.check(name)
        agent = self._agents[name]
        if sitting.games and wants_memories(agent):
            if name not in sitting.known:
                sitting.known[name] = await self._minds.think(memories_after, agent, Sitting(sitting.games))
            position = position._replace(memories=sitting.known[name][position.views["seat"]])
        return await self._minds.think(work, agent, position)

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
        """A page has closed; nobody waits for what it has asked."""
        self.connections.discard(connection)
        connection.give_up()

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
        if message["type"] == "stop":
            connection.give_up("hint", "think", "compare")
        else:
            await self._take(connection, message)

    async def _take(self, connection: Connection, message: dict[str, Any]) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        """Nobody will come any more."""
        for connection in self.connections:
            connection.give_up()

    def _think(
        self, connection: Connection, kind: str, work: Callable[[], Coroutine[Any, Any, dict[str, Any]]]
    ) -> None:
        """Let a page's question be answered. Raises ValueError while one of the same kind is."""
        if kind in connection.questions:
            raise ValueError(f"{kind} is not allowed now: the question before this one is still being thought about")

        def tell(task: asyncio.Task[dict[str, Any]]) -> None:
            del connection.questions[kind]
            if task.cancelled():
                connection.send({"type": "stopped", "question": kind})
            elif (error := task.exception()) is not None:  # an agent may fail in any way; the page is told
                connection.send({"type": "error", "message": f"{type(error).__name__}: {error}"})
            else:
                connection.send(task.result())

        task = connection.questions[kind] = asyncio.get_running_loop().create_task(work())
        task.add_done_callback(tell)

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
                asked = [await self.advisers.ask(name, opinion, position, replay.sitting) for name in message["agents"]]
                return {**head, "opinions": asked}

            self._think(connection, kind, ask_all)
        else:
            if kind in connection.questions:
                connection.give_up(kind)
                await asyncio.wait([connection.questions[kind]])
            self._think(connection, kind, lambda: self._compare(connection, {**message, "chosen": None}, replay))

    async def _compare(self, connection: Connection, told: dict[str, Any], replay: Replay) -> dict[str, Any]:
        """What two agents choose at every decision of a game; the page is told of each as it comes."""
        for at in range(replay.length):
            position = replay.question(at)
            if position is not None:
                chosen = [await self.advisers.ask(name, choice, position, replay.sitting) for name in told["agents"]]
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

    async def _take(self, connection: Connection, message: dict[str, Any]) -> None:
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
