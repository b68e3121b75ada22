"""Options that commands share: the words they take are types, so that help, refusals and shell completion know them.

The words are those of the library's own types, which are not imported here: a help text would wait for SciPy. A test
compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from bandstrap.basics.calls import QUOTES, parse_value, split_options

FormatName = Literal["table", "json", "csv"]
SideName = Literal["upper", "lower", "two-sided"]
SimultaneousName = Literal["bonferroni", "max"]
DirectionName = Literal["max", "min"]
AggregateName = Literal["first", "last", "sum"]
ModeName = Literal["live", "shadow"]
OutOfRangeName = Literal["refuse", "clip"]
DurabilityName = Literal["full", "normal"]
ScopeName = Literal["decide", "reward", "read", "admin"]

Format = Annotated[FormatName, typer.Option(help="Form in which the result is printed.")]
ScreenFormat = Annotated[
    Literal["table", "json"], typer.Option("--format", help="Form in which the result is printed.")
]
SideOption = Annotated[SideName, typer.Option(help="Side of the bound; upper and lower are one-sided.")]
DataSeed = Annotated[
    int | None,
    typer.Option(help="Seed of random orders and of draws. Default: derived from the data.", show_default=False),
]
Plot = Annotated[Path | None, typer.Option(help="File for a picture of the result (png, svg or pdf).")]


def split_labels(texts: Sequence[str] | None) -> list[str] | None:
    """Labels from options of the form ``a,b,c``; one in quotes may hold a comma. ``None`` if no option was given.

    >>> split_labels(["red,green", "'a,b'"])
    ['red', 'green', 'a,b']
    """
    if not texts:
        return None
    labels = [label.strip() for text in texts for label in split_options(text)]
    return [str(parse_value(label)) if label[:1] in QUOTES else label for label in labels]
