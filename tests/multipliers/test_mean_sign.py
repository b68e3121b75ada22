"""The mean of random signs against the binomial law in fractions."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.multipliers.mean_sign import mean_sign_bound, mean_sign_quantile
from naive import bounds as naive
from sampling import each


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.integers(1, 50),
    st.floats(1e-9, 0.99) | st.integers(1, 12).flatmap(lambda m: st.integers(1, 2**m - 1).map(lambda k: k / 2.0**m)),
)
def test_mean_sign_quantile_equals_the_binomial_in_fractions(n, level):
    assert mean_sign_quantile(n, level) == naive.mean_sign_quantile(n, level)


@each("n", [51, 200, 401])
@each("level", [0.4, 0.05, 5e-3, 1e-6])
def test_mean_sign_quantile_of_large_samples(n, level):
    assert mean_sign_quantile(n, level) == naive.mean_sign_quantile(n, level)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(1, 400), st.floats(1e-12, 0.49))
def test_mean_sign_quantile_is_between_zero_and_its_hoeffding_bound(n, level):
    assert 0 <= mean_sign_quantile(n, level) <= min(1, math.sqrt(2 * math.log(1 / level) / n))


def test_mean_of_few_signs_is_one_at_small_levels():
    assert [mean_sign_quantile(n, 0.005) for n in range(1, 9)] == [1.0] * 7 + [0.75]


def test_a_level_that_is_a_tail_of_fifty_signs_is_told_from_one_just_below():
    for n in (15, 33, 49, 50):
        for k in range(n // 2, n):
            tail = sum(math.comb(n, j) for j in range(k + 1, n + 1)) / 2.0**n
            assert mean_sign_quantile(n, tail) == (2 * k - n) / n
            assert mean_sign_quantile(n, math.nextafter(tail, 0)) == (2 * k + 2 - n) / n


@each("n", [1000, 1001, 1002, 3000, 100_000, 10**7])
@each("level", [0.999, 0.5001, 0.4999, 0.05, 1e-3, 1e-12, 1e-100, 1e-283, 1e-290, 1e-320])
def test_mean_sign_quantile_beyond_a_thousand_signs_is_that_of_the_binomial(n, level):
    law = stats.binom(n, 0.5)
    pluses = round((1 + mean_sign_quantile(n, level)) * n / 2)
    assert law.sf(pluses) <= level * (1 + 1e-7)  # SciPy's tails have errors of their own
    assert law.sf(pluses - 1) > level * (1 - 1e-7)


@each("n", [1, 2, 65, 100, 1000, 20_000])
def test_the_bound_of_constant_time_is_above_the_quantile_and_below_hoeffdings(n):
    for level in (0.3, 0.05, 1e-3, 1e-6, 1e-12):
        found = mean_sign_bound(n, math.log(1 / level))
        assert mean_sign_quantile(n, level) <= found + 1e-12
        assert found <= min(1.0, math.sqrt(2 * math.log(1 / level) / n)) + 1e-12


def test_the_bound_of_constant_time_is_at_most_one_at_any_level():
    for n in (65, 66, 80, 200):
        for level in (2.0**-60, 2.0**-64, 2.0**-65, 2.0**-66, 1e-25, 1e-60, 1e-300):
            found = mean_sign_bound(n, math.log(1 / level))
            assert mean_sign_quantile(n, level) <= found + 1e-12
            assert found <= 1.0


@each("n", [1, 2, 65, 1000])
@each("share", [0.999, 0.9995, 1 - 1e-6, 1 - 1e-15, 1.0])
def test_the_bound_of_constant_time_is_found_where_the_level_is_little_above_that_of_equal_signs(n, share):
    found = mean_sign_bound(n, share * n * math.log(2))
    assert mean_sign_quantile(n, 2.0 ** (-share * n)) <= found + 1e-12
    assert found <= 1.0
    # KL((1 + c)/2, 1/2) is the share of log 2
    divergence = stats.entropy([(1 + found) / 2, (1 - found) / 2], [0.5, 0.5], base=2)
    assert divergence == pytest.approx(share, abs=1e-12)
