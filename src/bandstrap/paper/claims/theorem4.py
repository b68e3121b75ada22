"""Theorem 4 for every kind of bootstrap weights."""

from __future__ import annotations

from bandstrap.paper.claims.claim import NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Number, Power, claim
from bandstrap.paper.claims.statistics import (
    ERROR_RATE,
    all_hold,
    contradicted,
    end,
    mean_below_zero,
    power_of,
)
from bandstrap.theory import naive_lower_bound


@claim(
    "zero-quantile",
    "A",
    "Theorem 4, proof",
    "No matter how the data are bootstrapped, the quantile of rewards that are all zero is zero.",
    "T4-zeros",
)
def quantile_of_zeros(evidence: Evidence) -> Finding:
    """Exactly zero, for every law of weights, from its distribution and from draws, at every n."""
    curves = evidence["T4-zeros"].curves
    largest = max(float(abs(curve.mean).max()) for curve in curves)
    numbers = tuple(Number(f"largest threshold, {curve.label}", float(abs(curve.mean).max())) for curve in curves)
    text = f"largest of {sum(curve.places.size for curve in curves)} thresholds: {largest:g}"
    power = Power(None, "numbers are compared with zero, without chance: any other number is seen")
    return Finding(REPRODUCED if largest == 0 else NOT_REPRODUCED, text, numbers, power)


@claim(
    "theorem-4-weights",
    "A",
    "Theorem 4",
    "Naive bootstrapped UCB has linear regret, at least gap ((1 - mu_1) mu_2 (T - 2) + 1), whatever the weights.",
    "T4-weights",
)
def linear_whatever_the_weights(evidence: Evidence) -> Finding:
    """Not below the bound beyond chance; the second half costs more than half as much as the first, beyond chance.

    Regret that grows like the square root of T would have a second half of 0.41 times the first, a logarithm one of 0.1.
    """
    curves = evidence["T4-weights"].curves
    straight, above, numbers = [], [], []
    for curve in curves:
        horizon = float(curve.places[-1])
        first, last = curve.at(horizon / 2), curve.at()
        text = f"{curve.label}: half the first half less the second"
        straight.append(mean_below_zero(0.5 * first - (last - first), text, float(first.mean())))
        least = float(naive_lower_bound([0.6, 0.4], int(horizon)))
        above.append(mean_below_zero(least - last, f"{curve.label}: bound less regret", least))
        numbers.append(end(curve))
    numbers.append(Number("lower bound", least))
    holds, text = all_hold(straight)
    holds = holds and not any(contradicted(test, len(above)) for test in above)
    seen = power_of(straight)
    power = Power(ERROR_RATE, f"straight lines are told from square roots: {seen.detects}")
    return Finding(REPRODUCED if holds else NOT_REPRODUCED, text, tuple(numbers), power)
