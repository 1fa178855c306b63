"""A comparison in its folder: settings and games, written as they are played and read again.

| file | holds |
|---|---|
| ``run.json`` | what is compared, how, with which versions, and the time that decisions took |
| ``games.jsonl`` | every game, one a line, in the order of the deals; see `rs_env.arena.games` |
| ``report.md``, ``report.html`` | the tables, see `rs_env.arena.report` |
| ``.lock`` | held by the process that plays |

Every file is whole at any moment. Of the games, the last deals may be there in part after a crash: they are not read,
and whoever goes on with the run plays them again. With sittings of several deals that holds for the last sitting.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from rs_env.arena.games import game_of_line
from rs_env.arena.settings import Settings
from rs_env.arena.tables import seatings
from rs_env.files import naming, only_process_in, write_whole
from rs_env.rules import Rules
from rs_env.version import __version__

FORMAT = "rs_env.arena/3"
RUN, GAMES = "run.json", "games.jsonl"
_SAME = ("agents", "rules", "seed", "table", "sitting")  # what a run must have in common with the one that it continues


@dataclass(frozen=True)
class Played:
    """What has been played: games by kind of table, of dtype `rs_env.arena.games.games_dtype`; seconds and decisions
    asked (k,).
    """

    settings: Settings
    games: dict[str, np.ndarray]
    seconds: np.ndarray
    asked: np.ndarray
    about: dict[str, str]  # date and versions


def versions() -> dict[str, str]:
    """The date and the versions that results depend on."""
    import platform
    from datetime import UTC, datetime

    import numba

    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {
        "date": date,
        "rs_env": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


class Folder:
    """Where a run is written to: made by `open_folder`."""

    def __init__(self, path: Path, past: Played) -> None:
        self.path, self.past = path, past
        self.save(past)
        (path / GAMES).touch()

    def add(self, lines: list[str]) -> None:
        """Write games to the end of the file, so that they survive a power cut."""
        path = self.path / GAMES
        with naming(path), path.open("a", encoding="utf-8") as file:
            file.write("".join(lines))
            file.flush()
            os.fsync(file.fileno())

    def save(self, played: Played) -> None:
        """Write the settings and times, at once: an interruption leaves the old file or the new one."""
        settings = {field.name: getattr(played.settings, field.name) for field in fields(Settings)} | {
            "rules": played.settings.rules.to_dict()
        }
        times = {"seconds": played.seconds.tolist(), "asked": played.asked.tolist()}
        text = json.dumps({"format": FORMAT, **settings, **times, "about": played.about}, indent=2)
        write_whole(self.path / RUN, text + "\n")


@contextmanager
def open_folder(path: str | Path | None, settings: Settings, resume: bool) -> Iterator[Folder | None]:
    """The folder to write to, held for this process alone: a new one, or with `resume` the one whose complete sittings
    are kept.

    None for None. Raises ValueError where a folder holds anything of a run and is not to be resumed, where it holds
    another run, and where another process plays there.
    """
    if path is None:
        yield None
        return
    if not str(path):
        raise ValueError("out='' is not allowed: it must name a folder")
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    with only_process_in(folder, "a comparison"):
        found = [name for name in (RUN, GAMES) if (folder / name).exists()]
        if found and not resume:
            raise ValueError(
                f"out={str(path)!r} is not allowed: it holds a run ({', '.join(found)});"
                " give another folder, or resume it"
            )
        yield Folder(folder, _past(folder, settings) if found else nothing_played(settings))


def _past(folder: Path, settings: Settings) -> Played:
    """What was played, of a run that is to go on with these settings; cuts off what an interruption has left of a
    sitting.
    """
    run = _read_run(folder)
    before = _settings_of(run, folder)
    for name in _SAME:
        if getattr(before, name) != getattr(settings, name):
            raise ValueError(
                f"{name}={getattr(settings, name)!r} is not allowed: the run in {folder} has"
                f" {name}={getattr(before, name)!r}"
            )
    times = _times_of(run, settings, folder)
    games, end = read_games(folder / GAMES, settings)
    if (folder / GAMES).exists():
        os.truncate(folder / GAMES, end)
    return Played(settings, games, *times, versions())


def nothing_played(settings: Settings) -> Played:
    """The beginning of a run."""
    k = len(settings.agents)
    return Played(settings, {}, np.zeros(k), np.zeros(k, np.int64), versions())


def _read_run(folder: Path) -> dict[str, Any]:
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        if run["format"] != FORMAT:
            raise ValueError(f"format={run['format']!r} is not allowed: this version reads {FORMAT!r}")
        return run
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{folder} is no folder of a comparison ({error})") from None


def _settings_of(run: dict[str, Any], folder: Path) -> Settings:
    try:
        values = {field.name: run[field.name] for field in fields(Settings)}
        if values["seed"] is None:  # which would stand for any
            raise ValueError("seed=None")
        return Settings(**{**values, "rules": Rules.from_dict(values["rules"])})
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / RUN} is not as it was written ({error!r})") from None


def _times_of(run: dict[str, Any], settings: Settings, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and decisions asked of each player, (k,)."""
    k = len(settings.agents)
    try:
        seconds, asked = np.array(run["seconds"], np.float64), np.array(run["asked"], np.int64)
        if (
            seconds.shape != (k,)
            or asked.shape != (k,)
            or not (np.isfinite(seconds).all() and (seconds >= 0).all() and (asked >= 0).all())
        ):
            raise ValueError("seconds and asked must be a number for each agent")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{folder / RUN} is not as it was written ({error!r})") from None
    return seconds, asked


