"""How soon the browser's table answers: many games at once on one server, from a message to the state that it makes.

python benchmarks/web.py --games 50 --seconds 10

A real server on this machine, a websocket for each game, a person against three rule-based agents without a pace. Each
client plays its turns at random, as fast as it can after a pause, and measures the time from sending an action to the
state that shows it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import socket
import statistics
import threading
import time
from typing import Any

import uvicorn
from websockets.asyncio.client import connect

from rs_env import Rules
from rs_env.web.server import Hall, application
from rs_env.web.session import PERSON, Session


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--agent", default="heuristic", help="who sits on the other seats")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds in which a client thinks, in the mean")
    given = parser.parse_args()
    _compile(given.agent)
    hall = Hall(["heuristic"])
    rooms = [
        hall.add_room(Session(Rules(), [PERSON, *[given.agent] * 3], seed), None, 0.0) for seed in range(given.games)
    ]
    with _served(hall) as port:
        times = asyncio.run(_all(port, [room.links["host"] for room in rooms], given.seconds, given.pause))
    times.sort()
    print(
        f"{given.games} games, {len(times)} actions in {given.seconds:g} s: from click to answer"
        f" median {1000 * statistics.median(times):.1f} ms, 95 % {1000 * times[int(0.95 * len(times))]:.1f} ms,"
        f" longest {1000 * times[-1]:.1f} ms"
    )


def _compile(agent: str) -> None:
    """A game without a server, so that nothing is compiled while times are taken."""
    session = Session(Rules(), [agent] * 4, 0)
    while (question := session.question()) is not None:
        session.answer(question, question.ask())
        session.table(0)


@contextlib.contextmanager
def _served(hall: Hall) -> Any:
    """A server in a thread; its port."""
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        listening.listen(256)
        config = uvicorn.Config(application(hall), log_level="warning", ws="websockets-sansio")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


async def _all(port: int, links: list[str], seconds: float, pause: float) -> list[float]:
    """The times of all clients."""
    end = time.perf_counter() + seconds
    each = await asyncio.gather(*(_client(port, link, end, pause, seed) for seed, link in enumerate(links)))
    return [took for times in each for took in times]


async def _client(port: int, link: str, end: float, pause: float, seed: int) -> list[float]:
    """Play until the end; how long each action took."""
    rng, times, sent = random.Random(seed), [], (0.0, -1)
    address = f"ws://localhost:{port}/socket{link.removeprefix('/')}"
    async with connect(address, origin=f"http://localhost:{port}", compression=None) as page:
        async for text in page:
            message = json.loads(text)
            if message["type"] != "state":
                continue
            if message["version"] > sent[1] >= 0:
                times.append(time.perf_counter() - sent[0])
                sent = (0.0, -1)
            if time.perf_counter() > end:
                break
            table = message["table"]
            if table["result"] is not None:
                await page.send('{"type": "deal", "same": false}')
            elif table["turn"] == message["seat"] and sent[1] < 0:
                await asyncio.sleep(rng.expovariate(1 / pause))
                sent = (time.perf_counter(), message["version"])
                action = rng.choice(table["legal"])
                await page.send(json.dumps({"type": "play", "action": action, "version": message["version"]}))
    return times


if __name__ == "__main__":
    main()
