"""The panels of an experiment in one picture: regret against rounds, regret against what is varied, bounds."""

from __future__ import annotations

import dataclasses
import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from bandstrap.basics.text import shortened, visible
from bandstrap.experiments.panels import CurveData, PanelData
from bandstrap.plots.style import (
    LONGEST_NAME,
    LONGEST_TITLE,
    Look,
    legend_columns,
    literal,
    looks_for,
    marker,
    new_figure,
)

# Characters: all three kinds of panels explained, and more.
LONGEST_EXPLANATION = 200
# Of a heading, in an inch.
HEADING_LETTERS = 11
# Letters of the name of an upright axis on one line.
AXIS_LETTERS = 33
# A bound at so few sample sizes has a marker at each.
FEW_SIZES = 8
# Curves beside each other: rounds at which they are shown, points between two of them, points from the first to the last,
# and room for the last of them, as a multiple of the rounds.
DODGED_PLACES = 4
DODGE_STEP, DODGE_WIDTH = 8.0, 26.0
DODGE_ROOM = 1.1
# Inches: in a narrower figure they stand closer together.
DODGE_FIGURE = 4.4
# More values of a sweep than this have round numbers on the axis, in place of their own.
MOST_TICKS = 11
# Lines long enough to tell their dashes.
LEGEND: Look = {"frameon": False, "fontsize": 9, "handlelength": 3.2}
# The line through curves side by side, which markers tell apart.
THIN: Look = {"linestyle": "-", "linewidth": 0.8}
PUBLISHED: Look = {"marker": "o", "markerfacecolor": "white", "linestyle": "", "markersize": 5}


def plot_panels(title: str, panels: Sequence[PanelData]) -> Figure:
    """Draw panels two in a row; a policy looks the same in all of them, and one legend below explains all.

    Panels with the same ``axes`` are drawn together; each panel of such a picture has a legend of its own.
    """
    shown = shown_panels(panels)
    columns = min(2, len(shown))
    rows = math.ceil(len(shown) / columns)
    handles = [] if has_own_legends(shown) else legend_of(shown, looks_of(shown))
    width = 5.6 * columns
    abreast = legend_columns([str(handle.get_label()) for handle in handles], width)
    legend_lines = math.ceil((len(handles) + 1) / abreast)
    heading = [
        literal(line)
        for text, most in ((title, LONGEST_TITLE), (explanation(panels), LONGEST_EXPLANATION))
        for line in textwrap.wrap(shortened(visible(text), most), int(HEADING_LETTERS * width))
    ]
    height = 3.9 * rows + 0.5 + 0.26 * legend_lines + 0.2 * max(0, len(heading) - 2)
    if not handles:
        height += 0.4 * rows
    figure, axes = new_figure(width, height, columns, rows)
    for axis, panel in zip(axes, shown, strict=False):
        looks = looks_in(panel, shown)
        draw_panel(axis, panel, looks)
        if not handles:
            below: Look = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2}
            axis.legend(handles=legend_of([panel], looks), **below, **LEGEND)
    for axis in axes[len(shown) :]:
        axis.set_visible(False)
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=abreast, **LEGEND)
    figure.suptitle("\n".join(heading), fontsize=11)
    return figure


def shown_panels(panels: Sequence[PanelData]) -> list[PanelData]:
    """Panels as they are drawn: those of the same axes in one, and a letter before each title where there are several."""
    groups: dict[tuple[str, str], list[PanelData]] = {}
    for panel in panels:
        groups.setdefault(panel.panel.drawn_on, []).append(panel)
    shown = [joined(members) for members in groups.values()]
    return [lettered(panel, i) for i, panel in enumerate(shown)] if len(shown) > 1 else shown


def joined(members: Sequence[PanelData]) -> PanelData:
    """Panels of the same axes as one, whose curves are called what the panels are; itself, if it has no such axes."""
    spec = members[0].panel
    if not spec.axes:
        return members[0]
    curves = tuple(
        dataclasses.replace(curve, curve=curve.curve.model_copy(update={"label": name_among(panel, curve)}))
        for panel in members
        for curve in panel.curves
    )
    update = {"title": spec.axes, "curves": tuple(curve.curve for curve in curves)}
    return PanelData(spec.model_copy(update=update), curves)


def name_among(panel: PanelData, curve: CurveData) -> str:
    """Name of a curve beside those of other panels: its panel's, and its own where that has several."""
    title = panel.panel.title or panel.panel.name
    return title if len(panel.curves) == 1 else f"{title}, {curve.label}"


