import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bandstrap.bounds import empirical_kl
from bandstrap.bounds.empirical_kl import divergence_budget, largest_mean_batch, solve_dual
from bandstrap.errors import InvalidInput
from naive.bounds import largest_mean_in_ball
from sampling import each

# Zero, one, and values far enough apart that the oracle can tell them.
reward = st.sampled_from([0.0, 1.0, 0.5]) | st.integers(0, 1000).map(lambda k: k / 1000)
samples = st.lists(reward, min_size=1, max_size=6)
divergences = st.floats(-8, 1.2).map(lambda power: 10.0**power)


def largest_mean(sample, top: float, divergence: float) -> float:
    out = np.empty(1)
    largest_mean_batch.plain(np.array([sample], dtype=float), top, divergence, out)
    return out[0]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(samples, st.sampled_from([1.0, 1.001, 3.0]), divergences)
@example([1.0, 1.0, 1.0], 1.0, 0.5)
@example([0.0, 0.0], 1.0, 0.5)
@example([0.0, 0.0], 1.0, 1e-8)
@example([0.0, 1.0], 1.0, 15.0)
@example([0.0, 1.0, 1.0, 0.2], 1.0, 1e-8)
@example([0.3], 1.0, 15.0)
@example([0.2, 0.9], 0.9, 0.4)
def test_largest_mean_equals_constrained_maximisation(sample, top, divergence):
    expected = largest_mean_in_ball(sample, top, divergence)
    assert largest_mean(sample, top, divergence) == pytest.approx(expected, abs=1e-6)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(samples, st.floats(1e-6, 0.49), st.sampled_from(["proved", "plain"]))
def test_bound_is_the_largest_mean_within_the_budget(sample, alpha, calibration):
    n = len(sample)
    budget = math.log((math.e * (n + 2) if calibration == "proved" else 1) / alpha) / n
    upper = empirical_kl(sample, alpha, support=(-1, 1), calibration=calibration).upper
    assert upper == pytest.approx(largest_mean_in_ball(sample, 1.0, budget), abs=1e-6)
    lower = empirical_kl(sample, alpha, support=(-1, 1), calibration=calibration, side="lower").lower
    assert lower == pytest.approx(-largest_mean_in_ball([-y for y in sample], 1.0, budget), abs=1e-6)


@each("k", range(10))
@each("divergence", [1e-6, 0.01, 0.3, 4.0])
def test_zeros_and_ones_give_the_bernoulli_kl_bound(k, divergence):
    # The largest q with kl(p, q) <= d, to twelve digits.
    n = 10
    p = k / n

    def excess(log_rest: float) -> float:  # q = 1 - exp(log_rest)
        left = p * math.log(p / -math.expm1(log_rest)) if p else 0.0
        return left + (1 - p) * (math.log(1 - p) - log_rest) - divergence

    expected = -math.expm1(brentq(excess, -100.0, math.log(1 - p) - 1e-12, xtol=1e-14))
    sample = np.r_[np.ones(k), np.zeros(n - k)]
    assert largest_mean(sample, 1.0, divergence) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("divergence", [1e-10, 1e-3, 1.0, 50.0])
def test_one_value_moves_as_much_mass_to_the_top_as_the_budget_allows(divergence):
    # q = (e^-d, 1 - e^-d) has KL(point mass, q) = d.
    expected = 0.25 * math.exp(-divergence) - 3.0 * math.expm1(-divergence)
    assert largest_mean(np.full(4, 0.25), 3.0, divergence) == pytest.approx(expected, rel=1e-12)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(samples, st.sampled_from([1.0, 1.5]), divergences, st.floats(-1, 100))
def test_the_guess_the_dual_starts_from_does_not_matter(sample, top, divergence, start):
    y = np.array(sample)
    expected, _ = solve_dual(y, top, divergence, -math.inf)
    assert solve_dual(y, top, divergence, start)[0] == pytest.approx(expected, abs=1e-9)


