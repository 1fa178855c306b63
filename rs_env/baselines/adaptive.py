"""A search that asks who the others are: worlds and players weighed by what has been played ("adaptive").

Worlds are drawn by their weights, a type for each other seat by its posterior in that world, and one tree grows over
all of them (`rs_env.baselines.tree`). In it a seat of a type that follows a rule acts by that rule. A seat of a type
that looks ahead looks after itself, as the searching seat does: its answers come from the search.

Between the deals of a sitting it remembers how likely each other seat is of each type. That is the forward algorithm of
a hidden Markov model (L. R. Rabiner, "A tutorial on hidden Markov models", Proc. IEEE 77, 1989): after each deal
somebody else, of any type, has sat down there with some probability. So no type is ever ruled out, what is long ago
counts less, and a player who changes is noticed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rs_env.baselines.evidence import Rating, weigh_worlds
from rs_env.baselines.search import UNDECIDED, Memory, PlayOuts, without_search
from rs_env.baselines.tree import Tree, clear_tree, is_decided, iterate, most_visited, put_sure_losses_last
from rs_env.engine.belief import draw, prepare
from rs_env.engine.history import trace
from rs_env.engine.jit import njit
from rs_env.engine.rng import advance, mix, unit
from rs_env.engine.types import Array, Number, Seat, States, Stream, Views
from rs_env.engine.view import view_key
from rs_env.history import Histories, check_histories

UNFIT = -3  # instead of an action: the history does not lead to the view
_LEAST_LIKELY = 1e-12  # that anybody is of any type: no type is ever ruled out
UNKNOWN = -1  # instead of the length of a history


class Worlds(NamedTuple):
    """Memory for sampled worlds and what the history says of them."""

    states: States
    """Of dtype `STATE`, (M,)."""

    weights: Array
    """Float64 (M,), of each world, adding up to one."""

    posterior: Array
    """Float64 (M, seats, T), how likely each seat is of each type in each world."""

    trace: tuple[Array, Array, Array, Array]
    """See `rs_env.engine.history.new_trace`."""

    trust: float
    """Power of the weights: 1 is Bayes' rule, 0 takes all worlds as equally likely."""


class Told(NamedTuple):
    """What an agent knows beside each of B views."""

    events: Array
    """Uint8 (B, L), the public history."""

    lengths: Array
    """Int64 (B,), of the histories; `UNKNOWN` where there is none."""

    priors: Array
    """Float64 (B, MAX_PLAYERS, T), how likely each seat, counted from the viewer, is of each type before the deal."""


def told_of(histories: Histories | None, priors: np.ndarray) -> Told:
    """What is known of B views, as compiled code takes it. priors: float64 (B, MAX_PLAYERS, T). Raises ValueError for
    histories that are none of B games.
    """
    if histories is None:
        return Told(np.zeros((len(priors), 1), np.uint8), np.full(len(priors), UNKNOWN), priors)
    return Told(*check_histories(histories, len(priors)), priors)


@njit
def _normalise(weights: Array, trust: float) -> None:
    """Turn logarithms of weights into weights to the power of `trust` that add up to one."""
    top, total = weights.max(), 0.0
    for m in range(weights.shape[0]):
        weights[m] = np.exp(trust * (weights[m] - top))
        total += weights[m]
    for m in range(weights.shape[0]):
        weights[m] /= total


@njit
def _pick(probabilities: Array, mark: float) -> Number:
    """The number of the entry that a mark in [0, 1) falls on."""
    for kind in range(probabilities.shape[0] - 1):
        mark -= probabilities[kind]
        if mark < 0.0:
            return kind
    return probabilities.shape[0] - 1


@njit
def _assign(memory: Memory, posterior: Array, seat: Seat, players: Number, own: Number, stream: Stream) -> Stream:
    """Draw a type for each other seat; the searching seat plays out by policy number `own`."""
    for other in range(players):
        stream = advance(stream)
        memory.policies[other] = own if other == seat else _pick(posterior[other], unit(stream))
    return stream


@njit
def _meets_chance(how: PlayOuts, memory: Memory, seat: Seat, players: Number) -> bool:
    """Whether somebody else has been given the type of a player at random."""
    chance = False
    for other in range(players):
        chance = chance or (other != seat and how.noise[memory.policies[other]] >= 1.0)
    return chance


