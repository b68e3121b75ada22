"""Every testable sentence of the paper, as a check with a test statistic and an error rate.

Differences between policies are paired: they met the same rewards. A test says *reproduced* when the paper's sentence
holds beyond chance, with an error rate of ``ERROR_RATE`` for each comparison; the published end points are said to agree
when they lie within ``TOLERANCE`` of ours, three standard errors and the eye's reading of a printed curve allowed for.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc, ndtri

from bandstrap.errors import Floats
from bandstrap.experiments.run import CurveData, PanelData
from bandstrap.theory import naive_lower_bound

REPRODUCED, NOT_REPRODUCED, DEPENDS = "reproduced", "not reproduced", "depends on an unstated setting"
ERROR_RATE = 0.01
# How far a published end point, read off a printed curve, may lie from ours.
TOLERANCE = 0.10
# A policy that greatly improves on another loses to it in no more than this share of runs.
MOST_LOST = 0.02

Evidence = Mapping[str, PanelData]


@dataclass(frozen=True)
class Number:
    """One of our numbers, with its standard error and the published one where there are any."""

    name: str
    ours: float
    error: float | None = None
    published: float | None = None


@dataclass(frozen=True)
class Finding:
    """What a check found."""

    verdict: str
    statistic: str
    numbers: tuple[Number, ...]
    setting: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in short, where it stands, the panels it needs, and its check."""

    name: str
    where: str
    says: str
    panels: tuple[str, ...]
    check: Callable[[Evidence], Finding]


CLAIMS: list[Claim] = []


def claim(name: str, where: str, says: str, panels: str) -> Callable[[Callable[[Evidence], Finding]], Any]:
    """Register a check."""

    def register(check: Callable[[Evidence], Finding]) -> Callable[[Evidence], Finding]:
        CLAIMS.append(Claim(name, where, says, tuple(panels.split()), check))
        return check

    return register


# --- statistics -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Test:
    """A one-sided comparison: how many standard errors the paper's side is ahead."""

    text: str
    z: float

    @property
    def holds(self) -> bool:
        """Whether chance alone would do this in less than ``ERROR_RATE`` of cases."""
        return self.z > -float(ndtri(ERROR_RATE))


def lower(panel: PanelData, first: str, second: str, *, factor: float = 1.0, place: float | None = None) -> Test:
    """Is the first's mean regret below ``factor`` times the second's? Paired over the replications both played."""
    one, other = panel[first].at(place), panel[second].at(place)
    n = min(one.size, other.size)
    return mean_below_zero(
        one[:n] - factor * other[:n],
        f"{first} below {f'{factor:.2g} times ' if factor != 1 else ''}{second}"
        + (f" at {place:g}" if place is not None else ""),
    )


def mean_below_zero(values: Floats, text: str) -> Test:
    """Is the mean of values negative?"""
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    mean = float(values.mean())
    return Test(f"{text}: {'+' * (mean >= 0)}{brief(mean)} ± {brief(error, 2)}", in_errors(-mean, error))


def brief(value: float, digits: int = 3) -> str:
    """A few digits, and never a power of ten for what is large."""
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def in_errors(distance: float, error: float | None) -> float:
    """A distance in standard errors; infinite where all replications agree, 0 if there is no distance."""
    if distance == 0:
        return 0.0
    return distance / error if error else math.copysign(math.inf, distance)


def all_hold(tests: list[Test]) -> tuple[bool, str]:
    """Whether all tests hold, and the weakest of them in words."""
    weakest = min(tests, key=lambda test: test.z)
    many = f"weakest of {len(tests)} comparisons: " if len(tests) > 1 else ""
    return all(test.holds for test in tests), f"{many}{weakest.text} ({weakest.z:.1f} standard errors)"


def finding(tests: list[Test], numbers: list[Number]) -> Finding:
    """Reproduced if all tests hold."""
    holds, text = all_hold(tests)
    return Finding(REPRODUCED if holds else NOT_REPRODUCED, text, tuple(numbers))


def end(curve: CurveData, place: float | None = None) -> Number:
    """A curve's last point, or its point at a place."""
    values = curve.at(place)
    error = float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else None
    name = curve.label if place is None else f"{curve.label} at {place:g}"
    published = dict(curve.published).get(float(curve.places[-1]) if place is None else place)
    return Number(name, float(values.mean()), error, published)


def ends(panel: PanelData) -> list[Number]:
    """The end of every curve of a panel."""
    return [end(curve) for curve in panel.curves]


