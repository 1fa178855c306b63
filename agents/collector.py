"""Games that a learner plays: T decisions in each of B games side by side are a rollout.

The games of a `SelfPlayVectorEnv` drift apart. Row (t, b) of a rollout is the decision of whoever was to act in game b
at step t; `agents.chain` finds what the same seat decides next.

A decision is *open* while it is not known what comes of it: its seat has not acted again and the game goes on. Open
decisions are carried over to the next rollout. To learn only from those that a rollout happens to close would be to
choose by the outcome: at its end decisions that led to the end of a game are known, and most others are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from agents.chain import UNKNOWN, successors
from agents.checkpoint import tensor_like
from agents.company import LEARNER, Company, act_frozen
from agents.distributed import ranks
from agents.learner import LearnerConfig
from agents.rollout import Rollout
from rs_env import SelfPlayVectorEnv
from rs_env.agent import wants_histories
from rs_env.baselines.general import rule_entries, spread
from rs_env.baselines.suspicion import Suspicion
from rs_env.cards import NUM_ACTIONS
from rs_env.engine import entry
from rs_env.engine.observation import state_spec
from rs_env.engine.rng import game_key
from rs_env.engine.state import STATE
from rs_env.engine.view import empty_views
from rs_env.history import Histories

Decide = Callable[[int, np.ndarray], np.ndarray]
"""A learner's choice: of a step t and games, int64 (G,), to actions, int64 (G,), for rows (t, games) of the rollout."""


