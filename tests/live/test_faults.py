"""Processes that are killed, disks that are full, files that cannot be written, servers that go away.

By default a few kills. ``BANDSTRAP_KILLS=200`` makes a campaign of it.
"""

import ctypes
import gc
import os
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from contextlib import closing
from itertools import count
from pathlib import Path

import psycopg
import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import fold
from bandstrap.live.sqlite import SqliteStore
from bandstrap.live.store import SNAPSHOTS
from live.workers import (
    HELD_OUT,
    PATIENCE,
    SHOP,
    Worker,
    at_work,
    check,
    failure_of,
    finish,
    kind_of,
    noted,
    run,
    start,
    total,
)
from sampling import exhaustive, telling

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


def test_of_writers_that_are_killed_nothing_acknowledged_is_lost_and_nothing_is_there_twice(target, tmp_path, noting):
    """Four processes at work; one after another is killed, while it works, and another goes on with its diary."""
    rng = random.Random(f"kills {N_KILLS}")  # noqa: S311 - no secret
    stop = tmp_path / "stop"
    diaries = [tmp_path / f"worker{i}.diary" for i in range(N_WORKERS)]
    live.create(target, "shop", **SHOP | HELD_OUT).close()

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
            assert process.exitcode == -signal.SIGKILL, failure_of(diaries[i])
            workers[i] = begin(i)
    finally:
        stop.touch()
    finish(*(process for process, _ in workers))
    seconds = time.monotonic() - began
    found = check(target, "shop", diaries, note=noting(f"kills ({kind_of(target)})", N_KILLS))
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
        worker.decide(defer=True)
        worker.reward(worker.owed[-3:])
        worker.call("activate", decision=worker.unshown[-1])
        worker.call("refresh")
        worker.change("pause", "c")
        worker.change("resume", "c")
        worker.decide(2)


SETTLING = {
    "on arrival": {},
    "when the window closes": {"window": 0.2, "aggregate": "sum", "default_reward": 0.0},
}


@exhaustive
@pytest.mark.parametrize("settling", SETTLING)
def test_who_is_killed_between_any_two_statements_leaves_nothing_half_done(target, tmp_path, noting, settling):
    """Also in the middle of sequencing, of a change and of writing a snapshot.

    After every other statement, in one kind of database after those where in the other nobody is killed; in a campaign
    after every one.
    """
    path, n_killed = tmp_path / "worker.diary", 0
    with live.create(target, "shop", **SHOP | HELD_OUT | SETTLING[settling]) as experiment:
        for n in count(1 + target.startswith("postgresql"), 1 if N_KILLS > 100 else 2):
            process = start(calls_until, n, target, path)
            process.join(PATIENCE)
            Worker(experiment, path)  # goes on where it was killed
            if process.exitcode != -signal.SIGKILL:
                break
            n_killed += 1
    assert process.exitcode == 0, failure_of(path)
    assert n > 20
    waiting = [] if settling == "on arrival" else [total, 0.2]
    note = noting(f"kills between statements ({kind_of(target)})", n_killed)
    found = check(target, "shop", [path], *waiting, note=note)
    assert found.unanswered > 10
    assert found.snapshots == 2 * SNAPSHOTS  # and counters beside them
    sys.stdout.write(f"{n} statements: {vars(found)}\n")


# --- interrupted anywhere -----------------------------------------------------------------------------------------------


def interrupted(n, work):
    """Press Ctrl-C at the ``n``-th line of the package for live experiments that runs; whether there were so many."""
    folder, lines = str(Path(live.__file__).parent), count(1)

    def in_live(frame, event, argument):
        if event == "line" and next(lines) == n:
            raise KeyboardInterrupt
        return in_live

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: in_live if frame.f_code.co_filename.startswith(folder) else None)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@exhaustive
def test_an_experiment_that_was_interrupted_anywhere_goes_on(target, tmp_path, monkeypatch):
    """The same object: what it knows is whole, or read again."""
    path = tmp_path / "worker.diary"
    gc.collect()  # what earlier tests have left is not to be closed while lines are counted
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 3)  # a snapshot with most refreshes
    with live.create(target, "shop", **SHOP | {"refresh": 0}) as experiment:
        worker = Worker(experiment, path)

        def work():
            worker.decide(2)
            worker.decide(defer=True)
            worker.reward(worker.owed[-3:])
            worker.call("activate", decision=worker.unshown[-1])
            worker.change("pause", "c")
            worker.change("resume", "c")
            worker.decide()

        n = 1
        while interrupted(n, work):
            worker.repeat()
            n += 60
        assert n > 1000
        worker.repeat()
    found = check(target, "shop", [path])
    assert found.unanswered == n // 60


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
        with tempfile.TemporaryDirectory() as other, live.create(f"{other}/live.db", "shop", **SHOP) as rehearsal:
            rehearsal.decide()  # what is imported on first use may lie where nobody else reads
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


