"""A training run in its folder: learn, report, save, go on after an interruption.

| file | holds |
|---|---|
| ``config.json`` | all settings |
| ``checkpoint.safetensors`` | the newest checkpoint, from which the run goes on |
| ``best.safetensors`` | that with the highest win share on the way, where games are played on the way |
| ``metrics.jsonl`` | one line for each iteration |
| ``events.out.tfevents.*`` | the same for TensorBoard |
| ``evaluation.json`` | win shares at the end |
| ``lessons/`` | what a teacher made, of the learner `distill` |
| ``.lock`` | held by the process that trains |

Of several ranks (`agents.distributed`) the first one alone reads and writes; any number of them may go on.

A process may end at any moment, also while it writes: every file is whole, and `Run.resume` goes on from the newest
checkpoint, as if nothing had happened. What has been written after it is written again.
"""

from __future__ import annotations

import dataclasses
import json
import math
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

import torch
from rich.console import Console

from agents.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from agents.company import Company
from agents.config import TrainConfig
from agents.distributed import ranks
from agents.evaluate import evaluate, name_of_rules, table_of
from agents.learner import Learner
from agents.log import METRICS, log_in
from agents.meter import Meter, new_meter
from agents.settings import check
from rs_env.agent import Agent
from rs_env.arena import Duel
from rs_env.baselines.checkpoints import FILE_NAME
from rs_env.files import only_process_in, write_whole
from rs_env.rules import Rules

CONFIG, EVALUATION, BEST = "config.json", "evaluation.json", "best.safetensors"
STAGES = "stages.json"  # of several runs in a row: see `agents.stages`
_PARTS = (CONFIG, FILE_NAME, BEST, METRICS, EVALUATION, STAGES, "lessons", "events.out.tfevents.*")  # of a run
REPORT, CHOICE = 0, 1  # seeds of evaluation: of what is reported at the end, and of what choices are made by


class DivergedError(ValueError):
    """Training has led to numbers that are not finite. The last good checkpoint was kept."""


