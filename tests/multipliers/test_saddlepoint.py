import math

import numpy as np
import pytest
from scipy import optimize, stats

from bandstrap.multipliers import bootstrap_quantile
from bandstrap.multipliers.saddlepoint import (
    MOST_CONDITIONED,
    conditioned_quantiles,
    count_dominating,
    cumulants,
    largest_sum,
    normal_tail,
    rademacher_quantiles,
    saddlepoint_quantile,
    signed_root,
    third_cumulant,
    upper_saddle,
)
from bandstrap.multipliers.weights import EXPONENTIAL, GAUSSIAN, LAWS, RADEMACHER
from naive.multipliers import ATOMS, exponential_tail
from sampling import each, telling

LEVELS = [5e-2, 5e-3, 5e-4, 1e-5, 1e-6, 1e-7]
REWARDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "student3": lambda rng, n: rng.standard_t(3, size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "two-scale": lambda rng, n: rng.normal(size=n) * np.where(rng.random(n) < 0.5, 1, 10),
}


def worst_error(weights: str, samples: list[np.ndarray], levels: list[float]) -> tuple[float, int, float]:
    """``(relative error, sample number, level)`` of the worst saddlepoint quantile."""
    got = bootstrap_quantile(samples, levels, weights=weights, method="saddlepoint")
    exact = bootstrap_quantile(samples, levels, weights=weights, method="enumeration")
    errors = np.abs(got / exact - 1)
    row, column = np.unravel_index(errors.argmax(), errors.shape)
    return float(errors[row, column]), int(row), levels[column]


@telling(
    ("n", "seeds", "levels"),
    [(24, 10, LEVELS), (30, 3, LEVELS), (36, 1, LEVELS[::3])],
    lambda n, seeds, levels: n == 24,
)
@pytest.mark.parametrize("rewards", REWARDS)
def test_rademacher_saddlepoint_is_within_three_per_mille_of_enumeration(rewards, n, seeds, levels):
    samples = [REWARDS[rewards](np.random.default_rng(seed), n) for seed in range(seeds)]
    worst = worst_error("rademacher", samples, levels)
    assert worst[0] < 0.003, f"(error, seed, level) = {worst}"


def test_rademacher_saddlepoint_loses_little_when_more_terms_dominate_than_are_enumerated():
    # Five below, six above and thirteen near the middle: more large terms than are enumerated.
    large = [-16.6, -13.8, -13.5, -12.5, -10.1, 6.9, 7.8, 8.8, 10.3, 13.1, 13.1]
    small = [-0.5, -0.4, -0.4, -0.3, 0.2, 0.3, 0.5, 0.6, 0.6, 0.8, 0.8, 1.0, 1.4]
    worst = worst_error("rademacher", [np.array(large + small)], LEVELS)
    assert worst[0] < 0.02, f"(error, sample, level) = {worst}"


@pytest.mark.parametrize("values", [(0, 1, 2), (1, 2, 3, 4, 5)])
def test_auto_keeps_three_per_mille_on_rewards_of_few_values(values):
    samples = [np.random.default_rng(seed).choice(values, size=30).astype(float) for seed in range(3)]
    exact = bootstrap_quantile(samples, LEVELS, method="enumeration")
    np.testing.assert_allclose(bootstrap_quantile(samples, LEVELS), exact, rtol=0.003)


# Measured: worst 0.82 % over ten seeds at n = 14.
@telling("rewards", REWARDS, ["student3"])
def test_efron_saddlepoint_is_within_one_percent_of_enumeration(rewards):
    worst = worst_error("efron", [REWARDS[rewards](np.random.default_rng(2), 14)], LEVELS)
    assert worst[0] < 0.01, f"(error, seed, level) = {worst}"


# Measured: worst 1.9 % over twenty seeds at n = 24, but 3.8 % for two-scale rewards, whose large terms are lumpy.
@pytest.mark.parametrize(("rewards", "tolerance"), [(r, 0.04 if r == "two-scale" else 0.02) for r in REWARDS])
def test_mammen_saddlepoint_is_within_its_measured_error_of_enumeration(rewards, tolerance):
    samples = [REWARDS[rewards](np.random.default_rng(seed), 24) for seed in range(6)]
    worst = worst_error("mammen", samples, LEVELS)
    assert worst[0] < tolerance, f"(error, seed, level) = {worst}"


