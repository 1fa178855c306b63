"""Several ranks learn as one does, and what ends one of them loses no more than a kill does."""

from __future__ import annotations

import io
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

torch = pytest.importorskip("torch")

from ranks import in_ranks  # noqa: E402  after the skip

from agents.architectures import NetworkConfig  # noqa: E402
from agents.checkpoint import load_checkpoint  # noqa: E402
from agents.config import EvaluationConfig, TrainConfig  # noqa: E402
from agents.distill import DistillConfig  # noqa: E402
from agents.distributed import Ranks, ranks  # noqa: E402
from agents.learner import TableConfig  # noqa: E402
from agents.ppo import PPOConfig  # noqa: E402
from agents.run import EVALUATION, METRICS, Run  # noqa: E402
from agents.seating import SeatsConfig  # noqa: E402
from rs_env.rules import Rules  # noqa: E402

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")

SELF_PLAY = TrainConfig(
    rules=Rules(num_players=3, max_actions=60),
    total_decisions=5 * 8 * 16,
    threads=1,
    checkpoint_every=2,
    network=NetworkConfig(hidden=16, layers=1),
    settings=PPOConfig(num_envs=8, steps=16, minibatch=50, epochs=2),
    evaluation=EvaluationConfig(deals=4, deals_on_the_way=2, every=2, opponents=("random", "low", "heuristic")),
)
COMPANY = replace(
    SELF_PLAY,
    settings=replace(SELF_PLAY.settings, num_envs=2, minibatch=9),
    company=(SeatsConfig(seats="one", opponents=("heuristic",)),),
    total_decisions=5 * 2 * 16,
)
LESSONS = replace(
    SELF_PLAY,
    learner="distill",
    total_decisions=3 * 20,
    settings=DistillConfig(games=4, steps=5, workers=0, gradient_steps=3, minibatch=10, worlds=2, review=0.67),
)
TABLES = replace(
    LESSONS,
    network=replace(LESSONS.network, kind="general"),
    tables=(TableConfig(0.4, Rules(num_players=4, max_actions=60)),),
)
OF_ONE_PROCESS = {"seconds", "charts/SPS"}


def learnt(config: TrainConfig) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """Tensors and metrics of all iterations."""
    torch.set_num_threads(1)
    learner = config.make_learner()
    metrics = [learner.iterate() for _ in range(learner.iterations)]
    return {name: value.numpy() for name, value in learner.tensors().items()}, metrics


def trained(config: TrainConfig, folder: Path) -> bool:
    return Run(config, folder).train(Console(file=io.StringIO()))


def resumed(folder: Path) -> None:
    run = Run.resume(folder)
    assert run.train(Console(file=io.StringIO()))
    run.evaluate(Console(file=io.StringIO()))


def rows_of(folder: Path) -> list[dict[str, float]]:
    lines = (folder / METRICS).read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in OF_ONE_PROCESS} for line in lines]


@pytest.mark.parametrize(
    "config", [SELF_PLAY, COMPANY, LESSONS, TABLES], ids=["self-play", "company", "lessons", "lessons of two rule sets"]
)
def test_two_ranks_with_half_each_learn_as_one(config: TrainConfig, tmp_path: Path) -> None:
    tensors, metrics = learnt(config)
    for there, told in in_ranks(2, lambda rank: learnt(config), tmp_path):
        assert there.keys() == tensors.keys()
        for name, value in tensors.items():
            if name.startswith("open."):  # in the order of the ranks
                assert len(there[name]) == len(value)
            elif value.dtype == np.float32:
                assert there[name] == pytest.approx(value, abs=2e-5), name
            else:
                assert np.array_equal(there[name], value), name
        for row, other in zip(metrics, told, strict=True):
            assert other == pytest.approx(row, rel=1e-3, abs=1e-4)


