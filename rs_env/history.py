"""The public history of games, for agents that want it: what everybody at the table has seen, one byte an event.

Events, in order, of the deal or match up to now:

| byte | event |
|---|---|
| 0..52 | the action of the seat whose turn it was, 52 being the pickup |
| 64 + action | the same, a silent play that the table noticed |
| 128 + card | the card shown as trump, the first event of a deal with ``trump="last_dealt"`` |
| 255 | the next deal of a match begins |

Whose turn it was follows from the rules and the dealer, as `rs_env.engine.history` shows. An agent declares that it
wants histories by a parameter ``histories`` of its `act`; see `rs_env.agent.Agent`.

Networks get the newest actions in another form, the observation ``history=K`` of the environments: int8 (K, 3), one row
for each action of the running deal, the oldest first, with rows of zeros before the first one. A row is the seat that
acted, relative to the observer, then the action, then what it did: 1 led, 2 followed, 3 ruffed (played a trump to
another suit), 4 played silently and unnoticed, 5 was noticed doing so, 6 picked up; 8 is added where the card completed
its trick. `recent` gives the same to an agent that has histories, and `decode_history` puts it into words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rs_env.cards import PICKUP, action_text
from rs_env.checks import check_whole
from rs_env.engine import entry
from rs_env.engine.history import (
    COMPLETED,
    MOST_EVENTS,
    NEXT_DEAL,
    NOTICED,
    SHOWN,
    SILENT,
    new_trace,
    show_recent,
    tell,
)
from rs_env.engine.view import as_views_of_any_seat, empty_views
from rs_env.game import Game
from rs_env.rules import Rules

__all__ = ["HISTORY_VERSION", "NEXT_DEAL", "NOTICED", "SHOWN", "Act", "Histories", "decode_history", "recent"]

HISTORY_VERSION = 1
"""Of the observation of the history; a change of the meaning of any entry raises it."""

MOST_RECENT = 1024
WHAT = ("nothing", "led", "followed", "ruffed", "silent", "noticed", "picked up")

Log = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The log of many games as compiled code keeps it, see `rs_env.engine.history`."""

_SHORTEST = 256  # events of a log to begin with; it grows


@dataclass(frozen=True)
class Histories:
    """The public histories of B games.

    events: uint8 (B, L), row i holds the events of game i and then anything. lengths: int64 (B,), their number.
    """

    events: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, games: Sequence[Game]) -> Histories:
        """Those of some games."""
        each = [game.events for game in games]
        lengths = np.array([len(one) for one in each], np.int64)
        events = np.zeros((len(games), max(lengths, default=0)), np.uint8)
        for row, one in zip(events, each, strict=True):
            row[: len(one)] = one
        return cls(events, lengths)

    def read_only(self) -> Histories:
        """A copy that cannot be written to."""
        given = self[:]
        for array in (given.events, given.lengths):
            array.flags.writeable = False
        return given

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: Any) -> Histories:
        """Those of some games, as copies: an array of indices or of bools, or a slice."""
        lengths = self.lengths[rows].copy()
        events = self.events[rows][:, : lengths.max(initial=0)].copy()
        events[np.arange(events.shape[1]) >= lengths[:, None]] = 0  # of earlier games, perhaps of the same deck
        return Histories(events, lengths)

    def __iter__(self) -> Any:
        return (row[:length] for row, length in zip(self.events, self.lengths, strict=True))


# Logs


def new_log(rules: Rules, games: int) -> Log:
    """The log of so many games that have not begun."""
    length = min(rules.action_limit, _SHORTEST) + 2 * MOST_EVENTS
    return *np.zeros((2, games, length), np.uint8), np.zeros(games, np.int64)


def log_of(views: np.ndarray, histories: Histories) -> Log:
    """The log of games that go on: views of their present positions, and how they came about. Raises ValueError where
    these do not fit together.
    """
    events, lengths = check_histories(histories, len(views))
    longer = np.zeros((len(views), events.shape[1] + 2 * MOST_EVENTS), np.uint8)
    longer[:, : events.shape[1]] = events
    log = longer, np.zeros_like(longer), lengths
    unfit = tell(views, log, new_trace(1))
    if unfit >= 0:
        raise ValueError(f"histories: number {unfit} does not lead to its position")
    return log


