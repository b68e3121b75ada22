import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bandstrap.bounds.empirical_kl import least_divergence, solve_dual
from bandstrap.policies.kernels.divergence import bernoulli_divergence, bernoulli_upper_mean
from naive import indices as naive

unit = st.floats(0, 1)


@given(unit, unit)
@example(0.0, 1.0)
@example(0.5, 1.0)
@example(0.0, 0.0)
def test_bernoulli_divergence_is_the_formula(one, other):
    p, q = sorted((one, other))
    assert bernoulli_divergence(p, q) == pytest.approx(naive.bernoulli_kl(p, q), rel=1e-9, abs=1e-15)


@given(st.floats(1e-12, 1 - 1e-12), st.floats(1e-9, 50))
@example(0.5, 1e-9)
@example(1e-12, 50.0)
@example(0.9, 7.0)
def test_upper_mean_is_the_one_of_a_bracketing_solver(p, divergence):
    found = bernoulli_upper_mean(p, divergence)
    assert p <= found <= 1
    # where the divergence is flat a rounding error of it moves the solution by its square root
    assert found == pytest.approx(naive.largest_coin(p, divergence), rel=1e-9, abs=1e-16 / math.sqrt(divergence))


def test_upper_mean_at_the_ends():
    assert bernoulli_upper_mean(1.0, 0.3) == 1.0
    assert bernoulli_upper_mean(0.0, 0.3) == pytest.approx(1 - math.exp(-0.3), rel=1e-15)
    assert bernoulli_upper_mean(0.4, 0.0) == 0.4
    assert bernoulli_upper_mean(0.0, 0.0) == 0.0
    assert bernoulli_upper_mean(0.999, 100.0) == 1.0


samples = st.lists(st.floats(0, 1).map(lambda y: round(y, 3)), min_size=1, max_size=12).map(np.array)


@given(samples, st.floats(0.001, 1.4), st.sampled_from([1.0, 1.01, 1.5]), st.floats(-1, 50))
def test_least_divergence_is_the_one_of_a_golden_section(y, mean, top, start):
    found, dual = least_divergence(y, top, mean, start)
    assert found == pytest.approx(naive.least_divergence(y, top, mean), rel=1e-6, abs=1e-12)
    assert dual >= 0


@given(samples, st.floats(1e-3, 2.0), st.sampled_from([1.0, 1.5]))
def test_least_divergence_inverts_the_largest_mean(y, divergence, top):
    mean, _ = solve_dual(y, top, divergence, -math.inf)
    assert y.mean() - 1e-9 <= mean <= top
    if y.mean() + 1e-6 < mean < top - 1e-9:
        assert least_divergence(y, top, mean, 0.0)[0] == pytest.approx(divergence, rel=1e-6)


def test_dual_variable_is_the_slope_in_the_mean():
    y = np.array([0.1, 0.3, 0.35, 0.6])
    for mean in (0.4, 0.55, 0.7):
        low, high = (least_divergence(y, 1.0, mean + h, 0.0)[0] for h in (-1e-6, 1e-6))
        assert least_divergence(y, 1.0, mean, 0.0)[1] == pytest.approx((high - low) / 2e-6, rel=1e-5)


def test_zeros_and_ones_have_the_bernoulli_divergence():
    y = np.r_[np.zeros(7), np.ones(3)]
    assert least_divergence(y, 1.0, 0.5, 0.0)[0] == pytest.approx(bernoulli_divergence(0.3, 0.5), rel=1e-12)
