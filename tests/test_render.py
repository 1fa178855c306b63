"""The table as data and its drawings: what they show, what a seat's drawing must not show, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hidden import positions, resampled
from strategies import random_rules

import rs_env
from rs_env.cards import PICKUP, members
from rs_env.envs.gymnasium_single import RollingStoneEnv
from rs_env.envs.gymnasium_vector import RollingStoneVectorEnv
from rs_env.game import Game
from rs_env.history import decode_history, recent_of
from rs_env.render import (
    Table,
    grid,
    picture_of_table,
    render_text,
    save,
    svg_of_table,
    table_of_game,
    table_of_view,
    text_of_table,
)
from rs_env.render import fonts as fonts_of_pictures
from rs_env.render.scene import scene_of
from rs_env.render.shapes import CardShape, elided, text_width
from rs_env.rules import PRESETS, Rules, preset_of

ROOT = Path(__file__).parents[1]
SMALL = (300, 200)


def games(count: int, most: int, seed: int) -> Iterator[Game]:
    """Positions of games of random rule sets."""
    rng = random.Random(seed)
    for _ in range(count):
        yield from positions(random_rules(rng), rng.randrange(1000), most)


def some_table(num_players: int = 4, seat: int | None = None, **options: Any) -> Table:
    """One with the trick begun and a seat to act that has a choice."""
    game = Game(Rules(num_players=num_players, **options), seed=3)
    while not (len(game.trick_plays) == 1 and len(game.legal_actions()) > 1):
        game.play(game.legal_actions()[0])
    return table_of_game(game, seat=game.turn if seat == -1 else seat)


def with_hands(table: Table, size: int) -> Table:
    """The table with so many cards in all hands."""
    seats = tuple(
        dataclasses.replace(seat, size=size, cards=tuple(range(size - seat.backs)), backs=seat.backs)
        for seat in table.seats
    )
    return dataclasses.replace(table, seats=seats, legal=(3, 7) if table.legal else ())


# The table as data


def test_an_open_table_is_what_the_game_says() -> None:
    for game in games(12, 6, seed=1):
        table = table_of_game(game)
        assert [list(seat.cards) for seat in table.seats] == game.hands
        assert [list(seat.known) for seat in table.seats] == game.known
        assert [list(seat.excluded) for seat in table.seats] == game.excluded
        assert [list(seat.held) for seat in table.seats] == game.held
        assert [seat.number for seat in sorted(table.seats, key=lambda s: s.place or 99) if seat.place] == game.out
        assert list(table.trick) == game.trick_plays
        assert list(table.dead) == game.dead
        assert list(table.legal) == game.legal_actions()
        assert (table.led, table.trump, table.barred) == (game.led_suit, game.trump, game.barred_suit)
        assert (table.turn, table.leader, table.dealer) == (game.turn, game.leader, game.dealer)
        assert (table.actions, table.limit) == (game.num_actions, game.rules.action_limit)
        assert (table.result is not None) == game.is_over
        if table.result is not None:
            assert list(table.result.scores or ()) == game.scores()
            assert list(table.result.rewards or ()) == game.rewards()
            assert table.result.truncated == game.truncated


def test_a_seats_table_is_what_its_view_says() -> None:
    for game in games(12, 6, seed=2):
        for seat in range(game.num_players):
            view = game.view(seat)
            table = table_of_game(game, seat=seat)
            assert table.viewer == seat
            assert list(table.seats[seat].cards) == game.hands[seat] and not table.seats[seat].backs
            for other in table.seats[:seat] + table.seats[seat + 1 :]:
                assert list(other.cards) == game.known[other.number]
                assert len(other.cards) + other.backs == other.size == len(game.hands[other.number])
            assert list(table.legal) == members(view["legal"])
            alone = table_of_view(view, game.rules, last=table.last)
            assert dataclasses.replace(alone, result=None) == dataclasses.replace(table, result=None)


def test_the_last_action_is_what_the_history_says() -> None:
    kinds = set()
    for game in games(40, 8, seed=3):
        last = table_of_game(game).last
        if last is None or last.ended_deal:
            assert last is not None or not game.num_actions
            continue
        acts = decode_history(recent_of(game, 0, 3 * game.num_players))
        assert (last.seat, last.what) == (acts[-1].seat, acts[-1].what)
        start = max([i for i, act in enumerate(acts) if act.what == "led"], default=0)
        plays = [(act.seat, act.action) for act in acts[start:] if act.what != "picked up"]
        is_over = acts[-1].completed or last.what in ("picked up", "noticed")
        assert last.to_dict()["trick"] == ([list(play) for play in plays] if is_over else [])
        kinds.add((last.what, is_over))
    assert len(kinds) == 9, kinds  # four that go on or end the trick, a trick led alone apart; two that always end it


def test_the_end_of_a_deal_is_told_in_the_next_one() -> None:
    game = Game("penalty", seed=1, num_players=3)
    while game.deals_done == 0:
        seat, action = game.turn, game.legal_actions()[0]
        game.play(action)
    last = table_of_game(game).last
    assert last is not None and last.ended_deal and (last.seat, last.action) == (seat, action) and last.trick
    assert "which ended the deal" in render_text(game, seat=0)


def test_tables_are_plain_json() -> None:
    for game in games(10, 3, seed=4):
        for seat in (None, 0):
            table = table_of_game(game, seat=seat).to_dict()
            assert json.loads(json.dumps(table)) == table
    table = some_table(seat=-1).to_dict()
    assert table["legal"] == [card for card in table["seats"][table["turn"]]["cards"] if card in table["legal"]]
    assert table["led"] in ("clubs", "diamonds", "hearts", "spades")


def test_rules_are_told_by_their_nearest_preset() -> None:
    for name in PRESETS:
        assert preset_of(Rules.preset(name)) == (name, {})
    assert preset_of(Rules(num_players=5, trump="hearts")) == ("rolling_stone", {"num_players": 5, "trump": "hearts"})
    assert preset_of(Rules.preset("historic", num_players=6)) == ("historic", {"num_players": 6})
    assert preset_of(Rules.preset("schweller", num_players=2, suits=3)) == ("schweller", {"num_players": 2, "suits": 3})


# Nothing hidden


def test_a_seats_drawings_show_nothing_hidden() -> None:
    rng = random.Random(5)
    changed = 0
    for game in games(12, 3, seed=6):
        for seat in range(game.num_players):
            other = resampled(game, seat, rng)
            if game.is_over and game.rules.scoring == "face":  # scores tell what hands count; they are told to all
                continue
            seen = [table_of_game(each, seat=seat) for each in (game, other)]
            assert seen[0] == seen[1]
            assert text_of_table(seen[0]) == text_of_table(seen[1])
            changed += game.hands != other.hands
    assert changed > 100


def test_pixels_show_nothing_hidden() -> None:
    rng = random.Random(7)
    game = Game("rolling_stone", seed=2)
    for _ in range(25):
        game.play(rng.choice(game.legal_actions()))
    for seat in range(4):
        other = resampled(game, seat, rng)
        assert game.hands != other.hands
        first, second = (table_of_game(each, seat=seat) for each in (game, other))
        assert picture_of_table(first, SMALL).tobytes() == picture_of_table(second, SMALL).tobytes()
        assert svg_of_table(first) == svg_of_table(second)
        assert picture_of_table(table_of_game(game), SMALL).tobytes() != picture_of_table(first, SMALL).tobytes()


# Text


def test_text_of_an_open_table_and_of_a_seat() -> None:
    rules = Rules(num_players=3, hand_size=2, suits=2, play_on=True)
    game = Game(rules, deck="Qc Kc Ac Kd Ad Qd", dealer=2)
    for card in ("Qc", "Kc", "Ac"):
        game.play(card)
    assert render_text(game).splitlines() == [
        "action 3 of 750, dealer 2, leader 2",
        "  seat 0 [--]  1: Kd",
        "  seat 1 [--]  1: Ad",
        "> seat 2 [--]  1: Qd",
        "  dead: Qc Kc Ac",
    ]
    assert render_text(game, seat=0).splitlines() == [
        "action 3 of 750, dealer 2, leader 2",
        "  seat 2 followed Ac, which ended the trick",
        "  seat 0 (you) [--]  1: Kd",
        "  seat 1 [--]  1: 1 hidden",
        "> seat 2 [--]  1: 1 hidden",
        "  dead: Qc Kc Ac",
    ]
    assert render_text(game, seat=2).splitlines()[-1] == "  legal: Qd"
    assert "\x1b" not in render_text(game) and "\x1b[31mKd\x1b[0m" in render_text(game, colour=True)


# Pictures


@pytest.mark.parametrize("num_players", range(2, 9))
def test_pictures_of_any_number_of_players(num_players: int) -> None:
    for seat in (None, -1):
        table = some_table(num_players, seat)
        for each in (table, with_hands(table, 24)):
            drawn = picture_of_table(each, SMALL)
            assert drawn.shape == (200, 300, 3) and drawn.dtype == np.uint8 and drawn.flags.writeable
            check_scene(each)


def check_scene(table: Table) -> None:
    """Every card of every hand lies within the picture and shows its corner; each legal one can be pointed at."""
    scene = scene_of(table)
    cards = [shape for shape in scene.shapes if isinstance(shape, CardShape)]
    assert len(cards) == sum(seat.size for seat in table.seats) + len(table.trick)
    for number, card in enumerate(cards):
        assert card.x >= -1e-6 and card.x + card.width <= scene.size[0] + 1e-6
        assert card.y >= -1e-6 and card.y + card.height <= scene.size[1] + 1e-6
        corner = card.x + 0.2 * card.width, card.y + 0.3 * card.height  # between rank and suit
        assert not any(
            over.x < corner[0] < over.x + over.width and over.y < corner[1] < over.y + over.height
            for over in cards[number + 1 :]
        )
    actions = {action for action, *_ in scene.targets}
    assert actions - {-1} == set(table.legal)
    for action, x, y, width, height in scene.targets:
        found = scene.action_at(x + 0.2 * width, y + 0.3 * height)
        assert found == (action if action >= 0 else None)
    assert scene.action_at(1, 1) is None


def test_pictures_differ_by_what_they_show() -> None:
    table = some_table(seat=-1)
    drawn = {
        picture_of_table(table).tobytes(),
        picture_of_table(table, theme="light").tobytes(),
        picture_of_table(table, marked=table.legal[0]).tobytes(),
        picture_of_table(some_table()).tobytes(),
        picture_of_table(dataclasses.replace(table, dead=(1, 2, 3))).tobytes(),
    }
    assert len(drawn) == 5
    assert picture_of_table(table).tobytes() == picture_of_table(table).tobytes()
    for size in ((240, 240), (1920, 1280), (400, 1000), (1000, 300)):
        assert picture_of_table(table, size).shape == (size[1], size[0], 3)


def test_long_and_strange_names_are_drawn() -> None:
    game = Game(seed=1)
    names = ["A" * 300, "Zoë & <Bob>", "王小明", "x\ny\x00\x1b[31m"]
    table = table_of_game(game, names)
    assert table.seats[0].name == "A" * 200 and table.seats[3].name == "x y[31m"
    assert picture_of_table(table).shape == (640, 960, 3)
    texts = [element.text for element in ElementTree.fromstring(svg_of_table(table)).iter() if element.text]
    assert {"Zoë & <Bob>", "王小明"} <= set(texts)  # whatever shows it has fonts of its own
    assert any(text.startswith("AAA") and text.endswith("…") for text in texts)
    assert text_width(elided("W" * 100, 10, 50), 10) <= 50 and elided("short", 10, 100) == "short"


STRANGE = ["王小明", "山田 Taro", "Зоя", "عمر", "🂡🃏", "Zoë"]


@pytest.fixture
def fonts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The module on a system whose fonts are in `tmp_path`."""
    forget = [fonts_of_pictures._files, fonts_of_pictures._file_for, fonts_of_pictures._has]
    monkeypatch.setattr(fonts_of_pictures, "_folders", lambda: [tmp_path])
    for function in forget:
        function.cache_clear()
    yield fonts_of_pictures
    for function in forget:
        function.cache_clear()


