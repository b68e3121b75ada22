from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.multipliers import bootstrap_quantile
from bandstrap.multipliers.binomial import (
    MOST_COINS,
    TABLE,
    binomial_probabilities,
    coins_around,
    coins_quantile,
    fit_coins,
    half_length,
    is_two_valued,
    lattice_quantile,
    tail_sums,
)
from naive import sums_of_signs as naive
from naive.multipliers import ATOMS, away_from_atoms, quantiles, tails
from sampling import each


def two_valued(n: int, k: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    return np.random.default_rng(n * 100 + k).permutation(np.r_[np.full(n - k, low), np.full(k, high)])


@each("n", range(1, 17))
def test_binomial_equals_enumeration_for_every_number_of_highs(n):
    rng = np.random.default_rng(n)
    dyadic = np.unique(np.r_[rng.integers(1, 2**n, size=20), 1, 2**n - 1, 2 ** (n - 1)]) / 2.0**n
    levels = np.r_[dyadic, rng.random(10), 10.0 ** rng.uniform(-6, -1, size=10)]
    levels = levels[(levels > 0) & (levels < 1)]
    for k in range(n + 1):
        for low, high in ((0.0, 1.0), (-3.0, 0.7)):
            sample = two_valued(n, k, low, high)
            got = bootstrap_quantile(sample, levels, method="binomial")
            expected = bootstrap_quantile(sample, levels, method="enumeration")
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15 * (high - low))


@pytest.mark.parametrize(("weights", "most"), [("mammen", 10), ("efron", 9)])
def test_binomial_equals_enumeration_for_skew_weights(weights, most):
    rng = np.random.default_rng(3)
    for n in range(1, most + 1):
        levels = np.r_[rng.random(8), 10.0 ** rng.uniform(-5, -1, size=8)]
        for k in range(n + 1):
            sample = two_valued(n, k)
            got = bootstrap_quantile(sample, levels, weights=weights, method="binomial")
            expected = bootstrap_quantile(sample, levels, weights=weights, method="enumeration")
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("weights", ["rademacher", "mammen", "efron"])
def test_binomial_equals_the_list_of_all_weights(weights):
    rng = np.random.default_rng(4)
    for n in range(1, 6):
        levels = rng.random(12)
        for k in range(n + 1):
            sample = two_valued(n, k, -1.0, 2.0)
            atoms = ATOMS[weights](sample)
            apart = away_from_atoms(atoms, levels)
            got = bootstrap_quantile(sample, apart, weights=weights, method="binomial")
            np.testing.assert_allclose(got, quantiles(atoms, apart), rtol=1e-12, atol=1e-15)


@each("sample", [[0, 1], [0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 1, 3], [0, 1, 2, 7]])
def test_efron_is_exact_at_every_tail_probability_and_next_to_it(sample):
    atoms = ATOMS["efron"](sample)
    at = np.array([float(tail) for _, tail in tails(atoms) if tail > 0])
    levels = np.r_[at, np.nextafter(at, 0), np.nextafter(at, 1)].tolist()
    for method in ("binomial", "enumeration") if len(set(sample)) == 2 else ("enumeration",):
        got = bootstrap_quantile(sample, levels, weights="efron", method=method)
        np.testing.assert_allclose(got, quantiles(atoms, levels), rtol=1e-12, atol=1e-15)


def test_efron_on_two_values_is_a_binomial_quantile_at_any_size():
    for n, k in ((30, 7), (500, 260), (20_000, 3)):
        sample = two_valued(n, k)
        for level in (0.4, 0.05, 1e-4, 1e-9, 0.9):
            expected = (stats.binom.isf(level, n, k / n) - k) / n
            got = bootstrap_quantile(sample, level, weights="efron", method="binomial")
            assert got == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("n", "k"), [(60, 30), (60, 1), (200, 71), (3000, 2)])
