"""A training run in its folder: learn, report, save, go on after an interruption.

| file | holds |
|---|---|
| ``config.json`` | all settings |
| ``checkpoint.safetensors`` | the newest checkpoint |
| ``metrics.jsonl`` | one line for each iteration |
| ``events.out.tfevents.*`` | the same for TensorBoard |
| ``evaluation.json`` | win shares at the end |
"""

from __future__ import annotations

import dataclasses
import json
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

from agents.checkpoint import FILE_NAME, load_checkpoint, save_checkpoint
from agents.config import TrainConfig
from agents.evaluate import evaluate, table_of
from agents.policy import PolicyAgent
from agents.ppo import PPO
from rs_env.arena import Duel
from rs_env.baselines.agent import Agent

EVALUATION_SEED = 1_000_000  # far from the seeds of training, so that no deal was seen before


class Run:
    """A run in `folder`, new or, with `Run.resume`, continued."""

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        if (folder / FILE_NAME).exists():
            raise ValueError(f"{folder} holds a run already: give another folder, or continue that run with --resume {folder}")
        self.folder, self.learner, self.seconds = folder, self._new_learner(config), 0.0
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config.to_dict(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def resume(cls, folder: Path) -> Self:
        """The run whose checkpoint lies in `folder`, as it was when that was saved. Raises ValueError where there is none that fits."""
        if not folder.is_dir():
            raise ValueError(f"{folder} is no folder of a run")
        config, network, tensors, progress = load_checkpoint(folder)
        run = cls.__new__(cls)
        try:
            run.folder, run.seconds = folder, float(progress["seconds"])
            run.learner = run._new_learner(config)
            run.learner.restore(network, tensors, progress["iteration"])
        except (KeyError, TypeError, RuntimeError, ValueError) as error:
            raise ValueError(f"checkpoint in {folder} does not continue a run: {error}") from None
        run._forget_later_metrics()
        return run

    def _new_learner(self, config: TrainConfig) -> PPO:
        return PPO(config)

    def _forget_later_metrics(self) -> None:
        """Drop the lines of iterations that were played after the checkpoint and will be played again."""
        path = self.folder / "metrics.jsonl"
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            path.write_text("".join(lines[: self.learner.iteration]), encoding="utf-8")

    @property
    def config(self) -> TrainConfig:
        """The run's settings."""
        return self.learner.config

    @property
    def complete(self) -> bool:
        """Whether all iterations have been played."""
        return self.learner.iteration >= self.config.iterations

    def agent(self) -> PolicyAgent:
        """The network as it is now, as a player."""
        return PolicyAgent(self.learner.network, self.config.rules.num_players, self.folder.name, self.config.evaluation.temperature)

    def save(self) -> None:
        """Write the checkpoint."""
        progress = {"iteration": self.learner.iteration, "iterations": self.config.iterations, "seconds": self.seconds}
        save_checkpoint(self.folder / FILE_NAME, self.config, self.learner.network, self.learner.tensors(), progress)

    def train(self, console: Console) -> bool:
        """Train to the end; False where Ctrl-C stopped it, with all progress saved."""
        torch.set_num_threads(self.config.threads)
        learner, total, win_share = self.learner, self.config.iterations, None
        per_iteration = self.config.ppo.num_envs * self.config.ppo.steps
        with (
            _interruption() as interrupted,
            SummaryWriter(self.folder, purge_step=learner.iteration * per_iteration) as board,
            (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as metrics_file,
            _progress_bar(console) as bar,
        ):
            task = bar.add_task("training", total=total, completed=learner.iteration, speed="", win="")
            while learner.iteration < total and not interrupted:
                begin = time.perf_counter()
                metrics = learner.iterate()
                speed = per_iteration / (time.perf_counter() - begin)
                metrics["charts/SPS"] = speed
                metrics |= self._evaluate_on_the_way()
                win_share = metrics.get("evaluation/win_share_random", win_share)
                self.seconds += time.perf_counter() - begin
                step = learner.iteration * per_iteration
                for name, value in metrics.items():
                    board.add_scalar(name, value, step)
                line = {"iteration": learner.iteration, "decisions": step, "seconds": round(self.seconds, 3), **metrics}
                metrics_file.write(json.dumps(line) + "\n")
                metrics_file.flush()
                if learner.iteration % self.config.checkpoint_every == 0:
                    self.save()
                shown = "" if win_share is None else f"{win_share:.0%} v random"
                bar.update(task, completed=learner.iteration, speed=f"{speed / 1000:.1f}k/s", win=shown)
        self.save()
        return self.complete

    def _evaluate_on_the_way(self) -> dict[str, float]:
        evaluation = self.config.evaluation
        if evaluation.deals_on_the_way == 0 or self.learner.iteration % evaluation.every:
            return {}
        (result,) = evaluate(self.agent(), ["random"], self.config.rules, evaluation.deals_on_the_way, EVALUATION_SEED)
        return {"evaluation/win_share_random": result.win_share, "evaluation/capped_random": result.capped}

    def opponents(self) -> Sequence[str | Agent]:
        """Against whom the run is evaluated at the end."""
        return self.config.evaluation.opponents

    def evaluate(self, console: Console) -> list[Duel]:
        """Play against `opponents`, print the table, write it to ``evaluation.json``, and return it."""
        evaluation = self.config.evaluation
        duels = evaluate(self.agent(), self.opponents(), self.config.rules, evaluation.deals, EVALUATION_SEED)
        text = json.dumps([dataclasses.asdict(d) for d in duels], indent=2)
        (self.folder / "evaluation.json").write_text(text + "\n", encoding="utf-8")
        console.print(table_of(duels))
        return duels


def _progress_bar(console: Console) -> Progress:
    texts = [TextColumn("{task.completed}/{task.total}"), TextColumn("{task.fields[speed]}"), TextColumn("{task.fields[win]}")]
    return Progress(BarColumn(20), *texts, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), console=console)


@contextmanager
def _interruption() -> Iterator[list[int]]:
    """A list that fills when Ctrl-C or a termination signal comes, so that the iteration can end; a second one ends at once."""
    received: list[int] = []

    def note(number: int, frame: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
