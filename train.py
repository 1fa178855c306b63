"""Train an agent and say how good it is.

python train.py                                            # the default experiment, about three minutes on two cores
python train.py --smoke                                    # a few seconds, to see that everything works
python train.py --config configs/strong.toml               # the strongest against rules of thumb, eleven minutes
python train.py --config configs/schweller.toml --seed 7   # another experiment, with a setting changed
python train.py --resume runs/first                        # go on where a run was interrupted
python train.py --processes 2                                  # the same by two processes
torchrun --nproc-per-node=2 train.py                       # or by these, on one or several machines
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic

if __name__ == "__main__":
    # Ctrl-C while libraries are loaded ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import tyro
from rich.console import Console

from agents.config import Settings, TrainConfig, load_experiment
from agents.learner import TableConfig
from rs_env.baselines.network_players import rules_of
from rs_env.command_line import end_with, interrupted_with, status_of
from rs_env.flags import OptionalFolder, RuleFlags, RuleOptions, parsed

if TYPE_CHECKING:
    from agents.run import Run
    from agents.stages import StagedRun

CONFIGS = Path(__file__).parent / "configs"


@dataclass(frozen=True)
class Command(Generic[Settings]):
    """Train an agent; settings given here override those of the config file, but not what a stage has of its own."""

    settings: Annotated[TrainConfig[Settings], tyro.conf.arg(name="")]
    rules: RuleOptions = field(default_factory=RuleFlags)
    tables: Annotated[tuple[str, ...], tyro.conf.arg(metavar="RULES ...")] = ()
    """Further rules to learn at once, as PRESET-PLAYERS, in equal shares: rolling_stone-3 schweller-5; needs
    --network.kind general.
    """
    config: Annotated[Path, tyro.conf.arg(metavar="FILE")] = CONFIGS / "default.toml"
    """Experiment to run, a TOML file."""
    smoke: bool = False
    """Run configs/smoke.toml: a few seconds, to see that everything works."""
    resume: OptionalFolder = None
    """Folder of a run to continue; it keeps all its settings, so that nothing but --cluster can be given."""
    run: OptionalFolder = None
    """Folder to write to; it must not hold a run. Default: runs/<date and time>."""
    cluster: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")] = None
    """Dask scheduler whose workers make the lessons of a teacher, such as tcp://host:8786; changes no result."""
    stages: tyro.conf.Suppress[tyro.conf.Fixed[tuple[TrainConfig, ...]]] = ()
    """Runs in a row, where the config file has some: each takes from `settings` what it has not of its own."""


def parse(arguments: list[str]) -> Command:
    """The command line. Raises ValueError for a config file or a combination that is not allowed."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--config", type=Path, default=None)
    first.add_argument("--smoke", action="store_true")
    first.add_argument("--resume", type=Path, default=None)
    first.add_argument("--learner", default=None)  # decides which table of settings there is
    known, _ = first.parse_known_args(arguments)
    if known.smoke and known.config:
        raise ValueError("--smoke is a config of its own: it cannot be given together with --config")
    others = [a for a in arguments if a.startswith("-") and a.partition("=")[0] not in ("--resume", "--cluster")]
    if known.resume is not None and others:
        raise ValueError("--resume keeps all settings of its run: nothing but --cluster can be given with it")
    path = CONFIGS / "smoke.toml" if known.smoke else known.config or CONFIGS / "default.toml"
    experiment = load_experiment(path, known.learner)
    config = experiment.settings
    table = Annotated[type(config.settings), tyro.conf.arg(name=config.learner)]
    command = parsed(Command[table], "train.py", arguments, default=Command(settings=config, config=path))
    rules = command.rules.chosen(command.settings.rules)
    tables = _tables_of(command.tables) or command.settings.tables
    settings = replace(command.settings, rules=rules, tables=tables)
    return replace(command, settings=settings, stages=experiment.configs(settings))


def _tables_of(names: Sequence[str]) -> tuple[TableConfig, ...]:
    """Tables in equal shares, which they have with the rules of the run."""
    for name in names:
        if not name.rpartition("-")[2].isdecimal():
            raise ValueError(f"--tables {name} is not allowed: it must be PRESET-PLAYERS, such as schweller-5")
    return tuple(TableConfig(1 / (len(names) + 1), rules_of(name)) for name in names)


def train(command: Command, arguments: Sequence[str]) -> None:
    """Train and evaluate, or go on with that. arguments: of the command line, for other ranks."""
    from agents.distributed import together
    from agents.stages import processes_of

    count = command.settings.processes if command.resume is None else processes_of(Path(command.resume))
    with together(count, [sys.executable, __file__, *arguments]) as ranks:
        _train(command, Console(quiet=not ranks.is_first))


def _train(command: Command, console: Console) -> None:
    from agents.curves import draw_curves
    from agents.distributed import ranks

    run = begun(command)
    run.cluster = command.cluster
    console.print(f"run folder: {run.folder}", markup=False)
    with interrupted_with(f"go on with: {sys.executable} train.py --resume {run.folder}"):
        if run.complete:
            console.print("the run is complete: evaluating it again")
        if not run.train(console):
            raise KeyboardInterrupt
    with interrupted_with("the trained agent is saved, python -m agents.evaluate measures it"):
        run.evaluate(console)
        console.print(ranks().of_first(lambda: draw_curves(run.folder)), markup=False)


def begun(command: Command) -> Run | StagedRun:
    """The new or continued run of a command."""
    from agents.distributed import ranks
    from agents.run import STAGES, Run  # TensorBoard is loaded only for a command that is valid
    from agents.stages import StagedRun

    if command.resume is not None:
        folder = Path(command.resume)
        staged = ranks().of_first((folder / STAGES).exists)
        return StagedRun.resume(folder) if staged else Run.resume(folder)
    if command.run == "":
        raise ValueError("--run '' is not allowed: it must name a folder")
    now = ranks().of_first(lambda: time.strftime("%Y-%m-%d_%H-%M-%S"))
    folder = Path(command.run or Path("runs") / now)
    return StagedRun(command.stages, folder) if command.stages else Run(command.settings, folder)


def main(arguments: list[str]) -> int:
    """Run the command line; its exit status."""
    return status_of(lambda: train(parse(arguments), arguments))


if __name__ == "__main__":
    end_with(lambda: main(sys.argv[1:]))
