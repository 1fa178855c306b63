"""`SelfPlayVectorEnv`: any number of games side by side, each shown from the seat that is to act."""

from __future__ import annotations

import operator
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numba import config, threading_layer

from rs_env.actions import IllegalActionError, action_numbers
from rs_env.cards import NUM_ACTIONS, action_text, members
from rs_env.checks import check_seed, check_whole
from rs_env.engine import batch as kernels
from rs_env.engine import entry
from rs_env.engine.history import show_recent
from rs_env.engine.layout import ObservationDtype, check_observation_dtype
from rs_env.engine.observation import observation_spec, state_spec
from rs_env.engine.packing import packed_size
from rs_env.engine.state import STATE, compile_rules
from rs_env.engine.validation import check_states
from rs_env.engine.view import empty_views
from rs_env.envs.spaces import ActionSpace, BatchActionSpace, box_of, history_space
from rs_env.history import Histories, Log, check_history, log_of, new_log
from rs_env.rules import Rules, rules_of_call

_MOST_THREADS = config.NUMBA_NUM_THREADS  # of this process, fixed by Numba when it starts
_ONE_AT_A_TIME = (
    Lock()
)  # Numba's layer "workqueue" ends the process where two Python threads run parallel loops at once


@dataclass
class Batch:
    """One step of B games of n players; row i belongs to game i.

    observation: what the seat to act may know, int8 (B, D), or float32 in 0..1; packed environments: int64 (B, W), see
        `rs_env.engine.packing`.
    action_mask: int8 (B, 53), its legal actions (packed environments: None, the mask is in the words).
    current_player: int8 (B,), the seat to act.
    rewards: float32 (B, n), of every seat, for the episode that ended in this step; else zeros.
    terminated, truncated: bool (B,), whether an episode ended in this step by the rules or by the deal limit. The
    observation is then the next episode's first (same-step autoreset).
    """

    observation: np.ndarray
    action_mask: np.ndarray | None
    current_player: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


@dataclass
class BatchWithHistory(Batch):
    """A batch of an environment with ``history=K``.

    history: int8 (B, K, 3), what the seat to act sees of the last K actions of the running deal, see `rs_env.history`.
    """

    history: np.ndarray


