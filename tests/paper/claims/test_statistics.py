"""Statistics of claims: tests keep their error rate and see what they should."""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.experiments import PanelData
from bandstrap.experiments.panels import CurveData
from bandstrap.experiments.spec import Curve, Panel
from bandstrap.paper.claims import ERROR_RATE, NOT_REPRODUCED, REPRODUCED, UNDECIDED, ReportedNumber
from bandstrap.paper.claims.statistics import (
    POWER,
    OneSidedComparison,
    distance_seen,
    end,
    exponent,
    fitted_exponent,
    grows_faster,
    grows_slower,
    growth_seen,
    lower,
    mean_below_zero,
    misses_too_often,
    ratio,
    smallest_rate_seen,
    verdict_of,
)
from paper.synthetic import N, published_curve
from sampling import each


def two(first, second):
    """A panel of two curves with these values at the end."""
    panel = Panel(name="p", environment="gaussian", curves=tuple(Curve(label=x, policy="ucb1") for x in "ab"))
    data = [
        CurveData(curve, np.array([10.0]), np.asarray(values, dtype=float)[:, None], (), 0.0)
        for curve, values in zip(panel.curves, (first, second), strict=True)
    ]
    return PanelData(panel, tuple(data))


@pytest.mark.parametrize("n", [3, N])
def test_lower_keeps_its_error_rate_where_there_is_no_difference(n):
    rng = np.random.default_rng(1)
    total = 4000
    wrong = sum(lower(two(*rng.standard_normal((2, n)) + 5), "a", "b").holds for _ in range(total))
    # Accepted: counts that a rate of 1 % gives with probability 0.9999. A rate of 2 % or of 0.3 % would be outside with
    # probability 0.95 or more; a normal quantile in place of Student's has a rate of 7 % at n = 3.
    assert stats.binom.ppf(5e-5, total, ERROR_RATE) <= wrong <= stats.binom.ppf(1 - 5e-5, total, ERROR_RATE)


def test_lower_is_paired_and_sees_what_an_unpaired_test_would_not():
    rng = np.random.default_rng(2)
    shared = 100 * rng.standard_normal(N)
    test = lower(two(shared - 1 + 0.1 * rng.standard_normal(N), shared), "a", "b")
    assert test.holds
    assert test.z == pytest.approx(1 / (0.1 / math.sqrt(N)), rel=0.1)
    assert "a below b: -1 ± 0.0" in test.text


def test_lower_uses_the_replications_both_played_and_a_factor():
    panel = two([1.0, 2, 3, 4], [3.0, 4.5, 7])
    assert lower(panel, "a", "b").z == pytest.approx((2 + 2.5 + 4) / 3 / (np.std([2, 2.5, 4], ddof=1) / math.sqrt(3)))
    assert lower(panel, "b", "a").z == pytest.approx(-lower(panel, "a", "b").z)
    assert lower(panel, "b", "a", factor=3).text.startswith("b below 3 times a: ")
    assert lower(panel, "b", "a", factor=3).z > 0


def test_replications_that_all_agree():
    assert lower(two([1, 1], [2, 2]), "a", "b").z == math.inf
    assert lower(two([2, 2], [1, 1]), "a", "b").z == -math.inf
    assert lower(two([2, 2], [2, 2]), "a", "b").z == 0
    assert not lower(two([2, 2], [2, 2]), "a", "b").holds


def test_misses_are_counted_exactly():
    for total, allowed in ((500, 0.05), (4000, 0.1)):
        tails = [stats.binom.sf(misses - 1, total, allowed) for misses in range(total)]
        assert [misses_too_often(misses, total, allowed, 10) for misses in range(total)] == [
            tail < ERROR_RATE / 10 for tail in tails
        ]
    assert not misses_too_often(0, 10, 1e-9, 10)
    assert misses_too_often(1, 10, 1e-9, 10)