def ends_in(evidence: Evidence, names: str, *labels: str) -> list[Number]:
    """The ends of curves of several panels, told apart by the panel's name; of all their curves by default."""
    return [
        dataclasses.replace(number, name=f"{number.name} ({name})")
        for name in names.split()
        for number in ends(evidence[name])
        if not labels or number.name in labels
    ]


def misses_too_often(misses: int, total: int, allowed: float) -> bool:
    """Would a miss probability of ``allowed`` give so many misses in less than a tenth of ``ERROR_RATE`` of cases?"""
    return bool(misses > 0 and bdtrc(misses - 1, total, allowed) < ERROR_RATE / 10)


# --- figure 1 ---------------------------------------------------------------------------------------------------------


@claim(
    "naive-invalid",
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
        Number(f"miss rate at n = {row.sample_size}", row.miss_rate) for row in rows if row.sample_size in (1, 2, 5, 10)
    ]
    text = f"largest binomial p-value of a miss rate of 5 %, at n = {rows[worst].sample_size}: {tails[worst]:.2g}"
    return Finding(REPRODUCED if max(tails) < ERROR_RATE else NOT_REPRODUCED, text, tuple(numbers))


@claim(
    "corrected-valid",
    "Figure 1, section 2",
    "With the second-order correction the threshold is valid and converges to the true quantile as n grows.",
    "1a 1b",
)
def corrected_is_valid(evidence: Evidence) -> Finding:
    """No more misses than 5 %, and an excess over the truth that shrinks to a fifth at n = 1000."""
    forms = ("bootstrap, as stated", "bootstrap, practical")
    rows = [row for name in ("1a", "1b") for form in forms for row in evidence[name][form].rows]
    bad = [row for row in rows if misses_too_often(row.misses, row.replications, row.alpha)]
    truth, ours = evidence["1b"]["true 95 % quantile of the mean"].mean, evidence["1b"]["bootstrap, practical"].mean
    excess = ours / truth - 1
    numbers = [
        Number("largest miss rate", max(row.miss_rate for row in rows)),
        Number("practical over true, n = 20", float(ours[0] / truth[0])),
        Number("practical over true, n = 1000", float(ours[-1] / truth[-1])),
    ]
    holds = not bad and excess[-1] < 0.2 * excess[0]
    text = (
        f"{len(bad)} of {len(rows)} cells miss more than 5 %; "
        f"excess over the truth {excess[0]:.0%} at n = 20, {excess[-1]:.0%} at n = 1000"
    )
    return Finding(REPRODUCED if holds else NOT_REPRODUCED, text, tuple(numbers))


@claim(
    "sharper",
    "Figure 1, section 2",
    "For large n the bootstrapped threshold is sharper than Hoeffding's and the empirical Bernstein bound.",
    "1b",
)
def bootstrap_is_sharper(evidence: Evidence) -> Finding:
    """Both forms below both rivals at every n of at least 100."""
    panel = evidence["1b"]
    sizes = panel.curves[0].places
    rivals = ("Hoeffding, sigma = 1", "empirical Bernstein, b = 1 (paper)")
    forms = ("bootstrap, as stated", "bootstrap, practical")
    ratio = max(float((panel[form].mean / panel[rival].mean)[sizes >= 100].max()) for form in forms for rival in rivals)
    numbers = [
        Number(f"{label}, n = 1000", float(panel[label].mean[-1]), None, dict(panel[label].published).get(1000.0))
        for label in (*forms, *rivals)
    ]
    text = f"largest ratio of a bootstrapped threshold to a rival's for n >= 100: {ratio:.2f}"
    return Finding(REPRODUCED if ratio < 1 else NOT_REPRODUCED, text, tuple(numbers))


# --- theorems 1 and 2, the Monte Carlo theorem --------------------------------------------------------------------------

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
    bad = [row for _, row in rows if misses_too_often(row.misses, row.replications, allowed)]
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
    return Finding(NOT_REPRODUCED if bad else REPRODUCED, text, numbers)


@claim(
    "theorem-1",
    "Theorem 1",
    "For symmetric rewards the threshold, as stated, is exceeded with probability at most 2 alpha, at every n.",
    LAWS,
)
def theorem_1(evidence: Evidence) -> Finding:
    """The form as stated, which the proof does not quite give."""
    return miss_finding(evidence, "as stated", 0.1)


