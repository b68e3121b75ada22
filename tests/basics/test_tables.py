"""Numbers of CSV files against the csv module's own dictionaries."""

import bz2
import csv
import gzip
import io
import lzma
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstrap.basics import tables
from bandstrap.basics.tables import Hints, guess_separator, parse_number, read_groups
from bandstrap.errors import InvalidInput
from sampling import each

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


@each("text", ["1", "+1", "-1.5", ".5", "5.", "1e3", "1E-3", "-0", "0001"])
def test_numbers(text):
    assert parse_number(text, "Line 2", "x") == float(text)


@each("text", ["", "1_000", "nan", "inf", "-Infinity", "1e999", "0x10", "1,5", "\uff11", "1 2", "e3", "."])
def test_what_is_no_finite_number(text):
    with pytest.raises(InvalidInput, match=r"^Line 2: column 'x' (is empty|holds .*, which is not a finite number)\.$"):
        parse_number(text, "Line 2", "x")


def test_rows_without_a_number_are_refused_with_a_hint_or_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g,x\na,1\na, \n\nb\nb,2\n", encoding="utf-8-sig")
    with pytest.raises(InvalidInput, match=r"^Line 3 of .*t\.csv: column 'x' is empty \(look there\)\.$"):
        read_groups(path, "x", "g", hints=Hints(missing="look there"))
    assert read_groups(path, "x", "g", drop_missing=True) == {"a": [1.0], "b": [2.0]}
    path.write_text("x\n1\n\n3\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"^Line 3 of .*: column 'x' is empty\.$"):
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
        InvalidInput, match=r"^Line 2 of standard input: column 'x' holds 'no', which is not a finite number"
    ):
        read_groups("-", "x")


def test_a_pipe():
    """As in ``bandstrap bound <(zcat rewards.csv.gz)``."""
    out, into = os.pipe()
    os.write(into, b"x\n1\n2\n")
    os.close(into)
    try:
        assert read_groups(Path(f"/dev/fd/{out}"), "x") == {"all": [1.0, 2.0]}
    finally:
        os.close(out)


