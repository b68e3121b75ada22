"""Whoever may only read has status, export and replay; the rights that docs/howto/rights.md lists suffice."""

import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from bandstrap import live
from bandstrap.live.database import ReadOnly, StoreError
from live.checkout import make
from sampling import telling

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "rights.md"
posix = pytest.mark.skipif(os.name != "posix", reason="modes of files are those of Unix")


def reports(target, folder):
    """What a reader sees: counts, the export's size, the replay."""
    import polars

    with live.open(target, "checkout") as experiment:
        status = experiment.status()
        experiment.export(folder / "log.parquet")
        replay = experiment.replay()
        assert replay.is_identical, replay.first
        for call in (experiment.decide, lambda: experiment.pause("blue"), lambda: experiment.reward("x", 1.0)):
            with pytest.raises((ReadOnly, ValueError)):
                call()
        again = experiment.status()
    assert (again.version, again.pending) == (status.version, status.pending)
    assert live.names(target) == ["checkout"]
    return sum(status.decisions.values()), polars.read_parquet(folder / "log.parquet").height, replay.decisions


def fill(target, n=30):
    """An experiment, and something that is due and not in the log yet."""
    experiment = make(target)
    for i in range(n):
        experiment.reward(experiment.decide(key=f"k{i}").id, i % 3)
    return experiment


# --- files --------------------------------------------------------------------------------------------------------------


@contextmanager
def protected(*parts):
    """Let files and folders be read only for a while."""
    modes = {part: part.stat().st_mode for part in parts}
    for part, mode in modes.items():
        part.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.chmod(mode)


READER = """
import os, sys
from pathlib import Path
import polars
sys.path[:0] = {paths!r}
from live.test_read_only import reports
from bandstrap import live
import tempfile
with tempfile.TemporaryDirectory() as other:  # what is imported on first use may lie where nobody else reads
    from live.test_read_only import fill
    with fill(Path(other) / "a.db", 3) as experiment:
        experiment.status(), experiment.replay(), experiment.export(Path(other) / "x.parquet")
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
print(*reports(Path({target!r}), Path({folder!r})))
"""


def read_as_another(target, folder):
    """The reports of a process that may read and not write."""
    script = READER.format(paths=[p for p in sys.path if p], target=str(target), folder=str(folder))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


@posix
@telling(
    ("protect", "closed"),
    [("file", True), ("file", False), ("folder", True), ("both", True), ("both", False)],
    [("file", True), ("both", False)],
)
def test_a_file_that_may_only_be_read(protect, closed):
    with tempfile.TemporaryDirectory() as name:
        folder, own = Path(name) / "data", Path(name) / "own"
        for part in (Path(name), folder, own):
            part.mkdir(exist_ok=True)
            part.chmod(0o777)
        target = folder / "live.db"
        experiment = fill(target)
        if closed:
            experiment.close()
        files = sorted(folder.iterdir())
        for file in files:
            file.chmod(0o666)
        parts = (files if protect != "folder" else []) + ([folder] if protect != "file" else [])
        before = {file.name for file in files}
        with protected(*parts):
            assert read_as_another(target, own) == (30, 30, 30)
        assert {file.name for file in folder.iterdir()} == before
        assert experiment.decide(key="k3").key == "k3"
        experiment.reward(experiment.decide(key="new").id, 1.0)
        assert experiment.replay().is_identical
        experiment.close()


@posix
def test_a_reader_follows_whoever_may_write(tmp_path, monkeypatch):
    target = tmp_path / "a.db"
    fill(target).close()
    from bandstrap.live import sqlite

    writable = sqlite.SqliteStore._is_writable
    readers = []
    monkeypatch.setattr(sqlite.SqliteStore, "_is_writable", lambda store: store not in readers and writable(store))
    reader = live.open(target, "checkout")
    readers.append(reader.store)
    reader.close()
    assert reader.status().learned == 29  # nobody has refreshed since the last reward
    with live.open(target, "checkout") as writer:
        writer.reward(writer.decide(key="more").id, 1.0)
        writer.refresh()
        assert reader.status().learned == 31
        with pytest.raises(ReadOnly, match="it is read only"):
            reader.decide()
        writer.reward(writer.decide(key="most").id, 1.0)
        writer.refresh()
        assert reader.refresh() == 32
    assert reader.refresh() == 32
    readers.clear()
    assert reader.decide(key="own").version == 32


