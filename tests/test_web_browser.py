"""The page in a real browser, for which one asks: ``python -m pytest -m browser tests/test_web_browser.py``.

Needs the library playwright and a Chromium: ``RS_ENV_CHROMIUM`` names its program, else one is looked for. With
``RS_ENV_AXE``, the path of ``axe.min.js`` of the npm package axe-core, it also looks for what keeps people out.
``RS_ENV_SHOTS`` names a folder for pictures of the pages.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api")
uvicorn = pytest.importorskip("uvicorn")

from models import Slow, is_over  # noqa: E402

from rs_env import Rules, replay, write_records  # noqa: E402
from rs_env.web.replay import Library  # noqa: E402
from rs_env.web.server import Hall, application  # noqa: E402
from rs_env.web.session import PERSON, Session  # noqa: E402

pytestmark = pytest.mark.browser

CHROMIUM = os.environ.get("RS_ENV_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
TABLE = [PERSON, "heuristic", "random", "heuristic"]


@contextlib.contextmanager
def serving(hall: Hall, port: int = 0) -> Iterator[int]:
    """A server in a thread; its port."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("localhost", port))
        listening.listen()
        config = uvicorn.Config(
            application(hall), log_level="warning", ws="websockets-sansio", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: RS_ENV_CHROMIUM names one")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@contextlib.contextmanager
def opened(browser: Any, address: str, size: dict[str, int]) -> Iterator[Any]:
    """A page; what goes wrong in it is an error here."""
    context = browser.new_context(viewport=size, reduced_motion="reduce")
    page, faults = context.new_page(), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.goto(address)
    page.wait_for_selector(".seat")
    yield page
    context.close()
    assert not [fault for fault in faults if "WebSocket" not in fault]  # a connection that is lost is said to be


def at_turn(page: Any) -> str:
    """Wait for the person's turn or the end; the version of the table."""
    page.wait_for_selector("#hand.mine, #next", timeout=60_000)
    return str(page.get_attribute("#actions", "data-version"))


def moved_on(page: Any, version: str) -> None:
    page.wait_for_function("version => document.querySelector('#actions').dataset.version !== version", arg=version)


def picture(page: Any, name: str) -> None:
    if folder := os.environ.get("RS_ENV_SHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def test_a_whole_game_by_clicks_with_a_reload_in_the_middle(browser: Any, tmp_path: Path) -> None:
    hall = Hall(["heuristic"])
    room = hall.add_room(Session(Rules(), TABLE, 3), tmp_path, 0.0)
    with serving(hall) as port, opened(browser, f"http://localhost:{port}{room.links['host']}", WIDE) as page:
        turns = 0
        while not page.query_selector("#next"):
            version = at_turn(page)
            if page.query_selector("#next"):
                break
            if turns == 3:
                shown = page.inner_text("#hand"), page.inner_text("#story")
                page.reload()
                page.wait_for_selector("#hand .card")
                assert (page.inner_text("#hand"), page.inner_text("#story")) == shown
            barred = page.query_selector(".card.barred")
            if barred and turns < 5:
                barred.click(position={"x": 8, "y": 20}, force=True)
                assert page.inner_text("#notice")
            (page.query_selector("#pickup") or page.query_selector(".card.legal")).click(position={"x": 8, "y": 20})
            moved_on(page, version)
            turns += 1
        picture(page, "wide-end")
        assert "win" in page.inner_text("#status") and turns > 4
        page.click("#undo")
        at_turn(page)
        assert not page.query_selector("#next")
    assert replay(next(tmp_path.iterdir()).read_text()).record()["actions"]


def test_a_whole_game_by_keys_on_a_small_screen(browser: Any) -> None:
    hall = Hall(["heuristic"])
    room = hall.add_room(Session(Rules.preset("schweller", num_players=3), [PERSON, "random", "random"], 5), None, 0.0)
    with serving(hall) as port, opened(browser, f"http://localhost:{port}{room.links['host']}", PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        for turn in range(200):
            version = at_turn(page)
            if page.query_selector("#next"):
                break
            if page.query_selector("#pickup"):
                page.keyboard.press("p")
            elif turn % 2:
                page.keyboard.press("1")
            else:
                page.keyboard.press("ArrowRight")
                page.keyboard.press("Enter")
            moved_on(page, version)
        picture(page, "phone-end")
        assert page.query_selector("#next")
        page.keyboard.press("l")
        page.wait_for_selector("#timeline rect")
        page.keyboard.press("Escape")
        page.keyboard.press("n")
        at_turn(page)


def test_a_card_is_dragged_to_the_table_and_two_tabs_are_in_step(browser: Any) -> None:
    hall = Hall(["heuristic"])
    room = hall.add_room(Session(Rules(), TABLE, 3), None, 0.0)
    with serving(hall) as port:
        address = f"http://localhost:{port}{room.links['host']}"
        with opened(browser, address, WIDE) as page, opened(browser, address, PHONE) as other:
            version = at_turn(page)
            box = page.query_selector(".card.legal").bounding_box()
            page.mouse.move(box["x"] + 10, box["y"] + 20)
            page.mouse.down()
            page.mouse.move(box["x"] + 30, box["y"] - 10, steps=3)
            page.mouse.move(box["x"] + 60, box["y"] - 160, steps=5)
            page.mouse.up()
            moved_on(page, version)
            at_turn(page)
            moved_on(other, version)
            other.wait_for_function(
                "text => document.querySelector('#story').innerText === text", arg=page.inner_text("#story")
            )
            page.click("#known summary")
            page.wait_for_selector(".heat td.likely, .heat td")
            page.click("#advice summary")
            page.click("#ask")
            page.wait_for_selector(".opinion")
            picture(page, "wide-advice")


def test_the_page_comes_back_when_the_server_does(browser: Any) -> None:
    hall = Hall(["heuristic"])
    room = hall.add_room(Session(Rules(), [PERSON] * 4, 3), None, 0.0)
    with serving(hall) as port:
        context = opened(browser, f"http://localhost:{port}{room.links['host']}", WIDE)
        page = context.__enter__()
    page.wait_for_selector("body.offline")
    assert "No connection" in page.inner_text("#notice")
    again = Hall(["heuristic"])
    again._places = hall._places
    with serving(again, port):
        page.wait_for_selector("body:not(.offline)", timeout=20_000)
        assert len(page.query_selector_all("#hand .card")) == 8
        context.__exit__(None, None, None)


def test_a_replay_is_watched_from_a_link(browser: Any, tmp_path: Path) -> None:
    session, records = Session(Rules(), ["random", "heuristic", "random", "heuristic"], 1), []
    for _ in range(2):
        while (question := session.question()) is not None:
            session.answer(question, question.ask())
        records.append(session.record())
        session.deal(same=False)
    write_records(tmp_path / "games.jsonl", records)
    for name, size in (("wide", WIDE), ("phone", PHONE)):
        hall = Hall(["heuristic", "random"])
        link = hall.add_shelf(Library(tmp_path / "games.jsonl"))
        with serving(hall) as port, opened(browser, f"http://localhost:{port}{link}#game=1&at=7&seat=2", size) as page:
            page.wait_for_function("() => document.querySelector('#where').textContent.startsWith('7 of')")
            assert page.input_value("#viewer") == "2" and page.query_selector("#hand .card")
            page.keyboard.press("ArrowRight")
            page.wait_for_function("() => location.hash === '#game=1&at=8&seat=2'")
            page.click("#pickup-after")
            page.wait_for_function("() => document.querySelector('#status').textContent.includes('picks up')")
            page.select_option("#viewer", "")
            page.wait_for_selector("#hand", state="hidden")
            page.check("#asks")
            page.click("#compare")
            page.wait_for_function("() => /^[0-9]+ differs?$/.test(document.querySelector('#differ').textContent)")
            page.click("#first")
            page.click("#difference")
            page.wait_for_selector("#opinions .opinion")
            picture(page, f"{name}-replay")
            page.click("#game-before")
            page.wait_for_function("() => location.hash.startsWith('#game=0&at=0')")
            page.click("#last")
            page.click("#story button >> nth=1")
            page.wait_for_function("() => !document.querySelector('#where').textContent.startsWith('0 of')")


def test_what_takes_long_is_given_up_by_a_button_that_says_so(browser: Any, tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    hall = Hall(["heuristic", "random"])
    hall.advisers._agents["heuristic"] = slow
    room = hall.add_room(Session(Rules(), TABLE, 3), None, 0.0)
    with serving(hall) as port, opened(browser, f"http://localhost:{port}{room.links['host']}", WIDE) as page:
        at_turn(page)
        page.click("#advice summary")
        page.click("#ask")
        process = slow.thinks()
        assert page.inner_text("#ask") == "Give up"
        picture(page, "wide-long-hint")
        page.click("#ask")
        page.wait_for_function("() => document.querySelector('#ask').textContent === 'Ask'")
        assert is_over(process)
        room.session._agents = [None, *[slow] * 3]
        page.click(".card.legal", position={"x": 8, "y": 20})
        process = slow.thinks()
        page.wait_for_function("() => document.querySelector('#pause').textContent === 'Stop thinking'")
        picture(page, "wide-long-move")
        page.click("#pause")
        page.wait_for_function("() => document.querySelector('#pause').textContent === 'Go on'")
        assert is_over(process)
        page.click("#undo")
        at_turn(page)
    session = Session(Rules(), ["random"] * 4, 1)
    while (question := session.question()) is not None:
        session.answer(question, question.ask())
    write_records(tmp_path / "games.jsonl", [session.record()])
    hall = Hall(["heuristic", "random"])
    hall.advisers._agents["heuristic"] = slow
    link = hall.add_shelf(Library(tmp_path / "games.jsonl"))
    with serving(hall) as port, opened(browser, f"http://localhost:{port}{link}", WIDE) as page:
        page.wait_for_selector("#timeline rect")
        page.check("#asks")
        process = slow.thinks()
        page.select_option("#agent-0", "random")  # whoever is asked now does not wait for the one before
        page.wait_for_selector("#opinions .opinion >> text=random")
        assert is_over(process)
        page.select_option("#agent-0", "heuristic")
        for button in ("#give-up", "#compare"):
            if button == "#compare":
                page.uncheck("#asks")
                page.click(button)
                page.wait_for_function("() => document.querySelector('#compare').textContent === 'Stop comparing'")
            process = slow.thinks()
            page.click(button)
            assert is_over(process)
        page.wait_for_function("() => document.querySelector('#compare').textContent === 'Where do they differ?'")


def test_a_table_is_set_up_and_a_guest_comes_by_a_link(browser: Any) -> None:
    hall = Hall(["heuristic"])
    room = hall.add_room(Session(Rules(), TABLE, 3), None, 0.0)
    with serving(hall) as port, opened(browser, f"http://localhost:{port}{room.links['host']}", WIDE) as page:
        page.click("#setup-button")
        page.select_option("#preset", "penalty")
        page.click("#setup details summary")
        page.fill("#rule-num_players", "3")
        page.keyboard.press("Tab")
        page.fill("#player-1", PERSON)
        picture(page, "wide-setup")
        page.click("#setup .main")
        page.wait_for_function("() => document.querySelectorAll('.seat').length === 3")
        assert "Match to 30" in page.inner_text("#score")
        page.click("#setup-button")
        guest_link = page.input_value(".links input >> nth=0")
        with opened(browser, guest_link, PHONE) as guest:
            assert len(guest.query_selector_all("#hand .card")) == 8 and not guest.query_selector("#setup-button")


@pytest.mark.skipif("RS_ENV_AXE" not in os.environ, reason="RS_ENV_AXE names no axe.min.js")
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_people_out(browser: Any, size: dict[str, int], scheme: str) -> None:
    axe = Path(os.environ["RS_ENV_AXE"]).read_text(encoding="utf-8")
    hall = Hall(["heuristic"])
    room = hall.add_room(Session(Rules.preset("tiny"), [PERSON, "random"], 3), None, 0.0)

    def check(page: Any) -> None:
        session = page.context.new_cdp_session(page)
        session.send("Runtime.evaluate", {"expression": axe})  # which the page's own policy would not let in
        found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert not serious, [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious]

    with serving(hall) as port, opened(browser, f"http://localhost:{port}{room.links['host']}", size) as page:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        at_turn(page)
        page.click("#known summary")
        page.click("#advice summary")
        page.wait_for_selector(".heat")
        check(page)
        page.click("#setup-button")
        page.click("#setup details summary")
        check(page)
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.wait_for_selector("#help[open]")
        check(page)
        page.keyboard.press("Escape")
        page.check("#auto")
        while not page.query_selector("#look"):
            at_turn(page)
            card = page.query_selector("#pickup, .card.legal")
            if card and not page.query_selector("#look"):
                with contextlib.suppress(playwright.Error):
                    card.click(position={"x": 8, "y": 20}, timeout=500)
            time.sleep(0.1)
        page.click("#look")
        page.wait_for_selector("#timeline rect")
        page.check("#asks")
        time.sleep(0.3)
        check(page)