def make_font(path: Path, letters: str) -> None:
    """A font with squares of several sizes for letters."""
    builder = pytest.importorskip("fontTools.fontBuilder").FontBuilder(1000)
    pens = pytest.importorskip("fontTools.pens.ttGlyphPen")
    names = [".notdef", *(f"letter{k}" for k in range(len(letters)))]
    glyphs = {}
    for number, name in enumerate(names):
        pen, end = pens.TTGlyphPen(None), 300 + 100 * number
        pen.moveTo((100, 0))
        for point in ((100, end), (end, end), (end, 0)):
            pen.lineTo(point)
        pen.closePath()
        glyphs[name] = pen.glyph()
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(letter): name for letter, name in zip(letters, names[1:], strict=True)})
    builder.setupGlyf(glyphs)
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 100)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": path.stem, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)


def test_a_name_that_no_font_has_is_told_by_its_seat_and_what_ascii_has_of_it(fonts: Any) -> None:
    table = table_of_game(Game(num_players=6), STRANGE)
    told = [seat.name for seat in fonts.drawable(table).seats]
    assert told == ["seat 0", "seat 1 Taro", "seat 2", "seat 3", "seat 4", "seat 5 Zoe"]
    plainly = [table_of_game(Game(num_players=6), names) for names in (STRANGE, told)]
    assert picture_of_table(plainly[0], SMALL).tobytes() == picture_of_table(plainly[1], SMALL).tobytes()
    assert fonts.font_of("王…", 9)[0] == "..."