@claim(
    "theorem-1-proof",
    "Theorem 1, proof",
    "The same with the constant of the proof, and with the library's sharp one, which is proved.",
    LAWS,
)
def theorem_1_proof(evidence: Evidence) -> Finding:
    """The form as proved, and the sharp one."""
    proved, sharp = miss_finding(evidence, "as proved", 0.1), miss_finding(evidence, "sharp", 0.1)
    verdict = REPRODUCED if proved.verdict == sharp.verdict == REPRODUCED else NOT_REPRODUCED
    numbers = [Number(f"{number.name}, sharp", number.ours) for number in sharp.numbers]
    return Finding(verdict, f"as proved: {proved.statistic}; sharp: {sharp.statistic}", (*proved.numbers, *numbers))


@claim(
    "monte-carlo",
    "Theorem of supplement D",
    "With B Monte Carlo draws the miss probability is at most (floor(B alpha) + 1)/(B + 1) + alpha.",
    LAWS,
)
def monte_carlo_theorem(evidence: Evidence) -> Finding:
    """B = 200 with the sharp correction."""
    return miss_finding(evidence, "sharp, Monte Carlo", (math.floor(200 * 0.05 + 1e-9) + 1) / 201 + 0.05)


@claim(
    "theorem-2",
    "Theorem 2",
    "The mean of sub-Weibull rewards stays within C sigma (sqrt(log(1/alpha)/n) + ...) with probability 1 - alpha.",
    LAWS,
)
def theorem_2(evidence: Evidence) -> Finding:
    """With the constants this library computes; the paper names none."""
    return miss_finding(evidence, "theorem 2", 0.05)


# --- theorems 3 and 4 -------------------------------------------------------------------------------------------------


@claim("theorem-3-log", "Theorem 3", "Regret grows like log T.", "T3-horizon")
def regret_grows_like_log(evidence: Evidence) -> Finding:
    """From T = 4000 to 16,000 log T grows by 17 %, a square root by 100 %: the ratio must be clearly below 1.41."""
    panel = evidence["T3-horizon"]
    labels = ("as proved, level 1/T^2", "sharp, level 1/T^2")
    tests = [unpaired_ratio(panel[label], 16000, 4000, below=math.sqrt(2)) for label in labels]
    numbers = [
        Number(f"{label}: regret over log T at T = {place:g}", float(panel[label].at(place).mean()) / math.log(place))
        for label in labels
        for place in (4000, 16000)
    ]
    return finding(tests, numbers)


@claim("theorem-3-gap", "Theorem 3", "Regret grows like 1/gap.", "T3-gap")
def regret_grows_like_inverse_gap(evidence: Evidence) -> Finding:
    """Halving the gap must multiply regret by more than 1.41 and less than 2.83."""
    panel = evidence["T3-gap"]
    curve = panel["sharp, level 1/T^2"]
    tests = [
        unpaired_ratio(curve, small, large, **limit)
        for small, large in ((0.5, 1.0), (1.0, 2.0))
        for limit in ({"below": 2 * math.sqrt(2)}, {"above": math.sqrt(2)})
    ]
    return finding(tests, [end(curve, gap) for gap in (0.25, 0.5, 1.0, 2.0)])


def unpaired_ratio(
    curve: CurveData, first: float, second: float, *, below: float | None = None, above: float | None = None
) -> Test:
    """Is the ratio of two means below or above a limit? The two come from different runs."""
    one, other = end(curve, first), end(curve, second)
    limit = below if below is not None else above or 0.0
    gap = one.ours - limit * other.ours
    error = math.hypot(one.error or 0.0, limit * (other.error or 0.0))
    word = "below" if below is not None else "above"
    ratio = one.ours / other.ours
    text = f"{curve.label}: regret at {first:g} over regret at {second:g} is {ratio:.2f}, {word} {limit:.2f}"
    return Test(text, in_errors(-gap if below is not None else gap, error))


def straightness(curve: CurveData) -> float:
    """Regret of the second half over that of the first: 1 for a straight line, near 0 for a logarithm."""
    middle = float(curve.at(curve.places[-1] / 2).mean())
    return float(curve.at().mean()) / middle - 1


