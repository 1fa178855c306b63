"""The search responder: a player that knows how its opponents play, though not their cards, and looks ahead.

It improves on a *default* player (G. Tesauro, G. R. Galperin, "On-line Policy Improvement using Monte-Carlo Search",
NIPS 1996). In every sampled world (see `rs_env.baselines.search`) it takes each legal action and plays the deal out:
the frozen agent itself chooses for the other seats, the default player for its own, with a random action now and then.
It knows how the agent plays but neither the cards nor the draws of its opponents: it asks copies of its own, with
another seed. It samples worlds uniformly, not by how likely the agent's play so far makes them.
`rs_env.arena.best_response` measures how much it wins.
"""

from __future__ import annotations

import copy
import hashlib

import numpy as np

from rs_env.agent import Agent, ask, wants_histories
from rs_env.baselines import as_agent
from rs_env.baselines.search import best_action, single_deal, utility
from rs_env.baselines.tips import at_random
from rs_env.checks import check_seed, check_whole
from rs_env.engine import entry, play
from rs_env.engine.belief import draw, new_belief, prepare
from rs_env.engine.bits import EMPTY, lowest, without_lowest
from rs_env.engine.history import step_in_log
from rs_env.engine.jit import njit
from rs_env.engine.rng import advance, mix, unit
from rs_env.engine.state import RULES, RUNNING, STATE
from rs_env.engine.types import Array, Key, Number, RulesArray, States, Views
from rs_env.engine.view import VIEW, as_views, view_key
from rs_env.history import Histories, Log, log_of

SEARCH = "search"
"""Its name, as of a responder."""

_AT_ONCE = 1 << 15  # play-outs side by side, about 25 MB of states and views
_MOST = 1 << 20


