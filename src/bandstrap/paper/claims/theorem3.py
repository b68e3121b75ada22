"""Theorem 3 and remarks 4 and 5: how regret of the theorem's policy grows with the horizon, the gap and the arms."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.experiments.panels import PanelData
from bandstrap.experiments.spec import make_environment
from bandstrap.paper.claims.claim import (
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    Evidence,
    Finding,
    Power,
    ReportedNumber,
    claim,
)
from bandstrap.paper.claims.statistics import (
    ERROR_RATE,
    POWER,
    Exponent,
    OneSidedComparison,
    all_hold,
    brief,
    end,
    finding,
    fitted_exponent,
    in_errors,
    lower,
    mean_below_zero,
    power_of_exponents,
    unless_unseen,
    verdict_of,
)
from bandstrap.theory import gap_free_bound, problem_dependent_bound

POLICY, HORIZON = "theorem 3", "theorem 3, level 1/T^2"
# The levels of remark 4, by their tau.
SCHEDULES = {tau: f"remark 4, tau = {tau:g}" for tau in (0.5, 1.0, 2.0)}
LIGHT = {"T3-beta-1": 1.0, "T3-beta-1.5": 1.5, "T3-beta-2": 2.0}
ARMS = {2: "T3-arms-2", 5: "T3-arms-5", 10: "T3-arms-10"}
WORST = {2.0: ("T3-worst-2-2000", "T3-worst-2-32000"), 0.5: ("T3-worst-0.5-2000", "T3-worst-0.5-32000")}


def log_horizons(panel: PanelData) -> Floats:
    """``log T`` of every place: a horizon, or a level ``2/T^2``."""
    places = panel.curves[0].places
    assert panel.panel.sweep is not None  # noqa: S101
    logs: Floats = 0.5 * np.log(2 / places) if panel.panel.sweep.name == "level" else np.log(places)
    return logs


def power_of_log(panel: PanelData, label: str, name: str) -> Exponent:
    """The power of ``log T`` that regret follows."""
    return fitted_exponent(name, log_horizons(panel), panel[label].values)


def growth_finding(exponents: list[Exponent], most: float, excluded: float) -> Finding:
    """Powers that are not above ``most`` beyond chance, and all of them below ``excluded`` beyond chance."""
    refuted = [each for each in exponents if each.below(most).is_contradicted(len(exponents))]
    holds, text = all_hold([each.below(excluded) for each in exponents])
    shown = "; ".join(f"{each.name}: {each.value:.2f} ± {each.error:.2g}" for each in exponents)
    power = Power(
        ERROR_RATE,
        f"{power_of_exponents(exponents)}; regret that grows like (log T)^{excluded:g} passes at most that often",
        reached=max(each.distance_seen(len(exponents)) for each in exponents) <= excluded - most,
    )
    statistic = f"fitted power of log T, {shown}; limit {most:g}; {text}"
    verdict = NOT_REPRODUCED if refuted else unless_unseen(holds, power)
    return Finding(verdict, statistic, tuple(each.number for each in exponents), power)


@claim(
    "theorem-3-log",
    "3",
    "Theorem 3",
    "For beta >= 1 regret grows at most like log T.",
    " ".join((*LIGHT, "T3-horizon")),
)
def regret_grows_like_log(evidence: Evidence) -> Finding:
    """A power of log T of at most 1, at horizons that are played out and at the levels of longer ones; log^2 T excluded.

    At short horizons and small gaps the power is above 1: the best arm's own width, which a wrong arm is compared with,
    still shrinks. Horizons and gap are such that it counts little.
    """
    exponents = [power_of_log(evidence[name], POLICY, f"beta = {beta:g}") for name, beta in LIGHT.items()]
    played = power_of_log(evidence["T3-horizon"], HORIZON, "beta = 2, horizons played out")
    return growth_finding([*exponents, played], 1, 2)


@claim(
    "theorem-3-heavy",
    "3",
    "Theorem 3",
    "For beta < 1 regret grows at most like (log T)^(1/beta), the price paid for heavy tails.",
    "T3-beta-0.5",
)
def regret_of_heavy_tails(evidence: Evidence) -> Finding:
    """A power of log T of at most 2 for beta = 1/2."""
    return growth_finding([power_of_log(evidence["T3-beta-0.5"], POLICY, "beta = 0.5")], 2, 3)


@claim(
    "remark-5-given-gaps",
    "3",
    "Remark 5",
    "Read for given gaps, which the remark does not say: on sub-Weibull rewards regret grows like log T too.",
    "T3-beta-0.5",
    ours=True,
)
def heavy_tails_cost_no_order(evidence: Evidence) -> Finding:
    """A power of log T of at most 1 for beta = 1/2. What the remark says without gaps is theorem-3-gap-free."""
    return growth_finding([power_of_log(evidence["T3-beta-0.5"], POLICY, "beta = 0.5")], 1, 2)


@claim("theorem-3-gap", "3", "Theorem 3", "Regret grows at most like 1/gap as the gap shrinks.", "T3-gap")
def regret_grows_like_inverse_gap(evidence: Evidence) -> Finding:
    """A power of the gap above -1 beyond chance, of the theorem's own policy."""
    curve = evidence["T3-gap"][POLICY]
    exponent = fitted_exponent("gap", curve.places, curve.values)
    test = exponent.above(-1)
    seen = exponent.distance_seen()
    text = f"a true power of {seen - 1:.2f} is distinguished from -1 with probability {POWER:g}"
    power = Power(ERROR_RATE, text, reached=seen <= 0.5)
    numbers = (exponent.number, *(end(curve, float(gap)) for gap in curve.places))
    verdict = NOT_REPRODUCED if test.is_contradicted(1) else unless_unseen(test.holds, power)
    return Finding(verdict, all_hold([test])[1], numbers, power)


