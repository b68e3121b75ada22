"""Files of SQLite that two workers would not share, and copies that are whole: nothing acknowledged is lost in silence."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import sqlite
from bandstrap.live.copies import backup, restore
from bandstrap.live.database import StoreError
from bandstrap.live.sqlite import SqliteStore
from bandstrap.live.store import Store
from live.checkout import make
from live.workers import PATIENCE, PROCESSES, finish, run, start
from live_rows import add, new_experiment
from pages import ROOT, blocks
from sampling import exhaustive

posix = pytest.mark.skipif(os.name != "posix", reason="links and modes are those of Unix")


@posix
def test_a_file_with_two_names_is_refused_before_and_while_it_is_used(tmp_path):
    path, other = tmp_path / "a.db", tmp_path / "b.db"
    store = Store.open(path, create=True)
    experiment = new_experiment(store)
    add(store, experiment, 1)
    os.link(path, other)
    for call in (lambda: Store.open(other), lambda: Store.open(path, create=True), lambda: add(store, experiment, 2)):
        with pytest.raises(StoreError, match="has 2 names"):
            call()
    other.unlink()
    add(store, experiment, 3)
    assert store.counts(experiment).decisions == 2
    store.close()


@posix
def test_a_symbolic_link_to_a_file_is_the_file(tmp_path):
    (tmp_path / "far").mkdir()
    with Store.open(tmp_path / "far" / "a.db", create=True) as store:
        experiment = new_experiment(store)
        (tmp_path / "near.db").symlink_to(tmp_path / "far" / "a.db")
        with Store.open(tmp_path / "near.db") as other:
            add(other, experiment, 1)
            assert store.counts(experiment).decisions == 1


MOUNTED = """
import ctypes, os, sys
from bandstrap.live.store import Store
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, 0x44000, None):
    sys.exit(77)
if libc.mount(sys.argv[1].encode(), sys.argv[2].encode(), None, 4096, None):
    sys.exit(77)
try:
    Store.open(sys.argv[2])
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are those of Linux")
def test_a_file_that_is_mounted_without_its_folder_is_refused(tmp_path):
    Store.open(tmp_path / "a.db", create=True).close()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.db").touch()
    arguments = [sys.executable, "-c", MOUNTED, str(tmp_path / "a.db"), str(tmp_path / "in" / "a.db")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this user may not mount")
    assert done.returncode == 0, done.stderr
    assert "mounted without its folder" in done.stdout


@posix
def test_a_log_of_writes_that_was_removed_is_told_and_what_was_acknowledged_is_kept(tmp_path):
    path = tmp_path / "a.db"
    stores = [Store.open(path, create=True) for _ in range(2)]
    experiment = new_experiment(stores[0])
    for number in range(20):
        add(stores[number % 2], experiment, number)
    (tmp_path / "a.db-wal").unlink()
    told = []
    acknowledged = 20
    for number in range(20, 40):
        try:
            add(stores[number % 2], experiment, number)
            acknowledged += 1
        except StoreError as error:
            told.append(str(error))
    assert told
    assert all("a.db-wal" in sentence for sentence in told)
    for store in stores:
        store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with Store.open(path) as store:
        assert store.counts(experiment).decisions >= acknowledged


def add_and_close(path, experiment, numbers):
    """Decisions of another process, which opens the file and leaves it."""
    with Store.open(path) as store:
        for number in numbers:
            add(store, experiment, number)


def idle(path, is_open, may_end):
    """Have the file open, write nothing more, and end."""
    with Store.open(path) as store:
        store.experiments()
        is_open.set()
        assert may_end.wait(PATIENCE)


def is_whole(path, n):
    """Check that a file has so many decisions."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM live_decision").fetchall() == [(n,)]


@posix
@pytest.mark.parametrize("removed", [["-shm"], ["-wal", "-shm"]])
def test_without_the_index_of_the_log_a_process_writes_no_more(tmp_path, removed):
    """SQLite locks by way of the index: two processes with two of them write over each other."""
    path = tmp_path / "a.db"
    with Store.open(path, create=True) as store:
        experiment = new_experiment(store)
    is_open, may_end = PROCESSES.Event(), PROCESSES.Event()
    neighbour = start(idle, path, is_open, may_end)
    assert is_open.wait(PATIENCE)
    store = Store.open(path)
    store.experiments()
    for ending in removed:
        path.with_name(f"a.db{ending}").unlink()
    run(add_and_close, path, experiment, range(50))
    for call in (lambda: add(store, experiment, 100), lambda: add(store, experiment, 100), lambda: Store.open(path)):
        with pytest.raises(StoreError, match=r"by this process any more: a\.db-shm was"):
            call()
    run(add_and_close, path, experiment, range(50, 100))
    store.close()
    may_end.set()
    finish(neighbour)  # whose last act would be to copy the log as its index has it
    run(is_whole, path, 100)


# --- the WAL-reset bug of SQLite before 3.51.3 --------------------------------------------------------------------------


def is_held(path):
    """Whether somebody holds the lock of those who write."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
    return False


def test_the_log_is_copied_only_while_nobody_can_begin_it_anew(tmp_path, monkeypatch):
    """Whoever copies it beside a writer may damage the file; see https://sqlite.org/wal.html."""
    path, held, opened = tmp_path / "a.db", [], SqliteStore._open

    def traced(store, mode):
        connection = opened(store, mode)
        connection.set_trace_callback(lambda text: held.append(is_held(path)) if "wal_checkpoint" in text else None)
        return connection

    monkeypatch.setattr(SqliteStore, "_open", traced)
    monkeypatch.setattr(sqlite, "TRANSACTIONS", 5)
    with make(path) as experiment, make(path) as another:
        for _ in range(20):
            experiment.reward(experiment.decide(unit="u17").id, 1.0)
            another.decide()
        live.delete_unit(path, "checkout", "u17")
        assert experiment.store.ask("PRAGMA wal_autocheckpoint") == [(0,)]  # else SQLite copies it whenever it likes
        assert len(held) > 10
        assert all(held)
        assert experiment.replay(deep=True).is_identical


@pytest.mark.parametrize("is_short", [False, True])
def test_the_log_stays_short_however_long_its_writers_live(tmp_path, monkeypatch, is_short):
    """Also while a reader is connected all the time, so that nobody is the last to leave."""
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    monkeypatch.setattr(sqlite, "TRANSACTIONS", 50 if is_short else 10)
    monkeypatch.setattr(sqlite, "BYTES", 100_000 if is_short else 1 << 40)
    with make(path, refresh="1h", policy="gaussian_ts") as experiment, live.open(path, "checkout") as reader:
        reader.refresh()
        sizes = []
        for _ in range(80):
            experiment.decide()
            if is_short:
                experiment.close()
            sizes.append(log.stat().st_size)
        assert reader.refresh() == 0
    assert max(sizes[40:]) == max(sizes[:40]) < 300_000


@posix
def test_new_files_are_their_owners_alone(tmp_path):
    with make(tmp_path / "a.db") as experiment:
        experiment.decide()
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.glob("a.db*")}
    assert set(modes.values()) == {0o600}, modes
    backup(tmp_path / "a.db", tmp_path / "b.db")
    assert (tmp_path / "b.db").stat().st_mode & 0o777 == 0o600


