"""Numbers of a CSV file, by the csv module and nothing else."""

import csv
import io

NOTHING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", ".", "-", "?")
DIGITS = set("0123456789")


def read_table(content, column, by, *, drop_missing, decimal="."):
    """Groups of numbers in a file whose header has the columns; any error means that it cannot be read."""
    text = content.decode("utf-8-sig")
    wanted = {column} if by is None else {column, by}
    first = io.StringIO(text, newline="").readline()
    marks = [",", ";", "\t", "|"] if decimal == "." else [";", "\t", "|", ","]
    separator = next(mark for mark in marks if wanted <= set(split(first, mark)))
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    header = rows[0]
    assert all(header.count(name) == 1 for name in wanted)
    groups = {}
    for row in rows[1:]:
        assert len(row) <= len(header)
        if not row and len(header) > 1:
            continue
        fields = dict(zip(header, row + [""] * (len(header) - len(row)), strict=True))
        word = fields[column].strip().lower()
        if word in NOTHING:
            assert drop_missing
            continue
        number = {"true": 1.0, "false": 0.0}.get(word)
        if number is None:
            assert decimal == "." or "." not in word
            word = word.replace(decimal, ".")
            assert set(word) <= DIGITS | set("+-.e")
            number = float(word)
        assert abs(number) < float("inf")
        groups.setdefault("all" if by is None else fields[by], []).append(number)
    assert groups
    return groups


def split(line, separator):
    return next(csv.reader([line], delimiter=separator), [])
