"""Many games of `RollingStoneEnv` at once, as a Gymnasium vector environment.

Rule-based opponents are played inside compiled code; other agents are asked in batches. Environment i behaves exactly as a
`RollingStoneEnv` that was reset with seed ``seed + i``, which is what Gymnasium's own vector environments do.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rs_env import engine, kernels
from rs_env.aec import ActionSpace
from rs_env.baselines.agent import Agent, RuleBasedAgent, ask
from rs_env.baselines.tips import NUM_CHANCES, TIPS, act
from rs_env.bits import EMPTY, address_of, lowest, unpack_actions, without_lowest
from rs_env.cards import NUM_ACTIONS
from rs_env.game import IllegalActionError
from rs_env.jit import njit
from rs_env.observation import encode, observation_spec
from rs_env.rng import check_seed, check_whole
from rs_env.rules import Rules
from rs_env.scoring import reward
from rs_env.single import ILLEGAL_REWARD, MOST_DEALS_WITHOUT_DECISION, check_arguments, no_decision, opponent_seed
from rs_env.state import NOBODY, RUNNING, STATE, TERMINATED, TRUNCATED, compile_rules
from rs_env.view import empty_views, fill_view


class RollingStoneVectorEnv(VectorEnv):
    """``gymnasium.make_vec("rs_env/RollingStone-v0", num_envs=..., vectorization_mode="vector_entry_point", ...)`` makes it.

    num_envs: number of games. Further arguments: as in `RollingStoneEnv`, without `render_mode`; the learner's seat is fixed.

    Autoreset is `SAME_STEP`: the step that ends a game returns the next one's first observation, and the last one of the game
    that ended is in ``infos["final_obs"]``, its info in ``infos["final_info"]``. All arrays are fresh at each step.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        num_envs: int = 1,
        rules: Rules | str = "rolling_stone",
        num_players: int | None = None,
        opponents: str | Agent | Sequence[str | Agent] = "heuristic",
        learner_seat: int = 0,
        skip_forced: bool = False,
        illegal_action: str = "penalise",
        **rule_overrides: Any,
    ) -> None:
        self.num_envs = check_whole("num_envs", num_envs, 1, 1 << 31)
        self.rules, self.opponents = check_arguments(rules, num_players, opponents, learner_seat, illegal_action, rule_overrides)
        self.learner_seat = check_whole("learner_seat", learner_seat, 0, self.rules.num_players - 1)
        self.skip_forced, self.illegal_action = bool(skip_forced), illegal_action
        layout = observation_spec(self.rules.num_players)
        self.single_observation_space = spaces.Box(layout.low, layout.high, dtype=np.int8)
        self.single_action_space = ActionSpace()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        n = self.rules.num_players
        self._compiled = compile_rules(self.rules)
        self._asked = np.ones(n, np.bool_)  # by seat: whether an agent that is not compiled plays there
        self._weights = np.zeros((n + 1, len(TIPS)))  # of the others; the last is what replaces illegal actions, at random
        for place, agent in enumerate(self.opponents):
            if type(agent) is RuleBasedAgent:
                self._asked[self._seat_of(place)] = False
                self._weights[self._seat_of(place)] = agent.weights
        self.states = np.zeros(self.num_envs, STATE)
        self._seeds = np.zeros((self.num_envs, n + 1), np.uint64)  # of the same, in each game
        self._seeded = np.zeros(self.num_envs, np.bool_)
        self._views = empty_views(self.rules, self.num_envs)
        self._legal = np.zeros(self.num_envs, np.uint64)
        self._everybody = np.arange(self.num_envs)

    def _seat_of(self, place: int) -> int:
        """The seat of the opponent `place` seats after the one on the learner's left."""
        return (self.learner_seat + 1 + place) % self.rules.num_players

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start all games anew: game i from ``seed + i`` or ``seed[i]``, or with its next deck where that is None."""
        if options:
            warnings.warn(f"reset options {', '.join(map(repr, options))} ignored: a batch has none", stacklevel=2)
        seeds: list[int | None]
        if seed is None:
            seeds = [None] * self.num_envs
        elif isinstance(seed, Sequence):
            seeds = list(seed)
        else:
            seeds = [check_seed(seed) + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed: {len(seeds)} seeds are not allowed: there must be one, or one for each of the {self.num_envs} games")
        new = [i for i, s in enumerate(seeds) if s is not None or not self._seeded[i]]
        self._seed_games(new, [check_seed(seeds[i]) for i in new])
        self._deal(self._everybody, np.isin(self._everybody, new, invert=True))
        return self._observations(), self._infos()

    def _seed_games(self, games: list[int], seeds: list[int]) -> None:
        n = self.rules.num_players
        for i, seed in zip(games, seeds, strict=True):
            for place in range(n):  # the last is what replaces illegal actions
                column = self._seat_of(place) if place < n - 1 else n
                self._seeds[i, column] = opponent_seed(seed, place)
            self._seeded[i] = True
        _begin_games(self.states, np.array(games, np.int64), np.array(seeds, np.uint64))
        for place, agent in enumerate(self.opponents):
            if seeds and type(agent) is not RuleBasedAgent:
                agent.reset(opponent_seed(seeds[0], place))

    def _deal(self, games: np.ndarray, next_deck: np.ndarray) -> None:
        """Deal in these games, with the next deck where so marked, until the learner has a turn in each."""
        for _ in range(MOST_DEALS_WITHOUT_DECISION):
            _begin_episodes(self._compiled, self.states, games, next_deck)
            self._play_on(games)
            games = games[self.states["status"][games] != RUNNING]
            if not len(games):
                return
            next_deck = np.ones(len(games), np.bool_)
        raise no_decision()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take the learner's action in each game; see the class.

        Raises ValueError for actions that are not integers of shape (num_envs,), and with ``illegal_action="raise"``
        IllegalActionError, naming the game, with nothing changed in any of them.
        """
        if not self._seeded.all():
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions: {actions.dtype} of shape {actions.shape} is not allowed: they must be integers of shape ({self.num_envs},)"
            )
        illegal = np.zeros(self.num_envs, np.bool_)
        found = kernels.find_illegal(self._legal, actions.astype(np.int64), illegal)
        if found and self.illegal_action == "raise":
            first = int(illegal.argmax())
            raise IllegalActionError(f"actions[{first}]={actions[first]} is not allowed")
        penalised = illegal if self.illegal_action == "penalise" else np.zeros(self.num_envs, np.bool_)
        going = np.flatnonzero(~penalised)
        _act(self._compiled, self.states, going, actions, illegal, self._views, self._weights, self._seeds)
        self._play_on(going)
        status = self.states["status"]
        terminated, truncated = (status == TERMINATED) | penalised, status == TRUNCATED
        rewards = np.zeros(self.num_envs)
        _rewards(self._compiled, self.states, self.learner_seat, rewards)
        rewards[penalised] = ILLEGAL_REWARD
        ended = np.flatnonzero(terminated | truncated)
        flags = {"illegal_action": illegal.copy(), "_illegal_action": illegal} if illegal.any() else {}
        if not len(ended):
            return self._observations(), rewards, terminated, truncated, {**self._infos(), **flags}
        is_over = terminated | truncated
        last = self._observations()
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in ended:
            final_obs[i] = last[i]
        final: dict[str, Any] = {"action_mask": np.zeros((self.num_envs, NUM_ACTIONS), np.int8), "_action_mask": is_over}
        if (illegal & is_over).any():
            final |= {"illegal_action": illegal & is_over, "_illegal_action": illegal & is_over}
        self._deal(ended, np.ones(len(ended), np.bool_))
        going_on = illegal & ~is_over
        flags = {"illegal_action": going_on, "_illegal_action": going_on} if going_on.any() else {}
        infos = {**self._infos(), **flags, "final_obs": final_obs, "_final_obs": is_over, "final_info": final, "_final_info": is_over}
        return self._observations(), rewards, terminated, truncated, infos

    def _play_on(self, games: np.ndarray) -> None:
        """Play the opponents' turns in these games, and forced ones of the learner if those are skipped."""
        while True:
            _play_on(
                self._compiled,
                self.states,
                games,
                self._views,
                self._asked,
                self._weights,
                self._seeds,
                self.learner_seat,
                self.skip_forced,
                self._legal,
            )
            turns = self.states["turn"][games]
            waiting = (self.states["status"][games] == RUNNING) & (turns != self.learner_seat)
            if not waiting.any():
                return
            for place, agent in enumerate(self.opponents):
                asked = games[waiting & (turns == self._seat_of(place))]
                if len(asked):
                    kernels.view_turns(self.states, asked, self._views)
                    _answer(self._compiled, self.states, asked, ask(agent, self._views[: len(asked)]))

    def _observations(self) -> np.ndarray:
        observations = np.empty((self.num_envs, self.single_observation_space.shape[0]), np.int8)  # type: ignore[index]
        _observe(self._compiled, self.states, self.learner_seat, observations.reshape(-1))
        return observations

    def _infos(self) -> dict[str, Any]:
        return {"action_mask": self._masks(), "_action_mask": np.ones(self.num_envs, np.bool_)}

    def _masks(self) -> np.ndarray:
        mask = np.empty((self.num_envs, NUM_ACTIONS), np.int8)
        _unpack_masks(self._legal, mask.reshape(-1))
        return mask

    def action_masks(self) -> np.ndarray:
        """Which actions are legal now in each game, bool (num_envs, 53)."""
        return self._masks().astype(np.bool_)


