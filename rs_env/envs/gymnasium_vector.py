"""Many games of `RollingStoneEnv` at once, as a Gymnasium vector environment.

Rule-based opponents are played inside compiled code; other agents are asked in batches. Environment i behaves exactly
as a `RollingStoneEnv` that was reset with seed ``seed + i``, which is what Gymnasium's own vector environments do.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rs_env.actions import IllegalActionError, action_numbers
from rs_env.agent import Agent
from rs_env.baselines.tips import TIPS
from rs_env.cards import NUM_ACTIONS
from rs_env.checks import check_seed, check_whole
from rs_env.engine import entry
from rs_env.engine.history import show_recent
from rs_env.engine.layout import ObservationDtype, check_observation_dtype, scaled
from rs_env.engine.observation import observation_spec
from rs_env.engine.state import RUNNING, STATE, TERMINATED, TRUNCATED, compile_rules
from rs_env.engine.view import empty_views
from rs_env.envs import gymnasium_kernels as kernels
from rs_env.envs.gymnasium_single import (
    ILLEGAL_REWARD,
    MOST_DEALS_WITHOUT_DECISION,
    IllegalAction,
    Observation,
    check_learner,
    no_decision,
    observation_space,
)
from rs_env.envs.opponents import Opponents, agents_of, opponent_seed
from rs_env.envs.spaces import ActionSpace, BatchActionSpace
from rs_env.game import Game
from rs_env.history import Histories, check_history, new_log
from rs_env.render.modes import RENDER_FPS, RENDER_MODES, Renderer, RenderMode
from rs_env.render.themes import ThemeName
from rs_env.rules import Rules, rules_of_call


class RollingStoneVectorEnv(VectorEnv):
    """``gymnasium.make_vec("rs_env/RollingStone-v0", num_envs=..., vectorization_mode="vector_entry_point", ...)``
    makes it.

    num_envs: number of games. autoreset_mode: what happens to a game that has ended, a `gymnasium.vector.AutoresetMode`
    or its value. Further arguments: as in `RollingStoneEnv`.

    - ``SAME_STEP`` (default): the step that ends a game returns the next one's first observation, and the last one of
      the game that ended is in ``infos["final_obs"]``, its info in ``infos["final_info"]``.
    - ``NEXT_STEP``: it returns the last observation; the step after it ignores that game's action and deals anew, with
      reward 0.
    - ``DISABLED``: it returns the last observation, and the game must be reset before the next step, by
      ``reset(options={"reset_mask": terminated | truncated})``.

    Masks of legal actions, int8 (num_envs, 53), are in ``infos["action_mask"]``; the row of a game that has ended is
    empty. All arrays are fresh at each step. After an exception of an opponent all games must be reset.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  as Gymnasium declares it
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }
    closed = True  # until it is made: Gymnasium 1.1 also closes what was refused

    def __init__(
        self,
        num_envs: int = 1,
        rules: Rules | str = "rolling_stone",
        num_players: int | None = None,
        opponents: str | Agent | Sequence[str | Agent] = "heuristic",
        learner_seat: int | None = 0,
        skip_forced: bool = False,
        illegal_action: IllegalAction = "penalise",
        render_mode: RenderMode | None = None,
        observation_dtype: ObservationDtype = "int8",
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        history: int = 0,
        render_size: tuple[int, int] | None = None,
        render_seat: int | None = None,
        render_theme: ThemeName = "dark",
        **rule_overrides: Any,
    ) -> None:
        self.num_envs = check_whole("num_envs", num_envs, 1, (1 << 31) - 1)
        self.rules = rules_of_call(RollingStoneVectorEnv, rules, num_players, rule_overrides)
        check_learner(self.rules, learner_seat, illegal_action)
        self._renderer = Renderer(self.rules, render_mode, render_size, render_seat, render_theme)
        self.closed = False
        self.render_mode = render_mode
        self.observation_dtype = check_observation_dtype(observation_dtype)
        self.history = check_history(history)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.skip_forced, self.illegal_action = bool(skip_forced), illegal_action
        n = self.rules.num_players
        self.layout = observation_spec(n)
        self.single_observation_space = observation_space(self.layout, self.observation_dtype, self.history)
        self.single_action_space = ActionSpace()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = BatchActionSpace(self.num_envs)
        self._high = self.layout.high.astype(np.float32)
        self._opponents = Opponents(agents_of(opponents, n - 1), self.num_envs)
        self.opponents = self._opponents.agents
        self._weights = np.zeros((n, len(TIPS)))  # of these three see the module of the compiled part
        self._asked = np.zeros(n - 1, np.bool_)
        for place in range(n - 1):
            weights = self._opponents.compiled_weights(place)
            self._asked[place] = weights is None
            if weights is not None:
                self._weights[place] = weights
        self._seeds = np.zeros((self.num_envs, n), np.uint64)
        self._compiled_opponents = (self._asked, self._weights, self._seeds)
        self._compiled = compile_rules(self.rules)
        self.states = np.zeros(self.num_envs, STATE)
        self._fixed_seat = -1 if learner_seat is None else int(learner_seat)
        self.learner_seats = np.full(
            self.num_envs, max(self._fixed_seat, 0)
        )  # int64 (num_envs,), of the games that go on
        self._seeded = np.zeros(self.num_envs, np.bool_)
        self._done = np.ones(self.num_envs, np.bool_)  # over, and not dealt anew
        self._broken = False  # by an exception, with games in a turn of an opponent
        self._views = empty_views(self.rules, self.num_envs)
        self._legal = np.zeros(self.num_envs, np.uint64)
        is_logged = self.history > 0 or any(self._opponents.want_histories)
        self._log = new_log(self.rules, self.num_envs) if is_logged else None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the rule set as compiled code takes it: read-only, which a copy would not be."""
        return {name: value for name, value in vars(self).items() if name != "_compiled"}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self._compiled = compile_rules(self.rules)

    def reset(
        self, *, seed: int | Sequence[int | None] | np.ndarray | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start games anew: game i from ``seed + i`` or ``seed[i]``, or with its next deck where that is None.

        options: ``{"reset_mask": bool (num_envs,)}`` starts those games only, and ``infos["_action_mask"]`` says so;
        the masks of the others are theirs as before. Other options are ignored with a warning.
        """
        chosen = self._chosen(options)
        seeds = self._checked_seeds(seed)
        new = np.array([i for i in chosen.tolist() if seeds[i] is not None or not self._seeded[i]], np.int64)
        fresh = [check_seed(seeds[i]) for i in new.tolist()]
        self._broken = True  # until all is done
        self._seed_games(new, fresh)
        self._deal(chosen, np.isin(chosen, new, invert=True))
        self._broken = False
        infos = self._infos()
        infos["_action_mask"] = np.isin(np.arange(self.num_envs), chosen)
        self._show()
        return self._observations(), infos

    def _chosen(self, options: Mapping[str, Any] | None) -> np.ndarray:
        """Indices of the games that the options of a reset name. Raises ValueError or TypeError for a mask that does
        not fit.
        """
        if options is not None and not isinstance(options, Mapping):
            raise ValueError(
                f"options={options!r} is not allowed: it must be a mapping with the key 'reset_mask', or None"
            )
        others = [name for name in options or {} if name != "reset_mask"]
        if others:
            warnings.warn(
                f"reset options {', '.join(map(repr, others))} ignored: a batch takes 'reset_mask' only", stacklevel=3
            )
        everybody = np.arange(self.num_envs)
        if not options or "reset_mask" not in options:
            return everybody
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(
                f"options['reset_mask']={mask!r} is not allowed: it must be a bool array of shape ({self.num_envs},)"
            )
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"options['reset_mask']: it must be of shape ({self.num_envs},) with at least one True, not {mask!r}"
            )
        if self._broken and not mask.all():
            raise gymnasium.error.ResetNeeded("an exception broke the games off: reset all of them")
        return everybody[mask]

    def _checked_seeds(self, seed: Any) -> list[int | None]:
        """A seed for each game, or None. Raises ValueError for anything else."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, np.ndarray) and seed.ndim == 1:
            seed = list(seed)
        if not isinstance(seed, Sequence) or isinstance(seed, str):
            first: int = check_seed(seed)  # type: ignore[arg-type]  # which refuses a text
            check_seed(first + self.num_envs - 1)
            return [first + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(
                f"seed: {len(seed)} seeds are not allowed: there must be one, or one for each of the {self.num_envs}"
                " games"
            )
        return [None if one is None else check_seed(one) for one in seed]

    def _seed_games(self, games: np.ndarray, seeds: list[int]) -> None:
        for i, seed in zip(games.tolist(), seeds, strict=True):
            self._opponents.reset(i, seed)
            self._seeds[i, -1] = opponent_seed(seed, self.rules.num_players - 1)
        self._seeds[:, :-1] = self._opponents.seeds
        self._seeded[games] = True
        kernels.begin_games(self.states, games, np.array(seeds, np.uint64))

    def _deal(self, games: np.ndarray, next_deck: np.ndarray) -> None:
        """Deal in these games, with the next deck where so marked, until the learner has a turn in each."""
        self._done[games] = False
        for _ in range(MOST_DEALS_WITHOUT_DECISION):
            kernels.begin_episodes(
                self._compiled, self.states, games, next_deck, self._fixed_seat, self.learner_seats, self._log
            )
            self._play_on(games)
            games = games[self.states["status"][games] != RUNNING]
            if not len(games):
                return
            next_deck = np.ones(len(games), np.bool_)
        raise no_decision()

    def step(self, actions: np.ndarray) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take the learner's action in each game; see the class.

        Raises ActionTypeError for actions that are not integers, ValueError for another shape than (num_envs,), and
        with ``illegal_action="raise"`` IllegalActionError, naming the game, with nothing changed in any of them.
        """
        self._check_can_step()
        actions = action_numbers(actions, self.num_envs)
        anew = np.flatnonzero(self._done)
        illegal = np.zeros(self.num_envs, np.bool_)
        entry.find_illegal(self._legal, actions, illegal)
        illegal[anew] = False
        if self.illegal_action == "raise" and illegal.any():
            first = int(illegal.argmax())
            raise IllegalActionError(f"actions[{first}]={actions[first]} is not allowed")
        penalised = illegal if self.illegal_action == "penalise" else np.zeros(self.num_envs, np.bool_)
        going = np.flatnonzero(~(penalised | self._done))
        self._broken = True  # until all is done
        self._deal(anew, np.ones(len(anew), np.bool_))
        self._log = kernels.act(
            self._compiled, self.states, going, actions, illegal, self._views, self._compiled_opponents, self._log
        )
        self._play_on(going)
        status = self.states["status"]
        terminated, truncated = (status == TERMINATED) | penalised, status == TRUNCATED
        rewards = np.zeros(self.num_envs)
        kernels.rewards(self._compiled, self.states, self.learner_seats, rewards)
        rewards[penalised] = ILLEGAL_REWARD
        self._done = terminated | truncated
        shown = self._observations()
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._done.any():
            shown, infos = self._dealt_in_the_same_step(illegal, shown)
        else:
            infos = {**self._infos(), **_flags(illegal)}
        self._broken = False
        self._show()
        return shown, rewards, terminated, truncated, infos

    def _check_can_step(self) -> None:
        if not self._seeded.all():
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        if self._broken:
            raise gymnasium.error.ResetNeeded("an exception broke the games off: call reset() before step()")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._done.any():
            first = int(self._done.argmax())
            raise gymnasium.error.ResetNeeded(
                f"game {first} is over: reset it by options={{'reset_mask': ...}} before step()"
            )

    def _dealt_in_the_same_step(self, illegal: np.ndarray, last: Observation) -> tuple[Observation, dict[str, Any]]:
        """Observations and infos of a step in which games have ended: the next deals, and the last observations in the
        infos.
        """
        is_over = self._done.copy()
        ended = np.flatnonzero(is_over)
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in ended:
            final_obs[i] = {name: rows[i] for name, rows in last.items()} if isinstance(last, dict) else last[i]
        nothing = np.zeros((self.num_envs, NUM_ACTIONS), np.int8)
        final = {"action_mask": nothing, "_action_mask": is_over, **_flags(illegal & is_over)}
        self._deal(ended, np.ones(len(ended), np.bool_))
        final_infos = {"final_obs": final_obs, "_final_obs": is_over, "final_info": final, "_final_info": is_over}
        return self._observations(), {**self._infos(), **_flags(illegal & ~is_over), **final_infos}

    def _play_on(self, games: np.ndarray) -> None:
        """Play the opponents' turns in these games, and forced ones of the learner if those are skipped."""
        while True:
            self._log = kernels.play_on(
                self._compiled,
                self.states,
                games,
                self._views,
                self._compiled_opponents,
                (self.learner_seats, self.skip_forced),
                self._legal,
                self._log,
            )
            if not self._asked.any():
                return
            places = (
                self.states["turn"][games].astype(np.int64) - self.learner_seats[games]
            ) % self.rules.num_players - 1
            waiting = (self.states["status"][games] == RUNNING) & (places >= 0)
            if not waiting.any():
                return
            for place in range(len(self._asked)):
                asked = games[waiting & (places == place)]
                if len(asked):
                    entry.view_turns(self.states, asked, self._views)
                    actions = self._opponents.act(
                        place, asked, self._views[: len(asked)], self._histories(place, asked)
                    )
                    self._log = kernels.answer(self._compiled, self.states, asked, actions, self._log)

    def _histories(self, place: int, games: np.ndarray) -> Histories | None:
        """Those of some games, where the opponents at this place want them."""
        if self._log is None or not self._opponents.want_histories[place]:
            return None
        events, _, lengths = self._log
        return Histories(events, lengths)[games]

    def _observations(self) -> Observation:
        observations = np.empty((self.num_envs, self.layout.size), np.int8)
        kernels.observe(self._compiled, self.states, self.learner_seats, observations.reshape(-1))
        if self.observation_dtype != "int8":
            observations = scaled(observations, self._high)
        if not self.history:
            return observations
        recent = np.empty((self.num_envs, self.history, 3), np.int8)
        show_recent(self._log, self.learner_seats.astype(np.int8), self.rules.num_players, recent)
        return {"observation": observations, "history": recent}

    def _infos(self) -> dict[str, Any]:
        return {"action_mask": self._masks(), "_action_mask": np.ones(self.num_envs, np.bool_)}

    def _masks(self) -> np.ndarray:
        mask = np.empty((self.num_envs, NUM_ACTIONS), np.int8)
        kernels.unpack_masks(self._legal, mask.reshape(-1))
        mask[self._done] = 0
        return mask

    def action_masks(self) -> np.ndarray:
        """Which actions are legal now in each game, bool (num_envs, 53)."""
        return self._masks().astype(np.bool_)

    def render(self) -> tuple[Any, ...] | None:
        """What `RollingStoneEnv.render` gives, for each game; a window shows all. Raises ResetNeeded before the first
        reset.

        `rs_env.render.grid` puts the pictures of all games together.
        """
        if not self._seeded.all():
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        return self._renderer.render_all([Game.of_state(self.rules, state) for state in self.states])

    def _show(self) -> None:
        if self.render_mode == "human" and self._seeded.all():
            self.render()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if there is one."""
        self._renderer.close()


def _autoreset_mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        allowed = ", ".join(repr(each.value) for each in AutoresetMode)
        raise ValueError(
            f"autoreset_mode={mode!r} is not allowed: it must be an AutoresetMode or one of {allowed}"
        ) from None


def _flags(illegal: np.ndarray) -> dict[str, np.ndarray]:
    """The infos that say in which games, bool (num_envs,), the action was illegal."""
    return {"illegal_action": illegal.copy(), "_illegal_action": illegal} if illegal.any() else {}
