"""Intervals, corrections and ratings of the arena against SciPy, closed forms and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rs_env.arena.games import UNITS, games_dtype
from rs_env.arena.ratings import POINTS, rate
from rs_env.arena.statistics import by_deal, differences, half_widths, holm, ratios


def test_sums_by_deal() -> None:
    deals, who = np.array([[5, 5], [9, 9], [5, 5]]), np.array([[0, 2], [1, 1], [0, 1]])
    assert by_deal(deals, who, np.array([[1.0, 2], [3, 4], [5, 6]]), 3).tolist() == [[6, 6, 2], [0, 7, 0]]


def test_equal_counts_give_means_per_deal() -> None:
    sums = np.random.default_rng(0).integers(0, 5, (30, 2)).astype(float)
    ratio, values = ratios(sums, np.full((30, 2), 4.0))
    assert values == pytest.approx(sums / 4)
    assert ratio == pytest.approx(sums.mean(0) / 4)
    assert half_widths(values) == pytest.approx(stats.norm.ppf(0.975) * stats.sem(sums / 4), rel=1e-6)


def test_who_has_not_played_has_no_share() -> None:
    ratio, values = ratios(np.zeros((3, 1)), np.zeros((3, 1)))
    assert np.isnan(ratio).all()
    assert np.isnan(half_widths(values)).all()
    assert np.isnan(half_widths(values[:1])).all()


def test_intervals_cover_the_truth_though_games_of_a_deal_are_alike() -> None:
    """Deals are easy or hard for all their games, and have one or two games: a binomial interval would be far too narrow."""
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(1000):
        counts = rng.integers(1, 3, (150, 1)) * 4.0
        chance = rng.choice([0.0, 0.75], (150, 1), p=[2 / 3, 1 / 3])
        ratio, values = ratios(rng.binomial(counts.astype(int), chance).astype(float), counts)
        covered.append(abs(ratio[0] - 0.25) <= half_widths(values)[0])
    assert 0.93 < np.mean(covered) < 0.97


def test_holm_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.5, 0.6])).tolist() == [1.0, 1.0]
    assert holm(np.array([0.02])).tolist() == [0.02]


def test_differences_are_paired_t_tests() -> None:
    values = np.random.default_rng(2).normal([0.2, 0.25, 0.3], 0.2, (40, 3))
    compared = differences(values)
    assert [(d.first, d.second) for d in compared] == [(0, 1), (0, 2), (1, 2)]
    tests = [stats.ttest_rel(values[:, d.first], values[:, d.second]) for d in compared]
    assert [d.p_value for d in compared] == pytest.approx([test.pvalue for test in tests])
    for d, test in zip(compared, tests, strict=True):
        low, high = test.confidence_interval(0.95)
        assert (d.difference - d.interval, d.difference + d.interval) == pytest.approx((low, high))
    assert [d.adjusted for d in compared] == pytest.approx(holm(np.array([test.pvalue for test in tests])))


def test_players_without_any_difference_do_not_differ() -> None:
    values = np.random.default_rng(3).random((20, 1)) + np.array([0.0, 0.0, 0.5])
    same, above, _ = differences(values)
    assert (same.difference, same.interval, same.p_value) == (0, 0, 1)
    assert (above.difference, above.p_value) == (pytest.approx(-0.5), 0)


def simulated(strengths: np.ndarray, count: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Games at random tables won by the Plackett-Luce model, each on a deal of its own."""
    games = np.zeros(count, games_dtype(n))
    games["deal"] = np.arange(count)
    games["seating"] = np.array([rng.permutation(len(strengths))[:n] for _ in range(count)])
    winner = (strengths[games["seating"]] + rng.gumbel(size=(count, n))).argmax(1)
    games["credit"] = UNITS * (winner[:, None] == np.arange(n))
    return games


def test_ratings_of_two_are_their_log_odds() -> None:
    games = simulated(np.array([0.8, 0.0]), 5000, 2, np.random.default_rng(4))
    wins = games["credit"][games["seating"] == 0].sum() / UNITS
    odds, error = np.log(wins / (5000 - wins)), (5000 * wins / 5000 * (1 - wins / 5000)) ** -0.5
    ratings = rate(games, 2)
    assert ratings.points[0] - ratings.points[1] == pytest.approx(POINTS * odds, rel=1e-3)
    assert ratings.interval == pytest.approx([1.96 * POINTS * error / 2] * 2, rel=1e-3)


def test_ratings_recover_strengths_with_honest_intervals() -> None:
    rng = np.random.default_rng(5)
    strengths = np.array([1.2, 0.7, 0.3, -0.1, -0.8, -1.3])
    covered, points = [], []
    for _ in range(80):
        ratings = rate(simulated(strengths, 600, 4, rng), 6)
        points.append(ratings.points - 1000)
        covered += (abs(points[-1] - POINTS * strengths) <= ratings.interval).tolist()
    assert np.mean(points, 0) == pytest.approx(POINTS * strengths, abs=5)
    assert 0.92 < np.mean(covered) < 0.98


def test_ratings_do_not_depend_on_the_order_of_games_and_widen_with_repeated_deals() -> None:
    games = simulated(np.array([0.5, 0.0, -0.5]), 500, 3, np.random.default_rng(6))
    ratings, shuffled = rate(games, 3), rate(games[np.random.default_rng(7).permutation(500)], 3)
    assert shuffled.points == pytest.approx(ratings.points)
    assert shuffled.interval == pytest.approx(ratings.interval)
    repeated = rate(np.repeat(games, 4), 3)
    assert repeated.points == pytest.approx(ratings.points, abs=1)
    assert repeated.interval == pytest.approx(ratings.interval, rel=0.01)  # four copies of a game tell no more than one


def test_who_never_wins_and_equal_players_have_finite_ratings() -> None:
    games = simulated(np.array([0.0, -50.0]), 200, 2, np.random.default_rng(8))
    ratings = rate(games, 2)
    assert np.isfinite(ratings.points).all()
    assert ratings.points[0] > ratings.points[1] + 400
    games["credit"] = UNITS // 2
    assert rate(games, 2).points == pytest.approx([1000, 1000])
