"""The league in one picture: regret as a multiple of the best policy's, policy by environment."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bandstrap.errors import Floats

# Blue from white to dark on a log scale: one hue, so that colour blindness and grey print leave its order.
COLOURS = colormaps["Blues"]
# Multiples from here on are as dark as it gets.
DARKEST = 10.0


def shade(multiple: float) -> tuple[str, str]:
    """Colour of a cell, and of the number on it; white and grey where there is none."""
    if math.isnan(multiple):
        return "#ffffff", "#57606a"
    depth = min(math.log(max(multiple, 1.0)) / math.log(DARKEST), 1.0)
    return to_hex(COLOURS(0.85 * depth)), "#ffffff" if depth > 0.62 else "#1b1f24"


def show_multiple(multiple: float) -> str:
    """Two decimals, whole numbers from ten on; a dash for none."""
    if math.isnan(multiple):
        return "–"
    return f"{multiple:.2f}" if multiple < 9.995 else f"{multiple:.0f}" if math.isfinite(multiple) else "∞"


def plot_heatmap(title: str, policies: Sequence[str], columns: Sequence[str], multiples: Floats) -> Figure:
    """Draw multiples of shape ``(policy, column)``; NaN where a policy sat out."""
    figure = Figure(figsize=(2.6 + 0.62 * len(columns), 1.9 + 0.27 * len(policies)), layout="constrained")
    axis = figure.add_subplot()
    for i, row in enumerate(multiples):
        for j, multiple in enumerate(row):
            colour, ink = shade(float(multiple))
            axis.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=colour, edgecolor="#d8dee4", linewidth=0.5))
            bold = "bold" if multiple == 1 else "normal"
            text = show_multiple(float(multiple))
            axis.text(j, i, text, color=ink, weight=bold, ha="center", va="center", fontsize=8)
    axis.set_xlim(-0.5, len(columns) - 0.5)
    axis.set_ylim(len(policies) - 0.5, -0.5)
    axis.set_xticks(range(len(columns)), columns, rotation=45, ha="left", rotation_mode="anchor", fontsize=9)
    axis.set_yticks(range(len(policies)), policies, fontsize=9)
    axis.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    for spine in axis.spines.values():
        spine.set_visible(False)
    figure.suptitle(title, fontsize=11)
    return figure
