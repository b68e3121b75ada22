"""Order statistics of draws; KS tests reject a right law with probability 1e-6 each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.multipliers.normal import rough_normal_quantile
from bandstrap.multipliers.order_statistic import (
    between,
    largest,
    level_of_sum,
    next_sum,
    order_rank,
    order_statistic_sum,
    order_statistics,
    quantile_bound,
    rank_and_share,
    tabulate_quantiles,
)
from naive.multipliers import definition_d1
from naive.policies import interpolated_order_statistic
from sampling import each

SIGNIFICANCE = 1e-6
tied = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]) | st.floats(-5, 5), min_size=1, max_size=60)


@each(("m", "n_draws"), [(0, 1), (0, 200), (1, 2), (9, 200), (4, 10), (9, 10), (90, 200)])
def test_level_of_an_order_statistic_is_a_beta(m, n_draws):
    rng = np.random.default_rng(m)
    sums = [order_statistic_sum(m, n_draws, rng) for _ in range(4000)]
    assert stats.kstest([level_of_sum(x) for x in sums], stats.beta(m + 1, n_draws - m).cdf).pvalue > SIGNIFICANCE
    if m + 1 < n_draws:
        lower = [level_of_sum(next_sum(x, m, n_draws, rng)) for x in sums]
        assert stats.kstest(lower, stats.beta(m + 2, n_draws - m - 1).cdf).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_a_tabled_quantile_is_not_exceeded_and_is_close_and_others_are_worked_out(factor):
    table = tabulate_quantiles(factor)
    # From the smallest sums through all steps of the table to far beyond it.
    sums = np.append(np.geomspace(1e-12, 20, 300), np.random.default_rng(0).uniform(0, 0.07, 3000)).tolist()
    quantiles = np.array([rough_normal_quantile(level_of_sum(x) / factor) for x in sums])
    bounds = np.array([quantile_bound(table, factor, x) for x in sums])
    assert (bounds >= quantiles).all()
    assert (bounds - quantiles).max() < 0.05
    assert np.median(bounds - quantiles) < 2e-3


@settings(derandomize=True, deadline=None, max_examples=300)
@given(tied, st.data())
def test_largest_is_what_sorting_gives(values, data):
    rank = data.draw(st.integers(0, len(values) - 1))
    expected = np.sort(values)[::-1][rank]
    as_array, as_list = np.array(values), list(values)
    assert largest(as_array, rank) == expected
    assert largest(as_list, rank) == expected
    assert sorted(as_array) == sorted(as_list) == sorted(values)  # reordered, nothing lost


@each("size", [1, 2, 3, 200])
@each("kind", ["equal", "rising", "falling", "two"])
def test_largest_of_arranged_values(size, kind):
    values = {
        "equal": np.ones(size),
        "rising": np.arange(size, dtype=float),
        "falling": -np.arange(size, dtype=float),
        "two": np.arange(size) % 2.0,
    }[kind]
    for rank in range(size):
        assert largest(values.copy(), rank) == np.sort(values)[::-1][rank]


@each(
    ("n_draws", "level", "rank"),
    [(200, 0.05, 10), (200, 0.1 * 0.9, 18), (200, 0.0049, 0), (10, 0.3, 3), (10, 0.1 * 3, 3), (1, 0.9, 0), (5, 1.0, 4)],
)
def test_rank_survives_the_rounding_of_the_level(n_draws, level, rank):
    assert order_rank(n_draws, level) == rank


@each("n_resamples", [1, 2, 10, 49, 200, 333])
def test_order_statistics_follow_the_definition(n_resamples):
    rng = np.random.default_rng(n_resamples)
    levels = ["0.001", "0.005", "0.01", "0.05", "0.07", "0.1", "0.29", "0.5", "0.57", "0.9", "0.99", "0.999"]
    for values in (rng.normal(size=n_resamples), rng.integers(0, 5, size=n_resamples).astype(float)):
        got = order_statistics(values, np.array(levels, dtype=float))
        assert got.tolist() == [definition_d1(values.tolist(), level) for level in levels]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(tied, st.floats(0, 1, exclude_max=True) | st.sampled_from([0.5, 0.25, 0.1, 5e-324, 1 - 2**-53]))
def test_interpolated_order_statistics_are_those_of_numpy(values, level):
    rank, share = rank_and_share(len(values), level, True)
    assert 0 <= share < 1
    assert rank + (share > 0) < len(values)
    draws = np.sort(values)[::-1]
    found = between(draws[rank], draws[min(rank + 1, len(values) - 1)], share)
    assert found == pytest.approx(interpolated_order_statistic(np.array(values), level), abs=1e-12)
    assert rank_and_share(len(values), level, False) == (order_rank(len(values), level), 0.0)


def test_a_lower_draw_that_rounding_puts_above_does_not_raise_the_quantile():
    assert between(1.0, 1.0 + 1e-15, 0.5) == 1.0


def test_order_statistics_take_levels_in_any_order_and_leave_the_draws_alone():
    values = np.random.default_rng(5).permutation(100.0 * np.arange(10))
    before = values.copy()
    assert order_statistics(values, np.array([0.5, 0.1, 0.9, 0.1])).tolist() == [400.0, 800.0, 0.0, 800.0]
    assert (values == before).all()


def test_the_rank_forgives_rounding_of_the_product():
    assert 200 * 0.29 < 58  # what a plain floor would make of it
    assert [order_rank(200, level) for level in (0.07, 0.29, 0.57, 0.005)] == [14, 58, 114, 1]
    assert order_rank(100, 0.29) == 29
    assert order_rank(200, 0.0049) == 0
    assert order_rank(5, 1 - 1e-12) == 4  # never below the smallest draw
    for n_resamples in range(1, 400):
        assert order_rank(n_resamples, 1 / n_resamples) == min(1, n_resamples - 1)
