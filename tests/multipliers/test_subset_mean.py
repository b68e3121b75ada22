import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.multipliers.subset_mean import (
    FEW_SUBSETS,
    MOST_COUNTED,
    MOST_COUNTED_FAR,
    approximate_quantile,
    count_subsets_above,
    counted_quantile,
    is_counted,
    magnitudes_around,
    quantiles,
    sorted_subset_sums,
    subset_mean_batch,
)
from naive.bounds import count_subset_means_above, many_subsets_quantile, subset_mean_quantile

rewards = st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=10)
tied_rewards = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=10)
dyadic_levels = st.integers(1, 10).flatmap(lambda n: st.integers(1, 2**n - 1).map(lambda k: k / 2.0**n))
levels = st.floats(1e-4, 0.999) | dyadic_levels

LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
}


def test_subset_sums_are_all_there_and_ascend():
    v = np.array([0.5, -1.0, 0.25, 3.0, -0.75])
    buffers = np.empty((2, 32))
    expected = sorted(sum(s) for size in range(6) for s in itertools.combinations(v, size))
    assert sorted_subset_sums(v, buffers[0], buffers[1]).tolist() == expected


def test_subset_sums_of_nothing_are_the_empty_sum():
    assert sorted_subset_sums(np.empty(0), np.empty(1), np.empty(1)).tolist() == [0.0]


