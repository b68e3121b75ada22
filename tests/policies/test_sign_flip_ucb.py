"""Sign-flip UCB against all subsets; coverage tests reject a right law with probability 1e-6 each."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.bounds import sign_flip
from bandstrap.engine.play import compiled_play, play
from bandstrap.errors import InvalidInput
from bandstrap.policies import UCB1
from bandstrap.policies.sign_flip_ucb import MOST_COUNTED, MOST_KEPT, SignFlipUCB, learn, prepare, score
from naive import scale_free as naive


def index(y, t, **options):
    """Index of an arm with rewards ``y`` in round ``t``."""
    policy = SignFlipUCB(**options)
    rng = np.random.default_rng(0)
    state = policy.start(1, len(y), rng)
    params = policy.make_params(1000)
    for reward in y:
        learn(params, state, 0, float(reward), 1, rng)
    return score(params, state, 0, prepare(params, state, t), rng)


def played(policy, tape, horizon, by=play):
    state = policy.start(len(tape), horizon, np.random.default_rng(5))
    choices = np.empty(horizon, dtype=np.int64)
    rng = np.random.default_rng(5)
    by(policy.kernel, policy.make_params(horizon), state, tape, rng, choices, len(tape))
    return choices


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=10), st.integers(1, 1500))
def test_index_of_few_rewards_is_that_of_all_subsets(y, t):
    alpha = 1 / (t + 1)
    expected = naive.sign_flip_index(y, alpha)
    found = index(y, t)
    if math.isinf(expected) or alpha * 2 ** len(y) >= 32:  # beyond, interpolated between two levels
        return
    assert found == pytest.approx(expected, abs=(max(y) - min(y)) * 2e-4 + 1e-12)


@pytest.mark.parametrize("n", range(1, 14))
def test_index_is_infinite_just_while_the_empty_subset_is_too_much(n):
    y = np.linspace(0, 1, n)
    assert math.isinf(index(y, 2**n + 1))
    assert math.isfinite(index(y, 2**n - 1))  # alpha = 2^-n


@pytest.mark.parametrize("n", [6, 9, 12, MOST_COUNTED, MOST_COUNTED + 1, 20, 30, MOST_KEPT, MOST_KEPT + 1, 100, 400])
@pytest.mark.parametrize("law", ["norm", "uniform", "laplace", "expon"])
def test_index_is_the_exact_bound_within_a_third_of_a_per_cent(n, law):
    errors = []
    for seed in range(6):
        y = getattr(stats, law).rvs(size=n, random_state=seed)
        for t in (20, 150, 2000):
            exact = sign_flip(y, 1 / (t + 1)).value
            if math.isfinite(exact):
                errors.append(abs(index(y, t) - exact) / (exact - y.mean()))
    # the steps of the staircase of subsets are coarser where a tail holds few of them
    assert np.median(errors) < (0.005 if n <= 20 else 0.003)
    assert max(errors) < (0.05 if n <= 20 else 0.01)


def test_large_samples_approach_the_normal_formula():
    y = np.random.default_rng(0).normal(2, 3, 3000)
    assert index(y, 5000) == pytest.approx(naive.normal_sign_flip_index(y, 1 / 5001), rel=1e-3)


@pytest.mark.parametrize("scale", [0.125, 1024.0, 1e-9, 3.7])
@pytest.mark.parametrize("shift", [0.0, 55.0])
def test_choices_do_not_change_with_scale_and_shift(scale, shift):
    tape = np.random.default_rng(2).laplace(size=(4, 700)) + np.array([[0.0], [0.3], [0.5], [0.2]])
    assert (
        played(SignFlipUCB(), tape, 700, compiled_play)
        == played(SignFlipUCB(), shift + scale * tape, 700, compiled_play)
    ).all()


def test_a_scale_caps_the_index_at_hoeffdings():
    y = np.array([0.3, -0.4, 1.2])
    expected = y.mean() + 0.5 * math.sqrt(2 * math.log(101) / 3)
    assert index(y, 100, sigma=0.5) == pytest.approx(expected)
    long = np.random.default_rng(0).normal(size=100)
    assert index(long, 100, sigma=50.0) == index(long, 100)


@pytest.mark.parametrize(
    "law",
    [stats.norm(), stats.cauchy(), stats.dweibull(0.5), stats.uniform(-1, 2)],
    ids=["normal", "cauchy", "weibull", "uniform"],
)
def test_bounds_cover_at_every_sample_size_of_a_tape(law):
    replications, longest, t = 2000, 64, 19  # alpha = 0.05
    tape = law.rvs(size=(replications, longest), random_state=np.random.default_rng(7))
    policy = SignFlipUCB()
    rng = np.random.default_rng(0)
    misses = np.zeros(longest, dtype=int)
    params = policy.make_params(1000)
    batch = 200
    state = policy.start(batch, longest, rng)
    shared = prepare(params, state, t)
    for n in (5, 6, 8, 12, 16, 17, 24, 32, 48, 49, 64):
        state = policy.start(batch, longest, rng)
        for arm in range(batch):
            for reward in tape[arm, :n]:
                learn(params, state, arm, reward, 1, rng)
            misses[n - 1] += score(params, state, arm, shared, rng) < 0
        # at most 5 %, give or take the noise of 200 samples, and the moments' per cent at n >= 49
        assert stats.binom.sf(misses[n - 1] - 1, batch, 0.05) > 1e-6


def test_equal_rewards_have_no_optimism_left():
    for n in (12, 16, 20, 48, 60):
        assert index(np.full(n, 0.7), 30) == pytest.approx(0.7)


@pytest.mark.parametrize("sigma", [0, -1, np.inf, "2", True])
def test_a_scale_that_is_none_is_refused(sigma):
    with pytest.raises(
        InvalidInput, match=r"'sigma' parameter of SignFlipUCB must be a finite number greater than 0. Got"
    ):
        SignFlipUCB(sigma=sigma)


def test_it_beats_ucb1_that_is_told_the_scale_on_truncated_rewards():
    from bandstrap import simulate
    from bandstrap.environments import TruncatedNormal

    result = simulate(
        {"flip": SignFlipUCB(), "ucb": UCB1()},
        TruncatedNormal(),
        horizon=2000,
        replications=100,
        seed=1,
        progress=False,
    )
    assert result.difference("flip", "ucb", confidence=0.999).high < 0
