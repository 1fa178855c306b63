"""The spaces of all environments: actions that are sampled by mask, observations as int8 or scaled to 0..1."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from gymnasium import spaces

from rs_env.cards import NUM_ACTIONS
from rs_env.checks import check_whole
from rs_env.engine.layout import Layout
from rs_env.history import highest_recent

_MASK_DTYPES = (np.dtype(np.int8), np.dtype(np.bool_))
_MASK_SHAPE = (NUM_ACTIONS,)
_ACTIONS = [np.int64(action) for action in range(NUM_ACTIONS)]
_LARGEST_SEED = (1 << 64) - 1


class ActionSpace(spaces.Discrete):
    """`Discrete(53)` whose masked sampling takes less than a microsecond where Gymnasium's takes twenty, the same
    otherwise.
    """

    def __init__(self) -> None:
        super().__init__(NUM_ACTIONS)
        self._draws: random.Random | None = None

    def seed(self, seed: int | None = None) -> int:
        """Seed all draws, with and without a mask; returns the seed."""
        used = super().seed(None if seed is None else check_whole("seed", seed, 0, _LARGEST_SEED))
        self._draws = random.Random(int(used))
        return used

    def sample(self, mask: np.ndarray | None = None, probability: np.ndarray | None = None) -> np.int64:
        """A uniformly random action; with a mask (int8 or bool, shape (53,), zeros and ones) one of those it allows.

        As in Gymnasium an all-zero mask gives 0, and a wrong mask or anything with `probability` gives its errors.
        """
        if (
            probability is None
            and isinstance(mask, np.ndarray)
            and mask.dtype in _MASK_DTYPES
            and mask.shape == _MASK_SHAPE
        ):
            entries = mask.tobytes()
            count = entries.count(1)
            if count + entries.count(0) == NUM_ACTIONS:
                if not count:
                    return self.start
                if self._draws is None:
                    self.seed()
                place = entries.find(1)
                for _ in range(int(count * self._draws.random())):  # type: ignore[union-attr]
                    place = entries.find(1, place + 1)
                return _ACTIONS[place]
        return super().sample(mask, probability)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, spaces.Discrete) and (self.n, self.start) == (other.n, other.start)

    __hash__ = None  # type: ignore[assignment]  # as all of Gymnasium's spaces


class BatchActionSpace(spaces.MultiDiscrete):
    """The actions of many games: Gymnasium's ``MultiDiscrete([53, 53, ...])``, which can also be sampled by one array
    of masks.
    """

    def __init__(self, num_envs: int) -> None:
        super().__init__(np.full(num_envs, NUM_ACTIONS, np.int64))

    def seed(self, seed: Any = None) -> Any:
        """Seed all draws; returns the seed or seeds."""
        several = seed is None or isinstance(seed, list | tuple)
        return super().seed(seed if several else check_whole("seed", seed, 0, _LARGEST_SEED))

    def sample(self, mask: Any = None, probability: Any = None) -> np.ndarray:
        """A random action for each game, int64 (B,); with masks (int8 or bool, (B, 53)) a legal one, 0 where a row is
        empty.
        """
        if not isinstance(mask, np.ndarray):
            return super().sample(mask) if probability is None else super().sample(mask, probability)
        if probability is not None or mask.dtype not in _MASK_DTYPES or mask.shape != (len(self.nvec), NUM_ACTIONS):
            raise ValueError(
                f"mask: {mask.dtype} of shape {mask.shape} is not allowed: it must be int8 or bool of shape"
                f" ({len(self.nvec)}, {NUM_ACTIONS}), without probability"
            )
        return np.where(mask != 0, self.np_random.random(mask.shape), -1.0).argmax(1)


def box_of(layout: Layout, dtype: str) -> spaces.Box:
    """The space of vectors of this layout: int8 in 0..`layout.high`, or float32 in 0..1."""
    if dtype == "int8":
        return spaces.Box(layout.low, layout.high, dtype=np.int8)
    return spaces.Box(0.0, 1.0, (layout.size,), np.float32)


def history_space(num_players: int, history: int) -> spaces.Box:
    """The space of an observation of the history, int8 (K, 3), see `rs_env.history`."""
    high = highest_recent(num_players, history)
    return spaces.Box(np.zeros_like(high), high, dtype=np.int8)
