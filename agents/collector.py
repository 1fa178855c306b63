"""Games that a learner plays: T decisions in each of B games side by side are a rollout.

The games of a `SelfPlayVectorEnv` drift apart. Row (t, b) of a rollout is the decision of whoever was to act in game b
at step t; `agents.chain` finds what the same seat decides next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from agents.checkpoint import tensor_like
from agents.company import LEARNER, Company
from agents.learner import LearnerConfig
from rs_env import SelfPlayVectorEnv
from rs_env.agent import ask, wants_histories
from rs_env.cards import NUM_ACTIONS
from rs_env.engine import entry
from rs_env.engine.rng import game_key
from rs_env.engine.state import STATE
from rs_env.engine.view import empty_views
from rs_env.history import Histories

Decide = Callable[[int, np.ndarray], np.ndarray]
"""A learner's choice: of a step t and games, int64 (G,), to actions, int64 (G,), for rows (t, games) of the rollout."""


@dataclass
class Rollout:
    """T steps of B games of n players, as seen by the seats that acted.

    observation int8 (T + 1, B, D), action_mask int8 (T + 1, B, 53), seat int8 (T + 1, B): what the seat to act saw,
    what was legal for it, and which it was; row T is the decision that comes next. action int64 (T, B). learns bool
    (T, B): whether the learner chose it. done bool (T, B): the episode ended with this step. reward float32 (T, B, n):
    of every seat then.
    """

    observation: np.ndarray
    action_mask: np.ndarray
    seat: np.ndarray
    action: np.ndarray
    learns: np.ndarray
    done: np.ndarray
    reward: np.ndarray

    @classmethod
    def empty(cls, steps: int, games: int, players: int, observation_size: int, actions: int) -> Rollout:
        """Buffers for one rollout."""
        return cls(
            observation=np.zeros((steps + 1, games, observation_size), np.int8),
            action_mask=np.zeros((steps + 1, games, actions), np.int8),
            seat=np.zeros((steps + 1, games), np.int8),
            action=np.zeros((steps, games), np.int64),
            learns=np.ones((steps, games), np.bool_),
            done=np.zeros((steps, games), np.bool_),
            reward=np.zeros((steps, games, players), np.float32),
        )


class Collector:
    """Plays `games` games side by side, `steps` decisions of each in one rollout, by who sits in them.

    The buffers of `rollout` are written anew by each `collect`. The learner acts for its seats by a function. Frozen
    agents are asked like any agent. Before each rollout they are reset to a seed of the configuration's seed and the
    iteration, so that a run that is continued plays the same games.
    """

    def __init__(self, config: LearnerConfig, games: int, steps: int, company: Company | None = None) -> None:
        n = config.rules.num_players
        self.seed = config.seed
        self.company = Company.self_play(n) if company is None else company
        self._keeps_events = any(map(wants_histories, self.company.frozen))
        self.env = SelfPlayVectorEnv(games, config.rules, config.seed, skip_forced=True, keep_events=self._keeps_events)
        self.batch = self.env.reset(config.seed)
        self.rollout = Rollout.empty(steps, games, n, self.env.layout.size, NUM_ACTIONS)
        self.player = self.company.seats_of(games, n)  # in each game, on each seat
        self._views = empty_views(config.rules, games)

    def collect(self, decide: Decide, iteration: int) -> dict[str, float]:
        """Play one rollout and return its metrics. iteration: counts the rollouts of a run."""
        for agent in self.company.frozen:
            agent.reset(int(game_key(np.uint64(self.seed), np.uint64(iteration))))
        rollout, capped = self.rollout, 0
        self._note_decision(0)
        for t in range(len(rollout.action)):
            self._act(t, decide)
            self.batch = self.env.step(rollout.action[t])
            rollout.reward[t] = self.batch.rewards
            rollout.done[t] = self.batch.terminated | self.batch.truncated
            capped += int(self.batch.truncated.sum())
            self._note_decision(t + 1)
        ended = int(rollout.done.sum())
        return {
            "charts/episodes": ended,
            "charts/decisions_per_episode": rollout.done.size / max(ended, 1),
            "charts/capped_share": capped / max(ended, 1),
        }

    def _note_decision(self, t: int) -> None:
        rollout, batch = self.rollout, self.batch
        rollout.observation[t], rollout.action_mask[t] = batch.observation, batch.action_mask
        rollout.seat[t] = batch.current_player

    def _act(self, t: int, decide: Decide) -> None:
        rollout = self.rollout
        player = self.player[np.arange(len(self.player)), rollout.seat[t]]
        rollout.learns[t] = player == LEARNER
        for number in np.unique(player):
            games = np.flatnonzero(player == number)
            if number == LEARNER:
                rollout.action[t, games] = decide(t, games)
            else:
                agent = self.company.frozen[number - 1]
                entry.view_turns(self.env.states, games, self._views)
                histories = self.env.histories[games] if wants_histories(agent) else None
                rollout.action[t, games] = ask(agent, self._views[: len(games)], histories=histories)

    def tensors(self) -> dict[str, Tensor]:
        """The games as they are between two rollouts."""
        tensors = {"games": torch.from_numpy(self.env.states.view(np.uint8).reshape(self.env.num_envs, -1).copy())}
        if self._keeps_events:
            histories = self.env.histories[:]
            tensors |= {"events": torch.from_numpy(histories.events), "lengths": torch.from_numpy(histories.lengths)}
        return tensors

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on with these games. Raises ValueError for what does not fit."""
        own = self.tensors()
        games = tensor_like("games", tensors, own["games"])
        histories = None
        if self._keeps_events:
            longest = tensors["events"].shape[1:] if "events" in tensors else ()
            events = tensor_like("events", tensors, torch.zeros((self.env.num_envs, *longest), dtype=torch.uint8))
            histories = Histories(events.numpy(), tensor_like("lengths", tensors, own["lengths"]).numpy())
        self.batch = self.env.restore(games.numpy().reshape(-1).view(STATE), histories=histories)
