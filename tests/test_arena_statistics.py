"""Intervals, corrections and ratings of the arena against SciPy, closed forms and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rs_env.arena.games import UNITS, games_dtype
from rs_env.arena.ratings import POINTS, rate
from rs_env.arena.statistics import by_deal, differences, few_deals, holm, ratios, share_bounds, student_95, widths


def test_sums_by_deal() -> None:
    deals, who = np.array([[5, 5], [9, 9], [5, 5]]), np.array([[0, 2], [1, 1], [0, 1]])
    assert by_deal(deals, who, np.array([[1.0, 2], [3, 4], [5, 6]]), 3).tolist() == [[6, 6, 2], [0, 7, 0]]


def test_equal_counts_give_means_per_deal() -> None:
    sums = np.random.default_rng(0).integers(0, 5, (30, 2)).astype(float)
    ratio, values = ratios(sums, np.full((30, 2), 4.0))
    assert values == pytest.approx(sums / 4)
    assert ratio == pytest.approx(sums.mean(0) / 4)


def test_who_has_not_played_has_no_share() -> None:
    ratio, values = ratios(np.zeros((3, 1)), np.zeros((3, 1)))
    assert np.isnan(ratio).all()
    assert np.isnan(share_bounds(ratio, values)).all()
    assert np.isnan(share_bounds(np.ones(1), np.ones((1, 1)))).all()


def test_student_quantiles_are_those_of_scipy() -> None:
    freedom = np.array([*range(1, 200), 1000, 100_000])
    assert [student_95(int(f)) for f in freedom] == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-4)


def test_bounds_of_many_deals_are_those_of_a_t_test() -> None:
    values = np.random.default_rng(0).beta(3, 5, (20_000, 2))
    low, high = share_bounds(values.mean(0), values)
    for player in range(2):
        interval = stats.ttest_1samp(values[:, player], 0).confidence_interval(0.95)
        assert (low[player], high[player]) == pytest.approx(tuple(interval), abs=1e-5)


def test_bounds_of_independent_games_are_wilsons() -> None:
    wins = np.array([1.0] * 3 + [0.0] * 47)[:, None]
    low, high = share_bounds(wins.mean(0), wins)[:, 0]
    t, n = student_95(49), 49  # the sample variance of 50 zeros and ones is that of 49 independent ones
    for end in (low, high):
        assert abs(end - 3 / 50) == pytest.approx(t * np.sqrt(end * (1 - end) / n))
    assert 3 / 50 - low < high - 3 / 50


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_deals_that_are_all_alike_prove_nothing(share: float) -> None:
    """No game won, all won, all capped: the intervals lie within 0..1, hold the share and are not points."""
    for deals in (2, 10, 100):
        values = np.full((deals, 1), share)
        low, high = share_bounds(values.mean(0), values)[:, 0]
        assert 0 <= low <= share <= high <= 1
        assert high - low > min(0.9, 2 / deals)
        assert share_bounds(values.mean(0), values, exact=True)[:, 0].tolist() == [share, share]


def test_width_is_the_longer_side() -> None:
    assert widths(np.array([0.1, 0.9]), np.array([[0.05, 0.6], [0.3, 0.95]])) == pytest.approx([0.2, 0.3])


def test_few_deals_are_warned_of() -> None:
    assert "only 29 deals" in few_deals(29)
    assert few_deals(30) == ""


@pytest.mark.parametrize("alike", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("deals", [5, 10, 40])
def test_intervals_from_few_deals_cover_the_truth(deals: int, alike: float) -> None:
    """Also for shares near 0 and 1, and however much the games of a deal are alike; symmetric ones fail by far."""
    rng = np.random.default_rng(deals)
    for share in (0.05, 0.25, 0.5, 0.9):
        values = simulated_shares(share, alike, (2000, deals), rng).T
        low, high = share_bounds(values.mean(0), values)
        assert np.mean((low <= share) & (share <= high)) > 0.92, share


@pytest.mark.parametrize("share", [0.03, 0.25])
def test_intervals_hold_though_one_stops_when_they_are_narrow(share: float) -> None:
    """Looked at after each 100 deals: symmetric intervals by the normal approximation cover 85 % where shares are
    small."""
    rng, precision = np.random.default_rng(7), 2 * np.sqrt(share * (1 - share) / 200)
    values, covered = simulated_shares(share, 1.0, (500, 2000), rng), []
    for deals in range(100, 2001, 100):
        now = values[:, :deals].T
        bounds = share_bounds(now.mean(0), now)
        done = widths(now.mean(0), bounds) <= precision
        covered += ((bounds[0] <= share) & (share <= bounds[1]))[done].tolist()
        values = values[~done]
    assert len(values) == 0
    assert np.mean(covered) > 0.93


def test_differences_from_few_deals_are_seldom_significant_by_chance() -> None:
    rng = np.random.default_rng(8)
    for deals in (2, 4, 8, 16):
        games = rng.binomial(4, 0.1, (600, deals, 3)) / 4
        found = [min(d.adjusted for d in differences(values)) < 0.05 for values in games]
        assert np.mean(found) < 0.06


def simulated_shares(share: float, alike: float, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Share of four games won on each deal, beta-binomial; `alike` is the correlation of the games of a deal."""
    if alike in (0.0, 1.0):
        easy = rng.random(shape) < share if alike else share
        return rng.binomial(4, np.broadcast_to(easy, shape)) / 4
    total = 1 / alike - 1
    return rng.binomial(4, rng.beta(share * total, (1 - share) * total, shape)) / 4