# --- locks --------------------------------------------------------------------------------------------------------------


def keep_locked(target, is_held, may_end):
    """Hold the write lock of a file of SQLite until told to let go; make a file when it is held."""
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        is_held.touch()
        while not may_end.exists():
            time.sleep(0.005)
        connection.execute("ROLLBACK")


def test_a_database_that_another_process_keeps_locked_is_told_and_one_that_is_let_go_is_waited_for(
    tmp_path,
):
    target, path = tmp_path / "live.db", tmp_path / "worker.diary"
    is_held, may_end = tmp_path / "held", tmp_path / "end"
    with live.create(target, "shop", **SHOP) as experiment:
        worker = Worker(experiment, path)
        worker.decide(5)
        experiment.store.timeout = 0.2
        experiment.close()
        other = start(keep_locked, target, is_held, may_end)
        while not is_held.exists():
            time.sleep(0.005)
        worker.call("refresh")  # there is nothing to write
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(live.StoreError, match=SENTENCE) as failure:
                worker.decide(5)
            assert "locked" in str(failure.value)
            assert 0.2 <= time.monotonic() - began < PATIENCE
        with pytest.raises(live.StoreError, match=SENTENCE):
            worker.reward(worker.owed)
        with pytest.raises(live.StoreError, match=SENTENCE):
            live.create(target, "shop 2", timeout=0.2, **SHOP)
        experiment.store.timeout = PATIENCE
        experiment.close()
        threading.Timer(0.3, may_end.touch).start()
        worker.repeat()
        finish(other)
        worker.decide(5)
        worker.change("pause", "c")
    found = check(target, "shop", [path])
    assert (found.decisions, found.rewards, found.changes) == (10, 5, 1)


@pytest.mark.parametrize("refresh", ["1h", 0])
def test_while_another_transaction_holds_the_log_others_decide_and_reward(postgres, tmp_path, refresh):
    """Only who would append to it waits, and is told after a while."""
    target, path = postgres.new_database(), tmp_path / "worker.diary"
    with live.create(target, "shop", timeout=PATIENCE, **SHOP | {"refresh": refresh}) as experiment:
        worker = Worker(experiment, path)
        worker.decide(5)
        with psycopg.connect(target) as holder:
            holder.execute("SELECT id FROM live_experiment FOR NO KEY UPDATE")
            worker.reward(worker.owed)
            worker.decide(5)
            for call in (lambda: worker.call("refresh"), lambda: worker.change("pause", "c")):
                experiment.store.timeout = 0.3
                with pytest.raises(live.StoreError, match=SENTENCE) as failure:
                    call()
                assert "locked" in str(failure.value)
                experiment.store.timeout = PATIENCE
            worker.decide(5)
            worker.reward(worker.owed)
        worker.change("pause", "c")
    found = check(target, "shop", [path])
    assert (found.decisions, found.rewards, found.changes) == (15, 15, 1)


# --- a server that goes away and comes back -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_server(postgres):
    """A server of which no other test has databases, because it is stopped."""
    server = type(postgres)()
    try:
        yield server
    finally:
        server.remove()


def stop_in_order(server):
    server.stop()


def crash(server):
    server.stop(signal.SIGQUIT)


def kill(server):
    server.kill()


def start_again(server):
    """Start a server; not before the last process of the old one has ended, it would refuse."""
    for attempt in count(1):
        try:
            server.start()
        except AssertionError:
            assert attempt < 100
            time.sleep(0.05)
        else:
            return


CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bandstrap'"
STOPS = [stop_in_order, crash, kill]


@exhaustive
@pytest.mark.parametrize("stop", STOPS)
def test_a_server_that_is_gone_is_told_and_the_same_object_goes_on_when_it_is_back(own_server, tmp_path, stop):
    own_server.start()
    target, path = own_server.new_database(), tmp_path / "worker.diary"
    with live.create(target, "shop", **SHOP) as experiment:
        worker = Worker(experiment, path)
        worker.decide(5)
        worker.reward(worker.owed[:2])
        stop(own_server)
        for call in (lambda: worker.decide(5), lambda: worker.reward(worker.owed), lambda: worker.call("refresh")) * 2:
            with pytest.raises(live.StoreError, match=SENTENCE):
                call()
        with pytest.raises(live.StoreError, match=SENTENCE):
            live.open(target, "shop")
        start_again(own_server)
        worker.decide(5)
        worker.reward(worker.owed)
    found = check(target, "shop", [path])
    assert (found.decisions, found.rewards) == (10, 10)
    own_server.stop()


