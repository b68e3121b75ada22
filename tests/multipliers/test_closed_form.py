import numpy as np
import pytest
from scipy import stats

from bandstrap.multipliers import bootstrap_quantile
from sampling import each

LEVELS = np.array([0.9, 0.5, 0.3, 0.05, 1e-3, 1e-7, 1e-15])


@each("n", [2, 7, 500])
@each("method", ["closed-form", "auto"])
def test_gaussian_weights_give_the_normal_quantile(n, method):
    sample = np.random.default_rng(n).exponential(size=n)
    expected = stats.norm.isf(LEVELS, scale=sample.std() / np.sqrt(n))
    got = bootstrap_quantile(sample, LEVELS, weights="gaussian", method=method)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("method", ["saddlepoint", "expansion"])
def test_saddlepoint_and_expansion_of_a_normal_law_are_the_normal_quantile(method):
    # Both formulas are exact for a normal sum, up to the tolerance of their root.
    sample = np.random.default_rng(1).standard_t(3, size=40)
    expected = stats.norm.isf(LEVELS, scale=sample.std() / np.sqrt(40))
    got = bootstrap_quantile(sample, LEVELS, weights="gaussian", method=method)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_a_constant_sample_has_no_spread():
    assert bootstrap_quantile([3.0, 3.0, 3.0], 0.01, weights="gaussian") == 0
