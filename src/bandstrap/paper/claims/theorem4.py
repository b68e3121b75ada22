"""The proof of theorem 4: the quantile of rewards that are all zero."""

from __future__ import annotations

from bandstrap.paper.claims.claim import NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Power, ReportedNumber, claim


@claim(
    "zero-quantile",
    "A",
    "Theorem 4, proof",
    "No matter how the data are bootstrapped, the quantile of rewards that are all zero is zero.",
    "T4-zeros T4-zeros-draws",
)
def quantile_of_zeros(evidence: Evidence) -> Finding:
    """Exactly zero, for every distribution of weights, computed and from draws, at every n."""
    curves = {
        f"{curve.label}{draws}": curve
        for name, draws in (("T4-zeros", ""), ("T4-zeros-draws", ", 200 draws"))
        for curve in evidence[name].curves
    }
    numbers = tuple(
        ReportedNumber(f"largest threshold, {name}", float(abs(curve.mean).max())) for name, curve in curves.items()
    )
    largest = max(number.ours for number in numbers)
    text = f"largest of {sum(curve.places.size for curve in curves.values())} thresholds: {largest:g}"
    power = Power(None, "numbers are compared with zero, without chance: any other number is seen")
    return Finding(REPRODUCED if largest == 0 else NOT_REPRODUCED, text, numbers, power)
