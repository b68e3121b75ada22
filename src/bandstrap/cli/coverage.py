"""``bandstrap coverage``: how often bounds miss, and how wide they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bandstrap.basics.calls import Call
from bandstrap.basics.display import Display
from bandstrap.basics.text import listed
from bandstrap.cli.files import check_plot
from bandstrap.cli.options import Format, Plot, SideOption
from bandstrap.cli.terminal import complain, print_display, write_records
from bandstrap.errors import InvalidInput

if TYPE_CHECKING:
    from bandstrap.bounds import CoverageRow


def coverage(
    distribution: Annotated[
        str | None,
        typer.Option(
            help="Distribution of the rewards: one of scipy.stats with its parameters, such as normal, t:df=3 or "
            "truncnorm:a=-1,b=1, or empirical:FILE,reward=COLUMN."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet file with rewards of your own, in place of --distribution; needs --column."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="Column of --data with the rewards.")] = None,
    sample_size: Annotated[list[int] | None, typer.Option(help="Sample size; may be given more than once.")] = None,
    alpha: Annotated[float, typer.Option(help="Error probability given to every bound.")] = 0.05,
    bound: Annotated[
        list[str] | None,
        typer.Option(
            help="A bound with options, such as hoeffding:sigma=2; may be given more than once. Default: all."
        ),
    ] = None,
    side: SideOption = "upper",
    replications: Annotated[int, typer.Option(help="Number of samples.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    plot: Plot = None,
    format: Format = "table",  # noqa: A002 - the flag's name
) -> None:
    """Measure the miss rate and the width of bounds on samples of a known distribution.

    The distribution is one of scipy.stats, or that of your own data. Then samples are drawn with replacement from the
    rewards in a file, whose mean is the true mean. Each miss rate has a 95 % interval; "width" is the median. A bound that
    needs sigma or a support gets the true value if none is given. "proved" is the miss probability that is proved for this
    distribution. Notes below the table say where the assumption fails or cannot be checked, and why a bound was skipped.
    """
    if data is not None:
        if distribution is not None or column is None:
            raise InvalidInput("bandstrap coverage: --data needs --column, and cannot be given beside --distribution.")
        distribution = str(Call("empirical", {"file": str(data), "reward": column}))
    if distribution is None or not sample_size:
        raise InvalidInput("bandstrap coverage needs --sample-size, and --distribution or --data.")
    check_plot(plot, "bandstrap coverage")

    from bandstrap.bounds import coverage as measure
    from bandstrap.bounds.coverage import NO_MEAN

    rows = measure(
        distribution, sample_size, alpha, bounds=bound, side=side, replications=replications, seed=seed, progress=True
    )
    shown_side = side if side == "two-sided" else f"{side} (one-sided)"
    title = f"{distribution}, {shown_side}, alpha = {alpha:g}, {replications} samples"
    if any(NO_MEAN in row.note for row in rows):
        title += f"; {NO_MEAN}"
    if format == "table":
        print_display(display_rows(rows, title))
    else:
        write_records([dataclasses.asdict(row) | {"side": side} for row in rows], format)
    if plot is not None:
        from bandstrap.plots.coverage import plot_coverage
        from bandstrap.plots.style import save_figure

        save_figure(plot_coverage(rows, title), plot)
        complain(f"wrote {plot}")


def display_rows(rows: Sequence[CoverageRow], title: str) -> Display:
    """Rows as a table; why nothing is proved of some, or why they were skipped, stands once below it."""
    from bandstrap.bounds.coverage import NO_MEAN

    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        note = f"skipped: {row.skipped}" if row.skipped else row.note.removeprefix(NO_MEAN).removeprefix("; ")
        if note:
            reasons.setdefault(note, {})[row.bound] = None
    return Display(
        above=[title],
        columns={
            "bound": [row.bound for row in rows],
            "n": [row.sample_size for row in rows],
            "miss rate": [row.miss_rate for row in rows],
            "95 % interval": [None if row.skipped else f"{row.miss_low:.4f}-{row.miss_high:.4f}" for row in rows],
            "width": [row.median_width for row in rows],
            "proved": [None if row.guarantee is None else f"<= {row.guarantee:.4g}" for row in rows],
        },
        below=[f"{listed(bounds)}: {note}." for note, bounds in reasons.items()],
    )
