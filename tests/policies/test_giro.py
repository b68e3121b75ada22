"""Giro's draws; z-tests allow five standard errors (6e-7 each), KS tests reject a right law with probability 1e-6."""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies.giro import Giro, learn, prepare, score
from naive import policies as naive


def learned(policy, sample, rng):
    state = policy.start(2, len(sample), rng)
    params = policy.make_params(None)
    for reward in sample:
        learn(params, state, 1, float(reward), 1, rng)
    return params, state


def draws(params, state, size, rng):
    return np.array([score(params, state, 1, prepare(params, state, 5), rng) for _ in range(size)])


@pytest.mark.parametrize("a", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("n", [2, 8])
def test_mean_variance_and_law_are_those_of_a_bootstrap_of_the_history(a, n):
    rng = np.random.default_rng(n)
    sample = rng.beta(2, 5, n)
    params, state = learned(Giro(a=a), sample, rng)
    pseudo = round(a * n)
    assert state.pseudo[1] == pseudo
    history = naive.giro_history(sample, pseudo)
    found = draws(params, state, 4000, rng)
    variance = history.var() / history.size
    assert abs(found.mean() - history.mean()) < 5 * math.sqrt(variance / 4000)
    # the variance of a sample variance of nearly normal draws is 2 v^2/(N - 1); bounded draws have less
    assert abs(found.var(ddof=1) / variance - 1) < 5 * math.sqrt(2 / 3999)
    slow = naive.giro_draws(sample, pseudo, 4000, np.random.default_rng(1))
    assert stats.ks_2samp(found.round(12), slow.round(12), method="asymp").pvalue > 1e-6


@pytest.mark.parametrize("a", [0.1, 0.25, 1 / 3, 1.7])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_fractional_number_of_pseudo_rewards_is_rounded_at_random_to_the_right_mean(a, n):
    rng = np.random.default_rng(0)
    counts = np.array([learned(Giro(a=a), np.full(n, 0.5), rng)[1].pseudo[1] for _ in range(2000)])
    assert set(counts) <= {math.floor(a * n), math.ceil(a * n)}
    share = a * n - math.floor(a * n)
    assert abs(counts.mean() - a * n) <= 5 * math.sqrt(share * (1 - share) / 2000) + 1e-12


def test_an_arm_of_zeros_is_still_drawn_above_zero():
    rng = np.random.default_rng(3)
    params, state = learned(Giro(), np.zeros(4), rng)
    found = draws(params, state, 1000, rng)
    assert (found > 0).mean() > 0.95
    assert ((found >= 0) & (found <= 1)).all()


def test_range_is_checked_unless_told_not_to():
    with pytest.raises(InvalidInput, match=r"'reward' parameter of Giro.update must be inside \[0, 1\]. Got 1.5"):
        Giro(arms=2, rng=0).update(0, 1.5)
    free = Giro(arms=2, rng=0, check_range=False)
    free.update([0, 1], [-3.0, 8.0])
    assert free.label == "giro:check_range=False"


@pytest.mark.parametrize("a", [0, -1, math.nan, "1", None])
def test_bad_parameters_are_refused(a):
    with pytest.raises(InvalidInput, match=r"'a' parameter of Giro must be a finite number greater than 0. Got"):
        Giro(a=a)
