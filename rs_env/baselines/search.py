"""Flat Monte Carlo over sampled deals (perfect-information Monte Carlo, "pimc"), and what all search players share.

A *world* (a determinization, as other authors say) is a deal of the hidden cards that agrees with the view. In every
sampled world the search takes each legal action and plays the deal out; it chooses the action with the best mean
utility. All actions meet the same worlds and the same random numbers, which takes most of the noise out of their
differences.

A *play-out* goes on to the end of the deal or to the *horizon* of the search, a number of actions. In it every seat
plays by a policy and on its own knowledge: what it thinks of the others it has from what everybody knows and from its
own hand in that world. A *utility* lies in 0..1: what the deal is worth to a seat, whatever the scoring. A play-out
without a winner at the horizon is worth to each seat its share of 1 / (1 + cards in hand): getting rid of cards counts,
and going on for ever gains nothing. Every action makes what comes after it worth a little less (`PATIENCE`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rs_env.baselines.endgame import PLIES, forced_winner
from rs_env.baselines.tips import DUMP, NUM_CHANCES, at_random, chances_of, choose
from rs_env.engine import play
from rs_env.engine.belief import draw, new_belief, prepare
from rs_env.engine.bits import EMPTY, bit, lowest, nth_member, popcount, without_lowest
from rs_env.engine.jit import njit
from rs_env.engine.rng import advance, below, mix, unit
from rs_env.engine.scoring import deal_score, value_of, value_of_hands
from rs_env.engine.state import NO_SUIT, NOBODY, RULES, RUNNING, STATE, TRUNCATED
from rs_env.engine.types import (
    Action,
    ActionSet,
    Array,
    CompiledRules,
    Key,
    Number,
    Real,
    RulesArray,
    Seat,
    State,
    States,
    Stream,
    View,
    Views,
)
from rs_env.engine.view import view_key
from rs_env.rules import MAX_PLAYERS
from rs_env.scorings import Basis

PATIENCE = 0.999  # factor of the utility for every action that it takes
UNSETTLED = -1.0
_SURE_LOSS = -1.0  # instead of a total: an action that loses before the seat's next turn in every world
NOT_TOLD = -1  # instead of the number of a policy
IMPOSSIBLE, UNDECIDED = -1, -2  # instead of an action: no deal agrees with the view; a search must choose


class PlayOuts(NamedTuple):
    """How a search plays out."""

    weights: Array
    """Float64 (T, TIPS): the play-out policies, rule-based players of `rs_env.baselines.tips` by their weights. In flat
    Monte Carlo and tree search the last one is the searching seat's, and the worlds take turns at the first `turns` for
    all others of whom the search is not told.
    """

    noise: Array
    """Float64 (T,): the probability of a random action of each; from 1 on all are random."""

    looks_ahead: Array
    """Bool (T,): whether a seat of each policy looks after itself in a tree; else it plays by the policy there too."""

    horizon: int
    """Most actions of a play-out."""

    endgame: int
    """Most cards in play where forced wins are looked for; 0: never."""

    turns: int
    """How many of the policies the worlds take turns at."""


class Memory(NamedTuple):
    """Arrays that a search works in, made once for each agent."""

    rules_array: RulesArray
    """The rules of the deal that is played, less the match: one record of dtype `RULES`."""

    beliefs: Array
    """One record of dtype `rs_env.engine.belief.BELIEF`."""

    states: States
    """Of dtype `STATE`: a world, the state after an action in it, and those of an endgame, one for each ply."""

    untried: Array
    """Uint64 (PLIES + 1,): the actions of an endgame that are still to be tried, at each ply."""

    chances: Array
    """Float64 (NUM_CHANCES,): what the tips are told."""

    totals: Array
    """Float64 (64,): of each action, the sum of its utilities."""

    losses: Array
    """Int64 (64,): of each action, the number of worlds in which it loses before the seat's next turn."""

    policies: Array
    """Int64 (MAX_PLAYERS,): the number of each seat's play-out policy."""

    told: Array
    """Int64 (MAX_PLAYERS,): the number of the policy that the search is told to be a seat's, or `NOT_TOLD`."""


def new_memory() -> Memory:
    """Memory for one search at a time."""
    return Memory(
        rules_array=np.zeros(1, RULES),
        beliefs=new_belief(),
        states=np.zeros(PLIES + 2, STATE),
        untried=np.zeros(PLIES + 1, np.uint64),
        chances=np.zeros(NUM_CHANCES),
        totals=np.zeros(64),
        losses=np.zeros(64, np.int64),
        policies=np.zeros(MAX_PLAYERS, np.int64),
        told=np.full(MAX_PLAYERS, NOT_TOLD),
    )


_WIN, _PLACE, _OWN_HAND, _ALL_HANDS = (int(basis) for basis in Basis)


