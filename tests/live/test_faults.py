"""Processes that are killed, disks that are full, files that cannot be written, servers that go away.

By default a few kills. ``BANDSTRAP_KILLS=200`` makes a campaign of it.
"""

import ctypes
import os
import random
import signal
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import pytest

from bandstrap import live
from bandstrap.live import fold
from bandstrap.live.sqlite import SqliteStore
from live.workers import PATIENCE, SHOP, Worker, at_work, check, failure_of, finish, noted, run, start, total

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of Unix-like systems")

N_KILLS = int(os.environ.get("BANDSTRAP_KILLS", "20"))
N_WORKERS = 4


# --- killed writers -----------------------------------------------------------------------------------------------------


def wait_for_work(process, path, before):
    """Wait until a process has been told something, or has ended."""
    deadline = time.monotonic() + PATIENCE
    while process.exitcode is None and length(path) < before + 4:
        assert time.monotonic() < deadline
        time.sleep(0.002)


def length(path):
    """Lines of a diary."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_of_writers_that_are_killed_nothing_acknowledged_is_lost_and_nothing_is_there_twice(target, tmp_path):
    """Four processes at work; one after another is killed, while it works, and another goes on with its diary."""
    rng = random.Random(f"kills {N_KILLS}")  # noqa: S311 - no secret
    stop = tmp_path / "stop"
    diaries = [tmp_path / f"worker{i}.diary" for i in range(N_WORKERS)]
    live.create(target, "shop", **SHOP).close()

    def begin(i):
        return start(at_work, target, "shop", diaries[i], stop, changes=i == 0), length(diaries[i])

    workers = [begin(i) for i in range(N_WORKERS)]
    began = time.monotonic()
    try:
        for _ in range(N_KILLS):
            i = rng.randrange(N_WORKERS)
            process, before = workers[i]
            wait_for_work(process, diaries[i], before)
            time.sleep(rng.uniform(0, 0.05))
            process.kill()
            process.join(PATIENCE)
            assert process.exitcode == -signal.SIGKILL
            workers[i] = begin(i)
    finally:
        stop.touch()
    finish(*(process for process, _ in workers))
    seconds = time.monotonic() - began
    found = check(target, "shop", diaries)
    # Read with pytest -s.
    sys.stdout.write(f"{N_KILLS} kills in {seconds:.0f} s: {vars(found)}\n")


# --- killed at any statement --------------------------------------------------------------------------------------------


def calls_until(n, target, path):
    """Calls of every kind, by a process that is killed after its ``n``-th statement to the database, if it gets there."""
    with noted(path), pytest.MonkeyPatch.context() as patch, live.open(target, "shop") as experiment:
        store, ask, statements = type(experiment.store), type(experiment.store)._ask, count(1)

        def counted(*arguments):
            rows = ask(*arguments)
            if next(statements) == n:
                os.kill(os.getpid(), signal.SIGKILL)
            return rows

        patch.setattr(store, "_ask", counted)
        patch.setattr(fold, "FEWEST_ENTRIES", 1)  # a snapshot with every refresh
        worker = Worker(experiment, path)
        worker.decide(2)
        worker.decide()
        worker.reward(worker.owed[-2:])
        worker.call("refresh")
        worker.change("pause", "c")
        worker.change("resume", "c")
        worker.decide(2)


SETTLING = {
    "on arrival": {},
    "when the window closes": {"window": 0.2, "aggregate": "sum", "default_reward": 0.0},
}


@pytest.mark.parametrize("settling", SETTLING)
def test_who_is_killed_between_any_two_statements_leaves_nothing_half_done(target, tmp_path, settling):
    """Also in the middle of sequencing, of a change and of writing a snapshot."""
    path = tmp_path / "worker.diary"
    with live.create(target, "shop", **SHOP | SETTLING[settling]) as experiment:
        for n in count(1):
            process = start(calls_until, n, target, path)
            process.join(PATIENCE)
            Worker(experiment, path)  # goes on where it was killed
            if process.exitcode != -signal.SIGKILL:
                break
    assert process.exitcode == 0
    assert n > 20
    found = check(target, "shop", [path], *([] if settling == "on arrival" else [total, 0.2]))
    assert found.unanswered > n / 2
    assert found.snapshots > 5
    sys.stdout.write(f"{n - 1} kills: {vars(found)}\n")


# --- a disk that is full ------------------------------------------------------------------------------------------------


SENTENCE = r"^The database .* cannot be used: [^\n]*[^.]\.$"


def limited_files(path):
    """Let no file of this process grow beyond the size that the largest of the database has."""
    import resource

    largest = max(file.stat().st_size for file in Path(path).parent.glob("live.db*"))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def limited_pages(path):
    """Let the database have no more pages than it has, which SQLite reports as it reports a full disk."""
    opened = SqliteStore._new_connection

    def limited(store):
        connection = opened(store)
        connection.execute("PRAGMA max_page_count = 1")  # none fewer than there are
        return connection

    SqliteStore._new_connection = limited

    def end():
        SqliteStore._new_connection = opened

    return end


def decide_for_ever(worker):
    while True:
        worker.repeat()
        worker.decide(20)
        worker.reward(worker.owed)


def fill(worker, end):
    """Decide until the disk is full, have that ended, and go on, with the same object."""
    for _ in range(4):  # where it is full, it remains so
        with pytest.raises(live.StoreError, match=SENTENCE) as failure:
            decide_for_ever(worker)
        assert "full" in str(failure.value) or "cannot be read or written" in str(failure.value)
    assert worker.experiment.replay().is_identical  # what is there can be read
    end()
    worker.experiment.close()
    worker.repeat()
    worker.decide(20)
    worker.reward(worker.owed)


def on_full_disk(target, path, limit):
    """Work under a limit, and then without."""
    with noted(path), live.open(target, "shop") as experiment:
        worker = Worker(experiment, path)
        worker.decide(5)
        experiment.close()  # the next call connects under the limit
        fill(worker, limit(target))


@pytest.mark.parametrize("limit", [limited_files, limited_pages])
def test_a_full_disk_is_told_and_costs_nothing(tmp_path, limit):
    target, path = tmp_path / "live.db", tmp_path / "worker.diary"
    live.create(target, "shop", **SHOP).close()
    run(on_full_disk, target, path, limit)
    assert check(target, "shop", [path]).unanswered >= 1


def on_small_disk(folder, path):
    """Work on a disk of 400 KiB that is mounted for this process alone, and of which one half is taken at first."""
    with noted(path):
        if not mounted(folder):
            os._exit(NOT_PERMITTED)
        (folder / "ballast").write_bytes(bytes(200 * 1024))
        target = folder / "live.db"
        with live.create(target, "shop", **SHOP) as experiment:
            fill(Worker(experiment, path), (folder / "ballast").unlink)
        assert check(target, "shop", [path]).unanswered >= 1


NOT_PERMITTED = 77


def mounted(folder):
    """Mount a small disk in memory, seen by this process alone; whether that is permitted."""
    new_mounts, new_users, private_and_below = 0x20000, 0x10000000, 0x44000
    libc = ctypes.CDLL(None)
    uid = os.geteuid()
    if libc.unshare(new_mounts | (new_users if uid else 0)):
        return False
    if uid:
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    return not libc.mount(b"none", b"/", None, private_and_below, None) and not libc.mount(
        b"none", os.fsencode(folder), b"tmpfs", 0, b"size=400k"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="mounts of Linux")
def test_on_a_small_disk_that_is_full_nothing_is_lost(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    path = tmp_path / "worker.diary"
    process = start(on_small_disk, folder, path)
    process.join(PATIENCE)
    if process.exitcode == NOT_PERMITTED:
        pytest.skip("this user may not mount a disk")
    assert process.exitcode == 0, failure_of(path)


# --- what may not be written --------------------------------------------------------------------------------------------


def read_only(target, path, parts):
    """Work, have the file or its folder write-protected, be told so, and go on when they are not any more."""
    if os.geteuid() == 0:  # who may write anything
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    target.parent.mkdir()
    with noted(path), live.create(target, "shop", **SHOP) as experiment:
        worker = Worker(experiment, path)
        worker.decide(5)
        worker.reward(worker.owed[:2])
        experiment.close()
        protected = {part: part.stat().st_mode for part in parts}
        for part, mode in protected.items():
            part.chmod(mode & ~0o222)
        for _ in range(2):
            with pytest.raises(live.StoreError, match=SENTENCE):
                worker.decide(5)
            with pytest.raises(live.StoreError, match=SENTENCE):
                worker.reward(worker.owed)
            with pytest.raises(live.StoreError, match=SENTENCE):
                worker.change("pause", "c")
        with pytest.raises(live.StoreError, match=SENTENCE):
            live.create(target, "shop 2", **SHOP)
        for part, mode in protected.items():
            part.chmod(mode)
        worker.decide(5)
        worker.reward(worker.owed)
        worker.change("pause", "c")
        assert check(target, "shop", [path]).decisions == 10


@pytest.mark.skipif(sys.platform != "linux", reason="rights of Linux")
@pytest.mark.parametrize("protected", ["file", "folder", "file and folder"])
def test_what_may_not_be_written_is_told_and_nothing_changes(protected):
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        folder = Path(name) / "data"
        target = folder / "live.db"
        parts = [part for word, part in (("file", target), ("folder", folder)) if word in protected]
        process = start(read_only, target, Path(name) / "worker.diary", parts)
        process.join(PATIENCE)
        assert process.exitcode == 0, failure_of(Path(name) / "worker.diary")
