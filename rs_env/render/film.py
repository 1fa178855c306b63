"""Games as files: a picture of the last position, or a film of all of them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rs_env.checks import check_whole
from rs_env.files import write_whole
from rs_env.game import Game
from rs_env.record import positions, replay
from rs_env.render.scene import check_size
from rs_env.render.svg import svg_of_table
from rs_env.render.table import Table, table_of_game
from rs_env.render.themes import ThemeName, check_theme

SUFFIXES = (".png", ".svg", ".gif", ".mp4")
_LAST = 3  # times as long as others is the last picture of a film shown
_COLOURS = 64  # of an animated picture
_SLOWEST, _FASTEST = 0.01, 100  # positions a second; the format of .gif counts hundredths of a second, in 16 bits


def save(
    game: Game | dict[str, Any] | str,
    path: str | Path,
    seat: int | None = None,
    size: Sequence[int] | None = None,
    theme: ThemeName = "dark",
    names: Sequence[str] | None = None,
    fps: float = 1.0,
) -> Path:
    """Write a game to a file, by the end of its name: ``.png`` and ``.svg`` show its last position, ``.gif`` and
    ``.mp4`` all positions one after the other.

    game: a `rs_env.Game`, or a record of one. seat: whose view is drawn; None: all hands are open. size: in pixels,
    (width, height) in 160..4096; None: (960, 640); a film has one that is even. theme: ``"dark"`` or ``"light"``.
    names: of the players, by seat. fps: positions a second, 0.01 to 100; a ``.gif`` counts hundredths of a second, so
    single positions are shown up to one longer or shorter. Returns the path. Raises ValueError, naming it, for what is
    not allowed, and ImportError where a library is missing: ``.png`` and ``.gif`` need the extra ``rs_env[render]``,
    ``.mp4`` needs ``rs_env[film]``, ``.svg`` none.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"path={str(path)!r} is not allowed: it must end in one of {', '.join(SUFFIXES)}")
    width_height, theme = check_size(size), check_theme(theme)
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not _SLOWEST <= fps <= _FASTEST:
        raise ValueError(f"fps={fps!r} is not allowed: it must be a number from {_SLOWEST} to {_FASTEST}")
    if path.suffix in (".png", ".svg"):
        last = game if isinstance(game, Game) else replay(game)
        _write_last(path, table_of_game(last, names, _checked_seat(seat, last)), width_height, theme)
        return path
    if isinstance(game, Game):
        if game.num_actions and not any(game.history):
            raise ValueError("game: what was played is unknown, so there is no film of it")
        game = game.record()
    seat = _checked_seat(seat, replay(game))
    tables = (table_of_game(position, names, seat) for position in positions(game))
    write = _write_gif if path.suffix == ".gif" else _write_mp4
    write(path, _pictures(tables, width_height, theme), fps)
    return path


def _checked_seat(seat: int | None, game: Game) -> int | None:
    return None if seat is None else check_whole("seat", seat, 0, game.num_players - 1)


def _pictures(tables: Iterator[Table], size: tuple[int, int], theme: ThemeName) -> Iterator[np.ndarray]:
    from rs_env.render.picture import picture_of_table

    return (picture_of_table(table, size, theme) for table in tables)


def _write_last(path: Path, table: Table, size: tuple[int, int], theme: ThemeName) -> None:
    if path.suffix == ".svg":
        write_whole(path, svg_of_table(table, size, theme))
        return
    from rs_env.render.picture import picture_of_table

    write_whole(path, _png(picture_of_table(table, size, theme)))


def _png(picture: np.ndarray) -> bytes:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(picture).quantize(256, dither=Image.Dither.NONE).save(content, "PNG", optimize=True)
    return content.getvalue()


def _write_gif(path: Path, pictures: Iterator[np.ndarray], fps: float) -> None:
    from PIL import Image

    frames = [Image.fromarray(picture) for picture in pictures]
    some = [frames[len(frames) * k // 4] for k in range(4)]
    together = Image.new("RGB", (some[0].width, some[0].height * len(some)))
    for k, frame in enumerate(some):
        together.paste(frame, (0, k * frame.height))
    palette = together.quantize(_COLOURS, dither=Image.Dither.NONE)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [round(100 * k / fps) for k in (*range(len(frames)), len(frames) - 1 + _LAST)]
    durations = [10 * (end - begin) for begin, end in pairwise(times)]
    content = io.BytesIO()
    frames[0].save(content, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=False)
    write_whole(path, content.getvalue())


def _write_mp4(path: Path, pictures: Iterator[np.ndarray], fps: float) -> None:
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise ImportError(f"a film, .mp4, needs imageio-ffmpeg ({error}): pip install 'rs_env[film]'") from None
    first = next(pictures)
    height, width = (edge - edge % 2 for edge in first.shape[:2])  # as the format asks for
    try:
        with TemporaryDirectory(dir=path.parent, prefix=".film") as folder:
            whole = Path(folder) / "film.mp4"  # ffmpeg goes by the end of the name
            writer = imageio_ffmpeg.write_frames(
                str(whole), (width, height), fps=fps, macro_block_size=1, output_params=["-preset", "fast"]
            )
            with closing(writer):
                writer.send(None)
                for picture in _with_last_held(first, pictures):
                    writer.send(np.ascontiguousarray(picture[:height, :width]))
            whole.replace(path)
    except OSError as error:
        raise OSError(f"{path}: the film cannot be written ({error})") from None


def _with_last_held(first: np.ndarray, others: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    picture = first
    yield picture
    for picture in others:
        yield picture
    for _ in range(_LAST - 1):
        yield picture
