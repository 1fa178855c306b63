"""Endgames with open hands: which seat can force a win.

A seat can force a win if it has an action at each of its turns after which it is first out whatever the others do, all
of them together and knowing all hands. The search answers only what it has proven. It says that it does not know where
nobody can force a win, and where it would have to look deeper or at more positions than it may. It works in an array of
states, one for each ply.
"""

from __future__ import annotations

import numpy as np

from rs_env.engine import play
from rs_env.engine.bits import EMPTY, lowest, popcount, without_lowest
from rs_env.engine.jit import njit
from rs_env.engine.state import NOBODY, RUNNING
from rs_env.engine.types import Array, CompiledRules, Number, Seat, States

MOST_POSITIONS = 300  # looked at for each seat; a play-out costs as much as some fifty of them
PLIES = 12
REACH = 2  # cards in the hand of a seat for which a forced win is sought


@njit
def forced_winner(rules: CompiledRules, states: States, untried: Array, first: Number, most_cards: Number) -> Seat:
    """The seat that can force being first out of the deal from ``states[first]``, or NOBODY where none is known to.

    Looks only where at most `most_cards` cards are in play (in the hands and on the table). Noticed silent plays are
    chance, so under that rule nothing is proven. states, untried: memory for `PLIES` more states and as many sets.
    """
    s = states[first]
    if s.num_out > 0 or rules.silent_catch >= 0.0 or rules.num_cards - popcount(s.dead) > most_cards:
        return np.int64(NOBODY)
    for seat in range(rules.num_players):
        if s.hand_size[seat] <= REACH and can_force(rules, states, untried, first, seat):
            return np.int64(seat)
    return np.int64(NOBODY)


@njit
def can_force(rules: CompiledRules, states: States, untried: Array, first: Number, seat: Seat) -> bool:
    """Whether `seat` is proven to win from ``states[first]``, which goes on.

    Depth first; written as a loop, since Numba cannot load recursive functions from its cache.
    """
    depth, positions = first, 0
    untried[0] = play.options(rules, states[first])
    while True:
        s = states[depth]
        mine = s.turn == seat
        legal = untried[depth - first]
        if legal != EMPTY:
            untried[depth - first] = without_lowest(legal)
            depth += 1
            states[depth] = s
            after = states[depth]
            play.step(rules, after, lowest(legal))
            positions += 1
            if after.status == RUNNING and after.num_out == 0 and depth < first + PLIES and positions < MOST_POSITIONS:
                untried[depth - first] = play.options(rules, after)
                continue
            proven = after.num_out > 0 and after.out[0] == seat
        else:
            proven = not mine  # no action of the seat wins, or no answer of another refutes
            if depth == first:
                return proven
        depth -= 1
        # One action that wins settles a position of the seat, one that refutes a position of another; then the position
        # before is asked the same.
        while proven if states[depth].turn == seat else not proven:
            if depth == first:
                return proven
            depth -= 1