@exhaustive
def test_workers_go_on_when_connections_are_cut_and_the_server_goes_away(own_server, tmp_path):
    """Each repeats with the same keys what failed."""
    own_server.start()
    target, end = own_server.new_database(), tmp_path / "stop"
    diaries = [tmp_path / f"worker{i}.diary" for i in range(N_WORKERS)]
    live.create(target, "shop", **SHOP | HELD_OUT).close()
    workers = [
        start(at_work, target, "shop", path, end, changes=i == 0, patient=True) for i, path in enumerate(diaries)
    ]
    rng = random.Random("cuts")  # noqa: S311 - no secret
    try:
        for worker, path in zip(workers, diaries, strict=True):
            wait_for_work(worker, path, 0)
        for stop in (None, *STOPS, None):
            time.sleep(rng.uniform(0, 0.2))
            if stop is not None:
                stop(own_server)
                time.sleep(0.05)
                start_again(own_server)
            else:
                for _ in range(5):
                    time.sleep(rng.uniform(0, 0.05))
                    with psycopg.connect(own_server.url("postgres"), autocommit=True) as connection:
                        connection.execute(CUT)
        time.sleep(0.2)
    finally:
        end.touch()
    finish(*workers)
    found = check(target, "shop", diaries)
    sys.stdout.write(f"server stopped {len(STOPS)} times: {vars(found)}\n")
    own_server.stop()


# --- damage -------------------------------------------------------------------------------------------------------------


def shop_with_snapshots(target, path):
    """An experiment of some versions, of which snapshots were written."""
    with pytest.MonkeyPatch.context() as patch, live.create(target, "shop", **SHOP) as experiment:
        patch.setattr(fold, "FEWEST_ENTRIES", 5)
        worker = Worker(experiment, path)
        for _ in range(4):
            worker.decide(10)
            worker.reward(worker.owed)
            worker.call("refresh")
        worker.change("pause", "c")
        worker.decide(10)


def change_rows(target, statement):
    """Change what nobody should, behind the store's back."""
    connect = psycopg.connect if target.startswith("postgresql") else sqlite3.connect
    with closing(connect(target)) as connection:
        connection.execute(statement)
        connection.commit()


def try_everything(target):
    """Use an experiment in every way; gives the sentences of errors, of which no other kind is allowed."""
    sentences = []
    calls = [
        lambda experiment: experiment.refresh(),
        lambda experiment: experiment.decide(key="new"),
        lambda experiment: experiment.decide(key="worker-0-0", unit="worker-0-0"),
        lambda experiment: experiment.reward(experiment.decide(key="newer").id, 0.5),
        lambda experiment: experiment.pause("b"),
        lambda experiment: experiment.status(),
        lambda experiment: experiment.export(target.with_suffix(".parquet")),
        lambda experiment: sentences.append(experiment.replay().first),
    ]
    for call in calls:
        try:
            with live.open(target, "shop") as experiment:
                call(experiment)
        except (live.StoreError, InvalidInput) as error:
            sentences.append(str(error))
    return [sentence for sentence in sentences if sentence is not None]


def cut_off(content, rng):
    del content[rng.randrange(len(content)) :]


def overwritten(content, rng):
    place = rng.randrange(len(content))
    content[place : place + 512] = rng.randbytes(512)


def bits_flipped(content, rng):
    for place in rng.sample(range(len(content)), rng.choice([3, 30, 300])):
        content[place] ^= 1 << rng.randrange(8)


@telling("damage", [cut_off, overwritten, bits_flipped], [cut_off])
def test_a_damaged_file_is_told_in_a_sentence(tmp_path, damage):
    whole = tmp_path / "whole.db"
    shop_with_snapshots(str(whole), tmp_path / "worker.diary")
    rng = random.Random(f"{damage.__name__} {N_KILLS}")  # noqa: S311 - no secret
    told = 0
    for i in range(N_KILLS):
        content = bytearray(whole.read_bytes())
        damage(content, rng)
        target = tmp_path / f"live{i}.db"
        target.write_bytes(content)
        sentences = try_everything(target)
        assert all("\n" not in sentence and sentence.endswith(".") for sentence in sentences), sentences
        told += bool(sentences)
    assert told > 0


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (
            "UPDATE live_change SET body = '{'",
            "The log of the experiment is damaged: entry 41 is not the one that was written after entry 40.",
        ),
        (
            "UPDATE live_learned SET arm = 7 WHERE seq = 9",
            "The log of the experiment is damaged: entry 9 is not the one that was written after entry 8.",
        ),
        (
            "UPDATE live_learned SET reward = reward + 1 WHERE seq = 9",
            "The log of the experiment is damaged: entry 9 is not the one that was written after entry 8.",
        ),
        (
            "UPDATE live_learned SET arm = 7 WHERE seq = 1",
            "The log of the experiment is damaged: entry 1 cannot be read.",
        ),
        ("DELETE FROM live_learned WHERE seq = 9", "The log of the experiment is damaged: entry 9 is missing."),
    ],
)
def test_a_damaged_log_is_told_in_a_sentence(target, tmp_path, damage, sentence):
    shop_with_snapshots(target, tmp_path / "worker.diary")
    change_rows(target, "DELETE FROM live_snapshot")
    change_rows(target, damage)
    with live.open(target, "shop") as experiment:
        for _ in range(2):
            with pytest.raises(live.StoreError) as failure:
                experiment.decide()
            assert str(failure.value) == sentence
        assert not experiment.replay().is_identical


