import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from bandstrap.errors import InvalidInput
from bandstrap.theory import divergence, lai_robbins_bound
from naive import theory as naive
from sampling import each

PROBABILITIES = st.floats(0.01, 0.99)
POSITIVE = st.floats(0.05, 20)


def ordered(strategy):
    return st.tuples(strategy, strategy).map(sorted)


@settings(derandomize=True, deadline=None)
@given(ordered(PROBABILITIES))
def test_bernoulli_divergence_is_the_mean_log_ratio(pair):
    arm, best = pair
    p, q = (1 - arm, arm), (1 - best, best)
    expected = naive.expectation(p, lambda k: math.log(p[k] / q[k]))
    assert divergence(arm, best, family="bernoulli") == pytest.approx(expected, rel=1e-9, abs=1e-15)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(ordered(POSITIVE))
def test_poisson_divergence_is_the_mean_log_ratio(pair):
    k = np.arange(200)
    p, log_p, log_q = stats.poisson(pair[0]).pmf(k), *(stats.poisson(m).logpmf(k) for m in pair)
    expected = naive.expectation(p, lambda k: log_p[k] - log_q[k])
    assert divergence(*pair, family="poisson") == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("arm", "best"), [(0.3, 0.5), (1.0, 4.0), (2.0, 2.1)])
def test_continuous_divergences_are_mean_log_ratios(arm, best):
    def kl(first, second):
        return integrate.quad(
            lambda y: first.pdf(y) * (first.logpdf(y) - second.logpdf(y)), *first.ppf([1e-14, 1 - 1e-14]), limit=200
        )[0]

    expected = kl(stats.expon(scale=arm), stats.expon(scale=best))
    assert divergence(arm, best, family="exponential") == pytest.approx(expected, rel=1e-6)
    expected = kl(stats.norm(arm, 0.7), stats.norm(best, 0.7))
    assert divergence(arm, best, family="gaussian", sigma=0.7) == pytest.approx(expected, rel=1e-6)
    # With the variance unknown, the nearest better law may take any.
    found = optimize.minimize_scalar(lambda s: kl(stats.norm(arm, 0.7), stats.norm(best, s)), bounds=(0.1, 10)).fun
    assert divergence(arm, best, family="gaussian-unknown-variance", sigma=0.7) == pytest.approx(found, rel=1e-6)


def test_divergence_at_the_ends():
    assert divergence(0, 0.5, family="bernoulli") == pytest.approx(math.log(2), rel=1e-15)
    assert divergence(0.5, 1, family="bernoulli") == math.inf
    assert divergence([0, 1], [0, 1], family="bernoulli").tolist() == [0, 0]
    assert divergence(0, 3, family="poisson") == 3
    assert divergence(2, 2, family="exponential") == 0


@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_a_mean_whose_ratio_is_beyond_all_numbers_is_as_good_as_zero(family):
    assert divergence(1e-310, 0.5, family=family) == pytest.approx(divergence(0, 0.5, family=family), rel=1e-15)


def test_gaps_whose_squares_are_beyond_all_numbers_cost_nothing():
    assert divergence(0, 1e200, family="gaussian", sigma=1) == math.inf
    assert lai_robbins_bound([0, 1e200], 100, family="gaussian", sigma=1) == 0


@pytest.mark.parametrize("gap", [1e-3, 1e-6])
def test_divergence_keeps_its_digits_where_gaps_are_small(gap):
    assert divergence(0.5, 0.5 + gap, family="bernoulli") == pytest.approx(2 * gap**2, rel=1e-4)
    assert divergence(1, 1 + gap, family="poisson") == pytest.approx(gap**2 / 2, rel=2 * gap)
    assert divergence(1, 1 + gap, family="exponential") == pytest.approx(gap**2 / 2, rel=2 * gap)


@pytest.mark.parametrize("gap", [0.1, 1.0, 5.0])
def test_not_knowing_the_variance_costs(gap):
    known = lai_robbins_bound([0, gap], 100, family="gaussian", sigma=1)
    unknown = lai_robbins_bound([0, gap], 100, family="gaussian-unknown-variance", sigma=1)
    assert known == pytest.approx(2 / gap * math.log(100), rel=1e-14)
    assert unknown > known


@settings(derandomize=True, deadline=None)
@given(st.lists(PROBABILITIES, min_size=1, max_size=5), st.permutations(range(5)), st.integers(1, 10**6))
def test_bound_sums_over_arms_in_any_order_and_grows_with_the_logarithm(means, order, horizon):
    total = lai_robbins_bound(means, horizon, family="bernoulli")
    shuffled = [means[k] for k in order if k < len(means)]
    assert lai_robbins_bound(shuffled, horizon, family="bernoulli") == pytest.approx(total, rel=1e-12)
    pairs = [lai_robbins_bound([m, max(means)], horizon, family="bernoulli") for m in means]
    assert total == pytest.approx(sum(pairs), rel=1e-12)
    curve = lai_robbins_bound(means, [1, horizon, horizon**2], family="bernoulli")
    assert curve[0] == 0
    assert curve[1] == total
    assert curve[2] == pytest.approx(2 * total, rel=1e-12)


def test_each_arm_has_its_own_sigma():
    both = lai_robbins_bound([0, 0, 1], math.e, family="gaussian", sigma=[1, 2, 7])
    assert both == pytest.approx(2 * 1 + 2 * 4, rel=1e-14)


def test_certain_arms_cost_nothing():
    assert lai_robbins_bound([0.5, 1.0], 1000, family="bernoulli") == 0


@each(
    ("arguments", "options", "match"),
    [
        (([0.5, 0.2], 10), {"family": "beta"}, "'family' parameter of lai_robbins_bound must be one of 'gaussian'"),
        (([0.5, 0.2], 0.5), {"family": "bernoulli"}, "'horizon' parameter .* must be finite numbers of at least 1"),
        (
            ([[0.5]], 10),
            {"family": "bernoulli"},
            r"'means' parameter .* must be of shape \(n_arms,\). Got shape \(1, 1\)",
        ),
        (
            ([0.5, 1.2], 10),
            {"family": "bernoulli"},
            "'means' parameter .* must be at most 1 for Bernoulli rewards. Got 1.2",
        ),
        (
            ([0.5, -0.2], 10),
            {"family": "poisson"},
            "'means' parameter .* must be finite numbers of at least 0. Got -0.2",
        ),
        (([0.5, 0], 10), {"family": "exponential"}, "'means' parameter .* must be greater than 0 for exponential"),
        (([0, 1], 10), {"family": "gaussian"}, "'sigma' parameter .* must be given for the Gaussian families"),
        (([0, 1], 10), {"family": "poisson", "sigma": 1}, "'sigma' parameter .* for no other .'poisson' here.. Got 1"),
        (([0, 1], 10), {"family": "gaussian", "sigma": 0}, "'sigma' parameter .* must be greater than 0. Got 0.0"),
        (
            ([0, 1], 10),
            {"family": "gaussian", "sigma": [1, 1, 1]},
            "'sigma' parameter .* must be one number, or one per",
        ),
        (
            ([0, 1], 10),
            {"family": "gaussian", "sigma": [[1], [1]]},
            "'sigma' parameter .* must be one number, or one per arm",
        ),
    ],
)
def test_refusals(arguments, options, match):
    with pytest.raises(InvalidInput, match=match):
        lai_robbins_bound(*arguments, **options)


def test_shapes_that_do_not_go_together_are_refused():
    with pytest.raises(InvalidInput, match="'mean' parameter of divergence must be of shapes that broadcast"):
        divergence([0.1, 0.2], [0.3, 0.4, 0.5], family="bernoulli")


def test_best_mean_must_be_best():
    with pytest.raises(InvalidInput, match=r"'best_mean' parameter of divergence must be at least 'mean'. Got 0.3"):
        divergence([0.2, 0.5], 0.3, family="bernoulli")
