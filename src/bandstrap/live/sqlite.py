"""Live experiments in a file of SQLite, by Python's standard library."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import random
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from bandstrap.live.database import (
    ATTEMPTS,
    DATABASES,
    DatabaseRow,
    Durability,
    ReadOnly,
    StoreError,
    keep_open,
    reporting,
)
from bandstrap.live.store import Store

# INSERT ... RETURNING is new in this version.
OLDEST = (3, 35)

# How SQLite is asked to open what may be written.
WRITABLE = "mode=rw"
# Of the files beside a database: its log, and the index of the log.
ENDINGS = "-wal", "-shm"

# Files of which this process has an index of the log that others no longer find, by device and number. SQLite has one index
# for all connections of a process, until the last of them is closed; and to close it may write into the file what the index
# says, so that it stays open.
LOST: set[tuple[int, int] | None] = set()

# The log is copied into the file by whoever begins to write after so many transactions, or changed rows, of his own; or
# as soon as he connects, if it has so many bytes.
TRANSACTIONS, ROWS, BYTES = 300, 1000, 4 << 20

# Bytes at the beginning of the log, and of each page in it.
LOG_HEADER, PAGE_HEADER = 32, 24

# Seconds between two looks whether the database is free: at first, half of that after waiting HALVED, and at least; and of
# whoever has waited longer than it takes many writers to have their turns.
FIRST, HALVED, SHORTEST, TURN, PATIENT = 0.002, 0.005, 0.00005, 1.0, 0.005

REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it is read only",
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "it is locked",
    sqlite3.SQLITE_PROTOCOL: "other processes keep it locked",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_NOTADB: "the file is no database of SQLite",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_PERM: "access is denied",
    sqlite3.SQLITE_IOERR: "the file cannot be read or written",
}


def patiently(
    connection: sqlite3.Connection, deadline: float, statement: str, parameters: Sequence[object] = ()
) -> list[DatabaseRow]:
    """Run a statement once others let it, unless they keep the database locked until a deadline.

    SQLite can wait too, but it looks every tenth of a second, and beside a process that writes all the time the
    database is free for a moment only: one of several writers may wait for ever.
    """
    start = time.monotonic()
    while True:
        try:
            return connection.execute(statement, parameters).fetchall()
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - start
            if primary_code(error) != sqlite3.SQLITE_BUSY or start + waited > deadline:
                raise
            time.sleep(random.uniform(0.0, longest_pause(waited)))  # noqa: S311


def longest_pause(waited: float) -> float:
    """Seconds between two looks of a writer who has waited so long.

    Who has waited longer looks more often, down to every 50 microseconds, and so comes before those who came later, in the
    moment between two transactions of another. Who waits longer than that takes waits for somebody who is stopped.
    """
    return PATIENT if waited > TURN else max(FIRST * 2 ** (-waited / HALVED), SHORTEST)


def primary_code(error: Exception) -> int:
    """Cause of an error, without SQLite's details; text that is none comes out of a damaged file."""
    if isinstance(error, UnicodeDecodeError):
        return sqlite3.SQLITE_CORRUPT
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@functools.lru_cache(maxsize=64)
def places(n_rows: int, n_columns: int) -> str:
    """Rows of parameters, in SQL."""
    row = f"({', '.join('?' * n_columns)})"
    return f"VALUES {', '.join([row] * n_rows)}"