def test_intervals_cover_the_truth_though_games_of_a_deal_are_alike() -> None:
    """Deals are easy or hard for all their games, and have one or two games: a binomial interval would be far too
    narrow."""
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(1000):
        counts = rng.integers(1, 3, (150, 1)) * 4.0
        chance = rng.choice([0.0, 0.75], (150, 1), p=[2 / 3, 1 / 3])
        ratio, values = ratios(rng.binomial(counts.astype(int), chance).astype(float), counts)
        low, high = share_bounds(ratio, values)[:, 0]
        covered.append(low <= 0.25 <= high)
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
        assert (d.difference - d.interval, d.difference + d.interval) == pytest.approx((low, high), rel=1e-4)
    assert [d.adjusted for d in compared] == pytest.approx(holm(np.array([test.pvalue for test in tests])))


def test_players_without_any_difference_do_not_differ() -> None:
    values = np.random.default_rng(3).random((20, 1)) + np.array([0.0, 0.0, 0.5])
    same, above, _ = differences(values)
    assert (same.difference, same.p_value) == (0, 1)
    assert (above.difference, above.p_value) == (pytest.approx(-0.5), 2.0**-19)
    assert 0.1 < same.interval < 0.6
    assert 0.1 < above.interval < 0.6


def test_a_few_deals_that_agree_are_not_significant() -> None:
    """Two deals with the same difference made a t test say p = 0."""
    for deals, p_value in ((2, 0.5), (5, 1 / 16)):
        (compared,) = differences(np.tile([1.0, 0.0], (deals, 1)))
        assert compared.adjusted == compared.p_value == p_value
        assert compared.interval > 0.5


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
    assert ratings.bounds == pytest.approx(
        np.stack([ratings.points - ratings.interval, ratings.points + ratings.interval])
    )


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


@pytest.mark.parametrize("deals", [5, 10, 20])
def test_ratings_from_few_deals_have_honest_intervals(deals: int) -> None:
    rng, strengths, covered = np.random.default_rng(deals), np.array([1.5, 0.0, -1.5]), []
    for _ in range(150):
        games = simulated(strengths, 4 * deals, 3, rng)
        games["deal"] //= 4
        low, high = bounds = rate(games, 3).bounds - 1000
        finite = np.isfinite(bounds).all(0)  # the mean of these players is 1000
        truth = POINTS * (strengths - strengths[finite if finite.any() else ~finite].mean())
        covered += ((low <= truth) & (truth <= high)).tolist()
    assert np.mean(covered) > 0.93


def test_rating_of_a_player_without_a_win_is_open_below_and_its_opponents_above() -> None:
    games = simulated(np.array([0.0, -50.0]), 40, 2, np.random.default_rng(8))
    games["deal"] //= 2  # 20 deals
    ratings = rate(games, 2)
    assert ratings.bounds[1, 0] == -ratings.bounds[0, 1] == np.inf
    assert ratings.interval.tolist() == [np.inf, np.inf]
    top = share_bounds(np.zeros(1), np.zeros((20, 1)))[1, 0]
    gap = (
        ratings.bounds[1, 1] - ratings.points[0]
    ) / POINTS  # at the upper end the model gives it the upper end of its share
    assert 1 / (1 + np.exp(-gap)) == pytest.approx(top)
    assert ratings.bounds[1, 1] > ratings.points[1]


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
