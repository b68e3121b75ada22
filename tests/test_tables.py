"""Numbers of CSV files against the csv module's own dictionaries."""

import bz2
import csv
import gzip
import io
import lzma
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstrap import tables
from bandstrap.errors import InvalidInput
from bandstrap.tables import parse_number, read_groups

WORDS = st.text(st.sampled_from("ab ,\"'\nü"), max_size=5)


@given(
    st.lists(st.tuples(WORDS, st.floats(allow_nan=False, allow_infinity=False), WORDS), min_size=1),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_was_written_is_read(tmp_path_factory, rows, end):
    path = tmp_path_factory.getbasetemp() / "table.csv"
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(["arm", "reward", "note"])
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    expected = {}
    for arm, reward, _ in rows:
        expected.setdefault(arm, []).append(reward)
    assert read_groups(path, "reward", "arm") == expected
    assert read_groups(path, "reward") == {"all": [reward for _, reward, _ in rows]}


@pytest.mark.parametrize("text", ["1", "+1", "-1.5", ".5", "5.", "1e3", "1E-3", "-0", "0001"])
def test_numbers(text):
    assert parse_number(text, "Line 2", "x") == float(text)


@pytest.mark.parametrize(
    "text", ["", "1_000", "nan", "inf", "-Infinity", "1e999", "0x10", "1,5", "\uff11", "1 2", "e3", "."]
)
def test_what_is_no_finite_number(text):
    with pytest.raises(InvalidInput, match=r"^Line 2 has in column 'x' (nothing|.*, which is not a finite number)\.$"):
        parse_number(text, "Line 2", "x")


def test_rows_without_a_number_are_refused_with_a_hint_or_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g,x\na,1\na, \n\nb\nb,2\n", encoding="utf-8-sig")
    with pytest.raises(InvalidInput, match=r"^Line 3 of .*t\.csv has in column 'x' nothing \(look there\)\.$"):
        read_groups(path, "x", "g", hint="look there")
    assert read_groups(path, "x", "g", drop_missing=True) == {"a": [1.0], "b": [2.0]}
    path.write_text("x\n1\n\n3\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"^Line 3 of .* has in column 'x' nothing\.$"):
        read_groups(path, "x")
    assert read_groups(path, "x", drop_missing=True) == {"all": [1.0, 3.0]}


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('note,x\n"two\nlines",1\n,no\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"^Line 4 of "):
        read_groups(path, "x")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\n1\n2\n")))
    assert read_groups("-", "x") == {"all": [1.0, 2.0]}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\nno\n")))
    with pytest.raises(
        InvalidInput, match=r"^Line 2 of standard input has in column 'x' 'no', which is not a finite number"
    ):
        read_groups("-", "x")


OTHERS = {
    "compressed by gzip": gzip.compress(b"x\n1\n"),
    "compressed by xz": lzma.compress(b"x\n1\n"),
    "compressed by bzip2": bz2.compress(b"x\n1\n"),
    "compressed by zstd": b"\x28\xb5\x2f\xfd\x00\x00",
    "a zip archive or a spreadsheet": b"PK\x03\x04\x14\x00",
    "a Parquet file": b"PAR1\x15\x04",
    "text in UTF-16 or UTF-32": "\ufeffx\n1\n".encode("utf-16-le"),
    "text in UTF-16": "\ufeffx\n1\n".encode("utf-16-be"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_of_another_kind_is_named_and_refused(tmp_path, monkeypatch, kind):
    path = tmp_path / "t.csv"
    path.write_bytes(OTHERS[kind])
    with pytest.raises(InvalidInput, match=rf"t\.csv is {kind}; a CSV file in UTF-8 is needed\.$"):
        read_groups(path, "x")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OTHERS[kind])))
    with pytest.raises(InvalidInput, match=rf"^standard input is {kind}"):
        read_groups("-", "x")


def test_a_line_without_end_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LONGEST_LINE", 1000)
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "1" * 999 + "\n")
    with pytest.raises(InvalidInput, match="not a finite number"):
        read_groups(path, "x")
    path.write_text("x\n1\n" + "y" * 1001)
    with pytest.raises(InvalidInput, match=r"^Line 3 of .* has more than 1000 characters\.$"):
        read_groups(path, "x")


@pytest.mark.parametrize(
    "content",
    [
        "x\n" + "9" * 10**5,
        "x" * 10**5 + "\n1\n",
        ",".join(map(str, range(10**5))) + "\n",
        "x\n\x1b[31m\n",
        "\x1b]0;a\x07\n1\n",
    ],
    ids=["digits", "name", "names", "escape", "title"],
)
def test_a_refusal_shows_little_of_a_file_and_nothing_that_steers_a_terminal(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(InvalidInput) as error:
        read_groups(path, "x")
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 1000


def test_a_name_that_no_file_can_have_and_a_closed_input_are_refused(monkeypatch):
    with pytest.raises(InvalidInput, match=r"cannot be read: File name too long\.$"):
        read_groups(Path("x" * 5000), "x")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InvalidInput, match=r"^standard input is closed\.$"):
        read_groups("-", "x")
