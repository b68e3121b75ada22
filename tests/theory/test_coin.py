"""Theorem 1 on a fair coin: the library's count beside one of all samples and signs in fractions, and what it refutes."""

import itertools
import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.bounds import bootstrap
from bandstrap.errors import InvalidInput
from bandstrap.theory.coin import coin_constant, coin_misses, proof_constant

# A bound on the mean that no sample of a coin reaches, so that P(|ybar - mu| >= phi) = 0.
PHI = Fraction(10_001, 10_000)


def quantile(sample, level):
    """``inf {x : P_w(X > x) <= level}`` over all vectors of signs: as many sums lie above it as the level allows."""
    n, total = len(sample), sum(sample)
    residuals = [n * y - total for y in sample]  # n times those of the mean
    sums = sorted((sum(map(operator.mul, signs, residuals)) for signs in all_signs(n)), reverse=True)
    return Fraction(sums[math.floor(level * 2**n)], n**2)


def all_signs(n):
    return itertools.product((-1, 1), repeat=n)


def exp_at_least(exponent: Fraction) -> Fraction:
    """A fraction that ``exp`` of a positive number exceeds: the beginning of its series."""
    return sum(exponent**k / math.factorial(k) for k in range(60))


def misses_exactly(n, alpha, delta, factor):
    """Probability that the mean exceeds ``q + sqrt(factor log(2/(alpha delta))/n) phi``, in fractions throughout.

    ``room > sqrt(factor log(1/e)/n) phi`` is ``1/e < exp(n (room/phi)^2/factor)``, for which the beginning of the series
    of exp is enough. A miss that it does not prove is left out.
    """
    by_heads = {}
    missed = 0
    for sample in all_signs(n):
        heads = sum(sample)
        if heads not in by_heads:
            room = Fraction(heads, n) - quantile(sample, alpha * (1 - delta)) if heads > 0 else Fraction(0)
            by_heads[heads] = room > 0 and 2 / (alpha * delta) < exp_at_least(n * (room / PHI) ** 2 / factor)
        missed += by_heads[heads]
    return Fraction(missed, 2**n)


@pytest.mark.parametrize(
    ("n", "alpha", "delta"),
    [
        (5, Fraction(151, 10_000), Fraction(9, 10)),
        (8, Fraction(8, 10_000), Fraction(9, 10)),
        (11, Fraction(1, 10_000), Fraction(1, 2)),
        (13, Fraction(5, 100_000), Fraction(1, 10)),
    ],
)
def test_theorem_one_as_stated_is_false_and_as_proved_it_is_not(n, alpha, delta):
    # No chance and no rounding: every sample and every vector of signs.
    assert misses_exactly(n, alpha, delta, 1) == Fraction(1, 2**n) > 2 * alpha
    assert misses_exactly(n, alpha, delta, 2) == 0
    correction = math.sqrt(math.log(2 / (alpha * delta)) / n) * float(PHI)
    assert coin_misses(n, float(alpha * (1 - delta)), correction) == Fraction(1, 2**n)


@pytest.mark.parametrize(
    ("n", "alpha", "delta", "n_resamples", "allowed"),
    [
        (5, Fraction(151, 10_000), Fraction(9, 10), 66, lambda a, b: a + Fraction(math.floor(b * a) + 1, b + 1)),
        (11, Fraction(1, 10_000), Fraction(1, 2), 5000, lambda a, b: 2 * a + Fraction(1, b + 1)),
    ],
)
def test_the_monte_carlo_theorem_as_printed_is_false(n, alpha, delta, n_resamples, allowed):
    # Whatever signs are drawn, the residuals of n equal rewards are 0, and so is the quantile; the correction is below 1.
    assert 2 / (alpha * delta) < exp_at_least(n / PHI**2)
    assert Fraction(1, 2**n) > allowed(alpha, n_resamples)
    correction = math.sqrt(math.log(2 / (alpha * delta)) / n) * float(PHI)
    assert coin_misses(n, 0.0, correction) == Fraction(1, 2**n)