@claim(
    "theorem-3-arms",
    "3",
    "Theorem 3",
    "Every further arm adds as much: regret over K - 1 does not grow with K.",
    " ".join(ARMS.values()),
)
def regret_is_linear_in_arms(evidence: Evidence) -> Finding:
    """Regret per wrong arm as a power of K, not above 0 beyond chance, and below 1/2 beyond chance."""
    n = min(len(evidence[name][POLICY].values) for name in ARMS.values())
    per_arm = np.stack([evidence[name][POLICY].at()[:n] / (k - 1) for k, name in ARMS.items()], axis=1)
    exponent = fitted_exponent("K", np.array([*ARMS], dtype=float), per_arm)
    numbers = [
        ReportedNumber(f"regret over K - 1, K = {k}", float(column.mean()), float(column.std(ddof=1)) / math.sqrt(n))
        for k, column in zip(ARMS, per_arm.T, strict=True)
    ]
    power = Power(ERROR_RATE, power_of_exponents([exponent]), reached=exponent.distance_seen() <= 0.5)
    text = f"regret over K - 1 as a power of K: {exponent.value:.3f} ± {exponent.error:.2g}"
    is_refuted = exponent.below(0).is_contradicted(1)
    verdict = NOT_REPRODUCED if is_refuted else unless_unseen(exponent.below(0.5).holds, power)
    return Finding(verdict, text, (exponent.number, *numbers), power)


def below_bound(name: str, values: Floats, bound: float) -> OneSidedComparison:
    """Is mean regret below a bound?"""
    test = mean_below_zero(values - bound, "", bound)
    text = f"{name}: {brief(float(values.mean()))} ± {brief(test.error * bound, 2)} against {brief(bound)}"
    return dataclasses.replace(test, text=text)


def bound_finding(tests: list[tuple[str, Floats, float]]) -> Finding:
    """Regret below bounds, and how far."""
    found = [below_bound(*each) for each in tests]
    _, text = all_hold(found)
    share = max(float(values.mean()) / bound for _, values, bound in tests)
    numbers = tuple(
        number
        for name, values, bound in tests
        for number in (ReportedNumber(name, float(values.mean())), ReportedNumber(f"bound, {name}", bound))
    )
    power = Power(
        ERROR_RATE,
        f"regret {1 / share:.0f} times as large would be seen with probability {1 - ERROR_RATE:g}, since the bound has the "
        "constants of a proof",
    )
    return Finding(verdict_of(found), text, numbers, power)


@claim(
    "theorem-3-bound",
    "3",
    "Theorem 3, equation (3.2)",
    "Regret is below the problem-dependent bound as printed, with the constant of theorem 2.",
    " ".join(("T3-horizon", *ARMS.values())),
)
def regret_is_below_the_bound(evidence: Evidence) -> Finding:
    """At every horizon and number of arms; the psi norm of the noise is sqrt(2)."""

    def bound(panel: PanelData, horizon: float) -> float:
        means = np.array(make_environment(panel.panel, horizon).means)
        return float(problem_dependent_bound(means.max() - means, horizon, sigma=math.sqrt(2), beta=2, form="printed"))

    panel = evidence["T3-horizon"]
    tests = [(f"T = {place:g}", panel[HORIZON].at(place), bound(panel, place)) for place in panel[HORIZON].places]
    for k, name in ARMS.items():
        played = evidence[name][POLICY]
        horizon = float(played.places[-1])
        tests.append((f"{k} arms, T = {horizon:g}", played.at(), bound(evidence[name], horizon)))
    return bound_finding(tests)