class SelfPlayVectorEnv:
    """A batch of independent games; the caller plays all seats.

    num_envs: number of games B.
    rules: a `Rules`, a preset's name or a mapping of options.
    seed: game i deals the decks of game i of this seed; None: random. Nothing depends on B or the number of threads.
    num_threads: OpenMP threads that share the games out (so do not fork the process afterwards); None: one. It pays
        from about a thousand games on.
    skip_forced: play turns with one legal action inside the engine, so that the batch shows decisions only. The
        first turn of an episode is always shown, so that one step never ends two.
    packed: hand out sets of cards as 64-bit words, a quarter of the memory; `rs_env.engine.packing.unpack` gives the
    plain form. observation_dtype: ``"int8"``, or ``"float32"`` for observations scaled to 0..1, not together with
    `packed`.
    history: 1..1024: batches have `history`, the last K actions; 0: none. keep_events: `histories` are kept, to ask
        agents that want them; `history` does that, too. Either lets one thread take the actions.
    num_players and further keywords: options of `Rules`, in place of those of `rules`.

    All arrays of a batch are reused by the next step unless the caller passes `out`. `layout` says what stands where in
    a row; the spaces are Gymnasium's, of one row (`single_observation_space`, `single_action_space`) and of all.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        num_envs: int,
        rules: Rules | str = "rolling_stone",
        seed: int | None = 0,
        num_threads: int | None = None,
        skip_forced: bool = False,
        packed: bool = False,
        observation_dtype: ObservationDtype = "int8",
        num_players: int | None = None,
        history: int = 0,
        keep_events: bool = False,
        **rule_overrides: Any,
    ) -> None:
        self.num_envs = check_whole("num_envs", num_envs, 1, (1 << 31) - 1)
        self.num_threads = min(
            1 if num_threads is None else check_whole("num_threads", num_threads, 1, 1024), self.num_envs
        )
        self.rules = rules_of_call(SelfPlayVectorEnv, rules, num_players, rule_overrides)
        self.skip_forced = bool(skip_forced)
        self.packed, self.history = bool(packed), check_history(history)
        self.observation_dtype = check_observation_dtype(observation_dtype)
        if self.packed and self.observation_dtype != "int8":
            raise ValueError(
                f"observation_dtype={observation_dtype!r} is not allowed with packed=True: packed observations are"
                " words"
            )
        self.layout = observation_spec(self.rules.num_players)
        self._high = self.layout.high.astype(np.float32)
        self.states = np.zeros(self.num_envs, STATE)
        self._compiled = compile_rules(self.rules)
        self._legal = np.zeros(self.num_envs, np.uint64)
        self._policy = np.zeros(self.num_envs, np.uint64)
        self._actions = np.zeros(self.num_envs, np.int64)
        self._illegal = np.zeros(self.num_envs, np.bool_)
        scales = self.observation_dtype != "int8"
        self._rows = (
            np.zeros((self.num_envs, self.layout.size), np.int8) if scales else None
        )  # observations before they are scaled
        self._log = new_log(self.rules, self.num_envs) if self.history or keep_events else None
        self._batch = self.new_batch()
        batch = self._batch if self._log is None else self.new_batch()
        self._no_outcomes = (batch.rewards, batch.terminated, batch.truncated)  # for what shows the games after a step
        self._checked_out: tuple[Any, ...] = (None,) * len(fields(self._batch))
        self._bounds = np.linspace(0, self.num_envs, self.num_threads + 1).astype(np.int64)
        self._seed_games(check_seed(seed))
        self._run(None, self._batch)
        self._untouched = True  # by reset or step, so that the first reset shows the first decks

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the rule set as compiled code takes it: read-only, which a copy would not be."""
        return {name: value for name, value in vars(self).items() if name != "_compiled"}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self._compiled = compile_rules(self.rules)

    @cached_property
    def single_observation_space(self) -> spaces.Box:
        """The space of one row of observations."""
        if self.packed:
            words = np.iinfo(np.int64)
            return spaces.Box(words.min, words.max, (packed_size(self.rules.num_players),), np.int64)
        return box_of(self.layout, self.observation_dtype)

    @cached_property
    def single_history_space(self) -> spaces.Box | None:
        """The space of one row of `Batch.history`; None where there is none."""
        return history_space(self.rules.num_players, self.history) if self.history else None

    @cached_property
    def observation_space(self) -> spaces.Space:
        """The space of all rows of observations."""
        return batch_space(self.single_observation_space, self.num_envs)

    @cached_property
    def single_action_space(self) -> ActionSpace:
        """The space of one action; it can be sampled by a row of masks."""
        return ActionSpace()

    @cached_property
    def action_space(self) -> BatchActionSpace:
        """The space of all actions; it can be sampled by the masks."""
        return BatchActionSpace(self.num_envs)

    def new_batch(self) -> Batch:
        """Buffers for one step, for `out`."""
        b, n = self.num_envs, self.rules.num_players
        width = packed_size(n) if self.packed else self.layout.size
        dtype = np.dtype(np.int64 if self.packed else self.observation_dtype)
        batch = Batch(
            observation=np.zeros((b, width), dtype),
            action_mask=None if self.packed else np.zeros((b, NUM_ACTIONS), np.int8),
            current_player=np.zeros(b, np.int8),
            rewards=np.zeros((b, n), np.float32),
            terminated=np.zeros(b, np.bool_),
            truncated=np.zeros(b, np.bool_),
        )
        if not self.history:
            return batch
        return BatchWithHistory(**vars(batch), history=np.zeros((b, self.history, 3), np.int8))

    @property
    def histories(self) -> Histories:
        """The public histories of the deals or matches that are going on, without copies: the next step overwrites
        them. Raises ValueError where none are kept.
        """
        if self._log is None:
            raise ValueError("histories are kept with keep_events=True or history=K only")
        events, _, lengths = self._log
        return Histories(events, lengths)

    def global_states(self) -> np.ndarray:
        """Everything, hidden cards too, of each game: int8 (B, S), see `rs_env.engine.observation.StateSpec`; what
        ``env.state()`` of the PettingZoo environment gives, for a central critic.
        """
        vectors = np.empty((self.num_envs, state_spec(self.rules.num_players).size), np.int8)
        kernels.global_states(self._compiled, self.states, vectors)
        return vectors

    def reset(self, seed: int | None = None, out: Batch | None = None) -> Batch:
        """Start all games anew, from `seed`; where it is None with the next decks, the first time with the first
        ones.
        """
        batch = self._fitting(out)
        if seed is not None:
            self._seed_games(check_seed(seed))
        elif not self._untouched:
            kernels.next_episodes(self._compiled, self.states)
            self._begin_logs()
        self._untouched = False
        return self._run(None, batch)

    def _seed_games(self, seed: int) -> None:
        self.seed = seed
        kernels.begin_games(self._compiled, self.states, np.uint64(seed), self._policy)
        self._begin_logs()

    def _begin_logs(self) -> None:
        if self._log is not None:
            kernels.begin_logs(self._compiled, self.states, self._log)

    def step(self, actions: np.ndarray, out: Batch | None = None) -> Batch:
        """Take one action (integers of shape (B,)) in each game.

        Raises IllegalActionError, naming the game, with nothing changed in any game, where one is not legal, and
        ActionTypeError, a TypeError, where they are not integers.
        """
        batch = self._fitting(out)
        actions = self._checked(actions)
        if self.packed and np.may_share_memory(
            actions, batch.observation
        ):  # which is written to while actions are still read
            actions = actions.copy()
        return self._run(actions, batch)

    def random_actions(self, out: np.ndarray | None = None) -> np.ndarray:
        """A uniformly random legal action for each game, int64 (B,), drawn inside the engine.

        The array returned is `out`, or without it one that the next call uses again: copy what is to be kept.
        """
        if out is None:
            out = self._actions
        elif (
            not isinstance(out, np.ndarray)
            or out.shape != (self.num_envs,)
            or out.dtype != np.int64
            or not out.flags.carray
        ):
            raise ValueError(
                f"out={out!r} is not allowed: it must be a contiguous, writable int64 array of shape ({self.num_envs},)"
            )
        self._share(kernels.random_actions, kernels.random_actions_parallel, self._legal, self._policy, out)
        return out

    def play_randomly(self, steps: int, out: Batch | None = None) -> Batch:
        """Take `steps` random legal actions in each game inside the engine, then show them; for warm-up and
        measurements.

        Forced turns count as steps, also with `skip_forced`. The batch says nothing of the episodes that ended
        meanwhile.
        """
        check_whole("steps", steps, 0, (1 << 31) - 1)
        batch = self._fitting(out)
        games = (self._compiled, self.states, self._policy, steps)
        if self._log is None:
            self._share(kernels.play_randomly, kernels.play_randomly_parallel, *games)
        else:
            self._log = kernels.play_randomly_in_log(*games, self._log)
        return self._run(None, batch)

    def restore(self, states: np.ndarray, out: Batch | None = None, histories: Histories | None = None) -> Batch:
        """Put all games into the given states (a copy of ``vec.states``) and show them.

        histories: how they came about (a copy of ``vec.histories``), where this batch keeps histories, else None.
        Raises ValueError, naming the first wrong one and what is wrong with it, for states that no game of this rule
        set can be in, and for histories that do not lead to them.
        """
        if not isinstance(states, np.ndarray) or states.dtype != STATE or states.shape != (self.num_envs,):
            raise ValueError(
                f"states: must be an array of dtype rs_env.engine.state.STATE and shape ({self.num_envs},)"
            )
        check_states(self.rules, states)
        batch, log = self._fitting(out), self._log_of(states, histories)
        self.states[:] = states
        self._log = log
        return self._run(None, batch)

    def _log_of(self, states: np.ndarray, histories: Histories | None) -> Log | None:
        """The log of games in these states. Raises ValueError for histories that do not fit."""
        if histories is None and self._log is None:
            return None
        if histories is None or self._log is None:
            kept = "none" if self._log is None else "histories, so that those of the states must be given"
            raise ValueError(f"histories={histories!r} is not allowed: this batch keeps {kept}")
        views = empty_views(self.rules, self.num_envs)
        entry.view_turns(states, np.arange(self.num_envs), views)
        return log_of(views, histories)

    def close(self) -> None:
        """Nothing is held that would need to be released."""

    def _checked(self, actions: np.ndarray) -> np.ndarray:
        """The actions as contiguous int64, known to be legal."""
        actions = action_numbers(actions, self.num_envs)
        if self._share(entry.find_illegal, kernels.find_illegal_parallel, self._legal, actions, self._illegal):
            entry.find_illegal(
                self._legal, actions, self._illegal
            )  # in all games: a thread without a find marks nothing
            wrong = int(self._illegal.argmax())
            raise IllegalActionError(
                f"actions[{wrong}]={actions[wrong]} is not allowed: legal there are "
                + ", ".join(f"{a} ({action_text(a)})" for a in members(self._legal[wrong]))
            )
        return actions

    def _run(self, actions: np.ndarray | None, batch: Batch) -> Batch:
        """Take these actions, or none, then show the games."""
        self._untouched = False
        outcomes = (batch.rewards, batch.terminated, batch.truncated)
        if self._log is not None and actions is not None:
            self._log = kernels.act_in_log(self._compiled, self.states, actions, self.skip_forced, outcomes, self._log)
            actions, outcomes = None, self._no_outcomes
        flags = (actions is not None, self.skip_forced, self.packed)
        actions = self._actions if actions is None else actions
        observation = (batch.observation if self._rows is None else self._rows).view(np.int8)
        mask = observation if batch.action_mask is None else batch.action_mask  # the former is not written to as a mask
        shown = (observation, mask, batch.current_player)
        games = (self._compiled, self.states, actions, self._legal)
        self._share(kernels.run, kernels.run_parallel, *games, flags, shown, outcomes)
        if self._rows is not None:
            self._share(kernels.scale, kernels.scale_parallel, self._rows, self._high, batch.observation)
        if isinstance(batch, BatchWithHistory):
            show_recent(self._log, batch.current_player, self.rules.num_players, batch.history)
        return batch

    def _share(self, serial: Any, parallel: Any, *arguments: Any) -> Any:
        """Call ``serial(*arguments)`` for all games, or its parallel twin, which gives each thread a share of them."""
        if self.num_threads == 1:
            return serial(*arguments)
        before = kernels.use_threads(min(self.num_threads, _MOST_THREADS))
        try:
            with _ONE_AT_A_TIME if threading_layer() == "workqueue" else nullcontext():
                return parallel(self._bounds, *arguments)
        finally:
            kernels.use_threads(before)

    def _fitting(self, out: Batch | None) -> Batch:
        """The batch to write to. Raises ValueError for buffers that do not fit, or of which one lies within another."""
        if out is None:
            return self._batch
        if type(out) is not type(self._batch):
            raise ValueError(f"out={out!r} is not allowed: make it with new_batch()")
        arrays = tuple(vars(out).values())
        if all(map(operator.is_, arrays, self._checked_out)):  # the same as the last time
            return out
        for name, ours, theirs in zip(vars(out), vars(self._batch).values(), arrays, strict=True):
            if ours is None and theirs is None:
                continue
            fits = isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray) and theirs.flags.carray
            if not (fits and theirs.shape == ours.shape and theirs.dtype == ours.dtype):
                raise ValueError(f"out.{name} does not fit: make it with new_batch()")
        for (first, a), (second, b) in combinations(vars(out).items(), 2):
            if a is not None and b is not None and np.may_share_memory(a, b):
                raise ValueError(f"out.{first} and out.{second} share memory: make them with new_batch()")
        self._checked_out = arrays
        return out
