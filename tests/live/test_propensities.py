"""Propensities are chances: 100,000 decisions are counted, and what fixed arms would have earned is estimated by them.

The log is made by Thompson sampling with an available arm or two missing now and then, and a reward in ten learned. Each
comparison rejects right propensities with a chance of 1e-6.
"""

import json
import math

import numpy as np
import pytest
from scipy import stats

from bandstrap import live
from sampling import exhaustive

ARMS = ["red", "green", "blue", "teal"]
MEANS = np.array([0.3, 0.5, 0.45, 0.2])
ROUNDS, AT_ONCE = 25, 4000
SIGNIFICANCE = 1e-6
STANDARD_ERRORS = 4.9  # exceeded with probability 1e-6


class Round:
    """Decisions of one version among the same arms: their weights, arms served and rewards."""

    def __init__(self, weights, arms, rewards):
        self.weights, self.arms, self.rewards = weights, arms, rewards


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    target = tmp_path_factory.mktemp("live") / "a.db"
    options = {"policy": "gaussian_ts:sigma=0.5", "arms": ARMS, "burn_in": 5, "floor": 0.1, "draws": 300}
    experiment = live.create(target, "counted", seed=5, refresh="1h", durability="normal", **options)
    rng = np.random.default_rng(17)
    found = []
    for number in range(ROUNDS):
        available = [arm for arm in ARMS if number % 4 or arm == "red" or rng.random() < 0.7]
        # Keys of its own: those of the fixture ``repeatable`` are for one test, and this is made once for all of them.
        keys = [f"{number}-{i}" for i in range(AT_ONCE)]
        decisions = experiment.decide_many(keys=keys, available=available)
        assert len({(decision.version, json.dumps(decision.weights)) for decision in decisions}) == 1
        arms = np.array([ARMS.index(decision.arm) for decision in decisions])
        rewards = (rng.random(AT_ONCE) < MEANS[arms]).astype(float)
        found.append(Round(np.array(list(decisions[0].weights.values())), arms, rewards))
        assert all(d.propensity == d.weights[d.arm] for d in decisions)
        late = rng.choice(AT_ONCE, 40, replace=False)
        experiment.reward_many([(decisions[i].id, float(rewards[i])) for i in late])
        experiment.refresh()
    return found


def chi_square(one, weights):
    """Pearson's statistic of a round and its degrees of freedom."""
    counts = np.bincount(one.arms, minlength=len(ARMS))
    is_possible = weights > 0
    assert counts[~is_possible].sum() == 0
    expected = weights[is_possible] / weights.sum() * len(one.arms)
    return ((counts[is_possible] - expected) ** 2 / expected).sum(), is_possible.sum() - 1


def p_value(rounds):
    statistic, freedom = np.sum([chi_square(one, one.weights) for one in rounds], axis=0)
    return stats.chi2.sf(statistic, freedom)


@exhaustive
def test_a_hundred_thousand_decisions_follow_their_propensities(rounds):
    assert sum(len(one.arms) for one in rounds) == 100_000
    assert len({tuple(one.weights) for one in rounds}) > 15
    for one in rounds:
        assert p_value([one]) > SIGNIFICANCE / ROUNDS
    assert p_value(rounds) > SIGNIFICANCE


@exhaustive
def test_each_arm_is_served_as_often_as_its_propensities_say(rounds):
    assert np.abs(standard_scores(rounds)).max() < STANDARD_ERRORS


@exhaustive
@pytest.mark.parametrize("arm", range(len(ARMS)))
def test_propensities_that_are_wrong_by_a_seventh_would_be_seen(rounds, arm):
    """An arm served 5000 times is then 10 standard errors off, so that the test above misses it with chance 1e-7."""
    factors = np.where(np.arange(len(ARMS)) == arm, 8 / 7, 1.0)
    assert np.abs(standard_scores(rounds, factors))[arm] > STANDARD_ERRORS


def standard_scores(rounds, factors=1.0):
    """How far each arm's count is from what its propensities say, in standard errors."""
    counts = sum(np.bincount(one.arms, minlength=len(ARMS)) for one in rounds)
    weights = np.array([one.weights * factors for one in rounds])
    return (counts - AT_ONCE * weights.sum(axis=0)) / np.sqrt(AT_ONCE * (weights * (1 - weights)).sum(axis=0))


def estimates(rounds, change=1.0):
    """The mean of ``1{arm = a} reward / propensity`` over the rounds where each arm was there, and its standard error."""
    found = []
    for arm in range(len(ARMS)):
        there = [one for one in rounds if one.weights[arm] > 0]
        terms = np.concatenate([(one.arms == arm) * one.rewards / (change * one.weights[arm]) for one in there])
        found.append((terms.mean(), terms.std() / math.sqrt(terms.size)))
    return np.array(found).T


def test_what_fixed_arms_would_have_earned_is_estimated_without_bias(rounds):
    """Standard errors are 0.0025 to 0.009, so that a bias of 0.015 to 0.055 would be seen."""
    values, errors = estimates(rounds)
    assert errors.max() < 0.02
    assert (np.abs(values - MEANS) < STANDARD_ERRORS * errors).all()


def test_wrong_propensities_would_bias_the_estimates(rounds):
    """By a quarter: the arms served most show it, whose standard errors are a hundredth of their means."""
    values, errors = estimates(rounds, change=1.25)
    assert (np.abs(values - MEANS) > STANDARD_ERRORS * errors).sum() >= 2


def test_without_propensities_the_log_is_biased(rounds):
    """What is estimated is not what the plain mean over all decisions says, so that the test above is one."""
    shares = np.mean([np.bincount(one.arms, minlength=4) / len(one.arms) for one in rounds], axis=0)
    values, errors = estimates(rounds)
    assert np.ptp(shares) > 0.3
    naive = np.array([np.concatenate([(one.arms == arm) * one.rewards for one in rounds]).mean() for arm in range(4)])
    assert (np.abs(naive - MEANS) > STANDARD_ERRORS * errors).all()
    assert values.shape == naive.shape
