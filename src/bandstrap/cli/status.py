"""``bandstrap status``: how far an experiment is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bandstrap.cli.files import Format
from bandstrap.cli.terminal import FORMATS, complain, print_display, write_records
from bandstrap.errors import check_choice

ResultsFolder = Annotated[
    Path, typer.Argument(help="The folder that bandstrap simulate --out, paper or league wrote to.")
]


def status(folder: ResultsFolder, format: Format = "table") -> None:  # noqa: A002 - the flag's name
    """Show the progress of the experiment in a folder: blocks done, running, failed and missing per panel, and time left.

    The results themselves are not read: a damaged block counts as done until a run reads it.
    """
    from bandstrap.experiments import status as look

    check_choice(format, "format", "bandstrap status", FORMATS)
    found = look(folder)
    if format != "table":
        write_records(found.rows(), format)
        return
    shown = found._display()
    print_display(shown)
    for sentence in shown.warnings:
        complain(sentence)