# --- copies -------------------------------------------------------------------------------------------------------------


def test_a_backup_of_a_database_in_use_is_whole_and_its_restoration_goes_on(tmp_path):
    path = tmp_path / "a.db"
    with make(path) as experiment:
        for number in range(50):
            experiment.reward(experiment.decide(key=f"k{number}").id, number % 3)
        shutil.copy(path, tmp_path / "copied.db")  # which has not all of it
        backup(path, tmp_path / "b.db")
        stored = experiment.decide(key="k7")
        replayed = experiment.replay()
    assert sorted(file.name for file in tmp_path.iterdir() if file.name[0] == "b") == ["b.db"]
    restore(tmp_path / "b.db", tmp_path / "c.db")
    with live.open(tmp_path / "c.db", "checkout") as experiment:
        assert experiment.decide(key="k7") == stored
        again = experiment.replay()
        assert again.is_identical
        assert (again.decisions, again.entries) == (replayed.decisions, replayed.entries) == (50, 50)


def test_backups_and_restorations_that_cannot_be_are_refused_and_nothing_is_written(tmp_path):
    path = tmp_path / "a.db"
    with Store.open(path, create=True) as store:
        add(store, new_experiment(store), *range(500))
    backup(path, tmp_path / "good.db")
    data = bytearray((tmp_path / "good.db").read_bytes())
    data[8192:-4096] = b"\xa5" * (len(data) - 12288)
    (tmp_path / "bad.db").write_bytes(data)
    (tmp_path / "left.db-wal").touch()
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for call, error, words in (
        (lambda: backup(path, tmp_path / "good.db"), InvalidInput, "no file yet"),
        (lambda: restore(tmp_path / "good.db", path), InvalidInput, "no file yet"),
        (lambda: restore(tmp_path / "good.db", tmp_path / "left.db"), InvalidInput, "left.db-wal"),
        (lambda: backup(tmp_path / "none.db", tmp_path / "x.db"), StoreError, "does not exist"),
        (lambda: restore(tmp_path / "bad.db", tmp_path / "x.db"), StoreError, "damaged"),
        (lambda: backup("postgresql://ann:sesame@h/x", tmp_path / "x.db"), InvalidInput, "pg_dump"),
        (lambda: restore(tmp_path / "good.db", "postgresql://ann:sesame@h/x"), InvalidInput, "pg_restore"),
    ):
        with pytest.raises(error, match=words) as raised:
            call()
        assert "sesame" not in str(raised.value)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_restored_file_keeps_its_log(tmp_path):
    make(tmp_path / "a.db").close()
    backup(tmp_path / "a.db", tmp_path / "b.db")
    restore(tmp_path / "b.db", tmp_path / "c.db")
    with Store.open(tmp_path / "c.db") as store:
        assert store.ask("PRAGMA journal_mode") == [("wal",)]


# --- the page -----------------------------------------------------------------------------------------------------------


@posix
@exhaustive
def test_the_commands_of_the_page_run_in_a_shell(tmp_path, postgres):
    """docs/howto/backup.md, from its first block to its last."""
    first, last = postgres.new_database(), postgres.new_database()
    with make(first) as experiment:
        experiment.reward(experiment.decide(key="k").id, 1.0)
    code = "set -eu\n" + "".join(block.code for block in blocks("docs/howto/backup.md") if block.language == "sh")
    assert code.count("bandstrap live") >= 8
    # Of the server, which the user "nobody" may run, but not write here.
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("pg_dump", "pg_restore"):
        (tools / name).write_text(f'#!/bin/sh\nexec "{postgres.programs / name}" "$@"\n')
        (tools / name).chmod(0o755)
    path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "FROM": first, "TO": last, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        ["/bin/sh", "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("identical: 1 decision on 1 version") == 3, done.stdout
    assert (tmp_path / "elsewhere" / "shop.db").exists()
