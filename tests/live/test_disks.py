"""Disks that lose their power, or fail: nothing acknowledged is lost, by what a shim below SQLite records and refuses.

``BANDSTRAP_CUTS=100`` makes a campaign of power cuts.
"""

import os
import random
import sqlite3

import pytest

from bandstrap import live
from live import history
from live.disks import Disk, File, after_records, build, read_trace, run_shimmed, sectors
from live.shimmed import FAULTS, NORMAL
from live.workers import SHOP, check
from sampling import telling

N_CUTS = int(os.environ.get("BANDSTRAP_CUTS", "8"))


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return build(tmp_path_factory.mktemp("shim"))


def recorded(shim, folder, seed, *options):
    """Records of two workers at work, in a folder that is left as they left it."""
    run_shimmed(shim, "record", folder / "disk", folder / "trace", seed, *options)
    return read_trace(folder / "trace")


@pytest.fixture(scope="module")
def workers(shim, tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    return folder, recorded(shim, folder, "cuts", 20 if N_CUTS > 20 else 9)


# --- the disk itself ----------------------------------------------------------------------------------------------------


def test_what_was_recorded_is_what_is_on_the_disk(workers):
    folder, records = workers
    disk = after_records(records, len(records))
    files = {file.name: file.read_bytes() for file in (folder / "disk").iterdir() if not file.name.endswith("-shm")}
    assert {name: bytes(file.content()) for name, file in disk.names.items()} == files
    # Checkpoints, logs that are made and removed, and a copy that is moved to its name are on record.
    assert {("c", "live.db-wal"), ("u", "live.db-wal"), ("w", "live.db"), ("w", "live.db-wal")} <= {
        (kind, name) for kind, _, name, *_ in records
    }
    assert [data for kind, *_, data in records if kind == "r"] == [b"copy.db"]


def test_after_a_cut_synced_bytes_are_there_and_others_by_sectors():
    assert list(sectors(500, 1030)) == [(500, 512), (512, 1024), (1024, 1030)]
    rng = random.Random(3)  # noqa: S311 - no secret
    found = set()
    for _ in range(200):
        file = File()
        file.pending.append((0, b"a" * 1024))
        file.sync()
        file.pending += [(100, b"b" * 1000), (512, None)]
        content = bytes(file.after_cut(rng))
        assert content[:100] == b"a" * 100
        assert content[100:512] in (b"a" * 412, b"b" * 412)
        found.add((len(content), content[100:101], content[600:601]))
    assert {(512, b"a", b""), (1024, b"a", b"a"), (1100, b"b", b"b"), (1024, b"b", b"a")} <= found


def test_names_that_were_not_synced_may_be_as_they_were(tmp_path):
    rng = random.Random(4)  # noqa: S311 - no secret
    found = set()
    for number in range(60):
        disk, files = Disk(), {}
        for record in (
            ("c", False, "old", 1, 0, b""),
            ("w", False, "old", 1, 0, b"x"),
            ("s", False, "old", 1, 0, b""),
            ("d", False, "", 0, 0, b""),
            ("r", False, "old", 0, 0, b"new"),
            ("c", False, "more", 2, 0, b""),
        ):
            disk.write(record, files)
        disk.after_cut(rng, tmp_path / str(number))
        found.add(frozenset(file.name for file in (tmp_path / str(number)).iterdir()))
    assert {frozenset({"old"}), frozenset({"new"}), frozenset({"new", "more"})} <= found


# --- power cuts ---------------------------------------------------------------------------------------------------------


def cut(records, number, folder, rng):
    """What may be found in the folder if the power is cut after so many records."""
    after_records(records, number).after_cut(rng, folder)
    return folder / "live.db", sorted(folder.glob("*.diary"))


def recover(target, diaries):
    """What a machine does when it is started again; there is an experiment if anybody was told so."""
    if not any(history.read_lines(path) for path in diaries):
        live.create(target, "shop", **SHOP | NORMAL).close()


def is_sound(target, diaries):
    """Whether a database that may be broken in any way has all that was acknowledged."""
    try:
        recover(target, diaries)
        check(target, "shop", diaries)
    except (AssertionError, OSError, ValueError, LookupError, sqlite3.Error):
        return False
    return True


def test_a_power_cut_costs_nothing_that_was_acknowledged(workers, tmp_path, noting):
    _, records = workers
    rng = random.Random(f"cuts {N_CUTS}")  # noqa: S311 - no secret
    for number in [len(records), *(rng.randint(0, len(records)) for _ in range(N_CUTS - 1))]:
        target, diaries = cut(records, number, tmp_path / f"cut{number}-{rng.random()}", rng)
        recover(target, diaries)
        check(target, "shop", diaries, note=noting("power cuts (SQLite)"))


def test_a_copy_that_was_made_is_there_after_a_cut(workers, tmp_path):
    folder, records = workers
    rng = random.Random("copies")  # noqa: S311 - no secret
    for number in range(5):
        cut(records, len(records), tmp_path / str(number), rng)
        assert (tmp_path / str(number) / "copy.db").read_bytes() == (folder / "disk" / "copy.db").read_bytes()


def test_without_syncs_power_cuts_are_found_to_cost_acknowledged_calls(shim, tmp_path):
    """The negative control: of cuts of a database that does not wait for the disk, most lose something."""
    records = recorded(shim, tmp_path, "control", 6, "OFF")
    rng = random.Random("control")  # noqa: S311 - no secret
    sound = [is_sound(*cut(records, len(records) * (10 + i) // 20, tmp_path / f"cut{i}", rng)) for i in range(6)]
    assert sum(sound) < len(sound) / 2


# --- writes that fail ---------------------------------------------------------------------------------------------------


@telling(("fault", "times"), [(fault, times) for fault in FAULTS for times in (1, 1000)], [("EIO", 1)])
def test_a_write_or_sync_that_fails_is_told_and_costs_nothing(shim, tmp_path, noting, fault, times):
    """Whichever of them it is; the same object goes on. Afterwards, and after a power cut as well, all is there."""
    stride = 1 if N_CUTS > 20 else 5
    folder = tmp_path / "disk"
    told, tried = map(int, run_shimmed(shim, "fail", folder, tmp_path / "trace", fault, times, 1, stride).split())
    assert tried > 60 / stride
    assert told > tried / 4  # the others concern the copying of the log, which is tried again
    note = noting(f"failed writes, {fault}{'' if times == 1 else ' to the end'} (SQLite)", tried)
    found = check(folder / "live.db", "shop", [folder / "worker.diary"], note=note)
    assert found.unanswered >= told / 2
    records = read_trace(tmp_path / "trace")
    if fault == "EIO":
        assert any(failed for _, failed, *_ in records)
    target, diaries = cut(records, len(records), tmp_path / "cut", random.Random(5))  # noqa: S311 - no secret
    check(target, "shop", diaries)


# --- locks --------------------------------------------------------------------------------------------------------------


@telling("locks", ["kept", "ignored"], ["ignored"])
def test_locks_that_are_ignored_are_found_to_cost_acknowledged_calls(shim, tmp_path, locks):
    """The negative control: a process decides while a transaction of another is open."""
    run_shimmed(shim, "lock", tmp_path / "disk", tmp_path / "trace", locks)
    diaries = sorted((tmp_path / "disk").glob("*.diary"))
    assert is_sound(tmp_path / "disk" / "live.db", diaries) == (locks == "kept")
