"""Draws of both Thompson samplers against their laws; ``laws.py`` states error rates and power."""

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies import bernoulli_ts, gaussian_ts
from laws import assert_follows, assert_same_law
from naive import policies as naive


def learned(module, policy, sample, rng):
    state = policy.start(2, len(sample), rng)
    params = policy.make_params(None)
    for reward in sample:
        module.learn(params, state, 1, float(reward), 1, rng)
    return params, state


def draws(module, params, state, size, rng):
    shared = module.prepare(params, state, 10)
    return np.array([module.score(params, state, 1, shared, rng) for _ in range(size)])


@pytest.mark.parametrize("n", [1, 3, 40])
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_gaussian_draws_follow_the_posterior(n, sigma):
    rng = np.random.default_rng(n)
    sample = rng.normal(3, 1, n)
    params, state = learned(gaussian_ts, gaussian_ts.GaussianTS(sigma=sigma), sample, rng)
    found = draws(gaussian_ts, params, state, 4000, rng)
    law = stats.norm(sample.mean(), sigma / np.sqrt(n))
    assert_follows(found, law)
    slow = naive.gaussian_ts_draws(sample, sigma, 4000, np.random.default_rng(7))
    assert_same_law(found, slow)


@pytest.mark.parametrize(("ones", "zeros"), [(1.0, 1.0), (0.5, 3.0)])
@pytest.mark.parametrize("heads", [0, 3, 10])
def test_bernoulli_draws_follow_the_posterior_of_coins(ones, zeros, heads):
    rng = np.random.default_rng(heads)
    sample = np.r_[np.ones(heads), np.zeros(10 - heads)]
    params, state = learned(bernoulli_ts, bernoulli_ts.BernoulliTS(ones=ones, zeros=zeros), sample, rng)
    assert state.sums[1] == heads  # rewards 0 and 1 need no coin
    found = draws(bernoulli_ts, params, state, 4000, rng)
    assert_follows(found, stats.beta(ones + heads, zeros + 10 - heads))


def test_a_reward_between_zero_and_one_is_a_coin_tossed_once():
    rng = np.random.default_rng(0)
    sample = np.array([0.1, 0.5, 0.9, 0.9])
    policy = bernoulli_ts.BernoulliTS()
    found = []
    heads = np.zeros(3000)
    for i in range(3000):
        params, state = learned(bernoulli_ts, policy, sample, rng)
        heads[i] = state.sums[1]
        found.append(draws(bernoulli_ts, params, state, 1, rng)[0])
    slow = naive.bernoulli_ts_draws(sample, 1.0, 1.0, 3000, np.random.default_rng(1))
    assert_same_law(found, slow)
    assert abs(heads.mean() - sample.sum()) < 5 * np.sqrt((sample * (1 - sample)).sum() / 3000)  # 5 standard errors


def test_bad_parameters_are_refused():
    with pytest.raises(InvalidInput, match=r"'sigma' parameter of GaussianTS must be a finite number greater than 0"):
        gaussian_ts.GaussianTS(sigma=0)
    with pytest.raises(InvalidInput, match=r"'ones' parameter of BernoulliTS must be a finite number greater than 0"):
        bernoulli_ts.BernoulliTS(ones=-1)
    with pytest.raises(InvalidInput, match=r"'zeros' parameter of BernoulliTS must be a finite number greater than 0"):
        bernoulli_ts.BernoulliTS(zeros="many")
