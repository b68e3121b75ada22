"""Results on standard output, complaints on standard error; the only file that knows rich."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from bandstrap.engine.progress import write
from bandstrap.text import shortened, visible

FORMATS = ("table", "json", "csv")
# Characters of a cell and of a complaint.
LONGEST_CELL = 1000
LONGEST_COMPLAINT = 2000
# What typer raises about a wrong command line: its own, or click's, by its version.
UsageError: Any = typer.BadParameter.__base__


@contextmanager
def any_streams() -> Iterator[None]:
    """Write to standard output and standard error whatever they are: closed, a pipe nobody reads, ASCII alone."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed, as by 2>&-
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - until the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        flush()


def flush() -> None:
    """Write what is still to be written, now: at the end of the process its failure would be shown as Python's."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # What cannot be written is dropped, or Python would try once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:  # of a reader that has seen enough
            sys.exit(1)
        complain(f"error: {error.strerror}.")
        sys.exit(2)


class Commands(TyperGroup):
    """The subcommands; what is said about a wrong command line is fit to be shown, too."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the options before the subcommand."""
        with shown_refusals():
            return super().make_context(*arguments, **options)

    def invoke(self, *arguments: Any) -> Any:
        """Read those behind it, and run it."""
        with shown_refusals():
            return super().invoke(*arguments)


@contextmanager
def shown_refusals() -> Iterator[None]:
    """Make what typer says about a command line fit to be shown: it repeats what was typed."""
    try:
        yield
    except UsageError as refusal:
        refusal.message = shortened(visible(refusal.message), LONGEST_COMPLAINT)
        raise


def write_records(records: Iterable[dict[str, Any]], format: str) -> None:  # noqa: A002 - the flag's name
    """Write ``json`` (infinite and missing numbers as null) or ``csv``, one record in memory at a time."""
    if format == "csv":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # data are not to be lost where a terminal knows ASCII alone
        write_csv(records, sys.stdout)
        return
    before = "[\n"
    for record in records:
        text = json.dumps(plain(record), indent=2, allow_nan=False)
        sys.stdout.write(before + indent(text, "  "))
        before = ",\n"
    sys.stdout.write("[]\n" if before == "[\n" else "\n]\n")


def write_csv(records: Iterable[Mapping[str, Any]], file: TextIO) -> None:
    """Write records, of which there is at least one, as CSV with a line of names."""
    writer: Any = None
    for record in records:
        if writer is None:
            writer = csv.DictWriter(file, fieldnames=list(record), lineterminator="\n")
            writer.writeheader()
        writer.writerow(record)


def write_json(value: Any) -> None:
    """Write JSON, infinite and missing numbers as null."""
    sys.stdout.write(json.dumps(plain(value), indent=2, allow_nan=False) + "\n")


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "", digits: Sequence[int] | None = None
) -> None:
    """Print a table; numbers are right-aligned and rounded, to four digits unless its row has others. Not cut in pipes."""
    table = Table(title=visible(title) or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], int | float) for row in rows)
        table.add_column(visible(str(column)), justify="right" if numeric else "left", overflow="fold")
    for row, places in zip(rows, digits or [4] * len(rows), strict=True):
        table.add_row(*(format_cell(cell, places) for cell in row))
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=240)
    console.print(table)


def format_cell(cell: Any, digits: int = 4) -> str:
    """So many significant digits for floats, ``-`` for what does not exist."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return f"{cell:.{digits}g}"
    return shortened(visible(str(cell)), LONGEST_CELL)


def say(message: str) -> None:
    """Write one line to standard output."""
    sys.stdout.write(visible(message) + "\n")


def complain(message: str) -> None:
    """Write one line to standard error."""
    write(shortened(visible(message), LONGEST_COMPLAINT) + "\n")
