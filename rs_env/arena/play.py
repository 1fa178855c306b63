"""Many games at once between agents that see only views."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rs_env.agent import Agent, ask, ask_cheat, cheats, wants_histories
from rs_env.arena.players import check_fair
from rs_env.arena.sitting import Memories
from rs_env.cards import PICKUP
from rs_env.engine import entry, play
from rs_env.engine.bits import lowest, without_lowest
from rs_env.engine.history import MOST_EVENTS, log_trump, step_and_log
from rs_env.engine.jit import njit
from rs_env.engine.scoring import place, reward
from rs_env.engine.state import NOBODY, RUNNING, STATE, TRUNCATED, compile_rules
from rs_env.engine.view import empty_views
from rs_env.history import Histories
from rs_env.rules import Rules
from rs_env.scorings import SCORINGS

_LOG_LENGTH = 1024  # actions a game to begin with; a log grows where games are longer


@dataclass(frozen=True)
class Outcomes:
    """Results of G games of n players between A agents.

    rewards: float64 (G, n). winner: int8 (G,), the first seat out of the last deal, in a match the best by reward; -1:
    nobody. truncated: bool (G,). actions: int64 (G,), over all deals.
    places: float64 (G, n), 1 is best, see `rs_env.engine.scoring.place`; in a match by the totals, equals sharing their
    places. cards: int8 (G, n), in hand at the end. pickups, decisions: int64 (G, n), taken by the seat and asked of it,
    over all deals. seconds: float64 (A,), time in which each agent chose. asked: int64 (A,), its decisions.
    log: uint8 (G, L), the events of each game, see `rs_env.history`. logged: int64 (G,),
    its length. states: the games at their end, of dtype `rs_env.engine.state.STATE`, (G,).
    """

    rewards: np.ndarray
    winner: np.ndarray
    truncated: np.ndarray
    actions: np.ndarray
    places: np.ndarray
    cards: np.ndarray
    pickups: np.ndarray
    decisions: np.ndarray
    seconds: np.ndarray
    asked: np.ndarray
    log: np.ndarray
    logged: np.ndarray
    states: np.ndarray


def play_games(
    rules: Rules,
    agents: Sequence[Agent],
    seating: np.ndarray,
    seed: int,
    indices: np.ndarray,
    *,
    fair: bool = True,
    memories: Memories | None = None,
) -> Outcomes:
    """Play G games to the end; game g has agent ``agents[seating[g, seat]]`` on each seat and the decks of game
    ``indices[g]`` of the seed.

    seating: integers (G, n). indices: integers (G,); equal indices are the same deal, for duplicate comparisons.
    fair: refuse agents that see hidden cards. memories: what is remembered at these tables, to which these games are
    added; None: nothing. Turns with a single legal action are played without asking.
    Raises ValueError, naming the agent, where an agent chooses an illegal action.
    """
    games, n = len(indices), rules.num_players
    if seating.shape != (games, n):
        raise ValueError(f"seating: shape {seating.shape} is not allowed: it must be ({games}, {n})")
    if games and not 0 <= seating.min() <= seating.max() < len(agents):
        raise ValueError(f"seating: entries must be in 0..{len(agents) - 1}")
    check_fair(agents, fair)
    compiled = compile_rules(rules)
    states, views = np.zeros(games, STATE), empty_views(rules, games)
    log, logged = (
        np.zeros((games, min(rules.action_limit, _LOG_LENGTH) + 2 * MOST_EVENTS), np.uint8),
        np.zeros(games, np.int64),
    )
    pickups, decisions = np.zeros((2, games, n), np.int64)
    taken = np.zeros(games, np.int64)
    seconds, asked = np.zeros(len(agents)), np.zeros(len(agents), np.int64)
    _begin(compiled, states, np.uint64(seed), indices.astype(np.uint64), log, logged)
    want_histories = [wants_histories(agent) for agent in agents]  # asked once: it takes longer than a rule of thumb
    running = np.arange(games)
    while len(running):
        while _play_forced(compiled, states, running, log, logged, taken, pickups):
            log = np.concatenate([log, np.zeros_like(log)], 1)
        running = running[states["status"][running] == RUNNING]
        turns = states["turn"][running]
        movers = seating[running, turns]
        decisions[running, turns] += 1
        for number, agent in enumerate(agents):
            mine = running[movers == number]
            if len(mine):
                entry.view_turns(states, mine, views)
                begin = time.perf_counter()
                if cheats(agent):
                    actions = ask_cheat(agent, rules, states[mine], views[: len(mine)])
                else:
                    histories = Histories(log[mine], logged[mine]) if want_histories[number] else None
                    known = None if memories is None else memories.of(number, mine, states["turn"][mine])
                    actions = ask(agent, views[: len(mine)], histories=histories, memories=known)
                seconds[number] += time.perf_counter() - begin
                asked[number] += len(mine)
                _play(compiled, states, mine, actions, log, logged, taken, pickups)
    if memories is not None:
        for number, agent in enumerate(agents):
            begin = time.perf_counter()
            memories.add(number, agent, rules, states, Histories(log, logged))
            seconds[number] += time.perf_counter() - begin
    rewards, places = np.zeros((2, games, n))
    _evaluate(compiled, states, rewards, places)
    winner = states["out"][:, 0].copy()
    if rules.target is not None:
        best = rewards.max(1, initial=0)
        winner = np.where(best > 0, rewards.argmax(1), NOBODY).astype(np.int8)
        places = _places_of_match(rules, states["totals"][:, :n])
    return Outcomes(
        rewards=rewards,
        winner=winner,
        truncated=states["status"] == TRUNCATED,
        actions=taken,
        places=places,
        cards=states["hand_size"][:, :n].copy(),
        pickups=pickups,
        decisions=decisions,
        seconds=seconds,
        asked=asked,
        log=log,
        logged=logged,
        states=states,
    )


def _places_of_match(rules: Rules, totals: np.ndarray) -> np.ndarray:
    """Place of each seat by the totals (G, n) of a match, equals sharing (averaging) their places."""
    goodness = -totals if SCORINGS[rules.scoring].low_is_good else totals
    mine, other = goodness[:, :, None], goodness[:, None, :]
    return (other > mine).sum(2) + ((other == mine).sum(2) + 1) / 2


@njit(cache=True, nogil=True)
def _begin(rules, states, seed, indices, log, logged):
    for g in range(states.shape[0]):
        play.begin_game(states[g], seed, indices[g])
        play.begin_episode(rules[0], states[g], NOBODY)
        logged[g] = log_trump(rules[0], states[g], log, g, 0)


@njit(cache=True, nogil=True)
def _play(rules, states, games, actions, log, logged, taken, pickups):
    """Take the actions in the games listed."""
    for k in range(games.shape[0]):
        _take(rules, states, games[k], actions[k], log, logged, taken, pickups)


@njit(cache=True, nogil=True)
def _play_forced(rules, states, games, log, logged, taken, pickups):
    """Play on in the games listed up to the next real decision; whether the log has become too short for that."""
    longest = log.shape[1] - 2 * MOST_EVENTS  # so that the decision after these fits as well
    for k in range(games.shape[0]):
        g = games[k]
        while states[g].status == RUNNING:
            if logged[g] > longest:
                return True
            legal = play.legal_actions(rules[0], states[g])
            if without_lowest(legal):
                break
            _take(rules, states, g, lowest(legal), log, logged, taken, pickups)
    return False


@njit
def _take(rules, states, g, action, log, logged, taken, pickups):
    pickups[g, states[g].turn] += action == PICKUP
    taken[g] += 1
    logged[g] = step_and_log(rules[0], states[g], action, log, g, logged[g])


@njit(cache=True, nogil=True)
def _evaluate(rules, states, rewards, places):
    for g in range(states.shape[0]):
        for seat in range(rules[0].num_players):
            rewards[g, seat] = reward(rules[0], states[g], seat)
            places[g, seat] = place(rules[0], states[g], seat)
