"""How far training is: one bar for a run, or for all runs of a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rs_env.arena import Duel


@dataclass(frozen=True)
class Meter:
    """The part of a bar that a run moves: from `begin` on by `length`. label: what stands before it."""

    bar: Progress
    task: TaskID
    begin: float
    length: float
    label: str = ""

    def show(self, iteration: int, iterations: int, speed: float = 0.0, duels: Sequence[Duel] = ()) -> None:
        """Show so many iterations of all, decisions per second, and the latest evaluation, where there is one."""
        told: dict[str, str] = {"told": f"{self.label}{iteration}/{iterations}"}
        if speed:
            told["speed"] = f"{speed / 1000:.1f}k/s"
        if duels:
            told["won"] = ", ".join(f"{d.win_share:.0%} v {d.opponent} ({d.capped:.0%} capped)" for d in duels)
        self.bar.update(self.task, completed=self.begin + self.length * iteration / iterations, **told)  # type: ignore[arg-type]


@contextmanager
def new_meter(console: Console, length: float) -> Iterator[Meter]:
    """A bar of this length, shown while within. Time left is told by the speed of the last minutes."""
    texts = [TextColumn("{task.fields[" + name + "]}") for name in ("told", "speed", "won")]
    times = [TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()]
    with Progress(BarColumn(20), *texts, *times, console=console, speed_estimate_period=120) as bar:
        task = bar.add_task("training", total=length, told="", speed="", won="")
        yield Meter(bar, task, 0.0, length)