# Measured: the tail beyond the quantile is within 4.1 % of the level over ten seeds, so the quantile within 0.5 %.
@each("n", [24, 60])
@each("rewards", REWARDS)
def test_exponential_saddlepoint_has_nearly_its_level_beyond_it(rewards, n):
    sample = REWARDS[rewards](np.random.default_rng(n), n)
    for level in LEVELS:
        q = bootstrap_quantile(sample, level, weights="exponential", method="saddlepoint")
        assert exponential_tail(sample, q) == pytest.approx(level, rel=0.05)


def test_exact_tail_of_exponential_weights_agrees_with_monte_carlo():
    # 400,000 draws, within 4 binomial standard errors: error rate 6e-5. A tail that is off by 0.0014, of 0.02,
    # is seen with probability 0.99.
    sample = REWARDS["student3"](np.random.default_rng(5), 24)
    weights = np.random.default_rng(6).exponential(size=(400_000, 24)) - 1
    q = bootstrap_quantile(sample, 0.02, weights="exponential", method="saddlepoint")
    expected = exponential_tail(sample, q)
    seen = (weights @ (sample - sample.mean()) / 24 > q).mean()
    assert abs(seen - expected) <= 4 * math.sqrt(expected * (1 - expected) / 400_000)


@each("rewards", ["normal", "two-scale"])
@each("level", [0.2, 1e-2, 1e-5, 1e-11])
def test_rademacher_quantiles_of_opposite_levels_are_opposite(rewards, level):
    sample = REWARDS[rewards](np.random.default_rng(7), 60)
    upper, lower = bootstrap_quantile(sample, [level, 1 - level], method="saddlepoint")
    # 1 - level is rounded, by 1e-5 of the tail at the smallest level.
    assert lower == pytest.approx(-upper, rel=1e-3)


@pytest.mark.parametrize("n", [1, 2, 5, 13])
def test_few_terms_are_enumerated_so_the_saddlepoint_is_exact(n):
    rng = np.random.default_rng(n)
    sample = rng.exponential(size=n)
    levels = rng.random(20)
    got = bootstrap_quantile(sample, levels, method="saddlepoint")
    exact = bootstrap_quantile(sample, levels, method="enumeration")
    np.testing.assert_allclose(got, exact, rtol=1e-12, atol=1e-15)


def test_a_tail_of_few_sums_is_exact_whatever_the_size():
    # Level 1e-9 of 2^36 sums leaves 68 of them.
    sample = REWARDS["student3"](np.random.default_rng(1), 36)
    got = bootstrap_quantile(sample, 1e-9, method="saddlepoint")
    assert got == pytest.approx(bootstrap_quantile(sample, 1e-9, method="enumeration"), rel=1e-12)


@each("weights", ATOMS)
@each("s", [-3.0, -0.4, 0.0, 1e-3, 0.7, 5.0])
def test_cumulants_are_the_derivatives_of_the_log_of_the_generating_function(weights, s):
    sample = np.array([0.3, 1.0, 2.0, 2.5, 7.0])
    terms = (sample - sample.mean()) / 5
    value, mass = np.array([(float(x), float(p)) for x, p in ATOMS[weights](sample)]).T
    tilted = mass * np.exp(s * value)
    mean = (tilted @ value) / tilted.sum()
    spread = (tilted @ (value - mean) ** 2) / tilted.sum()
    k0, k1, k2 = cumulants(LAWS[weights], terms, s)
    assert k0 == pytest.approx(math.log(tilted.sum()), rel=1e-12, abs=1e-14)
    assert k1 == pytest.approx(mean, rel=1e-12, abs=1e-14)
    assert k2 == pytest.approx(spread, rel=1e-12)


@pytest.mark.parametrize("s", [-1.2, 0.0, 1e-3, 0.7])
def test_cumulants_of_the_continuous_laws(s):
    terms = np.array([0.5, -0.75, 0.25])
    assert cumulants(GAUSSIAN, terms, s) == pytest.approx((0.4375 * s * s, 0.875 * s, 0.875), rel=1e-14)
    own = -np.log1p(-s * terms).sum(), (terms / (1 - s * terms)).sum(), ((terms / (1 - s * terms)) ** 2).sum()
    assert cumulants(EXPONENTIAL, terms, s) == pytest.approx(own, rel=1e-12, abs=1e-14)


def test_cumulants_do_not_overflow_far_out():
    terms = np.array([1.0, -0.5, -0.5])
    for law in (RADEMACHER, LAWS["efron"], LAWS["mammen"]):
        for s in (-1e4, 1e4):
            assert np.isfinite(cumulants(law, terms, s)).all()
    assert cumulants(RADEMACHER, terms, 1e4)[:2] == pytest.approx((2e4 - 3 * math.log(2), 2.0))


