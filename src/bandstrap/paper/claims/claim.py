"""A claim of the paper: a sentence, the panels it needs, and a check that gives a verdict on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bandstrap.experiments.panels import PanelData

REPRODUCED, NOT_REPRODUCED, DEPENDS = "reproduced", "not reproduced", "depends on an unstated setting"
# The label of the paper's own policy in the panels.
BUCB = "Bootstrapped UCB"

Evidence = Mapping[str, PanelData]

# The parts of the paper, as the report's summary lists them.
SECTIONS = (
    "1 Introduction",
    "2 Bootstrapped UCB",
    "3 Regret analysis",
    "4.1 Multi-armed bandits",
    "4.2 Linear bandits",
    "A Linear regret",
    "B, C Proofs",
    "D Monte Carlo",
    "E More experiments",
)


@dataclass(frozen=True)
class Power:
    """How often a check errs, and what it sees: a verdict is worth as much as this.

    ``error_rate`` is the probability, at most, of the verdict *reproduced* where the sentence is false (or, where a
    theorem is held to be true until it is contradicted, of *not reproduced* where it is true); None for a rule of the eye.
    ``detects`` says which departure the check would find, and how often.
    """

    error_rate: float | None
    detects: str


@dataclass(frozen=True)
class Number:
    """One of our numbers, with its standard error and the published one where there are any."""

    name: str
    ours: float
    error: float | None = None
    published: float | None = None


@dataclass(frozen=True)
class Finding:
    """What a check found, and what it could have found."""

    verdict: str
    statistic: str
    numbers: tuple[Number, ...]
    power: Power
    setting: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in short, where it is found, the panels it needs, and its check."""

    name: str
    section: str
    where: str
    says: str
    panels: tuple[str, ...]
    check: Callable[[Evidence], Finding]


def claim(
    name: str, section: str, where: str, says: str, panels: str
) -> Callable[[Callable[[Evidence], Finding]], Claim]:
    """Make a claim of a check; ``section`` is the number of one of ``SECTIONS``."""
    (title,) = (each for each in SECTIONS if each.split()[0].rstrip(",") == section)
    return lambda check: Claim(name, title, where, says, tuple(panels.split()), check)
