import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri, ndtri_exp

from bandstrap.multipliers.normal import normal_quantile, normal_tail
from sampling import each


def test_tail_is_scipys():
    for z in np.linspace(-8, 30, 200):
        assert normal_tail(z) == pytest.approx(ndtr(-z), rel=1e-12)


@each("tail", [*np.geomspace(1e-300, 0.5, 300), *(1 - np.geomspace(1e-12, 0.5, 60))])
def test_quantile_is_scipys_to_eight_digits(tail):
    assert normal_quantile(tail) == pytest.approx(-ndtri(tail), rel=1e-8, abs=1e-8)


def test_quantiles_of_the_smallest_tails_do_not_overflow():
    for tail in (5e-324, *np.geomspace(1e-323, 1e-299, 40)):
        assert normal_quantile(tail) == pytest.approx(-ndtri_exp(math.log(tail)), abs=1e-8)


def test_ends_and_middle():
    assert normal_quantile(0.0) == normal_quantile(-0.1) == math.inf
    assert normal_quantile(1.0) == normal_quantile(1.1) == -math.inf
    assert abs(normal_quantile(0.5)) < 1e-8


def test_quantile_falls_and_is_odd():
    tails = np.linspace(1e-6, 1 - 1e-6, 2001)
    found = np.array([normal_quantile(tail) for tail in tails])
    assert (np.diff(found) < 0).all()
    np.testing.assert_allclose(found, -found[::-1], atol=1e-8)


def test_quantile_inverts_the_tail():
    for z in np.linspace(-5, 8, 100):
        assert normal_quantile(normal_tail(z)) == pytest.approx(z, abs=1e-8)
