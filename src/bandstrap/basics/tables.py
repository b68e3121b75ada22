"""Numbers from a CSV or Parquet file, in groups if wanted; errors name the line."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import sys
from collections.abc import Collection, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bandstrap.basics.extras import need
from bandstrap.basics.text import listed
from bandstrap.errors import InvalidInput, brief, requirement

# What Python would also read, 1_000 or infinity, is more likely a slip.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# A number with a comma in it.
COMMA_NUMBER = re.compile(r"[+-]?[\d.]*,\d+([eE][+-]?\d+)?", re.ASCII)
# How files begin that hold tables, but not as text that can be read here.
NOT_TEXT = {
    b"\x1f\x8b": "compressed by gzip",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\xfd7zXZ\x00": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"BZh": "compressed by bzip2",
    b"\x04\x22\x4d\x18": "compressed by lz4",
    b"ARROW1": "an Arrow file",
    b"SQLite": "a database of SQLite",
}
# The same of text in other encodings, which is read where its encoding is given.
OTHER_TEXT = {
    b"\xff\xfe": "text in UTF-16 or UTF-32",
    b"\xfe\xff": "text in UTF-16",
    b"\x00\x00\xfe\xff": "text in UTF-32",
}
PARQUET = b"PAR1"
# Separators that a header line may show, the first one if it shows none.
SEPARATORS = (",", ";", "\t", "|")
# What programs write for a number that is not there, in letters of any case.
MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", ".", "-", "?"})
TRUTHS = {"true": 1.0, "false": 0.0}
# Characters of a line: a file without ends of lines is not read into memory whole.
LONGEST_LINE = 10_000_000


class Hints(NamedTuple):
    """Advice on what to do about a file that cannot be read as it is, in the caller's words."""

    missing: str = ""
    separator: str = ""
    decimal: str = ""
    encoding: str = ""


class TableRecord(NamedTuple):
    """A row: where it stands, its group, and its number or what is written for it; ``None`` if nothing is."""

    where: str
    group: str
    value: str | float | None


def read_groups(
    path: Path,
    column: str,
    by: str | None = None,
    *,
    drop_missing: bool = False,
    separator: str | None = None,
    decimal: str = ".",
    missing: Collection[str] = (),
    encoding: str | None = None,
    hints: Hints | None = None,
) -> dict[str, list[float]]:
    """Numbers of a column of a CSV file with a header line, or of a Parquet file, by what another column says.

    Parameters
    ----------
    path
        The file; ``-`` is standard input. A Parquet file is known by its first bytes.
    column
        Column with the numbers; true and false, in letters of any case, are 1 and 0.
    by
        Column that names the group of a row; without it there is one group, ``"all"``.
    drop_missing
        Leave out rows without a number; by default they are refused. Usual words for nothing (NA, NaN, null, ...) count
        as none.
    separator
        What stands between columns. By default the first of comma, semicolon, tab and bar with which the header line shows
        the columns wanted; a comma that is the decimal mark comes last.
    decimal
        The decimal mark, ``"."`` or ``","``; not guessed, because 1,234 may be either.
    missing
        More words for nothing, as they are written.
    encoding
        Encoding of the text; UTF-8 by default, with or without a byte order mark.
    hints
        What to do about a file that is refused, in the caller's words.

    Returns
    -------
    dict
        Numbers by group, groups in order of appearance; a row without a group belongs to the group ``""``.
    """
    name = "standard input" if str(path) == "-" else str(path)
    hints = Hints() if hints is None else hints
    separator = check_separator(separator)
    check_decimal(decimal, separator)
    check_encoding(encoding)
    groups: dict[str, list[float]] = {}
    try:
        with opened(path, name) as file:
            if file.peek(len(PARQUET)).startswith(PARQUET):
                records = parquet_records(file, name, column, by)
            else:
                refuse_other_kinds(file, name, encoding, hints)
                records = csv_records(file, name, column, by, separator, decimal, encoding, hints)
            with closing(records):
                for where, group, value in records:
                    text = "" if value is None else str(value)
                    if is_missing(value, missing):
                        if drop_missing:
                            continue
                        raise InvalidInput(f"{where}: column {brief(column)} {no_number(text, hints.missing)}.")
                    if isinstance(value, float) and math.isfinite(value):
                        number = value
                    else:
                        hint = hints.decimal if decimal == "." and COMMA_NUMBER.fullmatch(text) else ""
                        number = parse_number(text, where, column, hint, decimal=decimal)
                    groups.setdefault(group, []).append(number)
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}.") from None
    except (UnicodeError, csv.Error) as error:
        hint = f" ({hints.encoding})" if hints.encoding and isinstance(error, UnicodeError) else ""
        raise InvalidInput(f"{name} is not a readable CSV file: {error}{hint}.") from None
    if not groups:
        raise InvalidInput(f"{name} has no rows with a number in column {brief(column)}.")
    return groups


