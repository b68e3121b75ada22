"""Figure 1: thresholds of the naive and the corrected bootstrap beside their rivals'."""

from __future__ import annotations

import numpy as np
from scipy.special import bdtrc

from bandstrap.paper.claims.claim import NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Number, Power, claim
from bandstrap.paper.claims.statistics import ERROR_RATE, POWER, misses_too_often, smallest_rate_seen


@claim(
    "naive-invalid",
    "2",
    "Figure 1, section 2",
    "For n up to 10 the naive bootstrap threshold is too small to be valid.",
    "C1",
)
def naive_is_invalid(evidence: Evidence) -> Finding:
    """Misses above 5 % at every n up to 10."""
    rows = evidence["C1"]["bootstrap, naive"].rows
    tails = [float(bdtrc(row.misses - 1, row.replications, row.alpha)) for row in rows]
    worst = int(np.argmax(tails))
    numbers = [
        Number(f"miss rate at n = {row.sample_size}", row.miss_rate) for row in rows if row.sample_size in (1, 2, 5, 10)
    ]
    text = f"largest binomial p-value of a miss rate of 5 %, at n = {rows[worst].sample_size}: {tails[worst]:.2g}"
    rate = smallest_rate_seen(min(row.replications for row in rows), rows[0].alpha, 1)
    power = Power(
        ERROR_RATE, f"a true miss rate of {rate:.4f} is told from {rows[0].alpha:g} with probability {POWER:g}"
    )
    return Finding(REPRODUCED if max(tails) < ERROR_RATE else NOT_REPRODUCED, text, tuple(numbers), power)


@claim(
    "corrected-valid",
    "2",
    "Figure 1, section 2",
    "With the second-order correction the threshold is valid and converges to the true quantile as n grows.",
    "1a 1b",
)
def corrected_is_valid(evidence: Evidence) -> Finding:
    """No more misses than 5 %, and an excess over the truth that shrinks to a fifth at n = 1000."""
    forms = ("bootstrap, as stated", "bootstrap, practical")
    rows = [row for name in ("1a", "1b") for form in forms for row in evidence[name][form].rows]
    bad = [row for row in rows if misses_too_often(row.misses, row.replications, row.alpha, len(rows))]
    truth, ours = evidence["1b"]["true 95 % quantile of the mean"].mean, evidence["1b"]["bootstrap, practical"].mean
    excess = ours / truth - 1
    numbers = [
        Number("largest miss rate", max(row.miss_rate for row in rows)),
        Number("practical over true, n = 20", float(ours[0] / truth[0])),
        Number("practical over true, n = 1000", float(ours[-1] / truth[-1])),
    ]
    holds = not bad and excess[-1] < 0.2 * excess[0]
    text = (
        f"{len(bad)} of {len(rows)} cells miss more than 5 %; "
        f"excess over the truth {excess[0]:.0%} at n = 20, {excess[-1]:.0%} at n = 1000"
    )
    rate = smallest_rate_seen(min(row.replications for row in rows), rows[0].alpha, len(rows))
    power = Power(
        ERROR_RATE,
        f"a miss rate of {rate:.3f} in a single cell is seen with probability {POWER:g}; "
        "that the excess must shrink to a fifth is a rule of the eye",
    )
    return Finding(REPRODUCED if holds else NOT_REPRODUCED, text, tuple(numbers), power)


@claim(
    "sharper",
    "2",
    "Figure 1, section 2",
    "For large n the bootstrapped threshold is sharper than Hoeffding's and the empirical Bernstein bound.",
    "1b",
)
def bootstrap_is_sharper(evidence: Evidence) -> Finding:
    """Both forms below both rivals at every n of at least 100."""
    panel = evidence["1b"]
    sizes = panel.curves[0].places
    rivals = ("Hoeffding, sigma = 1", "empirical Bernstein, b = 1 (paper)")
    forms = ("bootstrap, as stated", "bootstrap, practical")
    ratio = max(float((panel[form].mean / panel[rival].mean)[sizes >= 100].max()) for form in forms for rival in rivals)
    numbers = [
        Number(f"{label}, n = 1000", float(panel[label].mean[-1]), None, dict(panel[label].published).get(1000.0))
        for label in (*forms, *rivals)
    ]
    text = f"largest ratio of a bootstrapped threshold to a rival's for n >= 100: {ratio:.2f}"
    power = Power(None, "means of hundreds of thresholds are compared, without a test")
    return Finding(REPRODUCED if ratio < 1 else NOT_REPRODUCED, text, tuple(numbers), power)
