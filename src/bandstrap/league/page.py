"""The league as a page: heat maps, the overall table, and every environment with its error bars."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bandstrap.league.stability import LEVEL
from bandstrap.league.standings import DRAWS, TAILS, Interval
from bandstrap.pages import show_number, write_page

if TYPE_CHECKING:
    from bandstrap.league.run import LeagueResult


def write_league_page(result: LeagueResult, path: Path) -> None:
    """Fill the template and write the page, whole or not at all."""
    from bandstrap.plots.league import shade, show_multiple

    write_page(
        path,
        "bandstrap.league",
        "league.html.j2",
        filters={
            "multiple": show_multiple,
            "multiples": functools.partial(show_interval, show=show_multiple),
            "shade": shade,
            "interval": show_interval,
        },
        result=result,
        yardstick=result.league.policies[0].name,
        maps={field: result.multiples(field).tolist() for field in ("relative", "relative_q99")},
        confidence=f"{100 * (TAILS[1] - TAILS[0]):g} %",
        draws=DRAWS,
        level=LEVEL,
        core_seconds=sum(result.seconds.values()),
    )


def show_interval(interval: Interval, show: Callable[[float], str] = show_number) -> str:
    """``2 to 5``, one number where the ends agree, and half lines in words."""
    low, high = show(interval.low), show(interval.high)
    if math.isinf(interval.high):
        return f"from {low}" if math.isfinite(interval.low) else "too few runs"
    if math.isinf(interval.low):
        return f"up to {high}"
    return low if low == high else f"{low} to {high}"
