"""The PettingZoo environment: wiring between `Game` and the AEC interface, no rule of the game.

`raw_env` raises `IllegalActionError` for an illegal action before anything changes. `env` adds PettingZoo's wrappers: an
illegal action ends the game, with reward -1 for its player and 0 for the others. `parallel_env` is the turn-based
conversion of `env`: each step uses the action of the seat to act, and the observations tell by their masks who that is.

All seats end together. Forced pickups are ordinary turns with one legal action.
"""

from __future__ import annotations

import random
import warnings
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from rs_env.cards import NUM_ACTIONS
from rs_env.game import Game, action_number, check_dealer, check_decks
from rs_env.observation import new_mask, observation_spec, state_spec
from rs_env.rng import check_seed
from rs_env.rules import Rules, as_rules

RENDER_MODES = ("ansi", "human")
RESET_OPTIONS = ("deck", "dealer")
ILLEGAL_REWARD = -1.0
_INT8 = np.dtype(np.int8)
_MASK_SHAPE = (NUM_ACTIONS,)
_ACTIONS = [np.int64(action) for action in range(NUM_ACTIONS)]


class ActionSpace(spaces.Discrete):
    """`Discrete(53)` whose masked sampling takes less than a microsecond where Gymnasium's takes twenty, the same otherwise."""

    def __init__(self) -> None:
        super().__init__(NUM_ACTIONS)
        self._draws: random.Random | None = None

    def seed(self, seed: int | None = None) -> int:
        """Seed all draws, with and without a mask; returns the seed."""
        used = super().seed(seed)
        self._draws = random.Random(int(used))
        return used

    def sample(self, mask: np.ndarray | None = None, probability: np.ndarray | None = None) -> np.int64:
        """A uniformly random action; with a mask (int8, shape (53,), zeros and ones) one of those it allows.

        As in Gymnasium an all-zero mask gives 0, and a wrong mask or anything with `probability` gives its errors.
        """
        if probability is None and isinstance(mask, np.ndarray) and mask.dtype is _INT8 and mask.shape == _MASK_SHAPE:
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


class raw_env(AECEnv):  # noqa: N801  PettingZoo's name for the unwrapped environment
    """Rolling Stone as a PettingZoo AEC environment with agents ``player_0`` .. ``player_{n-1}``.

    rules: preset's name, `Rules`, or mapping of options.
    num_players: 2..8; None: the rule set's own, which is 4 in most presets.
    render_mode: None, ``"ansi"``, or ``"human"``, which prints the table after each step.
    Further keywords are options of `Rules`. Raises ValueError for anything not allowed.

    Observations are ``{"observation": int8 (D,), "action_mask": int8 (53,)}``, fresh arrays at each call; the mask is all zero
    for every seat but the one to act, and stands also, as a copy, in ``infos[agent]["action_mask"]``.
    ``reset(seed)`` deals as game 0 of a batch of this seed, ``reset()`` goes on to its next deck;
    ``options={"deck": ..., "dealer": ...}`` as in `Game`. `state()` shows everything, for a central critic.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "rolling_stone_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": True,
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: Rules | str = "rolling_stone",
        num_players: int | None = None,
        render_mode: str | None = None,
        **rule_overrides: Any,
    ) -> None:
        super().__init__()
        if num_players is not None:
            rule_overrides["num_players"] = num_players
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode={render_mode!r} is not allowed: it must be None or one of {', '.join(map(repr, RENDER_MODES))}")
        self.rules = as_rules(rules, **rule_overrides)
        self.render_mode = render_mode
        n = self.rules.num_players
        self.possible_agents = [f"player_{seat}" for seat in range(n)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.spec = observation_spec(n)
        self.action_spaces = {agent: ActionSpace() for agent in self.possible_agents}
        self.observation_spaces = {agent: _observation_space(n) for agent in self.possible_agents}
        self.state_space = spaces.Box(state_spec(n).low, state_spec(n).high, dtype=np.int8)
        self._seed: int | None = None
        self.game: Game

    def observation_space(self, agent: str) -> spaces.Space:
        """The agent's observation space, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """The agent's action space, always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new deal or match; see the class. Unknown options are ignored with a warning."""
        deck, dealer = read_reset_options(self.rules, options)
        if seed is not None or self._seed is None:
            self._seed, first_deal = check_seed(seed), 0
        else:
            first_deal = self.game.next_deal
        self.game = Game(self.rules, self._seed, deck, dealer, first_deal=first_deal)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self.infos = {agent: {"action_mask": new_mask()} for agent in self.agents}
        self._next_turn()
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Take the action of ``agent_selection``; None once that agent is done.

        Raises IllegalActionError, with nothing changed, where the rules do not allow it.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self.game.play(action)  # type: ignore[arg-type]
        self._cumulative_rewards[agent] = 0.0
        self.infos[agent] = {"action_mask": new_mask()}
        if self.game.is_over:
            self._finish()
        else:
            self._next_turn()
        if self.render_mode == "human":
            self.render()

    def _next_turn(self) -> None:
        self.agent_selection = agent = self.possible_agents[self.game.turn]  # type: ignore[index]
        self.infos[agent] = {"action_mask": self.game.action_mask.copy()}

    def _finish(self) -> None:
        self.rewards = dict(zip(self.agents, self.game.rewards(), strict=True))
        self.terminations = dict.fromkeys(self.agents, self.game.terminated)
        self.truncations = dict.fromkeys(self.agents, self.game.truncated)
        self._accumulate_rewards()
        self._deads_step_first()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What an agent may know now, before its turn and after the end as well. Changes nothing."""
        if agent not in self._seats:
            raise ValueError(f"agent={agent!r} is not allowed: agents are {', '.join(self.possible_agents)}")
        if self.terminations.get(agent, True) or self.truncations[agent]:
            return {"observation": self._encode(self._seats[agent])[0], "action_mask": new_mask()}
        if agent == self.agent_selection:
            return {"observation": self.game.observation.copy(), "action_mask": self.game.action_mask.copy()}
        observation, mask = self._encode(self._seats[agent])
        return {"observation": observation, "action_mask": mask}

    def _encode(self, seat: int) -> tuple[np.ndarray, np.ndarray]:
        observation, mask = np.empty(self.spec.size, np.int8), np.empty(NUM_ACTIONS, np.int8)
        self.game.observe_into(seat, observation, mask)
        return observation, mask

    def state(self) -> np.ndarray:
        """All hands and all public knowledge by absolute seat: int8, laid out by `rs_env.observation.state_spec`."""
        vector = np.empty(self.state_space.shape, np.int8)
        self.game.global_state_into(vector)
        return vector

    def render(self) -> str | None:
        """The table with open cards: returned as text in mode ``"ansi"``, printed in mode ``"human"``, a warning without a mode."""
        if self.render_mode is None:
            warnings.warn("render() does nothing without a render_mode", stacklevel=2)
            return None
        text = str(self.game)
        if self.render_mode == "human":
            print(text, end="\n\n")
            return None
        return text

    def close(self) -> None:
        """Nothing is held that would need to be released."""


