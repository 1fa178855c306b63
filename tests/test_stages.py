"""Stages: learners in a row, each from the network of the one before, that go on wherever they were ended."""

from __future__ import annotations

import io
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killing import Killer, in_a_process
from rich.console import Console

torch = pytest.importorskip("torch")

from test_run import content_of, curves_of, metrics_of  # noqa: E402

from agents.architectures import NetworkConfig  # noqa: E402  after the skip
from agents.checkpoint import FILE_NAME, load_checkpoint  # noqa: E402
from agents.config import EvaluationConfig, TrainConfig, load_experiment  # noqa: E402
from agents.curves import CURVES, draw_curves, lines_of  # noqa: E402
from agents.distill import DistillConfig  # noqa: E402
from agents.evaluate import evaluate  # noqa: E402
from agents.policy import PolicyAgent  # noqa: E402
from agents.ppo import PPOConfig  # noqa: E402
from agents.run import CHOICE, REPORT, STAGES, Run  # noqa: E402
from agents.seating import SeatsConfig  # noqa: E402
from agents.stages import StagedRun  # noqa: E402
from rs_env.rules import Rules  # noqa: E402

ROOT = Path(__file__).parents[1]
SHARED = TrainConfig(
    rules=Rules(num_players=3, max_actions=60),
    threads=1,
    checkpoint_every=2,
    network=NetworkConfig(hidden=16, layers=1),
    evaluation=EvaluationConfig(
        deals=2, deals_on_the_way=2, every=2, opponents=("random",), temperatures=(0.3, 1.0), deals_to_choose=2
    ),
)
CONFIGS = (
    replace(
        SHARED,
        total_decisions=4 * 20,
        learner="distill",
        settings=DistillConfig(games=4, steps=5, workers=0, gradient_steps=3, minibatch=10, worlds=2, review=0.5),
    ),
    replace(
        SHARED,
        total_decisions=4 * 32,
        settings=PPOConfig(num_envs=4, steps=8, minibatch=16, epochs=1),
        company=(SeatsConfig(), SeatsConfig(seats="one", opponents=("heuristic", "start"))),
    ),
)
NAMES = ("1-distill", "2-ppo")


def quiet() -> Console:
    return Console(file=io.StringIO())


def everything_of(folder: Path) -> list[Any]:
    """All that a run in stages comes to, but for times and names of folders."""
    found: list[Any] = [(folder / "evaluation.json").read_text("utf-8").count("capped")]
    for name in NAMES:
        config, *rest = content_of(folder / name)
        found += [{**config, "start": ""}, rest, metrics_of(folder / name), curves_of(folder / name)]
        found.append(load_checkpoint(folder / name).temperature)
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stages that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole")
    finish(StagedRun(CONFIGS, folder))
    return folder


def finish(run: StagedRun) -> None:
    assert run.train(quiet())
    run.evaluate(quiet())


