"""Results on standard output, complaints on standard error; the only file that knows rich."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

FORMATS = ("table", "json", "csv")


def write_records(records: Sequence[dict[str, Any]], format: str) -> None:  # noqa: A002 - the flag's name
    """Write ``json`` (infinite and missing numbers as null) or ``csv``."""
    if format == "csv":
        writer = csv.DictWriter(sys.stdout, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return
    plain = [
        {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in record.items()}
        for record in records
    ]
    sys.stdout.write(json.dumps(plain, indent=2, allow_nan=False) + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    """Print a table; numbers are right-aligned and rounded to four digits. Never cut when piped."""
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(format_cell(cell) for cell in row))
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=240)
    console.print(table)


def format_cell(cell: Any) -> str:
    """Four significant digits for floats, ``-`` for what does not exist."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return str(cell)


def complain(message: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(message + "\n")