class SearchResponder:
    """An agent that searches for the best response to a frozen one; see the module.

    agent: the frozen agent on all other seats, by name or as an object. The responder plays with a
        copy, whose ``reset`` must determine all its draws; it does not take into account what the agent remembers of
        earlier positions.
    worlds: sampled hidden deals for each decision; all actions meet the same ones.
    horizon: most actions of a play-out, which `rs_env.baselines.search.utility` then scores; in a match it looks at
        the running deal only.
    default: the play-out policy of its own seat, an agent or its name; None: the frozen agent.
    noise: share of random actions there; without any, fixed strategies would go round in circles.
    Where one of the two agents wants histories, so does the responder: they get those of the real game, and what has
    happened in the play-out after them.
    Raises ValueError, naming the argument, the value and what is allowed.
    """

    def __init__(
        self,
        agent: Agent | str,
        *,
        worlds: int = 32,
        horizon: int = 100,
        default: Agent | str | None = "heuristic",
        noise: float = 0.5,
    ) -> None:
        self._frozen = _copy(agent)
        self._default = _copy(agent if default is None else default)
        self._worlds = check_whole("worlds", worlds, 1, _MOST)
        self._horizon = check_whole("horizon", horizon, 0, _MOST)
        if not isinstance(noise, int | float) or not 0 <= noise <= 1:
            raise ValueError(f"noise={noise!r} is not allowed: it must be a number in 0..1")
        self._noise = float(noise)
        self.name = f"{SEARCH}:worlds={worlds},horizon={horizon},default={self._default.name},noise={noise}"
        if any(map(wants_histories, self.asked)):
            self.act = self._act_by_histories  # type: ignore[method-assign]  # so that `wants_histories` sees it
        self._rules_array, self._beliefs = np.zeros(1, RULES), new_belief()
        self.reset(0)

    @property
    def asked(self) -> tuple[Agent, Agent]:
        """Its copies of the frozen agent and of the default player."""
        return self._frozen, self._default

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on; the copies in play-outs draw from seeds made of it, which no other player
        has.
        """
        number = check_seed(seed)
        self._seed = np.uint64(number)
        for agent, role in ((self._frozen, "frozen"), (self._default, "default")):
            digest = hashlib.blake2b(f"{number} {role} in play-outs".encode(), digest_size=8).digest()
            agent.reset(int.from_bytes(digest, "little"))

    def act(self, views: np.ndarray) -> np.ndarray:
        """One legal action for each view. Raises ValueError for views of several rule sets, and for impossible ones."""
        return self._act_by_histories(views)

    def _act_by_histories(self, views: np.ndarray, histories: Histories | None = None) -> np.ndarray:
        views = as_views(views)
        if len(views) and (views["rules"] != views["rules"][0]).any():
            raise ValueError("views: several rule sets are not allowed: all views must be of one")
        actions = np.empty(len(views), np.int64)
        play_outs = self._worlds * np.bitwise_count(views["legal"]).astype(np.int64)
        batches = np.cumsum(play_outs) // _AT_ONCE
        for batch in np.unique(batches):
            mine = batches == batch
            log = None if histories is None else log_of(views[mine], histories[mine])
            actions[mine] = self._search(views[mine], log, int(play_outs[mine].sum()))
        return actions

    def _search(self, views: np.ndarray, log: Log | None, size: int) -> np.ndarray:
        """The best actions for views, with the log of their games, that need so many play-outs."""
        single_deal(self._rules_array, views[0]["rules"])
        states, shown = np.zeros(size + 1, STATE), np.zeros(size, VIEW)
        shown["rules"] = views[0]["rules"]  # the agents see the rules of the game that is played, be it a match
        roots, tried, taken = np.zeros((3, size), np.int64)
        streams = np.zeros(size, np.uint64)
        play_outs = (roots, tried, streams)
        if not _branch(views, self._seed, self._worlds, self._beliefs, states, play_outs):
            raise ValueError("views: no deal of the hidden cards agrees with one of them")
        if log is not None:
            events, told, lengths = log
            log = events[roots], told[roots], lengths[roots]
        seats = views["seat"][roots]
        waiting = np.arange(size)
        log = _play(self._rules_array, states, waiting, tried, taken, log)
        noise = (seats, self._noise, streams)
        while True:
            count, log = _play_on(self._rules_array, states, waiting, taken, 1 + self._horizon, noise, log)
            waiting = waiting[:count]
            if not count:
                break
            own = states["turn"][waiting] == seats[waiting]
            for agent, some in ((self._default, waiting[own]), (self._frozen, waiting[~own])):
                if len(some):
                    entry.view_turns(states, some, shown)
                    chosen = ask(agent, shown[: len(some)], histories=_histories(agent, log, some))
                    log = _play(self._rules_array, states, some, chosen, taken, log)
        actions = np.empty(len(views), np.int64)
        _choose(views, self._seed, self._rules_array, states, roots, tried, taken, actions)
        return actions


def _histories(agent: Agent, log: Log | None, games: np.ndarray) -> Histories | None:
    """Those of some play-outs, where the agent wants them and they are known."""
    if log is None or not wants_histories(agent):
        return None
    events, _, lengths = log
    return Histories(events, lengths)[games]


def _copy(agent: Agent | str) -> Agent:
    """An agent of its own, since resetting it must not touch the one that plays."""
    if isinstance(agent, str):
        return as_agent(agent)
    checked = as_agent(agent)
    try:
        return copy.deepcopy(checked)
    except Exception as error:
        raise ValueError(f"agent {checked.name!r} is not allowed: it cannot be copied ({error})") from None


@njit(cache=True, nogil=True)
def _branch(views: Views, seed: Key, worlds: Number, beliefs: Array, states: States, play_outs: tuple) -> bool:
    """Deal the worlds of each view, each once for every legal action; the last state is memory for a world.

    play_outs: (roots, tried, streams), of each play-out the number of its view, its first action, and what its noise is
    drawn from. False where no deal agrees with a view.
    """
    roots, tried, streams = play_outs
    k, world = 0, states[states.shape[0] - 1]
    for i in range(views.shape[0]):
        view = views[i]
        stream = view_key(view, seed)
        if prepare(view, beliefs[0]) == 0.0:
            return False
        for _ in range(worlds):
            stream = draw(view, beliefs[0], stream, world)
            legal = view.legal
            while legal != EMPTY:
                roots[k] = i
                tried[k] = lowest(legal)
                streams[k] = mix(stream)
                states[k] = world
                legal = without_lowest(legal)
                k += 1
    return True


@njit(cache=True, nogil=True)
def _play_on(
    rules_array: RulesArray,
    states: States,
    waiting: Array,
    taken: Array,
    most: Number,
    noise: tuple,
    log: tuple | None,
) -> tuple:
    """Play on where no agent chooses, up to `most` actions in all; moves the play-outs that then wait for an agent to
    the front, and returns their number and the log.

    noise: (seats, share, streams), of each play-out the seat that takes this share of its actions at random, and what
    that is drawn from. log: of all play-outs, see `rs_env.engine.history`, or None.
    """
    seats, share, streams = noise
    count = 0
    for j in range(waiting.shape[0]):
        k = waiting[j]
        s = states[k]
        while s.status == RUNNING and taken[k] < most:
            legal = play.options(rules_array[0], s)
            action = lowest(legal)
            if without_lowest(legal) != EMPTY:
                streams[k] = advance(streams[k])
                if s.turn != seats[k] or unit(streams[k]) >= share:
                    waiting[count] = k
                    count += 1
                    break
                streams[k] = advance(streams[k])
                action = at_random(legal, streams[k])
            log = step_in_log(rules_array[0], s, action, log, k)
            taken[k] += 1
    return count, log


@njit(cache=True, nogil=True)
def _play(
    rules_array: RulesArray, states: States, some: Array, actions: Array, taken: Array, log: tuple | None
) -> tuple | None:
    """Take these actions in some play-outs; returns the log."""
    for j in range(some.shape[0]):
        log = step_in_log(rules_array[0], states[some[j]], actions[j], log, some[j])
        taken[some[j]] += 1
    return log


@njit(cache=True, nogil=True)
def _choose(
    views: Views,
    seed: Key,
    rules_array: RulesArray,
    states: States,
    roots: Array,
    tried: Array,
    taken: Array,
    actions: Array,
) -> None:
    """Write for each view the action with the best mean utility."""
    totals = np.zeros((views.shape[0], 64))
    for k in range(roots.shape[0]):
        i = roots[k]
        totals[i, tried[k]] += utility(rules_array[0], states[k], np.int64(views[i].seat), taken[k])
    for i in range(views.shape[0]):
        actions[i] = best_action(totals[i], views[i].legal, view_key(views[i], seed))
