"""Figure 7: Giro on unbounded rewards."""

from __future__ import annotations

from bandstrap.paper.claims.claim import BUCB, DEPENDS, NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Number, claim
from bandstrap.paper.claims.statistics import ends, lower, power_of, straightness


@claim(
    "giro-unbounded",
    "E",
    "Figure 7, footnote of section 4.1",
    "Giro fails on unbounded rewards, with linear regret in most cases.",
    "7a",
)
def giro_fails(evidence: Evidence) -> Finding:
    """Fails: regret at least twice bootstrapped UCB's; with one pseudo-reward of each kind per reward, and with fewer."""
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
    return Finding(verdict, text, numbers, power_of([*tests.values()]), setting)
