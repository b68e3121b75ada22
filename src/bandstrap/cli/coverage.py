"""``bandstrap coverage``: how often bounds miss, and how wide they are."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bandstrap.cli.files import check_plot
from bandstrap.cli.terminal import FORMATS, complain, print_table, write_records
from bandstrap.errors import InvalidInput, check_choice

if TYPE_CHECKING:
    from bandstrap.bounds import CoverageRow


def coverage(
    distribution: Annotated[
        str | None,
        typer.Option(help="A scipy.stats distribution with its parameters: normal, t:df=3, truncnorm:a=-1,b=1, ..."),
    ] = None,
    sample_size: Annotated[list[int] | None, typer.Option(help="Sample size; may be given more than once.")] = None,
    alpha: Annotated[float, typer.Option(help="Error probability given to every bound.")] = 0.05,
    bound: Annotated[
        list[str] | None,
        typer.Option(
            help="A bound with options, such as hoeffding:sigma=2; may be given more than once. Default: all."
        ),
    ] = None,
    side: Annotated[str, typer.Option(help="upper, lower or two-sided.")] = "upper",
    replications: Annotated[int, typer.Option(help="Number of samples.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw the result into this file (png, svg, pdf).")] = None,
    format: Annotated[str, typer.Option(help="table, json or csv.")] = "table",  # noqa: A002 - the flag's name
) -> None:
    """Print, per bound, the miss rate with a 95 % interval and the median width on samples of a known distribution.

    A bound that needs sigma or a support and was given none is given the true one. "proved" is the miss probability
    that is proved for this distribution; "assumption fails" stands where it is not what the proof assumes, and "not known"
    where that cannot be told. The note says why.
    """
    if distribution is None or not sample_size:
        raise InvalidInput("bandstrap coverage needs --distribution and --sample-size.")
    check_choice(format, "format", "bandstrap coverage", FORMATS)
    check_plot(plot, "bandstrap coverage")

    from bandstrap.bounds import coverage as measure
    from bandstrap.bounds.bound import SIDES
    from bandstrap.bounds.coverage import NO_MEAN

    end = check_choice(side, "side", "bandstrap coverage", SIDES)
    rows = measure(
        distribution,
        sample_size,
        alpha,
        bounds=bound,
        side=end,
        replications=replications,
        seed=seed,
        progress=True,
    )
    title = f"{distribution}, {side}, alpha = {alpha:g}, {replications} samples"
    if any(NO_MEAN in row.note for row in rows):
        title += f"; {NO_MEAN}"
    if format == "table":
        print_table(
            ("bound", "n", "miss rate", "95 % interval", "median width", "proved", "note"),
            [
                (
                    row.bound,
                    row.sample_size,
                    row.miss_rate,
                    "-" if row.skipped else f"{row.miss_low:.4f} to {row.miss_high:.4f}",
                    row.median_width,
                    proved(row),
                    f"skipped: {row.skipped}" if row.skipped else row.note,
                )
                for row in rows
            ],
            title=title,
        )
    else:
        write_records([dataclasses.asdict(row) for row in rows], format)
    if plot is not None:
        from bandstrap.plots.coverage import plot_coverage
        from bandstrap.plots.style import save_figure

        save_figure(plot_coverage(rows, title), plot)
        complain(f"wrote {plot}")


def proved(row: CoverageRow) -> str | None:
    """What is proved for this distribution, in a word or two; nothing for bounds that prove nothing."""
    if row.guarantee is not None:
        return f"<= {row.guarantee:.4g}"
    return {"fails": "assumption fails", "unknown": "not known"}.get(row.assumption)