def test_a_name_is_drawn_with_the_font_of_the_system_that_has_all_its_letters(
    fonts: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_font(tmp_path / "Latin Sans.ttf", "Zoë")
    make_font(tmp_path / "Han.ttf", "王小明")
    make_font(tmp_path / "Hebrew.ttf", "דן")
    (tmp_path / "Broken Sans.ttf").write_bytes(b"no font")
    names = ["王小明", "Zoë", "王ë", "Ann"]
    assert [seat.name for seat in fonts.drawable(table_of_game(Game(), names)).seats] == [*names[:2], "seat 2 e", "Ann"]
    for name, file in (("王小明", "Han"), ("王…", "Han"), ("Zoë", "Latin Sans")):
        assert Path(fonts.font_of(name, 20.0)[1].path).stem == file
    for can_join, name in ((True, "דן"), (False, "seat 0")):
        monkeypatch.setattr(fonts.features, "check", lambda what, can=can_join: can)
        fonts._file_for.cache_clear()
        assert fonts.drawable(table_of_game(Game(), ["דן", "a", "b", "c"])).seats[0].name == name


def test_svg_has_all_cards() -> None:
    table = with_hands(some_table(8), 13)
    root = ElementTree.fromstring(svg_of_table(table, (800, 500)))
    assert (root.get("width"), root.get("height")) == ("800", "500")
    ranks = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert ranks.count("10") >= 8 and ranks.count("A") >= 8


# Environments


def test_environments_draw_in_any_size_and_for_any_seat() -> None:
    options: dict[str, Any] = {"render_mode": "rgb_array", "render_size": SMALL, "render_theme": "light"}
    envs = [
        rs_env.env(**options, render_seat=1),
        rs_env.parallel_env(**options, render_seat=1),
        RollingStoneEnv(**options, render_seat=1),
    ]
    for env in envs:
        env.reset(seed=3)
        game = env.unwrapped.game if not hasattr(env, "aec_env") else env.aec_env.unwrapped.game
        frame = env.render()
        assert np.array_equal(frame, picture_of_table(table_of_game(game, seat=1), SMALL, "light"))
        env.close()


def test_frames_of_a_batch_and_their_grid() -> None:
    env = RollingStoneVectorEnv(3, render_mode="rgb_array", render_size=SMALL)
    env.reset(seed=3)
    frames = env.render()
    assert frames is not None and len(frames) == 3
    whole = grid(frames)
    assert whole.shape == (400, 600, 3)
    assert np.array_equal(whole[:200, 300:], frames[1]) and np.array_equal(whole[200:, :300], frames[2])
    assert not whole[200:, 300:].any()
    assert grid(frames, columns=3).shape == (200, 900, 3)
    for wrong in ([], [frames[0], frames[1][:50]], [frames[0].astype(float)]):
        with pytest.raises(ValueError, match="frames"):
            grid(wrong)


def test_gymnasium_checks_all_render_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setattr("rs_env.render.modes.RENDER_FPS", 1000)
    env = gymnasium.make("rs_env/RollingStone-v0", max_actions=40, illegal_action="random")
    check_env(env.unwrapped)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"render_size": (10, 10)}, "width of render_size=10"),
        ({"render_size": 5}, "render_size=5"),
        ({"render_size": (300, 5000)}, "height of render_size=5000"),
        ({"render_seat": 4}, "render_seat=4"),
        ({"render_seat": True}, "render_seat=True"),
        ({"render_theme": "pink"}, "render_theme='pink'"),
        ({"render_mode": "film"}, "render_mode='film'"),
    ],
)
def test_bad_render_options_are_refused(options: dict[str, Any], message: str) -> None:
    for make in (rs_env.raw_env, RollingStoneEnv, RollingStoneVectorEnv):
        with pytest.raises(ValueError, match=message):
            make(**options)


