"""Many runs of an experiment: settings as a grid or as Optuna suggests them, each with several seeds, and what they
come to.

python -m agents.sweep configs/sweeps/smoke.toml --processes 2
python -m agents.sweep configs/sweeps/smoke.toml --cluster tcp://scheduler:8786 --out /shared/sweep

Given again, the command goes on where it was stopped. In its folder:

| file | holds |
|---|---|
| ``sweep.json`` | what is swept |
| ``0-1/``, ``0-2/``, ``1-1/``, ... | the run of each setting (counted from 0) and seed, see `agents.run` |
| ``results.json`` | settings, win shares, and curves of what was measured on the way |
| ``results.md`` | the table |

A setting's result is the interquartile mean over its seeds of the mean win share against the opponents, with a 95 %
interval from the percentile bootstrap (R. Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical
Precipice", NeurIPS 2021).
"""

from __future__ import annotations

import itertools
import json
import math
import signal
import tomllib
import warnings
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

if __name__ == "__main__":
    # Ctrl-C while libraries are loaded ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.config import Experiment, TrainConfig, load_experiment
from agents.seeds import TRAINING_SEEDS
from agents.settings import check, check_names
from agents.trial import interquartile_mean, result_of_setting, train_one
from rs_env.checks import check_whole
from rs_env.command_line import end_with, interrupted_with, status_of, terminal
from rs_env.executors import executor_of, in_order
from rs_env.files import only_process_in, write_whole
from rs_env.flags import Folder, OptionalFolder, Whole, parsed

SWEEP, RESULTS, TABLE = "sweep.json", "results.json", "results.md"
SAMPLERS = {"tpe": "TPESampler", "random": "RandomSampler", "qmc": "QMCSampler", "cmaes": "CmaEsSampler"}
_OF_A_SEARCH = ("sampler", "trials", "at_once", "sampler_seed")
_DRAWS = 100  # trials that are not allowed, one after the other, before a search is given up
_KEYS = ("config", "seeds", "grid", "search", *_OF_A_SEARCH)
_NOT_SWEPT = {
    "seed": "left to seeds",
    "evaluation": "swept by its parts, such as evaluation.temperature",
    "evaluation.opponents": "left to the experiment, so that results can be compared",
}
Values = dict[str, Any]  # settings by dotted name


