import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.bounds import hoeffding, sign_flip
from bandstrap.errors import InvalidInput
from naive.bounds import many_subsets_quantile, subset_mean_quantile

rewards = st.lists(st.floats(-5, 5, allow_subnormal=False) | st.integers(-2, 2).map(float), min_size=1, max_size=10)
levels = st.floats(1e-4, 0.999) | st.integers(1, 10).flatmap(
    lambda n: st.integers(1, 2**n - 1).map(lambda k: k / 2.0**n)
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rewards, levels)
def test_upper_bound_equals_the_list_of_all_subsets(sample, alpha):
    expected = subset_mean_quantile(sample, alpha)
    assert sign_flip(sample, alpha).upper == pytest.approx(expected, rel=1e-12, abs=1e-12)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(rewards, levels)
def test_two_sided_bound_equals_the_list_of_all_subsets_at_half_the_level(sample, alpha):
    bound = sign_flip(sample, alpha, side="two-sided")
    assert bound.upper == pytest.approx(subset_mean_quantile(sample, alpha / 2), rel=1e-12, abs=1e-12)
    lower = -subset_mean_quantile([-y for y in sample], alpha / 2)
    assert bound.lower == pytest.approx(lower, rel=1e-12, abs=1e-12)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(rewards, st.floats(0.01, 0.5), st.floats(-3, 3))
def test_a_mean_is_excluded_exactly_when_the_sign_flip_test_rejects_it(sample, alpha, mean):
    # mean > U iff P_w(sum w_i (y_i - mean) <= sum (y_i - mean)) <= alpha, all 2^n signs; near ties left out.
    v = np.array(sample) - mean
    signs = np.array(np.meshgrid(*[[-1, 1]] * v.size)).reshape(v.size, -1).T
    gaps = signs @ v - v.sum()
    if (np.abs(gaps[~(signs == 1).all(axis=1)]) > 1e-9).all():
        assert sign_flip(sample, alpha).misses(mean) == ((gaps <= 1e-12).mean() <= alpha)


def test_three_rewards_by_hand():
    # Subset means, the empty one first: inf, 4, 3, 2.5, 7/3, 2, 1.5, 1.
    ends = [sign_flip([1.0, 2.0, 4.0], k / 8).upper for k in range(1, 8)]
    assert ends == pytest.approx([4, 3, 2.5, 7 / 3, 2, 1.5, 1], rel=1e-12)
    assert sign_flip([1.0, 2.0, 4.0], 0.124).upper == math.inf


@pytest.mark.parametrize("n", [3, 4, 5, 30, 36, 37, 50])
def test_bound_is_finite_from_log_two_of_the_level_on(n):
    sample = np.random.default_rng(n).normal(size=n)
    assert sign_flip(sample, 0.5**n).upper == pytest.approx(sample.max(), rel=1e-9)
    assert sign_flip(sample, 0.9 * 0.5**n, side="two-sided").value == (-math.inf, math.inf)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.005])
def test_large_samples_give_the_normal_approximation(n, alpha):
    sample = np.random.default_rng(n).normal(size=n)
    z = stats.norm.isf(alpha)
    expected = z * sample.std() / math.sqrt(n - z * z)
    assert sign_flip(sample, alpha).width == pytest.approx(expected, rel=0.03)


def test_method_tells_counting_from_approximation():
    rng = np.random.default_rng(0)
    assert sign_flip(rng.normal(size=24), 0.05).method == "enumeration"
    assert sign_flip(rng.normal(size=25), 0.05).method == "saddlepoint"
    assert sign_flip(rng.normal(size=36), 1e-9).method == "enumeration"


@pytest.mark.parametrize("side", ["upper", "lower", "two-sided"])
def test_thirty_rewards_are_within_half_a_percent_of_the_width(side):
    sample = np.random.default_rng(9).standard_t(3, size=30)
    alpha = 0.05 if side != "two-sided" else 0.025
    above = many_subsets_quantile(sample, alpha) - sample.mean()
    below = many_subsets_quantile(-sample, alpha) + sample.mean()
    expected = {"upper": above, "lower": below, "two-sided": above + below}[side]
    assert sign_flip(sample, 0.05, side=side).width == pytest.approx(expected, rel=0.005)


# --- with a preliminary width -------------------------------------------------------------------------------------------


def test_with_phi_the_smaller_width_wins():
    few = sign_flip([0.1, 0.5], 0.05, sigma=1.0)
    assert few.parts["main"] == math.inf
    assert few.width == pytest.approx(hoeffding([0.1, 0.5], 0.05, sigma=1.0).width, rel=1e-12)
    sample = np.random.default_rng(0).normal(size=12)
    assert sign_flip(sample, 0.05, sigma=5.0).upper == sign_flip(sample, 0.05).upper
    assert sign_flip(sample, 0.05, phi=0.01).width == pytest.approx(0.01, rel=1e-9)


def test_with_phi_the_promise_is_two_alpha():
    assert sign_flip([0.1, 0.5], 0.05).guarantee == 0.05
    bound = sign_flip([0.1, 0.5], 0.05, support=(0, 1))
    assert bound.guarantee == 0.1
    assert bound.holds_for.endswith("and a phi that holds")
    assert bound.parts["phi"] == pytest.approx(0.5 * math.sqrt(math.log(20)), rel=1e-12)


@pytest.mark.parametrize("alpha", [None, "a", math.nan, 0, 1.5, True])
def test_alpha_is_refused_before_it_is_computed_with(alpha):
    with pytest.raises(InvalidInput, match=r"'alpha' parameter of sign_flip must be a number in the open interval \(0"):
        sign_flip([0.1, 0.5], alpha, sigma=1.0)


# --- randomised ---------------------------------------------------------------------------------------------------------


def test_randomised_bound_is_the_largest_reward_or_nothing():
    batch = np.random.default_rng(0).normal(size=(500, 3))
    bound = sign_flip(batch, 0.05, randomized=True, rng=1)
    finite = np.isfinite(bound.upper)
    np.testing.assert_allclose(bound.upper[finite], batch.max(axis=-1)[finite], rtol=1e-12)
    assert (bound.upper[~finite] == math.inf).all()
    # Finite with probability 0.05 * 8 = 0.4, within 4 standard errors: fails a right bound once in 16 000 seeds.
    assert finite.mean() == pytest.approx(0.4, abs=4 * math.sqrt(0.4 * 0.6 / 500))


def test_randomised_bound_is_the_exact_one_where_that_is_finite():
    batch = np.random.default_rng(0).normal(size=(20, 5))
    assert (sign_flip(batch, 0.05, randomized=True, rng=1).upper == sign_flip(batch, 0.05).upper).all()


def test_randomised_bound_is_repeatable_by_seed():
    batch = np.random.default_rng(0).normal(size=(50, 3))
    first = sign_flip(batch, 0.05, randomized=True, rng=1).upper
    assert (first == sign_flip(batch, 0.05, randomized=True, rng=1).upper).all()
    assert (first != sign_flip(batch, 0.05, randomized=True, rng=2).upper).any()


@pytest.mark.parametrize("n", [1, 2, 4])
def test_randomised_bound_misses_exactly_alpha(n):
    # Within 4 standard errors: a right bound fails one n with probability 6e-5 (fixed seeds: always or never).
    replications = 20_000
    batch = np.random.default_rng(n).laplace(0.3, size=(replications, n))
    misses = sign_flip(batch, 0.05, randomized=True, rng=100 + n).misses(0.3).sum()
    assert misses == pytest.approx(0.05 * replications, abs=4 * math.sqrt(0.05 * 0.95 * replications))
