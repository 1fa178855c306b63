"""Work in pieces comes to the same whoever does it, in whatever order, and whoever dies of it."""

from __future__ import annotations

import copyreg
import os
import pickle
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rs_env.executors
from rs_env.arena import best_response, league
from rs_env.arena.workers import play_piece
from rs_env.baselines import make_agent
from rs_env.executors import Processes, in_order, result_of, submit
from rs_env.rules import Rules

RULES = Rules(num_players=3, suits=3, ranks=4, max_actions=60)


class Deadly:
    """A rule of thumb that kills its process the first time that it is asked after `questions` others."""

    name = "deadly"

    def __init__(self, mark: Path, questions: int) -> None:
        self.mark, self.left = mark, questions
        self.player = make_agent("heuristic")

    def reset(self, seed: int | None) -> None:
        self.player.reset(seed)

    def act(self, views: np.ndarray) -> np.ndarray:
        self.left -= 1
        if self.left == 0 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.player.act(views)


def games_of(folder: Path) -> bytes:
    return (folder / "games.jsonl").read_bytes()


@pytest.fixture
def play(tmp_path: Path) -> Any:
    """Play a league with an agent that kills, and give its games back, as bytes."""

    def league_in(name: str, **how: Any) -> bytes:
        mark = tmp_path / f"{name} has killed"
        if not how:
            mark.touch()
        agents = ["random", Deadly(mark, 25), "low"]
        league(agents, RULES, deals=40, matrix_deals=2, seed=3, games_at_once=18, out=tmp_path / name, **how)
        assert mark.exists()
        return games_of(tmp_path / name)

    return league_in


def test_a_process_that_is_killed_costs_its_piece_only(play: Any) -> None:
    assert play("two", processes=2) == play("one")