@dataclass(frozen=True)
class Sweep:
    """What a TOML file asks for.

    config: the experiment, beside the file. seeds: of each setting's runs. grid: of each setting, by its dotted name,
    the values, all combinations of which are tried. Or search: its range, ``{low, high, log}`` or ``{choices}``, of
    which Optuna's `sampler` draws `trials` settings; so many at once, 4 unless told, before it learns what they came
    to.
    Raises ValueError, naming the key, for what is not allowed.
    """

    experiment: Experiment
    seeds: tuple[int, ...]
    grid: dict[str, list[Any]]
    search: dict[str, dict[str, Any]]
    sampler: str = "tpe"
    sampler_seed: int = 0
    trials: int = 0
    at_once: int = 4

    def __post_init__(self) -> None:
        for seed in self.seeds:
            check_whole("seeds", seed, 0, TRAINING_SEEDS - 1)
        check("seeds", self.seeds, len(self.seeds) > 0 and len(set(self.seeds)) == len(self.seeds), "different numbers")
        for kind, swept in (("grid", self.grid), ("search", self.search)):
            check(kind, swept, isinstance(swept, dict), "a table of settings")
            for name, told in swept.items():
                check(f"{kind}.{name}", told, name not in _NOT_SWEPT, _NOT_SWEPT.get(name, ""))
        check("grid", self.grid, bool(self.grid) != bool(self.search), "given, or else search")
        for name, values in self.grid.items():
            check(f"grid.{name}", values, isinstance(values, list) and len(values) > 0, "a list of values")
        for name, told in self.search.items():
            _check_range(f"search.{name}", told)
        if self.search:
            trials = check_whole("trials", self.trials, 1, 100_000)
            fits = type(self.at_once) is int and 1 <= self.at_once <= trials
            check("at_once", self.at_once, fits, "from 1 to trials")
            check("sampler", self.sampler, self.sampler in tuple(SAMPLERS), f"one of {', '.join(map(repr, SAMPLERS))}")
            check_whole("sampler_seed", self.sampler_seed, 0, 2**32 - 1)

    @classmethod
    def read(cls, path: Path) -> Sweep:
        """The sweep of a TOML file. Raises ValueError, naming the file, for anything wrong with it."""
        try:
            told = tomllib.loads(path.read_text(encoding="utf-8"))
            check_names("", told, _KEYS)
            check("config", told.get("config"), isinstance(told.get("config"), str), "the name of an experiment's file")
            experiment = load_experiment(path.parent / told.pop("config"))
            seeds = told.pop("seeds", [experiment.settings.seed])
            check("seeds", seeds, isinstance(seeds, list), "a list of numbers")
            grid, search = told.pop("grid", {}), told.pop("search", {})
            for name in _OF_A_SEARCH if grid and not search else ():
                check(name, told.get(name), name not in told, "left out where there is no search")
            if isinstance(told.get("trials"), int):
                told.setdefault("at_once", min(cls.at_once, told["trials"]))
            sweep = cls(experiment, tuple(seeds), grid, search, **told)
            for values in sweep._examples():
                sweep.configs(values, sweep.seeds[0])  # what is wrong with one should be told now
            json.dumps(sweep.to_dict())  # so should what a file of JSON cannot hold, such as dates
            return sweep
        except (OSError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {name: value for name, value in vars(self).items() if name != "experiment"}
        return {
            **told,
            "seeds": list(self.seeds),
            "settings": self.experiment.settings.to_dict(),
            "stages": list(self.experiment.stages),
        }

    def configs(self, values: Values, seed: int) -> tuple[TrainConfig, ...]:
        """The stages of the run with these settings and this seed; one without any. Raises ValueError for wrong
        ones.
        """
        changed = self.experiment.settings.to_dict()
        for name, value in {**values, "seed": seed}.items():
            table = changed
            *path, last = name.split(".")
            for part in path:
                check(name, value, isinstance(table.get(part), dict), f"a setting of {', '.join(changed)}")
                table = table[part]
            check_names(name.removesuffix(last), [last], table)
            own = [number for number, stage in enumerate(self.experiment.stages, 1) if _has(stage, name)]
            check(name, value, not own, f"left to the stages {own}, which have one of their own")
            table[last] = value
        settings = TrainConfig.from_dict(changed)
        return self.experiment.configs(settings) or (settings,)

    def batches(self) -> Generator[list[Values], list[float], None]:
        """Settings to try together; takes, by `send`, the result of each, from which the next ones may come."""
        if self.grid:
            yield list(self._examples())
            return
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = getattr(optuna.samplers, SAMPLERS[self.sampler])(seed=self.sampler_seed)
        study = optuna.create_study(sampler=sampler, direction="maximize")
        for begin in range(0, self.trials, self.at_once):
            trials = [self._trial(study) for _ in range(min(self.at_once, self.trials - begin))]
            results = yield [values for _, values in trials]
            for (trial, _), result in zip(trials, results, strict=True):
                study.tell(trial, result)

    def _trial(self, study: Any) -> tuple[Any, Values]:
        """A trial whose settings are allowed together, and they. Others are told to the sampler as failed, and drawn
        again. Raises ValueError where it draws nothing else.
        """
        from optuna.trial import TrialState

        for _ in range(_DRAWS):
            trial = study.ask()
            values = {name: self._drawn(trial, name, told) for name, told in self.search.items()}
            try:
                self.configs(values, self.seeds[0])
            except ValueError as error:
                study.tell(trial, state=TrialState.FAIL)
                reason = error
            else:
                return trial, values
        raise ValueError(f"search: {_DRAWS} trials one after the other are not allowed, the last one since {reason}")

    def _drawn(self, trial: Any, name: str, told: dict[str, Any]) -> Any:
        """A setting's value, of the setting's type whatever that of the ends of its range."""
        if "choices" in told:
            return trial.suggest_categorical(name, told["choices"])
        whole = type(self._default(name)) is int
        return (trial.suggest_int if whole else trial.suggest_float)(name, **told)

    def _default(self, name: str) -> Any:
        """What the experiment has for a setting; None where there is none of that name."""
        found: Any = self.experiment.settings.to_dict()
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found

    def _examples(self) -> Iterator[Values]:
        """All settings of a grid; of a search, each choice and end of a range, beside the first of each other one."""
        if self.grid:
            for chosen in itertools.product(*self.grid.values()):
                yield dict(zip(self.grid, chosen, strict=True))
            return
        ends = {name: told.get("choices") or [told["low"], told["high"]] for name, told in self.search.items()}
        first = {name: values[0] for name, values in ends.items()}
        for name, values in ends.items():
            for value in values:
                yield {**first, name: value}


def _check_range(name: str, told: Any) -> None:
    known = isinstance(told, dict) and set(told) in ({"choices"}, {"low", "high"}, {"low", "high", "log"})
    check(name, told, known, "{low = , high = , log = } or {choices = []}")
    if "choices" in told:
        choices = told["choices"]
        check(f"{name}.choices", choices, isinstance(choices, list) and len(choices) > 0, "a list of values")
        return
    low, high, log = told["low"], told["high"], told.get("log", False)
    for end in ("low", "high"):
        number = type(told[end]) in (int, float) and abs(told[end]) < math.inf
        check(f"{name}.{end}", told[end], number, "a finite number")
    check(f"{name}.log", log, isinstance(log, bool), "true or false")
    check(f"{name}.low", low, low <= high, "at most high")
    check(f"{name}.low", low, low > 0 or not log, "above 0 with log")


def _has(table: dict[str, Any], name: str) -> bool:
    first, _, rest = name.partition(".")
    return first in table and (not rest or _has(table[first], rest))


# The table


def rows_of(results: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """The table: headings, then a row for each setting, the best first."""
    names = list(results[0]["settings"])
    opponents = list(results[0]["win_shares"][0])
    yield ["number", *names, "seeds", "win share", "95 % interval", *(f"against {name}" for name in opponents)]
    numbered = sorted(enumerate(results), key=lambda pair: -pair[1]["interquartile_mean"])
    for number, result in numbered:
        shares, interval = result["win_shares"], result["interval"]
        yield [
            str(number),
            *(f"{value:.4g}" if isinstance(value, float) else str(value) for value in result["settings"].values()),
            str(len(shares)),
            f"{result['interquartile_mean']:.1%}",
            "{:.1%} .. {:.1%}".format(*interval) if interval else "needs 3 seeds",
            *(f"{interquartile_mean(np.array([share[name] for share in shares]))[0]:.1%}" for name in opponents),
        ]


# The command


@dataclass(frozen=True)
class Command:
    """Train an experiment with many settings and seeds, and tell what they come to."""

    sweep: tyro.conf.Positional[Folder]
    """A TOML file, such as configs/sweeps/smoke.toml."""
    out: OptionalFolder = None
    """Folder of the runs, which the workers must reach by the same name; default: runs/<name of the file>."""
    processes: Whole = 1
    """Processes that train, one run each."""
    cluster: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")] = None
    """Dask scheduler whose workers train instead, such as tcp://host:8786."""


def run(command: Command) -> None:
    """Train what is missing, write the results and print the table."""
    sweep, file = Sweep.read(command.sweep), command.sweep
    if command.cluster is not None and command.processes > 1:
        raise ValueError(f"cluster={command.cluster!r} is not allowed with processes")
    folder = Path(command.out or Path("runs") / file.stem).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    again = f"go on with: python -m agents.sweep {file} --out {folder}"
    console = Console()
    with only_process_in(folder, "a sweep"), interrupted_with(again), _workers(command) as (executor, places):
        _check_same(folder / SWEEP, sweep)
        results = _train(sweep, folder, executor, places, console)
    write_whole(folder / RESULTS, json.dumps(results, indent=2) + "\n")
    heading, *rows = rows_of(results)
    lines = ["| " + " | ".join(row) + " |" for row in (heading, ["---"] * len(heading), *rows)]
    write_whole(folder / TABLE, "\n".join(lines) + "\n")
    table = Table(*heading, title=f"{file.stem}: interquartile means over seeds")
    for row in rows:
        table.add_row(*row)
    with terminal():
        console.print(table)
        console.print(f"written to {folder / TABLE}", markup=False, soft_wrap=True)


def _check_same(path: Path, sweep: Sweep) -> None:
    """Raise ValueError where another sweep is in the folder."""
    if path.exists() and path.read_text(encoding="utf-8") != _noted(sweep):
        raise ValueError(f"{path.parent} holds another sweep: give another folder")


def _noted(sweep: Sweep) -> str:
    return json.dumps(sweep.to_dict(), indent=2) + "\n"


def _workers(command: Command) -> AbstractContextManager[tuple[Executor | None, int]]:
    """Who trains, and how many runs at once; None: this process."""
    if command.cluster is None and command.processes == 1:
        return nullcontext((None, 1))
    return executor_of(command.processes, command.cluster, with_main=False)


def _train(
    sweep: Sweep, folder: Path, executor: Executor | None, places: int, console: Console
) -> list[dict[str, Any]]:
    """Train what is missing of all settings; their results."""
    results: list[dict[str, Any]] = []
    batches = sweep.batches()
    batch: list[Values] | None = next(batches)
    while batch:
        names = [f"{len(results) + number}-{seed}" for number in range(len(batch)) for seed in sweep.seeds]
        configs = [sweep.configs(values, seed) for values in batch for seed in sweep.seeds]
        if not results:
            write_whole(folder / SWEEP, _noted(sweep))  # a sweep that is refused up to here leaves the folder free
        staged = bool(sweep.experiment.stages)
        pieces = [(config, staged, folder / name) for config, name in zip(configs, names, strict=True)]
        done = (
            (train_one(*piece) for piece in pieces)
            if executor is None
            else in_order(executor, train_one, pieces, places)
        )
        shares = []
        for name, share in zip(names, done, strict=True):
            console.print(f"run {name}: mean win share {np.mean(list(share.values())):.1%}", markup=False)
            shares.append(share)
        for values in batch:
            folders = [folder / f"{len(results)}-{seed}" for seed in sweep.seeds]
            own, shares = shares[: len(folders)], shares[len(folders) :]
            results.append(result_of_setting(values, own, folders))
        try:
            batch = batches.send([result["interquartile_mean"] for result in results[-len(batch) :]])
        except StopIteration:
            batch = None
    return results


if __name__ == "__main__":
    end_with(lambda: status_of(lambda: run(parsed(Command, "python -m agents.sweep"))))
