"""Results on standard output, complaints on standard error; the only file that knows rich."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent, wrap
from typing import Any, TextIO, get_args

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from bandstrap.basics.display import DIGITS, Display, format_cell, is_numeric
from bandstrap.basics.text import shortened, visible
from bandstrap.cli.options import FormatName
from bandstrap.engine.work.progress import notice
from bandstrap.errors import InvalidInput, requirement

FORMATS = get_args(FormatName)
# Columns of text that is read as sentences, however wide the terminal.
WIDEST_TEXT = 100
# Columns of a table in a pipe, between its columns, and of a name that is shortened.
WIDEST_PIPE = 240
GAP = 2
SHORTEST_NAME = 12
LINE_BREAK = re.compile("[ _]")
# What typer raises about a wrong command line: its own, or click's, by its version.
UsageError: Any = typer.BadParameter.__base__
# Raised where help is shown because nothing was given; older versions show it without raising.
HelpInstead: Any = getattr(sys.modules[UsageError.__module__], "NoArgsIsHelpError", ())
# What typer, or pydantic for it, says of a value, and the rule in our words.
WRONG_WORD = re.compile(r"(?:Value error, )?(?P<value>.+) is not one of (?P<words>.+?)\.?", re.DOTALL)
RULES = {
    "float_parsing": "a number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "is not a valid float": "a number",
    "is not a valid integer": "a whole number",
}


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
    """The subcommands; a wrong command line is refused in one sentence, like all else."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the options before the subcommand."""
        with own_refusals():
            return super().make_context(*arguments, **options)

    def invoke(self, *arguments: Any) -> Any:
        """Read those behind it, and run it."""
        with own_refusals():
            return super().invoke(*arguments)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Show each subcommand with the whole first sentence of its help, which typer cuts to a line."""
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_paragraph(command.help)) for name, command in found.items() if command])


def first_paragraph(text: str | None) -> str:
    """The first paragraph of a help text, in one line; empty where Python was told to leave docstrings out (-OO)."""
    return " ".join((text or "").strip().partition("\n\n")[0].split())


@contextmanager
def own_refusals() -> Iterator[None]:
    """Refuse a wrong command line in a sentence, fit to be shown: typer's repeat what was typed, in several lines."""
    try:
        yield
    except HelpInstead:
        raise
    except UsageError as refusal:
        raise refused(refusal) from None


def refused(refusal: Any) -> InvalidInput:
    """Typer's message about a command line, in the words of this package."""
    command = refusal.ctx.command_path if refusal.ctx is not None else ""
    parameter = getattr(refusal, "param", None)
    if parameter is not None and command:
        word = WRONG_WORD.fullmatch(refusal.message)
        if word is not None:
            return requirement(parameter.name, command, f"one of {word['words']}", word["value"])
        details = refusal.__cause__.errors()[0] if hasattr(refusal.__cause__, "errors") else {}
        value, rule = details.get("input"), RULES.get(details.get("type", ""))
        for end, known in RULES.items():
            if rule is None and refusal.message.rstrip(".").endswith(end):
                value, rule = refusal.message.partition(" is not ")[0].strip("'"), known
        if rule is not None:
            return requirement(parameter.name, command, rule, repr(value))
    said = " ".join(refusal.format_message().split()).rstrip(".")
    said += "" if said.endswith("?") else "."  # "No such command 'x'. Did you mean 'y'?"
    return InvalidInput(f"{command}: {said}" if command else said)


def write_records(records: Iterable[Mapping[str, object]], format: str) -> None:  # noqa: A002 - the flag's name
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


def write_csv(records: Iterable[Mapping[str, object]], file: TextIO) -> None:
    """Write records, of which there is at least one, as CSV with a line of names."""
    writer: csv.DictWriter[str] | None = None
    for record in records:
        if writer is None:
            writer = csv.DictWriter(file, fieldnames=list(record), lineterminator="\n")
            writer.writeheader()
        writer.writerow({key: nested_as_json(value) for key, value in record.items()})


