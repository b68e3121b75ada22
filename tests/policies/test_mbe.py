"""Draws of multiplier bootstrap exploration against their law; ``laws.py`` states error rates and power."""

import math

import numpy as np
import pytest

from bandstrap.errors import InvalidInput
from bandstrap.policies import MBE
from laws import assert_same_law
from naive import resampling_policies as naive
from policies.learning import draws
from sampling import each


@each("weights", ["gaussian", "exponential"])
@each(("strength", "variance"), [(0.5, 0.5), (0.1, 2.0)])
@each("n", [1, 2, 15])
def test_draws_are_means_of_rewards_and_pseudo_rewards_under_fresh_weights(weights, strength, variance, n):
    sample = np.random.default_rng(n).random(n)
    found = draws(MBE(strength=strength, weights=weights, variance=variance), sample, 3000)
    other = np.random.default_rng(7)
    laws = {
        "gaussian": lambda shape: other.normal(1, math.sqrt(variance), shape),
        "exponential": lambda shape: other.exponential(1, shape),
    }
    slow = naive.mbe_draws(sample, strength, laws[weights], 3000)
    assert_same_law(found, slow)


def test_range_is_checked_unless_told_not_to():
    with pytest.raises(InvalidInput, match=r"'reward' parameter of MBE.update must be inside \[0, 1\]"):
        MBE(arms=2, rng=0).update(0, 1.5)
    MBE(arms=2, rng=0, check_range=False).update([0, 1], [-3.0, 8.0])


@pytest.mark.parametrize(
    ("parameter", "value", "rule"),
    [
        ("strength", 0, "a finite number greater than 0"),
        ("variance", -1, "a finite number greater than 0"),
        ("weights", "rademacher", "one of 'gaussian', 'exponential'"),
    ],
)
def test_bad_parameters_are_refused(parameter, value, rule):
    with pytest.raises(InvalidInput, match=rf"'{parameter}' parameter of MBE must be {rule}"):
        MBE(**{parameter: value})
