"""Miss rate and width of bounds, as the coverage lab measured them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bandstrap.bounds import CoverageRow
from bandstrap.plots.style import COLOURS, LONGEST_NAME, MARKERS, literal, new_figure


def plot_coverage(rows: Sequence[CoverageRow], title: str) -> Figure:
    """Draw one line of dots per bound: miss rate with its 95 % interval on the left, median width on the right."""
    rows = [row for row in rows if not row.skipped]
    names = list(dict.fromkeys(row.bound for row in rows))
    sizes = list(dict.fromkeys(row.sample_size for row in rows))
    figure, (left, right) = new_figure(11, 1.6 + (0.32 + 0.12 * len(sizes)) * max(len(names), 1), columns=2)
    finite = [row.median_width for row in rows if math.isfinite(row.median_width)]
    edge = 1.3 * max(finite, default=1.0)
    for k, size in enumerate(sizes):
        here = [row for row in rows if row.sample_size == size]
        shift = 0.6 * ((k + 0.5) / len(sizes) - 0.5)
        heights = [names.index(row.bound) + shift for row in here]
        rates = [row.miss_rate for row in here]
        errors = [[row.miss_rate - row.miss_low for row in here], [row.miss_high - row.miss_rate for row in here]]
        look = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)], "linestyle": "none"}
        failing = [
            (row.miss_rate, height) for row, height in zip(here, heights, strict=True) if row.assumption == "fails"
        ]
        left.errorbar(rates, heights, xerr=errors, capsize=2, label=f"n = {size}", markersize=5, **look)
        for rate, height in failing:  # hollow
            left.plot([rate], [height], markersize=5, markerfacecolor="white", zorder=3, **look)
        right.plot([min(row.median_width, edge) for row in here], heights, markersize=5, label=f"n = {size}", **look)
        for row, height in zip(here, heights, strict=True):
            if math.isinf(row.median_width):
                right.annotate("infinite", (edge, height), xytext=(6, 0), textcoords="offset points", va="center")
    alpha = rows[0].alpha if rows else 0.0
    left.axvline(alpha, color="black", linewidth=1, linestyle="--")
    left.annotate(
        f"α = {alpha:g}",
        (alpha, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, 3),
        textcoords="offset points",
        fontsize=9,
    )
    left.set_xlim(left=0)
    left.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    left.set_yticks(range(len(names)), [literal(name, LONGEST_NAME) for name in names])
    hollow = "; hollow: assumption fails" if any(row.assumption == "fails" for row in rows) else ""
    left.set_xlabel(f"miss rate (bars: 95 % interval{hollow})")
    right.set_yticks(range(len(names)), [])
    right.set_xscale("log")
    right.set_xlabel("median width (units of the reward, log scale)")
    for axis in (left, right):
        axis.set_ylim(len(names) - 0.4, -0.6)
    if len(sizes) > 1:
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(sizes), frameon=False)
    figure.suptitle(literal(title))
    return figure