def check_separator(separator: str | None) -> str | None:
    """A single character that can stand between columns; ``tab`` is one, too, and so is its escape."""
    character = {"tab": "\t", "\\t": "\t"}.get(separator, separator) if isinstance(separator, str) else separator
    is_character = isinstance(character, str) and len(character) == 1 and not character.isalnum()
    if character is not None and (not is_character or character in '"\r\n\0'):
        rule = "a single character, such as ';', that is no letter, digit, quote or end of line, or 'tab'"
        raise requirement("separator", "a table", rule, brief(separator))
    return character


def check_decimal(decimal: object, separator: str | None) -> None:
    """A point or a comma, and not what separates columns."""
    if decimal not in (".", ","):
        raise requirement("decimal", "a table", "'.' or ','", brief(decimal))
    if decimal == separator:
        raise requirement("decimal", "a table", "another character than the separator", brief(decimal))


def check_encoding(encoding: str | None) -> None:
    """An encoding of text that Python knows."""
    try:
        if encoding is not None:
            io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, TypeError, ValueError):  # also of one that is not of text
        rule = "the name of an encoding of text, such as 'utf-8', 'latin-1' or 'utf-16'"
        raise requirement("encoding", "a table", rule, brief(encoding)) from None


@contextmanager
def opened(path: Path, name: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file, or of standard input."""
    if str(path) == "-":
        if sys.stdin is None:
            raise InvalidInput("standard input is closed.")
        source: Any = sys.stdin.buffer
        binary = io.BufferedReader(source)
        try:
            yield binary
        finally:
            binary.detach()  # otherwise it would close standard input
        return
    if not path.exists() or path.is_dir():  # a pipe is as good as a file
        raise InvalidInput(f"{name} is not a file.")
    with path.open("rb") as file:
        yield file


def refuse_other_kinds(file: io.BufferedReader, name: str, encoding: str | None, hints: Hints) -> None:
    """Refuse what is known by its first bytes to be no text, or none in UTF-8 unless another encoding is given."""
    start = file.peek(8)
    for beginning, kind in (NOT_TEXT | (OTHER_TEXT if encoding is None else {})).items():
        if start.startswith(beginning):
            hint = f" ({hints.encoding})" if beginning in OTHER_TEXT and hints.encoding else ""
            raise InvalidInput(f"{name} is {kind}; a CSV file in UTF-8 or a Parquet file is needed{hint}.")


# --- CSV --------------------------------------------------------------------------------------------------------------


def csv_records(
    file: io.BufferedReader,
    name: str,
    column: str,
    by: str | None,
    separator: str | None,
    decimal: str,
    encoding: str | None,
    hints: Hints,
) -> Generator[TableRecord]:
    """The rows of a CSV file."""
    is_utf_8 = encoding is None or encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    text = io.TextIOWrapper(file, encoding="utf-8-sig" if is_utf_8 else encoding, newline="")
    try:
        lines = lines_of(text, name)
        first = next(lines, None)
        if first is None:
            raise InvalidInput(f"{name} is empty.")
        wanted = [column] if by is None else [column, by]
        between = guess_separator(first, wanted, decimal) if separator is None else separator
        rows = csv.reader(itertools.chain([first], lines), delimiter=between)
        header = next(rows, [])
        is_odd = len(header) == 1 and re.search(r"[;,|\t: ]", header[0]) is not None
        places = [place(header, each, name, hints.separator if is_odd else "") for each in wanted]
        for row in rows:
            if not row and len(header) > 1:
                continue
            where = f"Line {rows.line_num} of {name}"
            if len(row) > len(header):
                hint = f" ({hints.separator})" if hints.separator and between == "," else ""
                raise InvalidInput(f"{where} has more fields than the header line{hint}.")
            fields = [row[i] if i < len(row) else "" for i in places]
            yield TableRecord(where, "all" if by is None else fields[1], fields[0].strip())
    finally:
        text.detach()


def guess_separator(header: str, wanted: Collection[str], decimal: str) -> str:
    """The separator with which a header line has the columns wanted; the decimal mark only if no other will do."""
    for separator in sorted(SEPARATORS, key=lambda mark: mark == decimal):
        if set(wanted) <= set(next(csv.reader([header], delimiter=separator), [])):
            return separator
    return SEPARATORS[0]


def lines_of(text: io.TextIOWrapper, name: str) -> Iterator[str]:
    """The lines of a file; one that is longer than any table's is refused."""
    number = 0
    while line := text.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise InvalidInput(f"Line {number} of {name} has more than {LONGEST_LINE} characters.")
        yield line


def place(header: list[str], column: str, name: str, hint: str = "") -> int:
    """The position of a column."""
    count = header.count(column)
    if count == 0:
        more = f" ({hint})" if hint else ""
        raise InvalidInput(f"{name} has no column {brief(column)}; it has {listed(header)}{more}.")
    if count > 1:
        raise InvalidInput(f"{name} has {count} columns named {brief(column)}; which one is meant cannot be known.")
    return header.index(column)


def is_missing(value: str | float | None, words: Collection[str]) -> bool:
    """Return whether what is written for a number stands for none."""
    if isinstance(value, str):
        return value.lower() in MISSING or value in words
    if value is None or math.isnan(value):
        return True
    return any(NUMBER.fullmatch(word) is not None and float(word) == value for word in words)


def parse_number(text: str, where: str, column: str, hint: str = "", *, decimal: str = ".") -> float:
    """A finite number, or one sentence about where it is not; true is 1 and false 0."""
    if text.lower() in TRUTHS:
        return TRUTHS[text.lower()]
    # With a comma for the decimal mark, a point has no place in a number.
    plain = text if decimal == "." else text.replace(".", " ").replace(decimal, ".")
    value = float(plain) if NUMBER.fullmatch(plain) else math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"{where}: column {brief(column)} {no_number(text, hint)}.")
    return value


