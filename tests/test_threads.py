"""Threads and processes do not get into one another's way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rs_env.arena import duel

ROOT = Path(__file__).parents[1]
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Counter:
    """Says, as what went wrong, in how many threads torch computes, and what the environment asks for."""

    name = "counter"

    def reset(self, seed: int | None) -> None:
        pass

    def act(self, views: np.ndarray) -> np.ndarray:
        import torch

        raise ValueError(f"{torch.get_num_threads()} thread, {[os.environ.get(name) for name in VARIABLES]}")


def test_processes_of_the_arena_compute_on_one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=r"^1 thread, \['1', '1', '1'\]"):
        duel(Counter(), "random", deals=2, processes=2)
    assert not set(VARIABLES) & set(os.environ)  # this process is left as it was


def test_number_of_threads_that_the_environment_asks_for_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    for name in VARIABLES:
        monkeypatch.setenv(name, "2")
    with pytest.raises(ValueError, match=r"^2 thread"):
        duel(Counter(), "random", deals=2, processes=2)
    assert {os.environ[name] for name in VARIABLES} == {"2"}


TWO_PYTHON_THREADS = """
from threading import Thread
import numba, numpy as np
from rs_env import SelfPlayVectorEnv

batches = [SelfPlayVectorEnv(512, seed=seed, num_threads=2) for seed in (1, 2)]

def play(vec):
    for _ in range(300):
        vec.step(vec.random_actions())

threads = [Thread(target=play, args=(vec,)) for vec in batches]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
alone = [SelfPlayVectorEnv(512, seed=seed) for seed in (1, 2)]
for vec in alone:
    play(vec)
print(numba.threading_layer(), all(np.array_equal(a.states, b.states) for a, b in zip(alone, batches)))
"""


@pytest.mark.parametrize("layer", ["workqueue", "default"])
def test_batches_may_be_stepped_from_two_python_threads(layer: str) -> None:
    """Numba's simplest layer, which needs no OpenMP, ends the process where two threads run parallel loops at once."""
    variables = {**os.environ, "NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", TWO_PYTHON_THREADS], cwd=ROOT, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    used, equal = done.stdout.split()
    assert used == layer or layer == "default"
    assert equal == "True"
