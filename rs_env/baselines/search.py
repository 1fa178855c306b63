"""Flat Monte Carlo over sampled deals (perfect-information Monte Carlo, "pimc"), and what all search players share.

For every sampled world, a deal of the hidden cards that agrees with the view, each legal action is taken and the deal
played out; the action with the best mean utility is chosen. All actions meet the same worlds and the same random
numbers, which takes most of the noise out of their differences.

A *utility* lies in 0..1: what the deal is worth to a seat, whatever the scoring. A play-out that ends without a winner
at the cap of the search (not of the rules) is worth to each seat its share of 1 / (1 + cards in hand), so that getting
rid of cards counts and nothing is gained by going on for ever; and every action makes what comes after it worth a
little less (`PATIENCE`).
"""

from __future__ import annotations

import numpy as np

from rs_env.baselines.endgame import PLIES, forced_winner
from rs_env.baselines.tips import NUM_CHANCES, at_random, chances_of_state, choose
from rs_env.belief import draw, prepare
from rs_env.engine import play
from rs_env.engine.bits import EMPTY, bit, lowest, nth_member, popcount, without_lowest
from rs_env.engine.jit import njit
from rs_env.engine.rng import advance, below, mix, unit
from rs_env.engine.scoring import FACE_VALUES, PARLETT_VALUES, card_values, deal_score
from rs_env.engine.state import CARDS, FACE, NOBODY, PARLETT, PLACES, RUNNING, TRUNCATED, WIN
from rs_env.engine.view import view_key

PATIENCE = 0.999  # factor of the utility for every action that it takes
UNSETTLED = -1.0
IMPOSSIBLE, UNDECIDED = -1, -2  # instead of an action: no deal agrees with the view; a search must choose


@njit
def utility(rules, s, seat, taken):
    """What a deal that has ended, or was stopped after `taken` actions of a play-out, is worth to a seat."""
    worth = PATIENCE**taken
    if rules.scoring == CARDS:
        return worth * (1.0 - s.hand_size[seat] / rules.num_cards)
    if rules.scoring == FACE:
        return worth * (1.0 - card_values(s.hand[seat], FACE_VALUES) / card_values(rules.deck, FACE_VALUES))
    if rules.scoring == PLACES:
        return worth * deal_score(rules, s, seat)
    if rules.scoring == PARLETT:
        hands = EMPTY
        for other in range(rules.num_players):
            hands |= s.hand[other]
        worth *= card_values(hands, PARLETT_VALUES) / card_values(rules.deck, PARLETT_VALUES)
    if s.num_out > 0:
        return worth if s.out[0] == seat else 0.0
    if s.status == TRUNCATED:
        return 0.0
    total = 0.0
    for other in range(rules.num_players):
        total += 1.0 / (1 + s.hand_size[other])
    return worth / (1 + s.hand_size[seat]) / total


@njit
def settled(rules, winner, seat):
    """What a deal that `winner` is proven to win is worth to a seat, or UNSETTLED where that depends on the cards left
    in the hands.

    A win to come counts as one by the very next action: it is worth less than a win at once, or players would put it
    off for ever.
    """
    if winner == seat:
        return UNSETTLED if rules.scoring == PARLETT else PATIENCE**2
    return 0.0 if rules.scoring == WIN or rules.scoring == PARLETT else UNSETTLED


@njit
def play_out(rules, weights, noise, s, limit, stream, chances):
    """Play a state on to its end or for `limit` actions; returns how many were taken.

    All seats play by the tips with these weights, knowing all hands of this sampled world, but a random action with
    probability `noise`: fixed strategies would go round in circles.
    """
    taken = 0
    while s.status == RUNNING and taken < limit:
        legal = play.options(rules, s)
        if without_lowest(legal) == EMPTY:
            action = lowest(legal)
        else:
            stream = advance(stream)
            if noise >= 1.0 or unit(stream) < noise:
                stream = advance(stream)
                action = at_random(legal, stream)
            else:
                seat = np.int64(s.turn)
                chances_of_state(rules, s, seat, chances)
                action = choose(weights, rules, s, seat, s.hand[seat], legal, chances, stream)
        play.step(rules, s, action)
        taken += 1
    return taken


