"""The server: the page, its files, and a websocket for each page that is open.

A page is let in by the token in its address. Browsers are let in only from the server's own address, so that no other
page can use a token, and the page loads nothing from elsewhere. What a message asks for is done by the `Desk` to which
the token leads.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

try:
    import websockets  # noqa: F401  # what uvicorn talks to pages with
    from starlette.applications import Starlette
    from starlette.datastructures import MutableHeaders
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import FileResponse, PlainTextResponse, Response
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket, WebSocketDisconnect
except ImportError as error:
    raise ImportError(
        f"the page needs Starlette, uvicorn and websockets ({error}): pip install 'rs_env[web]'"
    ) from None

from rs_env.rules import MAX_PLAYERS
from rs_env.web.desk import Advisers, Connection, Desk, Role, Shelf
from rs_env.web.messages import read
from rs_env.web.minds import Minds
from rs_env.web.replay import Library
from rs_env.web.room import Room
from rs_env.web.session import Session

STATIC = Path(__file__).parent / "static"
MOST_CONNECTIONS = 200
"""Pages that may be open at once."""

LOCAL = ("localhost", "127.0.0.1")
"""Names of this machine for itself."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
_TRY_LATER, _NOT_ALLOWED = 1013, 1008  # codes of closed websockets, RFC 6455 and its registry


class Hall:
    """All tables and shelves of a server, by token.

    advisers: names of the agents that pages may ask. threads: how many agents think at once, and how many threads do
    all else that takes time.
    """

    def __init__(self, advisers: Sequence[str], threads: int = 4) -> None:
        """Raises ValueError for what is no agent."""
        self.minds = Minds(threads)
        self.threads = ThreadPoolExecutor(threads, "desk")
        self.advisers = Advisers(advisers, self.minds, self.threads)
        self._places: dict[str, tuple[Desk, Role]] = {}

    def add_room(self, session: Session, folder: Path | None = None, pace: float = 0.8) -> Room:
        """A new table. `Room.links` has its addresses: "host" for whoever runs it and sits as the first person, "1" to
        "7" for the other persons, "watch" for those who only look.
        """
        room = Room(session, self.advisers, self.minds, folder, pace)
        roles = {"host": Role(0, True), "watch": Role(None, False)}
        roles |= {str(person): Role(person, False) for person in range(1, MAX_PLAYERS)}
        room.links = {name: self._add(room, role) for name, role in roles.items()}
        return room

    def add_shelf(self, library: Library) -> str:
        """Games to look back at; their address."""
        return self._add(Shelf(library, self.advisers), Role(None, False))

    def _add(self, desk: Desk, role: Role) -> str:
        token = secrets.token_urlsafe(16)
        self._places[token] = desk, role
        return f"/?token={token}"

    def find(self, token: str | None) -> tuple[Desk, Role] | None:
        """Where a token leads; None for one that there is not."""
        return self._places.get(token or "")

    def connections(self) -> int:
        """How many pages are open."""
        return sum(len(desk.connections) for desk in self._desks())

    def _desks(self) -> set[Desk]:
        return {desk for desk, _ in self._places.values()}

    async def close(self) -> None:
        """Write all records; agents that still think are ended."""
        for desk in self._desks():
            await desk.close()
        self.minds.close()
        self.threads.shutdown(wait=False, cancel_futures=True)


def application(hall: Hall, hosts: Sequence[str] = LOCAL) -> Starlette:
    """The server's application. hosts: names under which it may be asked; ``"*"``: any."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await hall.close()

    async def page(request: Request) -> Response:
        if hall.find(request.query_params.get("token")) is None:
            return PlainTextResponse("This address is not complete: its token is missing or wrong.\n", 403)
        return FileResponse(STATIC / "index.html")

    async def socket(websocket: WebSocket) -> None:
        place = hall.find(websocket.query_params.get("token"))
        if place is None or not _is_same_origin(websocket):
            await websocket.close(_NOT_ALLOWED)  # before it is accepted: the browser sees 403
            return
        await websocket.accept()
        if hall.connections() >= MOST_CONNECTIONS:
            await websocket.send_json(_error(f"too many pages are open: {MOST_CONNECTIONS} are allowed"))
            await websocket.close(_TRY_LATER)
            return
        await _serve(websocket, *place)

    return Starlette(
        routes=[
            Route("/", page),
            WebSocketRoute("/socket", socket),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)), Middleware(_Secured)],
        lifespan=lifespan,
    )


def _is_same_origin(websocket: WebSocket) -> bool:
    """Whether the page that asks came from this server, which browsers tell and pages cannot forge."""
    return urlsplit(websocket.headers.get("origin", "")).netloc == websocket.headers.get("host", "?")


def _error(told: str) -> dict[str, Any]:
    return {"type": "error", "message": told}


async def _serve(websocket: WebSocket, desk: Desk, role: Role) -> None:
    """Talk with a page until it is closed."""
    connection = Connection(role)
    connection.send(desk.hello(role))
    desk.join(connection)
    writer = asyncio.create_task(_write(websocket, desk, connection))
    try:
        await _listen(websocket, desk, connection)
    finally:
        desk.leave(connection)
        writer.cancel()
        with contextlib.suppress(asyncio.CancelledError, RuntimeError, WebSocketDisconnect):
            await writer


async def _listen(websocket: WebSocket, desk: Desk, connection: Connection) -> None:
    """Take messages. One that is wrong is answered with an error, and changes nothing."""
    while (received := await websocket.receive())["type"] != "websocket.disconnect":
        try:
            text = received.get("text")
            if text is None:
                raise ValueError("message: it must be text")
            await desk.take(connection, read(text))
        except (ValueError, OSError, ImportError) as error:  # of a file that is gone, or an extra that an agent needs
            connection.send(_error(str(error)))


async def _write(websocket: WebSocket, desk: Desk, connection: Connection) -> None:
    """Send what waits. The state is made at the moment when it is sent, so that a slow page skips old ones."""
    while True:
        message = await connection.next()
        if message is None:
            message = desk.state(connection.role)
        if message is not None:
            await websocket.send_json(message)


class _Secured:
    """Adds the headers that keep a page to itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)
