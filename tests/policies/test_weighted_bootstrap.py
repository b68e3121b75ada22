"""Draws of the weighted bootstrap against their law; ``laws.py`` states error rates and power."""

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies import WeightedBootstrap
from laws import assert_follows, assert_same_law
from naive import resampling_policies as naive
from policies.learning import draws, learned
from sampling import each


@each(("ones", "zeros"), [(1, 1), (2, 5)])
@each("n", [1, 6, 25])
def test_draws_are_weighted_means_of_rewards_and_pseudo_rewards(ones, zeros, n):
    rng = np.random.default_rng(n)
    sample = rng.permutation(np.r_[rng.beta(2, 5, n), [0.0, 1.0, 1.0][: n // 2]])
    slow = naive.weighted_bootstrap_draws(sample, ones, zeros, 3000, np.random.default_rng(7))
    assert_same_law(draws(WeightedBootstrap(ones=ones, zeros=zeros), sample, 3000), slow)


@each(("ones", "zeros"), [(1.0, 1.0), (0.5, 2.5)])
@each("heads", [0, 3, 10])
def test_on_zeros_and_ones_it_is_thompson_sampling(ones, zeros, heads):
    sample = np.r_[np.ones(heads), np.zeros(10 - heads)]
    policy = WeightedBootstrap(ones=ones, zeros=zeros)
    assert_follows(draws(policy, sample, 3000), stats.beta(ones + heads, zeros + 10 - heads))
    assert not learned(policy, sample)[1].history.any()  # counted, not kept


def test_range_is_checked_unless_told_not_to():
    with pytest.raises(InvalidInput, match=r"'reward' parameter of WeightedBootstrap.update must be inside \[0, 1\]"):
        WeightedBootstrap(arms=2, rng=0).update(0, -0.5)
    free = WeightedBootstrap(arms=2, rng=0, check_range=False)
    free.update([0, 1], [-3.0, 8.0])
    assert free.select() in (0, 1)


@each("parameter", ["ones", "zeros"])
@each("value", [0, -1, "1", None])
def test_bad_parameters_are_refused(parameter, value):
    with pytest.raises(
        InvalidInput, match=rf"'{parameter}' parameter of WeightedBootstrap must be a finite number grea"
    ):
        WeightedBootstrap(**{parameter: value})
