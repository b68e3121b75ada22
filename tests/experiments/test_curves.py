"""Curves beside bounds: what they say, and how a slip in a file is reported."""

import math

import pytest

from bandstrap.basics.calls import parse_call
from bandstrap.errors import InvalidInput
from bandstrap.experiments.curves import CURVES, Cell, check_curve, measure_curve
from bandstrap.theory.coin import coin_constant, coin_misses, proof_constant
from bandstrap.theory.weighted_sums import least_sum_deviation, sum_deviation_bound, sum_moment, weighted_terms


def value(text, n, alpha=0.05, law="normal", replications=50, seed=1):
    return measure_curve(parse_call(text), Cell(law, n, alpha, replications, seed))


def test_formulas_are_those_of_the_theory():
    alpha = math.exp(-8)
    for name, a in (("equal", [1 / 7] * 7), ("one large", [1.0, *[1 / 7] * 6])):
        of = f"beta=1.5,weights={name}"
        assert value(f"theorem_2:{of}", 7, alpha).mean_width == weighted_terms(a, math.log(1 / alpha), 1.5)
        assert value(f"theorem_2:{of},form=printed,power=2", 7, alpha).mean_width == weighted_terms(
            a, 49.0, 1.5, form="printed"
        )
        assert value(f"least_deviation:{of},power=2", 7, alpha).mean_width == least_sum_deviation(a, 49.0, 1.5)
        assert value(f"proved_deviation:{of},power=2", 7, alpha).mean_width == sum_deviation_bound(
            a, math.exp(-49), sigma=1, beta=1.5
        )
        assert value(f"moment:{of}", 7, alpha).mean_width == sum_moment(a, 8, 1.5)
        assert value(f"moment:{of},power=2", 7, alpha).mean_width == sum_moment(a, 48, 1.5)
    assert value("exact", 2, law="uniform").replications == 0


def test_the_joint_quantile_is_exceeded_by_many_quantiles_given_the_rewards():
    # Two normal rewards: the weighted mean is (y1 - y2)/2, 0 or its negative, and its quantile at 5 % given the rewards is
    # |y1 - y2|/2 = |z|/sqrt(2), because one pair of signs in four gives it. The weighted mean exceeds x with probability
    # P(|z| > sqrt(2) x)/4, so x = 0.05 belongs to P(|z| > ...) = 0.2: a fifth of the quantiles exceed it.
    row = value("quantile_above_joint", 2, replications=20_000)
    assert row.miss_rate == pytest.approx(0.2, abs=0.012)  # 4 standard errors
    squared = value("quantile_above_joint:level=squared", 2, replications=20_000)
    assert squared.miss_rate == pytest.approx(4 * 0.05**2, abs=0.004)
    assert row.mean_width == pytest.approx(math.sqrt(2 / math.pi) / math.sqrt(2), rel=0.02)


def test_looks_are_counted():
    assert value("resampling_visits:n_resamples=200", 9).mean_width == 200
    # The top is far above the rewards, and f(top) near 0: one look is enough.
    assert value("kl_visits:upper=100,n_arms=5", 20, law="uniform").mean_width == 1
    # Many rewards close to the top: Newton's method, a few looks.
    assert 3 < value("kl_visits:upper=1,n_arms=5", 400, law="uniform").mean_width < 30


def test_a_coin_is_shown_at_the_level_that_suits_the_theorem_worst():
    stated = value("coin:correction=stated,delta=0.9", 8)
    assert stated.miss_rate == 2**-8
    assert stated.mean_width == pytest.approx(2**-8 / (2 * stated.alpha))
    assert stated.mean_width > 2.5 > 1 > value("coin:correction=sharp,delta=0.9", 8).mean_width
    correction = math.sqrt(math.log(2 / (stated.alpha * 0.9)) / 8) * (1 + 1e-6)
    assert coin_misses(8, stated.alpha * 0.1, correction) == 1 / 256
    by_draws = value("coin_by_draws:delta=0.9", 5)
    assert (by_draws.miss_rate, by_draws.mean_width > 1) == (2**-5, True)
    assert value("coin_by_draws:delta=0.9,inequality=second", 5).mean_width < 1
    assert value("needed_constant", 9).mean_width == coin_constant(9)
    assert value("proved_constant", 9).mean_width == proof_constant(9)


def test_quantiles_beside_what_is_displayed_after_lemma_two():
    row = value("quantile_above_formula:beta=2,sigma=1", 2, replications=400)
    # Two normal rewards: the quantile is |y1 - y2|/2. With a hundredth of the scale nearly all are above the number.
    assert (row.misses, row.replications) == (0, 400)
    assert 0.2 < row.mean_width < 1
    assert value("quantile_above_formula:beta=2,sigma=0.01", 2, replications=400).miss_rate > 0.9


def test_same_seed_same_row_and_other_seed_another():
    first, again, other = (value("quantile_above_joint", 3, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.mean_width != other.mean_width


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("exact:beta=1", "no options"),
        ("moment", "the options beta"),
        ("theorem_2:beta=1,sigma=2", "beta, form, power"),
        (
            "quantile_above_joint:level=square",
            "'level' parameter of quantile_above_joint must be one of 'as used', 'squared'",
        ),
    ],
)
def test_options_are_checked(text, takes):
    with pytest.raises(InvalidInput, match=takes):
        check_curve(parse_call(text), "uniform", 0.05)


def test_every_curve_can_be_checked():
    needed = {
        "kl_visits": "upper=2,n_arms=5",
        "resampling_visits": "n_resamples=20",
        "quantile_above_formula": "beta=1.5,sigma=1",
        "coin": "correction=stated,delta=0.5",
        "coin_by_draws": "delta=0.5",
    }
    without = ("exact", "quantile_above_joint", "needed_constant", "proved_constant")
    for name in CURVES:
        options = needed.get(name, "" if name in without else "beta=1.5")
        check_curve(parse_call(f"{name}:{options}" if options else name), "uniform", 0.05)
