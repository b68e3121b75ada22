"""Randomised linear policies: Thompson sampling, perturbed history, residual bootstrap.

KS and chi-square tests reject a right law with probability 1e-6 each, z-tests allow six standard errors (2e-9 each). Of
4000 draws they see, with probability 0.99, a mean that is off by 0.14 standard deviations, a covariance that is off by
0.19, and frequencies that are off by an eighth in root mean square.
"""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies.linear import LinearPHE, LinearReBoot, LinearTS, linear_phe, linear_reboot, linear_ts
from naive import linear as naive
from policies.linear.games import game, played
from sampling import each

SIGNIFICANCE = 1e-6
N = 4000


def learned(module, policy, X, y):
    params = policy.make_params(None)
    state = policy.start(X.shape[1], len(X), np.random.default_rng(0))
    for n, (x, reward) in enumerate(zip(X, y, strict=True), start=1):
        module.learn(params, state, x, float(reward), n, None)
    return params, state


def observations(n=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(5, d))
    return actions, actions[rng.integers(0, 5, n)], rng.normal(size=n)


def draws(module, params, state, actions, t, size=N, seed=1):
    """The vectors a policy acted on."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(size):
        module.choose(params, state, actions, t, rng)
        found.append(np.array(state.draw))
    return np.array(found)


# --- Thompson sampling ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"sigma": 0.3, "ridge": 4.0}, {"inflation": "paper"}, {"inflation": "agrawal-goyal"}], ids=str
)
def test_thompson_draws_have_the_posteriors_mean_and_covariance(options):
    actions, X, y = observations()
    policy = LinearTS(**options)
    params, state = learned(linear_ts, policy, X, y)
    t = 31
    v = naive.spread(options.get("inflation", "none"), 3, t, options.get("sigma", 1.0))
    mean, covariance = naive.posterior(X, y, options.get("ridge", 1.0), v)
    found = draws(linear_ts, params, state, actions, t)
    whitened = np.linalg.solve(np.linalg.cholesky(covariance), (found - mean).T)
    assert np.abs(whitened.mean(axis=1)).max() < 6 / math.sqrt(N)
    assert np.abs(np.cov(whitened) - np.eye(3)).max() < 6 * math.sqrt(2 / N)
    for row in whitened:
        assert stats.kstest(row, stats.norm().cdf).pvalue > SIGNIFICANCE


@each("inflation", ["none", "paper", "agrawal-goyal"])
@each("t", [1, 7, 2000])
def test_the_spread_is_its_formula(inflation, t):
    params = LinearTS(inflation=inflation, sigma=0.4, delta=0.05).make_params(None)
    assert linear_ts.spread(params, 6, t) == pytest.approx(naive.spread(inflation, 6, t, 0.4, 0.05), rel=1e-13)


@each("contextual", [False, True], ids=["fixed", "contextual"])
@each("inflation", ["none", "paper", "agrawal-goyal"])
def test_thompson_choices_are_those_of_the_formula_over_a_run(inflation, contextual):
    sets, tape = game(n_actions=5, horizon=80, contextual=contextual)
    slow = naive.linear_ts(np.random.default_rng(3), inflation, 0.5, 2.0)
    expected, narrowest = naive.play(slow, sets, tape, 80)
    assert narrowest > 1e-9  # no tie for rounding to break
    assert len(set(expected)) > 1
    assert played(LinearTS(inflation=inflation, sigma=0.5, ridge=2.0), sets, tape, 80, 3) == expected


def test_the_scale_of_the_prior_sets_the_penalty():
    policy = LinearTS(sigma=0.5, prior_scale=2.0)
    assert policy.penalty == pytest.approx(0.0625)
    state = policy.start(2, 1, np.random.default_rng(0))
    np.testing.assert_allclose(state.regression.gram, 0.0625 * np.eye(2))
    assert LinearTS(ridge=3.0).penalty == 3.0


@pytest.mark.parametrize(
    ("sigma", "prior_scale"), [(1.0, 1e170), (1e-200, 1.0), (1.0, 1e-170), (1e200, 1.0)], ids=lambda v: f"{v:g}"
)
def test_a_prior_so_wide_or_narrow_that_the_penalty_is_no_number_is_refused(sigma, prior_scale):
    with pytest.raises(InvalidInput, match=r"The 'prior_scale' parameter of LinearTS must be .* Got .* instead\.$"):
        LinearTS(sigma=sigma, prior_scale=prior_scale)


# --- perturbed history ------------------------------------------------------------------------------------------------


def test_a_perturbed_history_has_the_mean_and_covariance_of_its_pseudo_rewards():
    actions, X, y = observations(60)
    params, state = learned(linear_phe, LinearPHE(a=3, lower=-1.0, upper=2.0, ridge=0.5), X, y)
    found = draws(linear_phe, params, state, actions, 61)
    inverse = np.linalg.inv(naive.gram(X, 0.5))
    mean = inverse @ X.T @ (y + 3 * 0.5) / 4
    half_range = 1.5
    covariance = inverse @ (X.T @ X * 3 * half_range**2) @ inverse / 16
    whitened = np.linalg.solve(np.linalg.cholesky(covariance), (found - mean).T)
    assert np.abs(whitened.mean(axis=1)).max() < 6 / math.sqrt(N)
    assert np.abs(np.cov(whitened) - np.eye(3)).max() < 6 * math.sqrt(2 / N)


@pytest.mark.parametrize("contextual", [False, True], ids=["fixed", "contextual"])
@pytest.mark.parametrize("options", [{}, {"a": 1, "ridge": 0.3, "lower": -2.0, "upper": 0.5}], ids=str)
def test_perturbed_choices_are_those_of_the_formula_over_a_run(options, contextual):
    sets, tape = game(n_actions=5, horizon=80, contextual=contextual, seed=4)
    expected, narrowest = naive.play(naive.linear_phe(np.random.default_rng(9), **options), sets, tape, 80)
    assert narrowest > 1e-9
    assert played(LinearPHE(**options, check_range=False), sets, tape, 80, 9) == expected


# --- residual bootstrap -----------------------------------------------------------------------------------------------


def test_residual_draws_follow_their_law():
    actions, X, y = observations(60)
    params, state = learned(linear_reboot, LinearReBoot(omega=0.7), X, y)
    x = actions[2]
    own = y[(x == X).all(axis=1)]
    theta = naive.estimate(X, y, 0.1)
    law = stats.norm(x @ theta, 0.7 * math.sqrt(((own - x @ theta) ** 2).sum()) / own.size)
    # an action of no feature has mean 0 and no residual: how often x wins is the probability of a draw above 0
    linear_reboot.learn(params, state, np.zeros(3), 0.0, 61, None)
    rng = np.random.default_rng(5)
    pair = np.array([x, np.zeros(3)])
    wins = sum(linear_reboot.choose(params, state, pair, 62, rng) == 0 for _ in range(N))
    p = law.sf(0)
    assert 0.02 < p < 0.98
    assert abs(wins / N - p) < 6 * math.sqrt(p * (1 - p) / N)


@pytest.mark.parametrize("options", [{}, {"omega": 0.5, "ridge": 2.0}], ids=str)
def test_residual_choices_are_those_of_the_formula_over_a_run(options):
    sets, tape = game(n_actions=5, horizon=80, seed=2)
    expected, narrowest = naive.play(naive.linear_reboot(np.random.default_rng(8), **options), sets, tape, 80)
    assert narrowest > 1e-9
    assert expected[:5] == [0, 1, 2, 3, 4]
    assert played(LinearReBoot(**options), sets, tape, 80, 8) == expected


def test_an_action_never_taken_comes_first():
    policy = LinearReBoot(rng=0)
    policy.update([1.0, 0.0], 100.0)
    assert policy.select([[1.0, 0.0], [0.0, 0.1], [0.1, 0.0]]) == 1
    policy.update([0.0, 0.1], 0.0)
    assert policy.select([[1.0, 0.0], [0.0, 0.1], [0.1, 0.0]]) == 2
    assert policy.select([[1.0, 0.0], [0.0, 0.1]]) == 0


# --- refusals ---------------------------------------------------------------------------------------------------------


@each(
    ("make", "message"),
    [
        (lambda: LinearTS(inflation="more"), "'inflation' parameter of LinearTS must be one of 'none', 'paper', 'agr"),
        (lambda: LinearTS(sigma=-1), "'sigma' parameter of LinearTS must be a finite number greater than 0. Got -1"),
        (lambda: LinearTS(ridge=0), "'ridge' parameter of LinearTS must be a finite number greater than 0. Got 0"),
        (lambda: LinearTS(prior_scale=0), "'prior_scale' parameter of LinearTS must be a finite number greater than 0"),
        (
            lambda: LinearTS(prior_scale=2, ridge=3),
            "'ridge' parameter of LinearTS must be left out when 'prior_scale' is given. Got 3",
        ),
        (lambda: LinearTS(delta=1), r"'delta' parameter of LinearTS must be a number in the open interval \(0, 1\)"),
        (lambda: LinearPHE(a=0), "'a' parameter of LinearPHE must be an integer of at least 1. Got 0"),
        (lambda: LinearPHE(a=1.5), "'a' parameter of LinearPHE must be an integer of at least 1. Got 1.5"),
        (lambda: LinearPHE(ridge=-2), "'ridge' parameter of LinearPHE must be a finite number greater than 0"),
        (lambda: LinearPHE(lower=1), "'upper' parameter of LinearPHE must be greater than 'lower', 1. Got 1"),
        (lambda: LinearPHE(upper=np.inf), "'upper' parameter of LinearPHE must be a finite number. Got inf"),
        (lambda: LinearReBoot(omega=0), "'omega' parameter of LinearReBoot must be a finite number greater than 0"),
        (lambda: LinearReBoot(ridge=None), "'ridge' parameter of LinearReBoot must be a finite number greater than 0"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(InvalidInput, match=rf"^The {message}.* instead\.$"):
        make()
