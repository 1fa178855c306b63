"""What an agent with a network needs of its views: observations, masks, and random numbers that belong to the view."""

from __future__ import annotations

from typing import Any

import numpy as np

from rs_env.cards import NUM_ACTIONS
from rs_env.engine.bits import address_of, unpack_actions
from rs_env.engine.jit import njit
from rs_env.engine.layout import check_observation_dtype, scaled
from rs_env.engine.observation import encode_view, observation_spec
from rs_env.engine.rng import CHOICE, deal_stream, game_key, unit
from rs_env.engine.view import as_views, view_key


def observations(views: Any, observation_dtype: str = "int8") -> tuple[np.ndarray, np.ndarray]:
    """The observations (B, D), int8 or scaled to 0..1 as float32, and the action masks, int8 (B, 53), of views (B,).

    They are those of the environments for the seats that view. Raises ValueError for views of several numbers of
    players.
    """
    views, dtype = as_views(views), check_observation_dtype(observation_dtype)
    players = np.unique(views["rules"]["num_players"])
    if len(players) != 1:
        raise ValueError(
            f"views: {len(players)} numbers of players are not allowed: all views must be of one, for their size"
            " depends on it"
        )
    layout = observation_spec(int(players[0]))
    rows, masks = np.empty((len(views), layout.size), np.int8), np.empty((len(views), NUM_ACTIONS), np.int8)
    _encode(views, rows.reshape(-1), masks.reshape(-1))
    return (rows if dtype == "int8" else scaled(rows, layout.high.astype(np.float32))), masks


def draws(views: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """A random number in [0, 1) for each view, float64 (B,), from the seed (uint64, (B,)) beside it and the view
    alone.
    """
    numbers = np.empty(len(views))
    _draw(as_views(views), np.require(seeds, np.uint64, ("C", "A", "W")), numbers)
    return numbers


def draws_of_games(seed: int, games: np.ndarray, decision: int) -> np.ndarray:
    """A random number in [0, 1) for a decision of each of these games, float64 (G,), by its number, that of the game
    (integers (G,)) and the seed alone: whoever plays some of the games draws the same in them.
    """
    numbers = np.empty(len(games))
    _draw_of_games(np.uint64(seed), games.astype(np.uint64), decision, numbers)
    return numbers


@njit(cache=True, nogil=True)
def _encode(views, observation, mask):
    size = observation.shape[0] // views.shape[0]
    for i in range(views.shape[0]):
        encode_view(views[i], address_of(observation), i * size)
        unpack_actions(address_of(mask), i * NUM_ACTIONS, views[i].legal)


@njit(cache=True, nogil=True)
def _draw(views, seeds, numbers):
    for i in range(views.shape[0]):
        numbers[i] = unit(view_key(views[i], seeds[i]))


@njit(cache=True, nogil=True)
def _draw_of_games(seed, games, decision, numbers):
    for i in range(games.shape[0]):
        numbers[i] = unit(deal_stream(game_key(seed, games[i]), decision, CHOICE))


def pick(cumulated: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """The action, int64 (B,), on which each mark in [0, 1) falls, float64 (B,).

    cumulated: float64 (B, A), sums of the weights of the actions up to each, which need not add up to one. It is the
    first action whose sum is above the mark: one with a weight, for the sum rises only there.
    """
    chosen: np.ndarray = (cumulated <= marks[:, None] * cumulated[:, -1:]).sum(-1)
    return chosen
