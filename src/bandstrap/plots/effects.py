"""Effects over time: the difference of each arm from the control in time bins, and over all."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from bandstrap.plots.style import LONGEST_NAME, TITLE_LINE, WIDTH, literal, look, new_figure


class EffectCurve(NamedTuple):
    """Effects of one arm: start, end, estimate, lower and upper end of each bin, and the last three over all."""

    name: str
    bins: Sequence[tuple[float, float, float, float, float]]
    overall: tuple[float, float, float]


def plot_effects(curves: Sequence[EffectCurve], title: str, label: str, *, calendar: bool) -> Figure:
    """Draw one panel for each arm: intervals of time bins as bars, the one over all as a band, and a line at 0."""
    heads = [textwrap.wrap(literal(curve.name, LONGEST_NAME), TITLE_LINE) for curve in curves]
    heads[0] = [*textwrap.wrap(literal(title), TITLE_LINE), *heads[0]]
    n_more = sum(len(head) - 1 for head in heads)
    figure, axes = new_figure(WIDTH, 0.5 + 2.1 * len(curves) + 0.19 * n_more, rows=len(curves))
    for i, (curve, head, axis) in enumerate(zip(curves, heads, axes, strict=True)):
        style = look(i)
        middles = [at((start + end) / 2, calendar) for start, end, *_ in curve.bins]
        estimates = np.array([each[2] for each in curve.bins])
        lower, upper = (np.array([each[k] for each in curve.bins]) for k in (3, 4))
        axis.vlines(middles, lower, upper, color=style["color"], linewidth=2)
        axis.plot(middles, estimates, marker="o", markersize=4, linestyle="none", color=style["color"])
        axis.axhspan(curve.overall[1], curve.overall[2], color=style["color"], alpha=0.15, linewidth=0)
        axis.axhline(curve.overall[0], color=style["color"], linewidth=1, linestyle=(0, (4, 2)))
        axis.axhline(0.0, color="#57606a", linewidth=1)
        axis.set_ylabel(literal(label, LONGEST_NAME))
        axis.set_title("\n".join(head), fontsize=10)
        axis.set_ylim(*limits(curve))
        if calendar:
            locator = AutoDateLocator(minticks=3, maxticks=6, tz=UTC)  # type: ignore[no-untyped-call]
            axis.xaxis.set_major_locator(locator)
            axis.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
    axes[-1].set_xlabel("time (UTC)" if calendar else "decision")
    return figure


def at(place: float, calendar: bool) -> Any:
    """A place on the axis of time."""
    return datetime.fromtimestamp(place, UTC) if calendar else place


def limits(curve: EffectCurve) -> tuple[float, float]:
    """Ends of the axis: all of the effect over all, and the middle nine tenths of the ends of bins."""
    ends = np.array([end for each in curve.bins for end in each[3:]] or [0.0])
    low = min(0.0, curve.overall[1], float(np.quantile(ends, 0.05)))
    high = max(0.0, curve.overall[2], float(np.quantile(ends, 0.95)))
    room = 0.08 * (high - low) or 1.0
    return low - room, high + room
