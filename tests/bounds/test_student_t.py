import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.bounds import student_t

# Alternatives of scipy's test whose interval is the bound of that side.
ALTERNATIVES = {"upper": "less", "lower": "greater", "two-sided": "two-sided"}


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40).filter(lambda y: np.std(y) > 1e-6),
    st.floats(1e-6, 0.49),  # SciPy computes 1 - alpha, which costs digits below
    st.sampled_from(sorted(ALTERNATIVES)),
)
def test_ends_are_those_of_scipys_one_sample_test(sample, alpha, side):
    expected = stats.ttest_1samp(sample, 0.0, alternative=ALTERNATIVES[side]).confidence_interval(1 - alpha)
    bound = student_t(sample, alpha, side=side, check=False)
    scale = np.std(sample)
    assert bound.lower == pytest.approx(expected.low, rel=1e-9, abs=1e-6 * scale)
    assert bound.upper == pytest.approx(expected.high, rel=1e-9, abs=1e-6 * scale)


def test_width_is_the_tabulated_quantile_times_the_standard_error():
    sample = [1.0, 2.0, 4.0, 9.0, 4.0]
    # t(4) at 0.95 is 2.1318 in any table.
    assert student_t(sample, 0.05).width == pytest.approx(2.1318 * np.std(sample, ddof=1) / math.sqrt(5), rel=1e-4)


@pytest.mark.parametrize("alpha", [1e-10, 1e-14, 1e-17, 1e-30])
def test_far_levels_keep_their_digits(alpha):
    sample = np.random.default_rng(0).normal(size=60)
    expected = stats.t.isf(alpha, 59) * sample.std(ddof=1) / math.sqrt(60)
    assert student_t(sample, alpha).width == pytest.approx(expected, rel=1e-6)


def test_one_reward_gives_no_finite_bound():
    bound = student_t([[3.0], [4.0]], 0.05, side="two-sided")
    assert bound.upper.tolist() == [math.inf, math.inf]
    assert bound.lower.tolist() == [-math.inf, -math.inf]


@pytest.mark.filterwarnings("ignore:student_t. all:bandstrap.errors.AssumptionWarning")
def test_equal_rewards_give_their_value():
    bound = student_t([2.0] * 8, 0.05, side="two-sided")
    assert bound.value == (2.0, 2.0)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_width_scales_with_rewards_whose_squares_leave_the_floats(scale):
    sample = np.random.default_rng(3).normal(size=10)
    assert student_t(scale * sample, 0.05).width / scale == pytest.approx(student_t(sample, 0.05).width, rel=1e-9)


@pytest.mark.parametrize(("n", "alpha"), [(2, 0.2), (5, 0.05), (20, 0.01)])
def test_normal_rewards_miss_exactly_alpha(n, alpha):
    # Within 4 standard errors: a right bound fails one cell with probability 6e-5 (fixed seeds: always or never), and
    # one that misses 6.4 of them more or less often (0.013, 0.007 and 0.0032) passes with probability 0.01.
    replications = 40_000
    sample = np.random.default_rng(n).normal(0.3, 2.0, size=(replications, n))
    misses = student_t(sample, alpha).misses(0.3).sum()
    assert misses == pytest.approx(replications * alpha, abs=4 * math.sqrt(replications * alpha * (1 - alpha)))
