"""Figure 3: rewards within [0, 1]."""

from __future__ import annotations

from bandstrap.paper.claims.claim import BUCB, Evidence, Finding, claim
from bandstrap.paper.claims.statistics import ends_in, finding, lower

# The race with Giro on Bernoulli rewards is close: an advantage of so much still counts.
CLOSE = 0.02


@claim(
    "bounded",
    "4.1",
    "Figure 3",
    "Bootstrapped UCB outperforms UCB and Giro on Bernoulli and Beta bandits.",
    "3a 3b C3a",
)
def wins_on_bounded(evidence: Evidence) -> Finding:
    """Lower paired regret; the close race with Giro on Bernoulli rewards is decided over 400 replications."""
    tests = [
        lower(evidence["3a"], BUCB, "UCB"),
        lower(evidence["3b"], BUCB, "UCB"),
        lower(evidence["3b"], BUCB, "Giro"),
        lower(evidence["C3a"], BUCB, "Giro"),
    ]
    return finding(tests, ends_in(evidence, "3a 3b"), goal=CLOSE)


@claim(
    "beta-ts",
    "4.1",
    "Figure 3",
    "It outperforms Bernoulli-TS on the Beta bandit and not on the Bernoulli bandit.",
    "3a 3b",
)
def thompson_on_bounded(evidence: Evidence) -> Finding:
    """Below on Beta, above on Bernoulli."""
    tests = [lower(evidence["3b"], BUCB, "Bernoulli-TS"), lower(evidence["3a"], "Bernoulli-TS", BUCB)]
    return finding(tests, ends_in(evidence, "3a 3b", BUCB, "Bernoulli-TS"))
