"""Agents for tests: a faultless one, and some that do what they may not."""

from __future__ import annotations

import gc
import os
import sys
import time
import zlib
from pathlib import Path

import numpy as np

from rs_env.cards import members
from rs_env.engine.state import STATE
from rs_env.engine.view import view_key
from rs_env.files import write_whole
from rs_env.history import Histories, log_of


class Model:
    """A faultless agent, from which the faulty ones are made."""

    name = "model"

    def __init__(self) -> None:
        self.seed = 0

    def reset(self, seed: int | None) -> None:
        self.seed = seed or 0

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        seeds = np.full(len(views), self.seed, np.uint64) if seeds is None else seeds
        choices = [members(view["legal"]) for view in views]
        return np.array(
            [c[int(view_key(v, s) % np.uint64(len(c)))] for c, v, s in zip(choices, views, seeds, strict=True)],
            np.int64,
        )


class Remembering(Model):
    """Chooses by all bytes of the histories. They must lead to its views, and whoever asks must have them."""

    name = "remembering"
    may_lack_them = False

    def act(  # type: ignore[override]
        self, views: np.ndarray, seeds: np.ndarray | None = None, histories: Histories | None = None
    ) -> np.ndarray:
        if histories is None:
            if self.may_lack_them:
                return super().act(views, seeds)
            raise ValueError("asked without histories")
        log_of(views, histories)
        choices = [members(view["legal"]) for view in views]
        return np.array([c[zlib.crc32(row.tobytes()) % len(c)] for c, row in zip(choices, histories, strict=True)])


class Forgetful(Remembering):
    """The same, but for who asks without histories."""

    may_lack_them = True


class Scribbling(Forgetful):
    def act(  # type: ignore[override]
        self, views: np.ndarray, seeds: np.ndarray | None = None, histories: Histories | None = None
    ) -> np.ndarray:
        if histories is not None:
            histories.events[:] = 0
        return super().act(views, seeds, histories)


class Writing(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        views["hand"] = 0
        return super().act(views, seeds)


class Floats(Model):
    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        return super().act(views, seeds).astype(float)


class Searching(Model):
    """Looks everywhere in its process for states, in what the collector knows and up the stack."""

    name = "searching"
    asked = 0

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        self.asked += 1
        if self.asked in (1, 3, 9):  # a search takes a tenth of a second
            self.search()
        return super().act(views, seeds)

    def search(self) -> None:
        found = []
        for holder in gc.get_objects():  # asked for exact types: others may do anything when they are asked
            kind = type(holder)
            content = holder.values() if kind is dict else holder if kind in (list, tuple) else (holder,)
            found += [o for o in list(content) if type(o) is np.ndarray and o.dtype == STATE and o.size]
        frame = sys._getframe(2)
        while frame is not None:
            near = list(frame.f_locals.values())
            for _ in range(2):
                near += [inside for o in near for inside in getattr(o, "__dict__", {}).values()]
            found += [o for o in near if type(o) is np.ndarray and o.dtype == STATE]
            frame = frame.f_back
        if found:
            raise ValueError("found states")


class Broken(Model):
    """Fails with this text."""

    name = "broken"

    def __init__(self, text: str) -> None:
        self.text = text

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        raise RuntimeError(self.text)


class Slow(Model):
    """Thinks until the file ``go`` is in its folder. The file ``asked`` tells the process in which it thinks."""

    name = "slow"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        write_whole(self.folder / "asked", str(os.getpid()))
        while not (self.folder / "go").exists():
            time.sleep(0.01)
        return super().act(views, seeds)

    def thinks(self) -> int:
        """The process in which it thinks, as soon as it does."""
        asked = self.folder / "asked"
        while not asked.exists():
            time.sleep(0.01)
        process = int(asked.read_text())
        asked.unlink()
        return process


def is_over(process: int) -> bool:
    """Whether a process ends soon, and somebody waits for that."""
    for _ in range(2000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False