def read_reset_options(rules: Rules, options: dict[str, Any] | None) -> tuple[Any, Any]:
    """Deck and dealer of the options of a reset, checked; unknown options are ignored with a warning."""
    options = options or {}
    unknown = [name for name in options if name not in RESET_OPTIONS]
    if unknown:
        warnings.warn(f"reset options {', '.join(map(repr, unknown))} ignored: allowed are {', '.join(RESET_OPTIONS)}", stacklevel=3)
    deck, dealer = options.get("deck"), options.get("dealer")
    check_decks(rules, deck)
    check_dealer(rules, dealer)
    return deck, dealer


def _from_env(name: str) -> property:
    return property(attrgetter(f"env.{name}"))


class _DirectAccess:
    """Reads the environment's attributes without `__getattr__`, on which PettingZoo's wrappers spend most of their time.

    Where the attribute does not exist yet, Python falls back to the wrapper's own `__getattr__` and its error.
    """

    agents = _from_env("agents")
    agent_selection = _from_env("agent_selection")
    rewards = _from_env("rewards")
    terminations = _from_env("terminations")
    truncations = _from_env("truncations")
    infos = _from_env("infos")
    _cumulative_rewards = _from_env("_cumulative_rewards")


class _TerminateIllegal(_DirectAccess, wrappers.TerminateIllegalWrapper):
    """PettingZoo's wrapper, with what is no action at all treated like any illegal one, and no mask left in `infos` afterwards."""

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        return self.env.observe(agent)  # without keeping the observation for `step`, which asks the game

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        mask = self.env.game.action_mask  # the game's own: what was handed out may have been changed
        self._prev_obs = {"action_mask": mask}
        if not (self.terminations[agent] or self.truncations[agent]):
            number = action_number(action)
            action = int(mask.argmin()) if number is None else number  # 53 actions are never all legal
        super().step(action)
        if self._terminated:
            for other in self.agents:
                self.infos[other]["action_mask"] = new_mask()


class _OrderEnforcing(_DirectAccess, wrappers.OrderEnforcingWrapper):
    def __str__(self) -> str:
        return str(self.env)


def env(
    rules: Rules | str = "rolling_stone", num_players: int | None = None, render_mode: str | None = None, **rule_overrides: Any
) -> AECEnv:
    """`raw_env` in PettingZoo's wrappers: illegal actions end the game (-1 for their player, 0 for others), order is enforced."""
    wrapped = raw_env(rules, num_players, render_mode, **rule_overrides)
    return _OrderEnforcing(_TerminateIllegal(wrapped, illegal_reward=ILLEGAL_REWARD))


def parallel_env(
    rules: Rules | str = "rolling_stone", num_players: int | None = None, render_mode: str | None = None, **rule_overrides: Any
) -> ParallelEnv:
    """The turn-based conversion of `env` to PettingZoo's parallel interface.

    ``step`` takes a dict with an action for each agent; only that of the agent whose mask is not all zero counts.
    """
    return turn_based_aec_to_parallel(env(rules, num_players, render_mode, **rule_overrides))


def _observation_space(num_players: int) -> spaces.Dict:
    spec = observation_spec(num_players)
    return spaces.Dict(
        {
            "observation": spaces.Box(spec.low, spec.high, dtype=np.int8),
            "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), dtype=np.int8),
        }
    )