@njit
def try_actions(rules, weights, noise, limit, endgame, states, untried, legal, seat, stream, chances, totals):
    """Add to `totals` the utility for `seat` of each legal action in ``states[0]``, each played out once."""
    while legal != EMPTY:
        action = lowest(legal)
        legal = without_lowest(legal)
        states[1] = states[0]
        s = states[1]
        play.step(rules, s, action)
        if endgame > 0 and s.status == RUNNING:
            winner = forced_winner(rules, states, untried, 1, endgame)
            worth = settled(rules, winner, seat) if winner != NOBODY else UNSETTLED
            if worth != UNSETTLED:
                totals[action] += worth
                continue
        taken = play_out(rules, weights, noise, s, limit, stream, chances)
        totals[action] += utility(rules, s, seat, 1 + taken)


@njit
def best_action(totals, legal, stream):
    """The legal action with the highest total, equals drawn at random."""
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
def single_deal(rules_array, rules):
    """Copy a rule set to the first record of an array, less the match: search looks at the deal that is being
    played.
    """
    rules_array[0] = rules
    rules_array[0].target = 0.0


@njit
def without_search(view, rules, belief):
    """The action if there is only one, IMPOSSIBLE if no deal agrees with the view, else UNDECIDED: then the search is
    prepared.
    """
    if without_lowest(view.legal) == EMPTY:
        return lowest(view.legal)
    single_deal(rules, view.rules)
    return np.int64(UNDECIDED if prepare(view, belief) > 0.0 else IMPOSSIBLE)


@njit(cache=True, nogil=True)
def pimc_all(views, seeds, worlds, weights, noise, limit, endgame, rules, beliefs, states, actions):
    """Write the action of flat Monte Carlo for each view; `rules`, `beliefs` and `states` are memory to work in."""
    chances, totals, untried = np.empty(NUM_CHANCES), np.empty(64), np.empty(PLIES + 1, np.uint64)
    for i in range(views.shape[0]):
        view = views[i]
        stream = view_key(view, seeds[i])
        actions[i] = without_search(view, rules, beliefs[0])
        if actions[i] != UNDECIDED:
            continue
        totals[:] = 0.0
        for _ in range(worlds):
            stream = draw(view, beliefs[0], stream, states[0])
            try_actions(
                rules[0],
                weights,
                noise,
                limit,
                endgame,
                states,
                untried,
                view.legal,
                view.seat,
                mix(stream),
                chances,
                totals,
            )
        actions[i] = best_action(totals, view.legal, stream)


@njit(cache=True, nogil=True)
def open_all(real, compiled, seed, samples, weights, noise, limit, endgame, rules, states, actions):
    """Write the action of flat Monte Carlo with open hands for each state, from so many play-outs of each action."""
    chances, totals, untried = np.empty(NUM_CHANCES), np.empty(64), np.empty(PLIES + 1, np.uint64)
    single_deal(rules, compiled[0])
    for i in range(real.shape[0]):
        states[0] = real[i]
        s = states[0]
        stream = mix(seed ^ s.hand[0] ^ mix(s.hand[1] + np.uint64(s.actions)))
        legal = play.options(rules[0], s)
        totals[:] = 0.0
        for _ in range(samples):
            stream = advance(stream)
            s.chance = stream  # whether a silent play will be noticed is hidden from everybody
            try_actions(
                rules[0],
                weights,
                noise,
                limit,
                endgame,
                states,
                untried,
                legal,
                np.int64(s.turn),
                mix(stream),
                chances,
                totals,
            )
        actions[i] = best_action(totals, legal, stream)
