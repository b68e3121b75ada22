"""The league in one picture: regret as a multiple of the best policy's, policy by environment."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bandstrap.basics.arrays import Floats
from bandstrap.plots.style import LONGEST_NAME, literal

# Blue from white to dark on a log scale: one hue, so that its order survives colour blindness and grey print.
COLOURS = colormaps["Blues"]
# Multiples from here on are as dark as it gets.
DARKEST = 10.0
NIGHT = "#131416"
AT_NIGHT = LinearSegmentedColormap.from_list("at night", [NIGHT, "#0b4a7a", "#8fc7ee"])
INK, PAPER, FAINT, RULE = "#000000", "#ffffff", "#57606a", "#d8dee4"


def shade(multiple: float) -> tuple[str, str]:
    """Colour of a cell, and of the number on it, dark or white, whichever stands out more; plain where there is none."""
    return (PAPER, FAINT) if math.isnan(multiple) else with_ink(COLOURS(0.85 * depth_of(multiple)))


def shade_in_the_dark(multiple: float) -> tuple[str, str]:
    """The same for a dark page: the larger, the lighter."""
    return (NIGHT, FAINT) if math.isnan(multiple) else with_ink(AT_NIGHT(depth_of(multiple)))


def depth_of(multiple: float) -> float:
    """Depth of colour, from 0 for the best policy to 1."""
    return min(math.log(max(multiple, 1.0)) / math.log(DARKEST), 1.0)


def with_ink(colour: tuple[float, float, float, float]) -> tuple[str, str]:
    """A colour, and the ink that stands out more on it."""
    paper = to_hex(colour)
    return paper, max((INK, PAPER), key=lambda ink: contrast(ink, paper))


def contrast(one: str, other: str) -> float:
    """Ratio of the luminances of two colours, from 1 to 21 (WCAG 2)."""
    low, high = sorted(luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of a colour (WCAG 2)."""
    parts = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour))
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def show_multiple(multiple: float) -> str:
    """Two decimals, whole numbers from ten on; a dash for none."""
    if math.isnan(multiple):
        return "-"
    return f"{multiple:.2f}" if multiple < 9.995 else f"{multiple:.0f}" if math.isfinite(multiple) else "∞"


def plot_heatmap(title: str, policies: Sequence[str], columns: Sequence[str], multiples: Floats) -> Figure:
    """Draw multiples of shape ``(policy, column)``; NaN where a policy sat out.

    The first column is the summary of the others. A line separates policies that sat out from those above that did not.
    """
    rows, labels = ([literal(name, LONGEST_NAME) for name in names] for names in (policies, columns))
    across = max(2.6, 0.08 * max(map(len, rows)))
    above = max(1.9, 0.08 * max(map(len, labels)))
    figure = Figure(figsize=(across + 0.62 * len(columns), above + 0.27 * len(policies)), layout="constrained")
    axis = figure.add_subplot()
    for i, row in enumerate(multiples):
        for j, multiple in enumerate(row):
            colour, ink = shade(float(multiple))
            axis.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=colour, edgecolor=RULE, linewidth=0.5))
            bold = "bold" if multiple == 1 else "normal"
            text = show_multiple(float(multiple))
            axis.text(j, i, text, color=ink, weight=bold, ha="center", va="center", fontsize=8)
    axis.axvline(0.5, color=FAINT, linewidth=1.5)
    n_everywhere = int((~np.isnan(multiples).any(axis=1)).sum())
    if 0 < n_everywhere < len(policies):
        axis.axhline(n_everywhere - 0.5, color=FAINT, linewidth=1.5)
    axis.set_xlim(-0.5, len(columns) - 0.5)
    axis.set_ylim(len(policies) - 0.5, -0.5)
    axis.set_xticks(range(len(columns)), labels, rotation=45, ha="left", rotation_mode="anchor", fontsize=9)
    axis.set_yticks(range(len(policies)), rows, fontsize=9)
    axis.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    for spine in axis.spines.values():
        spine.set_visible(False)
    figure.suptitle(literal(title), fontsize=11)
    return figure
