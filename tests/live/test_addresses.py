"""What is an address of a database, what is almost one, and what is a file."""

import re
from contextlib import suppress
from pathlib import Path

import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live.export import open_bandit_feedback, write_dsjson
from bandstrap.live.store import Store
from sampling import each

ALMOST = [
    "postgresql+psycopg://ann:sesame@localhost/x",
    "POSTGRESQL://ann:sesame@localhost/x",
    "Postgres://ann:sesame@localhost/x",
    "mysql://ann:sesame@localhost/x",
    "sqlite:///sesame.db",
    " postgresql://ann:sesame@localhost/x",
    "postgresql:/ann:sesame@localhost/x",
    "postgresql:ann:sesame@localhost/x",
    "//ann:sesame@localhost/x",
    "ann:sesame@localhost://x",
    "a:sesame@localhost/x",
    "postgres//ann:sesame@localhost/x",
    "host=h password=sesame dbname=x",
    "dbname = sesame",
    "HOST=h PassWord sesame",
    ":memory:",
    "file::memory:",
    "",
]


@each("address", ALMOST)
def test_an_address_that_is_almost_right_is_refused_without_its_password_and_makes_no_file(
    address, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for call in (
        lambda: Store.open(address),
        lambda: Store.open(address, create=True),
        lambda: live.open(address, "x"),
        lambda: live.create(address, "x", policy="ucb1", arms=["a", "b"]),
    ):
        with pytest.raises(InvalidInput) as raised:
            call()
        assert not re.search("sesame", f"{raised.value} {raised.value!r} {raised.value.__cause__}")
        assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_names_the_scheme_alone():
    with pytest.raises(InvalidInput, match=r"Got an address with the scheme 'mysql' instead"):
        Store.open("mysql://ann:sesame@localhost/x")


NO_PATHS = [None, 7, float("nan"), True, b"a.db", ["a.db"], "", "a\0b.db", "\ud800", Path("\ud800")]


@each("target", NO_PATHS)
def test_what_is_neither_text_nor_a_path_is_refused(target):
    with pytest.raises(InvalidInput, match="'target'"):
        live.open(target, "x")


@each("path", NO_PATHS)
def test_a_file_to_read_or_to_write_must_be_a_path(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with live.create("a.db", "x", policy="ucb1", arms=["a", "b"]) as experiment:
        experiment.export("log.parquet")
        for parameter, call in (
            ("path", lambda: live.backup("a.db", path)),
            ("path", lambda: live.restore(path, "b.db")),
            ("target", lambda: live.restore("a.db", path)),
            ("path", lambda: experiment.export(path)),
            ("log", lambda: open_bandit_feedback(path)),
            ("log", lambda: write_dsjson(path, "log.json")),
            ("path", lambda: write_dsjson("log.parquet", path)),
        ):
            with pytest.raises(InvalidInput, match=f"'{parameter}' parameter"):
                call()
    assert {file.name for file in tmp_path.iterdir()} == {"a.db", "log.parquet"}


def test_a_name_that_leads_to_no_file_is_refused_in_a_sentence(tmp_path):
    """It is too long, or a link to itself."""
    with suppress(OSError):  # where this user may make no links
        (tmp_path / "loop").symlink_to("loop")
    for call in (live.names, lambda path: live.create(path, "x", policy="ucb1", arms=["a", "b"])):
        for name in ("a" * 300, *(["loop"] * (tmp_path / "loop").is_symlink())):
            with pytest.raises(live.StoreError, match=r"cannot be used: [^\n]+ (too long|symbolic links)\.$"):
                call(tmp_path / name)
