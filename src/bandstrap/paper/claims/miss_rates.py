"""Theorem 1 and the Monte Carlo theorem: how often thresholds miss the mean, with the smallest phi they allow."""

from __future__ import annotations

import dataclasses
import math

from bandstrap.bounds.coverage import CoverageRow
from bandstrap.paper.claims.claim import NOT_REPRODUCED, Evidence, Finding, Power, ReportedNumber, claim
from bandstrap.paper.claims.statistics import (
    ERROR_RATE,
    EXCESS,
    POWER,
    distance_seen,
    limit_of,
    misses_too_often,
    power_of_cells,
    unless_contradicted,
)
from bandstrap.paper.claims.theorem1 import coin_finding

LAWS = "T1-normal T1-uniform T1-laplace T1-weibull"
DRAWN = "D-normal D-weibull"
DISTRIBUTIONS = {
    "T1-normal": "normal",
    "T1-uniform": "uniform",
    "T1-laplace": "Laplace",
    "T1-weibull": "Weibull",
    "D-normal": "normal",
    "D-weibull": "Weibull",
}
ALPHA = 0.05


def cells(evidence: Evidence, names: str, label: str) -> list[tuple[str, CoverageRow]]:
    """The distribution and the row of every sample size of a curve, in all panels named."""
    return [(DISTRIBUTIONS[name], row) for name in names.split() for row in evidence[name][label].rows]


def miss_finding(evidence: Evidence, names: str, label: str, allowed: float, *, several: int = 1) -> Finding:
    """No cell of distributions and sample sizes may miss more often than allowed; says how much of that is used.

    ``several`` such findings share the error rate.
    """
    rows = cells(evidence, names, label)
    tests = several * len(rows)
    bad = [row for _, row in rows if misses_too_often(row.misses, row.replications, allowed, tests)]
    law, worst = max(rows, key=lambda item: item[1].miss_rate)
    text = (
        f"largest miss rate of {len(rows)} cells {worst.miss_rate:.4f} ({law}, n = {worst.sample_size}): "
        f"{worst.miss_rate / allowed:.0%} of the {allowed:.3f} allowed"
    )
    numbers = tuple(
        ReportedNumber(f"largest miss rate, {law}", max(row.miss_rate for other, row in rows if other == law))
        for law in dict.fromkeys(law for law, _ in rows)
    )
    power = power_of_cells(min(row.replications for _, row in rows), allowed, tests)
    return Finding(unless_contradicted(bool(bad), power), text, numbers, power)


def with_control(found: Finding, evidence: Evidence) -> Finding:
    """The finding, and whether the same rule on the same samples sees what a missing correction does."""
    rows = cells(evidence, LAWS, "naive")
    seen = sum(misses_too_often(row.misses, row.replications, 2 * ALPHA, len(rows)) for _, row in rows)
    detects = (
        f"{found.power.detects}; without the correction {seen} of {len(rows)} cells of the same samples are found to miss "
        "too often"
    )
    return dataclasses.replace(found, power=dataclasses.replace(found.power, detects=detects))


@claim(
    "theorem-1-usual",
    "2",
    "Theorem 1",
    "At alpha = 0.05 and delta = 0.1, on the distributions tried, the threshold as stated is exceeded with probability "
    "at most 2 alpha.",
    LAWS,
    ours=True,
)
def stated_at_the_usual_level(evidence: Evidence) -> Finding:
    """Test the theorem as stated at the usual level; it is false at small ones."""
    return with_control(miss_finding(evidence, LAWS, "as stated", 2 * ALPHA), evidence)


def and_on_the_coin(found: Finding, evidence: Evidence, label: str) -> Finding:
    """The finding, and the exact one on a fair coin at the levels that suit worst."""
    exact = coin_finding([evidence["T1-coin"][label]], "2 alpha")
    verdict = exact.verdict if exact.verdict == NOT_REPRODUCED else found.verdict
    text = f"{found.statistic}; exactly, on a coin, {exact.statistic}"
    return dataclasses.replace(found, verdict=verdict, statistic=text, numbers=(*found.numbers, *exact.numbers))


@claim(
    "theorem-1-proof",
    "B",
    "Theorem 1, proof",
    "The same with the constant of the proof, sqrt(2 log(2/(alpha delta))/n).",
    f"{LAWS} T1-coin",
)
def theorem_1_proof(evidence: Evidence) -> Finding:
    """The form as proved, on four distributions and, exactly, on a coin."""
    found = with_control(miss_finding(evidence, LAWS, "as proved", 2 * ALPHA), evidence)
    return and_on_the_coin(found, evidence, "as proved")


