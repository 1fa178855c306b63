"""The compiled part of `RollingStoneVectorEnv`: loops over games in which one learner meets opponents.

games: indices (int64) of the games concerned. learners: the learner's seat in each game. opponents: a tuple (asked,
weights, seeds). By place, the number of seats to the left of the learner's left neighbour, `asked` (bool) says whether
an agent that is not compiled plays there, and `weights` is the rule-based player there, the last row being the one that
replaces illegal actions; `seeds` (uint64) are what these draw from, by game and place.
log: of all games, see `rs_env.engine.history`, or None; functions that take actions return it, or a longer one.
"""

from __future__ import annotations

import numpy as np

from rs_env.baselines import tips
from rs_env.cards import NUM_ACTIONS
from rs_env.engine import play
from rs_env.engine.bits import EMPTY, address_of, lowest, unpack_actions, without_lowest
from rs_env.engine.history import begin_log, step_in_log
from rs_env.engine.jit import njit
from rs_env.engine.observation import encode
from rs_env.engine.scoring import reward
from rs_env.engine.state import NOBODY, RUNNING
from rs_env.engine.types import Array, RulesArray, Seat, States, Views
from rs_env.engine.view import fill_view


@njit(cache=True, nogil=True)
def begin_games(states: States, games: Array, seeds: Array) -> None:
    """Make these games new ones, each number 0 of the seed beside it."""
    for k in range(games.shape[0]):
        play.begin_game(states[games[k]], seeds[k], np.uint64(0))


@njit(cache=True, nogil=True)
def begin_episodes(
    rules_array: RulesArray,
    states: States,
    games: Array,
    next_deck: Array,
    fixed_seat: Seat,
    learners: Array,
    log: tuple | None,
) -> None:
    """Deal, with the next deck where so marked, and write the learner's seat: the fixed one, or where that is -1 a
    drawn one.
    """
    for k in range(games.shape[0]):
        s = states[games[k]]
        if next_deck[k]:
            play.next_deck(rules_array[0], s)
        play.begin_episode(rules_array[0], s, NOBODY)
        begin_log(rules_array[0], s, log, games[k])
        learners[games[k]] = fixed_seat if fixed_seat >= 0 else play.seat_of_learner(rules_array[0], s)


@njit(cache=True, nogil=True)
def act(
    rules_array: RulesArray,
    states: States,
    games: Array,
    actions: Array,
    illegal: Array,
    views: Views,
    opponents: tuple,
    log: tuple | None,
) -> tuple | None:
    """Take the learner's actions, random ones in place of illegal ones."""
    _, weights, seeds = opponents
    chances = np.empty(tips.NUM_CHANCES)
    for k in range(games.shape[0]):
        i = games[k]
        action = actions[i]
        if illegal[i]:
            fill_view(rules_array[0], states[i], states[i].turn, views[0])
            action = tips.act(weights[-1], views[0], seeds[i, -1], chances)
        log = step_in_log(rules_array[0], states[i], action, log, i)
    return log


@njit(cache=True, nogil=True)
def play_on(
    rules_array: RulesArray,
    states: States,
    games: Array,
    views: Views,
    opponents: tuple,
    learners: tuple,
    legal: Array,
    log: tuple | None,
) -> tuple | None:
    """Play each game to the learner's turn, to that of an opponent that must be asked, or to the end; write the legal
    actions there.

    learners: a tuple (learners, skip_forced); the latter says whether learners' turns with one legal action are played.
    """
    asked, weights, seeds = opponents
    seats, skip_forced = learners
    chances = np.empty(tips.NUM_CHANCES)
    n = np.int64(rules_array[0].num_players)
    for k in range(games.shape[0]):
        i = games[k]
        s = states[i]
        learner = seats[i]
        options = play.legal_actions(rules_array[0], s)
        while s.status == RUNNING:
            seat = np.int64(s.turn)
            forced = without_lowest(options) == EMPTY
            if seat == learner and not (forced and skip_forced):
                break
            place = seat - learner - 1
            place += n if place < 0 else 0
            if forced:
                log = step_in_log(rules_array[0], s, lowest(options), log, i)
            elif asked[place]:
                break
            else:
                fill_view(rules_array[0], s, seat, views[0])
                action = tips.act(weights[place], views[0], seeds[i, place], chances)
                log = step_in_log(rules_array[0], s, action, log, i)
            options = play.legal_actions(rules_array[0], s)
        legal[i] = options
    return log


@njit(cache=True, nogil=True)
def answer(rules_array: RulesArray, states: States, games: Array, actions: Array, log: tuple | None) -> tuple | None:
    """Take what opponents that were asked have chosen in these games."""
    for k in range(games.shape[0]):
        log = step_in_log(rules_array[0], states[games[k]], actions[k], log, games[k])
    return log


@njit(cache=True, nogil=True)
def observe(rules_array: RulesArray, states: States, learners: Array, observation: Array) -> None:
    """Write what the learner sees in each game to one row after the other of an int8 array of one dimension."""
    n = np.int64(rules_array[0].num_players)
    size = observation.shape[0] // states.shape[0]
    for i in range(states.shape[0]):
        learner = learners[i]
        encode(rules_array[0], states[i], n, learner, states[i].hand[learner], address_of(observation), i * size)


@njit(cache=True, nogil=True)
def unpack_masks(legal: Array, mask: Array) -> None:
    """Write sets of legal actions as masks to an int8 array of one dimension."""
    for i in range(legal.shape[0]):
        unpack_actions(address_of(mask), i * NUM_ACTIONS, legal[i])


@njit(cache=True, nogil=True)
def rewards(rules_array: RulesArray, states: States, learners: Array, out: Array) -> None:
    """Write the learner's reward in each game."""
    for i in range(states.shape[0]):
        out[i] = reward(rules_array[0], states[i], learners[i])
