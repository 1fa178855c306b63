"""Means, intervals and comparisons where the deal is the unit.

Games on the same deal depend on one another, deals do not: everything here is estimated from one value for each deal,
so that the intervals hold however much the games of a deal are alike (E. Miller, "Adding error bars to evals", 2024, on
clusters). ``benchmarks/coverage.py`` measures how often they hold.

Where players remember, the deals of a sitting depend on one another, sittings do not. Then a sitting is what is called
a deal here, whose number is that of the deal over the deals of a sitting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rs_env.checks import needs_extra

NORMAL_95 = 1.959964  # 97.5 % quantile of the normal distribution
FEW_DEALS = 30
"""Fewer deals than these give rough intervals; reports say so."""
_ROUNDING = 1e-12  # errors below this are those of computing

# 97.5 % quantiles of Student's t distribution with 1, 2, ... degrees of freedom; above, the expansion in `student_95`
# is as good.
_STUDENT_95 = (12.70620, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157)


def by_deal(deals: np.ndarray, who: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Sums float64 (D, size) of the values of each of `size` players on each of D deals; all arguments have one
    shape.
    """
    numbers, rows = np.unique(deals, return_inverse=True)
    flat = rows.reshape(-1) * size + who.reshape(-1)
    return np.bincount(flat, values.reshape(-1), len(numbers) * size).reshape(len(numbers), size)


def ratios(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum over count for each of k players, float64 (k,), and a value for each deal, (D, k), whose mean that is.

    sums, counts: (D, k), of each deal. Where a player plays the same number of games on every deal, the values are the
    means per deal; else they are the ratio's linear approximation, whose spread gives its error (W. G. Cochran,
    *Sampling Techniques*, 3rd edition, chapter 6). NaN for a player who has not played.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = sums.sum(0) / counts.sum(0)
        return ratio, ratio + (sums - ratio * counts) / counts.mean(0)


def student_95(freedom: int) -> float:
    """97.5 % quantile of Student's t distribution, without SciPy (M. Abramowitz and I. A. Stegun, *Handbook*,
    26.7.5).
    """
    if freedom <= len(_STUDENT_95):
        return _STUDENT_95[freedom - 1]
    x, v = NORMAL_95, freedom
    first, second = (x**3 + x) / 4, (5 * x**5 + 16 * x**3 + 3 * x) / 96
    return x + first / v + second / v**2 + (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384 / v**3


def share_bounds(shares: np.ndarray, values: np.ndarray, exact: np.ndarray | bool = False) -> np.ndarray:
    """Ends (2, ...) of the 95 % intervals of shares in 0..1, the means of values (D, ...) of D independent deals; NaN
    for one deal.

    E. B. Wilson's interval (J. Am. Stat. Assoc. 22, 1927), made for deals: the number of observations is the one that
    would give a plain share the error that the deals show, and Student's t quantile takes the place of the normal one
    (N. Dean and M. Pagano, J. Surv. Stat. Methodol. 3, 2015, compare such intervals). It lies within 0..1, and is not
    symmetric unless the share is 1/2. Where all deals are alike, their spread says nothing, and each deal counts as one
    observation: so an agent that has won nothing has an upper end above 0. Only where such a share is `exact`, since
    nobody but copies of one player met, both ends are the share.
    """
    deals = len(values)
    if deals < 2:
        return np.full((2, *values.shape[1:]), np.nan)
    error = values.var(0, ddof=1) / deals
    alike = error < _ROUNDING
    observations = np.where(alike, deals, shares * (1 - shares) / np.where(alike, 1.0, error))
    return np.where(alike & exact, shares, _wilson(shares, observations, student_95(deals - 1)))


def _wilson(shares: np.ndarray, observations: np.ndarray | int, quantile: float) -> np.ndarray:
    weight = quantile**2 / observations
    middle = (shares + weight / 2) / (1 + weight)
    half = np.sqrt(weight * shares * (1 - shares) + weight**2 / 4) / (1 + weight)
    return np.stack([np.clip(middle - half, 0.0, shares), np.clip(middle + half, shares, 1.0)])


def widths(shares: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """How far the ends (2, ...) of intervals are from their shares, on the longer side."""
    return np.maximum(bounds[1] - shares, shares - bounds[0])


def few_deals(deals: int, sitting: int = 1) -> str:
    """A warning for the end of a sentence where intervals come from few deals, or sittings of so many deals; else
    nothing.
    """
    units, what = deals // sitting, "deals" if sitting == 1 else "sittings"
    return f"; only {units} {what}, fewer than {FEW_DEALS}: the intervals are rough" if units < FEW_DEALS else ""


@dataclass(frozen=True)
class Difference:
    """How much the share of player `first` is above that of player `second`, both by number, on the same deals.

    interval: half width of the 95 % interval, by Student's t. p_value: two-sided, of a paired t test, but never below
    2^(1 - D), the least that the signs of D differences can give: a few deals that happen to agree prove nothing.
    adjusted: by Holm's method, for all pairs.
    """

    first: int
    second: int
    difference: float
    interval: float
    p_value: float
    adjusted: float


def differences(values: np.ndarray) -> list[Difference]:
    """All pairs of k players compared, from values (D, k) for each deal, D at least 2; needs SciPy."""
    with needs_extra("arena", "the comparison of players"):
        from scipy.special import stdtr  # type: ignore[import-untyped]

    deals = len(values)
    pairs = [(i, j) for i in range(values.shape[1]) for j in range(i + 1, values.shape[1])]
    gaps = np.array([values[:, i] - values[:, j] for i, j in pairs])
    means, errors = gaps.mean(1), gaps.std(1, ddof=1) / np.sqrt(deals)
    alike = errors < _ROUNDING  # the difference is the same on all deals
    means = np.where(np.abs(means) < _ROUNDING, 0.0, means)
    statistic = np.divide(np.abs(means), errors, out=np.where(means == 0, 0.0, np.inf), where=~alike)
    p_values = np.where(means == 0, 1.0, np.maximum(2 * stdtr(deals - 1, -statistic), 2.0 ** (1 - deals)))
    quantile, middles = student_95(deals - 1), (1 + means) / 2
    half_widths = np.where(alike, 2 * widths(middles, _wilson(middles, deals, quantile)), quantile * errors)
    rows = zip(pairs, means, half_widths, p_values, holm(p_values), strict=True)
    return [Difference(*pair, *map(float, numbers)) for pair, *numbers in rows]


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjusted p-values (m,): all those below a level are significant together at that level (S. Holm, Scand. J.
    Statist. 6, 1979).
    """
    order = np.argsort(p_values)
    steps = (len(p_values) - np.arange(len(p_values))) * np.asarray(p_values, float)[order]
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
