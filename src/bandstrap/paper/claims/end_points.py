"""Published curves: ours agree when they pass through the points that were read off the printed ones.

A published mean is as uncertain as ours would be over ``PUBLISHED_RUNS`` runs, and was read with the panel's reading error,
taken to be normal. The distance from ours is measured in standard errors of all three together, and all points of a figure
are looked at at once: they all agree with probability ``1 - ERROR_RATE`` or more where both come from the same settings,
however points of a curve depend on each other. Settings that were found by search were chosen to agree: they can explain a
curve, and need not be the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scipy.special import ndtr, ndtri

from bandstrap.experiments.panels import CurveData
from bandstrap.paper.claims.claim import DEPENDS, REPRODUCED, Claim, Evidence, Finding, Power, ReportedNumber, claim
from bandstrap.paper.claims.statistics import ERROR_RATE, OFF, POWER, brief, in_errors, sidak, unless_contradicted

# Realizations behind a published curve, by the captions.
PUBLISHED_RUNS = 200


@dataclass(frozen=True)
class PublishedPoint:
    """A point of ours beside the published one, and the standard error of their distance."""

    name: str
    ours: float
    error: float | None
    published: float
    uncertainty: float

    @property
    def distance(self) -> float:
        """Distance between them, in standard errors."""
        return abs(in_errors(self.ours - self.published, self.uncertainty))

    def wrong_again(self, limit: float) -> float:
        """The probability that other runs of ours are farther away than ``limit`` standard errors, judged by these."""
        if not self.error:
            return float(self.distance > limit)
        gap, reach, scatter = self.ours - self.published, limit * self.uncertainty, math.sqrt(2) * self.error
        return float(ndtr((gap - reach) / scatter) + ndtr((-gap - reach) / scatter))

    @property
    def number(self) -> ReportedNumber:
        """Row of the report."""
        return ReportedNumber(self.name, self.ours, self.error, self.published)


def points_of(evidence: Evidence, panel: str, label: str, published_of: str | None = None) -> list[PublishedPoint]:
    """The published points of a curve beside ours; ``published_of`` is the curve that has them, if it is another."""
    data = evidence[panel]
    curve = data[label]
    published = data[published_of or label].published
    return [
        compared(curve, place, value, data.panel.reading_error, name_of_point(curve, place, panel, len(published)))
        for place, value in published
    ]


def compared(curve: CurveData, place: float, published: float, reading_error: float, name: str) -> PublishedPoint:
    """A point of a curve beside the published one."""
    values = curve.at(place)
    mean = float(values.mean())
    reading = reading_error * abs(published)
    if values.size < 2:
        return PublishedPoint(name, mean, None, published, reading)
    spread = float(values.std(ddof=1))
    error = spread / math.sqrt(values.size)
    return PublishedPoint(name, mean, error, published, math.hypot(error, spread / math.sqrt(PUBLISHED_RUNS), reading))


def name_of_point(curve: CurveData, place: float, panel: str, several: int) -> str:
    """The curve, the place unless it is the only one and the last, and the panel."""
    at_end = several == 1 and place == curve.places[-1]
    return f"{curve.label} ({panel})" if at_end else f"{curve.label} at {place:g} ({panel})"


def farthest(points: Sequence[PublishedPoint]) -> PublishedPoint:
    """The point that is farthest from the published one."""
    return max(points, key=lambda point: point.distance)


def published_curves(
    names: str, *, instead: Mapping[str, str] | None = None, unstated: str = "", leaving_out: tuple[str, ...] = ()
) -> Callable[[Evidence], Finding]:
    """A check of a figure's published curves.

    ``instead`` maps a curve at the settings that the paper states or suggests ("panel: label") to the one at settings that
    were found by search, whose published points are meant for both. Where only the latter agrees, the figure depends on
    the setting, as it does where the settings are ``unstated`` altogether.
    """
    stated = dict(instead or {})

    def check(evidence: Evidence) -> Finding:
        curves = {
            f"{panel}: {curve.label}": points_of(evidence, panel, curve.label)
            for panel in names.split()
            for curve in evidence[panel].curves
            if curve.published and f"{panel}: {curve.label}" not in leaving_out
        }
        points = [point for several in curves.values() for point in several]
        limit = sidak(ERROR_RATE, len(points))
        wrong = [point for point in points if point.distance > limit]
        worst = farthest(points)
        text = (
            f"{len(points) - len(wrong)} of {len(points)} points agree; farthest: {worst.name}, {brief(worst.ours)} for "
            f"{brief(worst.published)} ({worst.distance:.1f} standard errors, {limit:.1f} allowed); "
            f"another seed gives another verdict with probability {flip_probability(points, limit):.2f}"
        )
        met = f"those found by search meet the points, the farthest at {worst.distance:.1f} standard errors"
        settings = [f"{unstated} are not stated; {met}"] if unstated else []
        for plain, found in stated.items():
            panel, label = plain.split(": ")
            off = farthest(points_of(evidence, panel, label, found.split(": ")[1]))
            if off.distance > limit:
                near = farthest(curves[found])
                settings.append(
                    f"{found.split(': ')[1]} ({panel}) stays within {near.distance:.1f} standard errors of the published "
                    f"points, {off.name} is off by {off.distance:.1f} ({brief(off.ours)} for {brief(off.published)})"
                )
        power = power_of_points(points, limit)
        verdict = unless_contradicted(bool(wrong), power)
        if verdict == REPRODUCED and settings:
            verdict = DEPENDS
        numbers = tuple(point.number for point in points)
        return Finding(verdict, text, numbers, power, "; ".join(settings) if verdict == DEPENDS else "")

    return check


def flip_probability(points: Sequence[PublishedPoint], limit: float) -> float:
    """Probability that another run would change whether all points agree, taken to be independent."""
    all_agree = math.prod(1 - point.wrong_again(limit) for point in points)
    return 1 - all_agree if farthest(points).distance <= limit else all_agree


def power_of_points(points: Sequence[PublishedPoint], limit: float) -> Power:
    """Power of a look at all points: how far a single one must be off."""
    seen = sorted(
        in_errors((limit + float(ndtri(POWER))) * point.uncertainty, abs(point.published)) for point in points
    )
    middle = seen[len(seen) // 2]
    return Power(
        ERROR_RATE,
        f"an error of a single point of ours is seen with probability {POWER:g} if it is {seen[0]:.0%} of the best-known "
        f"published point, {middle:.0%} of the median one or {seen[-1]:.0%} of the least-known one",
        reached=middle <= OFF,
    )


END_POINTS: tuple[Claim, ...] = tuple(
    claim(
        f"end-points-{figure}", {1: "2", 5: "4.2", 6: "A", 7: "E"}.get(figure, "4.1"), f"Figure {figure}", says, panels
    )(check)
    for figure, panels, says, check in (
        (1, "1a 1b", "The published thresholds.", published_curves("1a 1b")),
        (2, "2a 2b 2c 2d", "The published curves.", published_curves("2a 2b 2c 2d")),
        (3, "3a 3b", "The published curves.", published_curves("3a 3b")),
        (
            4,
            "4a 4b",
            "The published curves.",
            published_curves("4a 4b", instead={"4b: UCB": "4b: UCB, level 1/(t log t)"}),
        ),
        (
            5,
            "5a 5b",
            "The published curves.",
            published_curves(
                "5a 5b",
                instead={f"{panel}: OFUL, lambda = 1, no S": f"{panel}: OFUL" for panel in ("5a", "5b")},
                unstated="lambda, S and the first actions of all three",
            ),
        ),
        (6, "6a 6b", "The published curves.", published_curves("6a 6b", unstated="means and number of arms")),
        (7, "7a 7b", "The published curves, without Giro's.", published_curves("7a 7b", leaving_out=("7a: Giro",))),
    )
)
