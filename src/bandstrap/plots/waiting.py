"""Picture of waiting times: the share of all that had come by then."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from bandstrap.basics.arrays import Floats
from bandstrap.plots.style import TITLE_LINE, WIDTH, literal, look, new_figure

# Ticks of an axis of durations, in seconds and as they are read.
TICKS = (
    (1e-3, "1 ms"),
    (1e-2, "10 ms"),
    (0.1, "0.1 s"),
    (1.0, "1 s"),
    (10.0, "10 s"),
    (60.0, "1 min"),
    (600.0, "10 min"),
    (3600.0, "1 h"),
    (6 * 3600.0, "6 h"),
    (86_400.0, "1 d"),
    (7 * 86_400.0, "7 d"),
    (30 * 86_400.0, "30 d"),
    (365 * 86_400.0, "1 y"),
)
# What came at once, or before it was decided by a clock that was set back, is drawn here.
SHORTEST = 1e-3


def plot_waiting(seconds: Floats, shares: Floats, marked: Sequence[tuple[str, float]], title: str) -> Figure:
    """Draw the share that had come after so many seconds, on a scale of decades, and mark some durations by name."""
    heading = textwrap.wrap(literal(title), TITLE_LINE)
    figure, (axis,) = new_figure(WIDTH, 2.9 + 0.19 * len(heading))
    axis.step(seconds.clip(SHORTEST), shares, where="post", **look(0))
    for i, (name, place) in enumerate(marked):
        style = look(i + 1)
        axis.axvline(max(place, SHORTEST), label=literal(name), **{**style, "linewidth": 1.3})
    axis.set_xscale("log")
    low, high = float(seconds.min().clip(SHORTEST)), float(seconds.max().clip(SHORTEST))
    low, high = low / 1.5, high * 1.5
    inside = [(place, name) for place, name in TICKS if low <= place <= high]
    while len(inside) > 5:
        inside = inside[::2]
    if not inside:  # all within one decade
        middle = (low * high) ** 0.5
        inside = [(middle, f"{middle:.3g} s")]
    axis.set_xlim(low, high)
    axis.set_xticks([place for place, _ in inside], [name for _, name in inside])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_ylim(-0.02, 1.02)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axis.set_xlabel("time from decision to reward (log scale)")
    axis.set_ylabel("share of rewards")
    axis.set_title("\n".join(heading), fontsize=10)
    figure.legend(loc="outside lower center", ncols=min(len(marked), 3) or 1, frameon=False, fontsize=9)
    return figure
