"""Files that survive a crash: written whole or not at all, and by one process at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rs_env.checks import needs_extra

LOCK = ".lock"
_UNFINISHED = ".new"  # at the end of the name of a file that is being written


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a crash or a power cut leaves the old one or the new one, never a part."""
    data = content.encode() if isinstance(content, str) else content
    beside = path.with_name(path.name + _UNFINISHED)
    try:
        with naming(path), beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors of the system tell the file, which they do not where a disk is full."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder survive a power cut, where the system can open folders (Windows cannot)."""
    with suppress(PermissionError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextmanager
def only_process_in(folder: Path, what: str) -> Iterator[None]:
    """Hold the lock of a folder. Raises ValueError, naming `what` goes on there, where another process holds it.

    The operating system gives the lock back when the process ends, however that happens. Needs the library filelock.
    """
    with needs_extra("arena", "a folder of results"):
        from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(f"{folder} is in use: another process is at {what} there") from None
    try:
        yield
    finally:
        lock.release()
