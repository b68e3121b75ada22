import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.multipliers import bootstrap_quantile
from bandstrap.multipliers.grid import N_CELLS, N_POINTS, fit_grid, grid_quantile

LEVELS = (0.4, 0.2, 0.05, 0.01, 0.001, 1e-4)


def law(magnitudes):
    tails = np.empty(N_POINTS)
    total, scale = fit_grid(np.sort(np.abs(magnitudes)), tails)
    return tails, total, scale


@pytest.mark.parametrize("n", [13, 16, 20, 24, 32])
@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential", "standard_cauchy"])
def test_quantiles_are_within_two_per_cent_of_exact_ones(n, draw):
    for seed in range(10):
        sample = getattr(np.random.default_rng(seed), draw)(n)
        terms = (sample - sample.mean()) / n
        tails, total, scale = law(terms)
        method = "enumeration" if n <= 24 else "auto"
        exact = bootstrap_quantile(sample, LEVELS, method=method)
        got = [grid_quantile(tails, total, scale, n, level) for level in LEVELS]
        # two per cent, and half a cell where the quantile is small against the range
        np.testing.assert_allclose(got, exact, rtol=0.02, atol=total / N_CELLS)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.floats(0.01, 10), min_size=13, max_size=32), st.floats(1e-6, 0.999), st.floats(1e-6, 0.999))
def test_it_falls_with_the_level_is_symmetric_and_stays_inside_the_range(magnitudes, one, other):
    tails, total, scale = law(magnitudes)
    low, high = sorted((one, other))
    n = len(magnitudes)
    at_low, at_high = (grid_quantile(tails, total, scale, n, level) for level in (low, high))
    assert -total <= at_high <= at_low <= total
    mirrored = grid_quantile(tails, total, scale, n, 1 - low)
    assert mirrored == pytest.approx(-at_low, abs=4 * total / N_CELLS)
    assert 0 < scale <= 1


def test_beyond_the_last_sum_the_quantile_is_the_largest_sum():
    tails, total, scale = law(np.arange(1.0, 15.0))
    assert grid_quantile(tails, total, scale, 14, 0.9 * 2.0**-14) == total == 105
    assert grid_quantile(tails, total, scale, 14, 1 - 0.9 * 2.0**-14) == -total
