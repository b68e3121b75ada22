"""Figure 4: a wrong sigma, and gaps of every size."""

from __future__ import annotations

from bandstrap.paper.claims.claim import BUCB, Evidence, Finding, claim
from bandstrap.paper.claims.statistics import end, finding, lower, mean_below_zero


@claim(
    "robust-sigma",
    "4.1",
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
            text = f"{BUCB} grows less than {rival} from 1 to {value:g}"
            tests.append(mean_below_zero(grows - rival_grows, text, float(rival_grows.mean())))
    return finding(tests, [end(curve, place) for curve in panel.curves for place in (1.0, 20.0, 100.0)])


@claim(
    "gaps",
    "4.1",
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
