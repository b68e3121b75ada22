"""Draws of both Thompson samplers against their laws; ``laws.py`` states error rates and power."""

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies import BernoulliTS, GaussianTS
from laws import assert_follows, assert_same_law
from naive import policies as naive
from policies.learning import draws, learned
from sampling import each


@each("n", [1, 3, 40])
@each("sigma", [0.5, 2.0])
def test_gaussian_draws_follow_the_posterior(n, sigma):
    sample = np.random.default_rng(n).normal(3, 1, n)
    found = draws(GaussianTS(sigma=sigma), sample, 4000)
    assert_follows(found, stats.norm(sample.mean(), sigma / np.sqrt(n)))
    assert_same_law(found, naive.gaussian_ts_draws(sample, sigma, 4000, np.random.default_rng(7)))


@each(("ones", "zeros"), [(1.0, 1.0), (0.5, 3.0)])
@each("heads", [0, 3, 10])
def test_bernoulli_draws_follow_the_posterior_of_coins(ones, zeros, heads):
    sample = np.r_[np.ones(heads), np.zeros(10 - heads)]
    policy = BernoulliTS(ones=ones, zeros=zeros)
    assert learned(policy, sample)[1].sums.tolist() == [heads]  # rewards 0 and 1 need no coin
    assert_follows(draws(policy, sample, 4000), stats.beta(ones + heads, zeros + 10 - heads))


def test_a_reward_between_zero_and_one_is_a_coin_tossed_once():
    rng = np.random.default_rng(0)
    sample = np.array([0.1, 0.5, 0.9, 0.9])
    policy = BernoulliTS()
    found, heads = np.zeros(3000), np.zeros(3000)
    for i in range(3000):
        params, state = learned(policy, sample, seed=rng)
        heads[i] = state.sums[0]
        found[i] = policy.kernel.score(params, state, 0, policy.kernel.prepare(params, state, 10), rng)
    slow = naive.bernoulli_ts_draws(sample, 1.0, 1.0, 3000, np.random.default_rng(1))
    assert_same_law(found, slow)
    assert abs(heads.mean() - sample.sum()) < 5 * np.sqrt((sample * (1 - sample)).sum() / 3000)  # 5 standard errors


def test_a_small_prior_is_not_lost_beside_many_rewards():
    for policy, rewards in ((BernoulliTS(zeros=1e-20), np.ones(5)), (BernoulliTS(ones=1e-20), np.zeros(5))):
        assert draws(policy, rewards, 5).round(9).tolist() == rewards.tolist()


def test_bad_parameters_are_refused():
    with pytest.raises(InvalidInput, match=r"'sigma' parameter of GaussianTS must be a finite number greater than 0"):
        GaussianTS(sigma=0)
    with pytest.raises(InvalidInput, match=r"'ones' parameter of BernoulliTS must be a finite number greater than 0"):
        BernoulliTS(ones=-1)
    with pytest.raises(InvalidInput, match=r"'zeros' parameter of BernoulliTS must be a finite number greater than 0"):
        BernoulliTS(zeros="many")