@claim(
    "theorem-4",
    "Theorem 4, Figure 6",
    "Naive bootstrapped UCB has linear regret on a two-armed Bernoulli bandit, at least gap ((1 - mu_1) mu_2 (T - 2) + 1).",
    "6a",
)
def naive_regret_is_linear(evidence: Evidence) -> Finding:
    """Not below the bound, and a straight line where the others flatten."""
    panel = evidence["6a"]
    naive = panel["naive bootstrap"]
    least = float(naive_lower_bound([0.6, 0.4], int(naive.places[-1])))
    value = end(naive)
    # The theorem is contradicted when regret is below the bound beyond chance.
    z = in_errors(value.ours - least, value.error)
    straight = straightness(naive)
    holds = z > float(ndtri(ERROR_RATE)) and straight > 0.8
    numbers = (
        value,
        Number("lower bound", least),
        Number("second half over first, naive", straight),
        Number("second half over first, UCB", straightness(panel["UCB"])),
    )
    text = (
        f"naive regret {value.ours:.0f} against the bound {least:.0f}; "
        f"the second half of the rounds costs {straight:.2f} times the first"
    )
    return Finding(REPRODUCED if holds else NOT_REPRODUCED, text, numbers)


@claim(
    "figure-6",
    "Figure 6",
    "The naive version's regret is linear on Bernoulli and Gaussian bandits, where Thompson sampling's and UCB's are not.",
    "6a 6b",
)
def naive_loses(evidence: Evidence) -> Finding:
    """Naive above both others, and straight."""
    tests = []
    numbers = []
    straight = []
    for name in ("6a", "6b"):
        panel = evidence[name]
        others = [curve.label for curve in panel.curves if curve.label in ("Bernoulli-TS", "Jeffreys-TS", "UCB")]
        tests += [lower(panel, other, "naive bootstrap") for other in others]
        straight.append(straightness(panel["naive bootstrap"]))
        numbers += [Number(f"{number.name}, {panel.panel.title}", number.ours, number.error) for number in ends(panel)]
    holds, text = all_hold(tests)
    holds = holds and min(straight) > 0.8
    text += f"; second half over first half of naive regret {min(straight):.2f} or more"
    return Finding(REPRODUCED if holds else NOT_REPRODUCED, text, tuple(numbers))


# --- figures 2 and 3 --------------------------------------------------------------------------------------------------

BUCB = "Bootstrapped UCB"


@claim(
    "truncated-normal",
    "Figure 2 (a), (b)",
    "Bootstrapped UCB outperforms Jeffreys-TS and UCB on truncated-normal bandits.",
    "2a 2b",
)
def wins_on_truncated_normal(evidence: Evidence) -> Finding:
    """Lower paired regret than both, in both panels."""
    tests = [lower(evidence[name], BUCB, rival) for name in ("2a", "2b") for rival in ("Jeffreys-TS", "UCB")]
    return finding(tests, ends_in(evidence, "2a 2b"))


@claim(
    "kl-ucb",
    "Figure 2 (a), (b)",
    "There it is comparable to or better than empirical KL-UCB.",
    "2a 2b",
)
def comparable_to_kl_ucb(evidence: Evidence) -> Finding:
    """At most 10 % above."""
    tests = [lower(evidence[name], BUCB, "KL-UCB", factor=1.1) for name in ("2a", "2b")]
    return finding(tests, ends_in(evidence, "2a 2b", BUCB, "KL-UCB"))


@claim(
    "exact-posterior",
    "Figure 2 (d)",
    "With Gaussian rewards and the right sigma, Jeffreys-TS is the best.",
    "2d",
)
def thompson_wins_with_the_truth(evidence: Evidence) -> Finding:
    """Below both others."""
    tests = [lower(evidence["2d"], "Jeffreys-TS", rival) for rival in (BUCB, "UCB")]
    return finding(tests, ends(evidence["2d"]))


@claim(
    "misspecified",
    "Figure 2 (c)",
    "With sigma misspecified, Jeffreys-TS deteriorates: bootstrapped UCB beats it on Gaussian rewards too.",
    "2c",
)
def thompson_loses_with_a_wrong_sigma(evidence: Evidence) -> Finding:
    """Bootstrapped UCB below Jeffreys-TS."""
    return finding([lower(evidence["2c"], BUCB, "Jeffreys-TS")], ends(evidence["2c"]))


