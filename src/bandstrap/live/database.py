"""A database and one connection to it: transactions, forks, and tables that are brought up to date.

What is asked of it is in store.py; how SQLite and PostgreSQL are each asked is in sqlite.py and postgres.py.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import re
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import resources
from typing import Any, ClassVar, Concatenate, Literal, ParamSpec, Self, TypeVar

from bandstrap.basics.text import shortened, visible
from bandstrap.errors import InvalidInput
from bandstrap.live.migration import migrate

Durability = Literal["full", "normal"]

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D", bound="Database")
# A row that the database gives: text, numbers and nothing, as a query asks for them.
DatabaseRow = tuple[Any, ...]

# How often a transaction is begun again after a conflict with another one, or on a new connection.
ATTEMPTS = 4
# Seconds that each transaction may take by default, connecting and waiting for others included.
TIMEOUT = 10.0
# What reads or rewrites all there is may take so many times as long.
REPORTS = 60


class StoreError(OSError):
    """The database failed; the message is one sentence.

    Nothing is half-written, but the outcome of the write is unknown: repeat it with the same key.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(shortened(visible(" ".join(sentence.split())), 1000))


class ReadOnly(StoreError):
    """The database may be read, and not be written: a role without the right, a standby, a file or folder without it."""


class OtherHistory(StoreError):
    """The log is not the one that the caller has read, or the experiment another one; nothing was written."""


class HistoryWarning(UserWarning):
    """The database was restored, lost its end or was made anew; what was learned from the log that is gone is forgotten."""


# --- transactions -------------------------------------------------------------------------------------------------------


def reading(method: Callable[Concatenate[D, P], R]) -> Callable[Concatenate[D, P], R]:
    """Let a method read: it holds the connection, each of its statements sees what is committed."""
    return in_database(method, writes=False)


def reporting(method: Callable[Concatenate[D, P], R]) -> Callable[Concatenate[D, P], R]:
    """Let a method read much, which may take long."""
    return in_database(method, writes=False, patience=REPORTS)


def writing(method: Callable[Concatenate[D, P], R]) -> Callable[Concatenate[D, P], R]:
    """Let a method be one transaction: all that it writes is committed at its end, or nothing."""
    return in_database(method, writes=True)


