"""The compiled part of `SelfPlayVectorEnv`: loops over an array of games, in one thread and in several."""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange, set_num_threads

from rs_env.cards import NUM_ACTIONS
from rs_env.engine import entry, play
from rs_env.engine.bits import (
    EMPTY,
    PICKUP_BIT,
    address_of,
    lowest,
    nth_member,
    popcount,
    unpack_actions,
    without_lowest,
)
from rs_env.engine.history import begin_log, step_in_log
from rs_env.engine.jit import njit
from rs_env.engine.observation import encode, encode_state
from rs_env.engine.packing import encode_packed
from rs_env.engine.rng import advance, below, game_key
from rs_env.engine.scoring import reward
from rs_env.engine.state import NOBODY, RUNNING, TERMINATED, TRUNCATED
from rs_env.engine.types import Action, Array, CompiledRules, Key, Number, RulesArray, State, States

POLICY_STREAM = np.uint64(0x5EED_0FAC_7104_5000)


@njit(cache=True, nogil=True)
def begin_games(rules_array: RulesArray, states: States, seed: Key, policy: Array) -> None:
    for i in range(states.shape[0]):
        play.begin_game(states[i], seed, np.uint64(i))
        play.begin_episode(rules_array[0], states[i], NOBODY)
        policy[i] = game_key(seed ^ POLICY_STREAM, np.uint64(i))


@njit(cache=True, nogil=True)
def next_episodes(rules_array: RulesArray, states: States) -> None:
    for i in range(states.shape[0]):
        play.next_deck(rules_array[0], states[i])
        play.begin_episode(rules_array[0], states[i], NOBODY)


@njit(cache=True, nogil=True)
def random_actions(legal: Array, policy: Array, out: Array) -> None:
    for i in range(legal.shape[0]):
        stream, options = advance(policy[i]), legal[i]
        policy[i] = stream
        out[i] = nth_member(options, below(stream, popcount(options)))


@njit(cache=True, nogil=True)
def play_randomly(rules_array: RulesArray, states: States, policy: Array, steps: Number) -> None:
    """Game after game, which keeps a game in the fastest memory; the pickup, known without a draw, has its own short
    way.
    """
    rules = rules_array[0]
    for i in range(states.shape[0]):
        s = states[i]
        stream = policy[i]
        for _ in range(steps):
            options = play.options(rules, s)
            if options == PICKUP_BIT:
                play.step_pickup(rules, s)
            else:
                stream = advance(stream)
                action = nth_member(options, below(stream, popcount(options)))
                if rules.plain:  # then the pickup is never one of several actions
                    play.step_card(rules, s, action)
                else:
                    play.step(rules, s, action)
            if s.status != RUNNING:
                play.next_deck(rules, s)
                play.begin_episode(rules, s, NOBODY)
        policy[i] = stream


@njit(inline="always")
def _advance(rules: CompiledRules, s: State, action: Action, skip_forced: bool) -> None:
    """Take an action, and forced ones after it."""
    play.step(rules, s, action)
    while skip_forced and s.status == RUNNING:
        legal = play.options(rules, s)
        if without_lowest(legal) != EMPTY:
            break
        play.step(rules, s, lowest(legal))


@njit
def _finish(rules: CompiledRules, s: State, outcomes: tuple, i: Number) -> None:
    """Write the outcome of an episode of game i that has ended, and start the next one."""
    rewards, terminated, truncated = outcomes
    terminated[i] = s.status == TERMINATED
    truncated[i] = s.status == TRUNCATED
    for seat in range(rules.num_players):
        rewards[i, seat] = reward(rules, s, seat)
    play.next_deck(rules, s)
    play.begin_episode(rules, s, NOBODY)


@njit(cache=True, nogil=True)
def run(
    rules_array: RulesArray, states: States, actions: Array, legal: Array, flags: tuple, shown: tuple, outcomes: tuple
) -> None:
    """Step the games and show them.

    flags: (act, skip_forced, packed): take the actions, else only show; play forced turns too; show packed
    observations, which need no mask.
    shown: (observation, mask, current_player), outcomes: (rewards, terminated, truncated): what is written, see
    `rs_env.envs.self_play.Batch`, with rows of observation as bytes. These are plain tuples, since Numba finds the type
    of named ones slowly.
    """
    rules = rules_array[0]
    n = np.int64(rules.num_players)
    act, skip_forced, packed = flags
    observation, mask, current_player = shown
    row, width = address_of(observation), observation.shape[1]
    mask_row = address_of(mask)
    rewards, terminated, truncated = outcomes
    rewards[:] = 0.0  # what follows writes here only where an episode ends
    terminated[:] = False
    truncated[:] = False
    for i in range(states.shape[0]):
        s = states[i]
        if act:
            _advance(rules, s, actions[i], skip_forced)
            if s.status != RUNNING:
                _finish(rules, s, outcomes, i)
        options = play.options(rules, s)
        if packed:
            encode_packed(rules, s, n, s.turn, s.hand[s.turn], options, row, i * width)
        else:
            if n == 4:  # the usual number as a constant, so that LLVM unrolls the loops over seats
                encode(rules, s, 4, s.turn, s.hand[s.turn], row, i * width)
            else:
                encode(rules, s, n, s.turn, s.hand[s.turn], row, i * width)
            unpack_actions(mask_row, i * NUM_ACTIONS, options)
        legal[i] = options
        current_player[i] = s.turn


