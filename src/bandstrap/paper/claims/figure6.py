"""Theorem 4 and Figure 6: without the correction regret is linear."""

from __future__ import annotations

from scipy.special import ndtri

from bandstrap.paper.claims.claim import NOT_REPRODUCED, REPRODUCED, Evidence, Finding, Number, Power, claim
from bandstrap.paper.claims.statistics import ERROR_RATE, all_hold, end, ends, in_errors, lower, straightness
from bandstrap.theory import naive_lower_bound


@claim(
    "theorem-4",
    "A",
    "Theorem 4, Figure 6",
    "Naive bootstrapped UCB has linear regret on a two-armed Bernoulli bandit, at least gap ((1 - mu_1) mu_2 (T - 2) + 1).",
    "6a",
)
def naive_regret_is_linear(evidence: Evidence) -> Finding:
    """Not below the bound, and a straight line where the others flatten."""
    panel = evidence["6a"]
    naive = panel["naive bootstrap"]
    least = float(naive_lower_bound([0.6, 0.4], int(naive.places[-1])))
    value = end(naive)
    # The theorem is contradicted when regret is below the bound beyond chance.
    z = in_errors(value.ours - least, value.error)
    straight = straightness(naive)
    holds = z > float(ndtri(ERROR_RATE)) and straight > 0.8
    numbers = (
        value,
        Number("lower bound", least),
        Number("second half over first, naive", straight),
        Number("second half over first, UCB", straightness(panel["UCB"])),
    )
    text = (
        f"naive regret {value.ours:.0f} against the bound {least:.0f}; "
        f"the second half of the rounds costs {straight:.2f} times the first"
    )
    power = Power(None, "straight means that the second half costs at least 0.8 of the first: a rule of the eye")
    return Finding(REPRODUCED if holds else NOT_REPRODUCED, text, numbers, power)


@claim(
    "figure-6",
    "A",
    "Figure 6",
    "The naive version's regret is linear on Bernoulli and Gaussian bandits, where Thompson sampling's and UCB's are not.",
    "6a 6b",
)
def naive_loses(evidence: Evidence) -> Finding:
    """Naive above both others, and straight."""
    tests = []
    numbers = []
    straight = []
    for name in ("6a", "6b"):
        panel = evidence[name]
        others = [curve.label for curve in panel.curves if curve.label in ("Bernoulli-TS", "Jeffreys-TS", "UCB")]
        tests += [lower(panel, other, "naive bootstrap") for other in others]
        straight.append(straightness(panel["naive bootstrap"]))
        numbers += [Number(f"{number.name}, {panel.panel.title}", number.ours, number.error) for number in ends(panel)]
    holds, text = all_hold(tests)
    holds = holds and min(straight) > 0.8
    text += f"; second half over first half of naive regret {min(straight):.2f} or more"
    power = Power(None, "straight means that the second half costs at least 0.8 of the first: a rule of the eye")
    return Finding(REPRODUCED if holds else NOT_REPRODUCED, text, tuple(numbers), power)
