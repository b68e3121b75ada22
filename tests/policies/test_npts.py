"""NPTS's draws against their law; ``laws.py`` states error rates and power."""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies.history import learn
from bandstrap.policies.npts import NPTS, prepare, score
from laws import assert_follows, assert_same_law
from naive import resampling_policies as naive


def draws(policy, sample, size, rng):
    state = policy.start(2, len(sample), rng)
    params = policy.make_params(None)
    for reward in sample:
        learn(params, state, 1, float(reward), 1, rng)
    return np.array([score(params, state, 1, prepare(params, state, 5), rng) for _ in range(size)])


@pytest.mark.parametrize("upper", [1.0, 3.0])
@pytest.mark.parametrize("n", [1, 4, 30])
def test_draws_are_dirichlet_averages_with_the_upper_end(upper, n):
    rng = np.random.default_rng(n)
    sample = rng.normal(0, 0.3, n)
    found = draws(NPTS(upper=upper), sample, 3000, rng)
    slow = naive.npts_draws(sample, upper, 3000, np.random.default_rng(7))
    assert_same_law(found, slow)


@pytest.mark.parametrize("heads", [0, 4, 9])
def test_on_zeros_and_ones_it_is_thompson_sampling_with_a_pseudo_success(heads):
    sample = np.r_[np.ones(heads), np.zeros(10 - heads)]
    found = draws(NPTS(), sample, 3000, np.random.default_rng(heads))
    assert_follows(found, stats.beta(1 + heads, 10 - heads))


def test_an_arm_of_largest_rewards_stays_there():
    np.testing.assert_allclose(draws(NPTS(), np.ones(5), 20, np.random.default_rng(0)), 1.0)


def test_the_upper_end_is_a_range_and_checked():
    with pytest.raises(InvalidInput, match=r"'reward' parameter of NPTS.update must be inside \[-inf, 1\]. Got 1.5"):
        NPTS(arms=2, rng=0).update(0, 1.5)
    with pytest.raises(InvalidInput, match=r"'reward' parameter of NPTS.update must be inside \[-1, inf\]. Got -1.5"):
        NPTS(arms=2, rng=0, direction="min").update(0, -1.5)
    with pytest.raises(InvalidInput, match=r"'upper' parameter of NPTS must be a finite number. Got"):
        NPTS(upper=math.inf)
