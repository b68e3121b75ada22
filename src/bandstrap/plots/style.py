"""Look of every picture: colours that survive colour blindness and print, light grid, saved whole or not at all."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from bandstrap.basics.storage import write_bytes
from bandstrap.basics.text import shortened, visible
from bandstrap.errors import InvalidInput

# Okabe and Ito's palette, dark enough on white; yellow left out, grey and wine added.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F", "#882255")
BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK, GREY, WINE = COLOURS
Dash = str | tuple[int, tuple[float, ...]]
DASHES: tuple[Dash, ...] = ("-", "--", "-.", ":", (0, (7, 1.5, 1, 1.5, 1, 1.5)))
SOLID, DASHED, DASH_DOT, DOTTED, DASH_DOT_DOT = DASHES
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# One colour and dash for each policy and bound of the paper, in every picture. A policy shares its colour with the linear
# one and the bound that it is made of; "name:option=value" comes before "name".
KNOWN: dict[str, tuple[str, Dash]] = {
    "bootstrapped_ucb": (BLUE, SOLID),
    "linear_bootstrapped_ucb": (BLUE, SOLID),
    "bootstrap": (BLUE, SOLID),
    "resampling_visits": (BLUE, SOLID),
    "ucb1": (VERMILION, DASHED),
    "oful": (VERMILION, DASHED),
    "hoeffding": (VERMILION, DASHED),
    "gaussian_ts": (GREEN, DASH_DOT),
    "linear_ts": (GREEN, DASH_DOT),
    "bernoulli_ts": (SKY, DASH_DOT_DOT),
    "empirical_kl_ucb": (ORANGE, DASH_DOT_DOT),
    "kl_visits": (ORANGE, DASH_DOT_DOT),
    "giro": (PINK, DOTTED),
    "naive_bootstrapped_ucb": (WINE, DOTTED),
    "bootstrap:correction=none": (WINE, DASHED),
    "sign_flip_ucb": (SKY, DASHED),
    "sign_flip": (SKY, DASHED),
    "bootstrapped_ucb_plus": (BLACK, DASH_DOT),
    # Dashes that neither pink nor green has, which some eyes take for grey.
    "empirical_bernstein": (GREY, DOTTED),
    "empirical_bernstein:spread=1": (GREY, DASH_DOT_DOT),
    # What is printed, what the proof has, what is right, and the truth.
    "bootstrap:correction=stated": (PINK, SOLID),
    "coin:correction=stated": (PINK, SOLID),
    "coin_by_draws": (PINK, DASH_DOT),
    "theorem_2:form=printed": (PINK, SOLID),
    "quantile_above_formula": (PINK, SOLID),
    "quantile_above_joint": (PINK, SOLID),
    "bootstrap:correction=theorem": (ORANGE, DASHED),
    "coin:correction=theorem": (ORANGE, DASHED),
    "proved_constant": (ORANGE, DASHED),
    "proved_deviation": (ORANGE, DASHED),
    "bootstrap:correction=sharp": (GREEN, DASH_DOT),
    "coin:correction=sharp": (GREEN, DASH_DOT),
    "theorem_2": (GREEN, DASH_DOT),
    "quantile_above_joint:level=squared": (GREEN, DASH_DOT),
    "exact": (BLACK, SOLID),
    "least_deviation": (BLACK, SOLID),
    "needed_constant": (BLACK, SOLID),
    "moment": (GREY, DOTTED),
    "moment:power=2": (GREY, DASH_DOT_DOT),
}
# Characters of a title and of a name: more would leave no room for the picture.
LONGEST_TITLE = 160
# Of small pictures, in inches: of this width, letters of nine points are nine points high or more on any phone.
WIDTH = 4.4
# Characters of a line of their titles, and of the longest name that leaves room for another beside it.
TITLE_LINE = 50
BESIDE = 22
LONGEST_NAME = 60


Look = dict[str, Any]


def look(i: int) -> Look:
    """Colour and dash of curve number ``i``; their numbers have no common factor, so that no two curves share both."""
    return styled(COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)])


def styled(colour: str, dash: Dash) -> Look:
    """A look of this colour and dash; dashes lie above solid lines, which show through them where curves coincide."""
    return {"color": colour, "linestyle": dash, "linewidth": 1.8, "zorder": 2 + 0.01 * DASHES.index(dash)}


def looks_for(calls: Mapping[str, str]) -> dict[str, Look]:
    """Looks of curves in one picture, from their labels and the policies or bounds they show, ``name:key=value``.

    Those in ``KNOWN`` look the same in every picture. The same policy with other settings has the same colour and another
    dash. Others take colours that are left. No two look the same, while there are enough looks.
    """
    taken: set[tuple[str, Dash]] = set()
    looks: dict[str, Look] = {}
    strangers = []
    for label, call in calls.items():
        colour, own = known_look(call) or ("", SOLID)
        free = [(colour, dash) for dash in (own, *DASHES) if colour and (colour, dash) not in taken]
        if not free:
            strangers.append(label)
            continue
        taken.add(free[0])
        looks[label] = styled(*free[0])
    for label in strangers:
        chosen = next(left_over(taken), (COLOURS[0], SOLID))
        taken.add(chosen)
        looks[label] = styled(*chosen)
    return {label: looks[label] for label in calls}


def known_look(call: str) -> tuple[str, Dash] | None:
    """Colour and dash of a policy or bound that has its own in every picture; that of an option comes first.

    >>> known_look("linear_bootstrapped_ucb:ridge=0.1") == known_look("bootstrapped_ucb")
    True
    >>> known_look("mine.py:Mine") is None
    True
    """
    name, _, options = call.partition(":")
    keys = (*(f"{name}:{option}" for option in re.split(r",\s*", options)), name)
    return next((KNOWN[key] for key in keys if key in KNOWN), None)


def left_over(taken: set[tuple[str, Dash]]) -> Iterator[tuple[str, Dash]]:
    """Colours and dashes that are free, those of unused colours first."""
    every = [(COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]) for i in range(len(COLOURS) * len(DASHES))]
    used = {colour for colour, _ in taken}
    yield from (pair for pair in every if pair[0] not in used)
    yield from (pair for pair in every if pair not in taken)


def marker(look: Look) -> Look:
    """Marker of a curve where places are few; another one for another dash of the same colour."""
    number = COLOURS.index(look["color"]) + DASHES.index(look["linestyle"])
    return {"marker": MARKERS[number % len(MARKERS)], "markersize": 4}


def literal(text: str, most: int = LONGEST_TITLE) -> str:
    """Text from outside as matplotlib must be given it to show it as it is.

    No formula between dollars, no control characters, no more than there is room for, and not left out of a legend because
    of its first character.
    """
    hidden = " " if text.startswith("_") else ""
    return hidden + shortened(visible(text), most).replace("$", r"\$")


def legend_columns(names: Sequence[str], width: float, fontsize: float = 9) -> int:
    """Number of columns of a legend of these names, three at most, fit into a figure so many inches wide."""
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
    # No date and no random names: the same numbers give the same bytes.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    content = io.BytesIO()
    letters = "none" if as_text else "path"
    # Letters of a PDF stay letters (TrueType), so that they can be searched and journals take them.
    with (
        rc_context({"svg.hashsalt": "bandstrap", "svg.fonttype": letters, "pdf.fonttype": 42}),
        warnings.catch_warnings(),
    ):
        if as_text:
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(content, format=kind, dpi=150, metadata=metadata)
    return content.getvalue()
