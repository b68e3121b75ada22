"""Draws of PHE, ReBoot and Thompson sampling with unknown variance, and the arms of epsilon-greedy and uniform choice.

Laws are tested by ``laws.py``, which states error rates and power. Chi-square tests reject right frequencies with
probability 1e-6, and see those that are off by an eighth in root mean square with probability 0.99; z-tests allow five
standard errors (6e-7) and see 7.4.
"""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.engine.compiler.steps import select
from bandstrap.errors import InvalidInput
from bandstrap.policies import PHE, EpsilonGreedy, GaussianTSUnknownVariance, ReBoot, UniformRandom
from laws import assert_follows, assert_same_law
from naive import indices as naive
from policies.learning import draws, learned, scores
from sampling import each

SIGNIFICANCE = 1e-6
SIZE = 4000


@pytest.mark.parametrize(("a", "n", "coins"), [(1.1, 1, 2), (1.1, 10, 11), (2.0, 40, 80), (0.5, 5, 3), (0.1, 30, 3)])
def test_phe_adds_the_heads_of_fair_coins(a, n, coins):
    sample = np.random.default_rng(n).random(n)
    found = draws(PHE(a=a), sample, SIZE)
    heads = found * (n + coins) - sample.sum()
    assert np.abs(heads - heads.round()).max() < 1e-9
    assert heads.min() > -0.5
    assert heads.max() < coins + 0.5
    assert abs(heads.mean() - coins / 2) < 5 * math.sqrt(coins / 4 / SIZE)
    assert_same_law(found.round(9), naive.phe_draws(sample, coins, SIZE, np.random.default_rng(1)).round(9))


@each("n", [1, 4, 30])
@each(("sigma", "r"), [(1.0, 1.5), (0.2, 3.0)])
def test_reboot_draws_follow_the_bootstrap_of_residuals(n, sigma, r):
    sample = np.random.default_rng(n).normal(2, 1, n)
    found = draws(ReBoot(sigma=sigma, r=r), sample, SIZE)
    assert_same_law(found, naive.reboot_draws(sample, sigma * r, SIZE, np.random.default_rng(1)))
    spread = math.sqrt((np.sum((sample - sample.mean()) ** 2) + 2 * (n + 2) * (r * sigma) ** 2) / (n + 2) ** 2)
    assert_follows(found, stats.norm(sample.mean(), spread))


@each("a", [-1.0, -0.5, -0.2, 0.5])
@each("extra", [0, 1, 40])
def test_unknown_variance_draws_follow_the_student_posterior(a, extra):
    policy = GaussianTSUnknownVariance(a=a)
    n = policy.n_initial + extra
    sample = np.random.default_rng(n).normal(3, 2, n)
    found = draws(policy, sample, SIZE)
    d = n + 2 * a - 1
    law = stats.t(d, sample.mean(), math.sqrt(np.sum((sample - sample.mean()) ** 2) / (n * d)))
    assert_follows(found, law, moments=False)
    assert_same_law(found, naive.student_ts_draws(sample, a, SIZE, np.random.default_rng(1)), moments=False)


def test_thompson_choices_have_the_posterior_probability_of_the_best_arm():
    samples = [[0.1, 0.5, 0.4, 0.9, 0.3], [0.8, 0.2, 0.7, 0.9, 0.6, 0.1]]
    policy = GaussianTSUnknownVariance()
    params, state = learned(policy, *samples)
    rng = np.random.default_rng(2)
    wins = np.mean([select(policy.kernel, params, state, 12, rng, [0, 0]) for _ in range(SIZE)])
    laws = [
        stats.t(len(y) - 2, np.mean(y), math.sqrt(np.var(y) / (len(y) - 2)))  # a = -1/2
        for y in samples
    ]
    expected = laws[1].expect(laws[0].cdf)
    assert abs(wins - expected) < 5 * math.sqrt(expected * (1 - expected) / SIZE)