class Run:
    """A run in `folder`, new or, with `Run.resume`, continued.

    cluster: address of a Dask scheduler, whose workers work for a learner that has work for others.
    Raises ValueError for a folder that holds anything of a run, and where another process trains there.
    """

    cluster: str | None = None

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        self.config, self.folder, self.seconds, self._best = config, folder, 0.0, -1.0
        self.temperature = config.evaluation.temperature
        self.learner: Learner = self._new_learner()
        ranks().of_first(lambda: folder.mkdir(parents=True, exist_ok=True))
        with alone_in(folder):
            ranks().of_first(self._begin_folder)
            self.save()

    def _begin_folder(self) -> None:
        check_free(self.folder)
        told = json.dumps(self.config.to_dict(), indent=2) + "\n"
        for name, text in {**self._own_files(), CONFIG: told}.items():
            write_whole(self.folder / name, text)

    @classmethod
    def resume(cls, folder: Path) -> Self:
        """The run in `folder`, as it was when its checkpoint was saved. Raises ValueError where there is none that
        fits.
        """
        run = cls.__new__(cls)
        run.folder, run.seconds, run._best = folder, 0.0, -1.0
        run.config, checkpoint = ranks().of_first(lambda: _found_in(folder))
        if checkpoint is None:  # it was stopped as it began
            run.temperature = run.config.evaluation.temperature
            run.learner = run._new_learner()
            with alone_in(folder):
                run.save()
            return run
        progress = checkpoint.progress
        try:
            run.seconds, run._best = float(progress["seconds"]), float(progress["best"])
            run.temperature = float(progress["temperature"])
            run.learner = run._new_learner(goes_on=True)
            if run.learner.iterations != progress["iterations"]:
                raise ValueError(f"it has {progress['iterations']} iterations, not {run.learner.iterations}")
            run.learner.restore(checkpoint.tensors, progress["iteration"])
        except (KeyError, TypeError, RuntimeError, ValueError) as error:
            raise ValueError(f"checkpoint in {folder} does not continue a run: {error}") from None
        run._saved = _stamp(folder / FILE_NAME)
        return run

    def _new_learner(self, goes_on: bool = False) -> Learner:
        """The learner at its beginning. First weights depend on the number of threads, too. Raises ValueError for one
        that several ranks cannot train.
        """
        torch.set_num_threads(ranks().here(self.config.threads))
        learner = self.config.make_learner(self._company(), goes_on)
        fits = ranks().size == 1 or getattr(learner, "works_in_ranks", False)
        check("learner", self.config.learner, fits, "one that several ranks can train")
        return learner

    def _company(self) -> Company | None:
        """Who sits where; None: as the configuration has it."""
        return None

    def _own_files(self) -> dict[str, str]:
        """Further files that a new run starts with, by name."""
        return {}

    def _forget_later_metrics(self) -> None:
        """Drop the lines of iterations after the checkpoint, which will be played again, and what an interruption left
        of a line.

        Raises ValueError, naming the line, where an earlier line is not as it was written.
        """
        path = self.folder / METRICS
        if not path.exists():
            return
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        kept: list[str] = []
        # Iteration of the last line kept. The first one may be any: a run whose file was lost goes on without it.
        last = None
        for number, line in enumerate(lines, 1):
            iteration = _iteration_of(line)
            if last == self.learner.iteration or (iteration is not None and iteration > self.learner.iteration):
                break
            if iteration is None and number == len(lines) and not line.endswith("\n"):
                break
            if iteration is None or (last is not None and iteration != last + 1):
                expected = "of an iteration" if last is None else f"that of iteration {last + 1}"
                raise ValueError(f"{path}, line {number}: it is not {expected}; restore the file, or delete it")
            kept.append(line)
            last = iteration
        if kept and last != self.learner.iteration:
            raise ValueError(
                f"{path}, line {len(kept)}: the lines of iterations {last + 1} to"  # type: ignore[operator]
                f" {self.learner.iteration} are missing after it; restore the file, or delete it"
            )
        if len(kept) != len(lines):
            write_whole(path, "".join(kept))

    @property
    def complete(self) -> bool:
        """Whether all iterations have been played."""
        return self.learner.iteration >= self.learner.iterations

    def agent(self) -> Agent:
        """What has been learnt up to now, as a player."""
        return self.learner.agent("trained", self.temperature)

    def save(self, name: str = FILE_NAME) -> None:
        """Write the checkpoint, of all ranks together."""
        progress = {
            "iteration": self.learner.iteration,
            "iterations": self.learner.iterations,
            "seconds": self.seconds,
            "best": self._best,
            "temperature": self.temperature,
        }
        tensors = self.learner.tensors()
        if ranks().is_first:
            save_checkpoint(self.folder / name, self.config.to_dict(), tensors, progress)
        if name == FILE_NAME:
            self._saved = _stamp(self.folder / name)

    def train(self, console: Console, meter: Meter | None = None) -> bool:
        """Train to the end; False where Ctrl-C stopped it, with all progress saved. meter: shows how far it is; None: a
        bar of its own.

        Raises ValueError where another process trains in the folder or has done so meanwhile, and DivergedError.
        """
        torch.set_num_threads(ranks().here(self.config.threads))
        with alone_in(self.folder):
            ranks().of_first(self._check_saved)
            if not self.complete:
                self._rehearse()
            ranks().of_first(self._forget_later_metrics)
            with nullcontext(meter) if meter else new_meter(console, self.learner.iterations) as shown:
                return self._train(shown)

    def _check_saved(self) -> None:
        if _stamp(self.folder / FILE_NAME) != self._saved:
            raise ValueError(f"{self.folder}: another process has gone on with this run meanwhile; resume it again")

    def _rehearse(self) -> None:
        """Play what will be played at the end on two deals: what fails should fail now."""
        self._duels(self.agent(), self.opponents(), 2, CHOICE, self.config.evaluation.unseen)

    def _train(self, meter: Meter) -> bool:
        learner, total = self.learner, self.learner.iterations
        working_in = getattr(learner, "working_in", lambda folder, **_: nullcontext())
        with (
            _interruption() as interrupted,
            log_in(self.folder, learner.decisions, ranks().is_first) as log,
            working_in(self.folder, **({} if self.cluster is None else {"cluster": self.cluster})),
        ):
            meter.show(learner.iteration, total)
            while learner.iteration < total and not ranks().any(bool(interrupted)):
                begin, before = time.perf_counter(), learner.decisions
                metrics = learner.iterate()
                self._check_finite(metrics)
                speed = (learner.decisions - before) / (time.perf_counter() - begin)
                metrics["charts/SPS"] = speed
                duels = self._evaluate_on_the_way()
                for name, duel in duels:
                    metrics[f"evaluation/win_share_{name}"] = duel.win_share
                    metrics[f"evaluation/capped_{name}"] = duel.capped
                self.seconds += time.perf_counter() - begin
                log.add(learner.iteration, learner.decisions, self.seconds, metrics)
                win_share = sum(duel.win_share for _, duel in duels) / max(len(duels), 1)
                if duels and win_share > self._best:
                    self._best = win_share
                    self.save(BEST)
                if learner.iteration % self.config.checkpoint_every == 0:
                    log.flush()
                    self.save()
                meter.show(learner.iteration, total, speed, [duel for name, duel in duels if name == duel.opponent])
            log.flush()
        self.save()
        return self.complete

    def _check_finite(self, metrics: dict[str, float]) -> None:
        """Raise DivergedError, with the last good checkpoint kept, where a metric or a weight of the network is not
        finite.
        """
        wrong = [name for name, value in metrics.items() if not math.isfinite(value)]
        if wrong or not self.learner.is_finite():
            raise DivergedError(
                f"iteration {self.learner.iteration}: {', '.join(wrong) or 'the weights'} not finite, training has"
                f" diverged; the last good checkpoint is kept in {self.folder}."
                " Train anew with smaller steps, such as a smaller learning_rate"
            )

    def _duels(
        self, agent: Agent, opponents: Sequence[str | Agent], deals: int, seed: int, unseen: Sequence[Rules] = ()
    ) -> dict[Rules, list[Duel]]:
        """Duels by each of the run's rule sets, and by others."""
        every = (*self.config.rule_sets, *unseen)
        return {rules: evaluate(agent, opponents, rules, deals, seed) for rules in every}

    def _evaluate_on_the_way(self) -> list[tuple[str, Duel]]:
        """Duels and their names: the opponent's, with the rules where they are a table's."""
        evaluation = self.config.evaluation
        if evaluation.deals_on_the_way == 0 or self.learner.iteration % evaluation.every:
            return []
        opponents, deals = evaluation.opponents_on_the_way, evaluation.deals_on_the_way
        found = self._duels(self.agent(), opponents, deals, CHOICE)
        names = {rules: "" if rules == self.config.rules else f" {name_of_rules(rules)}" for rules in found}
        return [(f"{duel.opponent}{names[rules]}", duel) for rules, duels in found.items() for duel in duels]

    def opponents(self) -> Sequence[str | Agent]:
        """Against whom the run is evaluated at the end."""
        return self.config.evaluation.opponents

    def evaluate(self, console: Console) -> list[Duel]:
        """Choose the temperature, play against `opponents` by all rules, print a table for each, write them to
        ``evaluation.json``, and return the duels.
        """
        evaluation = self.config.evaluation
        self._choose_temperature()
        found = self._duels(self.agent(), self.opponents(), evaluation.deals, REPORT, evaluation.unseen)
        told: list[dict[str, Any]] = []
        for rules, duels in found.items():
            name = {"rules": name_of_rules(rules)} if len(found) > 1 else {}
            told += [{**dataclasses.asdict(duel), "temperature": self.temperature, **name} for duel in duels]
            console.print(table_of(duels, self.temperature, **name))
        ranks().of_first(lambda: write_whole(self.folder / EVALUATION, json.dumps(told, indent=2) + "\n"))
        return [duel for duels in found.values() for duel in duels]

    def _choose_temperature(self) -> None:
        """Play from now on, also from the checkpoint, at the temperature with the best mean win share on deals that are
        not reported.
        """
        evaluation = self.config.evaluation
        if not evaluation.temperatures:
            return
        shares = []
        for temperature in evaluation.temperatures:
            agent = self.learner.agent("trained", temperature)
            opponents, deals = evaluation.opponents_on_the_way, evaluation.deals_to_choose
            found = self._duels(agent, opponents, deals, CHOICE)
            shares.append(sum(duel.win_share for duels in found.values() for duel in duels))
        self.temperature = evaluation.temperatures[shares.index(max(shares))]
        with alone_in(self.folder):
            self.save()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder of a run for these ranks. Raises ValueError where others train there."""
    with ExitStack() as held:
        ranks().of_first(lambda: held.enter_context(only_process_in(folder, "training")))
        yield


def check_free(folder: Path) -> None:
    """Raise ValueError for a folder with anything of a run."""
    found = sorted(path.name for part in _PARTS for path in folder.glob(part))
    if found:
        raise ValueError(
            f"{folder} holds a run already ({', '.join(found)}):"
            f" give another folder, or continue that run with --resume {folder}"
        )


def _iteration_of(line: str) -> int | None:
    """The iteration of a whole line of metrics; None for anything else."""
    try:
        iteration = json.loads(line)["iteration"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return iteration if isinstance(iteration, int) and line.endswith("\n") else None


def _stamp(path: Path) -> tuple[int, int] | None:
    """What tells one version of a file from another; None where there is none."""
    if not path.exists():
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_ino


def _read_config(path: Path) -> TrainConfig:
    try:
        return _config_of(path, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, RecursionError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None


def config_in(folder: Path) -> TrainConfig:
    """The settings of the run in a folder. Raises ValueError as `Run.resume` does."""
    return _found_in(folder)[0]


def _found_in(folder: Path) -> tuple[TrainConfig, Checkpoint | None]:
    """The settings of the run in a folder, and its checkpoint if it has come to one. Raises ValueError for what does
    not fit together.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder of a run")
    if not (folder / FILE_NAME).exists() and (folder / CONFIG).exists():
        return _read_config(folder / CONFIG), None
    checkpoint = load_checkpoint(folder)
    config = _config_of(folder / FILE_NAME, checkpoint.config)
    if (folder / CONFIG).exists() and _read_config(folder / CONFIG) != config:
        raise ValueError(f"{folder}: checkpoint and {CONFIG} are not of one run")
    return config, checkpoint


def _config_of(path: Path, values: Any) -> TrainConfig:
    """The configuration with these values, from the file that errors name."""
    try:
        return TrainConfig.from_dict(values)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None


@contextmanager
def _interruption() -> Iterator[list[int]]:
    """A list that fills when Ctrl-C or a termination signal comes, so that the iteration can end; a second one ends at
    once.

    Python lets the main thread alone receive signals: in any other thread the list stays empty.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

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