def go_on(folder: Path, killed_at: int | None) -> int:
    """Begin or resume in a process of its own, which is killed at some moment."""

    def work() -> None:
        with pytest.MonkeyPatch.context() as patch:
            if killed_at is not None:
                Killer(killed_at).install(patch)
            begun = (folder / STAGES).exists()
            finish(StagedRun.resume(folder) if begun else StagedRun(CONFIGS, folder))

    return in_a_process(work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_stages_that_are_killed_again_and_again_end_as_if_they_were_not(whole: Path, tmp_path: Path) -> None:
    rng, kills = random.Random(1), 0
    for trial in range(40):
        folder = tmp_path / str(trial)
        folder.mkdir()
        while (status := go_on(folder, rng.randrange(1, 70))) == 9:
            kills += 1
        assert status == 0
        assert everything_of(folder) == everything_of(whole)
        if kills >= 20:
            break
    assert kills >= 20


def test_a_stage_begins_with_the_network_of_the_one_before(whole: Path, tmp_path: Path) -> None:
    config = replace(CONFIGS[1], start=str(whole / NAMES[0]))
    begun, before = Run(config, tmp_path / "run"), load_checkpoint(whole / NAMES[0]).policy
    for own, there in zip(begun.learner.network.parameters(), before.parameters(), strict=True):
        assert torch.equal(own, there)
    alone = replace(config, start=str(before_moving(whole, tmp_path)), company=())
    assert Run(alone, tmp_path / "other").learner.iterations == 4
    (tmp_path / "copy").rename(tmp_path / "gone")
    assert Run.resume(tmp_path / "other").config == alone  # its network is in its own checkpoint by now


def before_moving(whole: Path, folder: Path) -> Path:
    """A copy of the first stage's run."""
    return Path(shutil.copytree(whole / NAMES[0], folder / "copy"))


def test_what_the_last_stage_has_learnt_is_that_of_the_folder(whole: Path) -> None:
    assert (whole / FILE_NAME).read_bytes() == (whole / NAMES[1] / FILE_NAME).read_bytes()
    agent = PolicyAgent.load(whole)
    assert agent.temperature == load_checkpoint(whole / NAMES[1]).temperature
    assert agent.temperature in (0.3, 1.0)


def test_a_stage_that_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[str] = []
    train = Run.train
    monkeypatch.setattr(Run, "train", lambda run, *more: trained.append(run.folder.name) or train(run, *more))
    finish(StagedRun(CONFIGS[:1] + CONFIGS, tmp_path))
    assert trained == ["1-distill", "2-distill", "3-ppo"]
    (tmp_path / "2-distill" / "evaluation.json").unlink()
    finish(StagedRun.resume(tmp_path))
    assert trained[3:] == ["2-distill"]  # it is complete, and so only evaluated


def test_curves_show_all_stages(whole: Path, tmp_path: Path) -> None:
    lines, ends = lines_of(whole)
    assert ends == [80, 208] and [line["decisions"] for line in lines] == [20, 40, 60, 80, 80, 80, 112, 144, 176, 208]
    assert lines_of(whole / NAMES[0])[1] == [80]
    told = draw_curves(whole)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        assert "needs matplotlib" in told and not (whole / CURVES).exists()
    else:
        assert (whole / CURVES).stat().st_size > 10_000 and CURVES in told


def test_a_network_of_another_size_is_no_start(whole: Path, tmp_path: Path) -> None:
    for change in ({"network": NetworkConfig(hidden=8, layers=1)}, {"rules": Rules(num_players=4)}):
        with pytest.raises(ValueError, match=r"start='.*1-distill' is not allowed: it must be a network like"):
            Run(replace(CONFIGS[1], start=str(whole / NAMES[0]), company=(), **change), tmp_path / "run")
    with pytest.raises(ValueError, match="checkpoint nowhere"):
        Run(replace(CONFIGS[1], start="nowhere", company=()), tmp_path / "run")
    with pytest.raises(ValueError, match=r"company\.opponents='start' is not allowed: .*one where start is empty"):
        Run(CONFIGS[1], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_of_stages_is_taken(whole: Path) -> None:
    with pytest.raises(ValueError, match="holds a run already"):
        StagedRun(CONFIGS, whole)
    with pytest.raises(ValueError, match="holds a run already"):
        Run(CONFIGS[0], whole)


@pytest.mark.parametrize("content", ["", "{", "{}", "[3]", "[[", '[{"seed": -1}]'])
def test_damaged_settings_are_refused_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / STAGES).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"stages\.json"):
        StagedRun.resume(tmp_path)


# Configuration

FILE = """
seed = 5
total_decisions = 1000
[ppo]
clip = 0.3
[[stages]]
learner = "distill"
distill = {worlds = 3}
[[stages]]
ppo = {steps = 16}
seed = 6
"""


