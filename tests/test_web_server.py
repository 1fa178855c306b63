"""What pages are let in, what they are sent, and what bad messages do: nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
testclient = pytest.importorskip("starlette.testclient")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

# ruff: noqa: E402  # what is below needs what was asked for above
from hidden import resampled
from models import Slow, is_over
from starlette.websockets import WebSocketDisconnect

from rs_env import Rules, replay, write_records
from rs_env.web import server
from rs_env.web.messages import LARGEST, MESSAGES
from rs_env.web.replay import Library
from rs_env.web.room import Room
from rs_env.web.server import Hall, application
from rs_env.web.session import PERSON, Session

HERE = "http://localhost"
TABLE = [PERSON, "heuristic", "random", "heuristic"]


@pytest.fixture
def hall() -> Hall:
    return Hall(["heuristic", "random"], threads=2)


@pytest.fixture
def client(hall: Hall) -> Iterator[Any]:
    with testclient.TestClient(application(hall), HERE) as made:
        yield made


class Page:
    """An open page."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.send_text = socket.send_text
        self.hello = self.get("hello")
        self.state = self.get("state") if self.hello["mode"] == "table" else {}

    def get(self, kind: str) -> dict[str, Any]:
        """The next message of this type; states on the way are kept in mind."""
        while True:
            message: dict[str, Any] = json.loads(self._socket.receive_text())
            if message["type"] == "state":
                self.state = message
            if message["type"] == kind:
                return message
            assert message["type"] in ("state", "error"), message

    def send(self, kind: str, **fields: Any) -> None:
        self.send_text(json.dumps({"type": kind, **fields}))

    def refused(self, kind: str, **fields: Any) -> str:
        """What the server says against a message."""
        self.send(kind, **fields)
        return str(self.get("error")["message"])

    def until_turn(self) -> dict[str, Any]:
        """The state in which the page's seat is to act, or the game is over."""
        while self.state["table"]["turn"] not in (None, self.state["seat"]):
            self.get("state")
        return self.state

    def play(self, action: str) -> dict[str, Any]:
        """The state after an action of the page's seat."""
        version = self.state["version"]
        self.send("play", action=action, version=version)
        while self.state["version"] == version:
            self.get("state")
        return self.state


@contextlib.contextmanager
def page(client: Any, link: str, origin: str = HERE) -> Iterator[Page]:
    with client.websocket_connect(
        link.replace("/?", "/socket?"), headers={"host": "localhost", "origin": origin}
    ) as socket:
        yield Page(socket)


def room_of(hall: Hall, players: list[str] = TABLE, rules: Rules | None = None, folder: Path | None = None) -> Room:
    return hall.add_room(Session(rules or Rules(), players, 3), folder, pace=0.0)


# Who is let in


def test_the_page_needs_its_token_and_loads_nothing_from_elsewhere(hall: Hall, client: Any) -> None:
    link = room_of(hall).links["host"]
    assert client.get("/").status_code == client.get("/?token=x").status_code == 403
    answer = client.get(link)
    assert answer.status_code == 200 and "<main>" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    for name in ("main.js", "style.css", "icon.svg"):
        assert client.get(f"/static/{name}").status_code == 200
    text = "".join(file.read_text(encoding="utf-8") for file in server.STATIC.iterdir())
    assert not [line for line in text.splitlines() if "//" in line and "http" in line and "www.w3.org" not in line]
    assert client.get("/static/../server.py").status_code == 404


def test_a_socket_needs_the_token_and_a_page_of_this_server(hall: Hall, client: Any) -> None:
    link = room_of(hall).links["host"]
    for wrong, origin in (
        ("/?token=", HERE),
        ("/?token=x", HERE),
        (link + "x", HERE),
        (link, "http://localhost.evil.example"),
        (link, "http://localhost:81"),
        (link, "null"),
        (link, ""),
    ):
        with pytest.raises(WebSocketDisconnect), page(client, wrong, origin):
            pass
    with page(client, link) as opened:
        assert opened.state["seat"] == 0


