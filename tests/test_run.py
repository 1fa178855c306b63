"""Runs survive what may happen to them: kills at any moment, two processes, divergence, damaged and foreign files."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killing import Killer, in_a_process
from rich.console import Console

torch = pytest.importorskip("torch")

import agents.run  # noqa: E402  after the skip
from agents.architectures import NetworkConfig  # noqa: E402
from agents.checkpoint import FILE_NAME, digest_of, load_checkpoint  # noqa: E402
from agents.config import EvaluationConfig, TrainConfig  # noqa: E402
from agents.exploit import ExploitRun  # noqa: E402
from agents.ppo import PPOConfig  # noqa: E402
from agents.run import BEST, CONFIG, METRICS, DivergedError, Run  # noqa: E402
from rs_env.rules import Rules  # noqa: E402

ROOT = Path(__file__).parents[1]
CONFIG_OF_TESTS = TrainConfig(
    rules=Rules(num_players=3),
    total_decisions=8 * 8 * 16,
    threads=1,
    checkpoint_every=3,
    network=NetworkConfig(hidden=16, layers=1),
    settings=PPOConfig(num_envs=8, steps=16, minibatch=64, epochs=1),
    evaluation=EvaluationConfig(deals=2, deals_on_the_way=2, every=2, opponents=("random",)),
)
NOT_REPRODUCIBLE = {"seconds", "charts/SPS"}


def quiet() -> Console:
    return Console(file=io.StringIO())


def metrics_of(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / METRICS).read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key not in NOT_REPRODUCIBLE} for line in lines]


def curves_of(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard draws."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    tags = set(events.Tags()["scalars"]) - NOT_REPRODUCIBLE
    return {tag: [(point.step, point.value) for point in events.Scalars(tag)] for tag in sorted(tags)}


def content_of(folder: Path, name: str = FILE_NAME) -> tuple[Any, ...]:
    kept = load_checkpoint(folder / name)
    assert any(key.startswith("network.") for key in kept.tensors)
    weights = {key: value.numpy().tobytes() for key, value in kept.tensors.items()}
    return kept.config, weights, kept.progress["iteration"], kept.progress["best"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole")
    assert Run(CONFIG_OF_TESTS, folder).train(quiet())
    return folder


# Kills


def go_on(folder: Path, killed_at: int | None) -> int:
    """Begin or resume the run of this folder in a process of its own, which is killed at some moment."""

    def work() -> None:
        with pytest.MonkeyPatch.context() as patch:
            if killed_at is not None:
                Killer(killed_at).install(patch)
            begun = (folder / CONFIG).exists()
            (Run.resume(folder) if begun else Run(CONFIG_OF_TESTS, folder)).train(quiet())

    return in_a_process(work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_run_that_is_killed_again_and_again_ends_as_one_that_is_not(whole: Path, tmp_path: Path) -> None:
    """Thirty kills at different moments, each file's writing among them, then the same files as without any."""
    rng, kills = random.Random(1), 0
    for trial in range(60):
        folder = tmp_path / str(trial)
        folder.mkdir()
        while (status := go_on(folder, rng.randrange(1, 45))) == 9:
            kills += 1
        assert status == 0
        assert metrics_of(folder) == metrics_of(whole)
        assert content_of(folder) == content_of(whole)
        assert content_of(folder, BEST) == content_of(whole, BEST)
        assert curves_of(folder) == curves_of(whole)
        if kills >= 30:
            break
    assert kills >= 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("moment", range(1, 12))
def test_a_run_that_is_killed_as_it_begins_can_be_begun_or_resumed(whole: Path, tmp_path: Path, moment: int) -> None:
    assert go_on(tmp_path, moment) == 9
    assert go_on(tmp_path, None) == 0
    assert content_of(tmp_path) == content_of(whole)
    assert curves_of(tmp_path) == curves_of(whole)


