"""A session with people at it: what each of them may see and do, and the clock that lets agents play."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rs_env.arena.players import fair_baselines
from rs_env.web.desk import Advisers, Connection, Desk, Role
from rs_env.web.keeper import Keeper
from rs_env.web.messages import PACES, presets, rules_form
from rs_env.web.minds import Minds
from rs_env.web.replay import Replay
from rs_env.web.session import PERSON, Session
from rs_env.web.thinking import chances, choice, opinion, position_of

_SHOWN_EVENTS = 40
_SAVE_EVERY = 1.0  # seconds, at most, between a change and the file
_PATIENCE = 10.0  # seconds that an agent goes on thinking where no page is open; one may be on its way back

_log = logging.getLogger("rs_env.web")
_known_agents = cache(fair_baselines)


class Room(Desk):
    """A table, the links to it, and its clock, which runs while a page is open."""

    def __init__(
        self, session: Session, advisers: Advisers, minds: Minds, folder: Path | None, pace: float = 0.8
    ) -> None:
        """minds: where agents think. folder: where records go, None: nowhere. pace: seconds that an agent takes at
        least.
        """
        super().__init__(advisers)
        self.session, self.pace = session, pace
        self.links: dict[str, str] = {}
        self._minds, self._folder = minds, folder
        self._keeper = Keeper(session, folder)
        self._changed = asyncio.Event()
        self._clock: asyncio.Task[None] | None = None
        self._saver: asyncio.Task[None] | None = None
        self._replay: tuple[int, Replay] | None = None

    # Who sees what

    def _number(self, role: Role) -> int | None:
        """The number of the player whom a role is; None for one who only watches."""
        persons = self.session.persons
        return persons[role.person] if role.person is not None and role.person < len(persons) else None

    def hello(self, role: Role) -> dict[str, Any]:
        """What a page is told first."""
        told = {"type": "hello", "mode": "table", "control": role.control, "advisers": self.advisers.names}
        if role.control:
            told |= {
                "form": rules_form(),
                "presets": presets(),
                "known_agents": _known_agents(),
                "paces": PACES,
                "person": PERSON,
            }
        return told

    def state(self, role: Role) -> dict[str, Any]:
        """All that a page shows of the table."""
        session, number = self.session, self._number(role)
        turn = session.game.turn
        shown = session.story.events[-_SHOWN_EVENTS:]
        state = {
            "type": "state",
            "version": session.version,
            "seat": None if number is None else session.seat_of(number),
            "table": session.table(number).to_dict(),
            "agents": [session.players[session.player_at(seat)].agent for seat in range(session.rules.num_players)],
            "thinks": turn is not None and session.player_at(turn) not in session.persons and not session.failure,
            "paused": session.paused,
            "failure": session.failure,
            "pace": self.pace,
            "auto": number in session.auto,
            "events": [event.to_dict() for event in shown],
            "tally": session.tally(),
            "present": sorted(
                {session.seat_of(n) for c in self.connections if (n := self._number(c.role)) is not None}
            ),
            "open": session.game.is_over or (number is None and not session.persons),
            "told": session.told,
        }
        if role.control:
            state |= {
                "can_undo": session.can_undo,
                "links": self._shown_links(),
                "rules": session.rules.to_dict(),
                "players": [player.agent or PERSON for player in session.players],
            }
        return state

    def _shown_links(self) -> dict[str, str]:
        """The links that are of use: one for each other person, and one to watch."""
        persons = len(self.session.persons)
        return {name: link for name, link in self.links.items() if not name.isdigit() or int(name) < persons}

    # What pages ask for

    def join(self, connection: Connection) -> None:
        """A page has opened: the clock runs."""
        super().join(connection)
        if self._clock is None or self._clock.done():
            self._start_clock()
        self._tell()

    def leave(self, connection: Connection) -> None:
        """A page has closed; after the last one the clock stops."""
        super().leave(connection)
        self._tell()
        if not self.connections:
            asyncio.get_running_loop().call_later(_PATIENCE, self._stop_if_left)

    async def _take(self, connection: Connection, message: dict[str, Any]) -> None:
        """Do what a checked message asks for. Raises ValueError, with nothing changed, where that is not allowed."""
        kind, session, number = message["type"], self.session, self._number(connection.role)
        version = session.version
        if kind in ("play", "auto", "name"):
            if number is None:
                raise ValueError(f"{kind} is not allowed: you have no seat at this table")
            self._take_of_person(number, message)
        elif kind in ("pause", "pace", "undo", "deal", "setup"):
            if not connection.role.control:
                raise ValueError(f"{kind} is not allowed: only whoever runs the table can do that")
            self._take_of_host(message)
        elif kind == "hint":
            self._hint(connection, message["agent"], number)
            return
        elif kind == "know":
            self._know(connection, message["seat"], number)
            return
        else:
            if not session.game.is_over:
                raise ValueError(f"{kind} is not allowed: the game goes on")
            await self._look_back(connection, message, self._looked_at())
            return
        if self.session.version != version:
            for other in self.connections:
                other.give_up("hint")
        self._tell()

    def _take_of_person(self, number: int, message: dict[str, Any]) -> None:
        if message["type"] == "play":
            self.session.play(number, message["action"], message["version"])
        elif message["type"] == "name":
            self.session.rename(number, message["name"])
        elif message["on"]:
            self.session.auto.add(number)
        else:
            self.session.auto.discard(number)

    def _take_of_host(self, message: dict[str, Any]) -> None:
        kind, session = message["type"], self.session
        if kind == "pause":
            session.paused = message["on"]
            self._start_clock()  # what an agent thinks is given up
        elif kind == "pace":
            self.pace = message["seconds"]
        elif kind == "undo":
            session.undo()
            self._start_clock()
        elif kind == "deal":
            self._keep()
            session.deal(message["same"])
            self._keeper = Keeper(session, self._folder)
            self._start_clock()
        else:
            begun = Session(message["rules"], message["players"], message["seed"])
            self._keep()
            begun.version = session.version + 1  # what pages ask of the old table must not hit the new one
            self.session, self._keeper = begun, Keeper(begun, self._folder)
            self._start_clock()

    def _hint(self, connection: Connection, name: str, number: int | None) -> None:
        session = self.session
        self.advisers.check(name)
        turn = session.game.turn
        watches = number is None and not session.persons
        if turn is None or not (watches or (number is not None and session.seat_of(number) == turn)):
            raise ValueError("hint is not allowed: it is not your turn")
        position, version, sitting = position_of(session.game), session.version, session.sitting

        async def ask() -> dict[str, Any]:
            told = await self.advisers.ask(name, opinion, position, sitting)
            return {"type": "hint", "version": version, **told}

        self._think(connection, "hint", ask)

    def _know(self, connection: Connection, seat: int | None, number: int | None) -> None:
        session = self.session
        if number is not None:
            seat = session.seat_of(number)
        elif session.persons and not session.game.is_over:
            raise ValueError("know is not allowed: you have no seat at this table")
        if seat is None or seat >= session.rules.num_players:
            raise ValueError(f"seat={seat} is not allowed: it must be a seat of the table")
        view, version, viewer = session.game.view(seat), session.version, seat

        async def compute() -> dict[str, Any]:
            rows = await self.advisers.run(lambda: chances(view))
            return {"type": "know", "version": version, "seat": viewer, "chances": rows}

        self._think(connection, "know", compute)

    def _looked_at(self) -> Replay:
        if self._replay is None or self._replay[0] != self.session.version:
            session = self.session
            self._replay = session.version, Replay(session.story, session.names(), session.sitting)
        return self._replay[1]

    # The clock

    def _tell(self) -> None:
        """Something has changed: tell all pages, let the clock look."""
        self._changed.set()
        for connection in self.connections:
            connection.send(None)
        if self._saver is None or self._saver.done():
            self._saver = asyncio.get_running_loop().create_task(self._save_soon())

    def _start_clock(self) -> None:
        """Start the clock anew. An agent that thinks is not waited for, and its process is ended."""
        if self._clock is not None:
            self._clock.cancel()
        self._clock = asyncio.get_running_loop().create_task(self._run(self.session))

    def _stop_if_left(self) -> None:
        if not self.connections and self._clock is not None:
            self._clock.cancel()

    async def _run(self, session: Session) -> None:
        """Let agents play, and persons' turns without a choice, as long as anybody looks."""
        loop = asyncio.get_running_loop()
        while self.connections:
            self._changed.clear()
            begin, version, question = loop.time(), session.version, session.question()
            if question is None and session.forced() is None:
                await self._changed.wait()
                continue
            action = 0
            if question is not None:
                try:
                    action = await self._minds.think(choice, question.agent, question.position)
                except Exception as error:  # an agent may fail in any way; the game ends with it
                    _log.exception("an agent failed")
                    session.fail(question, error)
                    self._tell()
                    continue
            if not await self._wait(session, version, begin):
                continue
            if session.answer(question, action) if question is not None else session.take_forced(version):
                self._tell()

    async def _wait(self, session: Session, version: int, begin: float) -> bool:
        """Wait until an agent may play that was asked at `begin`; whether the position is still the same."""
        loop = asyncio.get_running_loop()
        while self.connections and session.version == version and not session.paused:
            rest = begin + self._delay() - loop.time()
            if rest <= 0:
                return True
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), rest)
        return False

    def _delay(self) -> float:
        """Seconds from one action to the next; longer after the end of a trick, which people want to see."""
        events = self.session.story.events
        return self.pace * (1.6 if events and events[-1].ends else 1.0)

    # Records

    async def _save_soon(self) -> None:
        await asyncio.sleep(_SAVE_EVERY)
        with self._told_if_it_fails():
            while (work := self._keeper.work()) is not None:
                await self.advisers.run(work)
                await asyncio.sleep(_SAVE_EVERY)

    def _keep(self) -> None:
        """Write the record now."""
        with self._told_if_it_fails():
            if (work := self._keeper.work()) is not None:
                work()

    @contextlib.contextmanager
    def _told_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # a disk that is full ends no game
            for connection in self.connections:
                connection.send({"type": "error", "message": f"the record is not written: {error}"})

    async def close(self) -> None:
        """Write the record; the clock stops."""
        await super().close()
        for task in (self._clock, self._saver):
            if task is not None:
                task.cancel()
        self._keep()
