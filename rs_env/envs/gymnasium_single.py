"""A Gymnasium environment for one learner among named opponents."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium import spaces

from rs_env.actions import IllegalActionError, action_number
from rs_env.agent import Agent
from rs_env.baselines import make_agent
from rs_env.cards import NUM_ACTIONS
from rs_env.checks import check_seed, check_whole
from rs_env.engine import entry
from rs_env.engine.layout import Layout, ObservationDtype, check_observation_dtype, scaled
from rs_env.engine.observation import new_mask, observation_spec
from rs_env.engine.state import compile_rules
from rs_env.envs.opponents import Opponents, agents_of, opponent_seed
from rs_env.envs.pettingzoo import read_reset_options
from rs_env.envs.spaces import ActionSpace, box_of, history_space
from rs_env.game import Game
from rs_env.history import Histories, check_history, recent_of
from rs_env.render.modes import RENDER_FPS, RENDER_MODES, Renderer, RenderMode
from rs_env.render.themes import ThemeName
from rs_env.rules import Rules, rules_of_call

IllegalAction = Literal["penalise", "raise", "random"]
ILLEGAL_ACTION: tuple[IllegalAction, ...] = get_args(IllegalAction)
ILLEGAL_REWARD = -1.0
MOST_DEALS_WITHOUT_DECISION = 1000
Observation = np.ndarray | dict[str, np.ndarray]


class RollingStoneEnv(gymnasium.Env):
    """Rolling Stone for one learner; ``gymnasium.make("rs_env/RollingStone-v0", ...)`` makes it.

    rules, num_players, further keywords: as in `rs_env.raw_env`.
    opponents: one agent for all other seats or one for each, clockwise from the learner; names for `make_agent` or
        agents. Their draws belong to this environment, see `rs_env.envs.opponents`.
    learner_seat: 0..n-1, or None for a seat drawn anew for each deal. (The dealer is drawn by lot in any case.)
    skip_forced: play the learner's turns with one legal action for it, so that only decisions remain.
    illegal_action: ``"penalise"`` ends the game with reward -1, ``"raise"`` raises `IllegalActionError` with nothing
        changed, ``"random"`` plays a random legal action instead. The first and the last say so in
        ``info["illegal_action"]``. Anything but a whole number is always an `ActionTypeError`, with nothing changed.
    render_mode: None, ``"ansi"``, ``"human"`` or ``"rgb_array"``, see `render`. render_size: of the picture or window,
        (width, height) in pixels; None: (960, 640). render_seat: whose view is drawn; None: all hands are open.
        render_theme: ``"dark"`` or ``"light"``.
    observation_dtype: ``"int8"``, or ``"float32"`` for observations scaled to 0..1.
    history: 1..1024: observations are ``{"observation": the vector, "history": int8 (K, 3)}``, the latter the last K
        actions of the running deal, see `rs_env.history`; 0: the vectors alone.

    Observations are vectors (see `rs_env.ObservationSpec`, here `layout`), always fresh arrays; the mask of legal
    actions (int8, 53) is in ``info["action_mask"]`` and, for sb3-contrib's MaskablePPO, in `action_masks()`. The reward
    comes at the end. Turns of anybody with one legal action are played without asking. ``reset(seed)`` deals as game 0
    of the seed, ``reset()`` goes on to the next deck; ``options`` are ``deck`` and ``dealer``. A deal that ends before
    the learner had a turn is dealt again. After an exception of an opponent the environment must be reset.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        rules: Rules | str = "rolling_stone",
        num_players: int | None = None,
        opponents: str | Agent | Sequence[str | Agent] = "heuristic",
        learner_seat: int | None = 0,
        skip_forced: bool = False,
        illegal_action: IllegalAction = "penalise",
        render_mode: RenderMode | None = None,
        observation_dtype: ObservationDtype = "int8",
        history: int = 0,
        render_size: tuple[int, int] | None = None,
        render_seat: int | None = None,
        render_theme: ThemeName = "dark",
        **rule_overrides: Any,
    ) -> None:
        self.rules = rules_of_call(RollingStoneEnv, rules, num_players, rule_overrides)
        check_learner(self.rules, learner_seat, illegal_action)
        self._renderer = Renderer(self.rules, render_mode, render_size, render_seat, render_theme)
        self.render_mode = render_mode
        self.observation_dtype = check_observation_dtype(observation_dtype)
        self.history = check_history(history)
        self.skip_forced, self.illegal_action = bool(skip_forced), illegal_action
        self._fixed_seat = learner_seat
        self.learner_seat = learner_seat or 0
        self._opponents = Opponents(agents_of(opponents, self.rules.num_players - 1), 1)
        self.opponents = self._opponents.agents
        self._substitute = make_agent("random")
        self.layout = observation_spec(self.rules.num_players)
        self._high = self.layout.high.astype(np.float32)
        self.observation_space = observation_space(self.layout, self.observation_dtype, self.history)
        self.action_space = ActionSpace()
        self._seed: int | None = None
        self._done = True
        self.game: Game

    @property
    def spec(self) -> Any:
        """Gymnasium's `EnvSpec`, which `gymnasium.make` fills in; no game has more steps than its
        ``max_episode_steps``.
        """
        return self._spec

    @spec.setter
    def spec(self, spec: Any) -> None:
        if spec is not None and spec.max_episode_steps is None:
            deals = 1 if self.rules.target is None else self.rules.max_deals
            spec = dataclasses.replace(spec, max_episode_steps=deals * self.rules.action_limit)
        self._spec = spec

    _spec: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Deal and play to the learner's first turn; see the class."""
        deck, dealer = read_reset_options(self.rules, options)
        if seed is not None or self._seed is None:
            new_seed, first_deal = check_seed(seed), 0
        else:
            new_seed, first_deal = None, self.game.next_deal
        self._done = True
        if new_seed is not None:
            self._opponents.reset(0, new_seed)  # first, for an agent may raise
            super().reset(seed=new_seed)
            self._substitute.reset(opponent_seed(new_seed, self.rules.num_players - 1))
            self._seed = new_seed
        for _ in range(MOST_DEALS_WITHOUT_DECISION):
            self.game = Game(self.rules, self._seed, deck, dealer, first_deal=first_deal)
            if self._fixed_seat is None:
                self.learner_seat = int(entry.seat_of_learner(compile_rules(self.rules), self.game.states, 0))
            self._play_on()
            first_deal = self.game.next_deal
            if not self.game.is_over:
                self._done = False
                self._show()
                return self._observation(), {"action_mask": self.action_masks().astype(np.int8)}
        raise no_decision()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the learner's action and play to its next turn or the end."""
        if self._done:
            raise gymnasium.error.ResetNeeded(
                "the game is over, or was broken off by an exception: call reset() before step()"
            )
        number = action_number(action)
        info: dict[str, Any] = {}
        try:
            self.game.play(number)
        except IllegalActionError:
            if self.illegal_action == "raise":
                raise
            info["illegal_action"] = True
            if self.illegal_action == "penalise":
                self._done = True
                return self._observation(), ILLEGAL_REWARD, True, False, {"action_mask": new_mask(), **info}
            self.game.play(int(self._substitute.act(np.array([self.game.view(self.learner_seat)]))[0]))
        self._done = True  # should an opponent raise, the next action would be played for it
        self._play_on()
        self._done = self.game.is_over
        self._show()
        info["action_mask"] = self.action_masks().astype(np.int8)
        return (
            self._observation(),
            self.game.rewards()[self.learner_seat],
            self.game.terminated,
            self.game.truncated,
            info,
        )

    def _play_on(self) -> None:
        """Play the opponents' turns, and forced ones of the learner if those are skipped."""
        game, n = self.game, self.rules.num_players
        this_game = np.zeros(1, np.int64)
        while not game.is_over:
            seat, legal = game.turn, game.legal_actions()
            if seat == self.learner_seat and not (self.skip_forced and len(legal) == 1):
                return
            if len(legal) == 1:
                game.play(legal[0])
            else:
                place = (seat - self.learner_seat) % n - 1  # type: ignore[operator]
                views = np.array([game.view(seat)])  # type: ignore[arg-type]
                histories = Histories.of([game]) if self._opponents.want_histories[place] else None
                game.play(int(self._opponents.act(place, this_game, views, histories)[0]))

    def _observation(self) -> Observation:
        observation, _ = self.game.observation_for(self.learner_seat)
        if self.observation_dtype != "int8":
            observation = scaled(observation, self._high)
        if not self.history:
            return observation
        return {"observation": observation, "history": recent_of(self.game, self.learner_seat, self.history)}

    def action_masks(self) -> np.ndarray:
        """Which of the 53 actions are legal now, bool; all False when the game is over."""
        mask = np.zeros(NUM_ACTIONS, np.bool_)
        if not self._done:
            mask[self.game.legal_actions()] = True
        return mask

    def render(self) -> str | np.ndarray | None:
        """The table: text in mode ``"ansi"``, a picture in ``"rgb_array"``, in ``"human"`` a window, which each step
        shows as well.

        The picture is uint8 (height, width, 3), always of the size `render_size`.
        """
        if self._seed is None:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        return self._renderer.render(self.game)

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()


def observation_space(layout: Layout, dtype: str, history: int) -> spaces.Space:
    """The space of vectors of this layout, with the last actions beside them unless `history` is 0."""
    vectors = box_of(layout, dtype)
    if not history:
        return vectors
    return spaces.Dict({"observation": vectors, "history": history_space(layout.num_players, history)})


def check_learner(rules: Rules, learner_seat: int | None, illegal_action: IllegalAction) -> None:
    """Raise ValueError, naming the argument, for a seat that does not exist and an unknown answer to illegal
    actions.
    """
    if learner_seat is not None:
        check_whole("learner_seat", learner_seat, 0, rules.num_players - 1)
    if illegal_action not in ILLEGAL_ACTION:
        raise ValueError(
            f"illegal_action={illegal_action!r} is not allowed: it must be one of"
            f" {', '.join(map(repr, ILLEGAL_ACTION))}"
        )


def no_decision() -> RuntimeError:
    """What to say where a rule set never asks the learner."""
    return RuntimeError(f"the learner had nothing to decide in {MOST_DEALS_WITHOUT_DECISION} deals of this rule set")
