"""What a run writes as it goes on: a line of ``metrics.jsonl`` for each iteration, and the same for TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from torch.utils.tensorboard import SummaryWriter

METRICS = "metrics.jsonl"


class Log:
    """Writes to an open file and a board; to None nothing, as ranks do that are not the first."""

    def __init__(self, file: TextIO | None, board: SummaryWriter | None) -> None:
        self._file, self._board = file, board

    def add(self, iteration: int, decisions: int, seconds: float, metrics: Mapping[str, float]) -> None:
        """Write the metrics of an iteration."""
        if self._file is None or self._board is None:
            return
        for name, value in metrics.items():
            self._board.add_scalar(name, value, decisions)
        line = {"iteration": iteration, "decisions": decisions, "seconds": round(seconds, 3), **metrics}
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()

    def flush(self) -> None:
        """Write what waits for TensorBoard; before a checkpoint, since what it has of earlier steps is not written
        again.
        """
        if self._board is not None:
            self._board.flush()


@contextmanager
def log_in(folder: Path, decisions: int, writes: bool) -> Iterator[Log]:
    """The log of the run in this folder, which goes on after so many decisions."""
    if not writes:
        yield Log(None, None)
        return
    with (
        # What was written of later steps than the checkpoint's is purged: from the one after it on.
        SummaryWriter(folder, purge_step=decisions + 1) as board,
        (folder / METRICS).open("a", encoding="utf-8") as file,
    ):
        yield Log(file, board)
