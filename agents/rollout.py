"""What a learner has seen and done in a number of steps of games side by side."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np


@dataclass
class Rollout:
    """T steps of B games of n players, as seen by the seats that acted.

    observation int8 (T + 1, B, D), action_mask int8 (T + 1, B, 53), seat int8 (T + 1, B): what the seat to act saw,
    what was legal for it, and which it was; row T is the decision that comes next. action int64 (T, B). learns bool
    (T, B): whether the learner chose it. done bool (T, B): the episode ended with this step. reward float32 (T, B, n):
    of every seat then. state int8 (T + 1, B, S): the global states, of no width unless the learner wants them. notes
    float32 (T + 1, B, K): what the learner noted of its decisions, K numbers.
    """

    observation: np.ndarray
    action_mask: np.ndarray
    seat: np.ndarray
    action: np.ndarray
    learns: np.ndarray
    done: np.ndarray
    reward: np.ndarray
    state: np.ndarray
    notes: np.ndarray

    @classmethod
    def empty(
        cls, steps: int, games: int, players: int, observation_size: int, actions: int, states: int = 0, notes: int = 0
    ) -> Rollout:
        """Buffers for one rollout."""
        return cls(
            observation=np.zeros((steps + 1, games, observation_size), np.int8),
            action_mask=np.zeros((steps + 1, games, actions), np.int8),
            seat=np.zeros((steps + 1, games), np.int8),
            action=np.zeros((steps, games), np.int64),
            learns=np.ones((steps, games), np.bool_),
            done=np.zeros((steps, games), np.bool_),
            reward=np.zeros((steps, games, players), np.float32),
            state=np.zeros((steps + 1, games, states), np.int8),
            notes=np.zeros((steps + 1, games, notes), np.float32),
        )

    def part(self, games: slice) -> Rollout:
        """Some of the games, in the same memory."""
        return Rollout(**{field.name: getattr(self, field.name)[:, games] for field in fields(self)})
