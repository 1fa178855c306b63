"""Agents for tests: a faultless one, and some that do what they may not."""

from __future__ import annotations

import gc
import sys

import numpy as np

from rs_env.cards import members
from rs_env.engine.state import STATE
from rs_env.engine.view import view_key


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