@settings(derandomize=True, deadline=None, max_examples=50)
@given(tied_rewards, st.integers(-6, 6).map(lambda k: k / 2))
def test_counted_subsets_are_those_of_the_list(sample, x):
    # Halves of small integers: every sum is exact, so ties with x are ties.
    y = np.array(sample)
    buffers = np.empty((4, 1 << (y.size - y.size // 2)))
    assert count_subsets_above(y, x, buffers) == count_subset_means_above(sample, x)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rewards, levels)
def test_counted_quantile_equals_the_list_of_all_subsets(sample, level):
    y = np.sort(sample)
    assert counted_quantile(y, level) == pytest.approx(subset_mean_quantile(sample, level), rel=1e-12, abs=1e-12)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(tied_rewards, dyadic_levels)
def test_counted_quantile_with_ties_at_dyadic_levels_equals_the_list_of_all_subsets(sample, level):
    y = np.sort(sample)
    assert counted_quantile(y, level) == pytest.approx(subset_mean_quantile(sample, level), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n", range(1, 8))
def test_every_dyadic_level_gives_its_own_subset_mean(n):
    # Between k/2^n and (k+1)/2^n the quantile is the k-th largest of all subset means, the empty one first.
    y = np.sort(np.random.default_rng(n).normal(size=n))
    means = sorted((np.mean(s) for size in range(1, n + 1) for s in itertools.combinations(y, size)), reverse=True)
    for k in range(1, 2**n):
        for level in (k / 2.0**n, (k + 0.9) / 2.0**n):
            assert counted_quantile(y, level) == pytest.approx(means[k - 1], rel=1e-12, abs=1e-12)
    assert counted_quantile(y, 0.99 / 2.0**n) == math.inf


@pytest.mark.parametrize("n", [13, 24])
@pytest.mark.parametrize("level", [0.5, 0.2, 0.05, 1e-3])
def test_entry_counts_exactly_up_to_its_limit(n, level):
    rows = np.random.default_rng(n).standard_t(3, size=(2, n))
    expected = [many_subsets_quantile(row, level) for row in rows]
    np.testing.assert_allclose(quantiles(rows, level), expected, rtol=0, atol=2e-10 * np.ptp(rows))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [26, 30])
@pytest.mark.parametrize("level", [0.2, 0.05, 1e-3])
def test_approximate_quantile_is_within_half_a_percent_of_the_width(law, n, level):
    y = np.sort(LAWS[law](np.random.default_rng([n, 7]), n))
    exact = many_subsets_quantile(y, level)
    assert approximate_quantile(y, level) == pytest.approx(exact, rel=0, abs=0.005 * (exact - y.mean()))


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_approximate_quantile_also_serves_the_lower_half(level):
    y = np.sort(np.random.default_rng(8).normal(size=26))
    exact = many_subsets_quantile(y, level)
    assert approximate_quantile(y, level) == pytest.approx(exact, rel=0, abs=0.005 * y.std() / math.sqrt(26))


@pytest.mark.parametrize("n", [28, 32])
def test_counting_and_approximation_meet_where_one_hands_over_to_the_other(n):
    rows = np.random.default_rng(n).normal(size=(3, n))
    switch = FEW_SUBSETS / 2.0**n
    assert is_counted(n, 0.999 * switch)
    assert not is_counted(n, switch)
    counted, approximate = quantiles(rows, 0.999 * switch), quantiles(rows, switch)
    np.testing.assert_allclose(approximate, counted, rtol=0, atol=0.005 * (counted - rows.mean(axis=-1)).min())


def test_where_subsets_are_counted():
    assert is_counted(MOST_COUNTED, 0.5)
    assert not is_counted(MOST_COUNTED + 1, 0.5)
    assert is_counted(MOST_COUNTED_FAR, 1e-9)
    assert not is_counted(MOST_COUNTED_FAR + 1, 1e-9)
    assert not is_counted(5000, 1e-300)


@pytest.mark.parametrize("n", [1, 4, 20, 30, 36, 37, 40, 60])
def test_quantile_is_infinite_exactly_while_the_empty_subset_outweighs_the_level(n):
    rows = np.random.default_rng(n).normal(size=(1, n))
    assert quantiles(rows, 0.5**n)[0] == pytest.approx(rows.max(), rel=1e-9)
    for share in (0.99, 0.5, 1e-3):
        assert quantiles(rows, share * 0.5**n)[0] == math.inf, f"level {share} * 2^-{n}"


@pytest.mark.parametrize("n", [1, 5, 24, 25, 36, 37, 100])
def test_constant_rows_give_the_constant_or_infinity(n):
    rows = np.full((1, n), 0.3)
    assert quantiles(rows, 0.6)[0] == 0.3
    assert quantiles(rows, 0.5**n)[0] == 0.3
    assert quantiles(rows, 0.9 * 0.5**n)[0] == math.inf


@pytest.mark.parametrize("n", [7, 12, 30, 50])
def test_quantile_does_not_depend_on_the_order_of_rewards(n):
    rng = np.random.default_rng(n)
    row = rng.normal(size=n)
    rows = np.array([row, row[::-1], rng.permutation(row)])
    out = quantiles(rows, 0.05)
    assert out[0] == out[1] == out[2]


@pytest.mark.parametrize("n", [10, 24, 30, 60])
def test_quantile_falls_as_the_level_rises(n):
    rows = np.random.default_rng(n).standard_t(2, size=(2, n))
    ends = np.array([quantiles(rows, level) for level in (1e-9, 1e-5, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.9, 0.999)])
    assert (ends[1:] <= ends[:-1]).all()
    assert (ends[-1] < rows.mean(axis=-1)).all()
    assert (ends[-1] >= rows.min(axis=-1)).all()


@pytest.mark.parametrize("x", [-2.0, -0.3, 0.0, 0.1, 0.25, 5.0])
def test_magnitudes_around_a_point_ascend(x):
    y = np.array([-1.0, -0.5, 0.0, 0.1, 0.4, 2.0])
    out = np.empty(y.size)
    magnitudes_around(y, x, out)
    assert out.tolist() == sorted(np.abs(y - x))


@pytest.mark.parametrize("n", [1, 2, 5, 16, 25, 30, 50])
def test_compiled_and_plain_entry_give_the_same_bits(n):
    rng = np.random.default_rng(n)
    laws = (rng.normal(size=n), rng.standard_cauchy(n), rng.integers(0, 3, n), np.ones(n))
    rows = np.sort([*laws], axis=-1).astype(float)
    for level in (0.7, 0.2, 0.05):
        plain, compiled = np.empty(len(rows)), np.empty(len(rows))
        subset_mean_batch.plain(rows, level, plain)
        subset_mean_batch.compiled(rows, level, compiled)
        assert plain.tolist() == compiled.tolist()


@pytest.mark.parametrize("n", [9, 30])
def test_quantile_shifts_and_scales_with_the_rewards(n):
    rows = np.random.default_rng(n).normal(size=(3, n))
    base = quantiles(rows, 0.05)
    np.testing.assert_allclose(quantiles(3.0 + 2.5 * rows, 0.05), 3.0 + 2.5 * base, rtol=1e-9)
    for power in (-300, 300):
        np.testing.assert_allclose(quantiles(np.ldexp(rows, power), 0.05), np.ldexp(base, power), rtol=1e-9)


@pytest.mark.parametrize("n", [9, 30])
@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e307])
def test_quantile_scales_with_rewards_whose_squares_leave_the_floats(n, scale):
    rows = np.random.default_rng(n).uniform(-1, 1, size=(3, n))
    np.testing.assert_allclose(quantiles(scale * rows, 0.05) / scale, quantiles(rows, 0.05), rtol=1e-9)


def test_rewards_are_not_sorted_in_place():
    rows = np.random.default_rng(0).normal(size=(2, 8))
    before = rows.copy()
    quantiles(rows, 0.05)
    assert (rows == before).all()