def test_a_damaged_decision_is_told_in_a_sentence(target, tmp_path):
    shop_with_snapshots(target, tmp_path / "worker.diary")
    change_rows(target, "UPDATE live_decision SET weights = 17 WHERE key = 'worker-0-3'")
    with live.open(target, "shop") as experiment:
        with pytest.raises(live.StoreError, match=r"^The stored decision \w* is damaged: it cannot be read\.$"):
            experiment.decide(key="worker-0-3")
        experiment.decide(key="worker-0-4")
        assert experiment.replay().differences == 1
        with pytest.raises(live.StoreError, match=r"^The stored decision \w* is damaged: it cannot be read\.$"):
            experiment.export(tmp_path / "log.parquet")
        assert not (tmp_path / "log.parquet").exists()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE live_change SET body = '{'",
        "UPDATE live_change SET body = '[]'",
        "UPDATE live_change SET body = '\"pause\"'",
        "UPDATE live_change SET body = '{\"arn\": 1}'",
    ],
)
def test_a_damaged_change_that_a_snapshot_passes_over_is_told_in_a_sentence(target, monkeypatch, damage):
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 5)
    with live.create(target, "shop", **SHOP) as experiment:
        experiment.pause("c")
        learn(experiment, 10, 0.5)
        assert experiment.status().changes[0].what == "arm c paused"
    change_rows(target, damage)
    with live.open(target, "shop") as experiment:
        assert experiment.decide().version == 11
        with pytest.raises(live.StoreError, match=r"^The log of the experiment is damaged: entry 1 cannot be read\.$"):
            experiment.status()


@pytest.mark.parametrize("content", [b"", b"a text", b"SQLite format 3\0", bytes(8192)])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, content):
    target = tmp_path / "live.db"
    target.write_bytes(content)
    with pytest.raises(live.StoreError, match=r"^The database [^\n]*[^.]\.$"):
        live.open(target, "shop")
    assert target.read_bytes() == content


def exchange(path, other):
    """Put another file in the place of a database."""
    for file in path.parent.glob(f"{path.name}-*"):
        file.unlink()
    other.replace(path)


def copied(path, other):
    """A copy of a database that may be in use."""
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(other)) as two:
        one.backup(two)


def learn(experiment, n, reward):
    """Decisions that are all rewarded."""
    experiment.reward_many([(decision.id, reward) for decision in experiment.decide_many([None] * n)])
    return experiment.refresh()


@pytest.mark.parametrize("refresh", [0, 1000])
def test_a_restored_copy_that_has_gone_on_is_learned_from_the_start(tmp_path, refresh):
    path = tmp_path / "live.db"
    told = {"policy": "gaussian_ts", "arms": ["red", "green"], "seed": 7, "burn_in": 2, "durability": "normal"}
    experiment = live.create(path, "checkout", **told, refresh=refresh)
    learn(experiment, 5, 0.1)
    copied(path, tmp_path / "copy.db")
    learn(experiment, 20, 0.3)
    experiment.close()
    exchange(path, tmp_path / "copy.db")
    with live.open(path, "checkout", durability="normal") as other:
        assert learn(other, 40, 0.2) == 45
        assert experiment.decide().version == 45
        assert experiment.decide().weights == other.decide().weights
        assert experiment.replay().is_identical
    experiment.close()


def test_another_database_in_place_of_ours_is_left_alone(tmp_path):
    path = tmp_path / "live.db"
    told = {"policy": "ucb1", "seed": 7, "durability": "normal", "refresh": 0}
    experiment = live.create(path, "checkout", arms=["red", "green"], **told)
    decision = experiment.decide()
    experiment.close()
    with live.create(tmp_path / "other.db", "search", arms=["short", "long"], **told) as other:
        learn(other, 3, 1.0)
    exchange(path, tmp_path / "other.db")
    calls = [
        experiment.decide,
        experiment.refresh,
        experiment.replay,
        experiment.status,
        lambda: experiment.reward(decision.id, 1.0),
        lambda: experiment.activate(decision.id),
        lambda: experiment.add_arm("blue"),
    ]
    for call in calls:
        with pytest.raises(live.StoreError, match="replaced by one without this experiment 'checkout'"):
            call()
    experiment.close()
    with live.open(path, "search") as other:
        assert other.replay().is_identical
        assert other.status().decisions == {"policy": 3}
