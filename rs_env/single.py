"""A Gymnasium environment for one learner among named opponents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rs_env.aec import RENDER_MODES, ActionSpace, read_reset_options
from rs_env.baselines import make_agent
from rs_env.baselines.agent import Agent, RuleBasedAgent, as_agent, ask
from rs_env.cards import NUM_ACTIONS
from rs_env.game import Game, IllegalActionError
from rs_env.observation import new_mask, observation_spec
from rs_env.rng import check_seed, check_whole, game_key
from rs_env.rules import Rules, as_rules

ILLEGAL_ACTION = ("penalise", "raise", "random")
ILLEGAL_REWARD = -1.0
MOST_DEALS_WITHOUT_DECISION = 1000
_OPPONENT_STREAM = 0x0DD0_BEAD_5EA7_0000


class RollingStoneEnv(gymnasium.Env):
    """Rolling Stone for one learner; ``gymnasium.make("rs_env/RollingStone-v0", ...)`` makes it.

    rules, num_players, further keywords: as in `rs_env.raw_env`.
    opponents: one agent for all other seats or one for each, clockwise from the learner; names for `make_agent` or agents.
    learner_seat: 0..n-1, or None for a seat drawn anew at each reset. (Who deals is drawn by lot in any case.)
    skip_forced: play the learner's turns with one legal action for it, so that only decisions remain.
    illegal_action: ``"penalise"`` ends the game with reward -1, ``"raise"`` raises `IllegalActionError` with nothing changed,
        ``"random"`` plays a random legal action instead. The first and the last say so in ``info["illegal_action"]``.
    render_mode: None, ``"ansi"`` or ``"human"``.

    Observations are int8 vectors (see `rs_env.ObservationSpec`), always fresh arrays; the mask of legal actions (int8, 53) is in
    ``info["action_mask"]`` and, for sb3-contrib's MaskablePPO, in `action_masks()`. The reward comes at the end.
    Turns of anybody with one legal action are played without asking. ``reset(seed)`` deals as game 0 of the seed, ``reset()`` goes
    on to the next deck; ``options`` are ``deck`` and ``dealer``. A deal that ends before the learner had a turn is dealt again.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        rules: Rules | str = "rolling_stone",
        num_players: int | None = None,
        opponents: str | Agent | Sequence[str | Agent] = "heuristic",
        learner_seat: int | None = 0,
        skip_forced: bool = False,
        illegal_action: str = "penalise",
        render_mode: str | None = None,
        **rule_overrides: Any,
    ) -> None:
        self.rules, self.opponents = check_arguments(rules, num_players, opponents, learner_seat, illegal_action, rule_overrides)
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode={render_mode!r} is not allowed: it must be None or one of {', '.join(map(repr, RENDER_MODES))}")
        self.render_mode = render_mode
        self.skip_forced, self.illegal_action = bool(skip_forced), illegal_action
        self._fixed_seat = learner_seat
        self.learner_seat = learner_seat or 0
        self._substitute = make_agent("random")
        self.layout = observation_spec(self.rules.num_players)
        self.observation_space = spaces.Box(self.layout.low, self.layout.high, dtype=np.int8)
        self.action_space = ActionSpace()
        self._seed: int | None = None
        self._done = True
        self.game: Game

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal and play to the learner's first turn; see the class."""
        deck, dealer = read_reset_options(self.rules, options)
        if seed is not None or self._seed is None:
            self._seed, first_deal = check_seed(seed), 0
            for place, agent in enumerate((*self.opponents, self._substitute)):
                agent.reset(opponent_seed(self._seed, place))
        else:
            first_deal = self.game.next_deal
        super().reset(seed=seed)
        if self._fixed_seat is None:
            self.learner_seat = int(self.np_random.integers(self.rules.num_players))
        for _ in range(MOST_DEALS_WITHOUT_DECISION):
            self.game = Game(self.rules, self._seed, deck, dealer, first_deal=first_deal)
            self._play_on()
            first_deal = self.game.next_deal
            if not self.game.is_over:
                self._done = False
                self._show()
                return self._observation(), {"action_mask": self.action_masks().astype(np.int8)}
        raise no_decision()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take the learner's action and play to its next turn or the end."""
        if self._done:
            raise gymnasium.error.ResetNeeded("the game is over: call reset() before step()")
        info: dict[str, Any] = {}
        try:
            self.game.play(action)
        except IllegalActionError:
            if self.illegal_action == "raise":
                raise
            info["illegal_action"] = True
            if self.illegal_action == "penalise":
                self._done = True
                return self._observation(), ILLEGAL_REWARD, True, False, {"action_mask": new_mask(), **info}
            self.game.play(int(self._substitute.act(np.array([self.game.view(self.learner_seat)]))[0]))
        self._play_on()
        self._done = self.game.is_over
        self._show()
        info["action_mask"] = self.action_masks().astype(np.int8)
        return self._observation(), self.game.rewards()[self.learner_seat], self.game.terminated, self.game.truncated, info

    def _play_on(self) -> None:
        """Play the opponents' turns, and forced ones of the learner if those are skipped."""
        game, n = self.game, self.rules.num_players
        while not game.is_over:
            seat, legal = game.turn, game.legal_actions()
            if seat == self.learner_seat and not (self.skip_forced and len(legal) == 1):
                return
            if len(legal) == 1:
                game.play(legal[0])
            else:
                agent = self.opponents[(seat - self.learner_seat) % n - 1]  # type: ignore[operator]
                game.play(int(ask(agent, np.array([game.view(seat)]))[0]))  # type: ignore[arg-type]

    def _observation(self) -> np.ndarray:
        observation = np.empty(self.layout.size, np.int8)
        self.game.observe_into(self.learner_seat, observation, new_mask())
        return observation

    def action_masks(self) -> np.ndarray:
        """Which of the 53 actions are legal now, bool; all False when the game is over."""
        mask = np.zeros(NUM_ACTIONS, np.bool_)
        if not self._done:
            mask[self.game.legal_actions()] = True
        return mask

    def render(self) -> str | None:
        """The table with open cards: returned as text in mode ``"ansi"``, printed in mode ``"human"``."""
        if self.render_mode == "ansi":
            return str(self.game)
        if self.render_mode == "human":
            print(self.game, end="\n\n")
        return None

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()


