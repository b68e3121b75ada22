"""Small pictures for a page: a panel alone, no wider than a phone, and a figure at a glance, without a word."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from bandstrap.experiments.panels import CurveData, PanelData
from bandstrap.plots.panels import LEGEND, draw_panel, legend_of, looks_in
from bandstrap.plots.style import BESIDE, LONGEST_TITLE, TITLE_LINE, WIDTH, literal, new_figure

# Inches about a panel, which stands in a frame.
MARGIN = 0.06
# Points of a curve at a glance.
GLANCE = 40


def plot_panel(panel: PanelData, figure_panels: Sequence[PanelData]) -> Figure:
    """A panel alone, as :func:`shown_panels` has it, with its own legend; curves look as they do in the whole figure."""
    looks = looks_in(panel, figure_panels)
    handles = legend_of([panel], looks)
    columns = 2 if max(len(str(handle.get_label())) for handle in handles) <= BESIDE else 1
    title = textwrap.wrap(literal(panel.panel.title, LONGEST_TITLE), TITLE_LINE)
    height = 3.0 + 0.19 * math.ceil(len(handles) / columns) + 0.19 * len(title)
    figure, (axis,) = new_figure(WIDTH, height)
    across, down = MARGIN / WIDTH, MARGIN / height
    figure.set_layout_engine("constrained", rect=(across, down, 1 - 2 * across, 1 - 2 * down))
    draw_panel(axis, panel, looks)
    axis.set_title("\n".join(title), fontsize=10)
    if panel.panel.plot == "regret":
        axis.locator_params(axis="x", nbins=5)  # numbers of rounds are long
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, **LEGEND)
    return figure


def plot_glance(panels: Sequence[PanelData]) -> Figure:
    """All panels of a figure, as :func:`shown_panels` has them, in little room: no words, numbers or bands."""
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(2.6, 1.5))
    figure.subplots_adjust(0.02, 0.03, 0.98, 0.97, wspace=0.06, hspace=0.1)
    for i, panel in enumerate(panels):
        axis = figure.add_subplot(rows, columns, i + 1)
        axis.spines[["top", "right"]].set_visible(False)
        looks = {label: {**look, "linewidth": 1.3} for label, look in looks_in(panel, panels).items()}
        draw_panel(axis, dataclasses.replace(panel, curves=tuple(coarse(curve) for curve in panel.curves)), looks)
        axis.set(title="", xlabel="", ylabel="")
        axis.tick_params(which="both", bottom=False, left=False, labelbottom=False, labelleft=False)
        for unseen in (*axis.texts, *axis.collections):  # words and bands
            unseen.remove()
        for line in axis.lines:
            if line.get_linestyle() == "None":
                line.set_markersize(4)
    return figure


def coarse(curve: CurveData) -> CurveData:
    """A curve at no more places than the eye tells apart in a small picture."""
    if curve.places.size <= GLANCE:
        return curve
    kept = np.unique(np.linspace(0, curve.places.size - 1, GLANCE).round().astype(int))
    return dataclasses.replace(curve, places=curve.places[kept], values=curve.values[:, kept])