@njit
def utility(rules: CompiledRules, s: State, seat: Seat, taken: Number) -> Real:
    """What a deal that has ended, or was stopped after `taken` actions of a play-out, is worth to a seat."""
    worth = PATIENCE**taken
    if rules.basis == _OWN_HAND:
        share = value_of(rules, s.hand[seat]) / rules.deck_value
        return worth * (1.0 - share if rules.low_is_good else share)
    if rules.basis == _PLACE:
        return worth * deal_score(rules, s, seat)
    if rules.basis == _ALL_HANDS:
        worth *= value_of_hands(rules, s) / rules.deck_value
    if s.num_out > 0:
        return worth if s.out[0] == seat else 0.0
    if s.status == TRUNCATED:
        return 0.0
    total = 0.0
    for other in range(rules.num_players):
        total += 1.0 / (1 + s.hand_size[other])
    return worth / (1 + s.hand_size[seat]) / total


@njit
def settled(rules: CompiledRules, winner: Seat, seat: Seat) -> Real:
    """What a deal that `winner` is proven to win is worth to a seat, or UNSETTLED where that depends on the cards left
    in the hands.

    A win to come counts as one by the very next action: it is worth less than a win at once, or players would put it
    off for ever.
    """
    if winner != seat and (rules.basis == _WIN or rules.basis == _ALL_HANDS):
        return 0.0
    return PATIENCE**2 if rules.basis == _WIN else UNSETTLED


@njit
def action_by_policy(
    how: PlayOuts, memory: Memory, s: State, legal: ActionSet, stream: Stream
) -> tuple[Action, Stream]:
    """What the seat to act does by the play-out policy that ``memory.policies`` says, and the stream after its draws.

    It plays on its own knowledge: of the hands of this world it sees its own alone. Now and then it plays at random:
    fixed strategies would go round in circles.
    """
    if without_lowest(legal) == EMPTY:
        return lowest(legal), stream
    rules, seat = memory.rules_array[0], np.int64(s.turn)
    weights, noise = how.weights[memory.policies[seat]], how.noise[memory.policies[seat]]
    stream = advance(stream)
    if noise >= 1.0 or unit(stream) < noise:
        stream = advance(stream)
        return at_random(legal, stream), stream
    if s.led == NO_SUIT or weights[DUMP] != 0.0:  # else no tip asks for chances
        chances_of(rules, s, seat, s.hand[seat], memory.chances)
    return choose(weights, rules, s, seat, s.hand[seat], legal, memory.chances, stream), stream


@njit
def play_out(how: PlayOuts, memory: Memory, s: State, stream: Stream) -> Number:
    """Play a state on to its end or to the horizon; returns the number of actions taken."""
    rules = memory.rules_array[0]
    taken = 0
    while s.status == RUNNING and taken < how.horizon:
        action, stream = action_by_policy(how, memory, s, play.options(rules, s), stream)
        play.step(rules, s, action)
        taken += 1
    return taken


@njit
def try_actions(how: PlayOuts, memory: Memory, legal: ActionSet, seat: Seat, stream: Stream) -> None:
    """Add to ``memory.totals`` the utility for `seat` of each legal action in ``memory.states[0]``, each played out
    once.
    """
    rules, s = memory.rules_array[0], memory.states[1]
    while legal != EMPTY:
        action = lowest(legal)
        legal = without_lowest(legal)
        memory.states[1] = memory.states[0]
        play.step(rules, s, action)
        if how.endgame > 0 and s.status == RUNNING:
            winner = forced_winner(rules, memory.states, memory.untried, 1, how.endgame)
            worth = settled(rules, winner, seat) if winner != NOBODY else UNSETTLED
            if worth != UNSETTLED:
                memory.totals[action] += worth
                memory.losses[action] += winner != seat
                continue
        taken = play_out(how, memory, s, stream)
        memory.totals[action] += utility(rules, s, seat, 1 + taken)
        memory.losses[action] += taken < rules.num_players and s.num_out > 0 and s.out[0] != seat


@njit
def clear_totals(memory: Memory) -> None:
    """Begin a search."""
    memory.totals[:] = 0.0
    memory.losses[:] = 0


@njit
def put_sure_losses_last(memory: Memory, worlds: Number) -> None:
    """Take an action that loses at once in every world only where all others do so too.

    In a bad position no play-out at random ends with a win, and so all actions look alike; others tell by themselves.
    """
    for action in range(memory.losses.shape[0]):
        if memory.losses[action] == worlds:
            memory.totals[action] = min(memory.totals[action], _SURE_LOSS)


