"""Replicates of bootstrapped Thompson sampling against their law.

``laws.py`` states error rates and power; the chi-square test has 1e-6, and sees frequencies that are off by an eighth in
root mean square with probability 0.99.
"""

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies import BootstrappedTS
from laws import assert_follows, assert_same_law
from naive import resampling_policies as naive
from policies.learning import draws, learned
from sampling import each

SIGNIFICANCE = 1e-6
N_REPLICATES = 3000


def replicate_means(state):
    return (state.rewards[0] + state.sums[0]) / (state.pulls[0] + state.totals[0])


@each("prior", ["fixed", "drawn"])
@each("n", [1, 4, 20])
def test_replicates_hold_each_reward_twice_or_not_at_all(prior, n):
    sample = np.random.default_rng(n).beta(2, 3, n)
    _, state = learned(BootstrappedTS(n_replicates=N_REPLICATES, ones=2.0, zeros=0.5, prior=prior), sample)
    other = np.random.default_rng(7)
    ones, zeros = (
        np.full(N_REPLICATES, weight) if prior == "fixed" else other.gamma(weight, size=N_REPLICATES)
        for weight in (2.0, 0.5)
    )
    slow = naive.double_or_nothing_means(sample, ones, zeros, other)
    assert_same_law(replicate_means(state).round(12), slow.round(12))


def test_drawn_prior_data_are_a_beta_prior():
    state = BootstrappedTS(n_replicates=N_REPLICATES, ones=2.0, zeros=3.0, prior="drawn").start(
        1, 1, np.random.default_rng(0)
    )
    assert_follows(state.sums[0] / state.totals[0], stats.beta(2, 3))


def test_a_decision_draws_one_replicate_of_each_arm():
    policy, sample = BootstrappedTS(n_replicates=8), np.random.default_rng(0).random(5)
    values, counts = np.unique(draws(policy, sample, 4000, seed=1), return_counts=True)
    np.testing.assert_allclose(values, np.unique(replicate_means(learned(policy, sample)[1])))
    assert stats.chisquare(counts).pvalue > SIGNIFICANCE


def test_range_is_checked_unless_told_not_to():
    with pytest.raises(InvalidInput, match=r"'reward' parameter of BootstrappedTS.update must be inside \[0, 1\]"):
        BootstrappedTS(arms=2, rng=0).update(0, 1.5)
    BootstrappedTS(arms=2, rng=0, check_range=False).update([0, 1], [-3.0, 8.0])


@pytest.mark.parametrize(
    ("parameter", "value", "rule"),
    [
        ("n_replicates", 0, "an integer of at least 1"),
        ("n_replicates", 2.5, "an integer of at least 1"),
        ("ones", 0, "a finite number greater than 0"),
        ("zeros", -1, "a finite number greater than 0"),
        ("prior", "flat", "one of 'fixed', 'drawn'"),
    ],
)
def test_bad_parameters_are_refused(parameter, value, rule):
    with pytest.raises(InvalidInput, match=rf"'{parameter}' parameter of BootstrappedTS must be {rule}"):
        BootstrappedTS(**{parameter: value})
