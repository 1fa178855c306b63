"""Ratings from who won against whom: a Plackett-Luce model fitted to all games at once.

Each player has a strength, and wins a game with the probability of its share of the strengths at the table, exp(s) over
their sum (R. L. Plackett, "The analysis of permutations", 1975; R. D. Luce, *Individual Choice Behavior*, 1959). Only
the win is modelled: places after it are by cards in hand, which nobody plays for. The fit is the solution of a convex
problem, so that it does not depend on the order of the games, as ratings that are updated game by game do. Errors come
from the deals (the sandwich estimator: P. J. Huber, 1967, with deals as clusters), for the games of a deal are not
independent; intervals are by Student's t over deals. Of a player that has won nothing (or everything) the games only
say that it is below (above) some rating: its interval is open on the other side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rs_env.arena.games import UNITS
from rs_env.arena.statistics import share_bounds, student_95
from rs_env.checks import needs_extra

POINTS = 400 / np.log(10)
"""Rating points of one unit of strength: 400 points more are ten times the odds, as in chess."""

MEAN = 1000.0
_PRIOR = 0.01  # precision of a normal prior of the strengths: it keeps that of a player without a win finite
_FURTHEST = 100.0  # strengths beyond this make no difference


@dataclass(frozen=True)
class Ratings:
    """points: float64 (k,), with the mean 1000; 400 points more are ten times the odds. bounds: ends of the 95 %
    intervals, (2, k).

    A player that has won nothing gets its points from a weak prior alone, and -inf for its lower end; one that has won
    everything inf for its upper end. Such players are left out of the mean, unless there are no others.
    """

    points: np.ndarray
    bounds: np.ndarray

    @property
    def interval(self) -> np.ndarray:
        """How far the further end of each interval is from the points, float64 (k,)."""
        return np.maximum(self.bounds[1] - self.points, self.points - self.bounds[0])


def rate(games: np.ndarray, players: int, sitting: int = 1) -> Ratings:
    """Ratings of k `players` from games of dtype `rs_env.arena.games.games_dtype`, played in sittings of so many deals;
    needs SciPy.

    A game that nobody won counts as an n-th of a win for each seat.
    """
    with needs_extra("arena", "a rating"):
        from scipy.optimize import minimize  # type: ignore[import-untyped]

    seating, credit = games["seating"].astype(np.int64), games["credit"] / UNITS
    won = np.bincount(seating.reshape(-1), credit.reshape(-1), players)
    tables, times = np.unique(np.sort(seating, 1), axis=0, return_counts=True)

    def loss(strengths: np.ndarray) -> float:
        return float(
            times @ np.log(np.exp(strengths[tables]).sum(1)) - won @ strengths + _PRIOR / 2 * strengths @ strengths
        )

    def gradient(strengths: np.ndarray) -> np.ndarray:
        expected = times[:, None] * _chances(strengths[tables])
        return np.bincount(tables.reshape(-1), expected.reshape(-1), players) - won + _PRIOR * strengths

    def curvature(strengths: np.ndarray) -> np.ndarray:
        chances = _per_player(tables, _chances(strengths[tables]), players)
        return np.diag(times @ chances + _PRIOR) - chances.T @ (times[:, None] * chances)

    fit = minimize(
        loss, np.zeros(players), jac=gradient, hess=curvature, method="trust-exact", options={"gtol": 1e-6 * len(games)}
    )
    surprise = _per_player(seating, credit - _chances(fit.x[seating]), players)
    units = games["deal"] // sitting
    _, rows = np.unique(units, return_inverse=True)
    scores = np.zeros((rows.max(initial=0) + 1, players))
    np.add.at(scores, rows, surprise)
    seats = np.bincount(seating.reshape(-1), minlength=players)
    open_ended = (seats > 0) & ((won == 0) | (won == seats))
    anchor = open_ended if open_ended.all() else ~open_ended  # whose mean is 1000
    spread = np.linalg.solve(curvature(fit.x), scores.T)
    spread -= spread[anchor].mean(0)
    deals = len(scores)
    reach = (
        student_95(deals - 1) * np.sqrt(deals / (deals - 1) * (spread**2).sum(1))
        if deals > 1
        else np.full(players, np.nan)
    )
    bounds = np.stack([fit.x - reach, fit.x + reach])
    for player in np.flatnonzero(open_ended):
        bounds[:, player] = _open_bounds(fit.x, int(player), units, seating, bool(won[player]))
    middle = fit.x[anchor].mean()
    return Ratings(MEAN + POINTS * (fit.x - middle), MEAN + POINTS * (bounds - middle))


def _open_bounds(
    strengths: np.ndarray, player: int, deals: np.ndarray, seating: np.ndarray, won_all: bool
) -> tuple[float, float]:
    """The interval of the strength of a player that has won nothing, or everything.

    Its finite end is where the model gives the player the share at the end of the share's interval, the others staying
    as they are.
    """
    mine = (seating == player).any(1)
    count, seating = len(np.unique(deals[mine])), seating[mine]
    low, high = share_bounds(np.full(1, float(won_all)), np.full((count, 1), float(won_all)))[:, 0]
    below, above = -_FURTHEST, _FURTHEST
    for _ in range(60):
        changed = strengths.copy()
        changed[player] = middle = (below + above) / 2
        if _chances(changed[seating])[seating == player].mean() < (low if won_all else high):
            below = middle
        else:
            above = middle
    return (below, np.inf) if won_all else (-np.inf, above)


def _chances(strengths: np.ndarray) -> np.ndarray:
    """Chance of each seat to win, by the strengths (..., n) at a table."""
    odds = np.exp(strengths - strengths.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def _per_player(seating: np.ndarray, values: np.ndarray, players: int) -> np.ndarray:
    """Values (G, n) of seats added up for the player that sits there: (G, k)."""
    flat = np.arange(len(seating))[:, None] * players + seating
    return np.bincount(flat.reshape(-1), values.reshape(-1), len(seating) * players).reshape(-1, players)
