"""Figure 1: thresholds of the naive and the corrected bootstrap beside their rivals'."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import bdtrc

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.coverage import CoverageRow
from bandstrap.paper.claims.claim import NOT_REPRODUCED, Evidence, Finding, Power, ReportedNumber, claim
from bandstrap.paper.claims.statistics import (
    ERROR_RATE,
    EXCESS,
    POWER,
    Exponent,
    OneSidedComparison,
    finding,
    in_errors,
    misses_too_often,
    smallest_rate_seen,
    unless_contradicted,
    unless_unseen,
    verdict_of,
)


@claim(
    "naive-invalid",
    "2",
    "Figure 1, section 2",
    "For n up to 10 the naive bootstrap threshold is too small to be valid.",
    "C1",
)
def naive_is_invalid(evidence: Evidence) -> Finding:
    """Misses above 5 % at every n up to 10."""
    rows = evidence["C1"]["bootstrap, naive"].rows
    tails = [float(bdtrc(row.misses - 1, row.replications, row.alpha)) for row in rows]
    worst = int(np.argmax(tails))
    numbers = [
        ReportedNumber(f"miss rate at n = {row.sample_size}", row.miss_rate)
        for row in rows
        if row.sample_size in (1, 2, 5, 10)
    ]
    text = f"largest binomial p-value of a miss rate of 5 %, at n = {rows[worst].sample_size}: {tails[worst]:.2g}"
    rate = smallest_rate_seen(min(row.replications for row in rows), rows[0].alpha, 1)
    power = Power(
        ERROR_RATE,
        f"a true miss rate of {rate:.4f} is distinguished from {rows[0].alpha:g} with probability {POWER:g}",
        reached=rate <= EXCESS * rows[0].alpha,
    )
    return Finding(unless_unseen(max(tails) < ERROR_RATE, power), text, tuple(numbers), power)


@claim(
    "naive-small",
    "2",
    "Figure 1, section 2",
    "For n up to 10 the bootstrapped quantile is smaller than the true 95 % quantile.",
    "C1",
)
def naive_is_smaller(evidence: Evidence) -> Finding:
    """Its mean below the truth at every n up to 10."""
    panel = evidence["C1"]
    tests = [
        narrower(mine, true, "naive over true")
        for mine, true in zip(panel["bootstrap, naive"].rows, panel["true 95 % quantile of the mean"].rows, strict=True)
    ]
    numbers = [
        ReportedNumber(f"naive over true, n = {mine.sample_size}", mine.mean_width / true.mean_width)
        for mine, true in zip(panel["bootstrap, naive"].rows, panel["true 95 % quantile of the mean"].rows, strict=True)
    ]
    return finding(tests, numbers)


def width_error(row: CoverageRow) -> float:
    """Standard error of a mean threshold; infinite where it is unknown, so that nothing is found out."""
    return math.inf if row.width_error is None else row.width_error


def freedom_of(*rows: CoverageRow) -> float:
    """Degrees of freedom of the standard errors of mean thresholds together; infinite where all are known."""
    return min((row.replications - 1 for row in rows if row.width_error), default=math.inf)


def narrower(first: CoverageRow, second: CoverageRow, name: str) -> OneSidedComparison:
    """Is the first mean threshold below the second? ``name`` is that of their ratio.

    Both come from the same samples; their errors are added, which is right whatever they share.
    """
    error = width_error(first) + width_error(second)
    text = f"{name} at n = {first.sample_size}: {first.mean_width / second.mean_width:.3f}"
    gap = second.mean_width - first.mean_width
    return OneSidedComparison(text, in_errors(gap, error), error / second.mean_width, freedom_of(first, second))


@claim(
    "corrected-valid",
    "2",
    "Figure 1, section 2",
    "With the second-order correction the threshold is valid, and its excess over the true quantile vanishes as n grows.",
    "1a 1b",
)
def corrected_is_valid(evidence: Evidence) -> Finding:
    """No more misses than 5 %; from n = 20 to n = 1000 the relative excess falls to less than half, beyond chance."""
    forms = ("bootstrap, as stated", "bootstrap, practical")
    rows = [row for name in ("1a", "1b") for form in forms for row in evidence[name][form].rows]
    bad = [row for row in rows if misses_too_often(row.misses, row.replications, row.alpha, len(rows))]
    truth, ours = evidence["1b"]["true 95 % quantile of the mean"].mean, evidence["1b"]["bootstrap, practical"].rows
    first, last = (ours[i].mean_width / float(truth[i]) - 1 for i in (0, -1))
    error = width_error(ours[-1]) / float(truth[-1]) + 0.5 * width_error(ours[0]) / float(truth[0])
    text = f"excess over the truth {first:.0%} at n = {ours[0].sample_size}, {last:.0%} at n = {ours[-1].sample_size}"
    falls = OneSidedComparison(text, in_errors(0.5 * first - last, error), error / first, freedom_of(ours[0], ours[-1]))
    numbers = [
        ReportedNumber("largest miss rate", max(row.miss_rate for row in rows)),
        ReportedNumber("practical over true, n = 20", 1 + first),
        ReportedNumber("practical over true, n = 1000", 1 + last),
    ]
    text = f"{len(bad)} of {len(rows)} cells miss more than 5 %; {text} ({falls.z:.1f} standard errors below half)"
    rate = smallest_rate_seen(min(row.replications for row in rows), rows[0].alpha, len(rows))
    power = Power(
        ERROR_RATE,
        f"a miss rate of {rate:.3f} in a single cell is seen with probability {POWER:g}; an excess that falls to "
        f"{0.5 - falls.smallest_seen:.2f} of itself is found to fall to less than half with the same probability",
        reached=rate
        <= 2 * EXCESS * rows[0].alpha,  # the cells are many; what a missing correction does at n = 4 is seen
    )
    is_contradicted = bool(bad) or verdict_of([falls]) == NOT_REPRODUCED
    return Finding(unless_contradicted(is_contradicted, power), text, tuple(numbers), power)


@claim(
    "sharper",
    "2",
    "Figure 1, section 2",
    "For large n the bootstrapped threshold is sharper than Hoeffding's and the empirical Bernstein bound.",
    "1b",
)
def bootstrap_is_sharper(evidence: Evidence) -> Finding:
    """Both forms below both rivals at every n of at least 100, on the same samples."""
    panel = evidence["1b"]
    rivals = ("Hoeffding, sigma = 1", "empirical Bernstein, b = 1 (paper)")
    forms = ("bootstrap, as stated", "bootstrap, practical")
    tests = [
        narrower(mine, theirs, f"{form} over {rival}")
        for form in forms
        for rival in rivals
        for mine, theirs in zip(panel[form].rows, panel[rival].rows, strict=True)
        if mine.sample_size >= 100
    ]
    numbers = [
        ReportedNumber(f"{label}, n = 1000", panel[label].rows[-1].mean_width, panel[label].rows[-1].width_error)
        for label in (*forms, *rivals)
    ]
    return finding(tests, numbers)


@claim(
    "remark-1",
    "2",
    "Remark 1",
    "The main term is of the order n^(-1/2) and the second-order correction of the order 1/n, just a remainder.",
    "1b",
)
def correction_is_a_remainder(evidence: Evidence) -> Finding:
    """Powers of n between n = 100 and 1000: the quantile's within 0.05 of -1/2, the correction's within 0.05 of -1."""
    panel = evidence["1b"]
    rows = [row for row in panel["bootstrap, naive"].rows if row.sample_size >= 100]
    stated = [row for row in panel["bootstrap, as stated"].rows if row.sample_size >= 100]
    sizes = np.array([row.sample_size for row in rows], dtype=float)
    main = np.array([row.mean_width for row in rows])
    rest = np.array([row.mean_width for row in stated]) - main
    errors = np.array([width_error(row) for row in rows])
    powers = [
        exponent_of_means("main term", sizes, main, errors, freedom_of(*rows)),
        # Both hold the same quantiles of the same samples, so that their difference has no error of its own.
        exponent_of_means("correction", sizes, rest, np.zeros_like(rest), math.inf),
    ]
    tests = [
        test
        for power, order in zip(powers, (-0.5, -1.0), strict=True)
        for test in (power.below(order + 0.05), power.above(order - 0.05))
    ]
    found = finding(tests, [power.number for power in powers])
    holds_text = f"main term n^({powers[0].value:.3f} ± {powers[0].error:.2g}), correction n^({powers[1].value:.3f})"
    seen = 0.05 - powers[0].distance_seen()
    power = Power(
        ERROR_RATE,
        f"a main term within {seen:.3f} of n^(-1/2) is found to be within 0.05 with probability {POWER:g}",
        reached=found.power.reached,
    )
    return Finding(found.verdict, holds_text, found.numbers, power)


def exponent_of_means(name: str, x: Floats, means: Floats, errors: Floats, freedom: float) -> Exponent:
    """The power that means follow, by least squares on logarithms; the means are from different samples."""
    centred = np.log(x) - np.log(x).mean()
    slope = centred / (centred @ centred)
    return Exponent(name, float(np.log(means) @ slope), float(np.linalg.norm(slope * errors / means)), freedom)
