"""Many games at once between agents that see only views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from rs_env import engine, kernels
from rs_env.baselines.agent import Agent, ask
from rs_env.rules import Rules
from rs_env.scoring import reward
from rs_env.state import NOBODY, RUNNING, STATE, TRUNCATED, compile_rules
from rs_env.view import empty_views


@dataclass(frozen=True)
class Outcomes:
    """Results of G games of n players.

    rewards: float64 (G, n). winner: int8 (G,), the first seat out of the last deal, in a match the best by reward; -1: nobody.
    truncated: bool (G,). actions: int64 (G,), over all deals.
    """

    rewards: np.ndarray
    winner: np.ndarray
    truncated: np.ndarray
    actions: np.ndarray


def play_games(rules: Rules, agents: Sequence[Agent], seating: np.ndarray, seed: int, indices: np.ndarray) -> Outcomes:
    """Play G games to the end; game g has agent ``agents[seating[g, seat]]`` on each seat and the decks of game ``indices[g]`` of the seed.

    seating: integers (G, n). indices: integers (G,); equal indices are the same deal, for duplicate comparisons.
    Raises ValueError, naming the agent, where an agent chooses an illegal action.
    """
    games = len(indices)
    if seating.shape != (games, rules.num_players):
        raise ValueError(f"seating: shape {seating.shape} is not allowed: it must be ({games}, {rules.num_players})")
    if games and not 0 <= seating.min() <= seating.max() < len(agents):
        raise ValueError(f"seating: entries must be in 0..{len(agents) - 1}")
    compiled = compile_rules(rules)
    states, views = np.zeros(games, STATE), empty_views(rules, games)
    lengths = np.zeros(games, np.int64)
    _begin(compiled, states, np.uint64(seed), indices.astype(np.uint64))
    running = np.arange(games)
    while len(running):
        movers = seating[running, states["turn"][running]]
        for number, agent in enumerate(agents):
            mine = running[movers == number]
            if len(mine):
                kernels.view_turns(states, mine, views)
                _step(compiled, states, mine, ask(agent, views[: len(mine)]), lengths)
        running = running[states["status"][running] == RUNNING]
    rewards = np.zeros((games, rules.num_players))
    _rewards(compiled, states, rewards)
    winner = states["out"][:, 0].copy()
    if rules.target is not None:
        best = rewards.max(1, initial=0)
        winner = np.where(best > 0, rewards.argmax(1), NOBODY).astype(np.int8)
    return Outcomes(rewards, winner, states["status"] == TRUNCATED, lengths)


@njit(cache=True, nogil=True)
def _begin(rules, states, seed, indices):
    for g in range(states.shape[0]):
        engine.begin_game(states[g], seed, indices[g])
        engine.begin_episode(rules[0], states[g], NOBODY)


@njit(cache=True, nogil=True)
def _step(rules, states, games, actions, lengths):
    """Step the games listed."""
    for k in range(games.shape[0]):
        engine.step(rules[0], states[games[k]], actions[k])
        lengths[games[k]] += 1


@njit(cache=True, nogil=True)
def _rewards(rules, states, rewards):
    for g in range(states.shape[0]):
        for seat in range(rules[0].num_players):
            rewards[g, seat] = reward(rules[0], states[g], seat)