@claim(
    "theorem-1-sharp",
    "B",
    "Theorem 1, sharpened",
    "The same with the exact binomial quantile for the constant, and the threshold capped at phi.",
    f"{LAWS} T1-coin",
    ours=True,
)
def theorem_1_sharp(evidence: Evidence) -> Finding:
    """The library's sharp form, which is never wider than the one proved."""
    found = with_control(miss_finding(evidence, LAWS, "sharp", 2 * ALPHA), evidence)
    return and_on_the_coin(found, evidence, "sharp")


def drawn_allowance(n_resamples: int) -> float:
    """``(floor(B alpha) + 1)/(B + 1) + alpha``."""
    return (math.floor(n_resamples * ALPHA + 1e-9) + 1) / (n_resamples + 1) + ALPHA


@claim(
    "monte-carlo-usual",
    "D",
    "Theorem of supplement D",
    "At alpha = 0.05, on the distributions tried, misses are at most (floor(B alpha) + 1)/(B + 1) + alpha, as printed.",
    DRAWN,
    ours=True,
)
def drawn_at_the_usual_level(evidence: Evidence) -> Finding:
    """Test resampling as printed, with B = 20 and B = 200."""
    few = miss_finding(evidence, DRAWN, "printed, B = 20", drawn_allowance(20), several=2)
    many = miss_finding(evidence, DRAWN, "printed, B = 200", drawn_allowance(200), several=2)
    numbers = [ReportedNumber(f"{number.name}, B = 200", number.ours) for number in many.numbers]
    text = f"B = 20: {few.statistic}; B = 200: {many.statistic}"
    power = Power(
        ERROR_RATE,
        f"B = 20: {few.power.detects}; B = 200: {many.power.detects}",
        reached=few.power.reached and many.power.reached,
    )
    is_contradicted = NOT_REPRODUCED in (few.verdict, many.verdict)
    return Finding(unless_contradicted(is_contradicted, power), text, (*few.numbers, *numbers), power)


@claim(
    "monte-carlo-corrected",
    "D",
    "Theorem of supplement D",
    "The same in its provable form: quantile at level alpha (1 - delta), and the correction's factor from the same draws.",
    DRAWN,
    ours=True,
)
def monte_carlo_corrected(evidence: Evidence) -> Finding:
    """B = 20 with the sharp correction."""
    return miss_finding(evidence, DRAWN, "corrected, B = 20", drawn_allowance(20))


def loss_finding(evidence: Evidence, drawn: str, exact: str) -> Finding:
    """Does the miss rate with 20 draws exceed that with the exact quantile by more than 1/(B + 1)?

    The two are treated as if they came from different samples, which makes their difference look less sure than it is.
    """
    allowed = 1 / 21
    pairs = list(zip(cells(evidence, DRAWN, drawn), cells(evidence, DRAWN, exact), strict=True))
    limit = limit_of(math.inf, len(pairs))
    lost, numbers, errors = [], [], []
    for (law, one), (_, other) in pairs:
        loss = one.miss_rate - other.miss_rate
        variance = sum(row.miss_rate * (1 - row.miss_rate) / row.replications for row in (one, other))
        numbers.append(ReportedNumber(f"lost, {law}, n = {one.sample_size}", loss, math.sqrt(variance)))
        errors.append(math.sqrt(variance))
        lost.append(loss)
    worst = max(range(len(lost)), key=lost.__getitem__)
    bad = [loss > allowed + limit * error for loss, error in zip(lost, errors, strict=True)]
    text = (
        f"largest loss of {len(lost)} cells {lost[worst]:.4f} ± {errors[worst]:.2g} "
        f"({numbers[worst].name.removeprefix('lost, ')}): {lost[worst] / allowed:.0%} of the {allowed:.4f} allowed"
    )
    seen = allowed + distance_seen(math.inf, len(pairs)) * max(errors)
    power = Power(
        ERROR_RATE,
        f"a true loss of {seen:.4f} in a single cell is seen with probability {POWER:g}",
        reached=seen <= EXCESS * allowed,
    )
    return Finding(unless_contradicted(any(bad), power), text, tuple(numbers), power)


@claim(
    "monte-carlo-loss",
    "D",
    "Supplement D",
    "By B draws in place of the exact quantile, the miss rate of the theorem's threshold grows by at most 1/(B + 1).",
    DRAWN,
    ours=True,
)
def threshold_loses_little(evidence: Evidence) -> Finding:
    """The printed threshold with 20 draws and without any; the paper's sentence is about what is guaranteed."""
    return loss_finding(evidence, "printed, B = 20", "printed, exact quantile")


@claim(
    "monte-carlo-loss-quantile",
    "D",
    "Supplement D",
    "So does the miss rate of the bare quantile, without a correction.",
    DRAWN,
    ours=True,
)
def quantile_loses_little(evidence: Evidence) -> Finding:
    """The quantile without a correction, with 20 draws and without any: read to the letter, beyond what is guaranteed."""
    return loss_finding(evidence, "no correction, B = 20", "no correction, exact quantile")