@pytest.mark.parametrize(("rate", "seldom", "often"), [(0.05, 1e-3, 5e-4), (0.045, 1e-5, 0.0), (0.07, 1.0, 0.95)])
def test_a_bound_that_just_holds_is_seldom_accused_and_one_that_does_not_is(rate, seldom, often):
    """Exactly, over every count of misses."""
    accused = [count for count in range(4001) if misses_too_often(count, 4000, 0.05, 10)]
    assert often <= stats.binom.pmf(accused, 4000, rate).sum() <= seldom


def test_the_end_of_a_curve_has_the_published_value_of_its_place():
    curve = published_curve([[1, 2, 3], [1, 2, 5]], ((0.0, 7), (2.0, 9)), places=(0.0, 1.0, 2.0))
    assert end(curve) == ReportedNumber("c", 4, 1, 9)
    assert end(curve, 2.0) == ReportedNumber("c at 2", 4, 1, 9)
    assert end(curve, 0.0) == ReportedNumber("c at 0", 1, 0, 7)
    assert end(curve, 1.0) == ReportedNumber("c at 1", 2, 0, None)
    assert end(published_curve([3], 4)) == ReportedNumber("c", 3, None, 4)


@pytest.mark.parametrize(("total", "allowed", "cells"), [(500, 0.05, 1), (4000, 0.1, 20), (10_000, 0.02, 5)])
def test_the_miss_rate_a_look_at_cells_sees_is_seen_as_often_as_said(total, allowed, cells):
    rate = smallest_rate_seen(total, allowed, cells)
    seen = [misses_too_often(misses, total, allowed, cells) for misses in range(total + 1)]

    def probability(true):
        return float(stats.binom.pmf(np.arange(total + 1), total, true)[seen].sum())

    assert probability(rate) == pytest.approx(POWER, abs=1e-6)
    assert probability(allowed) <= ERROR_RATE / cells


@pytest.mark.parametrize("n", [3, N])
def test_the_advantage_a_comparison_finds_is_found_as_often_as_said(n):
    # 10,000 comparisons of normal differences: the share found has a standard error of .003.
    ahead = distance_seen(n - 1) / math.sqrt(n)
    samples = np.random.default_rng(0).normal(-ahead, 1, (10_000, n))
    tests = [mean_below_zero(values, "", 10.0) for values in samples]
    assert np.mean([test.holds for test in tests]) == pytest.approx(POWER, abs=0.012)
    assert tests[0].smallest_seen == pytest.approx(ahead * samples[0].std(ddof=1) / 10)


def test_several_comparisons_share_the_error_rate():
    test = OneSidedComparison("", 2.4, 0.1, math.inf)
    assert test.holds
    assert not test.holds_among(2)
    assert test.seen_among(2) > test.smallest_seen
    opposite = OneSidedComparison("", -2.4, 0.1, math.inf)
    assert opposite.is_contradicted(1)
    assert not opposite.is_contradicted(2)


def grown(power, n=N, noise=0.1, seed=0):
    """Runs of a length of 64 whose regret is luck times ``t^power``, or a logarithm for 0."""
    places = np.arange(1.0, 65.0)
    mean = places**power if power else np.log(places)
    luck = 1 + 0.2 * np.random.default_rng(seed).standard_normal((n, 1))
    steps = (
        noise * np.diff(mean, prepend=0.0).clip(0.1) * np.random.default_rng(seed + 1).standard_normal((n, places.size))
    )
    return CurveData(Curve(label="c", policy="ucb1"), places, 10 * luck * mean + steps.cumsum(axis=1), (), 0.0)


@pytest.mark.parametrize("power", [0.0, 0.25, 0.5, 0.8, 1.0])
def test_the_order_of_growth_is_read_off_late_regret(power):
    assert exponent(grown(power)) == pytest.approx(power, abs=0.02)
    assert grows_faster(grown(power), 0.5).holds == (power > 0.5)
    assert grows_slower(grown(power), 0.5).holds == (power < 0.5)
    assert f"c grows like T^{power:.1f}" in grows_faster(grown(power), 0.5).text.replace("-0.0", "0.0")