def test_large_lattice_quantile_has_at_most_the_level_beyond_it_and_more_at_the_step_below(n, k):
    j, m = np.arange(k + 1), np.arange(n - k + 1)
    mass = np.outer(stats.binom.pmf(j, k, 0.5), stats.binom.pmf(m, n - k, 0.5))
    value = (n - k) * j[:, None] - k * m[None, :]
    for level in (0.3, 0.05, 1e-3, 1e-6):
        v = lattice_quantile(n, k, 0.5, level)
        assert mass[value > v].sum() <= level * (1 + 1e-9)
        assert mass[value >= v].sum() > level * (1 - 1e-9)
        expected = 2 * v / n**2
        assert bootstrap_quantile(two_valued(n, k), level, method="binomial") == pytest.approx(expected, rel=1e-12)


def test_binomial_probabilities_are_exact_halves_and_match_scipy_elsewhere():
    assert binomial_probabilities(3, 0.5).tolist() == [0.125, 0.375, 0.375, 0.125]
    assert binomial_probabilities(50, 0.5).sum() == 1.0
    for n, p in ((0, 0.3), (7, 0.0), (7, 1.0), (51, 0.5), (400, 0.2763932022500210)):
        expected = stats.binom.pmf(np.arange(n + 1), n, p)
        np.testing.assert_allclose(binomial_probabilities(n, p), expected, rtol=1e-10, atol=1e-300)


def test_tail_sums_count_from_above():
    assert tail_sums(np.array([0.5, 0.25, 0.25])).tolist() == [1.0, 0.5, 0.25, 0.0]


def test_two_valued_rows_are_recognised():
    rows = np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0], [0.0, 1.0, 2.0], [-1e300, 1e300, 1e300]])
    assert is_two_valued(rows).tolist() == [True, False, False, True]


def test_two_values_an_ulp_apart_are_still_two_values():
    # The mean of such rewards rounds to one of them; which rewards are high must not depend on that.
    step = np.spacing(1.0)
    for n, k in ((3, 2), (5, 1), (24, 1), (24, 20), (28, 7)):
        got = bootstrap_quantile(two_valued(n, k, 1.0, 1.0 + step), 0.05, method="binomial") / step
        assert got == pytest.approx(bootstrap_quantile(two_valued(n, k), 0.05, method="binomial"), rel=1e-12)


def test_shifted_zeros_and_ones_give_the_quantile_of_zeros_and_ones():
    for n, k in ((3, 1), (24, 7), (77, 70)):
        got = bootstrap_quantile(two_valued(n, k, 1e6, 1e6 + 1), 0.05, method="binomial")
        assert got == pytest.approx(bootstrap_quantile(two_valued(n, k), 0.05, method="binomial"), rel=1e-9)


# --- differences of two counts of coins, against fractions --------------------------------------------------------------

counts = st.tuples(st.integers(1, 16), st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def table(few, many):
    row = np.zeros(TABLE)
    fit_coins(few, many, row)
    return row


@settings(max_examples=60, deadline=None)
@given(counts, st.integers(-300, 300))
def test_tails_and_neighbours_are_those_of_fractions(pair, x):
    law = naive.coins_law(*pair)
    tail, below, above = coins_around(*pair, table(*pair), x)
    assert tail == pytest.approx(float(sum(p for value, p in law.items() if value > x)), abs=1e-7)
    if sum(pair) <= 24:  # nothing is left out of the tables of so few
        assert below == max((value for value in law if value <= x), default=below)
        assert above == min((value for value in law if value > x), default=above)


@settings(max_examples=60, deadline=None)
@given(counts, st.integers(1, 480), st.floats(-50, 50), st.sampled_from([1e-3, 0.01, 1.0]))
def test_quantiles_are_those_of_fractions_from_any_start(pair, thousandth, off, rate):
    level = Fraction(thousandth, 1001)  # no tail of coins
    row = table(*pair)
    right = naive.coins_quantile(*pair, level)
    value, low, high = coins_quantile(*pair, row, right + off, rate, float(level))
    assert value == right
    assert low <= level < high
    # The same quantile in all of the range, and another beyond it.
    assert coins_quantile(*pair, row, 0.0, rate, min(0.5 * (low + high), 0.499))[0] == right
    if high < 0.5:
        assert coins_quantile(*pair, row, right, rate, high * (1 + 1e-9))[0] < right


def test_tables_fit_into_a_row():
    assert max(half_length(few) + half_length(MOST_COINS - few) for few in range(1, MOST_COINS // 2 + 1)) <= TABLE