def test_the_bound_of_the_library_misses_where_the_theorem_as_stated_does():
    tails = -np.ones(8)
    options = {"delta": 0.9, "phi": float(PHI), "check": False}
    assert bootstrap(tails, 8e-4, correction="stated", **options).value < 0
    for proved in ("theorem", "sharp"):
        assert bootstrap(tails, 8e-4, correction=proved, **options).value >= 0


def test_noise_that_makes_the_rewards_continuous_changes_nothing():
    # All n = 10 coins show heads, with probability 2^-10 = 9.8e-4 > 2 alpha = 3e-4. For every noise within 0.005 the mean
    # is then at least 0.995, the quantile at most the mean distance from it, 0.01, and the correction 0.975 times phi.
    alpha, delta, noise = 1.5e-4, 0.99, 0.005
    phi = 1 + noise + 1e-9
    correction = math.sqrt(math.log(2 / (alpha * delta)) / 10) * phi
    assert 2 * alpha < 2.0**-10
    assert 1 - noise > 2 * noise + correction
    sample = -1 + noise * np.random.default_rng(1).uniform(-1, 1, size=(200, 10))
    assert (bootstrap(sample, alpha, correction="stated", delta=delta, phi=phi, check=False).value < 0).all()


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 7), level=st.floats(0, 0.6), correction=st.floats(0, 1.2))
def test_counts_by_heads_are_counts_of_all_samples(n, level, correction):
    expected = sum(
        Fraction(sum(sample), n) > quantile(sample, Fraction(level)) + Fraction(correction) + Fraction(1, 10**9)
        for sample in all_signs(n)
    )
    assert coin_misses(n, level, correction) == Fraction(expected, 2**n)


def test_nothing_above_the_largest_reward_is_missed_and_a_single_toss_without_correction_half_the_time():
    assert coin_misses(9, 0.0, 1.0) == 0
    assert coin_misses(1, 0.1, 0.0) == Fraction(1, 2)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 20])
def test_with_less_than_what_a_coin_needs_it_is_missed_too_often(n):
    # alpha just below half the probability of n heads, delta just below 1: the limit that the constant is for.
    alpha, delta = 2.0 ** -(n + 1) * (1 - 1e-9), 1 - 1e-9
    for factor, missed in ((0.999, Fraction(1, 2**n)), (1.001, 0)):
        correction = math.sqrt(factor * coin_constant(n) * math.log(2 / (alpha * delta)) / n)
        assert coin_misses(n, alpha * (1 - delta), correction) == missed
    assert coin_constant(n) == pytest.approx(n / ((n + 2) * math.log(2)))


def test_what_a_coin_needs_lies_between_what_is_stated_and_what_is_proved():
    sizes = [5, 10, 100, 10**4, 10**6]
    needed, proved = ([constant(n) for n in sizes] for constant in (coin_constant, proof_constant))
    assert min(needed) > 1
    assert needed == sorted(needed)
    assert (
        1 / math.log(2) < needed[-1] < 1.4433
    )  # beyond 4,000 tosses other samples than equal ones ask for a shade more
    assert all(a < b < 2 for a, b in zip(needed, proved, strict=True))


def test_what_the_proof_needs_is_the_quantile_of_a_mean_of_signs():
    n = 12
    for heads in range(7, 13):
        tail = sum(math.comb(n, k) for k in range(heads, n + 1)) / 2**n
        mean = 2 * heads / n - 1
        assert math.sqrt(proof_constant(n) * math.log(2 / tail) / n) >= mean * (1 - 1e-12)


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [((0, 0.1, 0.1), "n"), ((3, -0.1, 0.1), "level"), ((3, 0.1, -1), "correction"), ((3, math.nan, 1), "level")],
)
def test_refusals_name_the_parameter(arguments, parameter):
    with pytest.raises(InvalidInput, match=f"'{parameter}' parameter of coin_misses"):
        coin_misses(*arguments)