def check_arguments(
    rules: Rules | str,
    num_players: int | None,
    opponents: str | Agent | Sequence[str | Agent],
    learner_seat: int | None,
    illegal_action: str,
    rule_overrides: dict[str, Any],
) -> tuple[Rules, list[Agent]]:
    """Rules and opponents, one for each other seat. Raises ValueError, naming the argument, for anything not allowed."""
    if num_players is not None:
        rule_overrides = {**rule_overrides, "num_players": num_players}
    checked = as_rules(rules, **rule_overrides)
    others = checked.num_players - 1
    if learner_seat is not None:
        check_whole("learner_seat", learner_seat, 0, others)
    if illegal_action not in ILLEGAL_ACTION:
        raise ValueError(f"illegal_action={illegal_action!r} is not allowed: it must be one of {', '.join(map(repr, ILLEGAL_ACTION))}")
    several = isinstance(opponents, Sequence) and not isinstance(opponents, str)
    listed: list[Any] = list(opponents) if several else [opponents] * others  # type: ignore[arg-type]
    if len(listed) != others:
        raise ValueError(f"opponents: {len(listed)} are not allowed: there must be one, or one for each of the {others} other seats")
    return checked, [_opponent(agent) for agent in listed]


def _opponent(agent: str | Agent) -> Agent:
    """The agent of that name, or the agent itself; a rule-based one anew, so that each seat draws for itself."""
    return RuleBasedAgent(agent.name, agent.weights) if type(agent) is RuleBasedAgent else as_agent(agent, make_agent)


def opponent_seed(seed: int, place: int) -> int:
    """Seed of the opponent `place` seats after the one on the learner's left, in an environment with this seed."""
    return int(game_key(np.uint64(seed ^ _OPPONENT_STREAM), np.uint64(place)))


def no_decision() -> RuntimeError:
    """What to say where a rule set never asks the learner."""
    return RuntimeError(f"the learner had nothing to decide in {MOST_DEALS_WITHOUT_DECISION} deals of this rule set")
