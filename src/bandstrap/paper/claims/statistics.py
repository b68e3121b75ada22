"""Comparisons: the evidence needed before a sentence of the paper counts as reproduced.

Differences between policies are paired: they met the same rewards. A test says *reproduced* when the paper's sentence
holds beyond chance, with an error rate of ``ERROR_RATE`` for each comparison; where several must hold, that is the
error rate of all of them together, because one false sentence among them is enough to fail. Standard errors are
estimated, from a few replications in a quick run, so that limits are quantiles of Student's distribution. What a
check would see is said for a probability of ``POWER``.

A sentence about several panels is tested in all of them, and holds if all comparisons do; how many of them do is said. One
that is not found to hold is *not reproduced* if the contrary was found, or if the advantage was found to be at most
``ADVANTAGE``; otherwise it is *undecided*. So is a theorem that nothing contradicts where its check would see nothing less
than a miss rate of ``EXCESS`` times what is allowed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc, bdtri, bdtrik, nctdtrinc, ndtri, stdtrit

from bandstrap.basics.arrays import Floats
from bandstrap.experiments.panels import CurveData, PanelData
from bandstrap.paper.claims.claim import NOT_REPRODUCED, REPRODUCED, UNDECIDED, Evidence, Finding, Power, ReportedNumber

ERROR_RATE = 0.01
POWER = 0.9
# What checks are meant to see with probability ``POWER``: an advantage, as a part of what is compared; a miss rate, in
# parts of what is allowed; and how far off the middle one of published points is, as a part of it.
ADVANTAGE, EXCESS, OFF = 0.25, 1.5, 0.25


def limit_of(freedom: float, several: int = 1) -> float:
    """Number of standard errors that noise alone passes in ``ERROR_RATE`` of cases, shared by several comparisons.

    ``freedom`` is the number of degrees of freedom of the standard error: one less than the replications, or infinite.
    """
    return -float(stdtrit(freedom, ERROR_RATE / several))


def distance_seen(freedom: float, several: int = 1) -> float:
    """Number of standard errors by which the truth must be away from a limit to be told from it with probability
    ``POWER``.
    """
    return float(nctdtrinc(freedom, 1 - POWER, limit_of(freedom, several)))


@dataclass(frozen=True)
class OneSidedComparison:
    """A one-sided comparison: how many standard errors the paper's side is ahead, and what one of them is worth.

    ``error`` is a standard error as a part of what is compared, such as the rival's regret.
    """

    text: str
    z: float
    error: float
    freedom: float

    def holds_among(self, several: int) -> bool:
        """Return whether chance alone would do this, in any of several comparisons, in less than ``ERROR_RATE`` of
        cases.
        """
        return self.z > limit_of(self.freedom, several)

    @property
    def holds(self) -> bool:
        """True if chance alone would do this in less than ``ERROR_RATE`` of cases."""
        return self.holds_among(1)

    def is_contradicted(self, several: int) -> bool:
        """Return whether the opposite is true beyond chance, at ``ERROR_RATE`` for all of several comparisons."""
        return self.z < -limit_of(self.freedom, several)

    @property
    def at_most(self) -> float:
        """Upper limit of the advantage, as a part of what is compared, but for ``ERROR_RATE``."""
        return (self.z + limit_of(self.freedom)) * self.error

    def seen_among(self, several: int) -> float:
        """The true advantage, as a part of what is compared, that is found with probability ``POWER``."""
        return distance_seen(self.freedom, several) * self.error

    @property
    def smallest_seen(self) -> float:
        """The same of a comparison that shares its error rate with no other."""
        return self.seen_among(1)


def lower(
    panel: PanelData, first: str, second: str, *, factor: float = 1.0, place: float | None = None
) -> OneSidedComparison:
    """Is the first's mean regret below ``factor`` times the second's? Paired over the replications both played."""
    one, other = panel[first].at(place), panel[second].at(place)
    n = min(one.size, other.size)
    return mean_below_zero(
        one[:n] - factor * other[:n],
        f"{first} below {f'{factor:.2g} times ' if factor != 1 else ''}{second}"
        + (f" at {place:g}" if place is not None else ""),
        factor * float(other[:n].mean()),
    )


def mean_below_zero(values: Floats, text: str, unit: float) -> OneSidedComparison:
    """Is the mean of values negative? ``unit`` is what they are to be seen beside."""
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    mean = float(values.mean())
    text = f"{text}: {'+' * (mean >= 0)}{brief(mean)} ± {brief(error, 2)}"
    return OneSidedComparison(text, in_errors(-mean, error), in_errors(error, unit), values.size - 1)


def in_errors(distance: float, error: float | None) -> float:
    """A distance in standard errors; infinite where all replications agree, 0 if there is no distance."""
    if distance == 0:
        return 0.0
    return distance / error if error else math.copysign(math.inf, distance)


def all_hold(tests: list[OneSidedComparison]) -> tuple[bool, str]:
    """Return whether all tests hold, and how many and the weakest of them in words."""
    weakest = min(tests, key=lambda test: test.z)
    held = sum(test.holds for test in tests)
    many = f"{held} of {len(tests)} comparisons hold, the weakest: " if len(tests) > 1 else ""
    return held == len(tests), f"{many}{weakest.text} ({weakest.z:.1f} standard errors)"


def finding(tests: list[OneSidedComparison], numbers: Sequence[ReportedNumber], *, goal: float = ADVANTAGE) -> Finding:
    """Reproduced if all tests hold; see :func:`verdict_of` for what those that do not decide."""
    _, text = all_hold(tests)
    hold = (sum(test.holds for test in tests), len(tests))
    return Finding(verdict_of(tests, goal), text, tuple(numbers), power_of(tests, goal), hold=hold)


def verdict_of(tests: Sequence[OneSidedComparison], goal: float = ADVANTAGE) -> str:
    """The verdict on a sentence that holds if all of several comparisons do; see the module for what is undecided."""
    failed = [test for test in tests if not test.holds]
    if not failed:
        return REPRODUCED
    found = any(test.is_contradicted(len(tests)) or test.at_most <= goal for test in failed)
    return NOT_REPRODUCED if found else UNDECIDED


def unless_contradicted(is_contradicted: bool, power: Power) -> str:
    """The verdict on a theorem that is held to be true until it is contradicted, by a check that could have done it."""
    if is_contradicted:
        return NOT_REPRODUCED
    return REPRODUCED if power.reached else UNDECIDED


def unless_unseen(is_found: bool, power: Power) -> str:
    """The verdict on a sentence that is false unless it is found to be true, by a check that could have found it."""
    if is_found:
        return REPRODUCED
    return NOT_REPRODUCED if power.reached else UNDECIDED


def power_of(tests: list[OneSidedComparison], goal: float = ADVANTAGE) -> Power:
    """Power of comparisons that must all hold: that of the least sensitive."""
    most = max(test.smallest_seen for test in tests)
    each = "each of these comparisons" if len(tests) > 1 else "the comparison"
    text = f"a true advantage of {most:.1%} is found by {each} with probability {POWER:g}"
    return Power(ERROR_RATE, text, reached=most <= goal)


def misses_too_often(misses: int, total: int, allowed: float, cells: int) -> bool:
    """Would a miss probability of ``allowed`` give so many misses in less than ``ERROR_RATE / cells`` of cases?"""
    return bool(misses > 0 and bdtrc(misses - 1, total, allowed) < ERROR_RATE / cells)


def smallest_rate_seen(total: int, allowed: float, cells: int) -> float:
    """The true miss rate that :func:`misses_too_often` sees in one of ``cells`` cells with probability ``POWER``."""
    most = int(bdtrik(1 - ERROR_RATE / cells, total, allowed))
    while not misses_too_often(most, total, allowed, cells):
        most += 1
    return float(bdtri(most - 1, total, 1 - POWER))


def power_of_cells(total: int, allowed: float, cells: int) -> Power:
    """Power of a look at the misses of ``cells`` cells of ``total`` samples each would see."""
    rate = smallest_rate_seen(total, allowed, cells)
    return Power(
        ERROR_RATE,
        f"a miss rate of {rate:.4f} in place of {allowed:.4f} in a single cell is seen with probability {POWER:g}",
        reached=rate <= EXCESS * allowed,
    )


def end(curve: CurveData, place: float | None = None) -> ReportedNumber:
    """A curve's last point, or its point at a place."""
    values = curve.at(place)
    error = float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else None
    name = curve.label if place is None else f"{curve.label} at {place:g}"
    published = dict(curve.published).get(float(curve.places[-1]) if place is None else place)
    return ReportedNumber(name, float(values.mean()), error, published)


