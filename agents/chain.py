"""Chains of decisions: what a decision led to is what the same seat finds when it acts again, or how the episode ended
for that seat. Between two decisions of a seat lie those of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.rollout import Rollout

ENDED, UNKNOWN = -1, -2


@dataclass(frozen=True)
class Successors:
    """What follows each decision (t, b) of a rollout of T steps of B games.

    row int64 (T, B): the step at which the same seat decides next in the same episode (T: the decision that comes after
    the rollout); `ENDED` where the episode ends before; `UNKNOWN` where what comes first of the two lies beyond the
    rollout. reward float32 (T, B): what the seat got where the episode ended, else 0.
    """

    row: np.ndarray
    reward: np.ndarray


def successors(rollout: Rollout) -> Successors:
    """What follows each decision of a rollout. A capped episode counts as ended: the cap is part of the game, and the
    observation tells how near it is.
    """
    steps, games, players = rollout.reward.shape
    all_games = np.arange(games)
    row = np.empty((steps, games), np.int64)
    reward = np.zeros((steps, games), np.float32)
    # Of each seat, seen from step t: its next decision, and what it is paid if there is none.
    next_row = np.full((games, players), UNKNOWN, np.int64)
    pay = np.zeros((games, players), np.float32)
    next_row[all_games, rollout.seat[steps]] = steps
    for t in range(steps - 1, -1, -1):
        done, seat = rollout.done[t], rollout.seat[t]
        next_row[done] = ENDED
        pay[done] = rollout.reward[t, done]
        row[t] = next_row[all_games, seat]
        reward[t] = np.where(row[t] == ENDED, pay[all_games, seat], 0)
        next_row[all_games, seat] = t
    return Successors(row, reward)


def advantages_by_seat(
    rollout: Rollout, value: np.ndarray, gamma: float, gae_lambda: float
) -> tuple[np.ndarray, np.ndarray]:
    """Generalised advantage estimates, float32 (T, B), and which of them are valid, bool (T, B).

    value: float32 (T + 1, B), of each decision and of that which comes next. For a decision with successor ``next``:
    ``delta = gamma * value[next] - value`` and ``advantage = delta + gamma * gae_lambda * advantage[next]``. The last
    decision of a seat in an episode gets ``advantage = reward - value``. A decision whose successor is not known is not
    valid: it is still open, and the collector carries it over to the next rollout.
    """
    follows = successors(rollout)
    steps, games = follows.row.shape
    all_games = np.arange(games)
    advantage = np.zeros((steps + 1, games), np.float32)  # nothing is added to the value of what comes next
    valid = follows.row != UNKNOWN
    for t in range(steps - 1, -1, -1):
        row, ended = follows.row[t], follows.row[t] == ENDED
        next_value = np.where(ended, follows.reward[t], value[row, all_games])
        next_advantage = np.where(ended, np.float32(0), advantage[row, all_games])
        discount = np.where(ended, 1.0, gamma).astype(np.float32)
        delta = discount * next_value - value[t]
        advantage[t] = np.where(valid[t], delta + gamma * gae_lambda * next_advantage, 0.0)
    return advantage[:steps], valid


@dataclass(frozen=True)
class Transitions:
    """What a replay buffer keeps, one row for each decision of the learner, M of them.

    observation, next_observation int8 (M, D); action_mask, next_action_mask int8 (M, 53); action int64 (M,).
    done bool (M,): the episode ended before the seat acted again; the next observation and mask then repeat its own, so
    that each mask allows something. reward float32 (M,): of that seat, 0 unless done.
    """

    observation: np.ndarray
    action_mask: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_observation: np.ndarray
    next_action_mask: np.ndarray
    done: np.ndarray


def transitions(rollout: Rollout) -> Transitions:
    """The learner's decisions of a rollout with what they led to, in copies; those for which it is not known are left
    out.
    """
    follows = successors(rollout)
    t, b = np.nonzero(rollout.learns & (follows.row != UNKNOWN))
    done = follows.row[t, b] == ENDED
    after = np.where(done, t, follows.row[t, b])
    return Transitions(
        observation=rollout.observation[t, b],
        action_mask=rollout.action_mask[t, b],
        action=rollout.action[t, b],
        reward=follows.reward[t, b],
        next_observation=rollout.observation[after, b],
        next_action_mask=rollout.action_mask[after, b],
        done=done,
    )
