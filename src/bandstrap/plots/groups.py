"""The bounds of several groups, one below the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bandstrap.plots.style import COLOURS, LONGEST_NAME, Look, literal, new_figure

# More groups would make a picture that no page and few programs hold.
MOST_GROUPS = 200
# Beyond this, lengths of axes overflow.
LARGEST_NUMBER = 1e300
# A group as it should be, and one whose rewards contradict what its bound assumes.
FINE: Look = {"color": COLOURS[0], "linestyle": "-"}
CONTRADICTED: Look = {"color": COLOURS[1], "linestyle": (0, (2, 1))}


class GroupInterval(NamedTuple):
    """A group: its name, its size, its mean and both ends; an end that was not asked for is infinite.

    Where there is no bound, both ends are ``nan``.
    """

    name: str
    n: int
    mean: float
    lower: float
    upper: float
    is_contradicted: bool = False


def plot_groups(intervals: Sequence[GroupInterval], title: str, label: str, width: float = 8) -> Figure:
    """Draw the mean of each group as a dot and what lies within its bound as a bar, with an arrow where that has no end.

    ``width`` is in inches.
    """
    figure, (axis,) = new_figure(width, 1.5 + 0.34 * max(len(intervals), 1))
    places = [place for each in intervals for place in (each.mean, each.lower, each.upper) if math.isfinite(place)]
    low, high = min(places, default=0.0), max(places, default=0.0)
    room = 0.06 * (high / 2 - low / 2) * 2 or 0.06 * abs(high) or 1.0
    for i, each in enumerate(intervals):
        look = CONTRADICTED if each.is_contradicted else FINE
        if math.isnan(each.lower) or math.isnan(each.upper):
            axis.plot([each.mean], [i], marker="x", color=look["color"], markersize=7, markeredgewidth=2)
            continue
        start, stop = max(each.lower, low - room), min(each.upper, high + room)
        axis.plot([start, stop], [i, i], linewidth=2.2, **look)
        for end, place, arrow in ((each.lower, start, "<"), (each.upper, stop, ">")):
            shape: Look = (
                {"marker": "|", "markersize": 10} if math.isfinite(end) else {"marker": arrow, "markersize": 6}
            )
            axis.plot([place], [i], markeredgewidth=2, color=look["color"], **shape)
        axis.plot([each.mean], [i], marker="o", color=look["color"], markersize=6)
    axis.set_xlim(low - 2 * room, high + 2 * room)
    axis.set_ylim(len(intervals) - 0.4, -0.6)
    axis.set_yticks(
        range(len(intervals)), [f"{literal(each.name, LONGEST_NAME)}  (n = {each.n})" for each in intervals]
    )
    axis.set_xlabel(literal(label, LONGEST_NAME))
    axis.set_title(literal(title), loc="left", fontsize=11)
    legend = []
    if any(each.is_contradicted for each in intervals):
        legend.append(Line2D([], [], linewidth=2.2, label="assumption fails", **CONTRADICTED))
    if any(math.isnan(each.lower) for each in intervals):
        cross: Look = {"marker": "x", "linestyle": "none", "markeredgewidth": 2}
        legend.append(Line2D([], [], color=CONTRADICTED["color"], label="mean, no bound", **cross))
    if legend:
        figure.legend(handles=legend, loc="outside lower right", ncols=2, frameon=False, fontsize=9)
    return figure
