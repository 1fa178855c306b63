"""Flat Monte Carlo guided by a network ("search").

As in `rs_env.baselines.search`, worlds are deals of the hidden cards that agree with the view, all actions meet the
same worlds and the same random numbers, and what counts is the mean utility of an action. But every seat plays out by
the policy of the network, from what it would observe in that world, and a play-out ends early: at the first decision of
the searching seat after `horizon` actions, where the network says what the position is worth to that seat. Networks
learn values at decisions of the seat that observes, so they are asked for no others.

The policy of the network in the view itself is the prior. An action that it hardly ever takes is not tried, and the
logarithm of its probability, times a weight, is added to the mean utility. What is highest then is the likeliest action
of the policy that does best under a penalty for leaving the prior (J.-B. Grill et al., "Monte-Carlo Tree Search as
Regularized Policy Optimization", ICML 2020).

Play-outs go on side by side: compiled code takes all of them on to where somebody has a choice, and the network is
asked for all at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rs_env.baselines.search import PATIENCE, single_deal, utility
from rs_env.engine import play
from rs_env.engine.belief import draw, new_belief, prepare
from rs_env.engine.bits import EMPTY, address_of, lowest, without_lowest
from rs_env.engine.jit import njit
from rs_env.engine.observation import encode
from rs_env.engine.rng import advance, mix, unit
from rs_env.engine.state import RULES, RUNNING, STATE
from rs_env.engine.types import (
    Action,
    ActionSet,
    Array,
    CompiledRules,
    Number,
    Real,
    RulesArray,
    Seat,
    State,
    States,
    Views,
)
from rs_env.engine.view import view_key
from rs_env.scorings import Basis

LONGEST = 64  # actions beyond the horizon after which a play-out ends, whoever is to act
CHOOSING, ENDING, OVER = 0, 1, 2  # what a play-out needs: a choice, the value of its last position, nothing
_OWN_HAND, _ALL_HANDS = int(Basis.OWN_HAND), int(Basis.ALL_HANDS)


class SideBySide(NamedTuple):
    """Play-outs of one search; number ``w * actions + k`` begins with the k-th action in world w."""

    rules_array: RulesArray
    """Two records of dtype `RULES`: the rules of the deal, less the match, and as they are, for observations."""

    beliefs: Array
    """One record of dtype `rs_env.engine.belief.BELIEF`."""

    states: States
    """Of dtype `STATE`, (P,)."""

    streams: Array
    """Uint64 (P,): what to draw from next; the same for all actions of a world."""

    taken: Array
    """Int64 (P,): number of actions taken."""

    stage: Array
    """Int8 (P,): CHOOSING, ENDING or OVER."""

    worth: Array
    """Float64 (P,): the utility for the searching seat, once the play-out is over."""

    shown: Array
    """Int64 (P,): which play-out each row for the network shows."""


def new_side_by_side(count: int) -> SideBySide:
    """Memory for so many play-outs."""
    return SideBySide(
        rules_array=np.zeros(2, RULES),
        beliefs=new_belief(),
        states=np.zeros(count, STATE),
        streams=np.zeros(count, np.uint64),
        taken=np.zeros(count, np.int64),
        stage=np.zeros(count, np.int8),
        worth=np.zeros(count),
        shown=np.zeros(count, np.int64),
    )


@njit(cache=True, nogil=True)
def begin(views: Views, seeds: Array, actions: Array, worlds: Number, outs: SideBySide) -> bool:
    """Take each of the actions in each of so many worlds of the first view; False where no deal agrees with it."""
    view = views[0]
    single_deal(outs.rules_array, view.rules)
    outs.rules_array[1] = view.rules
    if not prepare(view, outs.beliefs[0]) > 0.0:
        return False
    stream, count = view_key(view, seeds[0]), actions.shape[0]
    for w in range(worlds):
        first = w * count
        stream = draw(view, outs.beliefs[0], stream, outs.states[first])
        for k in range(count - 1, -1, -1):  # the first one last, for it is the world itself
            i = first + k
            outs.states[i] = outs.states[first]
            play.step(outs.rules_array[0], outs.states[i], actions[k])
            outs.streams[i], outs.taken[i], outs.stage[i] = mix(stream), 1, CHOOSING
    return True


@njit(cache=True, nogil=True)
def show(outs: SideBySide, count: Number, seat: Seat, horizon: Number, observation: Array) -> Number:
    """Take the first `count` play-outs on to where somebody has a choice, and write what the network is asked for,
    observations of int8, to the first rows; returns their number.

    seat: who searches. In a match the network values more than the deal, so a play-out that the horizon ends is worth
    there what other searches make of it.
    """
    rules, rows = outs.rules_array[0], 0
    n, address, width = np.int64(rules.num_players), address_of(observation), observation.shape[1]
    for i in range(count):
        if outs.stage[i] == OVER:
            continue
        s = outs.states[i]
        _to_choice(rules, s, i, outs)
        viewer, beyond = np.int64(s.turn), outs.taken[i] - horizon
        ends = (viewer == seat and beyond >= 0) or beyond >= LONGEST
        if s.status != RUNNING or (ends and outs.rules_array[1].target > 0.0):
            outs.worth[i] = utility(rules, s, seat, outs.taken[i])
            outs.stage[i] = OVER
            continue
        if ends:
            outs.stage[i] = ENDING
            viewer = np.int64(seat)
        encode(outs.rules_array[1], s, n, viewer, s.hand[viewer], address, rows * width)
        outs.shown[rows] = i
        rows += 1
    return rows


def viewers(outs: SideBySide, rows: int, seat: int) -> np.ndarray:
    """Whose observation each of the first rows is, that `show` has written: int64 (rows,)."""
    shown = outs.shown[:rows]
    return np.where(outs.stage[shown] == ENDING, seat, outs.states["turn"][shown])


@njit
def _to_choice(rules: CompiledRules, s: State, i: Number, outs: SideBySide) -> None:
    """Take forced actions."""
    while s.status == RUNNING:
        legal = play.options(rules, s)
        if without_lowest(legal) != EMPTY:
            return
        play.step(rules, s, lowest(legal))
        outs.taken[i] += 1


@njit(cache=True, nogil=True)
def go_on(outs: SideBySide, rows: Number, logits: Array, values: Array, temperature: Real) -> None:
    """Take an action in each of the play-outs that were shown, drawn from the policy, or end it with its value."""
    rules = outs.rules_array[0]
    for row in range(rows):
        i = outs.shown[row]
        if outs.stage[i] == ENDING:
            outs.worth[i] = PATIENCE ** outs.taken[i] * _share(rules, np.float64(values[row]))
            outs.stage[i] = OVER
            continue
        s = outs.states[i]
        outs.streams[i] = advance(outs.streams[i])
        play.step(rules, s, drawn(play.options(rules, s), logits[row], temperature, unit(outs.streams[i])))
        outs.taken[i] += 1


@njit
def _share(rules: CompiledRules, reward: Real) -> Real:
    """An expected reward as a utility in 0..1, see `rs_env.baselines.search.utility`."""
    if rules.basis == _OWN_HAND or rules.basis == _ALL_HANDS:
        reward /= rules.deck_value
    if rules.low_is_good:
        reward += 1.0
    return min(max(reward, 0.0), 1.0)


@njit
def drawn(legal: ActionSet, logits: Array, temperature: Real, mark: Real) -> Action:
    """The legal action on which a mark in [0, 1) falls: the first one with a cumulated probability above it."""
    top, rest = -np.inf, legal
    while rest != EMPTY:
        top = max(top, logits[lowest(rest)])
        rest = without_lowest(rest)
    total, rest = 0.0, legal
    while rest != EMPTY:
        total += np.exp((logits[lowest(rest)] - top) / temperature)
        rest = without_lowest(rest)
    mark *= total
    while without_lowest(legal) != EMPTY:
        mark -= np.exp((logits[lowest(legal)] - top) / temperature)
        if mark < 0.0:
            break
        legal = without_lowest(legal)
    return lowest(legal)
