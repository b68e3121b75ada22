"""The binomial bounds: against their definition in fractions, and every miss counted instead of drawn."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.bounds import bootstrap, clopper_pearson, mid_p, sign_flip
from bandstrap.bounds.clopper_pearson import exact_ends
from bandstrap.bounds.mid_p import mid_ends
from bandstrap.errors import InvalidInput
from naive.bounds import leaves_lower, leaves_upper
from sampling import each, telling

# The bound, its function of counts, and the share of P(X = k) that it counts.
BOUNDS = [(clopper_pearson, exact_ends, Fraction(1)), (mid_p, mid_ends, Fraction(1, 2))]
both = pytest.mark.parametrize(("bound", "ends", "share"), BOUNDS, ids=["clopper_pearson", "mid_p"])
ALPHAS = (0.4, 0.2, 0.05, 0.025, 0.01, 1e-3, 1e-6)


@both
@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    counts=st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    alpha=st.floats(1e-9, 0.49) | st.sampled_from([1e-30, 1e-99]),
)
def test_no_mean_that_the_definition_leaves_is_beyond_the_bound_and_little_more_is_within(
    bound, ends, share, counts, alpha
):
    k, n = counts
    sample = [1] * k + [0] * (n - k)
    upper, lower = bound(sample, alpha).upper, bound(sample, alpha, side="lower").lower
    # Rounded outwards: a little beyond the ends, nothing is left. The tail falls with p, so this is enough.
    if k < n:
        assert not leaves_upper(k, n, upper, alpha, share) or upper == k / n
        assert leaves_upper(k, n, upper * (1 - 1e-9), alpha, share) or upper == pytest.approx(k / n, rel=1e-9)
    else:
        assert upper == 1.0
    if k > 0:
        assert not leaves_lower(k, n, lower, alpha, share) or lower == pytest.approx(k / n, rel=1e-15)
        assert leaves_lower(k, n, lower * (1 + 1e-9), alpha, share) or lower == pytest.approx(k / n, rel=1e-9)
    else:
        assert lower == 0.0


def miss_probabilities(ends, n, alpha, means):
    """Of the upper and of the lower bound, for each mean: the mass of all counts whose bound misses it."""
    counts = np.arange(n + 1)
    low, high = ends(counts, n, alpha)
    mass = stats.binom.pmf(counts, n, means[:, None])
    return (mass * (high < means[:, None])).sum(axis=1), (mass * (low > means[:, None])).sum(axis=1)


@both
@telling("alpha", ALPHAS, (0.2, 0.025))
def test_no_mean_is_missed_more_often_than_promised(bound, ends, share, alpha):
    # No chance: all counts of up to 50 rewards. The miss probability is largest just beyond an end, so that besides a grid
    # all means there are tried, and the promise is found to be kept with hardly anything to spare.
    promise = alpha / float(share)
    largest = 0.0
    for n in range(1, 51):
        low, high = ends(np.arange(n + 1), n, alpha)
        beyond = np.concatenate([np.nextafter(high[high < 1], 1), np.nextafter(low[low > 0], 0)])
        means = np.concatenate([np.linspace(0, 1, 101), beyond])
        worst = max(float(missed.max()) for missed in miss_probabilities(ends, n, alpha, means))
        assert worst <= promise * (1 + 1e-12)
        largest = max(largest, worst)
    assert largest > 0.999 * promise


@each("alpha", ALPHAS)
def test_mid_p_misses_less_than_alpha_on_average_over_all_means(alpha):
    means = (np.arange(2000) + 0.5) / 2000
    for n in (1, 2, 3, 5, 10, 20, 50):
        for missed in miss_probabilities(mid_ends, n, alpha, means):
            assert missed.mean() <= alpha


@each("n", [1, 2, 7, 50, 1000])
@each("alpha", [0.2, 0.05, 1e-3])
def test_clopper_pearson_is_scipys(n, alpha):
    for k in {0, 1, n // 3, n - 1, n}:
        sample = np.arange(n) < k
        expected = stats.binomtest(k, n).proportion_ci(1 - alpha, method="exact")
        found = clopper_pearson(sample, alpha, side="two-sided")
        assert found.value == pytest.approx((expected.low, expected.high), rel=1e-8, abs=1e-14)


def test_no_conversion_among_many_is_the_closed_form():
    for n in (1, 200, 10**6):
        zeros = np.zeros(n, dtype=bool)
        assert clopper_pearson(zeros, 0.05).upper == pytest.approx(-np.expm1(np.log(0.05) / n), rel=1e-11)
        assert mid_p(zeros, 0.05).upper == pytest.approx(-np.expm1(np.log(0.1) / n), rel=1e-11)


@both
@pytest.mark.parametrize("alpha", [5e-324, 1e-280, 1e-101])
def test_levels_that_cannot_be_inverted_leave_every_probability(bound, ends, share, alpha):
    assert bound([0, 1, 1], alpha, side="two-sided").value == (0.0, 1.0)


@both
def test_ends_grow_with_the_count_and_mid_p_lies_within_the_exact_ones(bound, ends, share):
    for n in (1, 5, 40):
        low, high = ends(np.arange(n + 1), n, 0.05)
        assert (np.diff(low) > 0).all()
        assert (np.diff(high) > 0).all()
        exact_low, exact_high = exact_ends(np.arange(n + 1), n, 0.05)
        assert (low >= exact_low).all()
        assert (high <= exact_high).all()


@both
def test_other_values_than_zero_and_one(bound, ends, share):
    sample = np.array([0, 1, 1, 0, 1, 0, 0, 0])
    unit = bound(sample, 0.05, side="two-sided")
    priced = bound(np.where(sample == 1, 9.99, -0.5), 0.05, side="two-sided", support=(-0.5, 9.99))
    for found, expected in zip(priced.value, unit.value, strict=True):
        assert found == pytest.approx(-0.5 + 10.49 * expected, rel=1e-12)
    assert priced.holds_for == "independent rewards that are either -0.5 or 9.99"
    huge = bound(np.where(sample == 1, 1.7e308, -1.7e308), 0.05, side="two-sided", support=(-1.7e308, 1.7e308))
    assert -1.7e308 < huge.lower < huge.upper < 1.7e308


@both
@pytest.mark.parametrize(
    ("sample", "got"),
    [([0, 1, 0.5], "0.5 at position 2"), ([[0, 1], [2, 1]], r"2 at position \(1, 0\)"), ([-1, 1], "-1 at")],
)
@pytest.mark.parametrize("side", ["upper", "lower"])
def test_other_rewards_are_refused(bound, ends, share, sample, got, side):
    rule = f"'sample' parameter of {bound.__name__} must be of the two values 0 and 1 alone. Got {got}"
    with pytest.raises(InvalidInput, match=rule):
        bound(sample, 0.05, side=side)


@both
@pytest.mark.parametrize("side", ["upper", "lower", "two-sided"])
def test_as_a_preliminary_width(bound, ends, share, side):
    sample = [0, 1, 1, 0, 1, 0, 0, 1, 1]
    corrected = bootstrap(sample, 0.05, side=side, phi=bound.__name__)
    alone = bound(sample, 0.05, side=side)
    widths = [value for key, value in corrected.parts.items() if key.endswith("phi")]
    expected = [value for key, value in alone.parts.items() if key.endswith("main")]
    assert widths == pytest.approx(expected, rel=1e-10)
    assert sign_flip(sample, 0.05, side=side, phi=bound.__name__).guarantee == 0.1
