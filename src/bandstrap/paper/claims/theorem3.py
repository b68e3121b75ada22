"""Theorem 3: how regret grows with the horizon and as the gap shrinks."""

from __future__ import annotations

import math

from bandstrap.paper.claims.claim import Evidence, Finding, Number, claim
from bandstrap.paper.claims.statistics import end, finding, unpaired_ratio


@claim("theorem-3-log", "3", "Theorem 3", "Regret grows like log T.", "T3-horizon")
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


@claim("theorem-3-gap", "3", "Theorem 3", "Regret grows like 1/gap.", "T3-gap")
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
