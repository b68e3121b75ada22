"""Files that are written whole or not at all and whose every bit is checked before they are read.

A file is written under another name, a *part*, and takes its own name once all of it is on the disk. Whoever writes a
part holds a lock on it, so that a part without one was left behind by a process that was killed.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from bandstrap.errors import brief, requirement

# Locks of files; only Unix-like systems have them.
fcntl: Any = import_module("fcntl") if os.name == "posix" else None

# What JSON can hold.
Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]

PART, PIECES = ".bandstrap-{}.part", ".pieces"
# Where there are no locks, a part is taken for left behind after a day.
SECONDS_OF_A_PART = 86_400
# Bytes that are written to find out whether a folder can be written to: more than file systems keep in an inode.
PROBE = 1 << 16


# --- seals --------------------------------------------------------------------------------------------------------------

SEAL = b'"seal": "'
NO_SEAL = "0" * 64


class Damaged(ValueError):
    """A file is not, to the last bit, what was sealed."""


def seal(data: bytes) -> bytes:
    """Fill in the checksum of a file: the SHA-256 of all its bytes, in hexadecimal, in the last place kept for it.

    The place is a string of JSON under the key ``"seal"``, wherever that JSON is: in a file of JSON, or in the metadata of
    a Parquet file, which any reader of Parquet still opens. :data:`NO_SEAL` stands there while the digest is taken. No
    text in JSON can be mistaken for the place, because quotation marks inside a string are escaped.

    >>> seal(b'{"x": 1, "seal": "' + NO_SEAL.encode() + b'"}')[:30]
    b'{"x": 1, "seal": "aed07f8917c4'
    """
    start = place_of_seal(data)
    if data[start : start + len(NO_SEAL)] != NO_SEAL.encode():
        raise Damaged("there is no place for a checksum")
    return data[:start] + digest_without(data, start) + data[start + len(NO_SEAL) :]


def check_seal(data: bytes) -> None:
    """Refuse what is not, to the last bit, what :func:`seal` gave; nothing is parsed."""
    start = place_of_seal(data)
    if data[start : start + len(NO_SEAL)] != digest_without(data, start):
        raise Damaged("the checksum does not match")


def has_seal(data: bytes) -> bool:
    """Return whether a file has a checksum, valid or not."""
    return SEAL in data


def place_of_seal(data: bytes) -> int:
    """Offset of the checksum."""
    start = data.rfind(SEAL) + len(SEAL)
    if start < len(SEAL):
        raise Damaged("there is no checksum")
    return start


def digest_without(data: bytes, start: int) -> bytes:
    """Digest of a file without a checksum at ``start``."""
    view = memoryview(data)
    digest = hashlib.sha256(view[:start])
    digest.update(NO_SEAL.encode())
    digest.update(view[start + len(NO_SEAL) :])
    return digest.hexdigest().encode()


def read_sealed(path: Path) -> bytes:
    """The bytes of a file with a checksum, every bit of them as written; otherwise :class:`Damaged`."""
    data = path.read_bytes()
    check_seal(data)
    return data


# --- files written whole ------------------------------------------------------------------------------------------------


@contextmanager
def whole_file(path: Path, *, lasting: bool = True) -> Iterator[Path]:
    """Give a temporary path beside ``path`` to write to; it takes its name once writing has ended without error.

    What fails names ``path``. A file that is ``lasting`` is on the disk, name and all, before this ends, whatever happens
    to the machine. Otherwise that is left to the system, and after a power cut the file may be the old one, missing or
    damaged: good enough for what has a checksum and can be made again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_orphans(path.parent.absolute())
    try:
        with part_file(path.parent) as part:
            yield part
            if lasting:
                synchronise(part)
            part.replace(path)
            if lasting and os.name == "posix":  # elsewhere folders are not opened
                synchronise(path.parent)
    except OSError as error:
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error


@contextmanager
def part_file(folder: Path) -> Iterator[Path]:
    """A new, empty file to write to, locked where there are locks; removed at the end unless it was renamed."""
    while True:
        part = folder / PART.format(uuid.uuid4().hex)
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        if part.exists():
            break
        os.close(descriptor)  # it was taken for an orphan before it was locked
    if fcntl is None:  # nor is an open file renamed there
        os.close(descriptor)
    try:
        yield part
    finally:
        if fcntl is not None:
            os.close(descriptor)
        part.unlink(missing_ok=True)


