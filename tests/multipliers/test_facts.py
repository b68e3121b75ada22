"""Deterministic facts of the quantile (section 1.5 of the specification), for every method that serves them."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.errors import AccuracyWarning
from bandstrap.multipliers import bootstrap_quantile
from naive.multipliers import exact_residuals
from sampling import each, telling

facts = settings(max_examples=80, deadline=None, derandomize=True)

RADEMACHER_METHODS = ["auto", "enumeration", "binomial", "saddlepoint", "expansion", "monte-carlo"]
DETERMINISTIC = [m for m in RADEMACHER_METHODS if m != "monte-carlo"]
EXACT = ["auto", "enumeration", "binomial", "saddlepoint"]  # where only few sums exist, the saddlepoint is exact too
SKEW_PAIRS = [
    ("gaussian", "auto"),
    ("efron", "auto"),
    ("efron", "saddlepoint"),
    ("exponential", "auto"),
    ("mammen", "auto"),
    ("mammen", "saddlepoint"),
]

# Multiples of 1/16 tie often, and hit the mean often; the moderate size keeps shifts from eating the residuals.
grid = st.integers(-400, 400).map(lambda i: i / 16)
levels = st.floats(1e-9, 0.499)


@st.composite
def samples(draw, two_valued=False, largest=20):
    n = draw(st.integers(1, largest))
    if two_valued:
        low, high = draw(grid), draw(grid)
        return np.array(draw(st.lists(st.sampled_from([low, high]), min_size=n, max_size=n)))
    return np.array(draw(st.lists(grid, min_size=n, max_size=n)))


@st.composite
def generic_samples(draw, two_valued=False, largest=30):
    """No residual is zero and no two sums are equal, except for two-valued samples."""
    n = draw(st.integers(2, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if two_valued:
        return rng.choice([-1.0, rng.uniform(0, 3)], size=n)
    return draw(st.sampled_from([rng.normal, rng.exponential, rng.random]))(size=n)


def q(sample, level, method="auto", weights="rademacher"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return bootstrap_quantile(sample, level, method=method, weights=weights, n_resamples=150, seed=7)


def drawn(data, method, strategy=samples):
    return data.draw(strategy(two_valued=method == "binomial", largest=20 if method == "enumeration" else 30))


def largest_sum(sample):
    return float(sum(abs(r) for r in exact_residuals(sample)) / len(sample))


@telling("method", RADEMACHER_METHODS, ["auto", "saddlepoint"])
@facts
@given(st.data(), levels, st.integers(-60, 60), st.booleans())
def test_powers_of_two_and_signs_scale_exactly(method, data, level, power, negative):
    sample = drawn(data, method)
    # A sign mirrors the Monte Carlo draws, so that their upper quantile is another draw.
    factor = math.ldexp(-1.0 if negative and method != "monte-carlo" else 1.0, power)
    assert q(factor * sample, level, method) == abs(factor) * q(sample, level, method)


@telling("method", RADEMACHER_METHODS, ["auto", "saddlepoint"])
@facts
@given(st.data(), levels, st.floats(0.01, 100), st.floats(-100, 100), st.booleans())
def test_scale_and_shift_are_followed(method, data, level, factor, shift, negative):
    sample = drawn(data, method, generic_samples)
    if negative and method != "monte-carlo":
        factor = -factor
    scale = abs(factor) * np.abs(sample).max()
    got = q(factor * sample + shift, level, method)
    assert got == pytest.approx(abs(factor) * q(sample, level, method), rel=0, abs=1e-6 * scale)


@telling("method", RADEMACHER_METHODS, ["auto", "saddlepoint"])
@facts
@given(st.floats(-1e9, 1e9), st.integers(1, 60), st.floats(1e-12, 1 - 1e-12))
def test_one_reward_or_equal_rewards_give_zero(method, value, n, level):
    assert q([value], level, method) == 0
    assert q([value] * n, level, method) == 0


@telling("method", DETERMINISTIC, ["auto", "saddlepoint"])
@facts
@given(st.data(), levels)
def test_it_is_not_negative_below_one_half(method, data, level):
    sample = drawn(data, method)
    assert q(sample, level, method) >= -1e-15 * np.abs(sample).max()


@telling("method", RADEMACHER_METHODS, ["auto", "saddlepoint"])
@facts
@given(st.data(), levels)
def test_it_never_exceeds_the_largest_sum(method, data, level):
    sample = drawn(data, method, data.draw(st.sampled_from([samples, generic_samples])))
    bound = largest_sum(sample)
    assert q(sample, level, method) <= bound * (1 + 1e-9)


@telling("method", DETERMINISTIC, ["auto", "saddlepoint"])
@facts
@given(st.data(), levels)
def test_it_never_exceeds_the_bound_of_hoeffding(method, data, level):
    sample = drawn(data, method, data.draw(st.sampled_from([samples, generic_samples])))
    bound = sample.std() * math.sqrt(2 * math.log(1 / level) / sample.size)
    assert q(sample, level, method) <= bound * (1 + 1e-9)


@telling("method", RADEMACHER_METHODS, ["auto", "saddlepoint"])
@facts
@given(st.data(), st.lists(st.floats(1e-9, 0.99), min_size=2, max_size=6))
def test_it_does_not_rise_with_the_level(method, data, several):
    sample = drawn(data, method, data.draw(st.sampled_from([samples, generic_samples])))
    values = q(sample, sorted(several), method)
    assert (np.diff(values) <= 1e-9 * largest_sum(sample)).all()


@telling("method", EXACT, ["auto", "binomial"])
@facts
@given(st.data(), st.floats(0.01, 0.999))
def test_a_level_below_the_largest_sums_probability_gives_the_largest_sum(method, data, share):
    sample = drawn(data, method)
    n0 = sum(r != 0 for r in exact_residuals(sample))
    assume(n0 > 0)
    level = share * 2.0**-n0
    assert q(sample, level, method) == pytest.approx(largest_sum(sample), rel=1e-12)


@each("method", ["auto", "saddlepoint", "expansion", "binomial"])
@each("level", [0.3, 0.05, 1e-3, 1e-6])
def test_a_large_sample_gives_nearly_the_normal_quantile(method, level):
    # The next term of the quantile is of order 1/n; the lattice of two values has steps of order 1/n as well.
    rng = np.random.default_rng(1)
    for n, tolerance in ((1000, 0.02), (40_000, 5e-4)):
        sample = rng.choice([0.0, 1.0], size=n, p=[0.7, 0.3]) if method == "binomial" else rng.random(n)
        z = math.sqrt(n) * q(sample, level, method) / sample.std()
        assert z == pytest.approx(stats.norm.isf(level), rel=tolerance)


@telling(("weights", "method"), SKEW_PAIRS, [("gaussian", "auto"), ("efron", "auto")])
@facts
@given(st.data(), st.floats(1e-6, 0.999), st.integers(-60, 60))
def test_other_weights_scale_exactly_by_powers_of_two(weights, method, data, level, power):
    sample = data.draw(samples(largest=14))
    assert q(2.0**power * sample, level, method, weights) == 2.0**power * q(sample, level, method, weights)


@telling(("weights", "method"), SKEW_PAIRS, [("gaussian", "auto"), ("efron", "auto")])
@facts
@given(st.data(), st.floats(1e-6, 0.999), st.floats(0.01, 100), st.floats(-100, 100))
def test_other_weights_follow_scale_and_shift(weights, method, data, level, factor, shift):
    sample = data.draw(generic_samples(largest=30))
    got = q(factor * sample + shift, level, method, weights)
    expected = factor * q(sample, level, method, weights)
    assert got == pytest.approx(expected, rel=0, abs=1e-6 * factor * np.abs(sample).max())


@telling(("weights", "method"), SKEW_PAIRS, [("gaussian", "auto"), ("efron", "auto")])
@facts
@given(st.floats(-1e9, 1e9), st.integers(1, 30), st.floats(1e-9, 1 - 1e-9))
def test_other_weights_give_zero_for_equal_rewards(weights, method, value, n, level):
    assert q([value] * n, level, method, weights) == 0


@telling(("weights", "method"), SKEW_PAIRS, [("gaussian", "auto"), ("efron", "auto")])
@facts
@given(st.data(), st.lists(st.floats(1e-9, 0.999), min_size=2, max_size=6))
def test_other_weights_do_not_rise_with_the_level(weights, method, data, several):
    sample = data.draw(data.draw(st.sampled_from([samples(largest=14), generic_samples(largest=30)])))
    values = q(sample, sorted(several), method, weights)
    assert (np.diff(values) <= 1e-9 * largest_sum(sample)).all()


@telling(
    "weights", ["rademacher", "gaussian", "efron", "exponential", "mammen"], ["rademacher", "gaussian", "exponential"]
)
def test_it_does_not_rise_through_the_middle_of_a_large_sample(weights):
    # Near the mean r* is a quotient of two small numbers; rounding may cost no more than 1e-4 of a standard deviation.
    sample = np.random.default_rng(5000).exponential(size=5000)
    values = q(sample, np.linspace(0.49, 0.51, 401), "auto", weights)
    assert np.diff(values).max() <= 1e-4 * sample.std() / math.sqrt(5000)


@telling(("weights", "method"), SKEW_PAIRS, [("gaussian", "auto"), ("efron", "auto")])
@facts
@given(st.data(), st.integers(0, 2**32))
def test_turning_the_sample_over_turns_the_tails_over(weights, method, data, seed):
    # Ties aside, the upper quantile of -X is minus the lower one of X; generic samples and levels have no ties.
    sample = data.draw(generic_samples(largest=30))
    level = np.random.default_rng(seed).uniform(1e-6, 0.999)
    upper, lower = q(-sample, level, method, weights), q(sample, 1 - level, method, weights)
    assert upper == pytest.approx(-lower, rel=0, abs=1e-6 * np.abs(sample).max())
