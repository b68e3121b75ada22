"""Indices of robust UCB against their formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.engine.simulator.play import play
from bandstrap.errors import InvalidInput
from bandstrap.policies.robust_ucb import RobustUCB, learn, prepare, score
from naive import policies
from naive import resampling_policies as naive
from policies.learning import choices_on, learned, scores
from sampling import each

ORACLES = {
    "truncated-mean": naive.truncated_mean_index,
    "median-of-means": naive.median_of_means_index,
    "catoni": lambda y, t, epsilon, moment: naive.catoni_index(y, t, moment),
}
every_estimator = pytest.mark.parametrize("estimator", ORACLES)


def heavy(shape, seed):
    return np.random.default_rng(seed).standard_t(1.5, shape) + np.linspace(0, 1, shape[0])[:, None]


@every_estimator
@pytest.mark.parametrize(("epsilon", "moment"), [(1.0, 1.0), (0.4, 3.0), (1.0, 0.02)])
def test_indices_are_those_of_the_formula_after_every_reward_and_in_later_rounds(estimator, epsilon, moment):
    if estimator == "catoni":  # knows the variance alone
        epsilon = 1.0
    policy = RobustUCB(estimator=estimator, epsilon=epsilon, moment=moment)
    rng = np.random.default_rng(0)
    sample = heavy((1, 120), 4)[0]
    state = policy.start(1, 120, rng)
    params = policy.make_params(None)
    for i, reward in enumerate(sample):
        learn(params, state, 0, float(reward), i + 1, rng)
        for t in (i + 2, 2 * i + 5) if i == 119 else (i + 2,):
            found = score(params, state, 0, prepare(params, state, t), rng)
            assert found == pytest.approx(ORACLES[estimator](sample[: i + 1], t, epsilon, moment), rel=1e-9, abs=1e-9)


@every_estimator
@pytest.mark.parametrize("seed", range(3))
def test_choices_are_those_of_the_naive_index(estimator, seed):
    horizon = 150
    tape = heavy((3, horizon), seed)
    policy = RobustUCB(estimator=estimator, moment=0.5)
    choices = choices_on(policy, tape, play, [2, 0, 1])
    slow, _ = policies.play(lambda y, t: ORACLES[estimator](y, t, 1.0, 0.5), tape, horizon, [2, 0, 1])
    assert choices.tolist() == slow


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=12, max_size=40), st.sampled_from([1e-3, 1.0, 1e6]))
def test_catoni_finds_the_root_from_any_start(sample, moment):
    params, state = learned(RobustUCB(estimator="catoni", moment=moment), sample)
    state.cached[0][0] = sample[0]
    t = 4  # 4 log t^2 < 12
    found = score(params, state, 0, prepare(params, state, t), np.random.default_rng(0))
    log = math.log(t**2)
    a = math.sqrt(2 * log / (len(sample) * moment * (1 + 2 * log / (len(sample) - 2 * log))))
    assert found == pytest.approx(naive.catoni_index(np.array(sample), t, moment), rel=1e-9, abs=1e-7 + 1e-7 / a)


@each("place", [0, 7, 40, 63, 64, 119])
def test_a_huge_reward_spoils_no_block_but_its_own(place):
    sample = np.random.default_rng(1).normal(3.0, 1.0, 120)
    sample[place] = 1e30
    for n in (119, 120):
        found = scores(RobustUCB(estimator="median-of-means"), [sample[:n]], 500)[0]
        assert found == pytest.approx(naive.median_of_means_index(sample[:n], 500, 1.0, 1.0), rel=1e-12)


@every_estimator
@pytest.mark.parametrize("shift", [1e8, -1e12, 1e15])
def test_rewards_far_from_zero_have_indices_as_exact_as_they_are(estimator, shift):
    sample = shift + np.round(np.random.default_rng(1).normal(0.0, 8.0, 200)) / 8
    policy, rng = RobustUCB(estimator=estimator), np.random.default_rng(0)
    params, state = policy.make_params(None), policy.start(1, 200, rng)
    for n, reward in enumerate(sample, start=1):
        learn(params, state, 0, reward, n, rng)
        found = score(params, state, 0, prepare(params, state, n + 1), rng)
        if n >= 150:
            assert found == pytest.approx(ORACLES[estimator](sample[:n], n + 1, 1.0, 1.0), rel=1e-14, abs=1e-7)


def test_catoni_asks_for_enough_rewards_first():
    policy = RobustUCB(estimator="catoni", arms=3, rng=0)
    for _ in range(3):
        policy.update(policy.select(), 0.5)
    first = policy.select()
    while policy._state.pulls[first] < 4 * math.log((policy.n_rewards + 1) ** 2):
        assert policy.select() == first
        policy.update(first, 0.5)
    assert policy.select() != first


@every_estimator
def test_huge_and_vanishing_rewards_are_taken_in(estimator):
    policy = RobustUCB(estimator=estimator, arms=2, rng=0, epsilon=1.0)
    policy.update([0, 1] * 30, [1e150, 1e-200, 0.0, 1.0, -1e150, 0.5] * 10)
    assert policy.select() in (0, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": "mean"}, r"'estimator' parameter of RobustUCB must be one of 'truncated-mean', 'median-of-mean"),
        ({"epsilon": 0}, r"'epsilon' parameter of RobustUCB must be a finite number greater than 0. Got 0"),
        ({"epsilon": 1.5}, r"'epsilon' parameter of RobustUCB must be at most 1. Got 1.5"),
        ({"epsilon": 0.5, "estimator": "catoni"}, r"'epsilon' parameter of RobustUCB must be 1 for estimator='catoni'"),
        ({"moment": -1}, r"'moment' parameter of RobustUCB must be a finite number greater than 0. Got -1"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(InvalidInput, match=message):
        RobustUCB(**parameters)