class Collector:
    """Plays `games` games side by side, `steps` decisions of each in one rollout, by who sits in them.

    The buffers of `rollout` are written anew by each `collect`: one row for each seat with its open decision, where it
    has one, then the `steps` new ones, from row `first` on. states: keep the global states too. notes: how many numbers
    the learner notes of each decision. rollout: buffers to write to; they may have room for more seats.

    Several ranks share the games out, evenly: each has the games, decks and seats of its numbers, from `first_game` on.

    The learner acts for its seats by a function. Frozen agents are asked like any agent. Before each rollout they are
    reset to a seed of the configuration's seed and the iteration, so that a run that is continued plays the same games.
    """

    def __init__(
        self,
        config: LearnerConfig,
        games: int,
        steps: int,
        company: Company | None = None,
        states: bool = False,
        notes: int = 0,
        rollout: Rollout | None = None,
    ) -> None:
        n = config.rules.num_players
        self.seed, self.ranks = config.seed, ranks()
        self._part, everyone = self.ranks.part("num_envs", games), games
        self.first_game, games = self._part.start, self._part.stop - self._part.start
        self.company = Company.self_play(n) if company is None else company
        self._suspicion = Suspicion() if config.network.suspects else None
        self._keeps_events = self._suspicion is not None or any(map(wants_histories, self.company.frozen))
        self.env = self._new_env(config, games)
        self.batch = self.env.reset(config.seed)
        if self.ranks.size > 1:
            whole = self._new_env(config, everyone)
            histories = whole.histories[self._part] if self._keeps_events else None
            self.batch = self.env.restore(whole.states[self._part], histories=histories)
        size = config.network.size(n)
        self._rules = rule_entries(config.rules) if config.network.general else None
        self._keeps_states, width = states, state_spec(n).size if states else 0
        self._carried = ("observation", "action_mask", "action", "notes", *(["state"] if states else []))
        self.rollout = rollout or Rollout.empty(n + steps, games, n, size, NUM_ACTIONS, width, notes)
        self.first = len(self.rollout.action) - steps
        self.player = self.company.seats_of(everyone, n)[self._part]  # in each game, on each seat
        self.rollout.learns[:] = False
        self._views = empty_views(config.rules, games)
        self._open = self._open_decisions()

    @property
    def games(self) -> int:
        """Number of games side by side, of this rank."""
        return self.env.num_envs

    def _new_env(self, config: LearnerConfig, games: int) -> SelfPlayVectorEnv:
        return SelfPlayVectorEnv(games, config.rules, config.seed, skip_forced=True, keep_events=self._keeps_events)

    def collect(self, decide: Decide, iteration: int) -> dict[str, float]:
        """Play one rollout and return its metrics. iteration: counts the rollouts of a run."""
        for agent in self.company.frozen:
            agent.reset(int(game_key(np.uint64(self.seed), np.uint64(iteration))))
        rollout, capped, first = self.rollout, 0, self.first
        self._carry_over()
        self._note_decision(first)
        for t in range(first, len(rollout.action)):
            self._act(t, decide)
            self.batch = self.env.step(rollout.action[t])
            rollout.reward[t, :, : self.env.rules.num_players] = self.batch.rewards
            rollout.done[t] = self.batch.terminated | self.batch.truncated
            capped += int(self.batch.truncated.sum())
            self._note_decision(t + 1)
        self._open = self._open_decisions()
        ended, capped = map(int, self.ranks.sums(rollout.done.sum(), capped))
        return {
            "charts/episodes": ended,
            "charts/decisions_per_episode": rollout.done[first:].size * self.ranks.size / max(ended, 1),
            "charts/capped_share": capped / max(ended, 1),
        }

    def _open_decisions(self) -> dict[str, np.ndarray]:
        """The learner's decisions of which it is not known what comes of them, M at most one for each seat and game."""
        rollout = self.rollout
        t, b = np.nonzero(rollout.learns & (successors(rollout).row == UNKNOWN))
        columns = {name: getattr(rollout, name)[t, b] for name in ("seat", *self._carried)}
        return {"game": b, **columns}

    def _carry_over(self) -> None:
        """Write the open decisions to the first rows, that of seat s to row s. Rows without one have its seat all the
        same; nobody learns from them.
        """
        rollout, first = self.rollout, self.first
        rollout.seat[:first], rollout.learns[:first] = np.arange(first)[:, None], False
        at = self._open["seat"], self._open["game"]
        for name in self._carried:
            getattr(rollout, name)[at] = self._open[name]
        rollout.learns[at] = True

    def _note_decision(self, t: int) -> None:
        rollout, batch = self.rollout, self.batch
        size = batch.observation.shape[1]
        rollout.seat[t], rollout.action_mask[t] = batch.current_player, batch.action_mask
        if self._rules is None:
            rollout.observation[t, :, :size] = batch.observation
        else:
            rollout.observation[t] = spread(batch.observation, self.env.rules.num_players, self._rules)
        if self._suspicion is not None:
            games = np.flatnonzero(self._movers(t) == LEARNER)
            rollout.observation[t, :, size:] = 0
            if len(games):
                entry.view_turns(self.env.states, games, self._views)
                suspicion = self._suspicion.of(self._views[: len(games)], self.env.histories[games])
                rollout.observation[t, games, size:] = suspicion
        if self._keeps_states:
            rollout.state[t] = self.env.global_states()

    def _movers(self, t: int) -> np.ndarray:
        """Who is to act at this step, int64 (B,)."""
        return self.player[np.arange(len(self.player)), self.rollout.seat[t]]

    def _act(self, t: int, decide: Decide) -> None:
        rollout = self.rollout
        player = self._movers(t)
        rollout.learns[t] = player == LEARNER
        games = np.flatnonzero(rollout.learns[t])
        if len(games):
            rollout.action[t, games] = decide(t, games)
        act_frozen(self.company, player, self.env, self._views, rollout.action[t])

    def tensors(self) -> dict[str, Tensor]:
        """The games of all ranks as they are between two rollouts, and the open decisions."""
        games = self.env.states.view(np.uint8).reshape(self.env.num_envs, -1).copy()
        tensors = {"games": torch.from_numpy(self.ranks.joined(games, 0))}
        opened = self.ranks.of_each({**self._open, "game": self._open["game"] + self._part.start})
        tensors |= {f"open.{name}": torch.from_numpy(_stacked([part[name] for part in opened])) for name in self._open}
        if self._keeps_events:
            parts = self.ranks.of_each(self.env.histories[:])
            tensors |= {
                "events": torch.from_numpy(_stacked([part.events for part in parts])),
                "lengths": torch.from_numpy(_stacked([part.lengths for part in parts])),
            }
        return tensors

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on with these games. Raises ValueError for what does not fit."""
        own = self.tensors()
        games = tensor_like("games", tensors, own["games"])
        opened = {name: self._restored_column(name, tensors) for name in self._open}
        histories = None
        if self._keeps_events:
            longest = tensors["events"].shape[1:] if "events" in tensors else ()
            events = tensor_like("events", tensors, torch.zeros((len(games), *longest), dtype=torch.uint8))
            lengths = tensor_like("lengths", tensors, own["lengths"])
            histories = Histories(events[self._part].numpy(), lengths[self._part].numpy())
        self.batch = self.env.restore(games[self._part].numpy().reshape(-1).view(STATE), histories=histories)
        mine = (self._part.start <= opened["game"]) & (opened["game"] < self._part.stop)
        self._open = {name: column[mine] for name, column in opened.items()}
        self._open["game"] = self._open["game"] - self._part.start

    def _restored_column(self, name: str, tensors: Mapping[str, Tensor]) -> np.ndarray:
        """A column of open decisions. Raises ValueError unless it is there and of their number and kind."""
        count = tensors["open.game"].shape[:1] if "open.game" in tensors else (0,)
        own = self._open[name]
        column = tensor_like(f"open.{name}", tensors, torch.from_numpy(np.zeros((*count, *own.shape[1:]), own.dtype)))
        most = {"game": self.env.num_envs * self.ranks.size, "seat": self.env.rules.num_players}.get(name)
        if most is not None and not ((column >= 0) & (column < most)).all():
            raise ValueError(f"open.{name}: numbers must be in 0..{most - 1}")
        return column.numpy()


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    """Rows of all parts, in one array as wide as the widest of them; zeros fill the others."""
    if len(parts) == 1:
        return parts[0]
    shape = np.max([part.shape for part in parts], 0)
    whole, begin = np.zeros((sum(map(len, parts)), *shape[1:]), parts[0].dtype), 0
    for part in parts:
        whole[(slice(begin, begin + len(part)), *map(slice, part.shape[1:]))] = part
        begin += len(part)
    return whole
