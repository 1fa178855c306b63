"""Ranks of `torch.distributed`, as forks of the process that tests."""

from __future__ import annotations

import os
import pickle
import socket
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents.distributed import together


def in_ranks(size: int, work: Callable[[int], Any], folder: Path) -> list[Any]:
    """What each of so many ranks comes to, or how it ended: the error raised, or its exit status where it left none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [_forked(rank, size, port, work, folder / f"{rank}.result") for rank in range(size)]
    statuses = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
    found = []
    for rank, status in enumerate(statuses):
        path = folder / f"{rank}.result"
        found.append(pickle.loads(path.read_bytes()) if path.exists() else status)
        path.unlink(missing_ok=True)
    return found


def _forked(rank: int, size: int, port: int, work: Callable[[int], Any], path: Path) -> int:
    process = os.fork()
    if process:
        return process
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "MASTER_PORT": port}
    os.environ.update({"MASTER_ADDR": "127.0.0.1", **{name: str(value) for name, value in told.items()}})
    try:
        with together():
            result = work(rank)
        path.write_bytes(pickle.dumps(result))
    except BaseException as error:
        error.add_note(traceback.format_exc())
        path.write_bytes(pickle.dumps(error))
    finally:
        os._exit(0)
