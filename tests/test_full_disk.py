"""A disk that is full, here for real by a limit on the size of files: one line says so, and nothing that was written is
lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("resource", reason="limits the size of files")

ROOT = Path(__file__).parents[1]
LIMITED = (
    "import resource, runpy, sys; size, *sys.argv = sys.argv[1:];"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY));"
)
LEAGUE = [
    "league", "--agents", "random", "heuristic", "--deals", "500", "--seed", "4",
    "--players", "3", "--suits", "3", "--ranks", "4", "--max-actions", "60",
]  # fmt: skip
TRAINING = [
    "--smoke",
    "--learner",
    "ppo",
    "--total-decisions",
    "6144",
    "--evaluation.deals",
    "2",
    "--evaluation.deals-on-the-way",
    "2",
]


def python(*arguments: str, size: int | None = None) -> subprocess.CompletedProcess[str]:
    """Python with the arguments, ``-m module`` or a file first; no file of it grows beyond that many bytes."""
    command = list(arguments)
    if size is not None:
        module = command[0] == "-m"
        start = (
            "run_module(sys.argv[0], None, '__main__', True)" if module else "run_path(sys.argv[0], None, '__main__')"
        )
        command = ["-c", f"{LIMITED} runpy.{start}", str(size), *command[module:]]
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)


def check_refused(done: subprocess.CompletedProcess[str], file: str) -> None:
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: [Errno 27] File too large: ")
    assert line.endswith(f"{file}'")


# League


def league(folder: Path, *more: str, size: int | None = None) -> subprocess.CompletedProcess[str]:
    return python("-m", "rs_env.arena", *LEAGUE, "--out", str(folder), *more, size=size)


@pytest.fixture(scope="module")
def whole_league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("league")
    assert league(folder).returncode == 0
    return folder


@pytest.mark.parametrize(("share", "file"), [(0.0001, "run.json"), (0.01, "games.jsonl"), (0.8, "games.jsonl")])
def test_a_league_on_a_full_disk_goes_on_once_there_is_room(
    share: float, file: str, whole_league: Path, tmp_path: Path
) -> None:
    games = (whole_league / "games.jsonl").read_bytes()
    check_refused(league(tmp_path, size=int(share * len(games))), file)
    done = league(tmp_path, "--resume")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "games.jsonl").read_bytes() == games
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in whole_league.iterdir()}
    here, there = (json.loads((folder / "run.json").read_text("utf-8")) for folder in (tmp_path, whole_league))
    for of_this_machine in (
        "seconds",
        "asked",
        "about",
    ):  # the time of deals that were written as the disk filled is lost
        here[of_this_machine] = there[of_this_machine]
    assert here == there


# Training


def train(*arguments: str, size: int | None = None) -> subprocess.CompletedProcess[str]:
    return python("train.py", *arguments, size=size)


def learnt(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Metrics but those of time, and all tensors."""
    from safetensors.numpy import load_file

    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    metrics = [{k: v for k, v in json.loads(line).items() if k not in ("seconds", "charts/SPS")} for line in lines]
    return metrics, {name: load_file(folder / f"{name}.safetensors") for name in ("checkpoint", "best")}


@pytest.fixture(scope="module")
def whole_training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("training") / "run"
    done = train(*TRAINING, "--run", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("size", [2000, 200_000])
def test_a_training_run_on_a_full_disk_goes_on_once_there_is_room(
    size: int, whole_training: Path, tmp_path: Path
) -> None:
    """There is no room for the first checkpoint; or for a later one, which has the optimiser's state, too."""
    folder = tmp_path / "run"
    check_refused(train(*TRAINING, "--run", str(folder), size=size), ".safetensors")
    done = train("--resume", str(folder))
    assert done.returncode == 0, done.stderr
    (metrics, tensors), (all_metrics, all_tensors) = learnt(folder), learnt(whole_training)
    assert metrics == all_metrics
    for name, there in all_tensors.items():
        assert tensors[name].keys() == there.keys()
        assert all(np.array_equal(tensors[name][key], there[key]) for key in there)
    assert (folder / "evaluation.json").exists()
