"""Experience of self-play: every seat's decisions as its own chain, paid that seat's own reward.

The games of a `SelfPlayVectorEnv` drift apart, and between two decisions of a seat lie those of the others. Row (t, b)
of a rollout is the decision of whoever was to act in game b at step t; the next decision of the same seat is its
successor, however many rows later it comes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Rollout:
    """T steps of B games of n players, as seen by the seats that acted.

    observation int8 (T, B, D); action_mask int8 (T, B, 53); action int64, log_prob float32, value float32 (T, B).
    seat int8 (T, B): who acted. done bool (T, B): the episode ended with this step. reward float32 (T, B, n): of every
    seat then. last_seat int8 (B,), last_value float32 (B,): who is to act after the rollout, and its value.
    """

    observation: np.ndarray
    action_mask: np.ndarray
    action: np.ndarray
    log_prob: np.ndarray
    value: np.ndarray
    seat: np.ndarray
    done: np.ndarray
    reward: np.ndarray
    last_seat: np.ndarray
    last_value: np.ndarray

    @classmethod
    def empty(cls, steps: int, games: int, players: int, observation_size: int, actions: int) -> Rollout:
        """Buffers for one rollout."""
        shape = (steps, games)
        return cls(
            observation=np.zeros((*shape, observation_size), np.int8),
            action_mask=np.zeros((*shape, actions), np.int8),
            action=np.zeros(shape, np.int64),
            log_prob=np.zeros(shape, np.float32),
            value=np.zeros(shape, np.float32),
            seat=np.zeros(shape, np.int8),
            done=np.zeros(shape, np.bool_),
            reward=np.zeros((*shape, players), np.float32),
            last_seat=np.zeros(games, np.int8),
            last_value=np.zeros(games, np.float32),
        )


def advantages_by_seat(rollout: Rollout, gamma: float, gae_lambda: float) -> tuple[np.ndarray, np.ndarray]:
    """Generalised advantage estimates, float32 (T, B), and which of them are valid, bool (T, B).

    For a decision with successor ``next`` of the same seat in the same episode:
    ``delta = gamma * value[next] - value`` and ``advantage = delta + gamma * lambda * advantage[next]``.
    The last decision of a seat in an episode gets ``advantage = reward[seat] - value``; a capped episode counts as
    ended, for the cap is part of the game and the observation tells how near it is. A seat whose next decision lies
    beyond the rollout has no successor to learn from, so its last row is not valid, unless it is the seat to act next,
    whose value is known.
    """
    steps, games, players = rollout.reward.shape
    rows = np.arange(games)
    advantage = np.zeros((steps, games), np.float32)
    valid = np.zeros((steps, games), np.bool_)
    # What follows the present row in each seat's chain: its value (or the reward), its advantage, and whether that is
    # known.
    next_value = np.zeros((games, players), np.float32)
    next_advantage = np.zeros((games, players), np.float32)
    known = np.zeros((games, players), np.bool_)
    terminal = np.zeros((games, players), np.bool_)
    next_value[rows, rollout.last_seat] = rollout.last_value
    known[rows, rollout.last_seat] = True
    for t in range(steps - 1, -1, -1):
        done = rollout.done[t]
        next_value[done] = rollout.reward[t, done]
        next_advantage[done] = 0.0
        known[done] = terminal[done] = True
        seat = rollout.seat[t]
        discount = np.where(terminal[rows, seat], 1.0, gamma).astype(np.float32)
        delta = discount * next_value[rows, seat] - rollout.value[t]
        valid[t] = known[rows, seat]
        advantage[t] = np.where(valid[t], delta + gamma * gae_lambda * next_advantage[rows, seat], 0.0)
        next_value[rows, seat] = rollout.value[t]
        next_advantage[rows, seat] = advantage[t]
        known[rows, seat] = True
        terminal[rows, seat] = False
    return advantage, valid