def ends(panel: PanelData) -> list[ReportedNumber]:
    """The end of every curve of a panel."""
    return [end(curve) for curve in panel.curves]


def ends_in(evidence: Evidence, names: str, *labels: str) -> list[ReportedNumber]:
    """The ends of curves of several panels, told apart by the panel's name; of all their curves by default."""
    return [
        dataclasses.replace(number, name=f"{number.name} ({name})")
        for name in names.split()
        for number in ends(evidence[name])
        if not labels or number.name in labels
    ]


def brief(value: float, digits: int = 3) -> str:
    """A few digits, and no powers of ten for large numbers."""
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def late_and_before(curve: CurveData) -> tuple[Floats, Floats]:
    """Regret of the last half of the rounds, and of the quarter before it, in each replication."""
    last = float(curve.places[-1])
    half, quarter = curve.at(last / 2), curve.at(last / 4)
    return curve.at() - half, half - quarter


def exponent(curve: CurveData) -> float:
    """``p`` if late regret grows like ``T^p``: 1 for a straight line, 0 for a logarithm."""
    late, before = late_and_before(curve)
    ratio = float(late.mean()) / float(before.mean()) if before.mean() > 0 else 0.0
    return math.log2(ratio) if ratio > 0 else -math.inf


def grows_faster(curve: CurveData, power: float) -> OneSidedComparison:
    """Does regret grow faster than ``T^power``? The last half then costs more than ``2^power`` times the quarter before."""
    late, before = late_and_before(curve)
    bar = 2**power * before
    test = mean_below_zero(bar - late, "", float(bar.mean()))
    return dataclasses.replace(test, text=f"{curve.label} grows like T^{exponent(curve):.2f}, above T^{power:g}")


