"""Figure 2: truncated-normal and Gaussian rewards."""

from __future__ import annotations

import dataclasses

from bandstrap.paper.claims.claim import BUCB, Evidence, Finding, claim
from bandstrap.paper.claims.statistics import ends, ends_in, finding, lower, mean_below_zero


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


@claim(
    "kl-ucb",
    "4.1",
    "Figure 2 (a), (b)",
    "There it is comparable to or better than empirical KL-UCB.",
    "2a 2b",
)
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
    "ucb-conservative",
    "4.1",
    "Figure 2 (a) to (c)",
    "UCB uses nothing but the tails; it is conservative and has bad regret.",
    "2a 2b 2c 2d",
)
def ucb_is_worst(evidence: Evidence) -> Finding:
    """The worst of all; (d) is left out, where bootstrapped UCB is no better in the published figure either."""
    names = ("2a", "2b", "2c")
    tests = [
        lower(evidence[name], curve.label, "UCB")
        for name in names
        for curve in evidence[name].curves
        if curve.label != "UCB"
    ]
    found = finding(tests, ends_in(evidence, "2a 2b 2c", "UCB"))
    ours, ucb = evidence["2d"][BUCB].at(), evidence["2d"]["UCB"].at()
    in_d = mean_below_zero(ours - ucb, f"in (d), {BUCB} minus UCB", float(ucb.mean()))
    return dataclasses.replace(found, statistic=f"{found.statistic}; {in_d.text}")
