"""The panels of an experiment in one picture: regret against rounds, regret against what is varied, bounds."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bandstrap.experiments.panels import PanelData
from bandstrap.plots.style import LONGEST_NAME, LONGEST_TITLE, Look, legend_columns, literal, look, marker, new_figure
from bandstrap.text import shortened, visible

# Characters: all three kinds of panels explained, and more.
LONGEST_EXPLANATION = 200
# Of a heading, in an inch.
HEADING_LETTERS = 11


def plot_panels(title: str, panels: Sequence[PanelData]) -> Figure:
    """Draw panels two in a row; a curve looks the same in all of them, and one legend below explains all."""
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    looks = looks_of(panels)
    handles = legend_of(panels, looks)
    width = 5.6 * columns
    abreast = legend_columns([str(handle.get_label()) for handle in handles], width)
    legend_lines = math.ceil((len(looks) + 1) / abreast)
    heading = [
        literal(line)
        for text, most in ((title, LONGEST_TITLE), (explanation(panels), LONGEST_EXPLANATION))
        for line in textwrap.wrap(shortened(visible(text), most), int(HEADING_LETTERS * width))
    ]
    height = 3.9 * rows + 0.5 + 0.26 * legend_lines + 0.2 * max(0, len(heading) - 2)
    figure, axes = new_figure(width, height, columns, rows)
    for axis, panel in zip(axes, panels, strict=False):
        draw_panel(axis, panel, looks)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    figure.legend(handles=handles, loc="outside lower center", ncols=abreast, frameon=False, fontsize=9)
    figure.suptitle("\n".join(heading), fontsize=11)
    return figure


def looks_of(panels: Sequence[PanelData]) -> dict[str, Look]:
    """How each curve looks, in all panels alike."""
    labels = dict.fromkeys(curve.label for panel in panels for curve in panel.curves)
    return {label: look(i) for i, label in enumerate(labels)}


def legend_of(panels: Sequence[PanelData], looks: dict[str, Look]) -> list[Line2D]:
    """What the curves of some panels are, and what the open circles are."""
    shown = {curve.label for panel in panels for curve in panel.curves}
    swept = {curve.label for panel in panels if panel.panel.plot == "sweep" for curve in panel.curves}
    handles = [
        Line2D([], [], label=literal(label, LONGEST_NAME), **looks[label], **(marker(i) if label in swept else {}))
        for i, label in enumerate(looks)
        if label in shown
    ]
    if any(curve.curve.published is not None for panel in panels for curve in panel.curves):
        handles.append(
            Line2D([], [], color="#444444", marker="o", markerfacecolor="white", linestyle="", label="published value")
        )
    return handles


def explanation(panels: Sequence[PanelData]) -> str:
    """What lines and bands are."""
    bounds = [panel for panel in panels if panel.panel.plot == "bounds"]
    counts = sorted({curve.n_replications for panel in panels if panel not in bounds for curve in panel.curves})
    runs = " or ".join(map(str, counts)) if len(counts) < 3 else f"{counts[0]} to {counts[-1]}"
    reaches = sorted({panel.panel.band for panel in panels if panel not in bounds})
    words = {1.0: "one standard error", 2.0: "two standard errors"}
    reach = " or ".join(words.get(band, f"{band:g} standard errors") for band in reaches)
    regret = (
        f"mean pseudo-regret, in units of the reward, over {runs} replications, with bands of {reach}" if counts else ""
    )
    shown = {
        "threshold": "mean threshold above the sample mean",
        "miss rate": "share of samples whose bound misses the mean",
    }
    quantities = dict.fromkeys(panel.panel.quantity or shown[panel.panel.show] for panel in bounds)
    return "; ".join([*quantities, *([regret] if regret else [])])


def draw_panel(axis: Any, panel: PanelData, looks: dict[str, Look]) -> None:
    """Draw the curves of a panel, and published values as open circles."""
    spec = panel.panel
    numbers = {label: i for i, label in enumerate(looks)}
    for curve in panel.curves:
        colour = looks[curve.label]["color"]
        dots = marker(numbers[curve.label]) if spec.plot == "sweep" else {}
        axis.plot(curve.places, curve.mean, **looks[curve.label], **dots)
        reach = spec.band * curve.standard_error
        if not np.isnan(reach).any():
            band = {"color": colour, "alpha": 0.18, "linewidth": 0}
            axis.fill_between(curve.places, curve.mean - reach, curve.mean + reach, **band)
        for place, value in curve.published:
            axis.plot([place], [value], "o", color=colour, markerfacecolor="white", clip_on=False, zorder=5, ms=5)
    axis.set_title(literal(spec.title), fontsize=10)
    if spec.plot == "bounds":
        draw_bound_axes(axis, panel)
    else:
        axis.set_ylabel("mean pseudo-regret")
        axis.set_ylim(bottom=0)
    if spec.plot == "regret":
        axis.set_xlim(0, panel.curves[0].places[-1])
        axis.set_xlabel("round")
    elif spec.sweep is not None:
        axis.set_xlabel(literal(spec.sweep.label or spec.sweep.name))
        if spec.sweep.log:
            axis.set_xscale("log")
            axis.set_xlabel(f"{literal(spec.sweep.label or spec.sweep.name)} (log scale)")
            axis.set_xticks(spec.sweep.values, [f"{value:g}" for value in spec.sweep.values])
            axis.minorticks_off()


def draw_bound_axes(axis: Any, panel: PanelData) -> None:
    """Plain numbers on both axes; a log scale across where sample sizes span more than a factor of 20."""
    quantity = literal(panel.panel.quantity, LONGEST_NAME) or panel.panel.show
    axis.set_ylabel(quantity + (" (log scale)" if panel.panel.log else ""))
    axis.set_xlabel("sample size n")
    sizes = panel.curves[0].places
    if panel.panel.show == "miss rate":
        for level, name in ((panel.panel.alpha, "alpha"), (2 * panel.panel.alpha, "2 alpha")):
            axis.axhline(level, color="#444444", linewidth=0.8, linestyle=":")
            # Beside the axes: curves run along these lines.
            place = {"xycoords": ("axes fraction", "data"), "xytext": (3, 0), "textcoords": "offset points"}
            axis.annotate(name, (1, level), fontsize=8, va="center", color="#444444", **place)
        axis.set_ylim(bottom=0)
    if sizes[-1] > 20 * sizes[0]:
        axis.set_xscale("log")
        axis.set_xlabel("sample size n (log scale)")
        ticks = ticks_between(float(sizes[0]), float(sizes[-1]))
        numbers = [plain_number(n) for n in ticks]
        step = 1 if sum(map(len, numbers)) <= 30 else 2  # or they would touch
        axis.set_xticks(ticks[::step], numbers[::step])
        axis.minorticks_off()
    else:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    # Thresholds may be 0 (naive, n = 1) or infinite (sign flip, few rewards): a logarithm needs one that is neither.
    if panel.panel.log and any(((curve.mean > 0) & (curve.mean < math.inf)).any() for curve in panel.curves):
        axis.set_yscale("log", nonpositive="mask")
        low, high = axis.get_ylim()
        heights = ticks_between(low, high)
        axis.set_yticks(heights, [plain_number(height) for height in heights])
        axis.tick_params(axis="y", which="minor", left=False)


def ticks_between(low: float, high: float) -> list[float]:
    """1, 2 and 5 of every decade, or its 1 alone where there are more than four decades."""
    steps = (1, 2, 5) if high <= 1e4 * low else (1,)
    return [m * 10.0**e for e in range(-9, 10) for m in steps if low <= m * 10.0**e <= high]


def plain_number(value: float) -> str:
    """A number without powers of ten.

    >>> [plain_number(value) for value in (0.001, 20, 1000, 10_000, 1e6)]
    ['0.001', '20', '1000', '10,000', '1,000,000']
    """
    return f"{value:,.0f}" if value >= 10_000 else f"{value:g}"
