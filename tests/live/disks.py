"""Disks that fail and disks that lose their power: what ``disk_shim.c`` recorded, and what may be left of it after a cut.

A disk has, of each file, what was synced, and of all that was written since any part: whole sectors of 512 bytes, each for
itself. A name that was made, moved or removed is so for certain when its folder was synced; until then the disk may have
it as it was after any of these steps.
"""

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SECTOR = 512
HEADER = struct.Struct("=ccHIQqQ")


def build(folder):
    """Compile the shim; where there is no compiler, the test is skipped."""
    if sys.platform != "linux":
        pytest.skip("the shim is for Linux")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no compiler for the shim")
    library = folder / "disk_shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", library, Path(__file__).with_name("disk_shim.c"), "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def run_shimmed(library, function, *arguments):
    """Run a function of ``live.shimmed`` in a process whose calls go through the shim; gives what it prints."""
    environment = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "live.shimmed", function, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


class Shim:
    """The shim, as the process below it sees it."""

    def __init__(self, folder, trace):
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.library = ctypes.CDLL(None)
        self.file = os.open(trace, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.library.shim_watch(os.fsencode(Path(folder).resolve()), self.file)
        self.library.shim_fail.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_int, ctypes.c_int]
        self.library.shim_count.restype = ctypes.c_long

    def fail(self, number, times, error, *, short=False):
        """Let the call of this number from now on fail, and those after it, ``times`` in all."""
        self.library.shim_fail(number, times, error, short)

    def count(self):
        """Calls about the database since then; a number of 0 counts none."""
        return self.library.shim_count()

    def ignore_locks(self, yes=True):
        """Let every lock on a file be granted at once."""
        self.library.shim_ignore_locks(yes)


# --- what was recorded --------------------------------------------------------------------------------------------------


def read_trace(path):
    """Records of a trace: kind, whether it failed, name, number of the file, offset, data."""
    content, place, records = path.read_bytes(), 0, []
    while place < len(content):
        kind, failed, n_name, _, inode, offset, n_data = HEADER.unpack_from(content, place)
        place += HEADER.size
        name = content[place : place + n_name].decode()
        data = content[place + n_name : place + n_name + n_data]
        place += n_name + n_data
        records.append((kind.decode(), failed != b"\0", name, inode, offset, data))
    return records


class File:
    """A file: what the disk has for certain, and what was written since, in order."""

    def __init__(self):
        self.synced = bytearray()
        self.pending = []  # of (offset, data), or (size, None) where it was cut to a size

    def sync(self):
        for step in self.pending:
            apply(self.synced, *step)
        self.pending.clear()

    def content(self):
        """As a program reads it while there is power."""
        content = bytearray(self.synced)
        for step in self.pending:
            apply(content, *step)
        return content

    def after_cut(self, rng):
        """As it may be found after a cut: each sector that was written and not synced is there or not."""
        content, share = bytearray(self.synced), rng.choice([0.0, 0.1, 0.5, 0.9, 1.0])
        for offset, data in self.pending:
            if data is None:
                if rng.random() < share:
                    apply(content, offset, None)
                continue
            for start, stop in sectors(offset, offset + len(data)):
                if rng.random() < share:
                    apply(content, start, data[start - offset : stop - offset])
        return content


def apply(content, offset, data):
    """Write into a file, or cut it to a size."""
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


def sectors(start, stop):
    """Parts of an interval that lie in one sector each."""
    while start < stop:
        end = min(stop, (start // SECTOR + 1) * SECTOR)
        yield start, end
        start = end


class Disk:
    """A folder of a disk, written by the records of a trace."""

    def __init__(self):
        self.names = {}  # as a program sees them
        self.synced = {}  # as the disk has them for certain
        self.steps = []  # since then: pairs of a name and its file, None where it was removed

    def _set(self, name, file):
        if file is None:
            self.names.pop(name, None)
        else:
            self.names[name] = file
        self.steps.append((name, file))

    def write(self, record, files):
        """Take in a record; ``files`` are those that are open or have a name, by their numbers."""
        kind, failed, name, inode, offset, data = record
        if kind == "c":
            files[inode] = File()
            self._set(name, files[inode])
        elif kind == "u":
            self._set(name, None)
        elif kind == "r":
            self._set(data.decode(), self.names[name])
            self._set(name, None)
        elif kind == "d":
            if not failed:
                self.synced = dict(self.names)
                self.steps.clear()
        elif kind == "s":
            if failed:  # the system has given up what was to be written, and says so once
                files[inode].pending.clear()
            else:
                files[inode].sync()
        else:
            files[inode].pending.append((offset, None if kind == "t" else data))

    def after_cut(self, rng, folder):
        """Write what may be found after a cut; diaries are what was told to somebody, and are found whole."""
        folder.mkdir()
        steps = {}
        for name, file in self.steps:
            steps.setdefault(name, []).append(file)
        found = dict(self.synced)
        for name, files in steps.items():
            done = rng.randint(0, len(files))
            if done:
                found[name] = files[done - 1]
        for name, file in found.items():
            if file is not None and not name.endswith(".diary"):
                (folder / name).write_bytes(file.after_cut(rng))
        for name, file in self.names.items():
            if name.endswith(".diary"):
                (folder / name).write_bytes(file.content())


def after_records(records, n):
    """The disk after the first ``n`` records."""
    disk, files = Disk(), {}
    for record in records[:n]:
        disk.write(record, files)
    return disk