# The same where a log is kept, see `rs_env.engine.history`: first these, then `run` to show the games. They return the
# log, or a longer one.


@njit(cache=True, nogil=True)
def global_states(rules_array: RulesArray, states: States, vectors: Array) -> None:
    """Write the global state of each game to a row of int8."""
    for i in range(states.shape[0]):
        encode_state(rules_array[0], states[i], address_of(vectors[i]), 0)


@njit(cache=True, nogil=True)
def begin_logs(rules_array: RulesArray, states: States, log: tuple) -> None:
    """Begin the logs of games that have just begun."""
    for i in range(states.shape[0]):
        begin_log(rules_array[0], states[i], log, i)


@njit(cache=True, nogil=True)
def act_in_log(
    rules_array: RulesArray, states: States, actions: Array, skip_forced: bool, outcomes: tuple, log: tuple
) -> tuple:
    """Step the games and write outcomes, as `run` does."""
    rules = rules_array[0]
    rewards, terminated, truncated = outcomes
    rewards[:] = 0.0
    terminated[:] = False
    truncated[:] = False
    for i in range(states.shape[0]):
        s = states[i]
        log = step_in_log(rules, s, actions[i], log, i)
        while skip_forced and s.status == RUNNING:
            legal = play.options(rules, s)
            if without_lowest(legal) != EMPTY:
                break
            log = step_in_log(rules, s, lowest(legal), log, i)
        if s.status != RUNNING:
            _finish(rules, s, outcomes, i)
            begin_log(rules, s, log, i)
    return log


@njit(cache=True, nogil=True)
def play_randomly_in_log(rules_array: RulesArray, states: States, policy: Array, steps: Number, log: tuple) -> tuple:
    """What `play_randomly` does, with the same draws."""
    rules = rules_array[0]
    for i in range(states.shape[0]):
        s = states[i]
        for _ in range(steps):
            options = play.options(rules, s)
            if options != PICKUP_BIT:
                policy[i] = advance(policy[i])
            log = step_in_log(rules, s, nth_member(options, below(policy[i], popcount(options))), log, i)
            if s.status != RUNNING:
                play.next_deck(rules, s)
                play.begin_episode(rules, s, NOBODY)
                begin_log(rules, s, log, i)
    return log


@njit(cache=True, nogil=True)
def scale(rows: Array, high: Array, out: Array) -> None:
    """Write rows of int8 divided by their upper bounds."""
    for i in range(rows.shape[0]):
        for j in range(high.shape[0]):
            out[i, j] = np.float32(rows[i, j]) / high[j]


# The same in parallel: thread c has game `bounds[c]` and those before `bounds[c + 1]`. Separate, so that OpenMP starts
# and these compile only where several threads are asked for.


@njit
def use_threads(count: Number) -> Number:
    """Let parallel loops run in this many threads from now on; returns the number before.

    From Python this costs more than waking the threads does.
    """
    before = get_num_threads()
    set_num_threads(count)
    return before


@njit(cache=True, nogil=True, parallel=True)
def find_illegal_parallel(bounds: Array, legal: Array, actions: Array, illegal: Array) -> bool:
    found = 0
    for c in prange(bounds.shape[0] - 1):
        a, b = bounds[c], bounds[c + 1]
        found += entry.find_illegal(legal[a:b], actions[a:b], illegal[a:b])
    return found != 0


@njit(cache=True, nogil=True, parallel=True)
def random_actions_parallel(bounds: Array, legal: Array, policy: Array, out: Array) -> None:
    for c in prange(bounds.shape[0] - 1):
        a, b = bounds[c], bounds[c + 1]
        random_actions(legal[a:b], policy[a:b], out[a:b])


@njit(cache=True, nogil=True, parallel=True)
def play_randomly_parallel(
    bounds: Array, rules_array: RulesArray, states: States, policy: Array, steps: Number
) -> None:
    for c in prange(bounds.shape[0] - 1):
        a, b = bounds[c], bounds[c + 1]
        play_randomly(rules_array, states[a:b], policy[a:b], steps)


@njit(cache=True, nogil=True, parallel=True)
def scale_parallel(bounds: Array, rows: Array, high: Array, out: Array) -> None:
    for c in prange(bounds.shape[0] - 1):
        a, b = bounds[c], bounds[c + 1]
        scale(rows[a:b], high, out[a:b])


@njit(cache=True, nogil=True, parallel=True)
def run_parallel(
    bounds: Array,
    rules_array: RulesArray,
    states: States,
    actions: Array,
    legal: Array,
    flags: tuple,
    shown: tuple,
    outcomes: tuple,
) -> None:
    observation, mask, current_player = shown
    rewards, terminated, truncated = outcomes
    for c in prange(bounds.shape[0] - 1):
        a, b = bounds[c], bounds[c + 1]
        shown_here = (observation[a:b], mask[a:b], current_player[a:b])
        outcomes_here = (rewards[a:b], terminated[a:b], truncated[a:b])
        run(rules_array, states[a:b], actions[a:b], legal[a:b], flags, shown_here, outcomes_here)
