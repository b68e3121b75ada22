"""A claim of the paper: a sentence, the panels it needs, and a check that gives a verdict on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bandstrap.experiments.panels import PanelData

REPRODUCED, NOT_REPRODUCED, DEPENDS = "reproduced", "not reproduced", "depends on an unstated setting"
# Nothing was found, and a check of this power need not have found anything.
UNDECIDED = "undecided"
VERDICTS = (REPRODUCED, DEPENDS, NOT_REPRODUCED, UNDECIDED)
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
    """Power of a check: how often it errs, and which errors it detects.

    ``error_rate`` is the probability, at most, of the verdict *reproduced* where the sentence is false (or, where a
    theorem is held to be true until it is contradicted, of *not reproduced* where it is true); None for a rule of the eye.
    ``detects`` says which departure the check would find, and how often. ``reached`` is whether that is as small as the
    check is meant for: where nothing was found and it is not, nothing is decided.
    """

    error_rate: float | None
    detects: str
    reached: bool = True


@dataclass(frozen=True)
class ReportedNumber:
    """One of our numbers, with its standard error and the published one where there are any."""

    name: str
    ours: float
    error: float | None = None
    published: float | None = None


@dataclass(frozen=True)
class Finding:
    """Finding of a check, and its power.

    ``hold`` is how many of how many comparisons hold, where a sentence is about several.
    """

    verdict: str
    statistic: str
    numbers: tuple[ReportedNumber, ...]
    power: Power
    setting: str = ""
    hold: tuple[int, int] | None = None

    @property
    def shown(self) -> str:
        """The verdict, with what it hangs on and how many of several comparisons hold where not all do."""
        some = f"{self.hold[0]} of {self.hold[1]} comparisons hold" if self.hold and self.hold[0] < self.hold[1] else ""
        more = "; ".join(text for text in (some, self.setting) if text)
        return f"{self.verdict} ({more})" if more else self.verdict


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in short, where it is found, the panels it needs, and its check.

    A claim of ``ours`` is not in the paper: what it should have said, or a reading that goes beyond its words.
    """

    name: str
    section: str
    where: str
    says: str
    panels: tuple[str, ...]
    check: Callable[[Evidence], Finding]
    ours: bool = False


def claim(
    name: str, section: str, where: str, says: str, panels: str, *, ours: bool = False
) -> Callable[[Callable[[Evidence], Finding]], Claim]:
    """Make a claim of a check; ``section`` is the number of one of ``SECTIONS``."""
    (title,) = (each for each in SECTIONS if each.split()[0].rstrip(",") == section)
    return lambda check: Claim(name, title, where, says, tuple(panels.split()), check, ours)
