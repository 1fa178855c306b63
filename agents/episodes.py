"""Decisions kept until their episode has ended, for learners that want to know what came of them in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from agents.checkpoint import tensor_like
from agents.rollout import Rollout


@dataclass(frozen=True)
class Decisions:
    """M decisions in the order in which they were taken.

    game int64, seat int8 (M,): where and by whom. observation int8 (M, D); action_mask int8 (M, 53); action int64 (M,).
    """

    game: np.ndarray
    seat: np.ndarray
    observation: np.ndarray
    action_mask: np.ndarray
    action: np.ndarray

    def __len__(self) -> int:
        return len(self.game)

    def __getitem__(self, rows: np.ndarray) -> Decisions:
        return Decisions(**{name: column[rows] for name, column in vars(self).items()})

    def then(self, later: Decisions) -> Decisions:
        """These and later ones."""
        return Decisions(
            **{name: np.concatenate([column, getattr(later, name)]) for name, column in vars(self).items()}
        )


class RunningEpisodes:
    """The learner's decisions in episodes that go on. first: row of a rollout at which new decisions begin; those
    before are carried over from earlier ones.
    """

    def __init__(self, rollout: Rollout, first: int) -> None:
        self._rollout, self._first = rollout, first
        self._open = self._taken(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def finished(self, gamma: float) -> tuple[Decisions, np.ndarray]:
        """Add the rollout's decisions, and take out those whose episodes have ended in it, with their returns, float32
        (M,): what the seat got at the end, discounted by each later decision of its own.
        """
        rollout, (steps, games, players) = self._rollout, self._rollout.reward.shape
        t, b = np.nonzero(rollout.learns[self._first :])
        begun, decisions = t + self._first, self._open.then(self._taken(t + self._first, b))
        end = np.full((steps + 1, games), steps)  # the step with which the episode ends that goes on at a step
        for step in range(steps - 1, self._first - 1, -1):
            end[step] = np.where(rollout.done[step], step, end[step + 1])
        ends = np.concatenate([end[self._first, self._open.game], end[begun, b]])
        over = ends < steps
        decided, ends = decisions[over], ends[over]
        self._open = decisions[~over]
        episode = (ends * games + decided.game) * players + decided.seat
        returns = rollout.reward[ends, decided.game, decided.seat] * gamma ** _later(episode)
        return decided, returns.astype(np.float32)

    def _taken(self, t: np.ndarray, b: np.ndarray) -> Decisions:
        rollout = self._rollout
        columns = {
            name: getattr(rollout, name)[t, b].copy() for name in ("seat", "observation", "action_mask", "action")
        }
        return Decisions(game=b, **columns)

    def tensors(self) -> dict[str, Tensor]:
        """The decisions as named tensors."""
        return {f"episodes.{name}": torch.from_numpy(column) for name, column in vars(self._open).items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on with these decisions. Raises ValueError for what does not fit."""
        count = tensors["episodes.game"].shape[:1] if "episodes.game" in tensors else (0,)
        columns = {}
        for name, own in vars(self._open).items():
            like = torch.from_numpy(np.zeros((*count, *own.shape[1:]), own.dtype))
            columns[name] = tensor_like(f"episodes.{name}", tensors, like).numpy()
        _, games, players = self._rollout.reward.shape
        for name, most in (("game", games), ("seat", players)):
            if not ((columns[name] >= 0) & (columns[name] < most)).all():
                raise ValueError(f"episodes.{name}: numbers must be in 0..{most - 1}")
        self._open = Decisions(**columns)


def _later(group: np.ndarray) -> np.ndarray:
    """How many later entries are of the same group, for each."""
    order = np.argsort(group, kind="stable")
    _, first, size = np.unique(group[order], return_index=True, return_counts=True)
    later = np.empty(len(group), np.int64)
    later[order] = np.repeat(first + size, size) - 1 - np.arange(len(group))
    return later
