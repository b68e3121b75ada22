import warnings

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import AccuracyWarning
from bandstrap.multipliers import bootstrap_quantile
from bandstrap.multipliers.expansion import expansion_quantile, standardised_cumulants
from bandstrap.multipliers.weights import LAWS
from naive.multipliers import ATOMS
from sampling import each

LEVELS = (0.05, 0.01, 1e-3, 1e-4, 1e-5)
REWARDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "student5": lambda rng, n: rng.standard_t(5, size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "two-scale": lambda rng, n: rng.normal(size=n) * np.where(rng.random(n) < 0.5, 1, 10),
}


def trusted_errors(weights: str, rewards: str) -> list[tuple[float, int, float]]:
    """``(relative distance to the saddlepoint, n, level)`` wherever the expansion does not warn."""
    errors = []
    for n in (200, 1000, 5000):
        sample = REWARDS[rewards](np.random.default_rng(n), n)
        near_exact = bootstrap_quantile(sample, LEVELS, weights=weights, method="saddlepoint")
        for level, expected in zip(LEVELS, near_exact, strict=True):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                got = bootstrap_quantile(sample, level, weights=weights, method="expansion")
            if not caught:
                errors.append((abs(got / expected - 1), n, level))
    return errors


@pytest.mark.parametrize("rewards", REWARDS)
def test_rademacher_expansion_is_within_half_a_percent_where_it_does_not_warn(rewards):
    errors = trusted_errors("rademacher", rewards)
    assert len(errors) >= 13, "the expansion warns on samples it should serve"
    assert max(errors)[0] < 0.005, f"(error, n, level) = {max(errors)}"


# Measured tolerances: these saddlepoints are themselves off by up to a percent for exponential weights.
@each(("weights", "tolerance"), [("efron", 0.002), ("mammen", 0.005), ("exponential", 0.01)])
@each("rewards", REWARDS)
def test_skew_expansion_is_close_to_the_saddlepoint_where_it_does_not_warn(weights, tolerance, rewards):
    errors = trusted_errors(weights, rewards)
    assert len(errors) >= 4
    assert max(errors)[0] < tolerance, f"(error, n, level) = {max(errors)}"


def test_a_small_heavy_tailed_sample_warns_once_and_stays_near_the_normal_quantile():
    sample = np.r_[np.zeros(8), 1.0, 50.0]
    with pytest.warns(AccuracyWarning, match="the expansion is not accurate for this sample") as caught:
        got = bootstrap_quantile(sample, LEVELS, method="expansion")
    assert len(caught) == 1
    # Cut to a tenth and four thousandths of z, and never beyond the largest sum.
    normal = stats.norm.isf(LEVELS, scale=sample.std() / np.sqrt(10))
    largest = np.abs(sample - sample.mean()).mean()
    assert (got <= largest * (1 + 1e-12)).all()
    assert (got >= np.minimum(0.896 * normal, largest) * (1 - 1e-12)).all()
    assert (got <= 1.104 * normal).all()


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 1.0, 2.0), (0.0, 1.0, 40.0)])
def test_lumps_that_power_sums_do_not_see_warn(values):
    # On 200 of them the quantile sits on an atom whose neighbours are more than a per cent away.
    sample = np.random.default_rng(1).choice(values, size=200, p=None if len(values) == 2 else (0.48, 0.48, 0.04))
    with pytest.warns(AccuracyWarning, match="the expansion is not accurate for this sample"):
        bootstrap_quantile(sample, [0.2, 0.1, 0.05, 0.02, 0.01, 0.005], method="expansion")


def test_one_bad_row_of_a_batch_warns_once_and_leaves_the_good_row_alone():
    good = np.random.default_rng(0).normal(size=300)
    bad = np.r_[np.zeros(299), 1.0]
    with pytest.warns(AccuracyWarning) as caught:
        got = bootstrap_quantile([good, bad, bad], 0.01, method="expansion")
    assert len(caught) == 1
    assert got[0] == bootstrap_quantile(good, 0.01, method="expansion")


@pytest.mark.parametrize("weights", ATOMS)
def test_cumulants_are_those_of_all_weights(weights):
    sample = np.array([0.3, 1.0, 2.0, 2.5, 7.0])
    atoms = [(float(value), float(probability)) for value, probability in ATOMS[weights](sample)]
    moment = {r: sum(p * x**r for x, p in atoms) for r in range(1, 7)}
    variance = moment[2]
    residuals = sample - sample.mean()
    got = standardised_cumulants(LAWS[weights], 5, *(float((residuals**r).mean()) for r in (2, 3, 4, 6)))
    assert moment[1] == pytest.approx(0, abs=1e-14)
    assert got.deviation == pytest.approx(variance**0.5, rel=1e-12)
    assert got.third == pytest.approx(moment[3] / variance**1.5, rel=1e-12, abs=1e-14)
    assert got.fourth == pytest.approx(moment[4] / variance**2 - 3, rel=1e-12)
    if weights == "rademacher":  # k6 = m6 - 15 m4 m2 + 30 m2^3 for a symmetric law
        sixth = moment[6] - 15 * moment[4] * variance + 30 * variance**3
        assert got.sixth == pytest.approx(sixth / variance**3, rel=1e-12)


def test_exponential_cumulants_are_those_of_centred_exponentials():
    # A single weight has cumulants (r - 1)!: 1, 2, 6; so does the sum for one residual of size one, with n = 1.
    assert standardised_cumulants(LAWS["exponential"], 1, 1.0, 1.0, 1.0, 1.0)[:3] == (1.0, 2.0, 6.0)


def test_formula_at_a_hand_computed_point():
    # z = 2, g4 = -0.06, g6 = 0.016: first = -0.0025 * 2, second = 0.016/720 (32 - 80 + 30) - 0.0036/384 (96 - 192 + 58).
    expected = 2 - 0.0025 * 2 + 0.016 / 720 * -18 - 0.0036 / 384 * -38
    assert expansion_quantile(3.0, 0.0, -0.06, 0.016, 2.0) == (pytest.approx(3 * expected, rel=1e-14), True)
    # z = 2, g3 = 0.1, g4 = 0.02: g3/6 * 3 + g4/24 * 2 - g3^2/36 * 6.
    expected = 2 + 0.05 + 0.02 / 12 - 0.01 / 6
    assert expansion_quantile(1.0, 0.1, 0.02, 0.0, 2.0) == (pytest.approx(expected, rel=1e-14), True)


def test_corrections_that_are_too_large_are_cut_and_not_trusted():
    # z = 3: at most 0.3 of the first and 0.012 of the second correction is left; by hand both have the signs below.
    assert expansion_quantile(1.0, 0.0, -1.5, 1.0, 3.0) == (pytest.approx(3 - 0.3 - 0.012), False)
    assert expansion_quantile(1.0, 0.9, 0.0, 0.0, 3.0) == (pytest.approx(3 + 0.3 - 0.012), False)


def test_distrust_keeps_the_order_of_the_levels():
    # Trusted at the larger level and not at the smaller one, whose quantile must still not be the smaller.
    sample = np.array([0.943, 0.511, 0.976, 0.081])
    with pytest.warns(AccuracyWarning):
        smaller, larger = bootstrap_quantile(sample, [0.3984375, 0.40625], method="expansion")
    assert smaller >= larger
