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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rs_env.engine.history import NEXT_DEAL, NOTICED, SHOWN
from rs_env.game import Game

__all__ = ["NEXT_DEAL", "NOTICED", "SHOWN", "Histories"]


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
        lengths = np.array([len(game.events) for game in games], np.int64)
        events = np.zeros((len(games), max(lengths, default=0)), np.uint8)
        for row, game in zip(events, games, strict=True):
            row[: len(game.events)] = game.events
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
        return Histories(self.events[rows].copy(), self.lengths[rows].copy())

    def __iter__(self) -> Any:
        return (row[:length] for row, length in zip(self.events, self.lengths, strict=True))