def test_resuming_a_complete_run_changes_nothing(whole: Path, tmp_path: Path) -> None:
    assert Run(CONFIG_OF_TESTS, tmp_path).train(quiet())
    for _ in range(2):
        assert Run.resume(tmp_path).train(quiet())
    assert metrics_of(tmp_path) == metrics_of(whole)
    assert content_of(tmp_path) == content_of(whole)
    assert curves_of(tmp_path) == curves_of(whole)


# Folders


@pytest.mark.parametrize("name", [CONFIG, METRICS, FILE_NAME, BEST, "evaluation.json", "events.out.tfevents.1.host"])
def test_a_folder_with_anything_of_a_run_is_a_run(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match=f"holds a run already .*{name}"):
        Run(CONFIG_OF_TESTS, tmp_path)
    assert (tmp_path / name).read_text(encoding="utf-8") == ""
    assert {path.name for path in tmp_path.iterdir()} <= {name, ".lock"}


def test_a_run_begins_with_a_checkpoint_from_which_it_goes_on(whole: Path, tmp_path: Path) -> None:
    Run(CONFIG_OF_TESTS, tmp_path)
    (tmp_path / METRICS).write_text('{"iteration": 1, "of": "a dead run"}\n{"iter', encoding="utf-8")
    assert Run.resume(tmp_path).train(quiet())
    assert metrics_of(tmp_path) == metrics_of(whole)


def test_two_processes_cannot_train_in_one_folder(tmp_path: Path) -> None:
    first = Run(CONFIG_OF_TESTS, tmp_path)
    others = []

    class Watching(type(first.learner)):  # type: ignore[misc]
        def iterate(self) -> dict[str, float]:
            for begin in (lambda: Run.resume(tmp_path).train(quiet()), lambda: Run(CONFIG_OF_TESTS, tmp_path)):
                with pytest.raises(ValueError, match="another process is at training there"):
                    begin()
            others.append(True)
            return super().iterate()

    first.learner.__class__ = Watching
    assert first.train(quiet())
    assert len(others) == first.learner.iterations == 8
    assert [line["iteration"] for line in metrics_of(tmp_path)] == list(range(1, 9))


def test_a_run_that_another_process_has_gone_on_with_must_be_resumed_again(tmp_path: Path) -> None:
    Run(CONFIG_OF_TESTS, tmp_path)
    early = Run.resume(tmp_path)
    assert Run.resume(tmp_path).train(quiet())
    before = content_of(tmp_path)
    with pytest.raises(ValueError, match="meanwhile"):
        early.train(quiet())
    assert content_of(tmp_path) == before


def line(iteration: int) -> str:
    return json.dumps({"iteration": iteration, "of": "this run"}) + "\n"


def at_iteration(folder: Path, iteration: int) -> Run:
    run = Run(CONFIG_OF_TESTS, folder)
    for _ in range(iteration):
        run.learner.iterate()
    run.save()
    return run


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("nonsense\n" + line(2), "line 1"),
        ("[]\n" + line(2), "line 1"),
        ("{}\n" + line(2), "line 1"),
        (line(1) + line(1) + line(2), "line 2"),
        (line(1) + '{"iter\n' + line(2), "line 2"),
        (line(1), "lines of iterations 2 to 2 are missing"),
        (line(1)[:-1] + line(2), "line 1"),
    ],
)
def test_damaged_metrics_are_refused_by_line_and_nothing_is_changed(tmp_path: Path, content: str, said: str) -> None:
    at_iteration(tmp_path, 2)
    (tmp_path / METRICS).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        Run.resume(tmp_path).train(quiet())
    assert (tmp_path / METRICS).read_text(encoding="utf-8") == content


def test_a_run_whose_metrics_are_lost_goes_on_and_can_be_resumed_again(tmp_path: Path) -> None:
    at_iteration(tmp_path, 3)  # and its metrics are gone
    run = Run.resume(tmp_path)
    run._check_finite = interrupting(run, 6)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run.train(quiet())
    assert Run.resume(tmp_path).train(quiet())
    assert [entry["iteration"] for entry in metrics_of(tmp_path)] == [4, 5, 6, 7, 8]


