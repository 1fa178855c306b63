"""What a seat may know: the `VIEW` record and how it is taken from a state.

This is the only way from the engine's `STATE` to anything that chooses an action: observations, baselines and searchers
see views, and nothing hidden is in one. Cards are played face up and pickups are seen, so with perfect memory everything
here but the seat's own hand and its legal actions is common knowledge.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rs_env.bits import EMPTY, popcount
from rs_env.cards import NUM_CARDS
from rs_env.engine import NOBODY, RULES, RUNNING, compile_rules, legal_actions
from rs_env.rules import MAX_PLAYERS, Rules

VIEW = np.dtype(
    [
        ("rules", RULES),
        ("hand", np.uint64),  # of the viewing seat
        ("legal", np.uint64),  # set of its legal actions; empty when it is not its turn
        ("known", np.uint64, (MAX_PLAYERS,)),  # cards still in hand that everybody has seen there
        ("trick", np.uint64),
        ("dead", np.uint64),
        ("hand_size", np.int8, (MAX_PLAYERS,)),
        ("played", np.int8, (MAX_PLAYERS,)),  # each seat's card in the trick, or -1
        ("excluded", np.uint8, (MAX_PLAYERS,)),  # suits of which the seat's unknown cards have none, as a set
        ("actions", np.int32),  # of this deal
        ("deals_done", np.int32),  # of this match
        ("seat", np.int8),  # who views
        ("turn", np.int8),  # seat to act, -1 when the game is over
        ("leader", np.int8),
        ("led", np.int8),  # suit, or -1
        ("barred", np.int8),  # suit that may not be led now, or -1
        ("trump", np.int8),  # suit, or -1
        ("pending", np.uint8),  # seats that have yet to play to the trick, as a set
        ("still_in", np.uint8),  # seats not out for good, as a set
        ("num_out", np.int8),
        ("status", np.int8),
        ("dealer", np.int8),
        ("num_dead", np.int8),  # length of dead_order
        ("out", np.int8, (MAX_PLAYERS,)),  # seats out for good, best place first, then -1
        ("totals", np.float64, (MAX_PLAYERS,)),  # of this match
        ("dead_order", np.int8, (NUM_CARDS,)),  # oldest first; under the silent rule only
    ],
    align=True,
)


def empty_views(rules: Rules, count: int) -> np.ndarray:
    """An array of `count` records for `fill_view`, with the rule set filled in."""
    views = np.zeros(count, VIEW)
    views["rules"] = compile_rules(rules)
    return views


@njit(inline="always")
def fill_view(rules, s, seat, view):
    """Write what `seat` may know of the state `s` to a record from `empty_views` for the same rules."""
    n = np.int64(rules.num_players)
    view.seat = seat
    view.hand = s.hand[seat]
    view.turn = s.turn if s.status == RUNNING else NOBODY
    view.legal = legal_actions(rules, s) if seat == s.turn else EMPTY
    for other in range(n):
        view.known[other] = s.known[other]
        view.hand_size[other] = popcount(s.hand[other])
    for other in range(MAX_PLAYERS):  # of a fixed length: one 64-bit move each
        view.played[other] = s.played[other]
        view.excluded[other] = s.excluded[other]
        view.out[other] = s.out[other]
    view.trick = s.trick
    view.dead = s.dead
    view.actions = s.actions
    view.leader = s.leader
    view.led = s.led
    view.barred = s.barred
    view.trump = s.trump
    view.pending = s.pending
    view.still_in = s.still_in
    view.num_out = s.num_out
    view.status = s.status
    view.dealer = s.dealer
    if rules.target > 0.0:
        view.deals_done = s.deals_done
        for other in range(n):
            view.totals[other] = s.totals[other]
    if rules.silent_catch >= 0.0:
        view.num_dead = s.num_dead
        for i in range(NUM_CARDS):
            view.dead_order[i] = s.dead_order[i] if i < s.num_dead else -1