def in_database(
    method: Callable[Concatenate[D, P], R], *, writes: bool, patience: int = 1
) -> Callable[Concatenate[D, P], R]:
    """Let a method run on the connection; see :meth:`Database._run`."""

    @functools.wraps(method)
    def inside(database: D, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return database._run(lambda: method(database, *args, **kwargs), writes=writes, patience=patience)

    return inside


# --- the database -------------------------------------------------------------------------------------------------------


class Database(ABC):
    """One database, used by any number of threads and processes.

    One object holds one connection, is safe to share among threads, opens a connection of its own after a fork and
    another one after an error. A method marked ``@writing`` is one transaction: all of it is stored or nothing.
    """

    # What is different in SQLite and PostgreSQL.
    name: ClassVar[str]  # of its file with the tables
    now: str  # an expression of SQL: seconds since 1970
    errors: ClassVar[tuple[type[Exception], ...]]  # of the driver
    most_rows: ClassVar[int]  # that one statement takes
    has_schema: ClassVar[str]  # a query: are there tables of ours?

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout  # seconds of a transaction
        self._allowed = timeout  # to the one under way
        self._deadline = time.monotonic() + timeout  # when it must be over
        self._lock = threading.RLock()
        self._connection: Any = None
        self._process = os.getpid()
        DATABASES.add(self)

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        with self._lock:
            self._disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):  # whatever is left at the end of the process
            self._disconnect()

    # --- transactions ---------------------------------------------------------------------------------------------------

    def _run(self, body: Callable[[], R], *, writes: bool, patience: int = 1) -> R:
        """Run ``body``, in a transaction if it writes, on a connection that works."""
        with self._lock:
            for attempt in itertools.count(1):
                is_ending = False
                self._allowed = patience * self.timeout
                self._deadline = time.monotonic() + self._allowed
                try:
                    self._connect()
                    if writes:
                        self._begin()
                    result = body()
                    is_ending = True
                    if writes:
                        self._ask("COMMIT")
                    return result
                except self.errors as error:
                    # Where the end of a transaction fails, it is not known whether it took place.
                    may_repeat = attempt < ATTEMPTS and not is_ending and self._is_passing(error)
                    failure = self._failure(error)
                    self._disconnect()  # which rolls back
                    if not may_repeat:
                        raise failure from None
                except BaseException as error:
                    self._abandon(is_refusal=isinstance(error, InvalidInput), writes=writes)
                    raise
            raise AssertionError("unreachable")

    def _abandon(self, *, is_refusal: bool, writes: bool) -> None:
        """End a transaction that wrote nothing because it was refused; after anything else, the connection too."""
        with suppress(*self.errors):
            if is_refusal and writes:
                self._ask("ROLLBACK")
                return
        self._disconnect()

    def _connect(self) -> None:
        """Have a connection of this process to the database as it is now."""
        if self._connection is not None and (self._process != os.getpid() or self._is_stale()):
            self._disconnect()
        if self._connection is None:
            self._connection, self._process = self._new_connection(), os.getpid()

    def _disconnect(self) -> None:
        """Close the connection; what was not committed is rolled back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            if self._process == os.getpid():
                with suppress(*self.errors):
                    connection.close()
            else:
                keep_open(connection)

    def _ask_rows(
        self, statement: str, columns: dict[str, str], rows: Iterable[Sequence[object]], *parameters: object
    ) -> list[DatabaseRow]:
        """Run a statement about the rows given, which it knows as table ``r`` with these columns; what it returns.

        Its own parameters come after the rows.
        """
        rows = list(rows)
        found: list[DatabaseRow] = []
        for start in range(0, len(rows), self.most_rows):
            table, values = self._table(columns, rows[start : start + self.most_rows])
            found += self._ask(f"WITH r ({', '.join(columns)}) AS ({table}) {statement}", *values, *parameters)
        return found

    # --- the schema -----------------------------------------------------------------------------------------------------

    @classmethod
    def steps(cls) -> list[str]:
        """Scripts of SQL: the first makes the tables, each other one brings them from one version to the next.

        They are ``sqlite.sql``, ``sqlite.2.sql`` and so on; :mod:`bandstrap.live.migration` does what SQL cannot.
        """
        folder = resources.files("bandstrap.live")
        names = itertools.chain([f"{cls.name}.sql"], (f"{cls.name}.{version}.sql" for version in itertools.count(2)))
        files = itertools.takewhile(lambda file: file.is_file(), (folder / name for name in names))
        return [file.read_text(encoding="utf-8") for file in files]

    def _prepare(self, *, create: bool) -> None:
        """Bring the tables to this version, and refuse those of a newer one, or none unless they are to be made."""
        version, newest = self._schema(), len(self.steps())
        if version > newest:
            raise StoreError(
                f"{self} was written by a newer version of bandstrap: its tables have version {version}, and this one"
                f" knows them up to {newest}."
            )
        if version == 0 and not create:
            raise StoreError(f"{self} has no live experiments: its tables are missing, and live.create makes them.")
        if version < newest:
            try:
                self._upgrade()
            except ReadOnly as error:
                if version == 0:
                    raise
                raise ReadOnly(
                    f"{self} has tables of an earlier version of bandstrap, which cannot be upgraded: a user with "
                    f"write access has to open it once. ({error})"
                ) from None

    @reading
    def _schema(self) -> int:
        """The version of the tables, 0 if there are none."""
        return self._version()

    def _upgrade(self) -> None:
        """Make the tables, or bring them to the newest version; several may try at once."""
        self._run(self._take_steps, writes=True, patience=REPORTS)

    def _take_steps(self) -> None:
        self._lock_schema()
        steps, version = self.steps(), self._version()
        for number, step in enumerate(steps[version:], version + 1):
            for statement in re.sub("--.*", "", step).split(";"):
                if statement.strip():
                    self._ask(statement)
            migrate(self, number)
        self._ask("DELETE FROM live_schema")
        self._ask("INSERT INTO live_schema (version) VALUES (?)", max(version, len(steps)))

    def _version(self) -> int:
        ((is_there,),) = self._ask(self.has_schema)
        if not is_there:
            return 0
        try:
            ((version,),) = self._ask("SELECT version FROM live_schema")
            return int(version)
        except (ValueError, TypeError):  # no row, several, or no number
            raise StoreError(f"{self} is damaged: the version of its tables cannot be read.") from None

    # --- what SQLite and PostgreSQL each do in their own way -----------------------------------------------------------

    @abstractmethod
    def __str__(self) -> str:
        """The database, as a sentence names it."""

    def place(self) -> object:
        """Value that changes when another database takes the place of this one, as far as that can be told."""
        return None

    @abstractmethod
    def _begin(self) -> None:
        """Begin a transaction that writes."""

    @abstractmethod
    def _new_connection(self) -> Any:
        """Connect, without a transaction."""

    @abstractmethod
    def _is_stale(self) -> bool:
        """Return whether the connection leads to something that is no longer the database."""

    @abstractmethod
    def _ask(self, statement: str, *parameters: object) -> list[DatabaseRow]:
        """Run a statement, with ``?`` for each parameter, and give the rows it returns."""

    @abstractmethod
    def _table(self, columns: dict[str, str], rows: Sequence[Sequence[object]]) -> tuple[str, Iterable[object]]:
        """A query that gives these rows, and its parameters."""

    @abstractmethod
    def _lock_schema(self) -> None:
        """Be the only one to make tables until the end of the transaction."""

    @abstractmethod
    def _is_passing(self, error: Exception) -> bool:
        """Return whether a transaction that failed so may well succeed when it is begun again."""

    @abstractmethod
    def _failure(self, error: Exception) -> StoreError:
        """An error of the driver, in a sentence."""


# --- forks --------------------------------------------------------------------------------------------------------------

# A connection must not be shared with a child: not even be closed by it. So all are closed before a fork, and no
# transaction is under way in another thread.
DATABASES: weakref.WeakSet[Database] = weakref.WeakSet()
held: list[Database] = []


def keep_open(connection: object) -> None:
    """Let nothing close a connection, not even the end of the process: one that another process has, for instance.

    A fork that Python was not told of leaves such.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def before_fork() -> None:
    """Wait for transactions under way and close all connections."""
    for database in list(DATABASES):
        database._lock.acquire()
        held.append(database)
        database._disconnect()


def after_fork() -> None:
    """Let the databases be used again, in parent and child; each opens a connection of its own."""
    while held:
        held.pop()._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=after_fork, after_in_child=after_fork)