def test_other_names_of_this_machine_are_not_answered(hall: Hall, client: Any) -> None:
    link = room_of(hall).links["host"]
    assert client.get(link, headers={"host": "evil.example"}).status_code == 400


def test_too_many_pages_are_told_so(hall: Hall, client: Any, monkeypatch: Any) -> None:
    link = room_of(hall).links["host"]
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 1)
    socket = link.replace("/?", "/socket?")
    with (
        page(client, link),
        client.websocket_connect(socket, headers={"host": "localhost", "origin": HERE}) as one_more,
    ):
        assert "too many pages" in one_more.receive_json()["message"]
        with pytest.raises(WebSocketDisconnect):
            one_more.receive_json()
    with page(client, link):
        pass


# Bad messages


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"type": "dance"}',
        '{"type": ["play"]}',
        '{"type": "play"}',
        '{"type": "play", "action": "7c"}',
        '{"type": "play", "action": 5, "version": 0}',
        '{"type": "play", "action": "zz", "version": 0}',
        '{"type": "play", "action": "7c", "version": "0"}',
        '{"type": "play", "action": "7c", "version": -1}',
        '{"type": "play", "action": "7c", "version": 1e400}',
        '{"type": "play", "action": "7c", "version": 0, "more": 1}',
        '{"type": "play", "action": "pickup", "version": 0}',
        '{"type": "pause", "on": 1}',
        '{"type": "pace", "seconds": -1}',
        '{"type": "pace", "seconds": true}',
        '{"type": "name", "name": " \\n "}',
        '{"type": "name", "name": "heuristic 1"}',
        '{"type": "hint", "agent": "checkpoint:/etc/passwd"}',
        '{"type": "undo"}',
        '{"type": "setup", "rules": {"num_players": 9}, "players": ["random"], "seed": null}',
        '{"type": "setup", "rules": {}, "players": ["random"], "seed": null}',
        '{"type": "setup", "rules": {}, "players": ["nobody", "random", "random", "random"], "seed": null}',
        '{"type": "setup", "rules": [], "players": ["random", "random", "random", "random"], "seed": 1}',
        '{"type": "game", "game": 0}',
        '{"type": "position", "game": 0, "at": 0, "seat": null}',
        "[" * 5000,
        "x" * (LARGEST + 1),
    ],
)
def test_a_bad_message_gets_an_error_and_changes_nothing(text: str, hall: Hall, client: Any) -> None:
    room = room_of(hall)
    room.session.paused = True  # no agent plays meanwhile
    with page(client, room.links["host"]) as opened:
        before, record = opened.state, room.session.record()
        opened.send_text(text)
        assert opened.get("error")["message"]
        assert room.session.record() == record and room.state(server.Role(0, True)) == before


def test_bytes_are_refused(hall: Hall, client: Any) -> None:
    with page(client, room_of(hall).links["host"]) as opened:
        opened._socket.send_bytes(b"\x00")
        assert "must be text" in opened.get("error")["message"]


def test_nobody_plays_out_of_turn_or_runs_the_table_of_another(hall: Hall, client: Any) -> None:
    room = room_of(hall, [PERSON, PERSON, "random", "random"])
    with page(client, room.links["host"]) as host, page(client, room.links["1"]) as guest:
        host.until_turn()
        while guest.state["version"] < host.state["version"]:
            guest.get("state")
        version = host.state["version"]
        action = host.state["table"]["legal"][0]
        assert "not your turn" in guest.refused("play", action=action, version=version)
        for kind, fields in (
            ("pause", {"on": True}),
            ("deal", {"same": False}),
            ("undo", {}),
            ("pace", {"seconds": 0}),
        ):
            assert "only whoever runs the table" in guest.refused(kind, **fields)
        assert room.session.version == version and not room.session.paused
        assert "links" not in guest.state and "links" in host.state
    with page(client, room.links["watch"]) as watcher:
        assert "no seat" in watcher.refused("play", action=action, version=version)
        assert "not your turn" in watcher.refused("hint", agent="random")
        assert "no seat" in watcher.refused("know", seat=0)