def lettered(panel: PanelData, i: int) -> PanelData:
    """Panel number ``i`` with its letter before the title, unless that has one."""
    title = panel.panel.title
    if re.match(r"\([a-z]\)", title):
        return panel
    letter = (chr(96 + i // 26) if i >= 26 else "") + chr(97 + i % 26)
    return dataclasses.replace(panel, panel=panel.panel.model_copy(update={"title": f"({letter}) {title}".rstrip()}))


def looks_in(panel: PanelData, shown: Sequence[PanelData]) -> dict[str, Look]:
    """Looks of the curves of a panel in its figure: as in all of its panels, unless each has its own legend."""
    return looks_of([panel] if has_own_legends(shown) else shown)


def has_own_legends(shown: Sequence[PanelData]) -> bool:
    """Return whether there are panels that were drawn together: what names their curves means something on these axes
    alone.
    """
    return any(panel.panel.axes for panel in shown)


def looks_of(panels: Sequence[PanelData]) -> dict[str, Look]:
    """Look of each curve, the same in all panels."""
    calls: dict[str, str] = {}
    for panel in panels:
        for curve in panel.curves:
            calls.setdefault(curve.label, curve.curve.policy or curve.curve.bound or "")
    return looks_for(calls)


def legend_of(panels: Sequence[PanelData], looks: dict[str, Look]) -> list[Line2D]:
    """Legend of some panels: curves, and open circles."""
    shown = {curve.label for panel in panels for curve in panel.curves}
    marked = {curve.label for panel in panels if has_markers(panel) for curve in panel.curves}
    dashed = {curve.label for panel in panels if not panel.panel.dodge for curve in panel.curves}
    handles = [
        Line2D(
            [],
            [],
            label=literal(label, LONGEST_NAME),
            **(look if label in dashed else look | THIN),
            **(marker(look) if label in marked else {}),
        )
        for label, look in looks.items()
        if label in shown
    ]
    if any(curve.curve.published is not None for panel in panels for curve in panel.curves):
        handles.append(Line2D([], [], color="#444444", label="published value", **PUBLISHED))
    return handles


def has_markers(panel: PanelData) -> bool:
    """Return whether places are few, or curves are told apart by markers."""
    spec = panel.panel
    return spec.plot == "sweep" or spec.dodge or (spec.plot == "bounds" and len(spec.sample_sizes or ()) <= FEW_SIZES)


def explanation(panels: Sequence[PanelData]) -> str:
    """Explanation of lines and bands."""
    bounds = [panel for panel in panels if panel.panel.plot == "bounds"]
    counts = {curve.n_replications for panel in panels if panel not in bounds for curve in panel.curves}
    reaches = sorted({panel.panel.band for panel in panels if panel not in bounds})
    words = {1.0: "one standard error", 2.0: "two standard errors"}
    reach = " or ".join(words.get(band, f"{band:g} standard errors") for band in reaches)
    drawn_as = {panel.panel.dodge: "bars" if panel.panel.dodge else "bands" for panel in panels if panel not in bounds}
    spread = " or ".join(drawn_as[dodge] for dodge in sorted(drawn_as))
    regret = (
        f"mean pseudo-regret, in units of the reward, over {in_words(counts)} replications, with {spread} of {reach}"
        if counts
        else ""
    )
    shown = {
        "threshold": "mean threshold above the sample mean",
        "miss rate": "share of samples whose bound misses the mean",
    }
    samples: dict[str, set[int]] = {}
    for panel in bounds:
        drawn = {row.replications for curve in panel.curves for row in curve.rows} - {0}
        samples.setdefault(panel.panel.quantity or shown[panel.panel.show], set()).update(drawn)
    quantities = [f"{name}, over {in_words(drawn)} samples" if drawn else name for name, drawn in samples.items()]
    return "; ".join([*quantities, *([regret] if regret else [])])


def in_words(counts: set[int]) -> str:
    """A few numbers, or the smallest and the largest of many.

    >>> in_words({200}), in_words({1000, 200}), in_words({40, 200, 100})
    ('200', '200 or 1000', '40 to 200')
    """
    few = sorted(counts)
    return " or ".join(map(str, few)) if len(few) < 3 else f"{few[0]} to {few[-1]}"


def draw_panel(axis: Any, panel: PanelData, looks: dict[str, Look]) -> None:
    """Draw the curves of a panel, and published values as open circles."""
    spec = panel.panel
    for i, curve in enumerate(panel.curves):
        look = looks[curve.label]
        if spec.dodge:
            draw_dodged(axis, panel, curve, look, i - (len(panel.curves) - 1) / 2)
        else:
            draw_curve(axis, panel, curve, look)
        for place, value in curve.published:
            axis.plot([place], [value], color=look["color"], clip_on=False, zorder=5, **PUBLISHED)
    axis.set_title(literal(spec.title), fontsize=10)
    if spec.dodge:
        axis.margins(x=0.1)  # room for those at the sides
    if spec.plot == "bounds":
        draw_bound_axes(axis, panel)
    else:
        axis.set_ylabel(upright_name("mean pseudo-regret", spec.log))
    if spec.plot == "regret":
        axis.set_xlim(0, panel.curves[0].places[-1] * (DODGE_ROOM if spec.dodge else 1))
        axis.set_xlabel("round")
    elif spec.sweep is not None:
        axis.set_xlabel(literal(spec.sweep.label or spec.sweep.name))
        if spec.sweep.log:
            axis.set_xscale("log")
            axis.set_xlabel(f"{literal(spec.sweep.label or spec.sweep.name)} (log scale)")
            values = sorted({float(place) for curve in panel.curves for place in curve.places})
            values = values if len(values) <= MOST_TICKS else ticks_between(values[0], values[-1])
            axis.set_xticks(values, [plain_number(value) for value in values])
            axis.minorticks_off()
    if spec.dodge:
        axis.set_xlabel(f"{axis.get_xlabel()}; curves side by side")
    # Thresholds may be 0 (naive, n = 1) or infinite (sign flip, few rewards): a logarithm needs one that is neither.
    if spec.log and any(((curve.mean > 0) & (curve.mean < math.inf)).any() for curve in panel.curves):
        axis.set_yscale("log", nonpositive="mask")
        heights = ticks_between(*axis.get_ylim())
        axis.set_yticks(heights, [plain_number(height) for height in heights])
        axis.tick_params(axis="y", which="minor", left=False)
    elif spec.plot != "bounds":
        axis.set_ylim(bottom=0)


def draw_curve(axis: Any, panel: PanelData, curve: CurveData, look: Look) -> None:
    """A line through the means, and a band of standard errors about it."""
    axis.plot(curve.places, curve.mean, **look, **(marker(look) if has_markers(panel) else {}))
    reach = panel.panel.band * curve.standard_error
    if not np.isnan(reach).any():
        low = curve.mean - reach
        if panel.panel.log:  # which has no place for what is not positive
            low = np.maximum(low, curve.mean / 100)
        band = {"color": look["color"], "alpha": 0.18, "linewidth": 0}
        axis.fill_between(curve.places, low, curve.mean + reach, **band)


def draw_dodged(axis: Any, panel: PanelData, curve: CurveData, look: Look, side: float) -> None:
    """Markers with bars of standard errors, ``side`` steps to the right: curves that coincide stand beside each other."""
    axis.plot(curve.places, curve.mean, color=look["color"], alpha=0.4, **THIN)
    chosen = np.arange(curve.places.size)
    if panel.panel.plot == "regret":
        wanted = curve.places[-1] * np.arange(1, DODGED_PLACES + 1) / DODGED_PLACES
        chosen = np.unique(np.abs(curve.places[:, None] - wanted).argmin(axis=0))
    step = min(DODGE_STEP, DODGE_WIDTH / max(len(panel.curves) - 1, 1)) * min(
        1, axis.figure.get_figwidth() / DODGE_FIGURE
    )
    moved = axis.transData + ScaledTranslation(side * step / 72, 0, axis.figure.dpi_scale_trans)
    places, means = curve.places[chosen], curve.mean[chosen]
    reach = panel.panel.band * curve.standard_error[chosen]
    if not np.isnan(reach).any():
        axis.vlines(places, means - reach, means + reach, color=look["color"], linewidth=1.2, transform=moved)
        axis.update_datalim(np.column_stack([places, means + reach]))
    marks = marker(look) | {"markersize": 0.65 * step, "markeredgewidth": 0}
    axis.plot(places, means, linestyle="", color=look["color"], zorder=3, transform=moved, **marks)


def draw_bound_axes(axis: Any, panel: PanelData) -> None:
    """Plain numbers on both axes; a log scale across where sample sizes span more than a factor of 20."""
    quantity = literal(panel.panel.quantity, LONGEST_NAME) or panel.panel.show
    axis.set_ylabel(upright_name(quantity, panel.panel.log))
    axis.set_xlabel("sample size n")
    sizes = panel.curves[0].places
    if panel.panel.show == "miss rate":
        for level, name in ((panel.panel.alpha, "α"), (2 * panel.panel.alpha, "2α")):
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


def upright_name(name: str, log: bool) -> str:
    r"""The name of an upright axis, on as many lines as its height asks for.

    >>> upright_name("misses over what is allowed", True), upright_name("regret", True)
    ('misses over what is allowed\n(log scale)', 'regret (log scale)')
    """
    lines = textwrap.wrap(name, AXIS_LETTERS)
    if log and lines and len(lines[-1]) + len(" (log scale)") <= AXIS_LETTERS:
        lines[-1] += " (log scale)"
    elif log:
        lines.append("(log scale)")
    return "\n".join(lines)


def ticks_between(low: float, high: float) -> list[float]:
    """1, 2 and 5 of every decade, or its 1 alone where there are more than four decades."""
    steps = (1, 2, 5) if high <= 1e4 * low else (1,)
    return [m * 10.0**e for e in range(-9, 10) for m in steps if low <= m * 10.0**e <= high]


def plain_number(value: float) -> str:
    """A number without powers of ten, unless it is tiny.

    >>> [plain_number(value) for value in (0.001, 20, 1000, 10_000, 1e6, 2e-16)]
    ['0.001', '20', '1000', '10,000', '1,000,000', '2·10⁻¹⁶']
    """
    if 0 < value < 1e-4:
        digits, _, power = f"{value:.2g}".partition("e")
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{digits}·10{raised}".removeprefix("1·")
    return f"{value:,.0f}" if value >= 10_000 else f"{value:g}"