def test_growth_that_is_said_to_be_seen_is_seen_as_often():
    # 2000 experiments: the share has a standard error of .0067, and 50 runs know their spread to 10 %.
    test = grows_faster(grown(0.8, noise=15.0, n=50), 0.5)
    told = growth_seen([test], 0.5)
    assert 0.5 < told < 1
    seen = np.mean([grows_faster(grown(told, noise=15.0, n=50, seed=2 * i), 0.5).holds for i in range(2000)])
    assert seen == pytest.approx(POWER, abs=0.05)


@pytest.mark.parametrize("values", [np.zeros((3, 64)), np.ones((3, 64)), -np.arange(64.0) * np.ones((3, 1))])
def test_regret_that_does_not_grow_has_no_order(values):
    curve = CurveData(Curve(label="c", policy="ucb1"), np.arange(1.0, 65.0), values, (), 0.0)
    assert exponent(curve) == -math.inf
    assert not grows_faster(curve, 0.5).holds


def test_a_ratio_of_means_and_its_standard_error():
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(400):
        other = rng.normal(5, 1, N)
        ratios.append(ratio(two(2 * other + rng.standard_normal(N), other), "a", "b"))
    values, errors, _ = np.array(ratios).T
    assert values.mean() == pytest.approx(2, abs=0.003)
    # The standard deviation of 400 values has a relative error of 3.5 %.
    assert errors.mean() == pytest.approx(values.std(ddof=1), rel=0.15)


def regret(power, rng, n=40, x=(1.0, 2.0, 4.0, 8.0)):
    """Regret like a power of x, a tenth of luck shared along a row and a tenth of its own."""
    noise = 1 + 0.1 * rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((n, len(x)))
    return np.array(x), 5 * np.array(x) ** power * noise


def test_a_fitted_power_is_unbiased_and_its_error_is_right():
    rng = np.random.default_rng(6)
    found = [fitted_exponent("x", *regret(1.5, rng)) for _ in range(400)]
    values = np.array([each.value for each in found])
    # 400 fits of standard deviation 0.01: the mean within 4 of its standard errors, the stated error within a tenth.
    assert abs(values.mean() - 1.5) < 4 * values.std() / 20
    assert np.mean([each.error for each in found]) == pytest.approx(values.std(), rel=0.12)


def test_comparisons_of_powers_keep_their_error_rate_and_see_a_larger_one():
    rng = np.random.default_rng(7)
    total = 1500
    fits = [fitted_exponent("x", *regret(1.0, rng)) for _ in range(total)]
    # At a true power of 1 both mistakes are made in about 1 % of cases: 15, within 3 to 35 with probability 0.999.
    assert 3 <= sum(each.below(1).holds for each in fits) <= 35
    assert 3 <= sum(each.below(1).is_contradicted(1) for each in fits) <= 35
    assert all(each.below(1.1).holds for each in fits)
    assert all(each.below(0.9).is_contradicted(1) for each in fits)
    assert fits[0].above(0.9).z > 5
    assert "below 1.1" in fits[0].below(1.1).text


def test_without_luck_a_power_has_no_error():
    x = np.array([1.0, 10.0, 100.0])
    exact = fitted_exponent("x", x, np.tile(x**2, (5, 1)))
    assert exact.value == pytest.approx(2)
    assert exact.error == pytest.approx(0, abs=1e-12)


@each(
    ("z", "error", "verdict"),
    [
        (5.0, 0.5, REPRODUCED),  # beyond chance, whatever is seen
        (2.0, 0.01, NOT_REPRODUCED),  # not beyond chance, and at most 4 % ahead
        (2.0, 0.1, UNDECIDED),  # not beyond chance, and perhaps 43 % ahead
        (-0.5, 0.01, NOT_REPRODUCED),
        (-0.5, 0.2, UNDECIDED),  # behind, and perhaps 37 % ahead
        (-9.0, 0.2, NOT_REPRODUCED),  # the contrary is found
    ],
)
def test_what_is_not_found_is_undecided_unless_it_would_have_been(z, error, verdict):
    sure = OneSidedComparison("", 9.0, 0.01, 199)
    assert verdict_of([sure, OneSidedComparison("", z, error, 199)]) == verdict
