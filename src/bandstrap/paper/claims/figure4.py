"""Figure 4: a wrong sigma, and gaps of every size."""

from __future__ import annotations

import math

from scipy.special import ndtri

from bandstrap.basics.arrays import Floats
from bandstrap.paper.claims.claim import BUCB, Evidence, Finding, Power, ReportedNumber, claim
from bandstrap.paper.claims.end_points import PUBLISHED_RUNS
from bandstrap.paper.claims.statistics import (
    ERROR_RATE,
    POWER,
    end,
    finding,
    in_errors,
    lower,
    mean_below_zero,
    sidak,
    unless_contradicted,
)

# Half widths of the published bands at sigma = 100, and how well they can be read, as a part of them.
BANDS = {"UCB": 29.0, BUCB: 17.0}
READING_ERROR_OF_BANDS = 0.05


@claim(
    "robust-sigma",
    "4.1",
    "Figure 4, left",
    "As the assumed sigma grows, bootstrapped UCB is more robust than Thompson sampling and UCB.",
    "4a",
)
def robust_to_sigma(evidence: Evidence) -> Finding:
    """Its regret is below both from sigma = 2 on, and grows less from sigma = 1 to each of them."""
    panel = evidence["4a"]
    values = [float(place) for place in panel.curves[0].places if place >= 2]
    tests = []
    for rival in ("Jeffreys-TS", "UCB"):
        for value in values:
            tests.append(lower(panel, BUCB, rival, place=value))
            grows = panel[BUCB].at(value) - panel[BUCB].at(1.0)
            rival_grows = panel[rival].at(value) - panel[rival].at(1.0)
            text = f"{BUCB} grows less than {rival} from 1 to {value:g}"
            tests.append(mean_below_zero(grows - rival_grows, text, float(rival_grows.mean())))
    return finding(tests, [end(curve, place) for curve in panel.curves for place in (1.0, 20.0, 100.0)])


@claim("gaps", "4.1", "Figure 4, right", "Bootstrapped UCB has the lowest regret for every gap.", "4b")
def best_at_every_gap(evidence: Evidence) -> Finding:
    """Below Jeffreys-TS and UCB at every gap of at least 0.1."""
    panel = evidence["4b"]
    gaps = [float(place) for place in panel.curves[0].places if place > 0.05]
    tests = [lower(panel, BUCB, rival, place=gap) for rival in ("Jeffreys-TS", "UCB") for gap in gaps]
    labels = (BUCB, "Jeffreys-TS", "UCB")
    return finding(tests, [end(panel[label], gap) for label in labels for gap in (0.1, 0.2, 0.5, 1.0)])


@claim(
    "bands",
    "4.1",
    "Figure 4, left",
    "The shaded bands, which the paper does not explain, reach one standard error of the mean to either side.",
    "4a",
    ours=True,
)
def bands_are_standard_errors(evidence: Evidence) -> Finding:
    """Published half widths over our standard errors do not differ from 1 beyond chance, and would from 2 and from 1/2."""
    limit = sidak(ERROR_RATE, len(BANDS))
    numbers, farthest, seen = [], 0.0, 0.0
    for label, published in BANDS.items():
        values = evidence["4a"][label].at(100.0)
        # However many runs there are here: the published mean is that of PUBLISHED_RUNS.
        ours = float(values.std(ddof=1)) / math.sqrt(PUBLISHED_RUNS)
        own = error_of_deviation(values, values.size)
        printed = math.hypot(error_of_deviation(values, PUBLISHED_RUNS), READING_ERROR_OF_BANDS)
        numbers.append(ReportedNumber(f"standard error of {label} at 100", ours, ours * own, published))
        farthest = max(farthest, abs(in_errors(published - ours, ours * math.hypot(own, printed))))
        seen = max(seen, width_seen(limit, own, printed))
    text = f"published half widths are up to {farthest:.1f} standard errors from ours ({limit:.1f} allowed)"
    power = Power(ERROR_RATE, f"bands {seen:.2f} times as wide are seen with probability {POWER:g}", reached=seen <= 2)
    # Of few runs the standard error of a standard deviation is itself unknown: they contradict nothing.
    return Finding(unless_contradicted(power.reached and farthest > limit, power), text, tuple(numbers), power)


def error_of_deviation(values: Floats, n_runs: int) -> float:
    """Standard error of the standard deviation of so many such values, as a part of it: ``sqrt((kurtosis - 1)/(4 n))``."""
    squares = (values - values.mean()) ** 2
    kurtosis = float((squares**2).mean() / squares.mean() ** 2) if squares.any() else 1.0
    return math.sqrt(max(kurtosis - 1, 0.0) / (4 * n_runs))


def width_seen(limit: float, own: float, printed: float) -> float:
    """Factor by which bands must be wider than ours to be found too wide with probability ``POWER``.

    Errors of our width and of the printed one are parts of them. Bands ``c`` times as wide are seen where they exceed our
    width times ``reach``: a difference of ``c - reach`` with a standard error of ``hypot(reach own, c printed)``.
    """
    quantile, reach = float(ndtri(POWER)), 1 + limit * math.hypot(own, printed)
    # c - reach = quantile hypot(reach own, c printed), a quadratic in c
    slack = 1 - (quantile * printed) ** 2
    return reach * (1 + quantile * math.sqrt(printed**2 + slack * own**2)) / slack
