"""Sweeps: the same runs and results whoever trains them and however often they are stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import agents.sweep  # noqa: E402  after the skip
from agents.run import Run  # noqa: E402
from agents.sweep import RESULTS, SWEEP, TABLE, Command, Sweep  # noqa: E402
from agents.trial import interquartile_mean, train_one  # noqa: E402

EXPERIMENT = """
total_decisions = 200
threads = 1
rules = {preset = "rolling_stone", num_players = 3, max_actions = 60}
network = {hidden = 16, layers = 1}
ppo = {num_envs = 4, steps = 16, minibatch = 32, epochs = 1}
evaluation = {deals = 4, deals_on_the_way = 2, every = 1, opponents = ["random", "low"]}
"""
GRID = 'config = "experiment.toml"\nseeds = [3, 4, 5]\n[grid]\n"ppo.learning_rate" = [1e-3, 1e-1]\n'
SEARCH = """
config = "experiment.toml"
seeds = [1, 2]
trials = 7
at_once = 2
[search]
"ppo.learning_rate" = {low = 1e-4, high = 1e-1, log = true}
"ppo.epochs" = {low = 1, high = 4}
"ppo.clip" = {choices = [0.1, 0.2]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(GRID, encoding="utf-8")
    return tmp_path / "sweep.toml"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The folder of a sweep that was stopped in its third run and given again, and how many runs were begun."""
    folder, train, calls = tmp_path_factory.mktemp("stopped"), Run.train, 0

    def stops(run: Run, *arguments: Any) -> bool:
        nonlocal calls
        calls += 1
        return calls != 3 and train(run, *arguments)

    (folder / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    (folder / "sweep.toml").write_text(GRID, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "train", stops)
        with pytest.raises(KeyboardInterrupt, match=r"go on with: python -m agents\.sweep"):
            swept(folder / "sweep.toml", "runs")
        swept(folder / "sweep.toml", "runs")
    return folder / "runs", calls


@pytest.fixture(scope="module")
def whole(stopped: tuple[Path, int]) -> Path:
    """The folder of a sweep, with all of its runs."""
    return stopped[0]


def results_in(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / RESULTS).read_text(encoding="utf-8"))


def swept(file: Path, name: str) -> list[dict[str, Any]]:
    folder = file.parent / name
    agents.sweep.run(Command(file, out=str(folder)))
    return results_in(folder)


def test_a_sweep_that_is_stopped_goes_on_with_what_is_missing(
    stopped: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, calls = stopped
    assert calls == 3 + 4  # two were done
    results = results_in(folder)
    assert [result["settings"] for result in results] == [{"ppo.learning_rate": rate} for rate in (1e-3, 1e-1)]
    assert [len(result["win_shares"]) for result in results] == [3, 3]
    assert [point["seeds"] for point in results[0]["curve"]] == [3, 3, 3]
    monkeypatch.delattr(Run, "train")
    assert swept(folder.parent / "sweep.toml", "runs") == results
    table = (folder / TABLE).read_text(encoding="utf-8").splitlines()
    assert len(table) == 4 and "| ppo.learning_rate |" in table[0] and "against low" in table[0]


def test_workers_train_the_same_runs_as_a_sweep_that_was_stopped(
    file: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def threads(command: Command) -> Iterator[tuple[ThreadPoolExecutor, int]]:
        with ThreadPoolExecutor(3) as executor:
            yield executor, 3

    monkeypatch.setattr(agents.sweep, "_workers", threads)
    assert swept(file, "threads") == results_in(whole)


def test_a_search_learns_from_what_came_before_and_is_the_same_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    file.write_text(SEARCH, encoding="utf-8")

    def result(configs: Any, staged: bool, folder: Path) -> dict[str, float]:
        return {"random": 1 - configs[0].settings.learning_rate, "low": configs[0].settings.clip}

    monkeypatch.setattr(agents.sweep, "train_one", result)
    first = swept(file, "first")
    assert first == swept(file, "again")
    assert len(first) == 7 and len({result["settings"]["ppo.learning_rate"] for result in first}) == 7
    assert all(result["settings"]["ppo.epochs"] in (1, 2, 3, 4) for result in first)
    monkeypatch.setattr(agents.sweep, "train_one", lambda *_: {"random": 0.5})
    other = swept(file, "other")
    assert [r["settings"] for r in other[:2]] == [r["settings"] for r in first[:2]]


def test_another_sweep_or_run_in_the_folder_is_refused(file: Path, whole: Path) -> None:
    file.write_text(GRID.replace("1e-1", "2e-1"), encoding="utf-8")
    with pytest.raises(ValueError, match="holds another sweep"):
        agents.sweep.run(Command(file, out=str(whole)))
    configs = Sweep.read(file).configs({"ppo.learning_rate": 0.2}, 3)
    with pytest.raises(ValueError, match="holds a run of other settings"):
        train_one(configs, False, whole / "1-3")


def test_an_unfinished_run_of_other_settings_is_refused_before_it_is_trained(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, folder = Sweep.read(file), tmp_path / "0-3"
    Run(sweep.configs({}, 3)[0], folder)
    monkeypatch.setattr(Run, "train", lambda *_: pytest.fail("it was trained"))
    with pytest.raises(ValueError, match="holds a run of other settings"):
        train_one(sweep.configs({}, 4), False, folder)


def test_a_setting_of_its_own_is_left_to_a_stage(file: Path) -> None:
    with (file.parent / "experiment.toml").open("a", encoding="utf-8") as text:
        text.write('[[stages]]\nlearner = "ppo"\nppo = {learning_rate = 0.5}\n')
    with pytest.raises(
        ValueError, match=r"ppo.learning_rate=0.001 is not allowed: it must be left to the stages \[1\]"
    ):
        Sweep.read(file)
    file.write_text(GRID.replace("learning_rate", "clip"), encoding="utf-8")
    (stage,) = Sweep.read(file).configs({"ppo.clip": 0.3}, 8)
    assert (stage.settings.clip, stage.settings.learning_rate, stage.seed) == (0.3, 0.5, 8)


def test_the_interquartile_mean_is_that_of_the_middle_half() -> None:
    values = np.array([0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 9.0])
    mean, interval = interquartile_mean(values)
    assert mean == pytest.approx(0.65)
    assert interval is not None and 0.3 < interval[0] < 0.65 < interval[1] < 5
    assert interquartile_mean(values) == (mean, interval)  # the same resamples each time
    assert interquartile_mean(np.full(5, 0.25)) == (0.25, (0.25, 0.25))
    assert interquartile_mean(np.array([0.2, 0.4])) == (pytest.approx(0.3), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "config=None is not allowed: it must be the name of an experiment's file"),
        ('config = "nowhere.toml"', "nowhere.toml"),
        (GRID.replace("[3, 4, 5]", "3"), "seeds=3 is not allowed: it must be a list"),
        (GRID.replace("[3, 4, 5]", "[3, 3]"), r"seeds=\(3, 3\) is not allowed: it must be different numbers"),
        (GRID.replace("[1e-3, 1e-1]", "1e-3"), r"grid.ppo.learning_rate=0.001 is not allowed: it must be a list"),
        (GRID + '[search]\n"ppo.clip" = {choices = [0.1]}', "grid=.* is not allowed: it must be given, or else search"),
        (GRID.replace("grid", "grids"), "grids is not a setting"),
        (GRID.replace("learning_rate", "rate"), "ppo.rate is not a setting"),
        (GRID.replace("1e-1", "-1.0"), "ppo.learning_rate=-1.0 is not allowed"),
        (SEARCH.replace("trials = 7", ""), "trials=0 is not allowed"),
        (SEARCH.replace("at_once = 2", "at_once = 9"), "at_once=9 is not allowed: it must be from 1 to trials"),
        (SEARCH.replace("seeds", 'sampler = "best"\nseeds'), "sampler='best' is not allowed: it must be one of 'tpe'"),
        (SEARCH.replace("high = 4", "most = 4"), r"search.ppo.epochs=\{'low': 1, 'most': 4\} is not allowed"),
        (GRID + "seed = [1, 2]", r"grid.seed=\[1, 2\] is not allowed: it must be left to seeds"),
        (SEARCH + "seed = {low = 1, high = 2}", "search.seed=.* is not allowed: it must be left to seeds"),
        (
            GRID + '"evaluation.opponents" = [["low"], ["random"]]',
            "grid.evaluation.opponents=.* left to the experiment",
        ),
        (SEARCH + '"evaluation.opponents" = {choices = ["low"]}', "search.evaluation.opponents=.* left to the experim"),
        (GRID + 'evaluation = [{opponents = ["low"]}, {deals = 3}]', "grid.evaluation=.* swept by its parts"),
        (SEARCH + '"ppo.zz" = {low = 0.5, high = 0.9}', "ppo.zz is not a setting"),
        (SEARCH + '"ppo.gamma" = {low = 0.5, high = 1.5}', "ppo.gamma=1.5 is not allowed"),
        (SEARCH + '"ppo.gamma" = {choices = [0.9, 1.5]}', "ppo.gamma=1.5 is not allowed"),
        (SEARCH + '"ppo.gamma" = {choices = [0.9, 2026-01-01]}', "ppo.gamma=datetime.date.* is not allowed"),
        (SEARCH + '"ppo.gamma" = {choices = 5}', "search.ppo.gamma.choices=5 is not allowed: it must be a list of"),
        (SEARCH + '"ppo.gamma" = {choices = []}', r"search.ppo.gamma.choices=\[\] is not allowed"),
        (
            SEARCH + '"ppo.gamma" = {low = "0", high = 1}',
            "search.ppo.gamma.low='0' is not allowed: it must be a finite",
        ),
        (SEARCH + '"ppo.gamma" = {low = 0.1, high = inf}', "search.ppo.gamma.high=inf is not allowed"),
        (SEARCH + '"ppo.gamma" = {low = 0.9, high = 0.8}', "search.ppo.gamma.low=0.9 is not allowed: .* at most high"),
        (SEARCH + '"ppo.gamma" = {low = 0.0, high = 0.8, log = true}', "gamma.low=0.0 is not allowed: .* above 0 with"),
        (SEARCH + '"ppo.gamma" = {low = 0.1, high = 0.8, log = 1}', "gamma.log=1 is not allowed: .* true or false"),
        (GRID.replace("[grid]", "grid = 5\n[other]").partition("[other]")[0], "grid=5 is not allowed: .* a table"),
        (SEARCH.replace("[search]", "search = [1]\n[other]").partition("[other]")[0], r"search=\[1\] is not allowed"),
        (SEARCH.replace("seeds", "sampler_seed = 1.5\nseeds"), "sampler_seed=1.5 is not allowed"),
        (SEARCH.replace("seeds", "sampler = []\nseeds"), r"sampler=\[\] is not allowed"),
        (SEARCH.replace("trials = 7", "trials = '4'"), "trials='4' is not allowed"),
        (SEARCH.replace("at_once = 2", "at_once = 1.5"), "at_once=1.5 is not allowed"),
        (SEARCH.replace("high = 4", "high = 4.0"), r"ppo.epochs=4.0 is not allowed: it must be a int"),
        (GRID.replace("seeds", "trials = 5\nseeds"), "trials=5 is not allowed: it must be left out where"),
        (GRID.replace("seeds", "sampler = 'zz'\nseeds"), "sampler='zz' is not allowed: it must be left out where"),
        (GRID.replace("[3, 4, 5]", "[1, 1.5]"), "seeds=1.5 is not allowed"),
        (GRID.replace("[3, 4, 5]", "[1, -1]"), "seeds=-1 is not allowed"),
        (GRID.replace("[3, 4, 5]", "[[1]]"), r"seeds=\[1\] is not allowed"),
    ],
)
def test_wrong_sweeps_are_refused_by_name(file: Path, text: str, said: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        Sweep.read(file)


def test_no_more_trials_are_tried_at_once_than_there_are(file: Path) -> None:
    for trials, at_once in ((2, 2), (7, 4)):
        text = SEARCH.replace("trials = 7", f"trials = {trials}").replace("at_once = 2", "")
        file.write_text(text, encoding="utf-8")
        assert Sweep.read(file).at_once == at_once


def test_a_search_draws_values_of_the_settings_type_and_none_that_are_not_allowed_together(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    search = SEARCH.partition("[search]")[0] + '[search]\n"ppo.gamma" = {low = 0, high = 1}\n'
    search += '"ppo.num_envs" = {choices = [2, 1]}\n"ppo.steps" = {choices = [2, 1]}\n'
    file.write_text(search, encoding="utf-8")
    tried: list[tuple[float, int, int]] = []

    def result(configs: Any, staged: bool, folder: Path) -> dict[str, float]:
        settings = configs[0].settings
        tried.append((settings.gamma, settings.num_envs, settings.steps))
        return {"random": 0.5}

    monkeypatch.setattr(agents.sweep, "train_one", result)
    assert len(swept(file, "runs")) == 7
    assert all(type(gamma) is float and 0 < gamma < 1 for gamma, *_ in tried)
    drawn = {(envs, steps) for _, envs, steps in tried}
    assert len(drawn) > 1 and (1, 1) not in drawn  # one decision is not enough


def test_a_refused_sweep_leaves_its_folder_free(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is refused for what was drawn."""
    pytest.importorskip("optuna")
    file.write_text(SEARCH, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sweep, "_drawn", lambda *_: -1.0)
        with pytest.raises(ValueError, match=r"100 trials one after the other .* since ppo\.epochs=-1\.0 is not"):
            swept(file, "runs")
    assert not (file.parent / "runs" / SWEEP).exists()
    monkeypatch.setattr(agents.sweep, "train_one", lambda *_: {"random": 0.5})
    file.write_text(SEARCH.replace("trials = 7", "trials = 2"), encoding="utf-8")
    assert len(swept(file, "runs")) == 2
    assert (file.parent / "runs" / SWEEP).exists()
