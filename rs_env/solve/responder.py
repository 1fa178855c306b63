"""The search responder: a player that knows how those it meets play, though not their cards, and looks ahead.

It improves on a *default* player: for every sampled world, a deal of the hidden cards that agrees with its view, it
takes each legal action and plays the deal out, the frozen agent itself choosing for the other seats and the default
player, now and then a random action, for its own, as in the rollout algorithm of G. Tesauro and G. R. Galperin
("On-line Policy Improvement using Monte-Carlo Search", NIPS 1996). It knows how the agent plays but neither the cards
nor the draws of those it meets: it asks copies of its own, with another seed. Worlds are sampled uniformly, not by how
likely the agent's play so far makes them. What it wins is measured by `rs_env.arena.best_response`.
"""

from __future__ import annotations

import copy
import hashlib

import numpy as np

from rs_env.agent import Agent, ask
from rs_env.baselines import as_agent
from rs_env.baselines.search import best_action, single_deal, utility
from rs_env.baselines.tips import at_random
from rs_env.belief import draw, new_belief, prepare
from rs_env.checks import check_seed, check_whole
from rs_env.engine import entry, play
from rs_env.engine.bits import EMPTY, lowest, without_lowest
from rs_env.engine.jit import njit
from rs_env.engine.rng import advance, mix, unit
from rs_env.engine.state import RULES, RUNNING, STATE
from rs_env.engine.view import VIEW, as_views, view_key

SEARCH = "search"
"""Its name, as of a responder."""

_AT_ONCE = 1 << 15  # play-outs side by side, about 25 MB of states and views
_MOST = 1 << 20


class SearchResponder:
    """An agent that searches for the best response to a frozen one; see the module.

    agent: whom it meets on all other seats, by name or as an object. An object is copied, and ``reset`` must determine
        all draws of the copy; what it remembers of earlier positions is not taken into account.
    worlds: sampled hidden deals for each decision; all actions meet the same ones.
    cap: actions after which a play-out is stopped and scored by `rs_env.baselines.search.utility`; in a match it looks
        at the running deal only.
    default: who plays its own seat in play-outs; None: the frozen agent.
    noise: share of random actions there; without any, fixed strategies would go round in circles.
    Raises ValueError, naming the argument, for what is not allowed.
    """

    def __init__(
        self,
        agent: Agent | str,
        *,
        worlds: int = 32,
        cap: int = 100,
        default: Agent | str | None = "heuristic",
        noise: float = 0.5,
    ) -> None:
        self._frozen = _copy(agent)
        self._default = _copy(agent if default is None else default)
        self._worlds = check_whole("worlds", worlds, 1, _MOST)
        self._cap = check_whole("cap", cap, 0, _MOST)
        if not isinstance(noise, int | float) or not 0 <= noise <= 1:
            raise ValueError(f"noise={noise!r} is not allowed: it must be a number in 0..1")
        self._noise = float(noise)
        self.name = f"{SEARCH}:worlds={worlds},cap={cap},default={self._default.name},noise={noise}"
        self._rules, self._beliefs = np.zeros(1, RULES), new_belief()
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
        views = as_views(views)
        if len(views) and (views["rules"] != views["rules"][0]).any():
            raise ValueError("views: several rule sets are not allowed: all views must be of one")
        actions = np.empty(len(views), np.int64)
        play_outs = self._worlds * np.bitwise_count(views["legal"]).astype(np.int64)
        batches = np.cumsum(play_outs) // _AT_ONCE
        for batch in np.unique(batches):
            mine = batches == batch
            actions[mine] = self._search(views[mine], int(play_outs[mine].sum()))
        return actions

    def _search(self, views: np.ndarray, size: int) -> np.ndarray:
        """The best actions for views that need so many play-outs."""
        single_deal(self._rules, views[0]["rules"])
        states, shown = np.zeros(size + 1, STATE), np.zeros(size, VIEW)
        shown["rules"] = views[0]["rules"]  # the agents see the rules of the game that is played, be it a match
        (roots, tried, taken), streams = np.zeros((3, size), np.int64), np.zeros(size, np.uint64)
        if not _branch(views, self._seed, self._worlds, self._rules, self._beliefs, states, roots, tried, streams):
            raise ValueError("views: no deal of the hidden cards agrees with one of them")
        seats = views["seat"][roots]
        waiting = np.arange(size)
        while True:
            waiting = waiting[: _play_on(self._rules, states, waiting, taken, self._cap, seats, self._noise, streams)]
            if not len(waiting):
                break
            own = states["turn"][waiting] == seats[waiting]
            for agent, some in ((self._default, waiting[own]), (self._frozen, waiting[~own])):
                if len(some):
                    entry.view_turns(states, some, shown)
                    _play(self._rules, states, some, ask(agent, shown[: len(some)]), taken)
        actions = np.empty(len(views), np.int64)
        _choose(views, self._seed, self._rules, states, roots, tried, taken, actions)
        return actions


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
def _branch(views, seed, worlds, rules, beliefs, states, roots, tried, streams):
    """Deal the worlds of each view, and in each of them take each legal action; the last state is memory for a world.

    roots, tried, streams: of each play-out the number of its view, its first action, and what its noise is drawn from.
    False where no deal agrees with a view.
    """
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
                roots[k], tried[k], streams[k] = i, lowest(legal), mix(stream)
                states[k] = world
                play.step(rules[0], states[k], tried[k])
                legal = without_lowest(legal)
                k += 1
    return True


@njit(cache=True, nogil=True)
def _play_on(rules, states, waiting, taken, cap, seats, noise, streams):
    """Play on where no agent chooses; moves the play-outs that then wait for one to the front, and returns their
    number.
    """
    count = 0
    for j in range(waiting.shape[0]):
        k = waiting[j]
        s = states[k]
        while s.status == RUNNING and taken[k] < cap:
            legal = play.options(rules[0], s)
            action = lowest(legal)
            if without_lowest(legal) != EMPTY:
                streams[k] = advance(streams[k])
                if s.turn != seats[k] or unit(streams[k]) >= noise:
                    waiting[count] = k
                    count += 1
                    break
                streams[k] = advance(streams[k])
                action = at_random(legal, streams[k])
            play.step(rules[0], s, action)
            taken[k] += 1
    return count


@njit(cache=True, nogil=True)
def _play(rules, states, some, actions, taken):
    for j in range(some.shape[0]):
        play.step(rules[0], states[some[j]], actions[j])
        taken[some[j]] += 1


@njit(cache=True, nogil=True)
def _choose(views, seed, rules, states, roots, tried, taken, actions):
    """Write for each view the action with the best mean utility."""
    totals = np.zeros((views.shape[0], 64))
    for k in range(roots.shape[0]):
        i = roots[k]
        totals[i, tried[k]] += utility(rules[0], states[k], np.int64(views[i].seat), 1 + taken[k])
    for i in range(views.shape[0]):
        actions[i] = best_action(totals[i], views[i].legal, view_key(views[i], seed))