def grows_slower(curve: CurveData, power: float) -> OneSidedComparison:
    """Does regret grow more slowly than ``T^power``?"""
    late, before = late_and_before(curve)
    bar = 2**power * before
    test = mean_below_zero(late - bar, "", float(bar.mean()))
    return dataclasses.replace(test, text=f"{curve.label} grows like T^{exponent(curve):.2f}, below T^{power:g}")


def growth_seen(tests: Sequence[OneSidedComparison], power: float, several: int = 1) -> float:
    """The order of growth that each of some tests against ``T^power`` tells from it with probability ``POWER``.

    Runs are taken to scatter as those at hand do; ``several`` of the tests share the error rate.
    """
    return power + math.log2(1 + max(test.seen_among(several) for test in tests))


class Estimate(NamedTuple):
    """A number, its standard error, and the degrees of freedom of that."""

    value: float
    error: float
    freedom: float


def ratio(panel: PanelData, first: str, second: str) -> Estimate:
    """Mean regret of the first over that of the second; they met the same rewards."""
    one, other = panel[first].at(), panel[second].at()
    n = min(one.size, other.size)
    value = float(one[:n].mean() / other[:n].mean())
    error = float((one[:n] - value * other[:n]).std(ddof=1)) / math.sqrt(n) / float(other[:n].mean())
    return Estimate(value, error, n - 1)


def sidak(rate: float, tests: int) -> float:
    """The two-sided limit, in standard errors, that one of so many normal numbers passes with probability ``rate``.

    Exactly if they are independent; dependent ones pass it less often (Sidak's inequality).
    """
    return -float(ndtri((1 - (1 - rate) ** (1 / tests)) / 2))


@dataclass(frozen=True)
class Exponent:
    """A fitted power, ``mean = c x^value``, its standard error and the degrees of freedom of that."""

    name: str
    value: float
    error: float
    freedom: float

    def below(self, limit: float) -> OneSidedComparison:
        """Is the power below a limit, beyond chance?"""
        text = f"{self.name}: power {self.value:.2f} ± {self.error:.2g}, below {limit:g}"
        return self._compared(limit - self.value, limit, text)

    def above(self, limit: float) -> OneSidedComparison:
        """Is the power above a limit, beyond chance?"""
        text = f"{self.name}: power {self.value:.2f} ± {self.error:.2g}, above {limit:g}"
        return self._compared(self.value - limit, limit, text)

    def _compared(self, ahead: float, limit: float, text: str) -> OneSidedComparison:
        return OneSidedComparison(text, in_errors(ahead, self.error), in_errors(self.error, abs(limit)), self.freedom)

    def distance_seen(self, several: int = 1) -> float:
        """Distance from a limit at which the true power must be to be told from it with probability ``POWER``."""
        return distance_seen(self.freedom, several) * self.error

    @property
    def number(self) -> ReportedNumber:
        """Row of the table of numbers."""
        return ReportedNumber(f"fitted power, {self.name}", self.value, self.error)


def fitted_exponent(name: str, x: Floats, values: Floats) -> Exponent:
    """The power of ``x`` that the means of ``values`` follow, by least squares on logarithms.

    ``values`` has a row per replication. Replications may share their luck along a row, so the standard error is that of
    the jackknife over rows.
    """
    centred = np.log(x) - np.log(x).mean()
    slope = centred / (centred @ centred)
    total, n = values.sum(axis=0), len(values)
    without = np.log((total - values) / (n - 1)) @ slope
    error = math.sqrt((n - 1) / n * float(np.sum((without - without.mean()) ** 2)))
    return Exponent(name, float(np.log(total / n) @ slope), error, n - 1)


def power_of_exponents(exponents: Sequence[Exponent]) -> str:
    """Departure of a power that would be found by the least sensitive of several."""
    most = max(each.distance_seen(len(exponents)) for each in exponents)
    return f"a power that is larger by {most:.2f} is found with probability {POWER:g}"