def test_a_run_goes_on_with_another_number_of_ranks(tmp_path: Path) -> None:
    """Of two, of one and of four, in turn: as one that one rank has trained from beginning to end."""
    assert trained(SELF_PLAY, tmp_path / "whole")
    Run.resume(tmp_path / "whole").evaluate(Console(file=io.StringIO()))

    def begin(rank: int) -> bool:
        run = Run(SELF_PLAY, tmp_path / "run")
        iterate = run.learner.iterate

        def until_two() -> dict[str, float]:
            if run.learner.iteration == 1 and rank == 1:  # one of them is asked to stop, and all do
                os.kill(os.getpid(), signal.SIGTERM)
            return iterate()

        run.learner.iterate = until_two  # type: ignore[method-assign]
        return run.train(Console(file=io.StringIO()))

    assert in_ranks(2, begin, tmp_path) == [False, False]
    assert load_checkpoint(tmp_path / "run").progress["iteration"] == 2
    assert in_ranks(4, lambda rank: resumed(tmp_path / "run"), tmp_path) == [None] * 4
    for row, other in zip(rows_of(tmp_path / "whole"), rows_of(tmp_path / "run"), strict=True):
        assert other == pytest.approx(row, rel=1e-3, abs=1e-4)
    shares = [
        [(duel["opponent"], duel["win_share"]) for duel in json.loads((tmp_path / name / EVALUATION).read_text())]
        for name in ("whole", "run")
    ]
    assert shares[0] == shares[1]


def test_a_rank_that_dies_ends_the_others_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    def work(rank: int) -> None:
        run = Run(SELF_PLAY, tmp_path / "run")
        iterate = run.learner.iterate

        def until_it_dies() -> dict[str, float]:
            if run.learner.iteration == 3 and rank == 1:
                os._exit(7)
            return iterate()

        run.learner.iterate = until_it_dies  # type: ignore[method-assign]
        run.train(Console(file=io.StringIO()))

    first, second = in_ranks(2, work, tmp_path)
    assert second == 7
    assert isinstance(first, ChildProcessError) and str(first).startswith("rank 0: another rank has ended"), first
    assert load_checkpoint(tmp_path / "run").progress["iteration"] == 2
    resumed(tmp_path / "run")


def test_what_the_first_rank_refuses_ends_all(tmp_path: Path) -> None:
    assert trained(replace(SELF_PLAY, total_decisions=1), tmp_path / "run")
    first, second = in_ranks(2, lambda rank: Run(SELF_PLAY, tmp_path / "run"), tmp_path)
    assert isinstance(first, ValueError) and "holds a run already" in str(first)
    assert isinstance(second, SystemExit)


def test_games_that_cannot_be_shared_out_are_refused(tmp_path: Path) -> None:
    for error in in_ranks(3, lambda rank: SELF_PLAY.make_learner(), tmp_path):
        assert isinstance(error, ValueError)
        assert str(error) == "num_envs=8 is not allowed: it must be a multiple of the number of ranks, 3"


def test_one_process_alone_is_the_only_rank() -> None:
    assert ranks() == Ranks(0, 1)
    assert Ranks().part("games", 7) == slice(0, 7)
    assert Ranks(1, 4).part("games", 8) == slice(2, 4)


def test_a_run_that_is_resumed_may_be_given_a_cluster() -> None:
    import train

    command = train.parse(["--resume", "runs/first", "--cluster", "tcp://head:8786"])
    assert (command.resume, command.cluster) == ("runs/first", "tcp://head:8786")
    with pytest.raises(ValueError, match="nothing but --cluster can be given"):
        train.parse(["--resume", "runs/first", "--cluster=tcp://head:8786", "--seed", "2"])


def test_a_setting_begins_the_other_processes(tmp_path: Path) -> None:
    """From train.py to the evaluation, and again from the folder; the environment is left as it was."""
    import train

    config = tmp_path / "tiny.toml"
    config.write_text(
        "total_decisions = 512\nthreads = 1\nnetwork = {hidden = 16, layers = 1}\n"
        "ppo = {num_envs = 8, steps = 16, minibatch = 50}\nevaluation = {deals = 3, every = 100}\n"
    )
    for processes in (1, 2):
        given = ["--config", str(config), "--processes", str(processes), "--run", str(tmp_path / str(processes))]
        assert train.main(given) == 0
    alone, together = (rows_of(tmp_path / str(processes)) for processes in (1, 2))
    assert [row["losses/entropy"] for row in together] == pytest.approx([row["losses/entropy"] for row in alone])
    (tmp_path / "2" / EVALUATION).unlink()
    assert train.main(["--resume", str(tmp_path / "2")]) == 0
    assert len(json.loads((tmp_path / "2" / EVALUATION).read_text())) == 2
    assert ranks() == Ranks() and "WORLD_SIZE" not in os.environ
