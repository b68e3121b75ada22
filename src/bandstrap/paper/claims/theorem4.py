"""The proof of theorem 4: the quantile of rewards that are all zero."""

from __future__ import annotations

from bandstrap.paper.claims.claim import NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Power, ReportedNumber, claim


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
    numbers = tuple(
        ReportedNumber(f"largest threshold, {curve.label}", float(abs(curve.mean).max())) for curve in curves
    )
    text = f"largest of {sum(curve.places.size for curve in curves)} thresholds: {largest:g}"
    power = Power(None, "numbers are compared with zero, without chance: any other number is seen")
    return Finding(REPRODUCED if largest == 0 else NOT_REPRODUCED, text, numbers, power)
