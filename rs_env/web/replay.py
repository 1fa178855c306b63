"""Looking back: any position of a game as any seat saw it, and what agents make of its decisions."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rs_env.checks import check_whole
from rs_env.describe import rule_sentences
from rs_env.game import Game
from rs_env.record import replay
from rs_env.render.table import shown_name, table_of_game
from rs_env.web.story import Story, story_of
from rs_env.web.thinking import Position, Sitting, chances, position_of

_LONGEST_LINE = 1 << 24  # bytes of one game
_LONGEST_REASON = 300  # characters of what is wrong with a line


class Replay:
    """A game that was played. Positions are named by the number of actions before them, 0 .. `length`.

    Nothing in it changes, so that several threads may ask.
    """

    def __init__(self, story: Story, names: Sequence[str] | None = None, sitting: Sitting | None = None) -> None:
        """names: of the players by seat. sitting: what they may remember."""
        self._story, self.sitting = story, sitting or Sitting()
        self.names = list(names or (f"seat {seat}" for seat in range(story.game.num_players)))

    @property
    def length(self) -> int:
        """How many actions there are."""
        return len(self._story.events)

    def _game(self, at: int) -> Game:
        return self._story.game_at(check_whole("at", at, 0, self.length))

    def outline(self) -> dict[str, Any]:
        """Names, events and which of them were decisions: all hands are open to those who look back."""
        game = self._story.game
        return {
            "names": self.names,
            "length": self.length,
            "events": [event.to_dict() for event in self._story.events],
            "free": self._story.was_free,
            "over": game.is_over,
            "truncated": game.truncated,
            "scores": game.scores(),
            "told": rule_sentences(game.view(0)),
            "remembered": len(self.sitting.games),
        }

    def position(self, at: int, seat: int | None) -> dict[str, Any]:
        """The table in a position, as a seat saw it or (None) open."""
        return table_of_game(self._game(at), self.names, seat).to_dict()

    def chances(self, at: int, seat: int) -> list[dict[str, float]]:
        """What a seat could know of the hidden cards there, see `rs_env.web.thinking.chances`."""
        return chances(self._game(at).view(seat))

    def question(self, at: int) -> Position | None:
        """What an agent would be asked in a position; None where the seat had no choice, and at the end."""
        at = check_whole("at", at, 0, self.length)
        if at == self.length or not self._story.was_free[at]:
            return None
        game = self._game(at)
        return position_of(game, game.seed)


class Library:
    """The games of a file of records, a line each, of a folder of such files, or of a folder of the arena.

    Raises ValueError, naming the path and why, where there is no game. Games are read when they are asked for.
    """

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        if not path.exists():
            raise _refused(path, "there is no such file or folder")
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        self.name = path.name or str(path)
        self._places = [(file, line, offset) for file in files for line, offset in _lines(file)]
        if not self._places:
            raise _refused(path, "no file in it has games" if path.is_dir() else "it is empty")
        self._check(path)

    def _check(self, path: Path) -> None:
        """Raise ValueError, with what is wrong with the first line, unless some line is a game."""
        first = ""
        for number in range(len(self)):
            try:
                self._read(number)
                return
            except ValueError as error:
                first = first or str(error)
        raise _refused(path, first)

    def __len__(self) -> int:
        return len(self._places)

    def game(self, number: int) -> Replay:
        """Game `number`. Raises ValueError, naming file and game, for what is no record."""
        record, game = self._read(check_whole("game", number, 0, len(self) - 1))
        return Replay(story_of(game), names_of(record), self._sitting(number, record))

    def _read(self, number: int) -> tuple[dict[str, Any], Game]:
        file, line, _ = self._places[number]
        try:
            text = self._line(number).decode()
            game = replay(text)
            return json.loads(text), game
        except ValueError as error:
            raise ValueError(f"{file}, line {line}: {_shortened(str(error))}") from None

    def _line(self, number: int) -> bytes:
        file, _, offset = self._places[number]
        with file.open("rb") as opened:
            opened.seek(offset)
            return opened.readline(_LONGEST_LINE)

    def _sitting(self, number: int, record: dict[str, Any]) -> Sitting:
        """What lies before a game: its sitting's deals among the games before it, or nothing where one is missing."""
        name, deal = sitting_of(record)
        found: dict[int, Game] = {}
        for other in range(number - 1, -1, -1):
            if len(found) == deal:
                break
            with contextlib.suppress(ValueError, RecursionError):
                earlier = json.loads(self._line(other))
                if not isinstance(earlier, dict) or earlier.get("over") is not True:
                    continue
                its_name, its_deal = sitting_of(earlier)
                if its_name == name and its_deal < deal and its_deal not in found:
                    found[its_deal] = replay(earlier)
        return Sitting(tuple(found[each] for each in range(deal))) if len(found) == deal else Sitting()


def sitting_of(record: dict[str, Any]) -> tuple[Any, int]:
    """The sitting of a record of a table or of the arena, by name, and the number of its deals before this one."""
    match record:
        case {"index": int(index), "arena": {"table": table, "sitting": int(length), "seating": seating}} if length > 0:
            return (table, seating, index // length), index % length
        case {"sitting": {"name": str(name), "deal": int(deal)}} if deal >= 0:
            return name, deal
    return None, 0


def _shortened(told: str) -> str:
    return told if len(told) <= _LONGEST_REASON else f"{told[:_LONGEST_REASON]} ..."


def _refused(path: Path, why: str) -> ValueError:
    return ValueError(
        f"games={str(path)!r} is not allowed: {why}; it must be a file of records, a folder of such files (*.jsonl), or"
        " a folder of the arena"
    )


def _lines(file: Path) -> list[tuple[int, int]]:
    """The numbers of the lines of a file, from 1, and where they begin; empty ones are left out."""
    places, offset = [], 0
    with file.open("rb") as opened:
        for number, line in enumerate(opened, 1):
            if line.strip():
                places.append((number, offset))
            offset += len(line)
    return places


def names_of(record: dict[str, Any]) -> list[str] | None:
    """The players by seat, where the record of a table or of the arena tells them; ``"seat 1"`` for a name with nothing
    to be seen.
    """
    arena = record.get("arena")
    players = arena.get("players") if isinstance(arena, dict) else record.get("players")
    if not isinstance(players, list) or not all(isinstance(name, str) for name in players):
        return None
    names = [shown_name(name) or f"seat {seat}" for seat, name in enumerate(players)]
    return names if len(names) == record["rules"].get("num_players", 4) else None
