"""Processes that are ended at chosen moments of their writing to files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class Killer:
    """Ends the process at the n-th moment at which files are written, renamed or made to last; a write is then cut in
    half."""

    def __init__(self, moment: int) -> None:
        self.left = moment

    def comes(self) -> bool:
        self.left -= 1
        return self.left == 0

    def install(self, patch: pytest.MonkeyPatch) -> None:
        open_file, fsync, rename = Path.open, os.fsync, os.replace

        def watched_open(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
            file = open_file(path, mode, *args, **options)
            if mode in ("wb", "w", "a"):
                file = WatchedFile(file, self)
            return file

        def watched(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any) -> Any:
                if self.comes():
                    os._exit(9)
                result = function(*args)
                if self.comes():
                    os._exit(9)
                return result

            return call

        patch.setattr(Path, "open", watched_open)
        patch.setattr(os, "fsync", watched(fsync))
        patch.setattr(os, "replace", watched(rename))


class WatchedFile:
    def __init__(self, file: Any, killer: Killer) -> None:
        self._file, self._killer = file, killer

    def write(self, content: Any) -> None:
        if self._killer.comes():
            self._file.write(content[: len(content) // 2])
            self._file.flush()
            os._exit(9)
        self._file.write(content)

    def __enter__(self) -> WatchedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def in_a_process(work: Callable[[], None]) -> int:
    """The exit status of a forked process that does this."""
    number = os.fork()
    if number == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