def interrupting(run: Run, iteration: int) -> Callable[[Any], None]:
    def check(metrics: Any) -> None:
        if run.learner.iteration > iteration:
            raise KeyboardInterrupt

    return check


def test_a_checkpoint_of_another_run_is_not_gone_on_with(whole: Path, tmp_path: Path) -> None:
    Run(replace(CONFIG_OF_TESTS, seed=77), tmp_path)
    (tmp_path / FILE_NAME).write_bytes((whole / FILE_NAME).read_bytes())
    with pytest.raises(ValueError, match="not of one run"):
        Run.resume(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"seed": -1}', "[" * 100_000])
def test_a_damaged_configuration_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / CONFIG).write_text(content, encoding="utf-8")
    if content == "{}":
        assert Run.resume(tmp_path).config == TrainConfig()
        return
    with pytest.raises(ValueError, match=r"config\.json"):
        Run.resume(tmp_path)


# Divergence and what can only fail at the end


@pytest.mark.parametrize("what", ["metric", "weight"])
def test_a_diverged_run_stops_and_keeps_its_last_good_checkpoint(tmp_path: Path, what: str) -> None:
    run = Run(CONFIG_OF_TESTS, tmp_path)

    class Diverging(type(run.learner)):  # type: ignore[misc]
        def iterate(self) -> dict[str, float]:
            metrics = super().iterate()
            if self.iteration == 5:
                if what == "metric":
                    metrics["losses/value_loss"] = float("nan")
                else:
                    with torch.no_grad():
                        next(self.network.parameters()).fill_(float("inf"))
            return metrics

    run.learner.__class__ = Diverging
    with pytest.raises(DivergedError, match=r"iteration 5: .* not finite.*learning_rate"):
        run.train(quiet())
    assert [line["iteration"] for line in metrics_of(tmp_path)] == [1, 2, 3, 4]
    assert Run.resume(tmp_path).learner.iteration == 3
    assert Run.resume(tmp_path).train(quiet())  # by a learner that does not diverge


def test_a_step_size_that_diverges_really_does(tmp_path: Path) -> None:
    wild = replace(CONFIG_OF_TESTS, settings=replace(CONFIG_OF_TESTS.settings, learning_rate=1e30))
    with pytest.raises(DivergedError):
        Run(wild, tmp_path).train(quiet())
    assert Run.resume(tmp_path).learner.is_finite()


