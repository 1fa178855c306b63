"""What a seat may know: the `VIEW` record and how it is taken from a state.

This is the only way from the engine's `STATE` to anything that chooses an action: observations, baselines and searchers
see views, and nothing hidden is in one. Cards are played face up and pickups are seen, so with perfect memory
everything here but the seat's own hand and its legal actions is common knowledge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import literal_unroll

from rs_env.engine.bits import EMPTY, PICKUP_BIT
from rs_env.engine.jit import njit
from rs_env.engine.play import legal_actions
from rs_env.engine.rng import mix
from rs_env.engine.state import PUBLIC_FIELDS, RULES, RUNNING, compile_rules
from rs_env.rules import MAX_PLAYERS, MIN_PLAYERS, Rules

VIEW = np.dtype(
    [
        ("rules", RULES),
        ("hand", np.uint64),  # of the viewing seat
        ("legal", np.uint64),  # set of its legal actions; empty when it is not its turn
        ("seat", np.uint8),  # who views
        *PUBLIC_FIELDS,
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
    view.seat = seat
    view.hand = s.hand[seat]
    view.legal = legal_actions(rules, s) if seat == s.turn else EMPTY
    copy_public(s, view)


_PUBLIC_NAMES = tuple(field[0] for field in PUBLIC_FIELDS)


@njit(inline="always")
def copy_public(s, view):
    """Copy the public fields of a state to a view."""
    for name in literal_unroll(_PUBLIC_NAMES):
        view[name] = s[name]


@njit(cache=True, nogil=True)
def first_impossible(views):
    """Index of the first view that is not of a seat which is to act, as any game shows it to that seat; -1 where there
    is none.
    """
    for i in range(views.shape[0]):
        v = views[i]
        n = v.rules.num_players
        mine = v.seat < n and v.turn == v.seat and v.still_in >> v.seat & 1 and v.status == RUNNING
        if not (
            mine and MIN_PLAYERS <= n <= MAX_PLAYERS and v.legal != EMPTY and v.legal & ~(v.hand | PICKUP_BIT) == EMPTY
        ):
            return i
    return -1


def as_views(views: Any) -> np.ndarray:
    """Views as an array of shape (B,), as the kernels take it.

    Raises ValueError unless they are of dtype `VIEW`, each of a seat that is to act, as a game shows it.
    """
    array = _records(np.atleast_1d(np.asarray(views)))
    first = first_impossible(array)
    if first >= 0:
        if array["legal"][first] == 0:
            raise ValueError(f"views[{first}]: seat {array['seat'][first]} has no legal action, it is not its turn")
        raise ValueError(f"views[{first}]: no game shows this to a seat that is to act; views come from `Game.view`")
    return array


def as_views_of_any_seat(views: Any) -> np.ndarray:
    """Views of any seats, to act or not, as an array of shape (B,). Raises ValueError for anything else."""
    array = _records(np.asarray(views))
    players = array["rules"]["num_players"]
    wrong = np.flatnonzero((players < MIN_PLAYERS) | (players > MAX_PLAYERS) | (array["seat"] >= players))
    if len(wrong):
        raise ValueError(
            f"views[{wrong[0]}]: seat {array['seat'][wrong[0]]} of {players[wrong[0]]} players is not allowed:"
            " it must come from a game"
        )
    return array


def _records(array: np.ndarray) -> np.ndarray:
    """The array in the one layout that the kernels are compiled for. Raises ValueError unless it holds views."""
    if array.dtype != VIEW or array.ndim != 1:
        raise ValueError(
            f"views: {array.dtype} of shape {array.shape} is not allowed:"
            " they must be records of dtype rs_env.engine.view.VIEW, shape (B,)"
        )
    return np.require(array, requirements=("C", "A", "W"))


def as_one_view(view: Any) -> np.ndarray:
    """The view of any seat, to act or not, as an array of one record. Raises ValueError for anything else."""
    views = np.atleast_1d(np.asarray(view))
    if views.dtype != VIEW or views.shape != (1,):
        raise ValueError(
            f"view: {views.dtype} of shape {views.shape} is not allowed: it must be one record of dtype"
            " rs_env.engine.view.VIEW"
        )
    players, seat = int(views["rules"]["num_players"][0]), int(views["seat"][0])
    if not (MIN_PLAYERS <= players <= MAX_PLAYERS and seat < players):
        raise ValueError(f"view: seat {seat} of {players} players is not allowed: it must come from a game")
    return np.require(views, requirements=("C", "A", "W"))  # the one layout that the kernels are compiled for


@njit
def view_key(view, seed):
    """A number (np.uint64) that names a view and a seed, from which an agent draws.

    Draws that depend on nothing else make an agent's actions independent of what it was asked before, of batches and of
    processes, and equal in equal positions, which is what comparisons on the same deals need. The count of actions is
    part of it, so that a position that comes again is not met with the same draws.
    """
    key = mix(seed ^ mix(view.hand))
    key = mix(key ^ view.played ^ (view.dead << np.uint64(8)))
    return mix(
        key
        + np.uint64(view.seat)
        + (np.uint64(view.actions) << np.uint64(3))
        + (np.uint64(view.deals_done) << np.uint64(34))
    )
