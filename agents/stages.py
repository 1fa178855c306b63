"""Runs in a row in one folder: each stage begins with the network of the one before.

| file | holds |
|---|---|
| ``stages.json`` | the settings of all stages |
| ``1-distill/``, ``2-ppo/``, ... | the run of each stage, see `agents.run` |
| ``checkpoint.safetensors``, ``evaluation.json`` | those of the last stage, once it has ended |

A stage is done once it has been evaluated. `StagedRun.resume` goes on with the first one that is not, as if nothing had
happened.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from rich.console import Console

from agents.config import TrainConfig
from agents.distributed import ranks
from agents.meter import Meter, new_meter
from agents.run import CONFIG, EVALUATION, STAGES, Run, alone_in, check_free, config_in
from agents.seating import START
from agents.settings import check
from rs_env.arena import Duel
from rs_env.baselines.checkpoints import FILE_NAME
from rs_env.files import write_whole


class StagedRun:
    """Stages in `folder`, new or, with `StagedRun.resume`, continued.

    cluster: as of `Run`. Raises ValueError for a folder that holds anything of a run, and for a stage that could not
    begin.
    """

    cluster: str | None = None

    def __init__(self, stages: Sequence[TrainConfig], folder: Path) -> None:
        self.stages, self.folder = tuple(stages), folder
        for number, stage in enumerate(self.stages):
            if number == 0 or not any(START in part.opponents for part in stage.company):
                stage.make_learner()  # what fails should fail now
        ranks().of_first(lambda: folder.mkdir(parents=True, exist_ok=True))
        with alone_in(folder):
            ranks().of_first(self._begin_folder)

    def _begin_folder(self) -> None:
        check_free(self.folder)
        content = json.dumps([stage.to_dict() for stage in self.stages], indent=2) + "\n"
        write_whole(self.folder / STAGES, content)

    @classmethod
    def resume(cls, folder: Path) -> Self:
        """The run in `folder`. Raises ValueError where there is none that fits."""
        run = cls.__new__(cls)
        run.stages, run.folder = ranks().of_first(lambda: _stages_of(folder / STAGES)), folder
        return run

    def folder_of(self, number: int) -> Path:
        """The folder of a stage's run, counted from 0."""
        return self.folder / f"{number + 1}-{self.stages[number].learner}"

    @property
    def complete(self) -> bool:
        """Whether all stages are done."""
        return ranks().of_first((self.folder / EVALUATION).exists)

    def train(self, console: Console) -> bool:
        """Train all stages that are not done, and evaluate all but the last; False where Ctrl-C stopped it, with all
        progress saved. Raises what `Run.train` raises.
        """
        with alone_in(self.folder), new_meter(console, self._begin_of(len(self.stages))) as meter:
            return all(self._train_stage(number, console, meter) for number in range(len(self.stages)))

    def evaluate(self, console: Console) -> list[Duel]:
        """Evaluate the last stage: what it comes to is that of the whole."""
        last = self.folder_of(len(self.stages) - 1)
        duels = Run.resume(last).evaluate(console)
        ranks().of_first(lambda: self._take_over(last))
        return duels

    def _take_over(self, stage: Path) -> None:
        for name in (FILE_NAME, EVALUATION):
            write_whole(self.folder / name, (stage / name).read_bytes())

    def _begin_of(self, number: int) -> float:
        """Minutes of the stages before this one."""
        return sum(stage.minutes for stage in self.stages[:number])

    def _train_stage(self, number: int, console: Console, meter: Meter) -> bool:
        folder, config = self.folder_of(number), self.stages[number]
        if ranks().of_first((folder / EVALUATION).exists):
            return True
        if number > 0:
            config = replace(config, start=str(self.folder_of(number - 1)))
        begun = ranks().of_first((folder / CONFIG).exists)
        run = Run.resume(folder) if begun else Run(config, folder)
        run.cluster = self.cluster
        begin = self._begin_of(number)
        if not run.train(console, replace(meter, begin=begin, length=config.minutes, label=f"{folder.name} ")):
            return False
        if number < len(self.stages) - 1:
            run.evaluate(console)
        return True


def processes_of(folder: Path) -> int:
    """How many processes the run in a folder is for. Raises ValueError where there is no run that fits."""
    path = folder / STAGES
    return _stages_of(path)[0].processes if path.exists() else config_in(folder).processes


def _stages_of(path: Path) -> tuple[TrainConfig, ...]:
    try:
        stages = json.loads(path.read_text(encoding="utf-8"))
        check("stages", stages, isinstance(stages, list) and len(stages) > 0, "a list of settings")
        return tuple(TrainConfig.from_dict(stage) for stage in stages)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