@each(("a", "n_initial"), [(-1.0, 5), (-0.5, 4), (-0.2, 4), (0.0, 3), (0.5, 2), (3.0, 2)])
def test_initial_pulls_make_the_posterior_proper(a, n_initial):
    policy = GaussianTSUnknownVariance(a=a, arms=2, rng=0)
    assert policy.n_initial == n_initial
    assert [policy.select() for _ in range(2 * n_initial)] == [0, 1] * n_initial
    policy.update([0] * n_initial + [1], [9.0] * n_initial + [0.0])
    assert [policy.select() for _ in range(4)] == [0, 1, 0, 1]  # in turn until enough rewards of both are in


def test_equal_rewards_leave_their_mean():
    assert scores(GaussianTSUnknownVariance(), [[0.3] * 7, [0.1] * 5], 20) == [0.3, 0.1]


@pytest.mark.parametrize(("epsilon", "decay"), [(0.1, 0.0), (0.6, 0.5), (5.0, 1.0), (50.0, 1.0), (0.0, 0.0)])
def test_epsilon_greedy_explores_at_its_rate(epsilon, decay):
    policy = EpsilonGreedy(epsilon=epsilon, decay=decay)
    params, state = learned(policy, [0.2], [0.9, 0.7], [0.5])
    rng = np.random.default_rng(3)
    t = 40
    counts = np.bincount([policy.kernel.choose(params, state, t, rng) for _ in range(SIZE)], minlength=3)
    rate = min(1, epsilon * (3 / t) ** decay)
    expected = SIZE * np.array([rate / 3, 1 - 2 * rate / 3, rate / 3])
    if rate == 0:
        assert counts.tolist() == [0, SIZE, 0]
    else:
        assert stats.chisquare(counts, expected).pvalue > SIGNIFICANCE


def test_epsilon_greedy_gives_ties_to_the_first_in_its_order():
    policy = EpsilonGreedy(epsilon=0.0)
    params, state = learned(policy, [0.5], [0.5], [0.2])
    state.order[:] = [2, 1, 0]
    assert policy.kernel.choose(params, state, 9, np.random.default_rng(0)) == 1


def test_uniform_choice_is_uniform():
    policy = UniformRandom()
    params, state = learned(policy, [0.2], [0.9], [0.5], [0.0])
    rng = np.random.default_rng(4)
    counts = np.bincount([policy.kernel.choose(params, state, 9, rng) for _ in range(SIZE)], minlength=4)
    assert stats.chisquare(counts).pvalue > SIGNIFICANCE


@each(
    ("make", "message"),
    [
        (lambda: PHE(a=0), r"'a' parameter of PHE must be a number in the open interval \(0, 1e\+06\). Got 0"),
        (lambda: PHE(a=1e19), r"'a' parameter of PHE must be a number in the open interval .* Got 1e\+19"),
        (lambda: ReBoot(sigma=-1), r"'sigma' parameter of ReBoot must be a finite number greater than 0. Got -1"),
        (lambda: ReBoot(r=None), r"'r' parameter of ReBoot must be a finite number greater than 0. Got None"),
        (
            lambda: GaussianTSUnknownVariance(a=math.inf),
            r"'a' parameter of GaussianTSUnknownVariance must be a number in the open interval .*1e.06\)\. Got inf",
        ),
        (
            lambda: EpsilonGreedy(epsilon=-1),
            r"'epsilon' parameter of EpsilonGreedy must be a finite number of at least 0",
        ),
        (lambda: EpsilonGreedy(decay="1"), r"'decay' parameter of EpsilonGreedy must be a finite number of at least 0"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_phe_lets_in_rewards_outside_its_range_only_when_told():
    with pytest.raises(InvalidInput, match=r"must be inside \[0, 1\]"):
        PHE(arms=2, rng=0).update(0, 2.0)
    PHE(arms=2, rng=0, check_range=False).update(0, 2.0)