@claim(
    "ucb-conservative",
    "Figure 2 (a) to (c)",
    "UCB uses nothing but the tails; it is conservative and has bad regret.",
    "2a 2b 2c 2d",
)
def ucb_is_worst(evidence: Evidence) -> Finding:
    """The worst of all; (d) is left out, where bootstrapped UCB is no better in the published figure either."""
    names = ("2a", "2b", "2c")
    tests = [
        lower(evidence[name], curve.label, "UCB")
        for name in names
        for curve in evidence[name].curves
        if curve.label != "UCB"
    ]
    found = finding(tests, ends_in(evidence, "2a 2b 2c", "UCB"))
    in_d = mean_below_zero(evidence["2d"][BUCB].at() - evidence["2d"]["UCB"].at(), f"in (d), {BUCB} minus UCB")
    return dataclasses.replace(found, statistic=f"{found.statistic}; {in_d.text}")


@claim(
    "bounded",
    "Figure 3",
    "Bootstrapped UCB outperforms UCB and Giro on Bernoulli and Beta bandits.",
    "3a 3b C3a",
)
def wins_on_bounded(evidence: Evidence) -> Finding:
    """Lower paired regret; the close race with Giro on Bernoulli rewards is decided over 400 replications."""
    tests = [
        lower(evidence["3a"], BUCB, "UCB"),
        lower(evidence["3b"], BUCB, "UCB"),
        lower(evidence["3b"], BUCB, "Giro"),
        lower(evidence["C3a"], BUCB, "Giro"),
    ]
    return finding(tests, ends_in(evidence, "3a 3b"))


@claim(
    "beta-ts",
    "Figure 3",
    "It outperforms Bernoulli-TS on the Beta bandit and not on the Bernoulli bandit.",
    "3a 3b",
)
def thompson_on_bounded(evidence: Evidence) -> Finding:
    """Below on Beta, above on Bernoulli."""
    tests = [lower(evidence["3b"], BUCB, "Bernoulli-TS"), lower(evidence["3a"], "Bernoulli-TS", BUCB)]
    return finding(tests, ends_in(evidence, "3a 3b", BUCB, "Bernoulli-TS"))


# --- figure 4 ---------------------------------------------------------------------------------------------------------


