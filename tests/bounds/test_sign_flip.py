import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.bounds import hoeffding, sign_flip
from bandstrap.errors import InvalidInput
from naive.bounds import is_missed, many_subsets_quantile, subset_mean_quantile
from sampling import each, exhaustive

# Equal rewards are among the samples; what is said of them is tested by itself.
pytestmark = pytest.mark.filterwarnings("ignore:sign_flip:bandstrap.errors.AssumptionWarning")
rewards = st.lists(st.floats(-5, 5, allow_subnormal=False) | st.integers(-2, 2).map(float), min_size=1, max_size=10)
levels = st.floats(1e-4, 0.499) | st.integers(2, 10).flatmap(
    lambda n: st.integers(1, 2 ** (n - 1) - 1).map(lambda k: k / 2.0**n)
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
@given(rewards, st.floats(0.01, 0.49), st.floats(-3, 3))
def test_a_mean_is_excluded_exactly_when_the_sign_flip_test_rejects_it(sample, alpha, mean):
    # mean > U iff P_w(sum w_i (y_i - mean) <= sum (y_i - mean)) <= alpha, all 2^n signs; near ties left out.
    v = np.array(sample) - mean
    signs = np.array(np.meshgrid(*[[-1, 1]] * v.size)).reshape(v.size, -1).T
    gaps = signs @ v - v.sum()
    if (np.abs(gaps[~(signs == 1).all(axis=1)]) > 1e-9).all():
        assert sign_flip(sample, alpha).misses(mean) == ((gaps <= 1e-12).mean() <= alpha)


def test_three_rewards_by_hand():
    # Subset means, the empty one first: inf, 4, 3, 2.5, 7/3, 2, 1.5, 1.
    ends = [sign_flip([1.0, 2.0, 4.0], k / 8).upper for k in range(1, 4)]
    assert ends == pytest.approx([4, 3, 2.5], rel=1e-12)
    assert sign_flip([1.0, 2.0, 4.0], 0.124).upper == math.inf


@each("n", [3, 4, 5, 30, 36, 37, 50])
def test_bound_is_finite_from_log_two_of_the_level_on(n):
    sample = np.random.default_rng(n).normal(size=n)
    assert sign_flip(sample, 0.5**n).upper == pytest.approx(sample.max(), rel=1e-9)
    assert sign_flip(sample, 0.9 * 0.5**n, side="two-sided").value == (-math.inf, math.inf)


@each("n", [200, 1000])
@each("alpha", [0.2, 0.05, 0.005])
def test_large_samples_give_the_normal_approximation(n, alpha):
    sample = np.random.default_rng(n).normal(size=n)
    z = stats.norm.isf(alpha)
    expected = z * sample.std() / math.sqrt(n - z * z)
    assert sign_flip(sample, alpha).width == pytest.approx(expected, rel=0.03)


def test_method_tells_counting_from_inversion():
    rng = np.random.default_rng(0)
    assert sign_flip(rng.normal(size=24), 0.05).method == "enumeration"
    assert sign_flip(rng.normal(size=25), 0.05).method == "inversion"
    assert sign_flip(rng.normal(size=36), 1e-9).method == "enumeration"
    assert sign_flip(rng.choice([-1, 1], size=36), 0.05).method == "grouped enumeration"
    batch = np.array([rng.normal(size=25), rng.choice([-1, 1], size=25)])
    assert sign_flip(batch, 0.05).method == "inversion and grouped enumeration"


# --- ties: rewards of few values, whose mean is a subset mean ------------------------------------------------------------

ALPHAS = (0.2, 0.1, 0.05, 0.025, 0.01, 0.001)


def test_a_bound_that_is_a_subset_mean_comes_out_as_it_is():
    sample = [-1] * 6 + [1]
    assert sign_flip(sample, 0.05).upper == 0.0
    assert sign_flip([-y for y in sample], 0.05, side="lower").lower == 0.0
    assert sign_flip([3 + y for y in sample], 0.1, side="two-sided").upper == 3.0
    # seven rewards of 0.1, whose mean NumPy rounds to 0.09999999999999999
    assert sign_flip([0.1] * 7, 0.05, side="two-sided").value == (0.1, 0.1)
    assert sign_flip([0.1] * 30, 0.05, side="two-sided").value == (0.1, 0.1)


def coin_rejections(n: int, alpha: float) -> np.ndarray:
    """By number of heads, whether ``P(Bin(n, 1/2) <= heads) <= alpha``: a rejection has this probability, too."""
    at_most = np.cumsum([math.comb(n, j) for j in range(n + 1)], dtype=object)
    return np.array([Fraction(int(ways), 2**n) <= Fraction(alpha) for ways in at_most])


def coins(n: int, tails: float = -1.0, heads: float = 1.0) -> np.ndarray:
    """One sample for each number of heads."""
    return np.where(np.arange(n) < np.arange(n + 1)[:, None], heads, tails)


@each("n", range(1, 201))
def test_fair_coins_are_missed_just_where_the_test_rejects(n):
    batch = coins(n)
    for alpha in ALPHAS:
        assert (sign_flip(batch, alpha).misses(0.0) == coin_rejections(n, alpha)).all()


@pytest.mark.parametrize("n", [4, 7, 24, 26, 60])
def test_fair_coins_are_missed_just_where_the_test_rejects_on_every_side_and_scale(n):
    for alpha in ALPHAS:
        rejected = coin_rejections(n, alpha)
        assert (sign_flip(-coins(n), alpha, side="lower").misses(0.0) == rejected).all()
        both = sign_flip(coins(n), 2 * alpha, side="two-sided").misses(0.0)
        assert (both == rejected | rejected[::-1]).all()
        for tails, heads, mean in [
            (0, 1, 0.5),
            (0.1, 0.3, 0.2),
            (1.1, 1.3, 1.2),
            (-1e300, 1e300, 0),
            (-1e-300, 1e-300, 0),
        ]:
            assert (sign_flip(coins(n, tails, heads), alpha).misses(mean) == rejected).all()
        smallest = sign_flip(coins(n, -5e-324, 5e-324), alpha).misses(0.0)  # bounds between are rounded up to 0
        assert (smallest <= rejected).all()


@each("n", [1, 2, 3, 5, 8, 10, 13, 17, 24, 25, 26, 31, 40])
def test_three_values_are_missed_just_where_the_test_rejects(n):
    # Zeros do not matter: the test is that of a coin on the others. All numbers of -1 and 1 with no more of the latter.
    cells = [(a, c) for c in range(n + 1) for a in range(min(c, n - c) + 1)]
    batch = np.array([[1] * a + [-1] * c + [0] * (n - a - c) for a, c in cells])
    for alpha in ALPHAS:
        rejected = np.array([coin_rejections(a + c, alpha)[a] for a, c in cells])
        assert (sign_flip(batch, alpha).misses(0.0) == rejected).all()


@each("n", [6, 12, 20, 28, 45])
@each("values", [range(-3, 4), (-20, -3, 0, 3, 20), (-10, -1, 1, 10)], ids=str)
def test_wider_lattices_are_never_missed_where_the_test_does_not_reject(n, values):
    rng = np.random.default_rng(n)
    batch = rng.choice(list(values), size=(40, n))
    batch *= np.where(batch.sum(axis=1) > 0, -1, 1)[:, None]  # only low samples can be missed
    for alpha in (0.2, 0.05):
        missed = sign_flip(batch, alpha).misses(0.0)
        rejected = np.array([is_missed(row.tolist(), 0, alpha) for row in batch])
        assert (missed <= rejected).all()
        # counted exactly, or smoothed by so little that few decisions change
        assert (rejected & ~missed).sum() <= (0 if n <= 24 else 3)


@exhaustive
def test_rewards_crowding_near_two_values_are_missed_at_most_alpha():
    # A right bound fails with probability 1e-4 at a fixed seed; one that misses 1.22 alpha, as a smooth formula does here,
    # passes with probability 0.05. Samples whose mean is not a standard error below 0 are not missed at this level.
    n, alpha, replications = 27, 0.05, 6000
    rng = np.random.default_rng(n)
    batch = rng.choice([-1.0, 1.0], size=(replications, n)) + 0.01 * rng.normal(size=(replications, n))
    low = batch[batch.sum(axis=1) < -math.sqrt(n)]
    misses = sign_flip(low, alpha).misses(0.0).sum()
    assert stats.binom.sf(misses - 1, replications, alpha) > 1e-4


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


@each("alpha", [None, "a", math.nan, 0, 1.5, True])
def test_alpha_is_refused_before_it_is_computed_with(alpha):
    with pytest.raises(InvalidInput, match=r"'alpha' parameter of sign_flip must be a number in the open interval \(0"):
        sign_flip([0.1, 0.5], alpha, sigma=1.0)


# --- randomised ---------------------------------------------------------------------------------------------------------


def test_randomised_bound_is_the_largest_reward_or_nothing():
    batch = np.random.default_rng(0).normal(size=(500, 3))
    bound = sign_flip(batch, 0.05, randomized=True, seed=1)
    finite = np.isfinite(bound.upper)
    np.testing.assert_allclose(bound.upper[finite], batch.max(axis=-1)[finite], rtol=1e-12)
    assert (bound.upper[~finite] == math.inf).all()
    # Finite with probability 0.05 * 8 = 0.4, within 4 standard errors: fails a right bound once in 16 000 seeds.
    assert finite.mean() == pytest.approx(0.4, abs=4 * math.sqrt(0.4 * 0.6 / 500))


def test_randomised_bound_is_the_exact_one_where_that_is_finite():
    batch = np.random.default_rng(0).normal(size=(20, 5))
    assert (sign_flip(batch, 0.05, randomized=True, seed=1).upper == sign_flip(batch, 0.05).upper).all()


def test_randomised_bound_is_repeatable_by_seed():
    batch = np.random.default_rng(0).normal(size=(50, 3))
    first = sign_flip(batch, 0.05, randomized=True, seed=1).upper
    assert (first == sign_flip(batch, 0.05, randomized=True, seed=1).upper).all()
    assert (first != sign_flip(batch, 0.05, randomized=True, seed=2).upper).any()


@pytest.mark.parametrize("n", [1, 2, 4])
def test_randomised_bound_misses_exactly_alpha(n):
    # Within 4 standard errors: a right bound fails one n with probability 6e-5 (fixed seeds: always or never).
    replications = 20_000
    batch = np.random.default_rng(n).laplace(0.3, size=(replications, n))
    misses = sign_flip(batch, 0.05, randomized=True, seed=100 + n).misses(0.3).sum()
    assert misses == pytest.approx(0.05 * replications, abs=4 * math.sqrt(0.05 * 0.95 * replications))