OTHERS = {
    "compressed by gzip": gzip.compress(b"x\n1\n"),
    "compressed by xz": lzma.compress(b"x\n1\n"),
    "compressed by bzip2": bz2.compress(b"x\n1\n"),
    "compressed by zstd": b"\x28\xb5\x2f\xfd\x00\x00",
    "a zip archive or a spreadsheet": b"PK\x03\x04\x14\x00",
    "text in UTF-16 or UTF-32": "\ufeffx\n1\n".encode("utf-16-le"),
    "text in UTF-16": "\ufeffx\n1\n".encode("utf-16-be"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_of_another_kind_is_named_and_refused(tmp_path, monkeypatch, kind):
    path = tmp_path / "t.csv"
    path.write_bytes(OTHERS[kind])
    with pytest.raises(InvalidInput, match=rf"t\.csv is {kind}; a CSV file in UTF-8 or a Parquet file is needed\.$"):
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


# --- as they come -----------------------------------------------------------------------------------------------------

HINTS = Hints(missing="drop", separator="separate", decimal="comma", encoding="encode")


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_header_shows_what_separates_columns(tmp_path, separator):
    rows = ["g", "x", "n,o;t|e"], ["a", "1.5", ""], ["b", "2", "y"]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    path = written(tmp_path, text.getvalue())
    assert read_groups(path, "x", "g") == {"a": [1.5], "b": [2.0]}
    assert read_groups(path, "x", "g", separator=separator) == {"a": [1.5], "b": [2.0]}


def test_a_separator_is_guessed_for_the_columns_wanted_and_a_given_one_is_taken(tmp_path):
    assert guess_separator("a;b,c\n", ["a", "b,c"], ".") == ";"
    assert guess_separator("a;b,c\n", ["a;b", "c"], ".") == ","
    assert guess_separator("a;b\n", ["z"], ".") == ","
    path = written(tmp_path, "g:x\na:1\nb:2\n")
    with pytest.raises(InvalidInput, match=r"has no column 'x'; it has g:x \(separate\)\.$"):
        read_groups(path, "x", hints=HINTS)
    assert read_groups(path, "x", "g", separator=":") == {"a": [1.0], "b": [2.0]}
    assert read_groups(written(tmp_path, "g\tx\na\t1\n"), "x", separator="tab") == {"all": [1.0]}


def test_a_decimal_comma_is_named_and_taken_where_it_is_given(tmp_path):
    path = written(tmp_path, "g;x\na;1,5\nb;-2,25e1\nb;3\n")
    with pytest.raises(InvalidInput, match=r"Line 2 of .* '1,5', which is not a finite number \(comma\)\.$"):
        read_groups(path, "x", "g", hints=HINTS)
    assert read_groups(path, "x", "g", decimal=",") == {"a": [1.5], "b": [-22.5, 3.0]}
    with pytest.raises(
        InvalidInput, match=r"'1\.5', which is not a finite number"
    ):  # it may mean one thousand five hundred
        read_groups(written(tmp_path, "g;x\na;1.5\n"), "x", decimal=",")
    with pytest.raises(InvalidInput, match=r"Line 2 of .* has more fields than the header line \(separate\)\.$"):
        read_groups(written(tmp_path, "x\n1,5\n"), "x", hints=HINTS)


def test_a_decimal_comma_separates_nothing_unless_the_header_shows_that_it_does(tmp_path):
    assert read_groups(written(tmp_path, "x\n1,5\n-2\n"), "x", decimal=",") == {"all": [1.5, -2.0]}
    quoted = written(tmp_path, 'g,x\na,"1,5"\nb,2\n')
    assert read_groups(quoted, "x", "g", decimal=",") == {"a": [1.5], "b": [2.0]}


@pytest.mark.parametrize(
    "word", ["", "NA", "na", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", ".", "-", "?"]
)
def test_words_for_nothing_are_left_out_or_refused_with_advice(tmp_path, word):
    path = written(tmp_path, f"g,x\na,1\na,{word}\nb,2\n")
    assert read_groups(path, "x", drop_missing=True) == {"all": [1.0, 2.0]}
    with pytest.raises(InvalidInput, match=r"^Line 3 of .* \(drop\)\.$"):
        read_groups(path, "x", hints=HINTS)


def test_more_words_for_nothing_may_be_given_even_numbers(tmp_path):
    path = written(tmp_path, "x\n1\n-999\nmissing\n2\n")
    with pytest.raises(InvalidInput, match="'missing', which is not a finite number"):
        read_groups(path, "x", drop_missing=True, missing=["-999"])
    assert read_groups(path, "x", drop_missing=True, missing=["-999", "missing"]) == {"all": [1.0, 2.0]}
    with pytest.raises(InvalidInput, match=r"'-999', which is not a finite number \(drop\)"):
        read_groups(path, "x", missing=["-999", "missing"], hints=HINTS)


def test_true_and_false_are_one_and_zero(tmp_path):
    path = written(tmp_path, "x\nTRUE\nFalse\ntrue\nfalse\n0.5\n")
    assert read_groups(path, "x") == {"all": [1.0, 0.0, 1.0, 0.0, 0.5]}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8", "UTF_8", "cp1252"])
def test_an_encoding_is_taken_where_it_is_given(tmp_path, encoding):
    path = written(tmp_path, "gr\u00fc\u00dfe,x\n\u00e4,1\n".encode(encoding))
    assert read_groups(path, "x", "gr\u00fc\u00dfe", encoding=encoding) == {"\u00e4": [1.0]}
    if encoding in ("latin-1", "utf-16", "cp1252"):
        with pytest.raises(InvalidInput, match=r"\(encode\)\.$"):
            read_groups(path, "x", "gr\u00fc\u00dfe", hints=HINTS)
    marked = written(tmp_path, b"\xef\xbb\xbfx\n1\n")
    assert read_groups(marked, "x", encoding="utf-8") == {"all": [1.0]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"separator": odd}, "'separator' parameter of a table must be a single character")
            for odd in ("", ";;", "a", '"')
        ),
        *(({"decimal": odd}, "'decimal' parameter of a table must be '.' or ','") for odd in ("", ";", "..", None)),
        (
            {"separator": ",", "decimal": ","},
            "'decimal' parameter of a table must be another character than the separator",
        ),
        *(
            ({"encoding": odd}, "'encoding' parameter of a table must be the name")
            for odd in ("", "nope", "hex", "a\0", 3)
        ),
    ],
    ids=str,
)
def test_ways_to_read_that_there_are_not(tmp_path, options, message):
    with pytest.raises(InvalidInput, match=message):
        read_groups(written(tmp_path, "x\n1\n"), "x", **options)


@pytest.fixture
def frame():
    import polars

    return polars.DataFrame(
        {
            "g": ["a", "b", None, "a"],
            "x": [1.5, None, 3.0, float("nan")],
            "k": [1, -999, 3, 4],
            "b": [True, False, True, None],
            "t": ["1", "NA", "2,5", "x"],
            "d": [None] * 4,
        },
        schema_overrides={"d": polars.Date},
    )


def test_parquet_is_read_beside_csv(tmp_path, frame, monkeypatch):
    path = tmp_path / "t.csv"  # known by its bytes, not by its name
    frame.write_parquet(path)
    assert read_groups(path, "x", "g", drop_missing=True) == {"a": [1.5], "": [3.0]}
    assert read_groups(path, "k") == {"all": [1.0, -999.0, 3.0, 4.0]}
    assert read_groups(path, "k", "k") == {"1": [1.0], "-999": [-999.0], "3": [3.0], "4": [4.0]}
    assert read_groups(path, "k", drop_missing=True, missing=["-999"]) == {"all": [1.0, 3.0, 4.0]}
    assert read_groups(path, "b", drop_missing=True) == {"all": [1.0, 0.0, 1.0]}
    assert read_groups(path, "t", drop_missing=True, decimal=",", missing=["x"]) == {"all": [1.0, 2.5]}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert read_groups("-", "k", "g") == {"a": [1.0, 4.0], "b": [-999.0], "": [3.0]}
    for column, message in [
        ("x", r"^Row 2 of .*: column 'x' is empty \(drop\)\.$"),
        ("t", r"^Row 2 of .* 'NA', which is not a finite number \(drop\)\.$"),
        ("d", r"column 'd' holds values of type Date, which are not numbers\.$"),
        ("z", r"has no column 'z'; it has g, x, k, b, t, d\.$"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            read_groups(path, column, hints=HINTS)


def test_a_damaged_parquet_file_is_refused(tmp_path, frame):
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InvalidInput, match=r"t\.parquet is not a readable Parquet file: "):
        read_groups(path, "x")
