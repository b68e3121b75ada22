"""Bounds of MARS against their definition; the error rates and power of tests of laws are those of ``laws.py``."""

import math

import numpy as np
import pytest

from bandstrap.errors import InvalidInput
from bandstrap.policies import MARS
from laws import assert_same_law
from naive import resampling_policies as naive
from policies.learning import learned


def bound(policy, sample, rng):
    params, state = learned(policy, sample, seed=rng)
    return policy.kernel.score(params, state, 0, policy.kernel.prepare(params, state, 5), rng)


@pytest.mark.parametrize("n", [5, 8, 20])
def test_bounds_are_largest_means_of_random_subsets(n):
    rng = np.random.default_rng(n)
    sample = rng.normal(1, 2, n)
    found = np.array([bound(MARS(alpha=1 / 20), sample, rng) for _ in range(1500)])
    slow = naive.mars_bounds(sample, 20, 1500, np.random.default_rng(3))
    ceiling = 100.0  # stands for infinity
    assert_same_law(np.minimum(found, ceiling).round(9), np.minimum(slow, ceiling).round(9))
    assert np.isfinite(found).any()


@pytest.mark.parametrize("n", [1, 3, 4])
def test_few_rewards_have_an_infinite_bound_or_their_largest(n):
    rng = np.random.default_rng(n)
    sample = rng.normal(1, 2, n)
    found = np.array([bound(MARS(alpha=1 / 20), sample, rng) for _ in range(4000)])
    assert set(found) <= {math.inf, sample.max()}
    share = 2**n / 20
    assert abs(np.isfinite(found).mean() - share) < 5 * math.sqrt(share * (1 - share) / 4000)


@pytest.mark.parametrize("n", [2, 6, 12])
def test_the_bound_of_symmetric_rewards_falls_short_with_the_probability_asked_for(n):
    rng = np.random.default_rng(n)
    misses = np.mean([bound(MARS(alpha=0.1), rng.laplace(3, 2, n), rng) < 3 for _ in range(4000)])
    # exactly alpha where the bound is drawn, 1/(m + 1) with m = 10 subsets; five standard errors (6e-7), so that a rate
    # of 0.14 is seen with probability 0.99
    expected = 0.1 if n == 2 else 1 / 11
    assert abs(misses - expected) < 5 * math.sqrt(0.09 / 4000)


def test_many_pulls_do_not_overflow():
    policy = MARS(alpha=0.5, arms=1, rng=0)
    policy.update([0] * 1200, [0.5] * 1200)
    assert policy._state.bounds[0] == pytest.approx(0.5)


def test_the_number_of_subsets_is_the_inverse_of_the_error_probability():
    assert [MARS(alpha=a).start(1, 1, np.random.default_rng(0)).signs.shape[1] for a in (0.001, 0.3, 0.05)] == [
        1000,
        4,
        20,
    ]


@pytest.mark.parametrize("alpha", [0, 1, -0.1, "0.1", None])
def test_bad_parameters_are_refused(alpha):
    with pytest.raises(InvalidInput, match=r"'alpha' parameter of MARS must be a number in the open interval \(0, 1\)"):
        MARS(alpha=alpha)


def test_more_subsets_than_memory_would_hold_are_refused():
    with pytest.raises(InvalidInput, match=r"'arms' parameter of MARS must be small enough for .* Got 100000, which"):
        MARS(alpha=1e-7, arms=100_000)