def read_folder(path: str | Path) -> Played:
    """All complete sittings that a folder holds. Raises ValueError, naming file and line, for what is not as it was
    written.
    """
    folder = Path(path)
    run = _read_run(folder)
    settings = _settings_of(run, folder)
    games, _ = read_games(folder / GAMES, settings)
    about = run.get("about")
    if not isinstance(about, dict):
        raise ValueError(f"{folder / RUN} is not as it was written (about={about!r})")
    return Played(settings, games, *_times_of(run, settings, folder), about)


def read_games(path: Path, settings: Settings) -> tuple[dict[str, np.ndarray], int]:
    """The games of all complete sittings by kind of table, and the number of bytes that their lines take up.

    Each table's deals come in order, each with its seatings in order, so that a line which is missing, there twice,
    moved or of another run is noticed. Raises ValueError, naming the line, for it, and for a wrong one; what an
    interruption has left of a sitting at the end of the file is not read.
    """
    k, n = len(settings.agents), settings.rules.num_players
    complete: dict[str, list[np.void]] = {}
    open_sitting: list[np.void] = []  # games of the sitting that is being read
    tables = np.zeros((0, n), np.int64)  # its seatings
    end = position = 0
    content = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(content, 1):
        position += len(line)
        if number == len(content) and not line.endswith(b"\n"):
            break
        try:
            table, game = game_of_line(line.decode(), settings.rules, k, settings.sitting)
            if not open_sitting:
                done = complete.setdefault(table, [])
                first = int(done[-1]["deal"]) + 1 if done else 0
                tables, open_table = seatings(table, k, n, settings.seed, first // settings.sitting), table
            deal, seating = first + len(open_sitting) // len(tables), tables[len(open_sitting) % len(tables)].tolist()
            if table != open_table or game["deal"] != deal or game["seating"].tolist() != seating:
                raise ValueError(
                    f"it is out of place: here must be deal {deal} of the table {open_table!r}"
                    f" with the seating {seating}"
                )
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        open_sitting.append(game)
        if len(open_sitting) == settings.sitting * len(tables):
            done += open_sitting
            open_sitting, end = [], position
    return {table: np.stack(games) for table, games in complete.items() if games}, end