# What a page is sent


@pytest.mark.parametrize(
    "rules", [Rules(num_players=3), Rules.preset("trump", num_players=4, trump_play="anytime"), Rules.preset("silent")]
)
def test_a_page_is_sent_nothing_of_what_its_seat_cannot_know(rules: Rules, hall: Hall, client: Any) -> None:
    n, rng = rules.num_players, random.Random(4)
    room = room_of(hall, [PERSON] * n, rules)
    session, seen = room.session, 0
    links = [room.links["host"], *(room.links[str(person)] for person in range(1, n))]

    def sent(link: str) -> str:
        with client.websocket_connect(
            link.replace("/?", "/socket?"), headers={"host": "localhost", "origin": HERE}
        ) as socket:
            texts = [socket.receive_text(), socket.receive_text()]
            if link != room.links["watch"]:
                socket.send_text('{"type": "know", "seat": null}')
                while '"know"' not in texts[-1][:20]:
                    texts.append(socket.receive_text())
        return "".join(texts)

    for _ in range(6):
        for _ in range(rng.randrange(5, 12)):
            if not session.game.is_over:
                session._take(rng.choice(session.game.legal_actions()))
        game = session.game
        if game.is_over:
            break
        for seat in range(n):
            others = resampled(game, seat, rng)
            others.decks[-1] = [*rng.sample(others.decks[-1][:-1], len(others.decks[-1]) - 1), others.decks[-1][-1]]
            seen += others.hands != game.hands
            before = sent(links[seat]), sent(room.links["watch"])
            session._story.game = others
            assert sent(links[seat]) == before[0]
            assert sent(room.links["watch"]) == before[1]
            session._story.game = game
    assert seen > n


def test_all_hands_are_open_at_the_end_and_to_watchers_of_agents(hall: Hall, client: Any) -> None:
    room = room_of(hall, ["random"] * 4)
    room.session.paused = True
    with page(client, room.links["watch"]) as watcher:
        assert all(len(seat["cards"]) == 8 for seat in watcher.state["table"]["seats"]) and watcher.state["open"]
        watcher.send("know", seat=2)
        assert watcher.get("know")["seat"] == 2
        assert "must be a seat" in watcher.refused("know", seat=5)
    other = room_of(hall)
    with page(client, other.links["host"]) as opened:
        opened.send("auto", on=True)
        while opened.until_turn()["table"]["turn"] is not None:
            assert opened.state["table"]["viewer"] == 0 and not opened.state["open"]
            opened.play(opened.state["table"]["legal"][0])
        assert opened.state["table"]["viewer"] is None and opened.state["open"]


# A game, and looking back


def test_a_game_from_the_first_card_to_the_look_back(hall: Hall, client: Any, tmp_path: Path) -> None:
    room = room_of(hall, folder=tmp_path / "games")
    with page(client, room.links["host"]) as one, page(client, room.links["host"]) as other:
        while one.until_turn()["table"]["turn"] is not None:
            one.send("hint", agent="heuristic")
            assert one.get("hint")["choice"] in one.state["table"]["legal"]
            one.play(one.state["table"]["legal"][0])
        while other.state["version"] < one.state["version"]:  # two tabs are in step
            other.get("state")
        assert {**other.state, "present": 0} == {**one.state, "present": 0}
        events = one.state["events"]
        assert events[-1]["scores"] and one.state["table"]["result"]
        one.send("game", game=0)
        outline = one.get("game")
        assert (
            outline["length"] == room.session.version == len(outline["events"]) and outline["events"][-1] == events[-1]
        )
        at = outline["free"].index(True)
        one.send("position", game=0, at=at, seat=1)
        table = one.get("position")["table"]
        assert table["viewer"] == 1 and table["actions"] == at
        one.send("chances", game=0, at=at, seat=1)
        assert len(one.get("chances")["chances"]) == 4
        one.send("think", game=0, at=at, agents=["heuristic", "random"])
        assert [told["agent"] for told in one.get("think")["opinions"]] == ["heuristic", "random"]
        one.send("compare", game=0, agents=["heuristic", "random"])
        told = [one.get("compare")]
        while told[-1]["at"] is not None:
            told.append(one.get("compare"))
        assert [each["at"] for each in told[:-1]] == [i for i, free in enumerate(outline["free"]) if free]
        one.send("undo")
        assert one.get("state")["table"]["result"] is None
        assert "the game goes on" in one.refused("game", game=0)
    with page(client, room.links["host"]) as again:  # a reload loses nothing
        assert again.state["version"] == room.session.version and again.state["events"] == one.state["events"]