@njit(cache=True, nogil=True)
def _begin_games(states, games, seeds):
    for k in range(games.shape[0]):
        engine.begin_game(states[games[k]], seeds[k], np.uint64(0))


@njit(cache=True, nogil=True)
def _begin_episodes(rules, states, games, next_deck):
    for k in range(games.shape[0]):
        if next_deck[k]:
            engine.next_deck(rules[0], states[games[k]])
        engine.begin_episode(rules[0], states[games[k]], NOBODY)


@njit(cache=True, nogil=True)
def _act(rules, states, games, actions, illegal, views, weights, seeds):
    """Take the learner's actions, random ones in place of illegal ones."""
    chances = np.empty(NUM_CHANCES)
    for k in range(games.shape[0]):
        i = games[k]
        action = np.int64(actions[i])
        if illegal[i]:
            fill_view(rules[0], states[i], states[i].turn, views[0])
            action = act(weights[-1], views[0], seeds[i, -1], chances)
        engine.step(rules[0], states[i], action)


@njit(cache=True, nogil=True)
def _play_on(rules, states, games, views, asked, weights, seeds, learner, skip_forced, legal):
    """Play each game to the learner's turn, to that of an opponent that must be asked, or to the end."""
    chances = np.empty(NUM_CHANCES)
    for k in range(games.shape[0]):
        i = games[k]
        s = states[i]
        options = engine.legal_actions(rules[0], s)
        while s.status == RUNNING:
            seat = np.int64(s.turn)
            forced = without_lowest(options) == EMPTY
            if seat == learner and not (forced and skip_forced):
                break
            if forced:
                engine.step(rules[0], s, lowest(options))
            elif asked[seat]:
                break
            else:
                fill_view(rules[0], s, seat, views[0])
                engine.step(rules[0], s, act(weights[seat], views[0], seeds[i, seat], chances))
            options = engine.legal_actions(rules[0], s)
        legal[i] = options


@njit(cache=True, nogil=True)
def _answer(rules, states, games, actions):
    for k in range(games.shape[0]):
        engine.step(rules[0], states[games[k]], actions[k])


@njit(cache=True, nogil=True)
def _observe(rules, states, learner, observation):
    n = np.int64(rules[0].num_players)
    size = observation.shape[0] // states.shape[0]
    for i in range(states.shape[0]):
        encode(rules[0], states[i], n, learner, states[i].hand[learner], address_of(observation), i * size)


@njit(cache=True, nogil=True)
def _unpack_masks(legal, mask):
    for i in range(legal.shape[0]):
        unpack_actions(address_of(mask), i * NUM_ACTIONS, legal[i])


@njit(cache=True, nogil=True)
def _rewards(rules, states, seat, rewards):
    for i in range(states.shape[0]):
        rewards[i] = reward(rules[0], states[i], seat)
