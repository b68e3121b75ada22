"""Curves beside bounds: what they say, and how a slip in a file is reported."""

import math

import pytest

from bandstrap.calls import parse_call
from bandstrap.errors import InvalidInput
from bandstrap.experiments.curves import CURVES, check_curve, measure_curve
from bandstrap.theory.tails import least_mean_deviation, mean_moment, theorem_2_terms


def value(text, n, alpha=0.05, law="normal", replications=50, seed=1):
    return measure_curve(parse_call(text), law, n, alpha, replications, seed)


def test_formulas_are_those_of_the_theory():
    alpha = math.exp(-8)
    assert value("theorem_2:beta=1.5", 7, alpha).mean_width == theorem_2_terms(7, math.log(1 / alpha), 1.5)
    assert value("theorem_2:beta=1.5,form=printed,power=2", 7, alpha).mean_width == theorem_2_terms(
        7, 49.0, 1.5, form="printed"
    )
    assert value("least_deviation:beta=1.5,power=2", 7, alpha).mean_width == least_mean_deviation(7, 49.0, 1.5)
    assert value("moment:beta=1.5", 7, alpha).mean_width == mean_moment(7, 8, 1.5)
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
    needed = {"kl_visits": "upper=2,n_arms=5", "resampling_visits": "n_resamples=20"}
    for name in CURVES:
        options = needed.get(name, "" if name in ("exact", "quantile_above_joint") else "beta=1.5")
        check_curve(parse_call(f"{name}:{options}" if options else name), "uniform", 0.05)
