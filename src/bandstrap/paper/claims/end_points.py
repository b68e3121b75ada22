"""Published end points: ours agree when they lie within ``TOLERANCE`` of those read off the printed curves."""

from __future__ import annotations

import math
from collections.abc import Callable

from bandstrap.paper.claims.claim import (
    DEPENDS,
    NOT_REPRODUCED,
    REPRODUCED,
    Claim,
    Evidence,
    Finding,
    Number,
    Power,
    claim,
)
from bandstrap.paper.claims.statistics import brief, end

# How far a published end point, read off a printed curve, may lie from ours.
TOLERANCE = 0.10


def end_points(names: str, setting: str = "", unclear: tuple[str, ...] = ()) -> Callable[[Evidence], Finding]:
    """A check of a figure's published end points.

    Those of curves in ``unclear`` ("panel: label") depend on a setting that the paper does not state; a figure with such
    curves depends on it at best. Three standard errors are allowed for, though no more than the tolerance itself: a mean
    known so poorly agrees with nothing.
    """

    def check(evidence: Evidence) -> Finding:
        numbers = []
        outside: list[str] = []
        for name in names.split():
            at_the_end = evidence[name].panel.plot == "regret"
            for curve in evidence[name].curves:
                for place, _ in curve.published:
                    number = end(curve, None if at_the_end else place)
                    numbers.append(Number(f"{number.name} ({name})", number.ours, number.error, number.published))
                    published = number.published or math.nan
                    allowed = TOLERANCE * published + min(3 * (number.error or 0.0), TOLERANCE * published)
                    if abs(number.ours - published) > allowed:
                        outside.append(f"{name}: {curve.label}")
        hard = [name for name in outside if name not in unclear]
        farthest = max(numbers, key=lambda number: abs(number.ours / (number.published or math.nan) - 1))
        text = (
            f"{len(numbers) - len(outside)} of {len(numbers)} within {TOLERANCE:.0%} and three standard errors; "
            f"farthest: {farthest.name}, {brief(farthest.ours)} for {brief(farthest.published or 0.0)}"
        )
        verdict = NOT_REPRODUCED if hard else DEPENDS if unclear else REPRODUCED
        power = Power(None, f"within {TOLERANCE:.0%} and three standard errors of a reading: a rule of the eye")
        return Finding(verdict, text, tuple(numbers), power, setting if verdict == DEPENDS else "")

    return check


END_POINTS: tuple[Claim, ...] = tuple(
    claim(
        f"end-points-{figure}",
        {1: "2", 5: "4.2", 7: "E"}.get(figure, "4.1"),
        f"Figure {figure}",
        "The end points of the published curves." if figure > 1 else "The published thresholds.",
        panels,
    )(end_points(panels, setting, unclear))
    for figure, panels, setting, unclear in (
        (1, "1a 1b", "", ()),
        (2, "2a 2b 2c 2d", "", ()),
        (3, "3a 3b", "", ()),
        (
            4,
            "4a 4b",
            "the level of UCB in the right panel: its published curve is met at 1/10,000, not at the stated 1/(t+1)",
            ("4b: UCB",),
        ),
        (
            5,
            "5a 5b",
            "BUCBL's lambda: 0.1 meets the published end points",
            tuple(f"{panel}: BUCBL, lambda = {ridge}" for panel in ("5a", "5b") for ridge in ("1", "0.1")),
        ),
        (7, "7a 7b", "how Giro's pseudo-rewards were adapted to unbounded rewards", ("7a: Giro",)),
    )
)