def test_bad_tables_are_refused() -> None:
    game = Game(seed=1)
    for names in ("abcd", ["a"], ["a", "b", "c", 4], ["a", "b", "c", "\x00"]):
        with pytest.raises(ValueError, match="names"):
            table_of_game(game, names)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seat=4"):
        table_of_game(game, seat=4)
    with pytest.raises(ValueError, match="view"):
        table_of_view(game.states[0], game.rules)
    with pytest.raises(ValueError, match="rules"):
        table_of_view(game.view(0), Rules(num_players=5))
    tiny = Game("tiny", seed=1)
    assert table_of_view(tiny.view(0), "tiny") == table_of_view(tiny.view(0), tiny.rules)
    for view, rules in (
        (tiny.view(0), Rules.preset("schweller", num_players=2)),
        (game.view(0), Rules(max_actions=999)),
        (game.view(0), "no rules"),
        (game.view(0), 5),
    ):
        with pytest.raises(ValueError, match=r"rules|preset"):
            table_of_view(view, rules)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="view: "):
        table_of_view(np.zeros((), [("seat", np.uint8)]), game.rules)


# Files


def test_games_are_saved_as_pictures_and_films(tmp_path: Path) -> None:
    from PIL import Image

    game = Game("tiny", seed=1)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    actions = len(game.history[0])
    saved = save(game, tmp_path / "last.png", seat=1, size=SMALL)
    with Image.open(saved) as image:
        assert image.size == SMALL
    svg = save(game.record(), tmp_path / "last.svg", names=["Ann", "Bob"])
    assert "Ann" in svg.read_text(encoding="utf-8")
    with Image.open(save(json.dumps(game.record()), str(tmp_path / "deal.gif"), size=SMALL, fps=2)) as film:
        assert film.size == SMALL and film.n_frames == actions + 1  # type: ignore[attr-defined]
        assert film.info["duration"] == 500
        first = np.asarray(film.convert("RGB")).astype(int)
        film.seek(actions)
        assert film.info["duration"] == 1500
    start = picture_of_table(table_of_game(Game("tiny", seed=1)), SMALL).astype(int)
    assert np.abs(first - start).mean() < 6  # but for its few colours
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deal.gif", "last.png", "last.svg"]


