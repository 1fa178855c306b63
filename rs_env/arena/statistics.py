"""Means, intervals and comparisons where the deal is the unit.

Games on the same deal depend on one another, deals do not: everything here is estimated from one value for each deal, so that
the intervals hold however much the games of a deal are alike (E. Miller, "Adding error bars to evals", 2024, on clusters).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NORMAL_95 = 1.959964  # 97.5 % quantile of the normal distribution


def by_deal(deals: np.ndarray, who: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Sums float64 (D, size) of the values of each of `size` players on each of D deals; all arguments have one shape."""
    numbers, rows = np.unique(deals, return_inverse=True)
    flat = rows.reshape(-1) * size + who.reshape(-1)
    return np.bincount(flat, values.reshape(-1), len(numbers) * size).reshape(len(numbers), size)


def ratios(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum over count for each of k players, float64 (k,), and a value for each deal, (D, k), whose mean that is.

    sums, counts: (D, k), of each deal. Where a player plays the same number of games on every deal, the values are the means
    per deal; else they are the ratio's linear approximation, whose spread gives its error (W. G. Cochran, *Sampling
    Techniques*, 3rd edition, chapter 6). NaN for who has not played.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = sums.sum(0) / counts.sum(0)
        return ratio, ratio + (sums - ratio * counts) / counts.mean(0)


def half_widths(values: np.ndarray) -> np.ndarray:
    """Half widths of the 95 % intervals of the means of values (D, ...) of D independent deals, by the normal approximation."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return NORMAL_95 * values.std(0, ddof=1) / np.sqrt(len(values))


@dataclass(frozen=True)
class Difference:
    """How much the share of player `first` is above that of player `second`, both by number, on the same deals.

    interval: half width of the 95 % interval. p_value: two-sided, of a paired t test. adjusted: by Holm's method, for all pairs.
    """

    first: int
    second: int
    difference: float
    interval: float
    p_value: float
    adjusted: float


def differences(values: np.ndarray) -> list[Difference]:
    """All pairs of k players compared, from values (D, k) for each deal, D at least 2; needs SciPy."""
    from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]

    pairs = [(i, j) for i in range(values.shape[1]) for j in range(i + 1, values.shape[1])]
    gaps = np.array([values[:, i] - values[:, j] for i, j in pairs])
    means, errors = gaps.mean(1), gaps.std(1, ddof=1) / np.sqrt(len(values))
    noise = 1e-12 * np.abs(values).max(initial=1.0)  # rounding, where the difference is the same on all deals
    errors = np.where(errors < noise, 0.0, errors)
    means = np.where(np.abs(means) < noise, 0.0, means)
    statistic = np.divide(np.abs(means), errors, out=np.where(means == 0, 0.0, np.inf), where=errors > 0)
    freedom = len(values) - 1
    p_values = 2 * stdtr(freedom, -statistic)
    rows = zip(pairs, means, stdtrit(freedom, 0.975) * errors, p_values, holm(p_values), strict=True)
    return [Difference(*pair, *map(float, numbers)) for pair, *numbers in rows]


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjusted p-values (m,): all those below a level are significant together at that level (S. Holm, Scand. J. Statist. 6, 1979)."""
    order = np.argsort(p_values)
    steps = (len(p_values) - np.arange(len(p_values))) * np.asarray(p_values, float)[order]
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
