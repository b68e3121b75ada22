"""NPTS's draws against their law; ``laws.py`` states error rates and power."""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies import NPTS
from laws import assert_follows, assert_same_law
from naive import resampling_policies as naive
from policies.learning import draws
from sampling import each


@each("upper", [1.0, 3.0])
@each("n", [1, 4, 30])
def test_draws_are_dirichlet_averages_with_the_upper_end(upper, n):
    sample = np.random.default_rng(n).normal(0, 0.3, n)
    slow = naive.npts_draws(sample, upper, 3000, np.random.default_rng(7))
    assert_same_law(draws(NPTS(upper=upper), sample, 3000), slow)


@pytest.mark.parametrize("heads", [0, 4, 9])
def test_on_zeros_and_ones_it_is_thompson_sampling_with_a_pseudo_success(heads):
    sample = np.r_[np.ones(heads), np.zeros(10 - heads)]
    assert_follows(draws(NPTS(), sample, 3000), stats.beta(1 + heads, 10 - heads))


def test_an_arm_of_largest_rewards_stays_there():
    np.testing.assert_allclose(draws(NPTS(), np.ones(5), 20), 1.0)


def test_the_upper_end_is_a_range_and_checked():
    with pytest.raises(InvalidInput, match=r"'reward' parameter of NPTS.update must be inside \[-inf, 1\]. Got 1.5"):
        NPTS(arms=2, rng=0).update(0, 1.5)
    with pytest.raises(InvalidInput, match=r"'reward' parameter of NPTS.update must be inside \[-1, inf\]. Got -1.5"):
        NPTS(arms=2, rng=0, direction="min").update(0, -1.5)
    with pytest.raises(InvalidInput, match=r"'upper' parameter of NPTS must be a finite number. Got"):
        NPTS(upper=math.inf)
