"""Figure 2: truncated-normal and Gaussian rewards."""

from __future__ import annotations

import dataclasses
import math

from bandstrap.paper.claims.claim import BUCB, Evidence, Finding, ReportedNumber, claim
from bandstrap.paper.claims.statistics import (
    OneSidedComparison,
    ends,
    ends_in,
    finding,
    in_errors,
    lower,
    mean_below_zero,
    ratio,
)

# Thompson sampling deteriorates fast if its regret with twice the sigma is so many times as large.
FAST = 1.5


@claim(
    "truncated-normal",
    "4.1",
    "Figure 2 (a), (b)",
    "Bootstrapped UCB outperforms Jeffreys-TS and UCB on truncated-normal bandits.",
    "2a 2b",
)
def wins_on_truncated_normal(evidence: Evidence) -> Finding:
    """Lower paired regret than both, in both panels."""
    tests = [lower(evidence[name], BUCB, rival) for name in ("2a", "2b") for rival in ("Jeffreys-TS", "UCB")]
    return finding(tests, ends_in(evidence, "2a 2b"))


@claim("kl-ucb", "4.1", "Figure 2 (a), (b)", "There it is comparable to or better than empirical KL-UCB.", "2a 2b")
def comparable_to_kl_ucb(evidence: Evidence) -> Finding:
    """At most 10 % above."""
    tests = [lower(evidence[name], BUCB, "KL-UCB", factor=1.1) for name in ("2a", "2b")]
    return finding(tests, ends_in(evidence, "2a 2b", BUCB, "KL-UCB"))


@claim(
    "exact-posterior",
    "4.1",
    "Figure 2 (d)",
    "With Gaussian rewards and the right sigma, Jeffreys-TS is the best.",
    "2d",
)
def thompson_wins_with_the_truth(evidence: Evidence) -> Finding:
    """Below both others."""
    tests = [lower(evidence["2d"], "Jeffreys-TS", rival) for rival in (BUCB, "UCB")]
    return finding(tests, ends(evidence["2d"]))


@claim(
    "misspecified",
    "4.1",
    "Figure 2 (c)",
    "With sigma misspecified, Jeffreys-TS deteriorates: bootstrapped UCB beats it on Gaussian rewards too.",
    "2c",
)
def thompson_loses_with_a_wrong_sigma(evidence: Evidence) -> Finding:
    """Bootstrapped UCB below Jeffreys-TS."""
    return finding([lower(evidence["2c"], BUCB, "Jeffreys-TS")], ends(evidence["2c"]))


@claim(
    "deteriorates",
    "4.1",
    "Figure 2 (a) to (c) against (d)",
    "Where the posterior or sigma is misspecified, Thompson sampling deteriorates fast.",
    "2a 2b 2c 2d",
)
def thompson_deteriorates(evidence: Evidence) -> Finding:
    """Beside bootstrapped UCB it is worse in (a) to (c) than in (d); fast: twice the sigma costs half as much again."""
    right = ratio(evidence["2d"], "Jeffreys-TS", BUCB)
    numbers = [ReportedNumber("Jeffreys-TS over bootstrapped UCB (2d)", right.value, right.error)]
    tests = []
    for name in ("2a", "2b", "2c"):
        wrong = ratio(evidence[name], "Jeffreys-TS", BUCB)
        numbers.append(ReportedNumber(f"Jeffreys-TS over bootstrapped UCB ({name})", wrong.value, wrong.error))
        text = f"Jeffreys-TS over {BUCB}: {wrong.value:.2f} in {name}, {right.value:.2f} in 2d"
        # Their errors are put together as if no two panels had met the same rewards.
        error, freedom = math.hypot(wrong.error, right.error), min(wrong.freedom, right.freedom)
        z = in_errors(wrong.value - right.value, error)
        tests.append(OneSidedComparison(text, z, in_errors(error, right.value), freedom))
    # (c) and (d) are one bandit, met by the same rewards.
    right_sigma, wrong_sigma = evidence["2d"]["Jeffreys-TS"].at(), evidence["2c"]["Jeffreys-TS"].at()
    n = min(right_sigma.size, wrong_sigma.size)
    more = FAST * right_sigma[:n]
    tests.append(
        mean_below_zero(more - wrong_sigma[:n], f"Jeffreys-TS in 2d, {FAST:g} times, minus 2c", float(more.mean()))
    )
    return finding(tests, [*numbers, *ends_in(evidence, "2c 2d", "Jeffreys-TS")])


def superior(evidence: Evidence, panels: dict[str, str]) -> Finding:
    """Bootstrapped UCB below Thompson sampling, named for each panel, and below UCB."""
    tests = []
    for name, thompson in panels.items():
        for rival in (thompson, "UCB"):
            test = lower(evidence[name], BUCB, rival)
            tests.append(dataclasses.replace(test, text=f"{name}, {test.text}"))
    return finding(tests, ends_in(evidence, " ".join(panels), BUCB, "Jeffreys-TS", "Bernoulli-TS", "UCB"))


@claim(
    "introduction-posterior",
    "1",
    "Section 1",
    "Where the exact posterior is unavailable, bootstrapped UCB is superior to Thompson sampling and to UCB.",
    "2a 2b 3b 7a 7b",
)
def superior_without_the_posterior(evidence: Evidence) -> Finding:
    """Below both in every such panel of the paper: truncated normal, Beta, logistic."""
    return superior(evidence, dict.fromkeys(("2a", "2b", "7a", "7b"), "Jeffreys-TS") | {"3b": "Bernoulli-TS"})


@claim(
    "introduction-variance",
    "1",
    "Section 1",
    "Where the noise variance is misspecified, bootstrapped UCB is superior to Thompson sampling and to UCB.",
    "2b 2c 7b",
)
def superior_with_a_wrong_variance(evidence: Evidence) -> Finding:
    """Below both in every panel with sigma = 2: truncated normal, Gaussian, logistic."""
    return superior(evidence, dict.fromkeys(("2b", "2c", "7b"), "Jeffreys-TS"))


@claim(
    "ucb-conservative",
    "4.1",
    "Figure 2",
    "UCB uses nothing but the tails; it is conservative and has bad regret.",
    "2a 2b 2c 2d",
)
def ucb_is_worst(evidence: Evidence) -> Finding:
    """The worst of all, in all four panels."""
    tests = []
    for name in ("2a", "2b", "2c", "2d"):
        for curve in evidence[name].curves:
            if curve.label != "UCB":
                test = lower(evidence[name], curve.label, "UCB")
                tests.append(dataclasses.replace(test, text=f"{name}, {test.text}"))
    return finding(tests, ends_in(evidence, "2a 2b 2c 2d", "UCB", BUCB))