def nested_as_json(value: object) -> object:
    """A value for one field of CSV: lists and mappings are JSON."""
    return json.dumps(plain(value), allow_nan=False) if isinstance(value, list | dict) else value


def write_json(value: object) -> None:
    """Write JSON, infinite and missing numbers as null."""
    sys.stdout.write(json.dumps(plain(value), indent=2, allow_nan=False) + "\n")


def plain(value: object) -> object:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_display(display: Display) -> None:
    """Print a table with the sentences above and below it; what it warns of is left to the caller."""
    for sentence in display.above:
        say_wrapped(sentence)
    print_table(list(display.columns), display.rows, digits=display.digits)
    for sentence in display.below:
        say_wrapped(sentence)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "", digits: Sequence[int] | None = None
) -> None:
    """Print a table; numbers are right-aligned and rounded, to four digits unless its row has others.

    On a terminal that is too narrow, names of columns are broken, then long names in the first column shortened, then long
    text is wrapped; numbers never are. In pipes nothing is.
    """
    if title:
        say_wrapped(title)
    names = [visible(str(column)) for column in columns]
    cells = [
        [format_cell(cell, places) for cell in row]
        for row, places in zip(rows, digits or [DIGITS] * len(rows), strict=True)
    ]
    numeric = [is_numeric([row[index] for row in rows]) for index in range(len(names))]
    width = terminal_width() or WIDEST_PIPE
    gaps = GAP * (len(names) - 1)
    widths = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)]
    if sum(widths) + gaps > width:
        names = [
            LINE_BREAK.sub("\n", name) if is_number else name for name, is_number in zip(names, numeric, strict=True)
        ]
        widths = [max(map(cell_len, (*name.split("\n"), *texts))) for name, *texts in zip(names, *cells, strict=True)]
    if sum(widths) + gaps > width and cells and not numeric[0]:
        room = max(SHORTEST_NAME, width - sum(widths[1:]) - gaps)
        short = [shortened(row[0], room) for row in cells]
        if len(set(short)) == len({row[0] for row in cells}):
            for row, name in zip(cells, short, strict=True):
                row[0] = name
            widths[0] = max(map(cell_len, [names[0], *short]))
    # What must not be wrapped needs its room, wherever the terminal ends.
    fixed = (each if is_fixed else min(each, SHORTEST_NAME) for each, is_fixed in zip(widths, numeric, strict=True))
    console = Console(highlight=False, markup=False, width=max(width, sum(fixed) + gaps))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, is_number in zip(names, numeric, strict=True):
        table.add_column(name, justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
    for row in cells:
        table.add_row(*row)
    console.print(table)


def say_wrapped(sentence: str) -> None:
    """Write a sentence to standard output, on a terminal in lines of its width."""
    width = terminal_width()
    lines = [sentence]
    if width is not None:
        lines = wrap(visible(sentence), min(width, WIDEST_TEXT), break_long_words=False, break_on_hyphens=False)
    for line in lines:
        say(line)


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is; ``None`` for a pipe or a file."""
    console = Console()
    return console.width if console.is_terminal else None


def print_entries(records: Sequence[Mapping[str, str]]) -> None:
    """Print names, each with what is said of it below, wrapped for the terminal; empty fields are left out."""
    width = min(shutil.get_terminal_size().columns, WIDEST_TEXT)
    for record in records:
        (_, name), *fields = record.items()
        say(name)
        for key, value in fields:
            if value:
                said = visible(value if key == "summary" else f"{key}: {value}")
                for line in wrap(said, width - 4, break_long_words=False, break_on_hyphens=False):
                    say(f"    {line}")


def say(message: str) -> None:
    """Write one line to standard output."""
    sys.stdout.write(visible(message) + "\n")


def complain(message: str) -> None:
    """Write one line to standard error."""
    notice(message)