@njit
def _weigh(
    views: Views, i: Number, told: Told, stream: Stream, rating: Rating, memory: tuple[Memory, Worlds]
) -> tuple[bool, Stream]:
    """Sample worlds that agree with view i, after `prepare`, and weigh them by what is told. Returns whether the
    history leads to the view, and the stream after the worlds.
    """
    view, worlds = views[i], memory[1]
    n, seat = np.int64(view.rules.num_players), np.int64(view.seat)
    for other in range(n):
        rating.prior[(seat + other) % n] = told.priors[i, other]
    count = np.int64(0)
    if told.lengths[i] != UNKNOWN:
        count = trace(view, told.events[i, : told.lengths[i]], worlds.trace)
    if count < 0:
        return False, stream
    for m in range(worlds.states.shape[0]):
        stream = draw(view, memory[0].beliefs[0], stream, worlds.states[m])
    weigh_worlds(view, count, worlds.states, rating, worlds.weights, worlds.posterior)
    _normalise(worlds.weights, worlds.trust)
    return True, stream


@njit(cache=True, nogil=True)
def remember_all(
    views: Views,
    seeds: Array,
    told: Told,
    fresh: Array,
    change: float,
    rating: Rating,
    memory: tuple[Memory, Worlds],
    after: Array,
) -> Number:
    """Write the priors of the next deal, from what was known before this one and from its whole history.

    `change` is the probability that somebody else sits down then, of each type with the probability `fresh`. Returns
    the number of the first history that does not lead to its view, or -1.
    """
    mine, worlds = memory
    for i in range(views.shape[0]):
        view = views[i]
        after[i] = told.priors[i]
        if prepare(view, mine.beliefs[0]) == 0.0:
            return i
        fits, _ = _weigh(views, i, told, view_key(view, seeds[i]), rating, memory)
        if not fits:
            return i
        n, seat = np.int64(view.rules.num_players), np.int64(view.seat)
        for other in range(1, n):
            for kind in range(fresh.shape[0]):
                likely = 0.0
                for m in range(worlds.weights.shape[0]):
                    likely += worlds.weights[m] * worlds.posterior[m, (seat + other) % n, kind]
                likely = (1.0 - change) * likely + change * fresh[kind]
                after[i, other, kind] = min(max(likely, _LEAST_LIKELY), 1.0)  # rounding goes beyond either end
    return -1


@njit(cache=True, nogil=True)
def adaptive_all(
    views: Views,
    seeds: Array,
    told: Told,
    iterations: Number,
    budget: Number,
    model: tuple[PlayOuts, PlayOuts, Rating],
    memory: tuple[Memory, Worlds, Tree],
    actions: Array,
) -> None:
    """Write the most visited action for each view, after so many iterations, or once they have taken `budget` actions
    together. Worlds are drawn uniformly and weighed by the events; each iteration is in one that is drawn by the
    weights.

    model: how to play out, how where somebody else is taken for a player at random, and what actions are rated by.
    """
    how, brief, rating = model
    mine, worlds, tree = memory
    for i in range(views.shape[0]):
        view = views[i]
        stream = view_key(view, seeds[i])
        actions[i] = without_search(view, mine)
        if actions[i] != UNDECIDED:
            continue
        fits, stream = _weigh(views, i, told, stream, rating, (mine, worlds))
        if not fits:
            actions[i] = UNFIT
            continue
        own, n, seat = np.int64(rating.noise.shape[0]), np.int64(view.rules.num_players), np.int64(view.seat)
        clear_tree(tree, mine)
        size, spent = 1, 0
        for done in range(iterations):
            if spent >= budget:
                break
            if done % 16 == 15 and is_decided(tree, mine, min(iterations - done, (budget - spent) * done / spent)):
                break
            stream = advance(stream)
            m = _pick(worlds.weights, unit(stream))
            mine.states[0] = worlds.states[m]
            stream = _assign(mine, worlds.posterior[m], seat, n, own, stream)
            how_now = brief if _meets_chance(brief, mine, seat, n) else how
            size, taken = iterate(how_now, mine, tree, size, mix(stream))
            spent += taken
        put_sure_losses_last(tree, mine)
        actions[i] = most_visited(tree, mine, view.legal, stream)