def test_the_record_is_kept_when_the_table_changes_and_when_the_server_ends(hall: Hall, tmp_path: Path) -> None:
    room = room_of(hall, folder=tmp_path / "games")
    with testclient.TestClient(application(hall), HERE) as client, page(client, room.links["host"]) as opened:
        opened.until_turn()
        opened.play(opened.state["table"]["legal"][0])
        events = len(room.session.story.events)
        rules = Rules.preset("schweller", num_players=2).to_dict()
        opened.send("setup", rules=rules, players=[PERSON, PERSON], seed=5)
        while len(opened.state["table"]["seats"]) != 2:
            opened.get("state")
        assert room.session.seed == 5 and opened.state["version"] > events
        assert set(opened.state["links"]) == {"host", "watch", "1"}
        with page(client, room.links["1"]) as guest:
            pages = {0: opened, 1: guest}
            pages[room.session.game.turn].play(pages[room.session.game.turn].state["table"]["legal"][0])
    first, second = sorted((tmp_path / "games").iterdir())
    assert len(replay(json.loads(first.read_text())).history[0]) >= events
    assert len(replay(json.loads(second.read_text())).history[0]) == 1


def test_while_an_agent_thinks_the_server_answers_and_the_thought_can_be_given_up(
    hall: Hall, client: Any, tmp_path: Path
) -> None:
    room, slow = room_of(hall), Slow(tmp_path)
    with page(client, room.links["host"]) as opened:
        opened.until_turn()
        room.session._agents = [None, *[slow] * 3]
        version = opened.play(opened.state["table"]["legal"][0])["version"]
        process = slow.thinks()
        assert opened.state["thinks"]
        opened.send("know", seat=None)
        assert opened.get("know")["seat"] == 0
        opened.send("pause", on=True)
        while not opened.state["paused"]:
            opened.get("state")
        assert opened.state["version"] == version and is_over(process)
        opened.send("pause", on=False)
        process = slow.thinks()  # about the same position once more
        (tmp_path / "go").touch()
        while opened.state["version"] == version:
            opened.get("state")
        opened.until_turn()
        (tmp_path / "go").unlink()
        (tmp_path / "asked").unlink(missing_ok=True)
        version = opened.play(opened.state["table"]["legal"][0])["version"]
        assert slow.thinks() == process  # there is one process, as long as it is not ended
        opened.send("undo")
        while opened.state["version"] == version:
            opened.get("state")
        assert opened.state["table"]["turn"] == 0 and is_over(process)