@njit
def best_action(totals: Array, legal: ActionSet, stream: Stream) -> Action:
    """The legal action with the highest total; equals are drawn at random."""
    best, equals = EMPTY, legal
    highest_total = -np.inf
    while equals != EMPTY:
        action = lowest(equals)
        equals = without_lowest(equals)
        if totals[action] > highest_total:
            highest_total, best = totals[action], EMPTY
        if totals[action] == highest_total:
            best |= bit(action)
    return nth_member(best, below(mix(stream), popcount(best)))


@njit
def single_deal(rules_array: RulesArray, rules: CompiledRules) -> None:
    """Copy a rule set to the first record of an array, less the match: a search looks at the running deal only."""
    rules_array[0] = rules
    rules_array[0].target = 0.0


@njit
def without_search(view: View, memory: Memory) -> Action:
    """The action if there is only one, else what `begin_search` returns."""
    return lowest(view.legal) if without_lowest(view.legal) == EMPTY else begin_search(view, memory)


@njit
def begin_search(view: View, memory: Memory) -> Action:
    """Prepare a search: UNDECIDED, or IMPOSSIBLE if no deal agrees with the view."""
    single_deal(memory.rules_array, view.rules)
    return np.int64(UNDECIDED if prepare(view, memory.beliefs[0]) > 0.0 else IMPOSSIBLE)


@njit
def assign_policies(how: PlayOuts, memory: Memory, seat: Seat, world: Number) -> None:
    """The searching seat plays out by the last policy, all others by what is told of them or by the first policies in
    turn.
    """
    for other in range(memory.told.shape[0]):
        told = memory.told[other]
        memory.policies[other] = world % how.turns if told == NOT_TOLD else told
    memory.policies[seat] = how.noise.shape[0] - 1


@njit
def _search_worlds(view: View, stream: Stream, worlds: Number, how: PlayOuts, memory: Memory) -> Stream:
    """Fill ``memory.totals`` from so many worlds, for a view with a choice; returns the stream after it."""
    seat = np.int64(view.seat)
    clear_totals(memory)
    for world in range(worlds):
        assign_policies(how, memory, seat, world)
        stream = draw(view, memory.beliefs[0], stream, memory.states[0])
        try_actions(how, memory, view.legal, seat, mix(stream))
    if how.noise[0] >= 1.0:
        put_sure_losses_last(memory, worlds)
    return stream


@njit(cache=True, nogil=True)
def pimc_all(views: Views, seeds: Array, worlds: Number, how: PlayOuts, memory: Memory, actions: Array) -> None:
    """Write the action of flat Monte Carlo for each view, from so many worlds."""
    for i in range(views.shape[0]):
        view = views[i]
        actions[i] = without_search(view, memory)
        if actions[i] == UNDECIDED:
            stream = _search_worlds(view, view_key(view, seeds[i]), worlds, how, memory)
            actions[i] = best_action(memory.totals, view.legal, stream)


@njit(cache=True, nogil=True)
def values_all(
    views: Views,
    seeds: Array,
    told: Array,
    worlds: Number,
    how: PlayOuts,
    memory: Memory,
    values: Array,
    actions: Array,
) -> None:
    """Write the mean utility of each legal action of each view to `values`, float64 (B, 53) of NaN.

    told: int64 (B, MAX_PLAYERS), what the search is told of each seat. actions: IMPOSSIBLE where no deal agrees with
    the view.
    """
    for i in range(views.shape[0]):
        view = views[i]
        memory.told[:] = told[i]
        actions[i] = begin_search(view, memory)
        if actions[i] == IMPOSSIBLE:
            continue
        _search_worlds(view, view_key(view, seeds[i]), worlds, how, memory)
        legal = view.legal
        while legal != EMPTY:
            action = lowest(legal)
            legal = without_lowest(legal)
            values[i, action] = memory.totals[action] / worlds
    memory.told[:] = NOT_TOLD


@njit(cache=True, nogil=True)
def open_all(
    rules_array: RulesArray, real: States, seed: Key, samples: Number, how: PlayOuts, memory: Memory, actions: Array
) -> None:
    """Write the action of flat Monte Carlo with open hands for each state, from so many play-outs of each action."""
    single_deal(memory.rules_array, rules_array[0])
    for i in range(real.shape[0]):
        memory.states[0] = real[i]
        s = memory.states[0]
        stream = mix(seed ^ s.hand[0] ^ mix(s.hand[1] + np.uint64(s.actions)))
        legal = play.options(memory.rules_array[0], s)
        clear_totals(memory)
        for sample in range(samples):
            assign_policies(how, memory, np.int64(s.turn), sample)
            stream = advance(stream)
            s.chance = stream  # whether a silent play will be noticed is hidden from everybody
            try_actions(how, memory, legal, np.int64(s.turn), mix(stream))
        actions[i] = best_action(memory.totals, legal, stream)
