"""Live experiments in a file of SQLite, by Python's standard library."""

from __future__ import annotations

import itertools
import os
import random
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from bandstrap.live.database import DatabaseRow, Durability, StoreError
from bandstrap.live.store import Store

# Seconds for which a writer waits for another one.
PATIENCE = 10.0
# INSERT ... RETURNING is new in this version.
OLDEST = (3, 35)

REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it is read only",
    sqlite3.SQLITE_BUSY: f"another process has kept it locked for {PATIENCE:g} seconds",
    sqlite3.SQLITE_LOCKED: "it is locked",
    sqlite3.SQLITE_PROTOCOL: "other processes keep it locked",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_NOTADB: "the file is no database of SQLite",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_PERM: "access is denied",
    sqlite3.SQLITE_IOERR: "the file cannot be read or written",
}


def patiently(connection: sqlite3.Connection, statement: str, parameters: Sequence[object]) -> list[DatabaseRow]:
    """Run a statement once others let it, unless they keep the database locked for ``PATIENCE`` seconds.

    SQLite can wait too, but it looks every tenth of a second, and beside a process that writes all the time the
    database is free for a moment only: one of several writers may wait for ever.
    """
    start = time.monotonic()
    while True:
        try:
            return connection.execute(statement, parameters).fetchall()
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - start
            if primary_code(error) != sqlite3.SQLITE_BUSY or waited > PATIENCE:
                raise
            time.sleep(random.uniform(0.0, min(max(waited, 0.0005), 0.005)))  # noqa: S311


def primary_code(error: Exception) -> int:
    """What went wrong, without SQLite's details; text that is none comes out of a damaged file."""
    if isinstance(error, UnicodeDecodeError):
        return sqlite3.SQLITE_CORRUPT
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


class SqliteStore(Store):
    """A file of SQLite, in WAL mode: readers never wait, one writes at a time."""

    name = "sqlite"
    # Milliseconds are what SQLite's clock tells; julianday() has them in all versions, as a sum that is to be rounded.
    now = "round((julianday('now') - 2440587.5) * 86400.0, 3)"
    beginning = "BEGIN IMMEDIATE"
    errors = (sqlite3.DatabaseError, UnicodeDecodeError)  # of a damaged file even the message may be unreadable
    most_rows = 1000  # of up to 32 columns: a statement may have 32,766 parameters
    has_schema = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'live_schema')"
    sequencing = rewarding = settling = ""

    def __init__(self, path: str | Path, durability: Durability, *, create: bool) -> None:
        super().__init__()
        self._path = Path(path).absolute()  # the process may change its folder
        self._durability = durability
        self._file: tuple[int, int] | None = None
        if sqlite3.sqlite_version_info < OLDEST:
            raise StoreError(
                f"Live experiments need SQLite 3.35 or newer, and this Python has {sqlite3.sqlite_version}."
            )
        if self._path.is_dir():
            raise StoreError(f"{self} cannot be used: it is a folder.")
        if create:
            self._make_file()
        elif not self._path.exists():
            raise StoreError(f"{self} does not exist.")

    def __str__(self) -> str:
        return f"The database {self._path}"

    def _make_file(self) -> None:
        """Make the file, unless there is one, and let readers and writers not wait for each other."""
        try:
            connection = self._open("rwc")
            try:
                patiently(connection, "PRAGMA journal_mode = WAL", ())
            finally:
                connection.close()
        except self.errors as error:
            raise self._failure(error) from None

    def _open(self, mode: str) -> sqlite3.Connection:
        # Beside a file that may not be written SQLite would make others that may not be written either, and they would
        # stay so, for all writers, when the file itself may be written again.
        if self._path.exists() and not os.access(self._path, os.W_OK):
            raise StoreError(f"{self} cannot be used: {REASONS[sqlite3.SQLITE_READONLY]}.")
        return sqlite3.connect(
            f"{self._path.as_uri()}?mode={mode}",
            uri=True,
            timeout=0.0,  # see patiently()
            isolation_level=None,  # transactions begin and end where we say
            check_same_thread=False,  # the store has a lock
        )

    def _new_connection(self) -> sqlite3.Connection:
        connection = self._open("rw")
        try:
            # The first of these reads the file, which is locked for a moment while others close or recover it.
            patiently(connection, f"PRAGMA synchronous = {self._durability}", ())
            connection.execute("PRAGMA foreign_keys = ON")
            # A statement that inserts many rows keeps the pages it changes, to undo them if it fails: not in a file.
            connection.execute("PRAGMA temp_store = MEMORY")
        except BaseException:
            connection.close()
            raise
        self._file = self._identity()
        return connection

    def place(self) -> object:
        """Which file it is."""
        return self._identity() or self._file  # a file that was removed is missed by whoever needs it

    def _identity(self) -> tuple[int, int] | None:
        """Which file has our path now."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _is_stale(self) -> bool:
        # Whatever is written to a file that was removed, or replaced by another, is lost without an error.
        return self._identity() != self._file

    def _ask(self, statement: str, *parameters: object) -> list[DatabaseRow]:
        return patiently(self._connection, statement, parameters)

    def _table(self, columns: dict[str, str], rows: Sequence[Sequence[object]]) -> tuple[str, Iterable[object]]:
        row = f"({', '.join('?' * len(columns))})"
        return f"VALUES {', '.join([row] * len(rows))}", itertools.chain.from_iterable(rows)

    def _lock_schema(self) -> None:
        """Nothing: a writer is the only one."""

    def _is_passing(self, error: Exception) -> bool:
        return False  # it has waited long enough

    def _failure(self, error: Exception) -> StoreError:
        reason = REASONS.get(primary_code(error), str(error))
        return StoreError(f"{self} cannot be used: {reason}.")