def test_stages_share_what_they_do_not_have_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "stages.toml"
    path.write_text(FILE, encoding="utf-8")
    experiment = load_experiment(path)
    first, second = experiment.configs(replace(experiment.settings, total_decisions=77))
    assert (first.learner, first.seed, first.total_decisions, first.settings.worlds) == ("distill", 5, 77, 3)
    assert (second.learner, second.seed, second.total_decisions) == ("ppo", 6, 77)
    assert (second.settings.clip, second.settings.steps) == (0.3, 16)
    alone = load_experiment(path, "distill")
    assert (alone.settings.learner, alone.stages) == ("distill", ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stages = 3", "stages=3 is not allowed: it must be a list of tables"),
        ("[[stages]]\n[[stages]]\nclip = 3", "stage 2: clip is not a setting"),
        ("[[stages]]\n[[stages.company]]\nshare = -1", r"stage 1: company\.share=-1\.0 is not allowed"),
        ("[[stages]]\nminutes = 0", r"stage 1: minutes=0\.0 is not allowed"),
        ("[evaluation]\ntemperatures = [0.5, -1]", r"evaluation\.temperatures=\(0\.5, -1\) is not allowed"),
    ],
)
def test_wrong_stages_are_refused_by_number(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        load_experiment(path)


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda p: p.name)
def test_the_stages_of_every_experiment_survive_a_round_trip(path: Path) -> None:
    experiment = load_experiment(path)
    for stage in experiment.configs(experiment.settings):
        assert TrainConfig.from_dict(stage.to_dict()) == stage


# Seeds and temperatures


def test_no_seed_of_training_deals_the_decks_of_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("agents.evaluate.duel", lambda agent, opponent, rules, deals, seed: asked.append(seed))
    for seed in (REPORT, CHOICE, 1_000_000, 2**63 - 1):
        evaluate("random", ["random"], SHARED.rules, 2, seed)  # type: ignore[arg-type]
    assert all(2**63 <= seed < 2**64 for seed in asked) and len(set(asked)) == 4
    with pytest.raises(ValueError, match="seed=9223372036854775808 is not allowed"):
        evaluate("random", ["random"], SHARED.rules, 2, 2**63)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed"):
        TrainConfig(seed=2**63)


def test_the_temperature_is_chosen_on_other_deals_than_those_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, int]] = []

    class Answer:
        def __init__(self, share: float) -> None:
            self.win_share = share

    def noting(agent: Any, opponents: Any, rules: Any, deals: int, seed: int) -> list[Any]:
        asked.append((agent.temperature, seed))
        if seed == REPORT:
            return evaluate(agent, opponents, rules, deals, seed)
        return [Answer({0.3: 0.2, 0.7: 0.4, 1.0: 0.1}[agent.temperature])]

    monkeypatch.setattr("agents.run.evaluate", noting)
    evaluation = replace(SHARED.evaluation, temperatures=(0.3, 0.7, 1.0))
    run = Run(replace(CONFIGS[1], evaluation=evaluation, company=()), tmp_path)
    run.evaluate(quiet())
    assert asked == [(0.3, CHOICE), (0.7, CHOICE), (1.0, CHOICE), (0.7, REPORT)]
    assert PolicyAgent.load(tmp_path).temperature == 0.7
    assert PolicyAgent.load(tmp_path, 0.2).temperature == 0.2


# Threads

SCRIPT = """
import sys, torch
torch.set_num_threads(int(sys.argv[1]))
from pathlib import Path
from agents.config import TrainConfig
from agents.run import Run
from rich.console import Console
import io
config = TrainConfig.from_dict({"total_decisions": 512, "threads": 2, "ppo": {"num_envs": 32, "steps": 8},
                                "evaluation": {"deals_on_the_way": 0, "opponents": "random"}})
Run(config, Path(sys.argv[2])).train(Console(file=io.StringIO()))
"""


def test_weights_do_not_depend_on_the_threads_that_were_there_before(tmp_path: Path) -> None:
    found = set()
    for number, (variable, threads) in enumerate((("1", 1), ("3", 3))):
        folder = tmp_path / str(number)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(threads), str(folder)],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": variable, "MKL_NUM_THREADS": variable},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        tensors = load_checkpoint(folder).tensors
        found.add(b"".join(np.asarray(tensors[name]).tobytes() for name in sorted(tensors)))
    assert len(found) == 1
