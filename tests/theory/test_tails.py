import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.bounds import sub_weibull
from bandstrap.errors import InvalidInput
from bandstrap.theory import mean_deviation_bound, sub_weibull_constant, tail_bound

BETAS = st.sampled_from([0.5, 0.8, 1.0, 1.5, 2.0, 4.0])


@pytest.mark.parametrize(
    ("law", "sigma", "beta"),
    [(stats.norm(), math.sqrt(8 / 3), 2), (stats.laplace(), 2, 1), (stats.dweibull(0.5), 4, 0.5)],
)
def test_tails_of_known_laws_lie_below_the_bound(law, sigma, beta):
    t = np.linspace(0, 50, 201)
    assert (2 * law.sf(t) <= tail_bound(t, sigma=sigma, beta=beta)).all()


def test_tail_at_the_norm_and_at_both_ends():
    assert tail_bound(3.0, sigma=3.0, beta=0.7) == pytest.approx(2 / math.e, rel=1e-15)
    assert tail_bound(0, sigma=1, beta=1) == 1.0
    assert tail_bound(1e300, sigma=1e-8, beta=5) == 0.0
    assert tail_bound([[1.0], [2.0]], sigma=1, beta=1).shape == (2, 1)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.floats(0, 20), st.floats(0, 20), st.floats(0.1, 10), BETAS)
def test_tail_falls_with_distance_and_scales_with_sigma(t, more, sigma, beta):
    here = tail_bound(t, sigma=sigma, beta=beta)
    assert tail_bound(t + more, sigma=sigma, beta=beta) <= here
    assert tail_bound(8 * t, sigma=8 * sigma, beta=beta) == here


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("constant", [None, 2.5])
def test_deviation_of_a_mean_is_the_width_of_the_bound(symmetric, constant):
    options = {"sigma": 1.7, "beta": 1.5, "symmetric": symmetric, "constant": constant}
    assert mean_deviation_bound(20, 0.05, **options) == pytest.approx(
        sub_weibull(np.zeros(20), 0.05, **options).width, rel=1e-14
    )


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(1, 10**6), st.floats(2, 40), BETAS)
def test_one_constant_serves_all_sizes_and_levels_of_theorem_two(n, log, beta):
    proved = mean_deviation_bound(n, math.exp(-log), sigma=1, beta=beta)
    formula = mean_deviation_bound(n, math.exp(-log), sigma=1, beta=beta, constant=sub_weibull_constant(beta))
    assert proved <= 1.01 * formula


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0, 5.0])
def test_constant_is_reached(beta):
    constant = sub_weibull_constant(beta)
    ratios = [
        mean_deviation_bound(n, math.exp(-2), sigma=1, beta=beta)
        / mean_deviation_bound(n, math.exp(-2), sigma=1, beta=beta, constant=1)
        for n in (1, 2**10, 2**20, 2**30)
    ]
    assert max(ratios) == pytest.approx(constant, rel=1e-3)


def test_refusals_name_the_parameter_and_the_function():
    with pytest.raises(
        InvalidInput, match=r"'t' parameter of tail_bound must be finite numbers of at least 0. Got -1.0"
    ):
        tail_bound([1, -1], sigma=1, beta=1)
    with pytest.raises(
        InvalidInput, match=r"'t' parameter of tail_bound must be finite numbers of at least 0. Got 'a'"
    ):
        tail_bound("a", sigma=1, beta=1)
    with pytest.raises(InvalidInput, match="'sigma' parameter of tail_bound must be a finite number greater than 0"):
        tail_bound(1, sigma=0, beta=1)
    with pytest.raises(InvalidInput, match="'n' parameter of mean_deviation_bound must be an integer of at least 1"):
        mean_deviation_bound(0, 0.1, sigma=1, beta=1)
    with pytest.raises(
        InvalidInput, match="'constant' parameter of mean_deviation_bound must be a finite number greater"
    ):
        mean_deviation_bound(5, 0.1, sigma=1, beta=1, constant=-1)
    with pytest.raises(InvalidInput, match="'beta' parameter of sub_weibull_constant must be a finite number greater"):
        sub_weibull_constant(0)


def test_an_exponent_whose_moments_overflow_is_refused_in_a_sentence():
    with pytest.raises(
        InvalidInput, match="'beta' parameter of mean_deviation_bound must be large enough that the moments"
    ):
        mean_deviation_bound(5, 0.1, sigma=1, beta=1e-9)
    with pytest.raises(
        InvalidInput, match="'beta' parameter of sub_weibull_constant must be large enough that the moments"
    ):
        sub_weibull_constant(1e-3)