def test_what_will_fail_at_the_end_fails_before_training(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sees all hands"):
        Run(
            replace(CONFIG_OF_TESTS, evaluation=replace(CONFIG_OF_TESTS.evaluation, opponents=("sees_all",))), tmp_path
        ).train(quiet())
    assert not (tmp_path / METRICS).exists()
    for temperature in (1e-320, 1e-9, -1.0, float("nan")):
        with pytest.raises(ValueError, match="temperature"):
            replace(CONFIG_OF_TESTS.evaluation, temperature=temperature)


def test_evaluation_does_not_depend_on_the_name_of_the_folder(tmp_path: Path) -> None:
    results = [Run(CONFIG_OF_TESTS, tmp_path / name).evaluate(quiet())[0] for name in ("one", "another")]
    assert [result.win_share for result in results] == [results[0].win_share] * 2
    assert [replace(result, milliseconds=0.0) for result in results] == [replace(results[0], milliseconds=0.0)] * 2


def test_a_run_trains_in_a_thread_too(whole: Path, tmp_path: Path) -> None:
    from threading import Thread

    done: list[bool] = []
    thread = Thread(target=lambda: done.append(Run(CONFIG_OF_TESTS, tmp_path).train(quiet())))
    thread.start()
    thread.join()
    assert done == [True]
    assert content_of(tmp_path) == content_of(whole)


# Checkpoints


def test_every_flipped_bit_of_a_checkpoint_is_noticed(whole: Path, tmp_path: Path) -> None:
    content = (whole / FILE_NAME).read_bytes()
    rng = random.Random(2)
    for place in [*rng.sample(range(len(content)), 150), *range(0, 300, 7)]:
        changed = bytearray(content)
        changed[place] ^= 1 << rng.randrange(8)
        (tmp_path / FILE_NAME).write_bytes(changed)
        with pytest.raises(ValueError, match="checkpoint"):
            Run.resume(tmp_path)


def drop(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda tensors: tensors.pop(name)


def put(name: str, value: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    return lambda tensors: tensors.update({name: value(tensors.get(name))})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop("optimizer.0.exp_avg"), "optimizer.0.exp_avg missing"),
        (drop("optimizer.1.step"), "optimizer.1.step missing"),
        (put("optimizer.99.step", lambda _: torch.tensor(1.0)), "optimizer.99.step missing or unknown"),
        (put("optimizer.0.exp_avg", lambda t: t[:1]), "optimizer.0.exp_avg: shape"),
        (put("optimizer.0.exp_avg_sq", lambda t: t * float("nan")), "not finite"),
        (drop("generator"), "generator: missing"),
        (put("generator", lambda t: t[:7]), "generator: torch.uint8 of shape"),
        (drop("games"), "games: missing"),
        (put("games", lambda t: t[:3]), "games: torch.uint8 of shape"),
        (put("games", lambda t: t.to(torch.int8)), "games: torch.int8"),
        (put("games", lambda t: torch.zeros_like(t)), r"states\[0\]"),
        (drop("network.head.weight"), "Missing key"),
    ],
)
def test_checkpoints_with_parts_that_do_not_fit_are_refused_in_one_line(
    whole: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(whole / FILE_NAME, "pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118  not a dict
    if "network.head.weight" in str(said) or "Missing" in said:
        change = drop(next(name for name in tensors if name.startswith("network.")))
    change(tensors)
    save_file(tensors, tmp_path / FILE_NAME, metadata | {"digest": digest_of(metadata, tensors)})
    with pytest.raises(ValueError, match=said):
        Run.resume(tmp_path)


def test_a_run_against_a_frozen_agent_can_be_resumed_from_the_moment_it_begins(tmp_path: Path) -> None:
    ExploitRun(CONFIG_OF_TESTS, tmp_path, "heuristic", 0.5)
    (tmp_path / FILE_NAME).unlink()
    assert ExploitRun.resume(tmp_path).frozen.name == "heuristic"


# The command line


def error_of(*arguments: object) -> str:
    result = subprocess.run(
        [sys.executable, "train.py", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


def test_what_cannot_be_written_to_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert error_of("--smoke", "--run", tmp_path / "file").startswith("error: ")
    assert error_of("--smoke", "--run", tmp_path / "file" / "below").startswith("error: ")
    assert "must name a folder" in error_of("--smoke", "--run", "")
    assert "memory" in error_of(
        "--smoke", "--learner", "ppo", "--run", tmp_path / "large", "--ppo.num-envs", 2**31 - 1, "--ppo.steps", 4096
    )
    (tmp_path / "config.toml").write_bytes(b"seed = 1\n\xff\xfe")
    assert "config.toml" in error_of("--config", tmp_path / "config.toml")


def test_ctrl_c_twice_in_a_row_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [
        sys.executable,
        "train.py",
        "--smoke",
        "--learner",
        "ppo",
        "--run",
        str(folder),
        "--total-decisions",
        "2000000",
        "--evaluation.deals-on-the-way",
        "0",
    ]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 120
    while not (folder / METRICS).exists() or not (folder / METRICS).read_text(encoding="utf-8"):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[0]
        time.sleep(0.02)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130
    assert "interrupted" in output and "Traceback" not in output
    assert Run.resume(folder).learner.is_finite()


def test_numbers_of_numpy_are_written_as_json(tmp_path: Path) -> None:
    Run(replace(CONFIG_OF_TESTS, seed=np.int64(3)), tmp_path)  # type: ignore[arg-type]
    assert json.loads((tmp_path / CONFIG).read_text(encoding="utf-8"))["seed"] == 3
    assert agents.run.Run.resume(tmp_path).config.seed == 3
