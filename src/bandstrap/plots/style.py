"""How every picture looks: colours that survive colour blindness and print, light grid, saved whole or not at all."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from bandstrap.errors import InvalidInput
from bandstrap.storage import write_bytes
from bandstrap.text import shortened, visible

# Okabe and Ito's palette, dark enough on white; yellow left out, grey and wine added.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F", "#882255")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Characters of a title and of a name: more would leave no room for the picture.
LONGEST_TITLE = 160
LONGEST_NAME = 60


Look = dict[str, Any]


def look(i: int) -> Look:
    """Colour and dash of curve number ``i``; their numbers have no common factor, so that no two curves share both."""
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.8}


def marker(i: int) -> Look:
    """Marker of curve number ``i`` where places are few."""
    return {"marker": MARKERS[i % len(MARKERS)], "markersize": 4}


def literal(text: str, most: int = LONGEST_TITLE) -> str:
    """Text from outside as matplotlib must be given it to show it as it is.

    No formula between dollars, no control characters, no more than there is room for, and not left out of a legend because
    of its first character.
    """
    hidden = " " if text.startswith("_") else ""
    return hidden + shortened(visible(text), most).replace("$", r"\$")


def legend_columns(names: Sequence[str], width: float, fontsize: float = 9) -> int:
    """How many columns of a legend of these names, three at most, fit into a figure so many inches wide."""
    # A letter is about six tenths as wide as it is high; a line and its margins take as much as seven.
    longest = (7 + max(map(len, names), default=0)) * 0.6 * fontsize / 72
    return max(1, min(3, len(names), int(width / longest)))


class Shown(Figure):
    """A figure that a notebook shows as the last value of a cell; it would show others only once pyplot has drawn one."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=80)  # half the size of a file: it is looked at beside text
        return content.getvalue()


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Any]]:
    """A figure of ``rows`` times ``columns`` axes, drawn without a screen."""
    figure = Shown(figsize=(width, height), layout="constrained")
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(rows * columns)]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(visible=True, linewidth=0.5, alpha=0.4)
    return figure, axes


def check_picture(path: Path) -> str:
    """The kind of picture that a file's name ends in; refused if it is none."""
    kinds = Figure().canvas.get_supported_filetypes()
    kind = path.suffix.lstrip(".").lower()
    if kind not in kinds:
        raise InvalidInput(f"The picture file {str(path)!r} must end in one of {', '.join(sorted(kinds))}.")
    return kind


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture, whole or not at all."""
    write_bytes(path, draw_figure(figure, check_picture(path)))


def draw_figure(figure: Figure, kind: str, *, as_text: bool = False) -> bytes:
    """The bytes of a picture of this kind, such as ``"svg"``.

    ``as_text`` leaves letters in an SVG to the reader's fonts, which have more of them than those of matplotlib.
    """
    # No date and no random names in an SVG: the same numbers give the same bytes.
    metadata = {"Date": None} if kind == "svg" else None
    content = io.BytesIO()
    letters = "none" if as_text else "path"
    with rc_context({"svg.hashsalt": "bandstrap", "svg.fonttype": letters}), warnings.catch_warnings():
        if as_text:
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(content, format=kind, dpi=150, metadata=metadata)
    return content.getvalue()