@claim(
    "theorem-3-gap-free",
    "3",
    "Theorem 3, remark 5",
    "The worst gap costs of the order sqrt(K T log T), for sub-Gaussian and heavier tails alike, and less than the bound.",
    " ".join(name for names in WORST.values() for name in names),
)
def worst_gap(evidence: Evidence) -> Finding:
    """Test that from T = 2000 to 32,000 the worst of five gaps grows as sqrt(T log T) does or less, for beta = 2 and
    1/2.

    Counted is regret beyond the bound's own last term, four times the gap: without it the worst gap is the largest. That is
    refuted if it grows by more, beyond chance; growth like T^(3/4) must be excluded beyond chance. Where the worst gap is
    the first or the last one tried, a worse one may lie beyond, and nothing is decided.
    """
    order = math.sqrt(32000 * math.log(32000) / (2000 * math.log(2000)))
    excluded = (32000 / 2000) ** 0.75
    tests, at_order, numbers, shown, inside = [], [], [], [], True
    for beta, names in WORST.items():
        worst = []
        for name, horizon in zip(names, (2000, 32000), strict=True):
            curve = evidence[name][POLICY]
            beyond = curve.values - 4 * curve.places
            i = int(np.argmax(beyond.mean(axis=0)))
            inside = inside and 0 < i < curve.places.size - 1
            gap, values = float(curve.places[i]), curve.values[:, i]
            worst.append(beyond[:, i])
            bound = float(
                gap_free_bound([0, gap], horizon, sigma=2 ** (1 / beta), beta=beta, best_mean=gap, form="printed")
            )
            where = f"beta = {beta:g}, T = {horizon}, gap {gap:g}"
            tests.append(below_bound(where, values, bound))
            numbers += [ReportedNumber(where, float(values.mean())), ReportedNumber(f"bound, {where}", bound)]
        first, last = worst
        error = math.hypot(*(float(v.std(ddof=1)) / math.sqrt(v.size) / float(v.mean()) for v in worst))
        ratio = float(last.mean() / first.mean())
        shown.append(f"beta = {beta:g}: worst regret grows {ratio:.2f}-fold")
        text = f"{shown[-1]}, less than {excluded:g}-fold"
        freedom = min(first.size, last.size) - 1
        tests.append(OneSidedComparison(text, in_errors(math.log(excluded / ratio), error), error, freedom))
        at_order.append(OneSidedComparison(text, in_errors(math.log(order / ratio), error), error, freedom))
    holds, text = all_hold(tests)
    seen = order * math.exp(max(test.seen_among(len(at_order)) for test in at_order))
    power = Power(
        ERROR_RATE,
        f"growth {seen:.1f}-fold in place of {order:.2f}-fold is seen with probability {POWER:g}; "
        "growth like T^(3/4) passes at most as often as the error rate says; every worst gap lies between others"
        + ("" if inside else ": here one does not"),
        reached=inside and seen <= excluded,
    )
    refuted = any(test.is_contradicted(len(at_order)) for test in at_order)
    verdict = NOT_REPRODUCED if refuted else unless_unseen(holds and inside, power)
    statistic = f"{'; '.join(shown)}; sqrt(T log T) {order:.2f}-fold; {text}"
    return Finding(verdict, statistic, tuple(numbers), power)


@claim(
    "remark-4",
    "3",
    "Remark 4",
    "A similar regret bound holds at the levels 1/(t log^tau t), which need no horizon, for any tau > 0.",
    "T3-schedule",
)
def schedule_without_horizon(evidence: Evidence) -> Finding:
    """Tau = 1/2, 1 and 2: slower than log^2 T at the horizons played, and no more regret than at level 1/T^2."""
    panel = evidence["T3-schedule"]
    exponents = [power_of_log(panel, label, f"tau = {tau:g}") for tau, label in SCHEDULES.items()]
    slower = finding([each.below(2) for each in exponents], [each.number for each in exponents])
    places = [float(place) for place in panel[HORIZON].places]
    no_more = finding(
        [lower(panel, label, HORIZON, place=place) for label in SCHEDULES.values() for place in places],
        [end(panel[label], place) for label in (*SCHEDULES.values(), HORIZON) for place in places],
    )
    seen = max(each.distance_seen() for each in exponents)
    power = Power(
        ERROR_RATE,
        f"a power of log T of {2 - seen:.2f} is distinguished from 2 with probability {POWER:g}; beside level 1/T^2, "
        f"{no_more.power.detects}",
        reached=seen <= 1 and no_more.power.reached,
    )
    shown = "; ".join(f"{each.name}: {each.value:.2f} ± {each.error:.2g}" for each in exponents)
    text = f"fitted power of log T, {shown}; {slower.statistic}; beside level 1/T^2: {no_more.statistic}"
    verdicts = (slower.verdict, no_more.verdict)
    verdict = next((each for each in (NOT_REPRODUCED, UNDECIDED) if each in verdicts), REPRODUCED)
    return Finding(verdict, text, (*slower.numbers, *no_more.numbers), power)
