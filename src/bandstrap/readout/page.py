"""A readout as text with tables, and as a page with a picture."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstrap.basics.display import format_cell
from bandstrap.basics.storage import write_text
from bandstrap.pages import drawn_as_data, render_page
from bandstrap.readout.log import are_dates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bandstrap.evidence.readout import Readout

# Arms in one picture: those that may be the best come first.
MOST_CURVES = 6
# Beyond these, lengths of axes overflow.
LARGEST_NUMBER = 1e300


def draw_readout(found: Readout, *, calendar: bool) -> tuple[Figure | None, int]:
    """Effects over time, ``None`` where there is nothing to draw; and the number of arms that found no room."""
    from bandstrap.plots.effects import EffectCurve, plot_effects

    curves = {}
    for effect in found.effects:
        bins = [
            (each.start, each.end, each.difference.estimate, each.difference.lower, each.difference.upper)
            for each in found.bins
            if each.arm == effect.arm
        ]
        overall = (effect.difference.estimate, effect.difference.lower, effect.difference.upper)
        numbers = [number for each in bins for number in each] + list(overall)
        if bins and all(math.isfinite(number) and abs(number) < LARGEST_NUMBER for number in numbers):
            curves[effect.arm] = EffectCurve(f"{effect.arm} over {effect.over}", bins, overall)
    if not curves:
        return None, 0
    drawn = sorted(curves, key=lambda arm: (arm != found.arm, arm not in found.possible))[:MOST_CURVES]
    shown = [curve for arm, curve in curves.items() if arm in drawn]
    figure = plot_effects(shown, "Effect over time", "gain per decision", calendar=calendar)
    return figure, len(curves) - len(shown)


def write_readout_page(found: Readout, path: str | Path, title: str, *, calendar: bool = True) -> None:
    """Write the readout as one self-contained page, completely or not at all; see :func:`render_readout_page`."""
    write_text(Path(path), render_readout_page(found, title, calendar=calendar))


def render_readout_page(found: Readout, title: str, *, calendar: bool = True) -> str:
    """The readout as one page with everything in it.

    Parameters
    ----------
    found
        The readout.
    title
        Name of the log or of the experiment.
    calendar
        Whether times are seconds since 1970, as far as these have dates. Default: true.
    """
    from bandstrap.plots.style import draw_figure

    times = [*(found.span or ()), *(time for each in found.bins for time in (each.start, each.end))]
    calendar = calendar and bool(are_dates(np.array(times)).all())
    figure, n_undrawn = draw_readout(found, calendar=calendar)
    picture = "" if figure is None else drawn_as_data(draw_figure(figure, "svg", as_text=True).decode())
    span = None
    if calendar and found.span is not None:
        span = [datetime.fromtimestamp(each, UTC).strftime("%Y-%m-%d %H:%M") for each in found.span]
    return render_page(
        "bandstrap.readout",
        "readout.html.j2",
        filters={"cell": format_cell, "count": "{:,}".format},
        found=found,
        title=title,
        span=span,
        tables=[rows_of(found.effect_table()), rows_of(found.value_table())],
        picture=picture,
        n_undrawn=n_undrawn,
        confidence=f"{100 * (1 - found.alpha):g} %",
    )


def rows_of(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """A table for the template: names, whether each column has numbers, and rows."""
    numeric = [all(isinstance(cell, int | float) for cell in cells) for cells in columns.values()]
    return {"names": list(columns), "numeric": numeric, "rows": list(zip(*columns.values(), strict=True))}