def check_histories(histories: Histories, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Events and lengths, copied. Raises ValueError unless they are the histories of so many games."""
    if not isinstance(histories, Histories):
        raise ValueError(f"histories={histories!r} is not allowed: it must be a rs_env.history.Histories")
    events, lengths = np.array(histories.events, order="C"), np.array(histories.lengths, order="C")
    fits = events.ndim == 2 and len(events) == count and events.dtype == np.uint8
    if not (fits and lengths.shape == (count,) and lengths.dtype == np.int64):
        raise ValueError(
            f"histories: events {events.dtype} {events.shape} and lengths {lengths.dtype} {lengths.shape} are not"
            f" allowed: they must be uint8 ({count}, any) and int64 ({count},)"
        )
    if count and not 0 <= lengths.min() <= lengths.max() <= events.shape[1]:
        raise ValueError(f"histories: lengths must be in 0..{events.shape[1]}")
    return events, lengths


def check_events(events: Any) -> np.ndarray:
    """The events of one game as compiled code takes them. Raises ValueError unless they are uint8 of shape (L,)."""
    if not isinstance(events, np.ndarray) or events.dtype != np.uint8 or events.ndim != 1:
        told = f"{events.dtype} {events.shape}" if isinstance(events, np.ndarray) else f"a {type(events).__name__}"
        raise ValueError(f"events: {told} is not allowed: they must be a uint8 array of shape (number of events,)")
    return np.require(events, requirements=("C", "A", "W"))


# Observations


def check_history(history: int) -> int:
    """How many actions an observation of the history shows. Raises ValueError for a number that is not allowed."""
    return check_whole("history", history, 0, MOST_RECENT)


def recent(views: np.ndarray, histories: Histories, history: int) -> np.ndarray:
    """The observation ``history=K`` of these views, int8 (B, K, 3), for an agent that has them and their histories.

    Raises ValueError for a K outside 1..1024, for views of several numbers of players, and for histories that do not
    lead to them.
    """
    views = as_views_of_any_seat(views)
    out = np.zeros((len(views), check_whole("history", history, 1, MOST_RECENT), 3), np.int8)
    players = np.unique(views["rules"]["num_players"]).tolist()
    if len(players) > 1:
        raise ValueError(f"views: of {players} players are not allowed together: they must be of one number")
    for num_players in players:
        show_recent(log_of(views, histories), views["seat"].astype(np.int8), num_players, out)
    return out


def recent_of(game: Game, seat: int, history: int) -> np.ndarray:
    """The observation ``history=K`` of a seat in a game: int8 (K, 3), a fresh array."""
    views, out = empty_views(game.rules, 1), np.zeros((1, history, 3), np.int8)
    entry.view(game.states, 0, seat, views)
    events = np.array([game.events])
    log = events, np.zeros_like(events), np.full(1, events.size)
    tell(views, log, new_trace(1))
    show_recent(log, np.full(1, seat, np.int8), game.num_players, out)
    return out[0]


def highest_recent(num_players: int, history: int) -> np.ndarray:
    """The upper bound of each entry of an observation of the history, int8 (K, 3); the lower ones are 0."""
    return np.tile(np.array([num_players - 1, PICKUP, SILENT + COMPLETED], np.int8), (history, 1))


class Act(NamedTuple):
    """One action of the history: who took it, relative to the observer, as a text, and what it did, one of `WHAT`."""

    seat: int
    action: str
    what: str
    completed: bool


def decode_history(history: np.ndarray) -> list[Act]:
    """An observation of the history, (K, 3), in words, the oldest action first. Raises ValueError for another shape."""
    history = np.asarray(history)
    if history.ndim != 2 or history.shape[1] != 3:
        raise ValueError(f"history: shape {history.shape} is not allowed: it must be (K, 3)")
    return [
        Act(seat, action_text(action), WHAT[what % COMPLETED], what >= COMPLETED)
        for seat, action, what in history.tolist()
        if what
    ]
