"""The sentences of the paper that are tested, as checks with a test statistic and an error rate.

A module holds the claims on the panels of the ``.toml`` file of its name (and of ``close_races.toml``, which serves
figures 1, 3 and 6); ``statistics`` says what a comparison needs to hold. The published curves are claims of their own, see
``end_points``: ours agree when they pass through the points read off the printed ones, as far as chance and the eye allow.
"""

from __future__ import annotations

from types import ModuleType

from bandstrap.paper.claims import (
    figure1,
    figure2,
    figure3,
    figure4,
    figure5,
    figure6,
    figure7,
    interpolation,
    miss_rates,
    remark3,
    theorem1,
    theorem2,
    theorem3,
    theorem4,
)
from bandstrap.paper.claims.claim import (
    DEPENDS,
    NOT_REPRODUCED,
    REPRODUCED,
    SECTIONS,
    UNDECIDED,
    VERDICTS,
    Claim,
    Evidence,
    Finding,
    Power,
    ReportedNumber,
)
from bandstrap.paper.claims.end_points import END_POINTS
from bandstrap.paper.claims.statistics import ERROR_RATE


def claims_of(module: ModuleType) -> tuple[Claim, ...]:
    """The claims of a module, in the order they are written there."""
    return tuple(value for value in vars(module).values() if isinstance(value, Claim))


# In the order of the report: what the bound promises, what regret does, then figure by figure.
CLAIMS: tuple[Claim, ...] = (
    *claims_of(figure1),
    *claims_of(remark3),
    *claims_of(theorem1),
    *claims_of(miss_rates),
    *claims_of(theorem2),
    *claims_of(theorem3),
    *claims_of(theorem4),
    *claims_of(figure6),
    *claims_of(figure2),
    *claims_of(figure3),
    *claims_of(figure4),
    *claims_of(figure5),
    *claims_of(figure7),
    *END_POINTS,
    *claims_of(interpolation),
)


def examine(evidence: Evidence) -> list[tuple[Claim, Finding]]:
    """Check every claim whose panels were run."""
    return [(claim, claim.check(evidence)) for claim in CLAIMS if all(name in evidence for name in claim.panels)]


__all__ = [
    "CLAIMS",
    "DEPENDS",
    "ERROR_RATE",
    "NOT_REPRODUCED",
    "REPRODUCED",
    "SECTIONS",
    "UNDECIDED",
    "VERDICTS",
    "Claim",
    "Evidence",
    "Finding",
    "Power",
    "ReportedNumber",
    "examine",
]
