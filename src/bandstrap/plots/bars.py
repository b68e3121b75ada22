"""Counts as bars, one below the other, each in two parts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from bandstrap.plots.style import COLOURS, TITLE_LINE, WIDTH, literal, new_figure

# Characters of a name beside its bar.
BAR_NAME = 24
# The first part and the second: dark and light, so that they differ without colour, too.
PARTS = (COLOURS[0], "#b9d9ec")


class Bar(NamedTuple):
    """A name, a number, and how much of it belongs to the first part."""

    name: str
    total: int
    part: int


def plot_bars(bars: Sequence[Bar], title: str, label: str, parts: tuple[str, str]) -> Figure:
    """Draw the counts with the numbers at their ends; ``parts`` are the names of the two parts."""
    heading = textwrap.wrap(literal(title), TITLE_LINE)
    figure, (axis,) = new_figure(WIDTH, 1.35 + 0.19 * len(heading) + 0.26 * max(len(bars), 1))
    for i, bar in enumerate(bars):
        axis.barh([i], [bar.part], color=PARTS[0], height=0.7)
        axis.barh([i], [bar.total - bar.part], left=[bar.part], color=PARTS[1], height=0.7)
        axis.annotate(f"{bar.total:,}", (bar.total, i), (3, 0), textcoords="offset points", va="center", fontsize=8)
    axis.set_xlim(0, 1.18 * max((bar.total for bar in bars), default=0) or 1.0)  # room for the numbers
    axis.set_ylim(len(bars) - 0.4, -0.6)
    axis.set_yticks(range(len(bars)), [literal(bar.name, BAR_NAME) for bar in bars])
    axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.grid(visible=False, axis="y")
    axis.set_xlabel(literal(label))
    axis.set_title("\n".join(heading), fontsize=10)
    handles = [Patch(color=colour, label=literal(name)) for colour, name in zip(PARTS, parts, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure
