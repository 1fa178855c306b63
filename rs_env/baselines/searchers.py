"""The search players as agents: options, seeds and memory around the compiled searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rs_env.agent import Shown, own, seeds_for
from rs_env.baselines.adaptive import UNFIT, Told, Worlds, adaptive_all, remember_all, told_of
from rs_env.baselines.models import OpponentModel
from rs_env.baselines.rule_based import RuleBasedAgent
from rs_env.baselines.search import IMPOSSIBLE, NOT_TOLD, PlayOuts, new_memory, open_all, pimc_all, values_all
from rs_env.baselines.tips import LADDER, weights_of
from rs_env.baselines.tree import NODE, Tree, ismcts_all
from rs_env.cards import NUM_ACTIONS
from rs_env.checks import check_seed, check_whole, check_within
from rs_env.engine.state import STATE, compile_rules
from rs_env.engine.view import as_views, as_views_of_any_seat
from rs_env.history import Histories
from rs_env.rules import MAX_PLAYERS, Rules, as_rules

_DEEPEST = 256  # actions that a tree follows below its root
_MOST = 1 << 24


class _Searcher(Shown):
    """What the search players share. Searches work in memory of the agent's own, so threads need an agent each."""

    def __init__(
        self,
        name: str,
        players: Sequence[tuple[np.ndarray, float]],
        horizon: int,
        endgame: int,
        looks_ahead: Sequence[bool] | None = None,
    ) -> None:
        """players: the play-out policies, weights of tips and shares of random actions.

        looks_ahead: whether a seat of each policy looks after itself in a tree; None: all do. horizon: most actions of
        a play-out. endgame: most cards in play where forced wins are looked for; 0: never.
        """
        self.name = name
        self._how = PlayOuts(
            np.array([weights for weights, _ in players]),
            np.array([noise for _, noise in players], np.float64),
            np.array([True] * len(players) if looks_ahead is None else looks_ahead, np.bool_),
            check_whole("horizon", horizon, 0, _MOST),
            check_whole("endgame", endgame, 0, 52),
            turns=max(len(players) - 1, 1),
        )
        self._memory = new_memory()
        self.reset(0)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on."""
        self._seed = np.uint64(check_seed(seed))


def _policies(policy: str, noise: float, own_noise: float, spread: float = 0.0) -> list[tuple[np.ndarray, float]]:
    """The play-out policies of the others and, the last one, of the searching seat: all the player `policy` of
    `rs_env.baselines.tips.LADDER`.

    noise, own_noise: shares of random actions of the others and of the searching seat. spread: added to the others'
    share in every second world, since nobody knows how careless they are.
    """
    if policy not in LADDER:
        raise ValueError(f"policy={policy!r} is not allowed: it must be one of {', '.join(map(repr, LADDER))}")
    shares = [check_within("noise", noise, 1.0), check_within("own_noise", own_noise, 1.0)]
    if check_within("spread", spread, 1.0) > 0.0:
        shares.insert(1, check_within("noise + spread", noise + spread, 1.0))
    return [(weights_of(**LADDER[policy]), 1.0 if policy == "random" else share) for share in shares]


def _new_tree(iterations: int, exploration: float) -> Tree:
    """Memory for a tree of so many iterations. Raises ValueError, naming the option, for what is not allowed."""
    check_within("exploration", exploration, 100.0)
    check_whole("iterations", iterations, 1, _MOST)
    return Tree(np.zeros(iterations + 1, NODE), np.zeros(_DEEPEST, np.int64), float(exploration))


def _possible(actions: np.ndarray) -> np.ndarray:
    """The actions. Raises ValueError where a view was impossible."""
    impossible = np.flatnonzero(actions == IMPOSSIBLE)
    if len(impossible):
        raise ValueError(f"views[{impossible[0]}]: no deal of the hidden cards agrees with it")
    return actions


@own
class Pimc(_Searcher):
    """Flat Monte Carlo over `worlds` sampled deals; see `rs_env.baselines.search`."""

    def __init__(
        self,
        name: str = "pimc",
        *,
        worlds: int = 32,
        policy: str = "random",
        noise: float = 0.1,
        own_noise: float = 0.1,
        horizon: int = 30,
        endgame: int = 12,
        spread: float = 0.0,
    ) -> None:
        super().__init__(name, _policies(policy, noise, own_noise, spread), horizon, endgame)
        self._worlds = check_whole("worlds", worlds, 1, _MOST)

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action for each view."""
        views = as_views(views)
        actions = np.empty(len(views), np.int64)
        pimc_all(views, seeds_for(views, self._seed, seeds), self._worlds, self._how, self._memory, actions)
        return _possible(actions)

    def values(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """The mean utility of each action, float64 (B, 53), 0..1, NaN where it is not legal; `act` takes the highest.

        Where the others play out at random, an action that loses at once in every world has a negative one.
        """
        views = as_views(views)
        return self._values(views, seeds, np.full((len(views), MAX_PLAYERS), NOT_TOLD))

    def _values(self, views: np.ndarray, seeds: np.ndarray | None, told: np.ndarray) -> np.ndarray:
        """As `values`. told: int64 (B, MAX_PLAYERS), the number of the play-out policy of each seat, or `NOT_TOLD`."""
        values, actions = np.full((len(views), NUM_ACTIONS), np.nan), np.empty(len(views), np.int64)
        seeds = seeds_for(views, self._seed, seeds)
        values_all(views, seeds, told, self._worlds, self._how, self._memory, values, actions)
        _possible(actions)
        return values


class Informed(Pimc):
    """Flat Monte Carlo that is told who sits where, as a teacher may be: players that follow rules do so in its
    play-outs.

    players: rule-based ones that it knows. options: of `Pimc`, for itself and for all others.
    """

    noise = 0.02
    """Share of random actions of the players that it knows: where they alone decide, deals may never end."""

    def __init__(self, players: Sequence[RuleBasedAgent], **options: Any) -> None:
        super().__init__("informed", **options)
        how, turns = self._how, self._how.turns
        random = [not player.weights.any() for player in players]
        self._how = how._replace(
            weights=np.concatenate(
                [how.weights[:turns], *(player.weights[None] for player in players), how.weights[turns:]]
            ),
            noise=np.concatenate([how.noise[:turns], np.where(random, 1.0, self.noise), how.noise[turns:]]),
            looks_ahead=np.ones(len(how.noise) + len(players), np.bool_),
        )

    def values_among(self, views: np.ndarray, seated: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """As `values`, among these players: int64 (B, n), the number of the player on each seat, or `NOT_TOLD`. What
        stands for the seat that views does not matter.
        """
        views = as_views(views)
        told = np.full((len(views), MAX_PLAYERS), NOT_TOLD)
        told[:, : seated.shape[1]] = np.where(seated == NOT_TOLD, NOT_TOLD, seated + self._how.turns)
        return self._values(views, seeds, told)


@own
class Ismcts(_Searcher):
    """Information-set Monte Carlo tree search with so many `iterations`; see `rs_env.baselines.tree`."""

    def __init__(
        self,
        name: str = "ismcts",
        *,
        iterations: int = 400,
        exploration: float = 0.5,
        policy: str = "heuristic",
        noise: float = 0.1,
        own_noise: float = 0.5,
        horizon: int = 60,
    ) -> None:
        super().__init__(name, _policies(policy, noise, own_noise), horizon, 0)
        self._iterations, self._tree = iterations, _new_tree(iterations, exploration)

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action for each view."""
        views = as_views(views)
        actions = np.empty(len(views), np.int64)
        seeds = seeds_for(views, self._seed, seeds)
        ismcts_all(views, seeds, self._iterations, self._how, self._memory, self._tree, actions)
        return _possible(actions)


class SeesAll(_Searcher):
    """Flat Monte Carlo with all hands open: it cheats, as a measure of what hidden cards are worth.

    Only the arena asks it, by `act_states`, and only in comparisons that are declared unfair.
    """

    cheats = True

    def __init__(
        self,
        name: str = "sees_all",
        *,
        samples: int = 64,
        policy: str = "heuristic",
        noise: float = 0.05,
        own_noise: float = 0.5,
        horizon: int = 100,
        endgame: int = 12,
    ) -> None:
        super().__init__(name, _policies(policy, noise, own_noise), horizon, endgame)
        self._samples = check_whole("samples", samples, 1, _MOST)

    def act_states(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """One legal action, int64 (B,), for each state (dtype `rs_env.engine.state.STATE`) of a game that goes on."""
        actions = np.empty(len(states), np.int64)
        compiled = compile_rules(as_rules(rules))
        open_all(compiled, states, self._seed, self._samples, self._how, self._memory, actions)
        return actions


@own
class Adaptive(_Searcher):
    """A search that asks who the others are, see `rs_env.baselines.adaptive`.

    worlds: sampled for each decision and weighed by the public history. iterations: of the tree, each in a world that
    is drawn by the weights. budget: actions that an iteration may take on average: where they take more there are
    fewer of them, so that a decision takes no longer. exploration: factor of the confidence bound. noise:
    share of random actions of the seat itself in play-outs. horizon: most actions of a play-out. brief: the same where
    somebody else is taken for a player at random, whose chances soon blur what comes of an action. memory: decisions of
    the others that are looked at. types: names of `rs_env.baselines.models.TYPES`, joined by +; all: every one. trust:
    power of the worlds' weights; 0 takes all worlds as equally likely, and only the types are learnt.

    A row of its memories is float64 (MAX_PLAYERS, T): how likely each seat, counted from the viewer, is of each type.
    """

    change = 0.05
    """How likely it takes it that somebody else, of any type, sits on a seat at the next deal of a sitting, in 0..1; at
    0 nothing would unsettle what it once took for sure, at 1 it remembers nothing.
    """

    def __init__(
        self,
        name: str = "adaptive",
        *,
        worlds: int = 64,
        iterations: int = 300,
        budget: int = 40,
        exploration: float = 0.5,
        noise: float = 0.5,
        horizon: int = 60,
        brief: int = 25,
        memory: int = 128,
        types: str = "all",
        trust: float = 1.0,
    ) -> None:
        check_whole("worlds", worlds, 1, 1 << 16)
        self._iterations, self._tree = iterations, _new_tree(iterations, exploration)
        self._budget = iterations * check_whole("budget", budget, 1, _MOST)
        self._model = OpponentModel(None if types == "all" else types.split("+"), memory)
        mine = (weights_of(**LADDER["heuristic"]), check_within("noise", noise, 1.0))
        others = [(player.weights, player.noise) for player in self._model.play_outs]
        super().__init__(name, [*others, mine], horizon, 0, [*self._model.looks_ahead, True])
        self._brief = self._how._replace(horizon=check_whole("brief", brief, 0, _MOST))
        self._worlds = Worlds(
            np.zeros(worlds, STATE),
            np.zeros(worlds),
            np.zeros((worlds, MAX_PLAYERS, len(self._model.names))),
            self._model.trace,
            check_within("trust", trust, 1.0),
        )

    def act(
        self,
        views: np.ndarray,
        seeds: np.ndarray | None = None,
        histories: Histories | None = None,
        memories: np.ndarray | None = None,
    ) -> np.ndarray:
        """One legal action for each view; without histories and memories it knows nothing of the others."""
        views = as_views(views)
        actions = np.empty(len(views), np.int64)
        told, seeds = self._told(views, histories, memories), seeds_for(views, self._seed, seeds)
        model, memory = (self._how, self._brief, self._model.rating), (self._memory, self._worlds, self._tree)
        adaptive_all(views, seeds, told, self._iterations, self._budget, model, memory, actions)
        unfit = np.flatnonzero(actions == UNFIT)
        if len(unfit):
            raise ValueError(f"histories: number {unfit[0]} does not lead to its view")
        return _possible(actions)

    def new_memories(self, count: int) -> np.ndarray:
        """Rows that know no more than how common each type is."""
        return np.tile(self._model.prior, (count, MAX_PLAYERS, 1))

    def remember(self, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
        """The rows after these deals; raises ValueError for a history that does not lead to its view."""
        views, after = as_views_of_any_seat(views), self.new_memories(len(views))
        told, seeds = self._told(views, histories, memories), seeds_for(views, self._seed, None)
        memory, model, change = (self._memory, self._worlds), self._model, check_within("change", self.change, 1.0)
        unfit = remember_all(views, seeds, told, model.prior, float(change), model.rating, memory, after)
        if unfit >= 0:
            raise ValueError(f"histories: number {unfit} does not lead to its view, or no deal agrees with that")
        return after

    def _told(self, views: np.ndarray, histories: Histories | None, memories: np.ndarray | None) -> Told:
        """Histories and memories, checked, as compiled code takes them."""
        blank = self.new_memories(len(views))
        priors = blank if memories is None else np.array(memories, order="C")
        if priors.shape != blank.shape or priors.dtype != blank.dtype or not ((priors > 0.0) & (priors <= 1.0)).all():
            raise ValueError(
                f"memories: {priors.dtype} of shape {priors.shape} is not allowed: they must be probabilities, float64"
                f" {blank.shape}, as `new_memories` and `remember` give them"
            )
        return told_of(histories, priors)
