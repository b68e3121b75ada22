"""Theorem 2 and the lemmas: where one constant serves all numbers of rewards, and where it cannot."""

from __future__ import annotations

import numpy as np

from bandstrap.experiments.panels import PanelData
from bandstrap.paper.claims.claim import NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Number, Power, claim
from bandstrap.paper.claims.statistics import brief, misses_too_often, power_of_cells

# Growth of a ratio, as a power of n over the last two decades, that still counts as settling down.
LIMIT = 0.1


def bounded(parts: list[tuple[PanelData, str, str]]) -> Finding:
    """Does the first curve stay within a constant of the second, as n grows? Formulas, so nothing is left to chance."""
    numbers, growths = [], []
    for panel, first, second in parts:
        ratio = panel[first].mean / panel[second].mean
        sizes = panel[first].places
        growth = float(np.log(ratio[-1] / ratio[-3]) / np.log(sizes[-1] / sizes[-3]))
        growths.append(growth)
        where = f"{first} over {second}, {panel.panel.title}"
        numbers += [Number(where, float(ratio.max())), Number(f"growth of it, {panel.panel.title}: {first}", growth)]
    worst = int(np.argmax(growths))
    text = (
        f"{numbers[2 * worst].name}: at most {brief(numbers[2 * worst].ours)} for n up to a million, "
        f"at the end growing like n^{growths[worst]:.2f}"
    )
    power = Power(
        None, f"formulas are compared, not samples; a ratio that grows like n^{LIMIT:g} or faster is unbounded"
    )
    return Finding(REPRODUCED if max(growths) < LIMIT else NOT_REPRODUCED, text, tuple(numbers), power)


@claim(
    "theorem-2-heavy",
    "3",
    "Theorem 2, beta <= 1",
    "Deviations of the mean are within C sigma (sqrt(log(1/alpha)/n) + log(1/alpha)^(1/beta)/n), one C for every n.",
    "T2-0.5 T2-1",
)
def holds_for_heavy_tails(evidence: Evidence) -> Finding:
    """What is proved over the formula as printed, beta = 1/2 and 1."""
    return bounded([(evidence[name], "proved by moments", "formula as printed") for name in ("T2-0.5", "T2-1")])


@claim(
    "theorem-2-between",
    "3",
    "Theorem 2, 1 < beta < 2",
    "The same for 1 < beta < 2, as printed, with ||a||_inf.",
    "T2-1.33-tiny",
)
def holds_between(evidence: Evidence) -> Finding:
    """What symmetric Weibull rewards exceed over the formula as printed, at levels exp(-n^2)."""
    return bounded([(evidence["T2-1.33-tiny"], "needed", "formula as printed")])


@claim(
    "theorem-2-corrected",
    "3",
    "Theorem 2, 1 < beta < 2",
    "The same for 1 < beta < 2 with ||a||_beta*, as lemma 1 has it.",
    "T2-1.33 T2-1.33-tiny",
)
def holds_as_corrected(evidence: Evidence) -> Finding:
    """What is proved, and what is needed at levels exp(-n^2), over the corrected formula."""
    return bounded(
        [
            (evidence["T2-1.33"], "proved by moments", "formula as corrected"),
            (evidence["T2-1.33-tiny"], "needed", "formula as corrected"),
        ]
    )


@claim(
    "theorem-2-light",
    "3",
    "Theorem 2, beta >= 2",
    "The same for beta = 2: Hoeffding's inequality up to a constant.",
    "T2-2",
)
def holds_for_light_tails(evidence: Evidence) -> Finding:
    """What is proved over the first term alone, which is less than the formula as printed."""
    return bounded([(evidence["T2-2"], "proved by moments", "formula as corrected")])


@claim(
    "lemma-1",
    "B",
    "Lemma 1",
    "Moments of order p are within C sigma (sqrt(p) ||a||_2 + p^(1/beta) ||a||), ||a||_inf if beta < 1, else ||a||_beta*.",
    "T2-0.5 T2-1 T2-1.33",
)
def moments_are_bounded(evidence: Evidence) -> Finding:
    """Exact moments of symmetric Weibull rewards, equal weights, over the formula."""
    names = ("T2-0.5", "T2-1", "T2-1.33")
    return bounded([(evidence[name], "moment of order 8", "formula as corrected") for name in names])


def quantile_finding(evidence: Evidence, label: str) -> Finding:
    """May the quantile given the rewards exceed the joint one's bound more often than alpha?"""
    rows = evidence["L2"][label].rows
    alpha = rows[0].alpha
    bad = [row for row in rows if misses_too_often(row.misses, row.replications, alpha, len(rows))]
    worst = max(rows, key=lambda row: row.miss_rate)
    text = (
        f"the quantile given the rewards exceeds the number in {worst.miss_rate:.1%} of samples of {worst.sample_size}; "
        f"allowed {alpha:.0%}"
    )
    numbers = tuple(Number(f"share of samples, n = {row.sample_size}", row.miss_rate) for row in rows)
    power = power_of_cells(min(row.replications for row in rows), alpha, len(rows))
    return Finding(NOT_REPRODUCED if bad else REPRODUCED, text, numbers, power)


@claim(
    "lemma-2",
    "B",
    "Lemma 2, as used in the proof of theorem 3",
    "A number that the weighted mean exceeds with probability alpha bounds its quantile given the rewards, but for alpha.",
    "L2",
)
def lemma_2_as_used(evidence: Evidence) -> Finding:
    """With the smallest number for which lemma 2 holds."""
    return quantile_finding(evidence, "as used")


@claim(
    "lemma-2-corrected",
    "B",
    "Lemma 2, corrected",
    "A number that the weighted mean exceeds with probability alpha^2 does, by Markov's inequality.",
    "L2",
)
def lemma_2_corrected(evidence: Evidence) -> Finding:
    """With the number of alpha squared."""
    return quantile_finding(evidence, "level squared")
