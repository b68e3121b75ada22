"""Theorem 4 and Figure 6: without the correction regret is linear."""

from __future__ import annotations

from bandstrap.experiments.panels import CurveData, PanelData
from bandstrap.experiments.spec import make_environment
from bandstrap.paper.claims.claim import NOT_REPRODUCED, Evidence, Finding, Power, ReportedNumber, claim
from bandstrap.paper.claims.statistics import (
    ERROR_RATE,
    POWER,
    all_hold,
    end,
    ends_in,
    exponent,
    finding,
    grows_faster,
    grows_slower,
    growth_seen,
    lower,
    mean_below_zero,
    unless_unseen,
)
from bandstrap.theory import naive_lower_bound

NAIVE = "naive bootstrap"


def is_linear(panel: PanelData, curves: list[CurveData]) -> Finding:
    """Not below the theorem's bound beyond chance, and growing faster than the root of T beyond chance."""
    means = make_environment(panel.panel, None).means
    least = float(naive_lower_bound(means, int(curves[0].places[-1])))
    above = [mean_below_zero(least - curve.at(), curve.label, least) for curve in curves]
    faster = [grows_faster(curve, 0.5) for curve in curves]
    ends = [end(curve) for curve in curves]
    holds, text = all_hold(faster)
    lowest = min(ends, key=lambda number: number.ours)
    text = f"lowest regret {lowest.ours:.0f} ({lowest.name}) against the bound {least:.0f}; {text}"
    seen = max(test.seen_among(len(curves)) for test in above)
    order = growth_seen(faster, 0.5)
    power = Power(
        ERROR_RATE,
        f"regret of {max(0.0, 1 - seen):.0%} of the bound is distinguished from it, and growth like "
        f"T^{order:.2f} from T^0.5, with probability {POWER:g}",
        reached=order <= 1,
    )
    is_below = any(test.is_contradicted(len(curves)) for test in above)
    orders = [ReportedNumber(f"order of growth of {curve.label}", exponent(curve)) for curve in curves]
    numbers = [number for both in zip(ends, orders, strict=True) for number in both]
    verdict = NOT_REPRODUCED if is_below else unless_unseen(holds, power)
    return Finding(verdict, text, (*numbers, ReportedNumber("lower bound", least)), power)


@claim(
    "theorem-4",
    "A",
    "Theorem 4",
    "Naive bootstrapped UCB has linear regret on a two-armed Bernoulli bandit, at least gap ((1 - mu_1) mu_2 (T - 2) + 1).",
    "6c",
)
def naive_regret_is_linear(evidence: Evidence) -> Finding:
    """Rademacher weights, as in the paper's experiments."""
    return is_linear(evidence["6c"], [evidence["6c"][NAIVE]])


@claim(
    "theorem-4-weights",
    "A",
    "Theorem 4",
    "The same whatever the weights: no matter how the data are bootstrapped, the naive version gets stuck.",
    "6c",
)
def no_bootstrap_helps(evidence: Evidence) -> Finding:
    """Theorem 4 for weights of every other distribution: normal, exponential, Efron's and Mammen's."""
    return is_linear(evidence["6c"], [curve for curve in evidence["6c"].curves if curve.label != NAIVE])


@claim(
    "figure-6",
    "A",
    "Figure 6",
    "The naive version's regret is linear on Bernoulli and Gaussian bandits, where Thompson sampling's and UCB's are not.",
    "C6a C6b",
)
def naive_loses(evidence: Evidence) -> Finding:
    """Naive above both others and faster than the root of T, the others slower than a straight line; over 1000 runs."""
    tests = []
    powers = []
    for name, others in (("C6a", ("Bernoulli-TS", "UCB")), ("C6b", ("Jeffreys-TS", "UCB"))):
        panel = evidence[name]
        tests.append(grows_faster(panel[NAIVE], 0.5))
        for other in others:
            tests += [lower(panel, other, NAIVE), grows_slower(panel[other], 1)]
        powers += [
            ReportedNumber(f"order of growth of {label} ({name})", exponent(panel[label])) for label in (NAIVE, *others)
        ]
    return finding(tests, [*ends_in(evidence, "C6a C6b"), *powers])