@claim(
    "robust-sigma",
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
            tests.append(mean_below_zero(grows - rival_grows, f"{BUCB} grows less than {rival} from 1 to {value:g}"))
    return finding(tests, [end(curve, place) for curve in panel.curves for place in (1.0, 20.0, 100.0)])


@claim(
    "gaps",
    "Figure 4, right",
    "Bootstrapped UCB has the lowest regret for every gap.",
    "4b",
)
def best_at_every_gap(evidence: Evidence) -> Finding:
    """Below Jeffreys-TS and UCB at every gap of at least 0.1."""
    panel = evidence["4b"]
    gaps = [float(place) for place in panel.curves[0].places if place > 0.05]
    tests = [lower(panel, BUCB, rival, place=gap) for rival in ("Jeffreys-TS", "UCB") for gap in gaps]
    labels = (BUCB, "Jeffreys-TS", "UCB")
    return finding(tests, [end(panel[label], gap) for label in labels for gap in (0.1, 0.2, 0.5, 1.0)])


# --- figures 5 and 7 --------------------------------------------------------------------------------------------------


@claim(
    "linear",
    "Figure 5, section 4.2",
    "BUCBL greatly improves on TSL and OFUL in linear bandits.",
    "5a 5b",
)
def linear_bandits(evidence: Evidence) -> Finding:
    """Greatly: regret of at most two thirds of the others' (the paper: less than half), and rarely a run that loses."""
    good, words = {}, []
    for ridge in ("1", "0.1"):
        label = f"BUCBL, lambda = {ridge}"
        tests = [
            lower(evidence[name], label, rival, factor=2 / 3)
            for name in ("5a", "5b")
            for rival in ("OFUL, closed form", "TSL (paper)")
        ]
        lost = max(share_of_losses(evidence[name], label, "OFUL, closed form") for name in ("5a", "5b"))
        holds, text = all_hold(tests)
        good[ridge] = holds and lost <= MOST_LOST
        words.append(f"lambda = {ridge}: {text}, up to {lost:.0%} of runs worse than OFUL's")
    numbers = tuple(
        Number(f"{number.name}, d = {size}", number.ours, number.error, number.published)
        for name, size in (("5a", 10), ("5b", 20))
        for number in ends(evidence[name])
    )
    verdict = REPRODUCED if all(good.values()) else DEPENDS if any(good.values()) else NOT_REPRODUCED
    setting = "BUCBL's lambda: 0.1 meets the published end points, with 1 some runs never find the best action"
    return Finding(verdict, "; ".join(words), numbers, setting if verdict == DEPENDS else "")


def share_of_losses(panel: PanelData, first: str, second: str) -> float:
    """Share of replications in which the first had more regret than the second on the same rewards."""
    one, other = panel[first].at(), panel[second].at()
    n = min(one.size, other.size)
    return float((one[:n] > other[:n]).mean())


@claim(
    "giro-unbounded",
    "Figure 7, footnote of section 4.1",
    "Giro fails on unbounded rewards, with linear regret in most cases.",
    "7a",
)
def giro_fails(evidence: Evidence) -> Finding:
    """Fails: regret of at least twice bootstrapped UCB's; with one pseudo-reward of each kind a reward, and with fewer."""
    panel = evidence["7a"]
    tests = {label: lower(panel, BUCB, label, factor=0.5) for label in ("Giro", "Giro, a = 0.1")}
    numbers = (
        *ends(panel),
        *(Number(f"second half over first, {label}", straightness(panel[label])) for label in tests),
    )
    text = "; ".join(f"{label}: {test.text} ({test.z:.1f} standard errors)" for label, test in tests.items())
    good = [test.holds for test in tests.values()]
    verdict = REPRODUCED if all(good) else DEPENDS if any(good) else NOT_REPRODUCED
    setting = (
        "how many pseudo-rewards Giro adds, and of which values, for rewards outside [0, 1]"
        if verdict == DEPENDS
        else ""
    )
    return Finding(verdict, text, numbers, setting)


# --- published end points -----------------------------------------------------------------------------------------------


def end_points(names: str, setting: str = "", unclear: tuple[str, ...] = ()) -> Callable[[Evidence], Finding]:
    """A check of a figure's published end points.

    Those of curves in ``unclear`` ("panel: label") hang on a setting that the paper does not state; a figure with such
    curves depends on it at best. Three standard errors are allowed for, though no more than the tolerance itself: a mean
    that is hardly known agrees with nothing.
    """

    def check(evidence: Evidence) -> Finding:
        numbers = []
        outside: list[str] = []
        for name in names.split():
            at_the_end = evidence[name].panel.plot == "regret"
            for curve in evidence[name].curves:
                for place, _ in curve.published:
                    number = end(curve, None if at_the_end else place)
                    numbers.append(Number(f"{number.name} ({name})", number.ours, number.error, number.published))
                    published = number.published or math.nan
                    allowed = TOLERANCE * published + min(3 * (number.error or 0.0), TOLERANCE * published)
                    if abs(number.ours - published) > allowed:
                        outside.append(f"{name}: {curve.label}")
        hard = [name for name in outside if name not in unclear]
        farthest = max(numbers, key=lambda number: abs(number.ours / (number.published or math.nan) - 1))
        text = (
            f"{len(numbers) - len(outside)} of {len(numbers)} within {TOLERANCE:.0%} and three standard errors; "
            f"farthest: {farthest.name}, {brief(farthest.ours)} for {brief(farthest.published or 0.0)}"
        )
        verdict = NOT_REPRODUCED if hard else DEPENDS if unclear else REPRODUCED
        return Finding(verdict, text, tuple(numbers), setting if verdict == DEPENDS else "")

    return check


for _figure, _panels, _setting, _unclear in (
    (1, "1a 1b", "", ()),
    (2, "2a 2b 2c 2d", "", ()),
    (3, "3a 3b", "", ()),
    (
        4,
        "4a 4b",
        "the level of UCB in the right panel: its published curve is met at 1/10,000, not at the stated 1/(t+1)",
        ("4b: UCB",),
    ),
    (
        5,
        "5a 5b",
        "BUCBL's lambda: 0.1 meets the published end points",
        tuple(f"{panel}: BUCBL, lambda = {ridge}" for panel in ("5a", "5b") for ridge in ("1", "0.1")),
    ),
    (7, "7a 7b", "how Giro's pseudo-rewards were adapted to unbounded rewards", ("7a: Giro",)),
):
    claim(
        f"end-points-{_figure}",
        f"Figure {_figure}",
        "The end points of the published curves." if _figure > 1 else "The published thresholds.",
        _panels,
    )(end_points(_panels, _setting, _unclear))


def examine(evidence: Evidence) -> list[tuple[Claim, Finding]]:
    """Check every claim whose panels were run."""
    return [(c, c.check(evidence)) for c in CLAIMS if all(name in evidence for name in c.panels)]
