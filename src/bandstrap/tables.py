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
from typing import Any, TextIO

from bandstrap.errors import InvalidInput, brief
from bandstrap.text import listed

# What Python would also read, 1_000 or infinity, is more likely a slip.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# How files begin that hold tables, but not as text that can be read here.
NOT_TEXT = {
    b"\x1f\x8b": "compressed by gzip",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\xfd7zXZ\x00": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"BZh": "compressed by bzip2",
    b"\x04\x22\x4d\x18": "compressed by lz4",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"SQLite": "a database of SQLite",
    b"\xff\xfe": "text in UTF-16 or UTF-32",
    b"\xfe\xff": "text in UTF-16",
    b"\x00\x00\xfe\xff": "text in UTF-32",
}
# Characters of a line: a file without ends of lines is not read into memory whole.
LONGEST_LINE = 10_000_000


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
            rows = csv.reader(lines_of(lines, name))
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
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{name} is not a readable CSV file: {error}.") from None
    if not groups:
        raise InvalidInput(f"{name} has no rows with a number in column {brief(column)}.")
    return groups


@contextmanager
def opened(path: Path, name: str) -> Iterator[TextIO]:
    """The text of a file, or of standard input; a byte order mark at the beginning is skipped."""
    if str(path) == "-":
        if sys.stdin is None:
            raise InvalidInput("standard input is closed.")
        source: Any = sys.stdin.buffer
        binary = io.BufferedReader(source)
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        try:
            refuse_other_kinds(binary, name)
            yield text
        finally:
            text.detach()
            binary.detach()  # otherwise it would close standard input
        return
    if not path.is_file():
        raise InvalidInput(f"{name} is not a file.")
    with path.open("rb") as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
        refuse_other_kinds(file, name)
        yield lines


def refuse_other_kinds(file: Any, name: str) -> None:
    """Refuse what is known by its first bytes to be no text in UTF-8."""
    start = file.peek(8)
    for beginning, kind in NOT_TEXT.items():
        if start.startswith(beginning):
            raise InvalidInput(f"{name} is {kind}; a CSV file in UTF-8 is needed.")


def lines_of(text: TextIO, name: str) -> Iterator[str]:
    """The lines of a file; one that is longer than any table's is refused."""
    number = 0
    while line := text.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise InvalidInput(f"Line {number} of {name} has more than {LONGEST_LINE} characters.")
        yield line


def place(header: list[str], column: str, name: str) -> int:
    """The position of a column."""
    count = header.count(column)
    if count == 0:
        raise InvalidInput(f"{name} has no column {brief(column)}; it has {listed(header)}.")
    if count > 1:
        raise InvalidInput(f"{name} has {count} columns named {brief(column)}; which one is meant cannot be known.")
    return header.index(column)


def parse_number(text: str, where: str, column: str, hint: str = "") -> float:
    """A finite number, or one sentence about where it is not."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        held = f"{brief(text)}, which is not a finite number" if text else "nothing" + (f" ({hint})" if hint else "")
        raise InvalidInput(f"{where} has in column {brief(column)} {held}.")
    return value
