"""Live experiments in PostgreSQL, by psycopg 3, which the extra ``postgres`` brings.

Locks and settings end with the transaction, and statements are prepared only where nothing is between us and the server, so
that it works behind PgBouncer.
"""
# ruff: noqa: S608 - see the store

from __future__ import annotations

import functools
import json
import math
import re
import time
from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeVar
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from bandstrap.live.database import REPORTS, TIMEOUT, DatabaseRow, ReadOnly, StoreError
from bandstrap.live.store import Store

R = TypeVar("R")
# Shares of a transaction's time. A worker that stops inside a transaction is cut off while those who wait for its locks
# still do; and what takes too long is told by the server, if it can, before we give up waiting for its answer.
IDLE, LOCKED, STATEMENT = 0.5, 0.9, 0.95
# Milliseconds that the server can count.
LONGEST = 2**31 - 1
# Of a connection over TCP: a server that is gone without a word is noticed after half a minute.
NOTICE_SILENCE = {
    "keepalives_idle": 10,  # seconds
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,  # milliseconds
}
# A statement is prepared once it has been run so often: those of decisions take longer to plan than to run.
PREPARED = 5
# Key of the lock under which tables are made: "bandstrap" as a number.
MAKING_TABLES = int.from_bytes(b"bandstra") & (2**63 - 1)

# By SQLSTATE, or by its class of two characters.
REASONS = {
    "53100": "the server's disk is full",
    "53200": "the server is out of memory",
    "53300": "the server has too many connections",
    "25006": "it is read only",
    "55P03": "another transaction keeps it locked",
    "57014": "a statement was cancelled, or took too long",
    "25P03": "the transaction was interrupted for too long",
    "57P01": "the server is shutting down",
    "57P02": "the server has crashed",
    "57P03": "the server is starting or stopping",
    "3D000": "there is no such database",
    "28": "the server refuses this user or password",
    "08": "the connection was lost",
    "XX": "the server reports damage",
}


# A standby, a session that only reads, and a role without the right.
READ_ONLY = ("25006", "42501")
# Of these the limit is told.
TIMED = ("55P03", "57014", "25P03")


class NoAnswer(psycopg.OperationalError):
    """The server has not answered in time."""


class TimedConnection(psycopg.Connection[DatabaseRow]):
    """A connection that waits for no answer beyond ``deadline``: a server that is frozen does not tell."""

    deadline = math.inf

    def wait(self, gen: Generator[Any, Any, R], *args: Any, **options: Any) -> R:
        """Wait until an answer is there; psycopg looks every tenth of a second whether there is another reason to end."""
        return super().wait(until(self.deadline, gen), *args, **options)


def until(deadline: float, steps: Generator[Any, Any, R]) -> Generator[Any, Any, R]:
    """The steps of a wait, which end by a deadline."""
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise NoAnswer
            wanted = steps.send(ready)
    except StopIteration as end:
        return end.value


