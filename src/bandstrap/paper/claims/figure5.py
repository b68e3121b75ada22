"""Figure 5: linear bandits."""

from __future__ import annotations

import dataclasses

from bandstrap.paper.claims.claim import Evidence, Finding, Number, claim
from bandstrap.paper.claims.statistics import ends, exponent, finding, lower

SIZES = (("5a", 10), ("5b", 20))


def ends_by_size(evidence: Evidence, *labels: str) -> list[Number]:
    """The ends of curves, told apart by the number of features."""
    return [
        dataclasses.replace(number, name=f"{number.name}, d = {size}")
        for name, size in SIZES
        for number in ends(evidence[name])
        if number.name in labels
    ]


@claim(
    "linear",
    "4.2",
    "Figure 5, section 4.2",
    "BUCBL greatly improves on TSL and OFUL in linear bandits.",
    "5a 5b",
)
def linear_bandits(evidence: Evidence) -> Finding:
    """Greatly: regret of at most two thirds of the others' (in the published figure it is less than half)."""
    tests = [lower(evidence[name], "BUCBL", rival, factor=2 / 3) for name, _ in SIZES for rival in ("OFUL", "TSL")]
    return finding(tests, ends_by_size(evidence, "BUCBL", "OFUL", "TSL"))


@claim(
    "tsl-constant",
    "E",
    "Supplement E.2, on TSL",
    "The larger constant that the theory of TSL asks for makes the regret explode.",
    "5c",
)
def larger_constant_explodes(evidence: Evidence) -> Finding:
    """Explodes: at least twice the regret of TSL as the paper runs it, which is itself the worst of the three."""
    panel = evidence["5c"]
    powers = [Number(f"order of growth of {curve.label}", exponent(curve)) for curve in panel.curves]
    return finding([lower(panel, "TSL", "TSL, larger constant", factor=0.5)], [*ends(panel), *powers])
