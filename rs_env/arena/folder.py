"""A comparison in its folder: settings and games, written as they are played and read again.

| file | holds |
|---|---|
| ``run.json`` | what is compared, how, with which versions, and the time that decisions took |
| ``games.jsonl`` | every game, one a line, in the order of the deals; see `rs_env.arena.games` |
| ``report.md``, ``report.html`` | the tables, see `rs_env.arena.report` |
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from rs_env.arena.games import games_of_records
from rs_env.arena.seating import games_per_deal
from rs_env.record import read_records
from rs_env.rules import Rules

FORMAT = "rs_env.arena/1"
_SAME = ("agents", "rules", "seed", "table")  # what a run must have in common with the one that it continues


@dataclass(frozen=True)
class Settings:
    """What is compared. agents: names. cheats: whether each sees all hands. table: kind of table, see `rs_env.arena.seating`.

    deals: of the main table; matrix_deals: of each agent against each field. precision: stop earlier where all intervals of
    the main table are at most this wide to either side.
    """

    agents: tuple[str, ...]
    cheats: tuple[bool, ...]
    rules: Rules
    seed: int
    table: str
    deals: int
    matrix_deals: int = 0
    precision: float | None = None

    @property
    def parts(self) -> dict[str, int]:
        """Deals of each kind of table."""
        return {self.table: self.deals, "matrix": self.matrix_deals}

    def games_per_deal(self, table: str) -> int:
        """Games of each deal at this kind of table."""
        return games_per_deal(table, len(self.agents), self.rules.num_players)


@dataclass(frozen=True)
class Played:
    """What has been played: games by kind of table, of dtype `rs_env.arena.games.games_dtype`; seconds and decisions asked (k,)."""

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

    import rs_env

    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {
        "date": date,
        "rs_env": rs_env.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


class Folder:
    """Where a run is written to. A new one, or with `resume` the one whose complete deals are kept.

    Raises ValueError where a folder holds a run and is not to be resumed, or holds another one.
    """

    def __init__(self, path: str | Path, settings: Settings, resume: bool) -> None:
        self.path = Path(path)
        self._games = self.path / "games.jsonl"
        self.past = nothing_played(settings)
        if (self.path / "run.json").exists():
            if not resume:
                raise ValueError(f"out={str(path)!r} is not allowed: it holds a run; give another folder, or resume it")
            before = read_settings(self.path)
            for name in _SAME:
                if getattr(before, name) != getattr(settings, name):
                    raise ValueError(
                        f"{name}={getattr(settings, name)!r} is not allowed: the run in {path} has {name}={getattr(before, name)!r}"
                    )
            drop_incomplete(self._games, settings)
            self.past = replace(read_folder(self.path), settings=settings, about=versions())
        self.path.mkdir(parents=True, exist_ok=True)
        self._games.touch()
        self.save(self.past)

    def add(self, lines: list[str]) -> None:
        """Write games to the end of the file."""
        with self._games.open("a", encoding="utf-8") as file:
            file.write("".join(lines))

    def save(self, played: Played) -> None:
        """Write the settings and times, at once: an interruption leaves the old file or the new one."""
        settings = {field.name: getattr(played.settings, field.name) for field in fields(Settings)} | {
            "rules": played.settings.rules.to_dict()
        }
        times = {"seconds": played.seconds.tolist(), "asked": played.asked.tolist()}
        text = json.dumps({"format": FORMAT, **settings, **times, "about": played.about}, indent=2)
        draft = self.path / "run.json.new"
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(self.path / "run.json")


def nothing_played(settings: Settings) -> Played:
    """The beginning of a run."""
    k = len(settings.agents)
    return Played(settings, {}, np.zeros(k), np.zeros(k, np.int64), versions())


def _read_run(path: Path) -> dict[str, Any]:
    try:
        run = json.loads((path / "run.json").read_text(encoding="utf-8"))
        if run["format"] != FORMAT:
            raise ValueError(f"format={run['format']!r} is not allowed: this version reads {FORMAT!r}")
        return run
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no folder of a comparison ({error})") from None


def read_settings(path: str | Path) -> Settings:
    """The settings of a folder. Raises ValueError where there are none."""
    run = _read_run(Path(path))
    try:
        values = {field.name: run[field.name] for field in fields(Settings)}
        rules = Rules.from_dict(values["rules"])
        return Settings(**{**values, "agents": tuple(values["agents"]), "cheats": tuple(values["cheats"]), "rules": rules})
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}/run.json is not as it was written ({error!r})") from None


def read_folder(path: str | Path) -> Played:
    """All that a folder holds. Raises ValueError, naming the line, for games that are no part of it."""
    path, settings, run = Path(path), read_settings(path), _read_run(Path(path))
    games = games_of_records(read_records(path / "games.jsonl"), settings.rules.num_players, len(settings.agents))
    return Played(settings, games, np.array(run["seconds"]), np.array(run["asked"], np.int64), run["about"])


def drop_incomplete(games: Path, settings: Settings) -> None:
    """Cut off the last deal of a file where an interruption has left only some of its games or half a line.

    Raises ValueError, with nothing cut, for a line that is wrong and not the last.
    """
    counts: Counter[tuple[str, int]] = Counter()
    end = position = 0
    with games.open("rb") as file:
        for number, line in enumerate(file, 1):
            position += len(line)
            try:
                record = json.loads(line)
                deal = record["arena"]["table"], record["index"]
                expected = settings.games_per_deal(deal[0])
            except (ValueError, KeyError, TypeError) as error:
                if file.readline():
                    raise ValueError(f"{games}, line {number} is no game of this arena ({error!r})") from None
                break
            counts[deal] += 1
            if line.endswith(b"\n") and counts[deal] == expected:
                end = position
    os.truncate(games, end)
