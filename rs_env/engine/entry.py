"""The way into compiled code for single games: engine, view and encoder on element `i` of an array of records.

Numba takes arrays from Python much faster than single records, hence the arrays; in compiled code call the engine
itself.
"""

from __future__ import annotations

import numpy as np

from rs_env.cards import PICKUP
from rs_env.engine import play
from rs_env.engine.bits import EMPTY, ONE, address_of, bit, unpack_actions
from rs_env.engine.jit import njit
from rs_env.engine.observation import encode, encode_state
from rs_env.engine.scoring import reward, score
from rs_env.engine.types import Action, ActionSet, Array, Key, Number, RulesArray, Seat, States, Views
from rs_env.engine.view import fill_view

ILLEGAL = -1
_LOW_BITS = np.uint64(63)


@njit(cache=True, nogil=True)
def begin(
    rules_array: RulesArray, states: States, i: Number, seed: Key, index: Number, deal: Number, dealer: Seat
) -> None:
    """Game `index` of this seed from deck number `deal` on; the dealer is drawn where `dealer` is -1."""
    play.begin_game(states[i], np.uint64(seed), np.uint64(index))
    states[i].deal = deal
    play.begin_episode(rules_array[0], states[i], dealer)


@njit(cache=True, nogil=True)
def seat_of_learner(rules_array: RulesArray, states: States, i: Number) -> Seat:
    """The seat that a learner whose seat is drawn has in the deal that is going on."""
    return play.seat_of_learner(rules_array[0], states[i])


@njit(cache=True, nogil=True)
def deal_deck(rules_array: RulesArray, states: States, i: Number, deck: Array) -> None:
    """Deal the running deal again, from this deck (int8, in dealing order)."""
    for k in range(deck.shape[0]):
        states[i].deck[k] = deck[k]
    play.deal_out(rules_array[0], states[i])


@njit(cache=True, nogil=True)
def legal(rules_array: RulesArray, states: States, i: Number) -> ActionSet:
    """The set of legal actions of the seat to act."""
    return play.legal_actions(rules_array[0], states[i])


@njit(cache=True, nogil=True)
def find_illegal(legal: Array, actions: Array, illegal: Array) -> bool:
    """Whether an action (int64) is not a member of the legal set beside it; then mark, in `illegal`, which ones are
    not.

    The first loop has no branch, so that LLVM checks several at a time: no legal set has a member above `PICKUP`, and
    an action outside 0..63 has bits beyond the lowest six.
    """
    found = EMPTY
    for i in range(actions.shape[0]):
        action = np.uint64(actions[i])
        found |= (~(legal[i] >> (action & _LOW_BITS)) & ONE) | (action & ~_LOW_BITS)
    if found == EMPTY:
        return False
    for i in range(actions.shape[0]):
        illegal[i] = actions[i] < 0 or actions[i] > PICKUP or not legal[i] & bit(actions[i])
    return True


@njit(cache=True, nogil=True)
def view_turns(states: States, games: Array, views: Views) -> None:
    """Write what the seat to act may know, for each game listed by its index, to the first records of `views`."""
    for k in range(games.shape[0]):
        fill_view(views[0].rules, states[games[k]], states[games[k]].turn, views[k])


@njit(cache=True, nogil=True)
def observe(rules_array: RulesArray, states: States, i: Number, seat: Seat, observation: Array, mask: Array) -> None:
    """Write a seat's observation and action mask."""
    s = states[i]
    encode(rules_array[0], s, np.int64(rules_array[0].num_players), seat, s.hand[seat], address_of(observation), 0)
    unpack_actions(address_of(mask), 0, play.legal_actions(rules_array[0], s) if seat == s.turn else EMPTY)


@njit(cache=True, nogil=True)
def take_action(
    rules_array: RulesArray, states: States, i: Number, action: Action, observation: Array, mask: Array
) -> Number:
    """Take an action, write what the next seat to act sees, and return the new status; or ILLEGAL with nothing
    changed.
    """
    if action < 0 or action > PICKUP or not play.legal_actions(rules_array[0], states[i]) & bit(action):
        return np.int64(ILLEGAL)
    if action == PICKUP:
        play.step_pickup(rules_array[0], states[i])
    else:
        play.step_card(rules_array[0], states[i], action)
    observe(
        rules_array, states, i, np.int64(states[i].turn), observation, mask
    )  # the type that comes from Python: compiled once
    return np.int64(states[i].status)


@njit(cache=True, nogil=True)
def outcome(rules_array: RulesArray, states: States, i: Number, scores: Array, rewards: Array) -> None:
    """Write each seat's score and reward to float64 arrays of shape (n,)."""
    for seat in range(rules_array[0].num_players):
        scores[seat] = score(rules_array[0], states[i], seat)
        rewards[seat] = reward(rules_array[0], states[i], seat)


@njit(cache=True, nogil=True)
def view(states: States, i: Number, seat: Seat, views: Views) -> None:
    """Write what a seat may know to the first record of `views`, which comes from `empty_views`."""
    fill_view(views[0].rules, states[i], seat, views[0])


@njit(cache=True, nogil=True)
def global_state(rules_array: RulesArray, states: States, i: Number, vector: Array) -> None:
    """Write the global state vector."""
    encode_state(rules_array[0], states[i], address_of(vector), 0)
