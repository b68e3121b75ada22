"""Code shared by ``bandstrap bound`` and ``bandstrap compare``: groups with their bounds, shown, warned of and drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bandstrap.basics.calls import Options
from bandstrap.cli.files import check_plot
from bandstrap.cli.terminal import complain, print_display, write_records
from bandstrap.engine.work.interrupts import answered
from bandstrap.errors import InvalidInput, check_count

if TYPE_CHECKING:
    from bandstrap.bounds import Comparison, GroupBounds

# Name of the group of all rows, which is not told where there is no other.
ALL = "all"


def how_read(options: Options, seed: int | None, *, in_order: bool, draws: bool, walks: bool) -> Options:
    """Options with --seed where the method draws, and --in-order where it is sequential; its own options win."""
    given = {"seed": seed} if draws and seed is not None else {}
    if walks and in_order and "seed" not in options:
        given |= {"in_order": True}
    return {**given, **options}


def check_request(owner: str, *, alpha: float, seed: int | None, plot: Path | None) -> None:
    """Refuse options that both commands have, before anything is read; of those that take words, typer knows them."""
    from bandstrap.bounds.bound import check_level

    check_level(alpha, owner)
    if seed is not None:
        check_count(seed, "seed", owner, at_least=0, at_most=None)
    check_plot(plot, owner)


def find_and_tell(
    find: Callable[[], GroupBounds | Comparison],
    by: str | None,
    format: str,  # noqa: A002 - the flag's name
    plot: Path | None,
    axis: str,
) -> None:
    """Bound the groups while signals are answered, write what was found, and draw it; ``axis`` is what bounds are on."""
    from bandstrap.bounds.bound import without_warnings

    def quietly() -> GroupBounds | Comparison:
        with without_warnings():
            return find()

    found = answered(quietly)
    if plot is not None:
        check_drawable(found)
    write_bounds(found, by, format)
    if plot is not None:
        draw(found, plot, axis)


def write_bounds(found: GroupBounds | Comparison, by: str | None, format: str) -> None:  # noqa: A002 - the flag's name
    """Write a table or records, one row per group, and warn of what the data contradict or cannot show."""
    from bandstrap.bounds.shown import display_of, records_of

    records = records_of(found, by)
    display = display_of(found, next(iter(records[0])))
    if format == "table":
        print_display(display)
    else:
        write_records(records, format)
    for sentence in display.warnings:
        complain(f"warning: {sentence if by else sentence.removeprefix(f'{ALL}: ')}.")


def check_drawable(found: GroupBounds | Comparison) -> None:
    """Refuse more groups, or larger numbers, than a picture holds."""
    from bandstrap.plots.groups import LARGEST_NUMBER, MOST_GROUPS

    if len(found.bounds) > MOST_GROUPS:
        raise InvalidInput(f"--plot draws at most {MOST_GROUPS} groups. Got {len(found.bounds)} instead.")
    for bound in found.bounds.values():
        for number in map(float, (bound.mean, bound.lower, bound.upper)):
            if math.isfinite(number) and abs(number) > LARGEST_NUMBER:
                raise InvalidInput(f"--plot draws numbers up to {LARGEST_NUMBER:g}. Got {number:g} instead.")


def draw(found: GroupBounds | Comparison, path: Path, axis: str) -> None:
    """Draw the groups into a file; ``axis`` is what their bounds are on."""
    from bandstrap.bounds.shown import display_of
    from bandstrap.plots.groups import GroupInterval, plot_groups
    from bandstrap.plots.style import save_figure

    intervals = [
        GroupInterval(
            group, bound.sizes[0], float(bound.mean), float(bound.lower), float(bound.upper), bound.contradicted
        )
        for group, bound in found.bounds.items()
    ]
    save_figure(plot_groups(intervals, display_of(found, "group").above[0], axis), path)
    complain(f"wrote {path}")