def test_a_hint_is_given_up_when_its_page_asks_for_that_and_when_the_server_ends(hall: Hall, tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    hall.advisers._agents["heuristic"] = slow
    room = room_of(hall)
    with testclient.TestClient(application(hall), HERE) as client, page(client, room.links["host"]) as opened:
        opened.until_turn()
        opened.send("hint", agent="heuristic")
        process = slow.thinks()
        assert "still being thought about" in opened.refused("hint", agent="heuristic")
        opened.send("stop")
        assert opened.get("stopped")["question"] == "hint" and is_over(process)
        opened.send("hint", agent="heuristic")
        process = slow.thinks()
    assert is_over(process)


def test_a_hint_for_a_position_that_is_past_is_given_up(hall: Hall, client: Any) -> None:
    room = room_of(hall)
    never = asyncio.Event()

    async def ask(*asked: Any) -> Any:
        await never.wait()

    hall.advisers.ask = ask  # type: ignore[method-assign]
    with page(client, room.links["host"]) as opened:
        opened.until_turn()
        opened.send("hint", agent="heuristic")
        opened.play(opened.state["table"]["legal"][0])
        assert opened.get("stopped")["question"] == "hint"


def test_an_agent_that_fails_ends_the_game_with_a_message(hall: Hall, client: Any, tmp_path: Path, caplog: Any) -> None:
    room = room_of(hall, folder=tmp_path)
    with page(client, room.links["host"]) as opened:
        opened.until_turn()
        for agent in room.session._agents[1:]:
            agent.act = None  # type: ignore[union-attr, method-assign, assignment]
        opened.play(opened.state["table"]["legal"][0])
        while not opened.state["failure"]:
            opened.get("state")
        assert "failed: TypeError" in opened.state["failure"] and "Traceback" in caplog.text
        opened.send("deal", same=False)
        while opened.state["failure"]:
            opened.get("state")
    record = json.loads(next(tmp_path.iterdir()).read_text())
    assert not replay(record).is_over


def test_games_of_a_file_are_looked_at_and_not_changed(hall: Hall, client: Any, tmp_path: Path) -> None:
    session = Session(Rules(), ["random"] * 4, 1)
    records = []
    for _ in range(3):
        while (question := session.question()) is not None:
            session.answer(question, question.ask())
        records.append(session.record())
        session.deal(same=False)
    write_records(tmp_path / "games.jsonl", records)
    with page(client, hall.add_shelf(Library(tmp_path / "games.jsonl"))) as opened:
        assert opened.hello["games"] == 3
        opened.send("game", game=2)
        assert opened.get("game")["names"] == ["random"] * 4
        opened.send("position", game=1, at=3, seat=None)
        assert len(opened.get("position")["table"]["legal"]) >= 1
        for kind, fields in (
            ("game", {"game": 3}),
            ("position", {"game": 0, "at": 10_000, "seat": None}),
            ("position", {"game": 0, "at": 0, "seat": 7}),
            ("chances", {"game": 0, "at": 0, "seat": None}),
            ("think", {"game": 0, "at": 0, "agents": ["nobody"]}),
            ("undo", {}),
            ("play", {"action": "7c", "version": 0}),
        ):
            assert "not allowed" in opened.refused(kind, **fields)


def test_while_games_are_read_and_chances_computed_other_pages_are_answered(
    hall: Hall, client: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    session, file = Session(Rules(), ["random"] * 4, 1), tmp_path / "games.jsonl"
    write_records(file, [session.record()] * 2)
    library, go, asked = Library(file), threading.Event(), threading.Event()
    link, read = hall.add_shelf(library), library.game

    def wait() -> None:
        asked.set()
        assert go.wait(10)

    def slowly_read(number: int) -> Any:
        if number == 1:
            wait()
        return read(number)

    def slow_chances(view: Any) -> list[dict[str, float]]:
        wait()
        return []

    monkeypatch.setattr(library, "game", slowly_read)
    monkeypatch.setattr("rs_env.web.replay.chances", slow_chances)
    with page(client, link) as one, page(client, link) as other:
        for kind, fields in (("game", {"game": 1}), ("chances", {"game": 0, "at": 0, "seat": 0})):
            go.clear()
            asked.clear()
            one.send(kind, **fields)
            one.send("position", game=0, at=0, seat=1)
            assert asked.wait(10)
            other.send("position", game=0, at=0, seat=0)
            assert other.get("position")["table"]["viewer"] == 0
            go.set()
            assert one.get(kind)["game"] == fields["game"]  # answers come in the order of the questions
            assert one.get("position")["table"]["viewer"] == 1


def test_every_message_has_been_sent_in_these_tests() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert not [kind for kind in MESSAGES if f'"{kind}"' not in source]