class PostgresStore(Store):
    """A database of a PostgreSQL server."""

    name = "postgres"
    now = "extract(epoch FROM clock_timestamp())::float8"
    in_flight = TIMEOUT
    errors = (psycopg.Error,)
    most_rows = 100_000
    # Not by to_regclass(), which remembers in a transaction that there were none.
    has_schema = (
        "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class"
        " WHERE relname = 'live_schema' AND relkind IN ('r', 'p') AND pg_catalog.pg_table_is_visible(oid))"
    )
    sequencing = " FOR NO KEY UPDATE"
    rewarding = " FOR KEY SHARE OF d"
    # A decision whose rewards are being added is settled next time.
    settling = " FOR UPDATE OF d SKIP LOCKED"
    skipping = " SKIP LOCKED"
    unindexed = ""  # see faults()
    has_one_writer = False

    def __init__(self, url: str, timeout: float) -> None:
        super().__init__(timeout)
        self._url = url
        try:
            self._given = conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            reason = self._without_password(first_line(error))
            raise StoreError(f"The address of a database of PostgreSQL cannot be read: {reason}.") from None

    def __str__(self) -> str:
        # An @ in a password is to be written as %40; otherwise the rest of it is taken for the host.
        host = str(self._given.get("host") or "this machine").rpartition("@")[2]
        name = self._given.get("dbname") or "(default)"
        return self._without_password(f"The database {name} of PostgreSQL at {host}")

    def _begin(self) -> None:
        limits = {"lock_timeout": LOCKED, "statement_timeout": STATEMENT, "idle_in_transaction_session_timeout": IDLE}
        times = {name: max(1, min(int(share * self._allowed * 1000), LONGEST)) for name, share in limits.items()}
        # Each statement has to see what was committed before it, whatever the server's default is.
        # A few rows are looked up by their keys, which the planner would not believe of tables without statistics.
        plans = dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_mergejoin"), "off")
        settings = [f"SET LOCAL {name} = {value}" for name, value in (times | plans).items()]
        self._ask("; ".join(["BEGIN ISOLATION LEVEL READ COMMITTED", *settings]))

    def _hurry(self) -> None:
        self._ask("SET LOCAL lock_timeout = 100")

    def _new_connection(self) -> TimedConnection:
        patience = max(1, math.ceil(min(self._allowed, LONGEST // 1000)))
        defaults = {"connect_timeout": patience, "fallback_application_name": "bandstrap", **NOTICE_SILENCE}
        defaults["client_encoding"] = "UTF8"  # also of a database in SQL_ASCII, which would give bytes
        connection = TimedConnection.connect(
            self._url,
            autocommit=True,  # transactions begin and end where we say
            prepare_threshold=None,
            **{name: value for name, value in defaults.items() if name not in self._given},  # type: ignore[arg-type]
        )
        connection.deadline = self._deadline
        # A pool, such as PgBouncer, gives each transaction another connection to the server, where nobody knows what was
        # prepared on one; and it cannot tell us beforehand which process of the server will answer.
        ((process,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
        if process == connection.info.backend_pid:
            connection.prepare_threshold = PREPARED
        return connection

    def _is_stale(self) -> bool:
        return bool(self._connection.closed)

    def _ask(self, statement: str, *parameters: object) -> list[DatabaseRow]:
        self._connection.deadline = self._deadline
        # In binary, because a server may be set to round the floats it writes as text.
        may_prepare = bool(parameters) and self._allowed <= self.timeout  # a report is planned for what it asks
        cursor = self._connection.execute(
            in_psycopg(statement), parameters or None, binary=bool(parameters), prepare=None if may_prepare else False
        )
        return [] if cursor.description is None else cursor.fetchall()

    def _table(self, columns: dict[str, str], rows: Sequence[Sequence[object]]) -> tuple[str, Iterable[object]]:
        # As JSON, which takes half the time that arrays take. Python writes floats so that they are read back exactly.
        names = tuple(columns)
        text = json.dumps([dict(zip(names, row, strict=True)) for row in rows], allow_nan=False, ensure_ascii=False)
        kinds = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        return f"SELECT * FROM json_to_recordset(?::json) AS t ({kinds})", [text]

    def faults(self) -> list[str]:
        """Indexes that lead to another number of rows than their table has."""
        return self._run(self._find_faults, writes=True, patience=REPORTS)  # in a transaction, which writes nothing

    def _find_faults(self) -> list[str]:
        # One moment for all counts: others go on.
        self._ask("ROLLBACK")
        self._ask("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = []
        indexes = self._ask(
            "SELECT c.relname, i.relname, a.attname FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid"
            " JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[0]"
            " WHERE starts_with(c.relname, 'live_') AND pg_table_is_visible(c.oid) ORDER BY 1, 2"
        )
        for table, index, column in indexes:
            counts = []
            for through in (False, True):
                ways = {"seqscan": not through, "indexscan": through, "indexonlyscan": through, "bitmapscan": False}
                for way, is_allowed in ways.items():
                    self._ask(f"SET LOCAL enable_{way} = {'on' if is_allowed else 'off'}")
                ((count,),) = self._ask(
                    f"SELECT count(*) FROM (SELECT {column} FROM {table} ORDER BY {column}) AS rows"
                )
                counts.append(count)
            if counts[0] != counts[1]:
                found.append(
                    f"{self} is damaged: the index {index} of {table} leads to {counts[1]} of {counts[0]} rows."
                )
        return found

    def _lock_schema(self) -> None:
        self._ask("SELECT pg_advisory_xact_lock(?)", MAKING_TABLES)

    def _is_passing(self, error: Exception) -> bool:
        """A deadlock, a conflict, a prepared statement or a connection that was lost."""
        passing = (
            psycopg.errors.DeadlockDetected,
            psycopg.errors.SerializationFailure,
            psycopg.errors.InvalidSqlStatementName,
        )
        return isinstance(error, passing) or (self._connection is not None and bool(self._connection.closed))

    def _failure(self, error: Exception) -> StoreError:
        limit = f" (timeout {self._allowed:g} s)"
        if isinstance(error, NoAnswer):
            return StoreError(f"{self} cannot be used: the server does not answer{limit}.")
        state = getattr(error, "sqlstate", None) or ""
        if self._connection is not None and self._connection.closed:
            state = state or "08"
        reason = REASONS.get(state) or REASONS.get(state[:2]) or self._without_password(first_line(error))
        if state == "42501":
            reason = f"this user may not do that ({reason})"
        kind = ReadOnly if state in READ_ONLY else StoreError
        return kind(f"{self} cannot be used: {reason.rstrip('.')}{limit if state in TIMED else ''}.")

    def _without_password(self, text: str) -> str:
        """Text without the password, and without parts of one in which some characters were not written as ``%40``."""
        secrets = re.findall("://[^:@/]*:(.*)@", self._url) + re.findall("password=([^&]*)", self._url)
        parts = {part for secret in secrets for part in (secret, *re.split("[@/?#:]", secret))}
        for part in sorted(parts | {unquote(part) for part in parts}, key=len, reverse=True):
            text = text.replace(part, "***") if part else text
        return text


def first_line(error: Exception) -> str:
    """First line of an error; hints and details come after it."""
    return str(error).strip().partition("\n")[0]


@functools.cache
def in_psycopg(statement: str) -> str:
    """A statement whose parameters are written as psycopg wants them."""
    return statement.replace("?", "%s")