def test_films_have_the_pace_that_was_asked_for(tmp_path: Path) -> None:
    from PIL import Image

    game = Game("tiny", seed=1)
    for _ in range(4):
        game.play(game.legal_actions()[0])
    for fps, durations in ((40, [20, 30, 30, 20, 80]), (60, [20, 10, 20, 20, 50]), (0.01, [100_000] * 4 + [300_000])):
        with Image.open(save(game, tmp_path / "deal.gif", size=SMALL, fps=fps)) as film:
            shown = []
            for frame in range(film.n_frames):  # type: ignore[attr-defined]
                film.seek(frame)
                shown.append(film.info["duration"])
        assert shown == durations


def test_films_by_ffmpeg(tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    (tmp_path / "deal.new.mp4").write_text("kept", encoding="utf-8")
    game = Game("tiny", seed=1)
    game.play(game.legal_actions()[0])
    path = save(game, tmp_path / "deal.mp4", size=(301, 241))
    assert ffmpeg.count_frames_and_secs(str(path)) == (4, 4.0)  # the start, and the end held
    assert sorted(each.name for each in tmp_path.iterdir()) == ["deal.mp4", "deal.new.mp4"]
    assert (tmp_path / "deal.new.mp4").read_text(encoding="utf-8") == "kept"
    slow = save(game, tmp_path / "slow.mp4", size=SMALL, fps=0.01)
    assert ffmpeg.count_frames_and_secs(str(slow)) == (4, 400.0)
    with pytest.raises(OSError, match=r"deal\.mp4: the film cannot be written"):
        save(game, tmp_path / "nowhere" / "deal.mp4")


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    game = Game("tiny", seed=1)
    for arguments, message in (
        ({"path": tmp_path / "a.jpg"}, r"a\.jpg.*\.png, \.svg, \.gif, \.mp4"),
        ({"path": tmp_path / "a.gif", "fps": 0}, "fps=0"),
        ({"path": tmp_path / "a.gif", "fps": 0.0045}, r"fps=0\.0045"),
        ({"path": tmp_path / "a.mp4", "fps": 1e-9}, "fps=1e-09"),
        ({"path": tmp_path / "a.mp4", "fps": float("nan")}, "fps=nan"),
        ({"path": tmp_path / "a.gif", "seat": 2}, "seat=2"),
        ({"path": tmp_path / "a.png", "size": (1, 1)}, "size"),
        ({"path": tmp_path / "a.png", "theme": "x"}, "theme"),
        ({"path": tmp_path / "a.svg", "names": ["a"]}, "names"),
    ):
        with pytest.raises(ValueError, match=message):
            save(game, **arguments)  # type: ignore[arg-type]
    game.play(game.legal_actions()[0])
    looked_at = Game.of_state(game.rules, game.states[0])
    with pytest.raises(ValueError, match="unknown"):
        save(looked_at, tmp_path / "a.gif")
    save(looked_at, tmp_path / "a.svg")


# Imports


def test_drawing_libraries_are_imported_only_for_drawing() -> None:
    code = """
import sys, rs_env
def drawing(): return [m for m in ("PIL", "pygame", "imageio_ffmpeg", "matplotlib") if m in sys.modules]
env = rs_env.env(render_mode="rgb_array")
env.reset(seed=1)
text = str(env.unwrapped.game)
from rs_env.render import save, svg_of_table, table_of_game
svg_of_table(table_of_game(env.unwrapped.game))
print(drawing())
env.render()
print(drawing())
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["[]", "['PIL']"]


def test_missing_libraries_are_named() -> None:
    code = """
import sys
for name in ("PIL", "pygame", "imageio_ffmpeg"): sys.modules[name] = None
import rs_env
from rs_env.render import save
from rs_env.game import Game
def told(work):
    try: work()
    except ImportError as error: print(error)
def drawn():
    env = rs_env.env(render_mode="rgb_array"); env.reset(); env.render()
told(drawn)
told(lambda: rs_env.env(render_mode="human"))
told(lambda: save(Game("tiny"), "/nowhere/a.gif"))
told(lambda: __import__("rs_env.render.window"))
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    extras = [line.rpartition("pip install ")[2] for line in result.stdout.splitlines()]
    assert extras == ["'rs_env[render]'", "'rs_env[window]'", "'rs_env[render]'", "'rs_env[window]'"]


def test_pickup_is_offered_in_the_middle() -> None:
    game = Game(seed=3)
    while game.legal_actions() != [PICKUP]:
        game.play(game.legal_actions()[0])
    scene = scene_of(table_of_game(game, seat=game.turn))
    assert scene.action_at(480, 317) == PICKUP
