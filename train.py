"""Train an agent by self-play and say how good it is.

python train.py                                            # the default experiment, about three minutes on two cores
python train.py --smoke                                    # a few seconds, to see that everything works
python train.py --config configs/schweller.toml --seed 7   # another experiment, with a setting changed
python train.py --resume runs/first                        # go on where a run was interrupted
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic

if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # Ctrl-C while libraries are loaded ends the process without a traceback

import tyro
from rich.console import Console

from agents.config import Settings, TrainConfig, load_config
from rs_env.command_line import end_with

CONFIGS = Path(__file__).parent / "configs"


@dataclass(frozen=True)
class Command(Generic[Settings]):
    """Train an agent by self-play; settings given here override those of the config file."""

    settings: Annotated[TrainConfig[Settings], tyro.conf.arg(name="")]
    config: Path = CONFIGS / "default.toml"
    """Experiment to run, a TOML file."""
    smoke: bool = False
    """Run configs/smoke.toml: a few seconds, to see that everything works."""
    resume: Path | None = None
    """Folder of a run to continue; it keeps all its settings, so none can be given."""
    run: str | None = None
    """Folder to write to; it must not hold a run. Default: runs/<date and time>."""


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
    if known.resume is not None and len([a for a in arguments if a.startswith("-")]) > 1:
        raise ValueError("--resume keeps all settings of its run: nothing else can be given with it")
    path = CONFIGS / "smoke.toml" if known.smoke else known.config or CONFIGS / "default.toml"
    config = load_config(path, known.learner)
    table = Annotated[type(config.settings), tyro.conf.arg(name=config.learner)]
    return tyro.cli(Command[table], args=arguments, default=Command(settings=config, config=path), prog="train.py")


def main(arguments: list[str]) -> int:
    """Run the command line; returns the exit status: 0, 2 for bad input and what else fails, 130 for an
    interruption.
    """
    console, kept = Console(), ""
    try:
        command = parse(arguments)
        from agents.run import Run  # TensorBoard is loaded only for a command that is valid

        if command.run == "":
            raise ValueError("--run '' is not allowed: it must name a folder")
        folder = Path(command.run or Path("runs") / time.strftime("%Y-%m-%d_%H-%M-%S"))
        run = Run.resume(command.resume) if command.resume is not None else Run(command.settings, folder)
        console.print(f"run folder: {run.folder}", markup=False)
        kept = f"; go on with: {sys.executable} train.py --resume {run.folder}"
        if run.complete:
            console.print("the run is complete: evaluating it again")
        if not run.train(console):
            raise KeyboardInterrupt
        kept = "; the trained agent is saved, python -m agents.evaluate measures it"
        run.evaluate(console)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"error: not enough memory: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        console.print(f"interrupted{kept}", markup=False, soft_wrap=True)
        return 130
    return 0


if __name__ == "__main__":
    end_with(lambda: main(sys.argv[1:]))
