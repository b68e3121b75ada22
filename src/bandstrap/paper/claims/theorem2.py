"""Theorem 2 and the lemmas: where one constant serves all numbers of rewards, and where it cannot."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from bandstrap.experiments.panels import PanelData
from bandstrap.paper.claims.claim import Evidence, Finding, Power, ReportedNumber, claim
from bandstrap.paper.claims.statistics import brief, misses_too_often, power_of_cells, unless_contradicted
from bandstrap.theory.weighted_sums import least_sum_deviation, weighted_terms

# Growth of a ratio, as a power of n over the last two decades, that still counts as settling down.
LIMIT = 0.1


# A curve and the formula it is compared with, in a panel.
PathPart = tuple[PanelData, str, str]
PATHS = ("T2-0.5-path", "T2-1-path")
FALSE = "T2-1.33-path"
WEIGHTS = ("", ", one large weight")


def growth_of(part: PathPart) -> float:
    """The power of n by which the ratio of two curves grows at the end."""
    panel, first, second = part
    ratio, sizes = panel[first].mean / panel[second].mean, panel[first].places
    return float(np.log(ratio[-1] / ratio[-3]) / np.log(sizes[-1] / sizes[-3]))


def bounded(parts: list[PathPart], control: PathPart | None = None) -> Finding:
    """Does the first curve stay within a constant of the second, as n grows? Formulas, so nothing is left to chance.

    ``control`` is the same comparison for a statement that is known to be false, which must be found to grow.
    """
    numbers, growths = [], []
    for panel, first, second in parts:
        ratio = panel[first].mean / panel[second].mean
        growths.append(growth_of((panel, first, second)))
        where = f"{first} over {second}, {panel.panel.title}"
        numbers += [
            ReportedNumber(where, float(ratio.max())),
            ReportedNumber(f"growth of it, {panel.panel.title}: {first}", growths[-1]),
        ]
    worst = int(np.argmax(growths))
    most = parts[worst][0].curves[0].places[-1]
    text = (
        f"{numbers[2 * worst].name}: at most {brief(numbers[2 * worst].ours)} for n up to {most:,.0f}, "
        f"at the end growing like n^{growths[worst]:z.2f}"
    )
    detects = f"formulas are compared, not samples; a ratio that grows like n^{LIMIT:g} or faster is unbounded"
    seen = math.inf if control is None else growth_of(control)
    if control is not None:
        title = control[0].panel.title
        detects += f"; of the statement that is known to be false ({title}) it is found to grow like n^{seen:.2f}"
    power = Power(None, detects, reached=seen > LIMIT)
    return Finding(unless_contradicted(max(growths) >= LIMIT, power), text, tuple(numbers), power)


@claim(
    "theorem-2-heavy",
    "3",
    "Theorem 2, beta <= 1",
    "Weighted sums stay within C sigma (||a||_2 sqrt(log(1/alpha)) + ||a||_inf log(1/alpha)^(1/beta)) of their mean, one "
    "C for all n, weights and levels.",
    " ".join(("T2-0.5", "T2-1", *PATHS, FALSE)),
)
def holds_for_heavy_tails(evidence: Evidence) -> Finding:
    """Test the proved bound against the formula as printed, at one level, and at levels exp(-n^2) with two sets of
    weights.
    """
    proved, printed = "proved by moments", "formula as printed"
    parts = [(evidence[name], proved, printed) for name in ("T2-0.5", "T2-1")]
    parts += [(evidence[name], proved + of, printed + of) for name in PATHS for of in WEIGHTS]
    return bounded(parts, control=(evidence[FALSE], proved, printed))


@claim(
    "theorem-2-between",
    "3",
    "Theorem 2, 1 < beta < 2",
    "The same for 1 < beta < 2, as printed, with ||a||_inf.",
    "T2-1.33-tiny",
)
def holds_between(evidence: Evidence) -> Finding:
    """Test symmetric Weibull rewards against the formula as printed, at levels exp(-n^2)."""
    found = bounded([(evidence["T2-1.33-tiny"], "needed", "formula as printed")])
    shares = {f"T = 10^{digits}": needed_at(10.0**digits) for digits in (3, 100)}
    text = " and ".join(f"{share:.2f} at {horizon}" for horizon, share in shares.items())
    numbers = [
        ReportedNumber(f"needed over printed, level 1/T^2, {horizon}", share) for horizon, share in shares.items()
    ]
    statistic = f"{found.statistic}; at the levels 1/T^2 of the paper it is at most {text}, so that nothing suffers"
    return dataclasses.replace(found, statistic=statistic, numbers=(*found.numbers, *numbers))


def needed_at(horizon: float) -> float:
    """Factor that symmetric Weibull rewards of beta = 4/3 need over the formula as printed, at level 1/T^2, at the
    worst n.
    """
    log_level = 2 * math.log(horizon)
    means = [np.full(n, 1 / n) for n in range(1, 2 + int(log_level / math.log(2)))]
    return max(
        least_sum_deviation(a, log_level, 4 / 3) / weighted_terms(a, log_level, 4 / 3, form="printed") for a in means
    )


@claim(
    "theorem-2-corrected",
    "3",
    "Theorem 2, 1 < beta < 2",
    "The same for 1 < beta < 2 with ||a||_beta*, as lemma 1 has it.",
    "T2-1.33 T2-1.33-tiny",
    ours=True,
)
def holds_as_corrected(evidence: Evidence) -> Finding:
    """Test the proved bound, and the bound needed at levels exp(-n^2), against the corrected formula."""
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
    """Test the proved bound against the first term alone, which is less than the formula as printed."""
    return bounded([(evidence["T2-2"], "proved by moments", "formula as corrected")])


@claim(
    "lemma-1",
    "B",
    "Lemma 1",
    "Moments of order p are within C sigma (sqrt(p) ||a||_2 + p^(1/beta) ||a||), ||a||_inf if beta < 1, else ||a||_beta*.",
    " ".join(("T2-0.5", "T2-1", "T2-1.33", *PATHS, FALSE)),
)
def moments_are_bounded(evidence: Evidence) -> Finding:
    """Exact moments of symmetric Weibull rewards over the formula: of order 8, and of order n^2 with two sets."""
    moment, formula = "moment of order n^2", "formula as corrected"
    parts = [(evidence[name], "moment of order 8", formula) for name in ("T2-0.5", "T2-1", "T2-1.33")]
    parts += [(evidence[name], moment + of, formula + of) for name in (*PATHS, FALSE) for of in WEIGHTS]
    return bounded(parts, control=(evidence[FALSE], moment, "formula as printed"))


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
    numbers = tuple(ReportedNumber(f"share of samples, n = {row.sample_size}", row.miss_rate) for row in rows)
    power = power_of_cells(min(row.replications for row in rows), alpha, len(rows))
    return Finding(unless_contradicted(bool(bad), power), text, numbers, power)


@claim(
    "lemma-2",
    "B",
    "Lemma 2 and the display after it",
    "The bootstrapped quantile is at most C sigma (sqrt(log(1/alpha)/n) + log(1/alpha)^(1/beta)/n), except with "
    "probability alpha.",
    "L2-display L2-display-heavy",
)
def lemma_2_as_displayed(evidence: Evidence) -> Finding:
    """Test lemma 2 with the constant of theorem 2, for normal and for heavy-tailed rewards."""
    curves = {name: evidence[name]["as displayed"] for name in ("L2-display", "L2-display-heavy")}
    rows = [row for curve in curves.values() for row in curve.rows]
    alpha, total = rows[0].alpha, min(row.replications for row in rows)
    bad = [row for row in rows if misses_too_often(row.misses, row.replications, alpha, len(rows))]
    largest = max(float(curve.mean.max()) for curve in curves.values())
    text = (
        f"above the number displayed in {sum(row.misses for row in rows)} of {sum(row.replications for row in rows)} "
        f"samples; the largest quantile is {largest:.2f} of it"
    )
    numbers = tuple(
        ReportedNumber(f"largest quantile over the number, {name}, n = {place:g}", float(share))
        for name, curve in curves.items()
        for place, share in zip(curve.places, curve.mean, strict=True)
    )
    power = power_of_cells(total, alpha, len(rows))
    return Finding(unless_contradicted(bool(bad), power), text, numbers, power)


@claim(
    "lemma-2-step",
    "B",
    "Lemma 2, the step to the display",
    "The step as an argument: if the weighted mean exceeds a number with probability alpha, that number bounds its "
    "quantile "
    "given the rewards, except with probability alpha.",
    "L2",
    ours=True,
)
def lemma_2_as_used(evidence: Evidence) -> Finding:
    """Test lemma 2 with the smallest number for which lemma 2 holds, in place of the paper's, which is larger."""
    return quantile_finding(evidence, "as used")


@claim(
    "lemma-2-corrected",
    "B",
    "Lemma 2, corrected",
    "A number that the weighted mean exceeds with probability alpha^2 does, by Markov's inequality.",
    "L2",
    ours=True,
)
def lemma_2_corrected(evidence: Evidence) -> Finding:
    """Test lemma 2 with the number of alpha squared."""
    return quantile_finding(evidence, "level squared")