@pytest.mark.parametrize("weights", ATOMS)
def test_third_cumulant_and_largest_sum_are_those_of_all_weights(weights):
    sample = np.array([0.3, 1.0, 2.0, 2.5, 7.0])
    terms = (sample - sample.mean()) / 5
    value, mass = np.array([(float(x), float(p)) for x, p in ATOMS[weights](sample)]).T
    assert third_cumulant(LAWS[weights], terms) == pytest.approx(mass @ value**3, rel=1e-12, abs=1e-15)
    assert largest_sum(LAWS[weights], terms) == pytest.approx(value.max(), rel=1e-12)


def test_continuous_laws_have_no_largest_sum_and_known_skewness():
    terms = np.array([0.5, -0.75, 0.25])
    assert largest_sum(GAUSSIAN, terms) == largest_sum(EXPONENTIAL, terms) == math.inf
    assert third_cumulant(GAUSSIAN, terms) == 0
    assert third_cumulant(EXPONENTIAL, terms) == pytest.approx(2 * (terms**3).sum(), rel=1e-14)


@each("weights", LAWS)
@each("z", [0.5, 1.6, 3.1, 5.0])
def test_the_saddle_solves_its_equation(weights, z):
    law = LAWS[weights]
    sample = np.random.default_rng(11).exponential(size=50)
    terms = (sample - sample.mean()) / 50
    saddle, x = upper_saddle(law, terms, z, 1e-10)
    end = 0.999 / terms.max() if law == EXPONENTIAL else 300 / np.abs(terms).max()
    s = optimize.brentq(lambda s: cumulants(law, terms, s)[1] - x, 0, end, xtol=1e-13, rtol=1e-14)
    assert saddle == pytest.approx(s, rel=1e-8)
    k0, k1, k2 = cumulants(law, terms, s)
    w, u = math.sqrt(2 * (s * k1 - k0)), s * math.sqrt(k2)
    assert w + math.log(u / w) / w == pytest.approx(z, rel=1e-8)
    assert signed_root(s, k0, k1, k2, 0.0) == pytest.approx(z, rel=1e-8)
    assert saddlepoint_quantile(law, terms, z) == x


def test_a_level_beyond_the_support_gives_the_end_of_the_support():
    terms = np.full(20, 1 / 20)
    assert all(math.isnan(part) for part in upper_saddle(RADEMACHER, terms, 8.0, 1e-10))
    assert saddlepoint_quantile(RADEMACHER, terms, 8.0) == pytest.approx(1.0, rel=1e-14)
    assert saddlepoint_quantile(RADEMACHER, terms, -8.0) == pytest.approx(-1.0, rel=1e-14)


def test_normal_tail_is_relatively_accurate_far_out():
    for z in (-2.0, 0.0, 1.0, 6.0, 20.0):
        assert normal_tail(z) == pytest.approx(stats.norm.sf(z), rel=1e-13)


def test_dominating_terms_are_counted_from_the_largest():
    assert count_dominating(np.full(60, 1.0)) == 0
    assert count_dominating(np.r_[np.full(60, 1.0), 10.0]) == 1
    assert count_dominating(np.r_[np.full(60, 1.0), 10.0, 30.0]) == 2
    assert count_dominating(np.array([1.0])) == 0
    assert count_dominating(2.0 ** np.arange(16)) == MOST_CONDITIONED


@pytest.mark.parametrize("n_dominating", [1, 4, 8])
def test_enumerating_some_terms_agrees_with_the_plain_saddlepoint_where_that_is_accurate(n_dominating):
    magnitudes = np.sort(np.abs(np.random.default_rng(12).normal(size=200))) / 200
    levels = np.array([0.7, 0.3, 0.05, 1e-3, 1e-6])
    out = np.empty(5)
    conditioned_quantiles(magnitudes, n_dominating, levels, out)
    plain = [saddlepoint_quantile(RADEMACHER, magnitudes, z) for z in stats.norm.isf(levels)]
    np.testing.assert_allclose(out, plain, rtol=1e-3)


def test_zero_terms_change_nothing():
    magnitudes = np.sort(np.abs(np.random.default_rng(13).normal(size=40)))
    levels, out, padded = np.array([0.1, 1e-4]), np.empty(2), np.empty(2)
    rademacher_quantiles(magnitudes, levels, stats.norm.isf(levels), out)
    rademacher_quantiles(np.r_[np.zeros(7), magnitudes], levels, stats.norm.isf(levels), padded)
    assert (out == padded).all()
    rademacher_quantiles(np.zeros(3), levels, stats.norm.isf(levels), out)
    assert (out == 0).all()
