"""A claim of the paper: a sentence, the panels it needs, and a check that gives a verdict on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bandstrap.experiments.run import PanelData

REPRODUCED, NOT_REPRODUCED, DEPENDS = "reproduced", "not reproduced", "depends on an unstated setting"
# The label of the paper's own policy in the panels.
BUCB = "Bootstrapped UCB"

Evidence = Mapping[str, PanelData]


@dataclass(frozen=True)
class Number:
    """One of our numbers, with its standard error and the published one where there are any."""

    name: str
    ours: float
    error: float | None = None
    published: float | None = None


@dataclass(frozen=True)
class Finding:
    """What a check found."""

    verdict: str
    statistic: str
    numbers: tuple[Number, ...]
    setting: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in short, where it is found, the panels it needs, and its check."""

    name: str
    where: str
    says: str
    panels: tuple[str, ...]
    check: Callable[[Evidence], Finding]


def claim(name: str, where: str, says: str, panels: str) -> Callable[[Callable[[Evidence], Finding]], Claim]:
    """Make a claim of a check."""
    return lambda check: Claim(name, where, says, tuple(panels.split()), check)
