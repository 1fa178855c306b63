"""Ratings from who won against whom: a Plackett-Luce model fitted to all games at once.

Each player has a strength, and wins a game with the probability of its share of the strengths at the table, exp(s) over their
sum (R. L. Plackett, "The analysis of permutations", 1975; R. D. Luce, *Individual Choice Behavior*, 1959). Only the win is
modelled: places after it are by cards in hand, which nobody plays for. The fit is the solution of a convex problem, so that it
does not depend on the order of the games, as ratings that are updated game by game do. Errors come from the deals (the
sandwich estimator: P. J. Huber, 1967, with deals as clusters), for the games of a deal are not independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rs_env.arena.games import UNITS
from rs_env.arena.statistics import NORMAL_95

POINTS = 400 / np.log(10)
"""Rating points of one unit of strength: 400 points more are ten times the odds, as in chess."""

MEAN = 1000.0
_PRIOR = 0.01  # precision of a normal prior of the strengths, that who never wins stays finite


@dataclass(frozen=True)
class Ratings:
    """points: float64 (k,), with the mean 1000; 400 points more are ten times the odds. interval: half width of the 95 % interval."""

    points: np.ndarray
    interval: np.ndarray


def rate(games: np.ndarray, players: int) -> Ratings:
    """Ratings of k `players` from games of dtype `rs_env.arena.games.games_dtype`; needs SciPy.

    A game that nobody won counts as an n-th of a win for each seat.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    seating, credit = games["seating"].astype(np.int64), games["credit"] / UNITS
    won = np.bincount(seating.reshape(-1), credit.reshape(-1), players)
    tables, times = np.unique(np.sort(seating, 1), axis=0, return_counts=True)

    def loss(strengths: np.ndarray) -> float:
        return float(times @ np.log(np.exp(strengths[tables]).sum(1)) - won @ strengths + _PRIOR / 2 * strengths @ strengths)

    def gradient(strengths: np.ndarray) -> np.ndarray:
        expected = times[:, None] * _chances(strengths[tables])
        return np.bincount(tables.reshape(-1), expected.reshape(-1), players) - won + _PRIOR * strengths

    def curvature(strengths: np.ndarray) -> np.ndarray:
        chances = _per_player(tables, _chances(strengths[tables]), players)
        return np.diag(times @ chances + _PRIOR) - chances.T @ (times[:, None] * chances)

    fit = minimize(loss, np.zeros(players), jac=gradient, hess=curvature, method="trust-exact", options={"gtol": 1e-6 * len(games)})
    surprise = _per_player(seating, credit - _chances(fit.x[seating]), players)
    _, rows = np.unique(games["deal"], return_inverse=True)
    scores = np.zeros((rows.max(initial=0) + 1, players))
    np.add.at(scores, rows, surprise)
    spread = np.linalg.solve(curvature(fit.x), scores.T)
    spread -= spread.mean(0)  # of ratings around their mean
    return Ratings(MEAN + POINTS * (fit.x - fit.x.mean()), NORMAL_95 * POINTS * np.sqrt((spread**2).sum(1)))


def _chances(strengths: np.ndarray) -> np.ndarray:
    """Chance of each seat to win, by the strengths (..., n) at a table."""
    odds = np.exp(strengths - strengths.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def _per_player(seating: np.ndarray, values: np.ndarray, players: int) -> np.ndarray:
    """Values (G, n) of seats added up for the player that sits there: (G, k)."""
    flat = np.arange(len(seating))[:, None] * players + seating
    return np.bincount(flat.reshape(-1), values.reshape(-1), len(seating) * players).reshape(-1, players)