def mount_points() -> set[str]:
    """Mount points, as Linux tells; a file that is mounted from the same device has the same number."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return {line.split(" ")[4].replace("\\040", " ") for line in lines}


class SqliteStore(Store):
    """A file of SQLite, in WAL mode: readers never wait, one writes at a time."""

    name = "sqlite"
    # Milliseconds are what SQLite's clock tells; julianday() has them in all versions, as a sum that is to be rounded.
    now = "round((julianday('now') - 2440587.5) * 86400.0, 3)"
    errors = (sqlite3.DatabaseError, UnicodeDecodeError)  # of a damaged file even the message may be unreadable
    most_rows = 1000  # of up to 32 columns: a statement may have 32,766 parameters
    has_schema = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'live_schema')"
    sequencing = rewarding = settling = skipping = ""
    unindexed = " NOT INDEXED"
    has_one_writer = True

    def __init__(self, path: str | Path, durability: Durability, timeout: float, *, create: bool) -> None:
        super().__init__(timeout)
        self._path = Path(path).absolute()  # the process may change its folder
        self._durability = durability
        self._file: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        self._index: tuple[int, int] | None = None
        self._name = self._real_name = str(self._path)
        self._n_names, self._n_bytes = 1, 0  # of what was looked at last
        self._opened = ""
        self._copier: sqlite3.Connection | None = None
        self._n_begun = self._n_changed = 0  # transactions, and rows changed before them, since the log was copied
        if sqlite3.sqlite_version_info < OLDEST:
            raise StoreError(
                f"Live experiments need SQLite 3.35 or newer, and this Python has {sqlite3.sqlite_version}."
            )
        try:
            is_there, is_folder = self._path.exists(), self._path.is_dir()
            self._path.resolve()
        except (OSError, RuntimeError) as error:  # a name that is too long; links that lead to each other
            reason = getattr(error, "strerror", None) or "its name is a loop of symbolic links"
            raise StoreError(f"{self} cannot be used: {reason}.") from None
        if is_folder:
            raise StoreError(f"{self} cannot be used: it is a folder.")
        if create:
            self._make_file()
        elif not is_there:
            raise StoreError(f"{self} does not exist.")

    def __str__(self) -> str:
        return f"The database {self._path}"

    def _make_file(self) -> None:
        """Make the file, unless there is one, and let readers and writers not wait for each other."""
        try:
            if not self._path.exists():  # for nobody else: its log, which SQLite makes, has the same mode
                with contextlib.suppress(FileExistsError, FileNotFoundError):
                    os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._check_shared()
            if self._path.exists() and not self._is_writable():
                raise ReadOnly(f"{self} cannot be used: {REASONS[sqlite3.SQLITE_READONLY]}.")
            connection = self._open("mode=rwc")
            try:
                patiently(connection, self._deadline, "PRAGMA journal_mode = WAL")
            finally:
                connection.close()
        except self.errors as error:
            raise self._failure(error) from None

    def _is_writable(self) -> bool:
        """Return whether this user may write the file, and its log beside it."""
        path = self._path.resolve()
        parts = [path, *(path.with_name(path.name + ending) for ending in ENDINGS)]
        found = [part for part in parts if part.exists()]
        is_folder_writable = os.access(path.parent, os.W_OK)
        return all(os.access(part, os.W_OK) for part in found) and (is_folder_writable or found == parts)

    def _mode(self) -> str:
        """Mode in which the file is opened, as SQLite's URIs have it.

        Beside a file that may not be written SQLite would make others that may not be written either, and they would stay
        so, for all writers, when the file itself may be written again. So a reader makes none: where there is a log, it
        shares the index of whoever writes; where there is none, nobody writes, and the file is taken as it is.
        """
        if self._is_writable() or not self._path.exists():
            return WRITABLE
        path = self._path.resolve()
        log, index = (path.with_name(path.name + ending) for ending in ENDINGS)
        if not log.exists() or log.stat().st_size == 0:
            return "mode=ro&immutable=1"
        if not index.exists():
            raise ReadOnly(
                f"{self} cannot be read: it was not closed, and its log ({log.name}) can be read only by whoever may "
                "write. Open it once as such a user."
            )
        return "mode=ro&readonly_shm=1"

    def _open(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self._path.as_uri()}?{mode}",
            uri=True,
            timeout=0.0,  # see patiently()
            isolation_level=None,  # transactions begin and end where we say
            check_same_thread=False,  # the store has a lock
        )

    def _check_shared(self) -> None:
        """Refuse a file whose log is not the one that others find: what they or we write would be lost in silence.

        The log is a file beside the database, named after it: another name of the same file, or a file that is mounted
        without its folder, has another log.
        """
        try:
            path = self._path.resolve(strict=True)
            status = path.stat()
            is_mounted = status.st_dev != path.parent.stat().st_dev or str(path) in mount_points()
        except OSError:
            return  # to open it fails with a better reason
        if status.st_nlink > 1:
            raise StoreError(
                f"{self} cannot be used: it has {status.st_nlink} names (hard links), and writes under one are lost under "
                "the other. Remove all but one, or use a symbolic link."
            )
        if is_mounted:
            raise StoreError(
                f"{self} cannot be used: it is mounted without its folder, where its log ({path.name}-wal) must be. "
                "Mount the folder."
            )

    def _new_connection(self) -> sqlite3.Connection:
        self._check_shared()
        self._real_name = str(self._path.resolve())  # SQLite's log is beside the file that a symbolic link leads to
        self._check_index()
        mode = self._mode()
        connection = self._open(mode)
        try:
            # The first of these reads the file, which is locked for a moment while others close or recover it.
            patiently(connection, self._deadline, f"PRAGMA synchronous = {self._durability}")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA wal_autocheckpoint = 0")  # see _copy_log()
            # A statement that inserts many rows keeps the pages it changes, to undo them if it fails: not in a file.
            connection.execute("PRAGMA temp_store = MEMORY")
            patiently(connection, self._deadline, "SELECT count(*) FROM sqlite_master")  # which opens the log
        except BaseException:
            connection.close()
            raise
        self._file, self._index, self._log = self._identity(), self._identity("-shm"), self._identity("-wal")
        self._opened = mode
        self._n_changed = 0
        self._n_begun = TRANSACTIONS if self._n_bytes > BYTES else 0
        return connection

    def _disconnect(self) -> None:
        is_ours = self._connection is not None and self._process == os.getpid() and self._opened == WRITABLE
        if is_ours and self._identity() == self._file and self._has_lost_log():
            self._leave()  # a file that has lost its name is closed as it is
        copier, self._copier = self._copier, None
        if copier is not None:
            if self._process == os.getpid():
                with contextlib.suppress(*self.errors):
                    copier.close()  # before the other, which empties the log if it is the last
            else:
                keep_open(copier)
        super()._disconnect()

    def place(self) -> object:
        """Identity of the file."""
        return self._identity() or self._file  # a file that was removed is missed by whoever needs it

    def _identity(self, ending: str = "") -> tuple[int, int] | None:
        """Device and number of the file that has our path now, or of its log."""
        try:
            # Asked several times per call: text is looked up in a tenth of the time that a Path takes.
            status = os.stat(self._real_name + ending if ending else self._name)  # noqa: PTH116
        except OSError:
            return None
        self._n_names, self._n_bytes = status.st_nlink, status.st_size
        return status.st_dev, status.st_ino

    def _is_stale(self) -> bool:
        # Whatever is written to a file that was removed, or replaced by another, is lost without an error.
        if self._identity() != self._file:
            return True
        if self._n_names > 1:
            self._check_shared()
        if self._opened != WRITABLE and (self._mode() != self._opened or self._identity("-wal") != self._log):
            return True  # somebody began to write, or ended, or we may
        if self._file in LOST:
            self._leave()
        elif self._has_lost_log():
            self._leave()
            self._check_index()
            raise StoreError(
                f"{self} cannot be used: its log ({self._path.name}-wal) was removed or replaced while in use. Calls under "
                "way may be lost; stop all workers, then check the file with bandstrap live replay."
            )
        return self._connection is None

    def _has_lost_log(self) -> bool:
        """Return whether the log, or its index, is not the one that others find beside the file."""
        return self._identity("-shm") != self._index or self._identity("-wal") != self._log

    def _leave(self) -> None:
        """Give up a connection whose log has lost its name; what is in it goes to the file while nobody has another log."""
        index, log = self._identity("-shm"), self._identity("-wal")
        if log is None and index in (None, self._index):
            with contextlib.suppress(*self.errors):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if index != self._index:
            LOST.add(self._file)
        for connection in (self._connection, self._copier):
            keep_open(connection)  # to close it would write into the file whatever others have in theirs
        self._connection = self._copier = None

    def _check_index(self) -> None:
        """Refuse a file of which this process, by whichever of its connections, has an index that others do not find."""
        file, index = self._identity(), self._identity("-shm")
        others = [
            other for other in list(DATABASES) if isinstance(other, SqliteStore) and other._connection is not None
        ]
        if any(other._opened == WRITABLE and other._file == file and other._index != index for other in others):
            LOST.add(file)
        if file is not None and file in LOST:
            raise StoreError(
                f"{self} cannot be used by this process any more: {self._path.name}-shm was removed or replaced while in "
                "use. Calls under way may be lost; stop all workers, and check the file with bandstrap live replay before "
                "they are started again."
            )

    @reporting
    def copy_to(self, path: Path) -> None:
        """Copy what is committed to a new file, and check the copy."""
        copied = sqlite3.connect(path, isolation_level=None)
        try:
            self._connection.backup(copied)
            if copied.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise StoreError(f"{self} cannot be used: {REASONS[sqlite3.SQLITE_CORRUPT]}.")
        finally:
            copied.close()

    @reporting
    def faults(self) -> list[str]:
        """Faults that SQLite finds in the file."""
        found = [text for (text,) in self._ask("PRAGMA integrity_check") if text != "ok"]
        lost = self._ask("PRAGMA foreign_key_check")
        return [f"{self} is damaged: {text}." for text in found] + [
            f"{self} is damaged: row {row} of {table} names a row of {parent} that is not there."
            for table, row, parent, _ in lost
        ]

    def _overwrite(self) -> None:
        self._ask("PRAGMA secure_delete = ON")

    def forget(self) -> None:
        """Empty the log, which has pages as they were; readers may keep it until they end."""
        ((page,),) = self._run(lambda: self._ask("PRAGMA page_size"), writes=False)
        for _ in range(ATTEMPTS):  # somebody else may begin it anew, who leaves the end of the old one
            self._run(self._cut_log, writes=True)
            self._run(lambda: self._ask("PRAGMA journal_size_limit = -1"), writes=False)
            self._identity("-wal")
            if self._n_bytes <= LOG_HEADER + PAGE_HEADER + page:
                return

    def _cut_log(self) -> None:
        """Write one page, without a change, at the beginning of the log, and cut off the rest."""
        self._copy_log()
        self._ask("COMMIT")
        self._ask("PRAGMA journal_size_limit = 0")
        self._ask("BEGIN IMMEDIATE")
        for _ in range(2):
            self._ask("UPDATE live_schema SET version = -version")

    def _ask(self, statement: str, *parameters: object) -> list[DatabaseRow]:
        return patiently(self._connection, self._deadline, statement, parameters)

    def _begin(self) -> None:
        self._ask("BEGIN IMMEDIATE")
        self._n_begun += 1
        if self._n_begun > TRANSACTIONS or self._connection.total_changes - self._n_changed > ROWS:
            with contextlib.suppress(*self.errors):  # the log stays as it is, and grows
                self._copy_log()
            self._ask("COMMIT")  # of nothing
            self._ask("BEGIN IMMEDIATE")  # whoever writes first, begins the log anew

    def _copy_log(self) -> None:
        """Copy the log into the file, in a transaction that has written nothing.

        SQLite would do so by itself, beside those who write. Before version 3.51.3 a copying that begins while a writer
        begins the log anew may take the new log for copied, and then the file is damaged
        (https://sqlite.org/wal.html). So it is done here by whoever holds the lock of those who write: by a
        connection of its own, because none copies while it is in a transaction.
        """
        self._n_begun, self._n_changed = 0, self._connection.total_changes
        if self._copier is None:
            self._copier = self._open(WRITABLE)
            self._copier.execute(f"PRAGMA synchronous = {self._durability}")
            self._copier.execute("SELECT count(*) FROM sqlite_master").fetchall()  # which opens the log
        self._copier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _table(self, columns: dict[str, str], rows: Sequence[Sequence[object]]) -> tuple[str, Iterable[object]]:
        return places(len(rows), len(columns)), itertools.chain.from_iterable(rows)

    def _lock_schema(self) -> None:
        """Nothing: a writer is the only one."""

    def _is_passing(self, error: Exception) -> bool:
        return False  # it has waited long enough

    def _failure(self, error: Exception) -> StoreError:
        code = primary_code(error)
        reason = REASONS.get(code, str(error))
        if code == sqlite3.SQLITE_BUSY:
            reason += f" (timeout {self._allowed:g} s)"
        kind = ReadOnly if code == sqlite3.SQLITE_READONLY else StoreError
        return kind(f"{self} cannot be used: {reason}.")
