"""Numbers of CSV files against the csv module's own dictionaries."""

import csv
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
