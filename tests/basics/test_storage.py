"""Files that are written whole or not at all, by several processes and on full disks, and seals."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bandstrap.basics import storage
from bandstrap.basics.storage import (
    NO_SEAL,
    Damaged,
    check_folder,
    check_seal,
    locked,
    seal,
    whole_file,
    write_bytes,
    write_text,
)
from bandstrap.errors import InvalidInput

PATIENCE = 300  # seconds after which something hangs


@pytest.fixture(autouse=True)
def _like_new_processes():
    """Each test removes orphans as the first of its process would."""
    storage.remove_orphans.cache_clear()


def parts(folder):
    return list(folder.glob(".*"))


def test_a_file_appears_whole_and_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b.txt"
    write_text(path, "one")
    write_text(path, "two ü")
    assert path.read_text(encoding="utf-8") == "two ü"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_has_the_rights_of_any_new_file(tmp_path):
    write_text(tmp_path / "ours", "")
    (tmp_path / "any").write_text("")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_an_error_leaves_the_old_file_and_no_part(tmp_path):
    path = tmp_path / "kept.txt"
    write_text(path, "old")

    def write_half():
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x" * 255, "ü" * 127, "-", ".hidden"])
def test_any_name_that_a_file_may_have_will_do(tmp_path, name):
    write_text(tmp_path / name, "text")
    assert os.listdir(tmp_path) == [name]  # noqa: PTH208 - names alone


# --- seals ------------------------------------------------------------------------------------------------------------

SEALED = seal(b'{"x": [1, 2], "y": "\\"seal\\": \\"", "seal": "' + NO_SEAL.encode() + b'"}\n')


def test_what_was_sealed_holds():
    check_seal(SEALED)
    with pytest.raises(Damaged, match="no place"):
        seal(SEALED)


def test_every_bit_counts():
    for place in range(8 * len(SEALED)):
        data = bytearray(SEALED)
        data[place // 8] ^= 1 << place % 8
        with pytest.raises(Damaged):
            check_seal(bytes(data))


def test_every_byte_counts():
    for place in range(len(SEALED)):
        for data in (SEALED[:place], SEALED[place + 1 :], SEALED[:place] + b" " + SEALED[place:], SEALED[place:] * 2):
            with pytest.raises(Damaged):
                check_seal(data)


@pytest.mark.parametrize("data", [b"", b'"seal": "', b'"seal": "' * 3, NO_SEAL.encode()])
def test_what_was_never_sealed_does_not_hold(data):
    with pytest.raises(Damaged):
        check_seal(data)


def test_a_large_file_of_many_false_seals_takes_no_time():
    data = b'"seal": "' * 2_000_000
    start = time.process_time()
    with pytest.raises(Damaged):
        check_seal(data)
    assert time.process_time() - start < 2


# --- what a killed process leaves -------------------------------------------------------------------------------------

WRITER = """
import sys, time
from pathlib import Path
from bandstrap.basics.storage import whole_file
with whole_file(Path(sys.argv[1])) as part:
    part.write_text("half")
    print(flush=True)
    sys.stdin.readline()
    part.write_text("whole")
"""


@pytest.fixture
def writer(tmp_path):
    """A process that has half written a file."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "theirs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_what_a_killed_process_left_is_removed_by_the_next_writer(tmp_path, writer):
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert len(parts(tmp_path)) == 1
    write_text(tmp_path / "ours", "")
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]


def test_what_another_process_is_writing_is_left_alone(tmp_path, writer):
    old = time.time() - 10 * storage.SECONDS_OF_A_PART
    os.utime(parts(tmp_path)[0], (old, old))
    write_text(tmp_path / "ours", "")
    assert len(parts(tmp_path)) == 1
    writer.communicate(b"\n")
    assert (tmp_path / "theirs").read_text() == "whole"
    assert parts(tmp_path) == []


