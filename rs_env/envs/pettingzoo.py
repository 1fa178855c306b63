"""The PettingZoo environment: wiring between `Game` and the AEC interface, no rule of the game.

`raw_env` raises `IllegalActionError` for an illegal action before anything changes. `env` adds PettingZoo's wrappers:
an illegal action ends the game, with reward -1 for its player and 0 for the others. `parallel_env` is the turn-based
conversion of `env`: each step uses the action of the seat to act, which the masks of the observations tell.

All seats end together. Forced pickups are ordinary turns with one legal action.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from rs_env.actions import action_number
from rs_env.cards import NUM_ACTIONS, PICKUP
from rs_env.checks import check_seed
from rs_env.decks import check_dealer, check_decks
from rs_env.engine.layout import ObservationDtype, check_observation_dtype, scaled
from rs_env.engine.observation import new_mask, observation_spec, state_spec
from rs_env.envs.spaces import ActionSpace, box_of, history_space
from rs_env.game import Game
from rs_env.history import check_history, recent_of
from rs_env.render.modes import RENDER_FPS, RENDER_MODES, Renderer, RenderMode
from rs_env.render.themes import ThemeName
from rs_env.rules import Rules, rules_of_call

RESET_OPTIONS = ("deck", "dealer")
ILLEGAL_REWARD = -1.0
_SET_BY_RESET = ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "_cumulative_rewards")


class raw_env(AECEnv):  # noqa: N801  PettingZoo's name for the unwrapped environment
    """Rolling Stone as a PettingZoo AEC environment with agents ``player_0`` .. ``player_{n-1}``.

    rules: preset's name, `Rules`, or mapping of options.
    num_players: 2..8; None: the rule set's own, which is 4 in most presets.
    render_mode: None, ``"ansi"``, ``"human"`` or ``"rgb_array"``, see `render`. render_size: of the picture or window,
        (width, height) in pixels; None: (960, 640). render_seat: whose view is drawn; None: all hands are open.
        render_theme: ``"dark"`` or ``"light"``.
    observation_dtype: ``"int8"``, or ``"float32"`` for observations and `state` scaled to 0..1.
    flat: observations are the plain vectors, and masks stand in `infos` only.
    mark_waiting: masks of seats that are not to act allow the pickup instead of nothing, so that no mask is all zero,
        which some libraries cannot sample from; what such a seat chooses in `parallel_env` has no effect.
    history: observations also have ``"history"``, int8 (K, 3): the last K actions of the running deal, see
        `rs_env.history`; 1..1024, or 0 for none. Not together with `flat`.
    Further keywords are options of `Rules`; ``max_cycles`` means ``max_actions``. Raises TypeError for an unknown one,
    and ValueError for a value that is not allowed.

    Observations are ``{"observation": int8 (D,), "action_mask": int8 (53,)}``, fresh arrays at each call; the mask is
    all zero for every seat but the one to act, and stands also, as a copy, in ``infos[agent]["action_mask"]``. `layout`
    says what stands where. ``reset(seed)`` deals as game 0 of a batch of this seed, ``reset()`` goes on to its next
    deck; ``options={"deck": ..., "dealer": ...}`` as in `Game`. `state()` shows everything, for a central critic.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "rolling_stone_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,  # seats act in turn: `parallel_env` is a conversion of turn-based games
        "render_fps": RENDER_FPS,
    }

    def __init__(
        self,
        rules: Rules | str = "rolling_stone",
        num_players: int | None = None,
        render_mode: RenderMode | None = None,
        observation_dtype: ObservationDtype = "int8",
        flat: bool = False,
        mark_waiting: bool = False,
        history: int = 0,
        render_size: tuple[int, int] | None = None,
        render_seat: int | None = None,
        render_theme: ThemeName = "dark",
        **rule_overrides: Any,
    ) -> None:
        super().__init__()
        self.rules = rules_of_call(raw_env, rules, num_players, rule_overrides)
        self._renderer = Renderer(self.rules, render_mode, render_size, render_seat, render_theme)
        self.render_mode = render_mode
        self.observation_dtype = check_observation_dtype(observation_dtype)
        self.flat, self.mark_waiting, self.history = bool(flat), bool(mark_waiting), check_history(history)
        if self.flat and self.history:
            raise ValueError(f"history={history!r} is not allowed with flat=True: a flat observation is one vector")
        self._waiting_mask = new_mask()
        self._waiting_mask[PICKUP] = self.mark_waiting
        n = self.rules.num_players
        self.possible_agents = [f"player_{seat}" for seat in range(n)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.layout = observation_spec(n)
        self._high = None if self.observation_dtype == "int8" else self.layout.high.astype(np.float32)
        self.action_spaces = {agent: ActionSpace() for agent in self.possible_agents}
        self.observation_spaces = {agent: self._new_observation_space() for agent in self.possible_agents}
        self.state_space = box_of(state_spec(n), self.observation_dtype)
        self._seed: int | None = None
        self.game: Game

    def _new_observation_space(self) -> spaces.Space:
        observation = box_of(self.layout, self.observation_dtype)
        if self.flat:
            return observation
        parts: dict[str, spaces.Space] = {
            "observation": observation,
            "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), dtype=np.int8),
        }
        if self.history:
            parts["history"] = history_space(self.rules.num_players, self.history)
        return spaces.Dict(parts)

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
        self.infos = {agent: {"action_mask": self._waiting_mask.copy()} for agent in self.agents}
        self._next_turn()
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Take the action of ``agent_selection``; None once that agent is done.

        Raises IllegalActionError, with nothing changed, where the rules do not allow it, and ActionTypeError, a
        TypeError, for anything but a whole number.
        """
        try:
            agent = self.agent_selection
        except AttributeError:
            raise self._not_reset() from None
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self.game.play(action if type(action) is int else action_number(action))
        self._cumulative_rewards[agent] = 0.0
        self.infos[agent] = {"action_mask": self._waiting_mask.copy()}
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

    def observe(self, agent: str) -> dict[str, np.ndarray] | np.ndarray:
        """What an agent may know now, before its turn and after the end as well. Changes nothing."""
        if agent not in self._seats:
            raise ValueError(f"agent={agent!r} is not allowed: agents are {', '.join(self.possible_agents)}")
        try:
            done = self.terminations.get(agent, True) or self.truncations[agent]
        except AttributeError:
            raise self._not_reset() from None
        if agent == self.agent_selection and not done:
            observation, mask = self.game.observation.copy(), self.game.action_mask.copy()
        else:
            observation, mask = self.game.observation_for(self._seats[agent])[0], self._waiting_mask.copy()
        if self._high is not None:
            observation = scaled(observation, self._high)
        if self.flat:
            return observation
        parts = {"observation": observation, "action_mask": mask}
        if self.history:
            parts["history"] = recent_of(self.game, self._seats[agent], self.history)
        return parts

    def waiting_mask(self) -> np.ndarray:
        """The mask of a seat that is not to act: int8 (53,), zeros, but for the pickup with `mark_waiting`."""
        return self._waiting_mask.copy()

    def state(self) -> np.ndarray:
        """All hands and all public knowledge by absolute seat, laid out by `rs_env.engine.observation.state_spec`."""
        if not hasattr(self, "game"):
            raise self._not_reset()
        layout = state_spec(self.rules.num_players)
        vector = np.empty(layout.size, np.int8)
        self.game.global_state_into(vector)
        return vector if self._high is None else scaled(vector, layout.high.astype(np.float32))

    def render(self) -> str | np.ndarray | None:
        """The table: text in mode ``"ansi"``, a picture in ``"rgb_array"``, in ``"human"`` a window, which each step
        shows as well.

        The picture is uint8 (height, width, 3), always of the size `render_size`. Without a mode a
        warning.
        """
        if self.render_mode is None:
            warnings.warn("render() does nothing without a render_mode", stacklevel=2)
            return None
        if not hasattr(self, "game"):
            raise self._not_reset()
        return self._renderer.render(self.game)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    def _not_reset(self) -> AttributeError:
        """What to say before the first reset; PettingZoo's environments raise this kind of error then."""
        return AttributeError(f"{type(self).__name__} has no game before its first reset(): call it first")


def read_reset_options(rules: Rules, options: dict[str, Any] | None) -> tuple[Any, Any]:
    """Deck and dealer of the options of a reset, checked; unknown options are ignored with a warning."""
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(
            f"options={options!r} is not allowed: it must be a mapping with the keys {', '.join(RESET_OPTIONS)}, or"
            " None"
        )
    options = dict(options or {})
    unknown = [name for name in options if name not in RESET_OPTIONS]
    if unknown:
        warnings.warn(
            f"reset options {', '.join(map(repr, unknown))} ignored: allowed are {', '.join(RESET_OPTIONS)}",
            stacklevel=3,
        )
    deck, dealer = options.get("deck"), options.get("dealer")
    check_decks(rules, deck)
    check_dealer(rules, dealer)
    return deck, dealer


def _from_env(name: str) -> property:
    return property(attrgetter(f"env.{name}"))


class _DirectAccess:
    """Reads the environment's attributes without `__getattr__`, on which PettingZoo's wrappers spend most of their
    time.

    Where the attribute does not exist yet, Python falls back to the wrapper's own `__getattr__` and its error.
    """

    agents, agent_selection, rewards, terminations, truncations, infos, _cumulative_rewards = map(
        _from_env, _SET_BY_RESET
    )


class _TerminateIllegal(_DirectAccess, wrappers.TerminateIllegalWrapper):
    """PettingZoo's wrapper, with numbers outside the action space treated like any illegal one, and no mask left in
    `infos` afterwards.
    """

    def observe(self, agent: str) -> dict[str, np.ndarray] | np.ndarray:
        return self.env.observe(agent)  # without keeping the observation for `step`, which asks the game

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        mask = self.env.game.action_mask  # the game's own: the caller may have changed the one that was handed out
        if not (self.terminations[agent] or self.truncations[agent]):
            number = action if type(action) is int else action_number(action)
            action = number if 0 <= number < NUM_ACTIONS else int(mask.argmin())  # 53 actions are never all legal
        self._prev_obs = {"action_mask": mask}
        super().step(action)
        if self._terminated:
            for other in self.agents:
                self.infos[other]["action_mask"] = self.env.waiting_mask()


class _OrderEnforcing(_DirectAccess, wrappers.OrderEnforcingWrapper):
    def __str__(self) -> str:
        return str(self.env)


def env(
    rules: Rules | str = "rolling_stone",
    num_players: int | None = None,
    render_mode: RenderMode | None = None,
    **options: Any,
) -> AECEnv:
    """`raw_env` in PettingZoo's wrappers: illegal actions end the game (-1 for their player, 0 for others), order is
    enforced.

    options: further arguments of `raw_env`.
    """
    wrapped = raw_env(rules, num_players, render_mode, **options)
    return _OrderEnforcing(_TerminateIllegal(wrapped, illegal_reward=ILLEGAL_REWARD))


def parallel_env(
    rules: Rules | str = "rolling_stone",
    num_players: int | None = None,
    render_mode: RenderMode | None = None,
    **options: Any,
) -> ParallelEnv:
    """The turn-based conversion of `env` to PettingZoo's parallel interface.

    ``step`` takes a dict with an action for each agent; only that of the agent to act counts, whose mask is the only
    one that is not all zero (with ``mark_waiting=True`` see ``infos[agent]["active_agent"]``, which PettingZoo's
    conversion adds to each step). options: further arguments of `raw_env`.
    """
    return turn_based_aec_to_parallel(env(rules, num_players, render_mode, **options))