@posix
def test_a_log_that_a_reader_cannot_use_is_told(tmp_path, monkeypatch):
    import shutil

    from bandstrap.live import sqlite

    experiment = fill(tmp_path / "a.db")
    (tmp_path / "copy").mkdir()
    for ending in ("", "-wal"):
        shutil.copy(f"{tmp_path}/a.db{ending}", f"{tmp_path}/copy/a.db{ending}")
    experiment.close()
    monkeypatch.setattr(sqlite.SqliteStore, "_is_writable", lambda store: False)
    with pytest.raises(StoreError, match=r"its log \(a.db-wal\) can be read only by whoever may write"):
        live.open(tmp_path / "copy" / "a.db", "checkout")
    assert not (tmp_path / "copy" / "a.db-shm").exists()


def test_tables_of_an_earlier_version_are_told_to_a_reader(tmp_path, monkeypatch):
    from bandstrap.live import sqlite
    from live.test_migration import unpack

    path = unpack(tmp_path)
    monkeypatch.setattr(sqlite.SqliteStore, "_is_writable", lambda store: False)
    with pytest.raises(StoreError, match="has tables of an earlier version of bandstrap, which cannot be upgraded"):
        live.open(path, "arrival")


# --- servers ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(postgres):
    """The URL of a new database."""
    return postgres.new_database()


def as_role(url, role):
    return url.replace("postgres@", f"{role}@")


def grants():
    """The statements of the page, by role."""
    (block,) = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    return block


@pytest.fixture
def roles(database):
    """An experiment, and the roles of the page with the rights that it lists."""
    fill(database).close()
    with psycopg.connect(database, autocommit=True) as connection:
        for role in ("bandstrap_reader", "bandstrap_worker"):
            connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(grants())
    yield database
    with psycopg.connect(database, autocommit=True) as connection:
        for role in ("bandstrap_reader", "bandstrap_worker"):
            connection.execute(f"DROP OWNED BY {role}")
            connection.execute(f"DROP ROLE {role}")


def test_a_role_that_may_select_has_all_reports(roles, tmp_path):
    assert reports(as_role(roles, "bandstrap_reader"), tmp_path) == (30, 30, 30)
    with (
        live.open(as_role(roles, "bandstrap_reader"), "checkout") as experiment,
        pytest.raises(StoreError, match=r"this user may not do that \(permission denied for table live_"),
    ):
        experiment.decide()
    with make(roles) as experiment:
        assert experiment.replay().decisions == 30


def test_a_worker_needs_no_more_than_the_page_grants(roles, monkeypatch):
    from bandstrap.live import fold

    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 5)
    url = as_role(roles, "bandstrap_worker")
    with live.open(url, "checkout") as experiment:
        for i in range(30, 50):
            decision = experiment.decide(key=f"k{i}", defer=bool(i % 2))
            if i % 2:
                experiment.activate(decision.id)
            experiment.reward(decision.id, i % 3)
        experiment.pause("blue")
        experiment.void(decision.id)
        assert experiment.status().snapshot is not None
        assert experiment.replay().is_identical
    for statement in (
        "UPDATE live_learned SET reward = 1",
        "DELETE FROM live_learned",
        "DELETE FROM live_decision",
        "UPDATE live_decision SET arm = 0",
        "UPDATE live_reward SET value = 1",
        "DELETE FROM live_change",
        "UPDATE live_experiment SET definition = ''",
        "DROP TABLE live_learned",
    ):
        with psycopg.connect(url, autocommit=True) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)


def test_a_session_that_only_reads_has_all_reports(database, tmp_path):
    fill(database).close()
    assert reports(f"{database}&options=-cdefault_transaction_read_only%3Don", tmp_path) == (30, 30, 30)