def test_a_worker_of_a_cluster_that_is_killed_costs_its_piece_only(play: Any, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what the cluster uses, and of the worker that is gone
        with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as workers:
            assert play("cluster", cluster=workers.scheduler_address) == play("one")


def test_threads_play_the_same_games(play: Any, tmp_path: Path) -> None:
    (tmp_path / "threads has killed").touch()
    with ThreadPoolExecutor(3) as executor:
        assert play("threads", executor=executor, processes=3) == play("one")


def test_a_best_response_is_the_same_with_any_executor() -> None:
    options: dict[str, Any] = {"deals": 4, "selection_deals": 2, "seed": 1, "worlds": 2, "horizon": 8}
    options["responders"] = ["search", "heuristic"]
    with ThreadPoolExecutor(2) as executor:
        there = best_response("random", RULES, executor=executor, processes=2, **options)
    assert there == best_response("random", RULES, **options)


def test_results_come_in_the_order_of_the_pieces() -> None:
    last_is_done = Event()

    def work(number: int) -> int:
        if number == 0:
            assert last_is_done.wait(60)
        if number == 5:
            last_is_done.set()
        return number * number

    with ThreadPoolExecutor(2) as executor:
        assert list(in_order(executor, work, ((n,) for n in range(6)), 6)) == [0, 1, 4, 9, 16, 25]


def test_no_more_than_asked_for_is_given_out_and_the_rest_is_called_off() -> None:
    given: list[int] = []

    class Noting(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Any:
            given.append(arguments[-1])
            return super().submit(function, *arguments, **more)

    with Noting(1) as executor:
        results = in_order(executor, abs, ((n,) for n in range(100)), 3)
        assert next(results) == 0
        results.close()  # type: ignore[attr-defined]
    assert len(given) <= 6


def test_a_worker_with_other_sources_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere(Executor):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Any:
            with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as executor:
                patch.setattr(rs_env.executors, "_digest", lambda: "another")
                future = executor.submit(function, *arguments, **more)
                future.exception()
                return future

    with pytest.raises(ValueError, match=r"has other sources of rs_env \(another\) than the process that asks"):
        result_of(submit(Elsewhere(), abs, -1))


@pytest.mark.parametrize(("variables", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_torch_takes_one_thread_at_a_worker(
    variables: dict[str, str], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the environment says otherwise; and it is left alone in the process that asks."""
    for name in rs_env.executors._THREADS:
        monkeypatch.setenv(name, "")  # put back afterwards
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told: list[int] = []
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(set_num_threads=told.append))
    assert rs_env.executors._do(rs_env.executors._digest(), rs_env.executors._here(), abs, -3) == 3
    assert told == []
    assert rs_env.executors._do(rs_env.executors._digest(), ("elsewhere", 1), abs, -3) == 3
    assert told == [threads]


def test_an_agent_of_a_module_that_a_worker_lacks_is_told() -> None:
    with pytest.raises(ValueError, match=r"agents: a worker cannot load one of them, .*nowhere"):
        play_piece(b"cnowhere\nAgent\n.", "mixed", 0, 1)


def test_pieces_that_have_begun_are_ended_with_the_processes(tmp_path: Path) -> None:
    executor = Processes(1)
    endless, waiting = executor.submit(time.sleep, 1e6), executor.submit(abs, -1)
    executor.shutdown(cancel_futures=True)
    assert waiting.cancelled()
    with pytest.raises(ChildProcessError):
        result_of(endless)


@pytest.fixture(scope="module")
def one_process() -> Iterator[Processes]:
    with Processes(1) as executor:
        yield executor


def test_what_a_piece_raises_is_raised_here_with_its_traceback(one_process: Processes) -> None:
    failing, fine = submit(one_process, int, "x"), submit(one_process, abs, -2)
    with pytest.raises(ValueError, match="invalid literal") as raised:
        result_of(failing)
    assert "executors.py" in raised.value.__notes__[0]
    assert result_of(fine) == 2


class TwoArgumentsError(Exception):
    """It has one of `args` only, so that it cannot be made anew of them."""

    def __init__(self, what: str, where: int) -> None:
        super().__init__(f"{what} at {where}")


def fail_with_two_arguments() -> None:
    raise TwoArgumentsError("nothing", 7)


def test_what_cannot_be_unpickled_is_told_by_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    # Dask, where another test has loaded it, teaches pickle to make any error anew.
    monkeypatch.delitem(copyreg.dispatch_table, TwoArgumentsError, raising=False)
    done, raised = pickle.loads(rs_env.executors._answer(pickle.dumps((fail_with_two_arguments, (), {}))))
    assert not done and isinstance(raised, RuntimeError) and str(raised) == "TwoArgumentsError: nothing at 7"
    assert "in fail_with_two_arguments" in raised.__notes__[0]


class OneProcessError(Exception):
    """Can be made anew in the process that raised it alone."""

    def __init__(self, process: int) -> None:
        super().__init__(process)
        if process != os.getpid():
            raise TypeError("of another process")


def give_what_nobody_else_can_read() -> OneProcessError:
    return OneProcessError(os.getpid())


def test_what_this_process_cannot_read_is_told_and_costs_no_other_piece(one_process: Processes) -> None:
    unreadable, fine = submit(one_process, give_what_nobody_else_can_read), submit(one_process, abs, -2)
    with pytest.raises(RuntimeError, match=r"cannot read what came of it \(TypeError: of another process\)"):
        result_of(unreadable)
    assert result_of(fine) == 2


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"executor": 3}, "executor=3 is not allowed: it must be a concurrent.futures.Executor"),
        ({"cluster": ""}, "cluster='' is not allowed: it must be the address of a scheduler"),
        ({"cluster": "tcp://a:1", "processes": 2}, "cluster='tcp://a:1' is not allowed with processes or an executor"),
        ({"cluster": "tcp://a:1", "isolated": True}, "isolated=True is not allowed with cluster='tcp://a:1'"),
    ],
)
def test_wrong_executors_are_refused(how: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        league(["random", "low"], RULES, deals=2, **how)