@each("divergence", [0.01, 0.1, 1.0])
@each("top", [1.0, 1.05, 4.0])
def test_dual_variable_less_the_mean_is_the_slope_in_the_divergence(top, divergence):
    y = np.array([0.1, 0.4, 0.5, 1.0])
    mean, nu = solve_dual(y, top, divergence, -math.inf)
    step = 1e-5 * divergence
    beyond, before = (solve_dual(y, top, divergence + s, -math.inf)[0] for s in (step, -step))
    assert nu - mean == pytest.approx((beyond - before) / (2 * step), rel=1e-4)


def test_rewards_all_at_the_top_give_the_top():
    bound = empirical_kl([1.0] * 5, 0.05, support=(0, 1), side="two-sided")
    assert bound.upper == 1.0
    assert 0 < bound.lower < 1


@pytest.mark.parametrize("divergence", [20.0, 100.0, 700.0])
def test_huge_divergence_reaches_the_top_and_does_not_pass_it(divergence):
    for sample in ([0.0, 1.0], [0.0, 0.5], [0.2, 0.9, 1.0, 0.3]):
        mean = largest_mean(sample, 1.0, divergence)
        assert mean <= 1.0
        assert mean == pytest.approx(1.0, abs=2 * math.exp(-divergence / 4) + 1e-14)


@pytest.mark.parametrize("divergence", [1e-6, 1e-9, 1e-12])
def test_tiny_divergence_gives_the_mean_plus_its_gaussian_limit(divergence):
    y = np.array([0.1, 0.4, 0.5, 0.9])
    limit = math.sqrt(2 * divergence * y.var())
    assert largest_mean(y, 1.0, divergence) - y.mean() == pytest.approx(limit, rel=0.02)


def test_far_top_matters_more():
    sample = [0.2, 0.4, 0.5, 0.3]
    ends = [empirical_kl(sample, 0.05, support=(0, top)).upper for top in (0.5, 0.7, 1.0, 2.0, 5.0)]
    assert all(later > earlier for earlier, later in itertools.pairwise(ends))


def test_upper_bound_does_not_look_at_the_lower_end():
    sample = [0.2, 0.4, 0.5, 0.3]
    expected = empirical_kl(sample, 0.05, support=(0, 1)).upper
    assert empirical_kl(sample, 0.05, support=(-50, 1)).upper == expected


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_budget_is_the_documented_one(n):
    assert divergence_budget(n, 0.05, "plain") == pytest.approx(math.log(20) / n, rel=1e-14)
    assert divergence_budget(n, 0.05, "proved") == pytest.approx((1 + math.log((n + 2) * 20)) / n, rel=1e-14)


def test_only_the_proved_calibration_has_a_guarantee():
    assert empirical_kl([0.5], 0.05, support=(0, 1)).guarantee == 0.05
    plain = empirical_kl([0.5], 0.05, support=(0, 1), calibration="plain")
    assert plain.guarantee is None
    assert "large samples" in plain.holds_for


@pytest.mark.parametrize("divergence", [1e-9, 1e-3, 0.2, 3.0, 400.0])
def test_compiled_and_plain_entry_give_the_same_bits(divergence):
    rng = np.random.default_rng(2)
    rows = np.array([rng.random(9), np.round(rng.random(9)), np.ones(9), np.zeros(9), rng.beta(0.1, 0.1, 9)])
    for top in (1.0, 1.5):
        plain, compiled = np.empty(5), np.empty(5)
        largest_mean_batch.plain(rows, top, divergence, plain)
        largest_mean_batch.compiled(rows, top, divergence, compiled)
        assert plain.tolist() == compiled.tolist()


def test_calibration_must_be_known():
    with pytest.raises(InvalidInput, match="'calibration' parameter of empirical_kl must be one of 'proved', 'plain'"):
        empirical_kl([0.5], 0.05, support=(0, 1), calibration="exact")


def test_rewards_whose_squares_vanish_are_bounded_by_the_plain_and_the_compiled_form():
    rows = np.random.default_rng(0).normal(5e-301, 1e-301, (3, 12))
    for sign, top in ((1, 1.0), (-1, 0.0)):
        found = np.empty((2, 3))
        largest_mean_batch.plain(sign * rows, top, 0.3, found[0])
        largest_mean_batch.compiled(sign * rows, top, 0.3, found[1])
        np.testing.assert_array_equal(*found)
        assert (found[0] >= sign * rows.mean(axis=1)).all()
        assert (found[0] < 1).all()
