"""The options with which commands read a table of rewards, and the reading."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bandstrap.basics.arrays import Floats
from bandstrap.basics.storage import check_file
from bandstrap.cli.options import Format as Format
from bandstrap.cli.terminal import complain

Data = Annotated[Path, typer.Argument(help="CSV file with a header line, or Parquet; '-' reads standard input.")]
ColumnOption = Annotated[str, typer.Option(help="Column with the rewards; true and false are 1 and 0.")]
Separator = Annotated[
    str | None, typer.Option(help="Separator of columns, such as ';' or tab; default: inferred from the header line.")
]
Decimal = Annotated[str, typer.Option(help="Decimal mark, '.' or ','.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="A word for a missing reward, in addition to NA, NaN, null and the like; may be given more than once."
    ),
]
OldMissing = Annotated[list[str] | None, typer.Option("--na", hidden=True, help="The old name of --missing.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of a CSV file; UTF-8 by default.")]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows without a reward instead of refusing the file.")
]
InOrder = Annotated[
    bool, typer.Option("--in-order", help="Keep the order of the file, which must be the order in which the rows came.")
]


def read(
    data: Path,
    column: str,
    by: str | None,
    *,
    drop_missing: bool,
    separator: str | None,
    decimal: str,
    missing: list[str] | None,
    old_missing: list[str] | None,
    encoding: str | None,
) -> dict[str, Floats]:
    """:func:`bandstrap.basics.tables.read_groups` as arrays; refusals name the options that help."""
    from bandstrap.basics.tables import Hints, read_groups

    if old_missing:
        complain("warning: --na is now called --missing; the next minor release removes the old name.")
    hints = Hints(
        missing="use --drop-missing to leave such rows out",
        separator="--separator sets the column separator, and --decimal the decimal mark",
        decimal="use --decimal ',' if the comma is its decimal mark",
        encoding="--encoding sets the encoding, such as latin-1 or utf-16",
    )
    groups = read_groups(
        data,
        column,
        by,
        drop_missing=drop_missing,
        separator=separator,
        decimal=decimal,
        missing=[*(missing or ()), *(old_missing or ())],
        encoding=encoding,
        hints=hints,
    )
    return {name: np.array(rewards) for name, rewards in groups.items()}


def check_plot(plot: Path | None, owner: str) -> None:
    """Refuse a picture that could not be written, before anything is computed."""
    if plot is not None:
        from bandstrap.plots.style import check_picture

        check_picture(plot)
        check_file(plot, "plot", owner)
