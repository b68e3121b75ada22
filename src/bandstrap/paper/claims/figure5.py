"""Figure 5: linear bandits."""

from __future__ import annotations

from bandstrap.paper.claims.claim import DEPENDS, NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Number, claim
from bandstrap.paper.claims.statistics import all_hold, ends, lower, power_of, share_of_losses

# A policy that greatly improves on another loses to it in no more than this share of runs.
MOST_LOST = 0.02


@claim(
    "linear",
    "4.2",
    "Figure 5, section 4.2",
    "BUCBL greatly improves on TSL and OFUL in linear bandits.",
    "5a 5b",
)
def linear_bandits(evidence: Evidence) -> Finding:
    """Greatly: regret of at most two thirds of the others' (the paper: less than half), and rarely a run that loses."""
    good, words, every = {}, [], []
    for ridge in ("1", "0.1"):
        label = f"BUCBL, lambda = {ridge}"
        tests = [
            lower(evidence[name], label, rival, factor=2 / 3)
            for name in ("5a", "5b")
            for rival in ("OFUL, closed form", "TSL (paper)")
        ]
        lost = max(share_of_losses(evidence[name], label, "OFUL, closed form") for name in ("5a", "5b"))
        every += tests
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
    return Finding(verdict, "; ".join(words), numbers, power_of(every), setting if verdict == DEPENDS else "")