def no_number(text: str, hint: str) -> str:
    """Refusal of a cell that holds no number, with advice."""
    said = f"holds {brief(text)}, which is not a finite number" if text else "is empty"
    return said + (f" ({hint})" if hint else "")


# --- Parquet ----------------------------------------------------------------------------------------------------------


def parquet_records(file: io.BufferedReader, name: str, column: str, by: str | None) -> Generator[TableRecord]:
    """The rows of a Parquet file."""
    need("A Parquet file", "polars")
    import polars

    content = file.read()
    wanted = [column] if by is None else [column, by]
    try:
        schema = polars.read_parquet_schema(io.BytesIO(content))
        for each in wanted:
            place(list(schema), each, name)
        kind = schema[column]
        if not (kind.is_numeric() or kind in (polars.Boolean, polars.String, polars.Null)):
            raise InvalidInput(f"{name}: column {brief(column)} holds values of type {kind}, which are not numbers.")
        frame = polars.read_parquet(io.BytesIO(content), columns=list(dict.fromkeys(wanted)))
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        reason = " ".join(str(error).split()) or "it is damaged"
        raise InvalidInput(f"{name} is not a readable Parquet file: {reason}.") from None
    groups = itertools.repeat("all") if by is None else map(group_name, frame[by].to_list())
    for i, (value, group) in enumerate(zip(frame[column].to_list(), groups, strict=False)):
        number = value.strip() if isinstance(value, str) else None if value is None else float(value)
        yield TableRecord(f"Row {i + 1} of {name}", group, number)


def group_name(value: object) -> str:
    """A group as text; that of a row without one is empty."""
    return "" if value is None else str(value)
