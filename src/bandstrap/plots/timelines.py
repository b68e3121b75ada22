"""Curves over calendar time, with bands where they have any."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bandstrap.basics.arrays import Floats
from bandstrap.plots.style import BESIDE, LONGEST_NAME, TITLE_LINE, WIDTH, literal, look, new_figure

# Characters of a name in a legend of a small picture.
LEGEND_NAME = 40


class Timeline(NamedTuple):
    """A curve: its name, seconds since 1970, its values, and both ends of its band; ``nan`` where there is nothing."""

    name: str
    times: Floats
    values: Floats
    lower: Floats | None = None
    upper: Floats | None = None


def plot_timelines(
    lines: Sequence[Timeline], title: str, label: str, *, shares: bool = False, level: float | None = None
) -> Figure:
    """Draw curves over time (UTC), their bands lightly behind them, and a line at ``level``; shares run from 0 to 1."""
    names = [literal(line.name, LEGEND_NAME) for line in lines]
    columns = 2 if max(map(len, names), default=0) <= BESIDE else 1
    heading = textwrap.wrap(literal(title), TITLE_LINE)
    has_legend = len(lines) > 1
    rows = math.ceil(len(lines) / columns) if has_legend else 0
    figure, (axis,) = new_figure(WIDTH, 2.7 + 0.19 * rows + 0.19 * len(heading))
    for i, (line, name) in enumerate(zip(lines, names, strict=True)):
        style = look(i)
        times = [datetime.fromtimestamp(second, UTC) for second in line.times.tolist()]
        if line.lower is not None and line.upper is not None:
            axis.fill_between(times, line.lower, line.upper, color=style["color"], alpha=0.13, linewidth=0)
        alone = lonely(line.values)
        marks: dict[str, Any] = {"marker": "o", "markersize": 4, "markevery": alone} if alone else {}
        axis.plot(times, line.values, label=name, **marks, **style)
    if level is not None:
        axis.axhline(level, color="#57606a", linewidth=1)
    locator = AutoDateLocator(minticks=3, maxticks=6, tz=UTC)  # type: ignore[no-untyped-call]
    axis.xaxis.set_major_locator(locator)
    axis.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
    axis.set_xlabel("time (UTC)")
    axis.set_ylabel(literal(label, LONGEST_NAME))
    axis.set_ylim(*((-0.02, 1.02) if shares else limits(lines, level)))
    if shares:
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axis.set_title("\n".join(heading), fontsize=10)
    if has_legend:
        handles = list(axis.get_legend_handles_labels()[0])
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    return figure


def lonely(values: Floats) -> list[int]:
    """Places of the values with none beside them, which no line would show.

    >>> lonely(np.array([1.0, np.nan, 2.0, 3.0, np.nan, 4.0]))
    [0, 5]
    """
    known = np.pad(np.isfinite(values), 1)
    return [int(place) for place in np.flatnonzero(known[1:-1] & ~known[:-2] & ~known[2:])]


def limits(lines: Sequence[Timeline], level: float | None) -> tuple[float, float]:
    """Ends of the axis: that of the curves and bands but for their first quarters, in which little data makes them wild."""
    places = [np.array([] if level is None else [level])]
    for line in lines:
        for curve in (line.values, line.lower, line.upper):
            if curve is not None:
                known = curve[np.isfinite(curve)]
                places.append(known[known.size // 4 :])
    every = np.concatenate(places)
    if not every.size:
        return 0.0, 1.0
    low, high = float(every.min()), float(every.max())
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room
