"""Numbers from a CSV file, in groups if wanted; errors name the line."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from bandstrap.errors import InvalidInput

# What Python would also read, 1_000 or infinity, is more likely a slip.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read_groups(
    path: Path, column: str, by: str | None = None, *, drop_missing: bool = False, hint: str = ""
) -> dict[str, list[float]]:
    """Numbers of a column of a CSV file with a header line, by what another column says.

    Parameters
    ----------
    path
        The file; ``-`` is standard input.
    column
        Column with the numbers.
    by
        Column that names the group of a row; without it there is one group, ``"all"``.
    drop_missing
        Leave out rows without a number; by default they are refused.
    hint
        What to do about such rows, in the caller's words.

    Returns
    -------
    dict
        Numbers by group, groups in order of appearance; a row without a group belongs to the group ``""``.
    """
    name = "standard input" if str(path) == "-" else str(path)
    groups: dict[str, list[float]] = {}
    try:
        with opened(path, name) as lines:
            rows = csv.reader(lines)
            header = next(rows, None)
            if header is None:
                raise InvalidInput(f"{name} is empty.")
            value_at = place(header, column, name)
            group_at = None if by is None else place(header, by, name)
            for row in rows:
                if not row and len(header) > 1:
                    continue
                if len(row) > len(header):
                    raise InvalidInput(f"Line {rows.line_num} of {name} has more fields than the header line.")
                text = row[value_at].strip() if value_at < len(row) else ""
                if not text and drop_missing:
                    continue
                group = "all" if group_at is None else row[group_at] if group_at < len(row) else ""
                groups.setdefault(group, []).append(parse_number(text, f"Line {rows.line_num} of {name}", column, hint))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{name} is not a readable CSV file: {error}.") from None
    if not groups:
        raise InvalidInput(f"{name} has no rows with a number in column {column!r}.")
    return groups


@contextmanager
def opened(path: Path, name: str) -> Iterator[TextIO]:
    """The text of a file, or of standard input; a byte order mark at the beginning is skipped."""
    if str(path) == "-":
        text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
        try:
            yield text
        finally:
            text.detach()  # otherwise it would close standard input
        return
    if not path.is_file():
        raise InvalidInput(f"{name} is not a file.")
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield file


def place(header: list[str], column: str, name: str) -> int:
    """The position of a column."""
    count = header.count(column)
    if count == 0:
        raise InvalidInput(f"{name} has no column {column!r}; it has {', '.join(header)}.")
    if count > 1:
        raise InvalidInput(f"{name} has {count} columns named {column!r}; which one is meant cannot be known.")
    return header.index(column)


def parse_number(text: str, where: str, column: str, hint: str = "") -> float:
    """A finite number, or one sentence about where it is not."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        held = f"{text!r}, which is not a finite number" if text else "nothing" + (f" ({hint})" if hint else "")
        raise InvalidInput(f"{where} has in column {column!r} {held}.")
    return value