@contextmanager
def pieces_of(part: Path) -> Iterator[Path]:
    """A folder for what a part is put together from, removed at the end; if this process is killed, with the part."""
    folder = part.with_suffix(PIECES)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def remove_orphans(folder: Path) -> None:
    """Remove the parts that killed processes left in a folder, and none that is being written.

    Once per process, because a folder of many files takes long to list.
    """
    for part in folder.glob(PART.format("*")):
        with contextlib.suppress(OSError):  # renamed, removed by somebody else, or not ours to remove
            remove_orphan(part)


def remove_orphan(part: Path) -> None:
    """Remove a part that nobody has locked, or, where there are no locks, that is older than a day."""
    is_old = time.time() - part.stat().st_mtime > SECONDS_OF_A_PART
    if fcntl is None:
        if is_old:
            remove_part(part)
        return
    descriptor = os.open(part, os.O_RDWR)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # it is being written
            return
        except OSError:  # a file system without locks
            if not is_old:
                return
        remove_part(part)  # while it is locked, so that its writer, if it has only just made it, finds it gone
    finally:
        os.close(descriptor)


def remove_part(part: Path) -> None:
    """Remove a part, and what it was put together from."""
    shutil.rmtree(part.with_suffix(PIECES), ignore_errors=True)
    part.unlink()


def synchronise(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot say
            raise
    finally:
        os.close(descriptor)


def write_bytes(path: Path, data: bytes, *, lasting: bool = True) -> None:
    """Write a file, whole or not at all; see :func:`whole_file`."""
    # Opened as it is: some systems take emptying a file for a reason to write it to the disk at once.
    with whole_file(path, lasting=lasting) as part, part.open("r+b") as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write_bytes(path, text.encode())


@contextmanager
def locked(folder: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of a folder, so that what is read there and what is then written belong together.

    Whoever else wants it waits, and is told so by ``waiting``. Where there are no locks, nothing is held.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(descriptor)


def check_folder(
    path: Path, parameter: str, owner: str, *, folders: Iterable[str] = (), files: Iterable[str] = ()
) -> None:
    """Refuse a path where no folder can be made, or none in which these folders and files can be written.

    It is better to learn this before hours of play.
    """
    rule = "a folder that can be written to, or a path where one can be made"
    reason = obstacle(path, *(path / folder for folder in folders), files=[path / name for name in files])
    if reason:
        raise requirement(parameter, owner, rule, f"{path}, where {reason},")


def as_path(path: object, parameter: str, owner: str) -> Path:
    """A path, of text or of an object that is one."""
    if not isinstance(path, str | os.PathLike) or not is_path(os.fspath(path)) or not Path(path).name:
        raise requirement(parameter, owner, "the path of a file", brief(path))
    return Path(path)


def is_path(path: object) -> bool:
    """Return whether a file system could know a path: text that is not empty, and can be written."""
    if not isinstance(path, str) or not path or "\0" in path:
        return False
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def check_file(path: Path, parameter: str, owner: str) -> None:
    """Refuse a path where no file can be written; see :func:`check_folder`."""
    reason = obstacle(path.parent, files=[path])
    if reason:
        raise requirement(parameter, owner, "a file that can be written", f"{path}, where {reason},")


def obstacle(*folders: Path, files: Iterable[Path]) -> str:
    """Reason why some folders cannot be made or written to, or some files cannot; empty if all can.

    Something is really written, in the last folder on the way that there is, and removed again: whoever may do anything
    still cannot write to a full disk, or to one that is read only.
    """
    for folder in folders:
        nearest = nearest_folder(folder)
        if not nearest.is_dir():
            return f"{nearest.name} is no folder"
        try:
            with part_file(nearest) as part:
                part.write_bytes(bytes(PROBE))
                synchronise(part)
        except OSError as error:
            return f"{nearest} cannot be written to ({error.strerror})"
    return next((f"{file.name} is no file" for file in files if os.path.lexists(file) and not file.is_file()), "")


def nearest_folder(path: Path) -> Path:
    """The path, or the last part of it that there is."""
    nearest = path.absolute()
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    return nearest
