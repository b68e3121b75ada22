"""Theorem 1 and the Monte Carlo theorem: how often thresholds miss the mean, with the smallest phi they allow."""

from __future__ import annotations

import dataclasses
import math

from bandstrap.bounds.coverage import CoverageRow
from bandstrap.paper.claims.claim import NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Number, Power, claim
from bandstrap.paper.claims.statistics import (
    ERROR_RATE,
    POWER,
    distance_seen,
    limit_of,
    misses_too_often,
    power_of_cells,
)

LAWS = "T1-normal T1-uniform T1-laplace T1-weibull"
DRAWN = "D-normal D-weibull"
ALPHA = 0.05


def cells(evidence: Evidence, names: str, label: str) -> list[tuple[str, CoverageRow]]:
    """The law and the row of every sample size of a curve, in all panels named."""
    return [(name.partition("-")[2], row) for name in names.split() for row in evidence[name][label].rows]


def miss_finding(evidence: Evidence, names: str, label: str, allowed: float, *, several: int = 1) -> Finding:
    """No cell of laws and sample sizes may miss more often than allowed; says how much of that is used.

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
        Number(f"largest miss rate, {law}", max(row.miss_rate for other, row in rows if other == law))
        for law in dict.fromkeys(law for law, _ in rows)
    )
    power = power_of_cells(min(row.replications for _, row in rows), allowed, tests)
    return Finding(NOT_REPRODUCED if bad else REPRODUCED, text, numbers, power)


def with_control(found: Finding, evidence: Evidence) -> Finding:
    """The finding, and whether the same rule on the same samples sees what a missing correction does."""
    rows = cells(evidence, LAWS, "naive")
    seen = sum(misses_too_often(row.misses, row.replications, 2 * ALPHA, len(rows)) for _, row in rows)
    detects = (
        f"{found.power.detects}; without the correction {seen} of {len(rows)} cells of the same samples are found to miss "
        "too often"
    )
    return dataclasses.replace(found, power=Power(found.power.error_rate, detects))


@claim(
    "theorem-1",
    "2",
    "Theorem 1",
    "For symmetric rewards the threshold, as stated, is exceeded with probability at most 2 alpha, at every n.",
    LAWS,
)
def theorem_1(evidence: Evidence) -> Finding:
    """The form as stated, which the proof does not quite give."""
    return with_control(miss_finding(evidence, LAWS, "as stated", 2 * ALPHA), evidence)


@claim(
    "theorem-1-proof",
    "B",
    "Theorem 1, proof",
    "The same with the constant of the proof, and with the library's sharp one, which is proved.",
    LAWS,
)
def theorem_1_proof(evidence: Evidence) -> Finding:
    """The form as proved, and the sharp one, which is never wider: together they err as often as it does alone."""
    proved = miss_finding(evidence, LAWS, "as proved", 2 * ALPHA)
    sharp = miss_finding(evidence, LAWS, "sharp", 2 * ALPHA)
    verdict = REPRODUCED if proved.verdict == sharp.verdict == REPRODUCED else NOT_REPRODUCED
    numbers = [Number(f"{number.name}, sharp", number.ours) for number in sharp.numbers]
    text = f"as proved: {proved.statistic}; sharp: {sharp.statistic}"
    return with_control(Finding(verdict, text, (*proved.numbers, *numbers), proved.power), evidence)


def drawn_allowance(n_resamples: int) -> float:
    """``(floor(B alpha) + 1)/(B + 1) + alpha``."""
    return (math.floor(n_resamples * ALPHA + 1e-9) + 1) / (n_resamples + 1) + ALPHA


@claim(
    "monte-carlo",
    "D",
    "Theorem of supplement D",
    "With B draws, and the quantile at level alpha, misses are at most (floor(B alpha) + 1)/(B + 1) + alpha: as printed.",
    DRAWN,
)
def monte_carlo_theorem(evidence: Evidence) -> Finding:
    """As printed, B = 20 and B = 200."""
    few = miss_finding(evidence, DRAWN, "printed, B = 20", drawn_allowance(20), several=2)
    many = miss_finding(evidence, DRAWN, "printed, B = 200", drawn_allowance(200), several=2)
    verdict = REPRODUCED if few.verdict == many.verdict == REPRODUCED else NOT_REPRODUCED
    numbers = [Number(f"{number.name}, B = 200", number.ours) for number in many.numbers]
    text = f"B = 20: {few.statistic}; B = 200: {many.statistic}"
    power = Power(ERROR_RATE, f"B = 20: {few.power.detects}; B = 200: {many.power.detects}")
    return Finding(verdict, text, (*few.numbers, *numbers), power)


@claim(
    "monte-carlo-corrected",
    "D",
    "Theorem of supplement D",
    "The same as it can be proved: quantile at level alpha (1 - delta), and the correction's factor from the same draws.",
    DRAWN,
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
        numbers.append(Number(f"lost, {law}, n = {one.sample_size}", loss, math.sqrt(variance)))
        errors.append(math.sqrt(variance))
        lost.append(loss)
    worst = max(range(len(lost)), key=lost.__getitem__)
    bad = [loss > allowed + limit * error for loss, error in zip(lost, errors, strict=True)]
    text = (
        f"largest loss of {len(lost)} cells {lost[worst]:.4f} ± {errors[worst]:.2g} "
        f"({numbers[worst].name.removeprefix('lost, ')}): {lost[worst] / allowed:.0%} of the {allowed:.4f} allowed"
    )
    seen = allowed + distance_seen(math.inf, len(pairs)) * max(errors)
    power = Power(ERROR_RATE, f"a true loss of {seen:.4f} in a single cell is seen with probability {POWER:g}")
    return Finding(NOT_REPRODUCED if any(bad) else REPRODUCED, text, tuple(numbers), power)


@claim(
    "monte-carlo-loss",
    "D",
    "Supplement D",
    "By B draws in place of the exact quantile, the theorem's threshold loses at most 1/(B + 1) of its confidence level.",
    DRAWN,
)
def threshold_loses_little(evidence: Evidence) -> Finding:
    """The printed threshold with 20 draws and without any."""
    return loss_finding(evidence, "printed, B = 20", "printed, exact quantile")


@claim(
    "monte-carlo-loss-quantile",
    "D",
    "Supplement D",
    "So does the bare quantile: replacing q_alpha by B draws loses at most 1/(B + 1) for the confidence level.",
    DRAWN,
)
def quantile_loses_little(evidence: Evidence) -> Finding:
    """The quantile without a correction, with 20 draws and without any."""
    return loss_finding(evidence, "no correction, B = 20", "no correction, exact quantile")