def test_a_part_that_was_taken_for_an_orphan_is_made_again(tmp_path, monkeypatch):
    real, taken = storage.fcntl.flock, []

    def late(descriptor, how):
        """Lock, after another process has been faster."""
        if not taken:
            taken.extend(parts(tmp_path))
            taken[0].unlink()
        real(descriptor, how)

    monkeypatch.setattr(storage.fcntl, "flock", late)
    write_text(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"
    assert taken
    assert parts(tmp_path) == []


def no_locks(monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(storage.fcntl, "flock", fail)


def no_fcntl(monkeypatch):
    monkeypatch.setattr(storage, "fcntl", None)


@pytest.mark.parametrize("without", [no_locks, no_fcntl])
def test_without_locks_old_parts_are_orphans(tmp_path, monkeypatch, without):
    without(monkeypatch)
    for name, age in (("old", storage.SECONDS_OF_A_PART + 60), ("new", 60)):
        part = tmp_path / storage.PART.format(name)
        part.write_text("")
        os.utime(part, (time.time() - age, time.time() - age))
    (tmp_path / ".other.part").write_text("of another program")
    os.utime(tmp_path / ".other.part", (0, 0))
    write_text(tmp_path / "file", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".bandstrap-new.part", ".other.part", "file"]


def test_threads_that_write_one_file_leave_one_of_theirs(tmp_path):
    contents = {str(i) * 100_000 for i in range(8)}
    threads = [threading.Thread(target=write_text, args=(tmp_path / "one", text)) for text in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "one").read_text() in contents
    assert parts(tmp_path) == []


# --- full disks and places where nothing can be written -----------------------------------------------------------------


def test_a_lasting_file_is_on_the_disk_before_it_has_its_name_and_its_name_after(tmp_path, monkeypatch):
    path, seen = tmp_path / "file", []

    def fsync(descriptor):
        seen.append((Path(f"/proc/self/fd/{descriptor}").readlink(), path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    write_bytes(path, b"", lasting=False)
    assert seen == []
    path.unlink()
    write_bytes(path, b"")
    (part, before), (folder, after) = seen
    assert part.parent == folder == tmp_path
    assert (before, after) == (False, True)


FULL = """
import resource, signal, sys
from pathlib import Path
from bandstrap.basics.storage import write_text
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_text(Path(sys.argv[1]), "x" * 5000)
except OSError as error:
    print(error.filename, error.strerror)
"""


def test_a_file_that_has_no_room_is_named_and_leaves_nothing(tmp_path):
    write_text(tmp_path / "file", "old")
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path / "file"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / 'file'} File too large\n"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208 - names alone
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_folder_is_really_written_to(tmp_path, monkeypatch, number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    check_folder(tmp_path / "new" / "folder", "out", "bandstrap simulate")
    assert list(tmp_path.iterdir()) == []  # neither the folder nor what was tried
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InvalidInput) as refusal:
        check_folder(tmp_path / "new", "out", "bandstrap simulate")
    assert str(refusal.value) == (
        "The 'out' parameter of bandstrap simulate must be a folder that can be written to, or a path where one can be "
        f"made. Got {tmp_path / 'new'}, where {tmp_path} cannot be written to ({os.strerror(number)}), instead."
    )
    assert list(tmp_path.iterdir()) == []


def test_what_a_folder_must_hold_is_looked_at(tmp_path):
    (tmp_path / "blocks").write_text("")
    (tmp_path / "result.parquet").mkdir()
    check_folder(tmp_path, "out", "x", folders=["figures"], files=["summary.csv"])
    with pytest.raises(InvalidInput, match=r"where blocks is no folder, instead"):
        check_folder(tmp_path, "out", "x", folders=["blocks"])
    with pytest.raises(InvalidInput, match=r"where result\.parquet is no file, instead"):
        check_folder(tmp_path, "out", "x", files=["result.parquet"])


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which not even root can write")
def test_a_folder_where_not_even_root_can_write_is_refused():
    with pytest.raises(InvalidInput, match=r"where /proc/self cannot be written to \("):
        check_folder(Path("/proc/self/new"), "out", "bandstrap simulate")


# --- the lock of a folder ---------------------------------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from bandstrap.basics.storage import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.skipif(storage.fcntl is None, reason="no locks on this system")
@pytest.mark.parametrize("ending", ["let go", "killed"])
def test_a_folder_that_another_process_holds_is_waited_for(tmp_path, ending):
    command = [sys.executable, "-c", HOLDER, tmp_path]
    got, waited = threading.Event(), threading.Event()

    def want():
        with locked(tmp_path, waited.set):
            got.set()

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        thread = threading.Thread(target=want)
        thread.start()
        assert waited.wait(PATIENCE)
        assert not got.wait(0.1)
        if ending == "killed":
            process.kill()
        else:
            process.stdin.write("\n")
            process.stdin.flush()
        assert got.wait(PATIENCE)
        thread.join()
    assert list(tmp_path.iterdir()) == []


def test_a_free_folder_and_one_without_locks_are_not_waited_for(tmp_path, monkeypatch):
    for _ in range(2):
        with locked(tmp_path, lambda: pytest.fail("waited")):
            pass
    if storage.fcntl is not None:
        monkeypatch.setattr(storage.fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOLCK, "no locks")))
        with locked(tmp_path, lambda: pytest.fail("waited")):
            pass
    monkeypatch.setattr(storage, "fcntl", None)
    with locked(tmp_path, lambda: pytest.fail("waited")):
        pass


def test_what_fails_under_a_lock_is_not_swallowed(tmp_path):
    with pytest.raises(OSError, match="of the work"), locked(tmp_path):
        raise OSError(errno.EIO, "of the work")


@pytest.mark.skipif(storage.fcntl is None, reason="no locks on this system")
def test_who_cannot_say_that_it_waits_is_not_let_in(tmp_path):
    def mute():
        raise BrokenPipeError(errno.EPIPE, "nobody listens")

    with locked(tmp_path), pytest.raises(BrokenPipeError), locked(tmp_path, mute):
        pytest.fail("let in")
