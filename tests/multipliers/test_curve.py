"""The four-node curves against the quantiles they stand for."""

import numpy as np
import pytest
from scipy.special import ndtri

from bandstrap.multipliers import bootstrap_quantile
from bandstrap.multipliers.curve import ODD, OPEN, ROW, evaluate_curve, fit, fit_sums, fit_terms
from bandstrap.multipliers.saddlepoint import saddlepoint_quantile
from bandstrap.multipliers.weights import LAWS
from sampling import each, telling

LEVELS = np.array([0.3, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5])
TOP = 5.0
SERVED = [law for law in LAWS if law != "rademacher"]


def central_moments(sample):
    residuals = sample - sample.mean()
    return [np.mean(residuals**k) for k in (2, 3, 4)]


def curve_of_terms(law, sample):
    row = np.full(ROW, np.nan)
    fit_terms(LAWS[law], (sample - sample.mean()) / sample.size, TOP, row)
    return row


def curve_of_sums(law, sample):
    row = np.full(ROW, np.nan)
    fit_sums(LAWS[law], sample.size, *central_moments(sample), TOP, row)
    return row


def worst(row, law, sample, levels=LEVELS):
    found = np.array([evaluate_curve(row, -ndtri(level)) for level in levels])
    return np.abs(found / bootstrap_quantile(sample, levels, weights=law) - 1).max()


@pytest.mark.parametrize("kind", [ODD, OPEN])
def test_curve_goes_through_its_nodes(kind):
    row = np.empty(ROW)
    values = (0.9, 1.1, 1.2, 1.15)
    fit(row, 4.0, kind, *values)
    if kind == OPEN:
        found = [evaluate_curve(row, z) for z in (0.0, 4 / 3, 8 / 3, 4.0)]
    else:
        found = [evaluate_curve(row, z) / z for z in (1.0, 2.0, 3.0, 4.0)]
    np.testing.assert_allclose(found, values, rtol=1e-12)


def test_symmetric_curves_are_odd():
    row = np.empty(ROW)
    fit(row, 3.0, ODD, 1.0, 0.9, 0.8, 0.7)
    for z in (0.1, 1.0, 2.9, 4.0):
        assert evaluate_curve(row, -z) == -evaluate_curve(row, z)


@each("n", [13, 18, 24])
@each("law", SERVED)
def test_curve_of_terms_meets_the_saddlepoint_at_its_nodes(n, law):
    sample = np.random.default_rng(n).normal(size=n)
    a = (sample - sample.mean()) / n
    row = curve_of_terms(law, sample)
    assert np.isfinite(row).all()
    shares = (1 / 3, 2 / 3, 1.0) if row[1] == OPEN else (0.25, 0.5, 0.75)
    for share in shares:
        expected = saddlepoint_quantile(LAWS[law], a, share * row[0])
        assert evaluate_curve(row, share * row[0]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [25, 100, 1000])
def test_curve_of_gaussian_weights_is_exact(n):
    sample = np.random.default_rng(n).exponential(size=n)
    for row in (curve_of_sums("gaussian", sample), curve_of_terms("gaussian", sample)):
        assert worst(row, "gaussian", sample) < 1e-6


@pytest.mark.parametrize("law", ["efron", "exponential", "mammen"])
@telling(("n", "error"), [(100, 0.05), (1000, 0.01)], [(100, 0.05)])
def test_curve_of_skew_weights_is_close_to_the_quantile(law, n, error):
    for draw in ("normal", "exponential"):
        sample = getattr(np.random.default_rng(n), draw)(size=n)
        assert worst(curve_of_sums(law, sample), law, sample, LEVELS[1:5]) < error


@pytest.mark.parametrize("law", SERVED)
def test_curves_are_in_the_units_of_the_rewards(law):
    sample = np.random.default_rng(3).exponential(size=60)
    one, other = curve_of_sums(law, sample), curve_of_sums(law, 16 * sample)
    for z in (0.5, 2.0, 4.0):
        assert evaluate_curve(other, z) == pytest.approx(16 * evaluate_curve(one, z), rel=1e-9)
