"""Theorems 1 and 2 and the Monte Carlo theorem: how often thresholds miss the mean, over four laws."""

from __future__ import annotations

import math

from bandstrap.paper.claims.claim import NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Number, claim
from bandstrap.paper.claims.statistics import misses_too_often, power_of_cells

LAWS = "T1-normal T1-uniform T1-laplace T1-weibull"


def miss_finding(evidence: Evidence, label: str, allowed: float) -> Finding:
    """No cell of the four laws and five sample sizes may miss more often than allowed."""
    rows = [
        (name, row)
        for name in LAWS.split()
        for curve in evidence[name].curves
        if curve.label == label
        for row in curve.rows
    ]
    bad = [row for _, row in rows if misses_too_often(row.misses, row.replications, allowed, len(rows))]
    name, worst = max(rows, key=lambda item: item[1].miss_rate)
    law = name.removeprefix("T1-")
    text = (
        f"largest miss rate of {len(rows)} cells {worst.miss_rate:.4f} ({law}, n = {worst.sample_size}); "
        f"allowed {allowed:.3f}"
    )
    numbers = tuple(
        Number(f"largest miss rate, {law.removeprefix('T1-')}", max(row.miss_rate for n, row in rows if n == law))
        for law in dict.fromkeys(n for n, _ in rows)
    )
    power = power_of_cells(min(row.replications for _, row in rows), allowed, len(rows))
    return Finding(NOT_REPRODUCED if bad else REPRODUCED, text, numbers, power)


@claim(
    "theorem-1",
    "2",
    "Theorem 1",
    "For symmetric rewards the threshold, as stated, is exceeded with probability at most 2 alpha, at every n.",
    LAWS,
)
def theorem_1(evidence: Evidence) -> Finding:
    """The form as stated, which the proof does not quite give."""
    return miss_finding(evidence, "as stated", 0.1)


@claim(
    "theorem-1-proof",
    "B",
    "Theorem 1, proof",
    "The same with the constant of the proof, and with the library's sharp one, which is proved.",
    LAWS,
)
def theorem_1_proof(evidence: Evidence) -> Finding:
    """The form as proved, and the sharp one."""
    proved, sharp = miss_finding(evidence, "as proved", 0.1), miss_finding(evidence, "sharp", 0.1)
    verdict = REPRODUCED if proved.verdict == sharp.verdict == REPRODUCED else NOT_REPRODUCED
    numbers = [Number(f"{number.name}, sharp", number.ours) for number in sharp.numbers]
    text = f"as proved: {proved.statistic}; sharp: {sharp.statistic}"
    return Finding(verdict, text, (*proved.numbers, *numbers), proved.power)


@claim(
    "monte-carlo",
    "D",
    "Theorem of supplement D",
    "With B Monte Carlo draws the miss probability is at most (floor(B alpha) + 1)/(B + 1) + alpha.",
    LAWS,
)
def monte_carlo_theorem(evidence: Evidence) -> Finding:
    """B = 200 with the sharp correction."""
    return miss_finding(evidence, "sharp, Monte Carlo", (math.floor(200 * 0.05 + 1e-9) + 1) / 201 + 0.05)


@claim(
    "theorem-2",
    "3",
    "Theorem 2",
    "The mean of sub-Weibull rewards stays within C sigma (sqrt(log(1/alpha)/n) + ...) with probability 1 - alpha.",
    LAWS,
)
def theorem_2(evidence: Evidence) -> Finding:
    """With the constants this library computes; the paper names none."""
    return miss_finding(evidence, "theorem 2", 0.05)
