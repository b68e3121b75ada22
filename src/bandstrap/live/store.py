"""Where live experiments are kept: append-only tables, the same in SQLite and in PostgreSQL, and a queue.

Decisions and rewards are inserted by anybody at any time. What was learned is one ordered log for each experiment,
``live_learned``, with positions 1, 2, 3, ... without a gap. Transactions may commit in another order than they began, so
nobody looks for "rows after the last one seen": whatever may make a decision learnable puts a row of its own into a
queue, ``live_pending``, in its own transaction. :meth:`Store.refresh` takes the experiment's lock, settles the decisions
of all rows that are due, appends them to the log and deletes just these rows. A row that is committed later is found
later.

Times are seconds since 1970 by the clock of the database.
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import functools
import itertools
import math
import os
import re
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Concatenate, Literal, NamedTuple, ParamSpec, Self, TypeGuard, TypeVar

from bandstrap.errors import InvalidInput, brief, check_choice, check_number, requirement
from bandstrap.text import shortened, visible

Aggregate = Literal["first", "last", "sum"]
Durability = Literal["full", "normal"]
Outcome = Literal["stored", "duplicate", "late"]
EntryKind = Literal["reward", "default", "nothing", "change"]

P = ParamSpec("P")
R = TypeVar("R")
Key = TypeVar("Key", str, tuple[str, str])

# Due rows of the queue that one transaction settles, so that nobody waits long for the lock.
BATCH = 10_000
# Decisions of one page when all of them are read.
PAGE = 5_000
# Snapshots of a build that are kept: the newest, and others should that one be damaged.
SNAPSHOTS = 3
# How often a transaction is begun again after a conflict with another one, or on a new connection.
ATTEMPTS = 4


class StoreError(OSError):
    """The database failed; the message is one sentence.

    Nothing is half-written, but whether the write took place at all is not known: repeat it with the same key.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(shortened(visible(" ".join(sentence.split())), 1000))


class Settle(NamedTuple):
    """When a decision is settled, and by which of its rewards."""

    window: float | None  # seconds from the decision, or from its activation where it was deferred
    aggregate: Aggregate  # of several rewards under different keys
    default_reward: float | None  # where none came within the window

    @property
    def on_arrival(self) -> bool:
        """Whether a reward is learned when it comes; otherwise a decision is settled when its window closes."""
        return self.aggregate == "first" and self.default_reward is None

    def of(self, rewards: Sequence[float]) -> tuple[EntryKind, float | None]:
        """What a decision is settled with whose rewards, in order of arrival, are these.

        >>> Settle(60.0, "sum", 0.0).of([1.0, 2.5]), Settle(60.0, "sum", 0.0).of([]), Settle(60.0, "last", None).of([])
        (('reward', 3.5), ('default', 0.0), ('nothing', None))
        """
        if not rewards:
            return ("nothing", None) if self.default_reward is None else ("default", self.default_reward)
        if self.aggregate == "sum":
            return "reward", total(rewards)
        return "reward", rewards[0 if self.aggregate == "first" else -1]


def total(rewards: Sequence[float]) -> float:
    """The sum, rounded once, so that it does not depend on an order; beyond the largest float, the largest float."""
    try:
        return math.fsum(rewards)
    except OverflowError:  # of the sum, or on the way to it
        largest = Fraction(sys.float_info.max)
        return float(min(max(sum(map(Fraction, rewards)), -largest), largest))


class ExperimentRow(NamedTuple):
    """An experiment as it was created; ``definition`` is JSON."""

    id: int
    name: str
    definition: str
    created_at: float
    created_by: str


class Build(NamedTuple):
    """What decided: digest of the code, versions of the libraries, platform; ``id`` is a digest of the other three."""

    id: str
    code: str
    libraries: str
    platform: str


class NewDecision(NamedTuple):
    """A decision to be stored; the database adds the time. Weights, available arms and context are JSON."""

    id: str
    key: str
    unit: str | None
    version: int
    source: str  # "policy", "shadow" or "holdout"
    arm: int
    proposed: int | None
    propensity: float
    weights: str | None
    available: str | None
    context: str | None
    deferred: bool
    build: str


class Decision(NamedTuple):
    """A decision as it is stored."""

    id: str
    key: str
    unit: str | None
    version: int
    source: str
    arm: int
    proposed: int | None
    propensity: float
    weights: str | None
    available: str | None
    context: str | None
    deferred: bool
    build: str
    decided_at: float


class NewReward(NamedTuple):
    """A reward to be stored; ``decision`` is an id, and two rewards of one decision under one key are the same."""

    decision: str
    key: str
    value: float


class Entry(NamedTuple):
    """One entry of the log, with what folding it needs."""

    seq: int
    kind: EntryKind
    decision: str | None
    arm: int | None
    reward: float | None
    action: str | None  # of a change: what kind it is
    change: str | None  # and its JSON
    context: str | None  # of the decision, if asked for


class Change(NamedTuple):
    """A row of the audit trail; ``body`` is JSON."""

    seq: int
    at: float
    actor: str
    kind: str
    body: str


class Snapshot(NamedTuple):
    """A stored state of version ``version``."""

    version: int
    build: str
    body: str
    checksum: str
    at: float


class Record(NamedTuple):
    """A decision and what became of it, for export, replay and status."""

    decision: Decision
    activated_at: float | None
    rewards: int  # received, late ones too
    late: int
    seq: int | None  # where it was learned
    kind: EntryKind | None  # how it was settled; also of a holdout's decision, which is never learned
    reward: float | None  # what it was settled with
    values: tuple[float, ...]  # of rewards that were not late, in the order of arrival


class Counts(NamedTuple):
    """Numbers of rows of an experiment."""

    decisions: int
    holdout: int
    waiting: int  # deferred and not activated
    rewards: int
    late: int
    learned: int  # rewards and defaults in the log
    version: int  # entries of the log
    pending: int  # rows of the queue
    due: int  # of these, due now
    oldest_due: float | None  # time since which the oldest of these waits to be sequenced
    now: float  # the database's clock


class Fate(NamedTuple):
    """What became of a decision: activated, learned, rewarded."""

    activated_at: float | None
    seq: int | None
    kind: EntryKind | None
    reward: float | None
    rewards: list[float]  # in the order of arrival, without late ones
    late: int


def decision_of(row: Sequence[Any]) -> Decision:
    """A decision from its columns, whose flag SQLite keeps as a number."""
    decision = Decision(*row)
    return decision._replace(deferred=bool(decision.deferred))


def portions(rows: Sequence[R], most: int) -> Iterator[Sequence[R]]:
    """The rows, at most so many at a time."""
    return (rows[start : start + most] for start in range(0, len(rows), most))


def by_key(rows: Iterable[R], key: Callable[[R], Key]) -> dict[Key, R]:
    """Rows by their keys, the first of each, in the one order in which no two writers wait for each other."""
    found: dict[Key, R] = {}
    for row in rows:
        found.setdefault(key(row), row)
    return {key: found[key] for key in sorted(found)}


def is_storable(value: object) -> TypeGuard[str]:
    """Whether a value is text that every database can keep."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def check_text(value: object, parameter: str, owner: str) -> str:
    """Return ``value`` if it is text that every database can keep."""
    if not is_storable(value):
        raise requirement(parameter, owner, "text that can be encoded, without the character U+0000", brief(value))
    return value


# --- transactions -------------------------------------------------------------------------------------------------------


def reading(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Let a method read: it holds the connection, each of its statements sees what is committed."""
    return in_store(method, writes=False)


def writing(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Let a method be one transaction: all that it writes is committed at its end, or nothing."""
    return in_store(method, writes=True)


def in_store(method: Callable[Concatenate[Any, P], R], *, writes: bool) -> Callable[Concatenate[Any, P], R]:
    """Let a method run on the store's connection; see :meth:`Store._run`."""

    @functools.wraps(method)
    def inside(store: Store, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return store._run(lambda: method(store, *args, **kwargs), writes=writes)

    return inside


# --- forks --------------------------------------------------------------------------------------------------------------

# A connection must not be shared with a child: not even be closed by it. So all are closed before a fork, and no
# transaction is under way in another thread.
STORES: weakref.WeakSet[Store] = weakref.WeakSet()
held: list[Store] = []
# Of connections that were inherited nevertheless, by a fork that Python was not told of: never closed.
inherited: list[object] = []


def before_fork() -> None:
    """Wait for transactions under way and close all connections."""
    for store in list(STORES):
        store._lock.acquire()
        held.append(store)
        store._disconnect()


def after_fork() -> None:
    """Let the stores be used again, in parent and child; each opens a connection of its own."""
    while held:
        held.pop()._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=after_fork, after_in_child=after_fork)


# --- the store ----------------------------------------------------------------------------------------------------------

EXPERIMENT = "SELECT id, name, definition, created_at, created_by FROM live_experiment WHERE name = ?"
DECISION = ", ".join(f"d.{column}" for column in Decision._fields)
NEWEST = "SELECT coalesce(max(seq), 0) FROM live_learned WHERE experiment = ?"
# Columns of a new decision, with the names that PostgreSQL has for their types.
NEW_DECISION = dict.fromkeys(NewDecision._fields, "text") | {
    "version": "int8",
    "arm": "int8",
    "proposed": "int8",
    "propensity": "float8",
    "deferred": "bool",
}


class Store(ABC):
    """Experiments in one database, used by any number of threads and processes.

    One object holds one connection, is safe to share among threads, opens a connection of its own after a fork and
    another one after an error. Every method that writes is one transaction: all of it is stored or nothing.
    """

    # What is different in SQLite and PostgreSQL.
    name: ClassVar[str]  # of its file with the tables
    now: str  # an expression of SQL: seconds since 1970
    beginning: ClassVar[str]  # of a transaction that writes
    errors: ClassVar[tuple[type[Exception], ...]]  # of the driver
    most_rows: ClassVar[int]  # that one statement takes
    has_schema: ClassVar[str]  # a query: are there tables of ours?
    # Ends of queries that lock the rows they read; empty where a writer has locked the whole database.
    sequencing: ClassVar[str]  # an experiment, against others who would append to its log
    rewarding: ClassVar[str]  # decisions, against those who would settle them
    settling: ClassVar[str]  # decisions d, against those who would add rewards; locked ones are left out

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._connection: Any = None
        self._process = os.getpid()
        STORES.add(self)

    @staticmethod
    def open(target: str | Path, *, create: bool = False, durability: Durability = "full") -> Store:
        """Open a database: a file of SQLite, or ``postgresql://...``.

        With ``create`` the file and the tables are made where they are missing; otherwise a database without them is
        refused with :class:`StoreError`. An older schema is upgraded, a newer one refused. With ``durability="full"``
        what was stored in SQLite survives a power cut, with ``"normal"`` the end of a process or of the system, at less
        cost; a server of PostgreSQL has a setting of its own.
        """
        check_choice(durability, "durability", "Store.open", ("full", "normal"))
        if isinstance(target, str) and re.match("postgres(ql)?://", target):
            try:
                from bandstrap.live.postgres import PostgresStore
            except ImportError:
                raise StoreError(
                    "Live experiments in PostgreSQL need psycopg 3: python -m pip install 'bandstrap[postgres]'."
                ) from None

            store: Store = PostgresStore(target)
        else:
            from bandstrap.live.sqlite import SqliteStore

            store = SqliteStore(target, durability, create=create)
        try:
            store._prepare(create=create)
        except BaseException:
            store.close()
            raise
        return store

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

    # --- experiments ----------------------------------------------------------------------------------------------------

    @writing
    def create_experiment(self, name: str, definition: str, actor: str) -> ExperimentRow:
        """Store an experiment; where there is one of this name, it is given back unchanged."""
        check_text(name, "name", "create")
        check_text(actor, "actor", "create")
        self._ask(
            "INSERT INTO live_experiment (name, definition, created_at, created_by)"
            f" VALUES (?, ?, {self.now}, ?) ON CONFLICT (name) DO NOTHING",
            name,
            definition,
            actor,
        )
        (row,) = self._ask(EXPERIMENT, name)
        return ExperimentRow(*row)

    @reading
    def experiment(self, name: str) -> ExperimentRow | None:
        """The experiment of this name."""
        return next((ExperimentRow(*row) for row in self._ask(EXPERIMENT, name)), None)

    @reading
    def experiments(self) -> list[str]:
        """Names of all experiments, sorted."""
        return sorted(name for (name,) in self._ask("SELECT name FROM live_experiment"))

    @writing
    def add_build(self, build: Build) -> None:
        """Store what decides, once."""
        self._ask(
            "INSERT INTO live_build (id, code, libraries, platform) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            *build,
        )

    # --- decisions and rewards ------------------------------------------------------------------------------------------

    @writing
    def add_decisions(self, experiment: int, rows: Sequence[NewDecision], settle: Settle) -> list[Decision]:
        """Store decisions, and give back, in this order, what is stored: where an id was there before, the old row."""
        new = by_key(rows, lambda row: row.id)
        for row in new.values():
            check_text(row.key, "key", "decide")
            check_text(row.unit or "", "unit", "decide")
        times = dict(
            self._ask_rows(
                f"INSERT INTO live_decision (experiment, {', '.join(Decision._fields)})"
                f" SELECT ?, {', '.join(NewDecision._fields)}, {self.now} FROM r WHERE true"
                " ON CONFLICT (id) DO NOTHING RETURNING id, decided_at",
                NEW_DECISION,
                new.values(),
                experiment,
            )
        )
        if settle.window is not None and not settle.on_arrival:
            closing = [
                (id_, time + settle.window)
                for id_, time in times.items()
                if new[id_].source != "holdout" and not new[id_].deferred
            ]
            self._enqueue(experiment, closing)
        stored = {id_: Decision(*new[id_], time) for id_, time in times.items()}
        if len(stored) < len(new):
            stored |= self._decisions(experiment, new.keys() - stored.keys())
        return [stored[row.id] for row in rows]

    @reading
    def decisions(self, experiment: int, ids: Sequence[str]) -> list[Decision | None]:
        """Decisions by id, in this order; ``None`` for unknown ones."""
        found = self._decisions(experiment, set(ids))
        return [found.get(id_) for id_ in ids]

    @writing
    def add_rewards(self, experiment: int, rows: Sequence[NewReward], settle: Settle) -> list[Outcome]:
        """Store rewards; an unknown id raises ``InvalidInput``, and nothing is written.

        A reward is ``"late"`` if its decision is settled, or has a window that is over; it is kept and never learned. It is
        ``"duplicate"``, and not kept, if its decision has one under this key.
        """
        for row in rows:
            check_text(row.key, "key", "reward")
        rows = [row._replace(value=check_number(row.value, "value", "reward")) for row in rows]
        self._check_known(experiment, {row.decision for row in rows}, "reward")
        new = by_key(rows, lambda row: (row.decision, row.key))
        # Time and log are read once the decisions are locked: a reward that is not late is there when they are settled.
        late = "l.seq IS NOT NULL"
        if settle.window is not None:
            late += f" OR (a.at IS NOT NULL OR NOT d.deferred) AND {self.now} >= coalesce(a.at, d.decided_at) + ?"
        stored = self._ask_rows(
            "INSERT INTO live_reward (experiment, decision, key, value, received_at, late)"
            f" SELECT ?, r.decision, r.key, r.value, {self.now}, {late}"
            " FROM r CROSS JOIN live_decision d LEFT JOIN live_activation a ON a.decision = d.id"
            " LEFT JOIN live_learned l ON l.decision = d.id WHERE d.id = r.decision"
            " ON CONFLICT (decision, key) DO NOTHING RETURNING decision, key, received_at, late",
            {"decision": "text", "key": "text", "value": "float8"},
            new.values(),
            experiment,
            *([] if settle.window is None else [settle.window]),
        )
        if settle.on_arrival:
            self._enqueue(experiment, [(decision, time) for decision, _, time, late in stored if not late])
        outcomes: dict[tuple[str, str], Outcome] = {
            (decision, key): "late" if late else "stored" for decision, key, _, late in stored
        }
        return [outcomes.pop((row.decision, row.key), "duplicate") for row in rows]

    @writing
    def activate(self, experiment: int, ids: Sequence[str], settle: Settle) -> list[bool]:
        """Let deferred decisions count from now on; whether each does so for the first time.

        An unknown id raises ``InvalidInput``, and nothing is written. A decision that was not deferred counts already.
        """
        self._check_known(experiment, set(ids), "activate")
        activated = self._ask_rows(
            f"INSERT INTO live_activation (decision, at) SELECT d.id, {self.now}"
            " FROM r CROSS JOIN live_decision d WHERE d.id = r.id AND d.deferred"
            " ON CONFLICT (decision) DO NOTHING RETURNING decision, at",
            {"id": "text"},
            [(id_,) for id_ in sorted(set(ids))],
        )
        wait = 0.0 if settle.on_arrival or settle.window is None else settle.window
        # A holdout's is settled by nobody: refresh() passes it over.
        self._enqueue(experiment, [(id_, time + wait) for id_, time in activated])
        first = dict(activated)
        return [first.pop(id_, None) is not None for id_ in ids]

    # --- the log --------------------------------------------------------------------------------------------------------

    def refresh(self, experiment: int, settle: Settle) -> int:
        """Append to the log what is due, and give its length, the newest version.

        Entries are in the order of the times at which they became due (then of ids): where rewards are learned on arrival
        the time of the reward, or of the activation if the decision was deferred; otherwise the end of the window.
        Where nothing is due, this is one read without a lock.
        """
        is_due, version = self._due(experiment)
        while is_due:
            is_due, version = self._sequence(experiment, settle)
        return version

    @reading
    def _due(self, experiment: int) -> tuple[bool, int]:
        """Whether there is something to sequence, and the newest version."""
        ((is_due, version),) = self._ask(
            f"SELECT EXISTS (SELECT 1 FROM live_pending WHERE experiment = ? AND due <= {self.now}), ({NEWEST})",
            experiment,
            experiment,
        )
        return bool(is_due), version

    @writing
    def _sequence(self, experiment: int, settle: Settle) -> tuple[bool, int]:
        """Settle at most ``BATCH`` due rows of the queue; whether there may be more, and the newest version."""
        version = self._lock_log(experiment)
        queue = self._ask(
            "SELECT p.id, p.decision, p.due, d.arm, d.source, d.deferred FROM live_pending p"
            f" CROSS JOIN live_decision d WHERE d.id = p.decision AND p.experiment = ? AND p.due <= {self.now}"
            f" ORDER BY p.due, p.decision, p.id LIMIT {BATCH}{self.settling}",
            experiment,
        )
        if not queue:
            return False, version
        fates = self._fates({decision for _, decision, *_ in queue})
        entries: dict[str, tuple[int, EntryKind, str, int, float | None]] = {}
        too_early = []
        for _, decision, due, arm, source, is_deferred in queue:
            fate = fates[decision]
            is_learned = fate.seq is not None or decision in entries
            counts = source != "holdout" and (fate.activated_at is not None or not is_deferred)
            is_over = bool(fate.rewards) or not settle.on_arrival  # else activated before any reward came
            if is_learned or not counts or not is_over:
                continue
            if fate.activated_at is not None and due < fate.activated_at:  # a reward that came before the activation
                too_early.append((decision, fate.activated_at))
                continue
            kind, reward = settle.of(fate.rewards)
            entries[decision] = (version + len(entries) + 1, kind, decision, arm, reward)
        self._enqueue(experiment, too_early)
        self._ask_rows(
            "INSERT INTO live_learned (experiment, seq, kind, decision, arm, reward, at)"
            f" SELECT ?, seq, kind, decision, arm, reward, {self.now} FROM r",
            {"seq": "int8", "kind": "text", "decision": "text", "arm": "int8", "reward": "float8"},
            entries.values(),
            experiment,
        )
        self._ask_rows(
            "DELETE FROM live_pending WHERE id IN (SELECT id FROM r)", {"id": "int8"}, [(row[0],) for row in queue]
        )
        return len(queue) == BATCH or bool(too_early), version + len(entries)

    @writing
    def append_change(self, experiment: int, kind: str, body: str, actor: str, version: int) -> int | None:
        """Append a change of arms or settings, and give its position.

        ``None``, and nothing is written, if there is a change after ``version``, which the caller has not seen: fold it,
        check again whether the change is allowed, and repeat.
        """
        check_text(actor, "actor", kind)
        seq = self._lock_log(experiment) + 1
        if self._ask("SELECT seq FROM live_change WHERE experiment = ? AND seq > ? LIMIT 1", experiment, version):
            return None
        self._ask(
            f"INSERT INTO live_change (experiment, seq, at, actor, kind, body) VALUES (?, ?, {self.now}, ?, ?, ?)",
            experiment,
            seq,
            actor,
            kind,
            body,
        )
        self._ask(
            f"INSERT INTO live_learned (experiment, seq, kind, at) VALUES (?, ?, 'change', {self.now})", experiment, seq
        )
        return seq

    @reading
    def entries(self, experiment: int, after: int, limit: int, *, context: bool = False) -> list[Entry]:
        """At most ``limit`` entries of the log after position ``after``, with the contexts of decisions if asked for."""
        rows = self._ask(
            "SELECT l.seq, l.kind, l.decision, l.arm, l.reward, c.kind, c.body,"
            + (" d.context" if context else " NULL")
            + " FROM live_learned l LEFT JOIN live_change c"
            " ON l.kind = 'change' AND c.experiment = l.experiment AND c.seq = l.seq"
            + (" LEFT JOIN live_decision d ON d.id = l.decision" if context else "")
            + " WHERE l.experiment = ? AND l.seq > ? ORDER BY l.seq LIMIT ?",
            experiment,
            after,
            limit,
        )
        return list(map(Entry._make, rows))

    @reading
    def changes(self, experiment: int) -> list[Change]:
        """The audit trail, in order."""
        rows = self._ask(
            "SELECT seq, at, actor, kind, body FROM live_change WHERE experiment = ? ORDER BY seq", experiment
        )
        return [Change(*row) for row in rows]

    # --- snapshots ------------------------------------------------------------------------------------------------------

    @writing
    def save_snapshot(self, experiment: int, version: int, build: str, body: str, checksum: str) -> None:
        """Store a snapshot, in place of one of the same version and build; of a build's, the newest few are kept."""
        self._ask(
            "INSERT INTO live_snapshot (experiment, version, build, body, checksum, at)"
            f" VALUES (?, ?, ?, ?, ?, {self.now}) ON CONFLICT (experiment, version, build)"
            " DO UPDATE SET body = excluded.body, checksum = excluded.checksum, at = excluded.at",
            experiment,
            version,
            build,
            body,
            checksum,
        )
        self._ask(
            "DELETE FROM live_snapshot WHERE experiment = ? AND build = ? AND version NOT IN"
            " (SELECT version FROM live_snapshot WHERE experiment = ? AND build = ? ORDER BY version DESC LIMIT ?)",
            *(experiment, build) * 2,
            SNAPSHOTS,
        )

    @reading
    def latest_snapshot(self, experiment: int, build: str, at_most: int | None = None) -> Snapshot | None:
        """The newest snapshot by this build, of a version not beyond ``at_most``."""
        rows = self._ask(
            "SELECT version, build, body, checksum, at FROM live_snapshot"
            " WHERE experiment = ? AND build = ? AND version <= ? ORDER BY version DESC LIMIT 1",
            experiment,
            build,
            sys.maxsize if at_most is None else at_most,
        )
        return next((Snapshot(*row) for row in rows), None)

    # --- reading all of it ----------------------------------------------------------------------------------------------

    def records(self, experiment: int, settle: Settle) -> Iterator[Record]:
        """All decisions in the order of (time, id), with what became of them; read in pages, without a lock."""
        time, id_ = -math.inf, ""
        while page := self._page(experiment, settle, time, id_):
            yield from page
            time, id_ = page[-1].decision.decided_at, page[-1].decision.id

    @reading
    def _page(self, experiment: int, settle: Settle, time: float, id_: str) -> list[Record]:
        """The records after one of this time and id."""
        rows = self._ask(
            f"SELECT {DECISION}, {self.now} FROM live_decision d"
            f" WHERE d.experiment = ? AND (d.decided_at, d.id) > (?, ?) ORDER BY d.decided_at, d.id LIMIT {PAGE}",
            experiment,
            time,
            id_,
        )
        decisions = [decision_of(row[:-1]) for row in rows]
        fates = self._fates({decision.id for decision in decisions})
        page = []
        for decision, (*_, now) in zip(decisions, rows, strict=True):
            fate = fates[decision.id]
            kind, reward = fate.kind, fate.reward
            if decision.source == "holdout":  # nobody learns it, but it is settled by the same rule
                start = fate.activated_at if decision.deferred else decision.decided_at
                is_over = start is not None and settle.window is not None and now >= start + settle.window
                if start is not None and (fate.rewards if settle.on_arrival else is_over):
                    kind, reward = settle.of(fate.rewards)
            counts = (len(fate.rewards) + fate.late, fate.late)
            page.append(Record(decision, fate.activated_at, *counts, fate.seq, kind, reward, tuple(fate.rewards)))
        return page

    @reading
    def counts(self, experiment: int) -> Counts:
        """Numbers of rows."""
        (row,) = self._ask(
            "WITH"
            " decisions AS (SELECT count(*) AS n, count(*) FILTER (WHERE source = 'holdout') AS holdout,"
            " count(*) FILTER (WHERE deferred AND a.decision IS NULL) AS waiting"
            " FROM live_decision d LEFT JOIN live_activation a ON a.decision = d.id WHERE experiment = ?),"
            " rewards AS (SELECT count(*) AS n, count(*) FILTER (WHERE late) AS late"
            " FROM live_reward WHERE experiment = ?),"
            " learned AS (SELECT count(*) AS n, count(*) FILTER (WHERE kind IN ('reward', 'default')) AS learned"
            " FROM live_learned WHERE experiment = ?),"
            f" pending AS (SELECT count(*) AS n, count(*) FILTER (WHERE due <= {self.now}) AS due, min(due) AS oldest"
            " FROM live_pending WHERE experiment = ?)"
            " SELECT decisions.n, holdout, waiting, rewards.n, late, learned, learned.n, pending.n, due,"
            f" CASE WHEN due > 0 THEN oldest END, {self.now} FROM decisions, rewards, learned, pending",
            *[experiment] * 4,
        )
        return Counts(*row)

    @reading
    def ask(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """The rows of a query of this package's that only reads, with ``?`` for each parameter."""
        return self._ask(query, *parameters)

    # --- what several of them do ----------------------------------------------------------------------------------------

    def _decisions(self, experiment: int, ids: Iterable[str]) -> dict[str, Decision]:
        """Decisions by id, as far as there are any."""
        # Found by their ids alone: PostgreSQL would, for want of statistics, look through those of the experiment.
        rows = self._ask_rows(
            f"SELECT d.experiment, {DECISION} FROM r CROSS JOIN live_decision d WHERE d.id = r.id",
            {"id": "text"},
            [(id_,) for id_ in ids],
        )
        return {row[0]: decision_of(row) for owner, *row in rows if owner == experiment}

    def _check_known(self, experiment: int, ids: set[str], owner: str) -> None:
        """Refuse ids of which there is no decision; lock those there are."""
        rows = self._ask_rows(
            "SELECT d.experiment, d.id FROM r CROSS JOIN live_decision d WHERE d.id = r.id" + self.rewarding,
            {"id": "text"},
            [(id_,) for id_ in sorted(ids)],
        )
        unknown = ids - {id_ for owner, id_ in rows if owner == experiment}
        if unknown:
            raise requirement("decision", owner, "the id of a decision of this experiment", brief(min(unknown)))

    def _lock_log(self, experiment: int) -> int:
        """Be the only one to append to a log until the end of the transaction; its newest version."""
        self._ask("SELECT id FROM live_experiment WHERE id = ?" + self.sequencing, experiment)
        ((version,),) = self._ask(NEWEST, experiment)
        return int(version)

    def _enqueue(self, experiment: int, rows: Sequence[tuple[str, float]]) -> None:
        """Let decisions be settled at the times given; to do so twice does no harm."""
        self._ask_rows(
            "INSERT INTO live_pending (experiment, decision, due) SELECT ?, decision, due FROM r",
            {"decision": "text", "due": "float8"},
            rows,
            experiment,
        )

    def _fates(self, ids: Iterable[str]) -> dict[str, Fate]:
        """What became of decisions."""
        rows = self._ask_rows(
            "SELECT r.id, a.at, l.seq, l.kind, l.reward, w.received_at, w.id, w.value, w.late"
            " FROM r LEFT JOIN live_activation a ON a.decision = r.id LEFT JOIN live_learned l ON l.decision = r.id"
            " LEFT JOIN live_reward w ON w.decision = r.id",
            {"id": "text"},
            [(id_,) for id_ in ids],
        )
        fates: dict[str, Fate] = {}
        arrivals = defaultdict(list)
        for id_, activated_at, seq, kind, reward, received_at, number, value, is_late in rows:
            fate = fates.setdefault(id_, Fate(activated_at, seq, kind, reward, [], 0))
            if is_late:
                fates[id_] = fate._replace(late=fate.late + 1)
            elif value is not None:
                arrivals[id_].append((received_at, number, value))
        for id_, rewards in arrivals.items():
            fates[id_].rewards.extend(value for *_, value in sorted(rewards))
        return fates

    # --- the schema -----------------------------------------------------------------------------------------------------

    @classmethod
    def steps(cls) -> list[str]:
        """Scripts of SQL: the first makes the tables, each other one brings them from one version to the next.

        They are ``sqlite.sql``, ``sqlite.2.sql`` and so on.
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
            self._upgrade()

    @reading
    def _schema(self) -> int:
        """The version of the tables, 0 if there are none."""
        ((is_there,),) = self._ask(self.has_schema)
        return int(self._ask("SELECT version FROM live_schema")[0][0]) if is_there else 0

    @writing
    def _upgrade(self) -> None:
        """Make the tables, or bring them to the newest version; several may try at once."""
        self._lock_schema()
        steps = self.steps()
        ((is_there,),) = self._ask(self.has_schema)
        version = int(self._ask("SELECT version FROM live_schema")[0][0]) if is_there else 0
        for step in steps[version:]:
            for statement in re.sub("--.*", "", step).split(";"):
                if statement.strip():
                    self._ask(statement)
        self._ask("DELETE FROM live_schema")
        self._ask("INSERT INTO live_schema (version) VALUES (?)", max(version, len(steps)))

    # --- transactions ---------------------------------------------------------------------------------------------------

    def _run(self, body: Callable[[], R], *, writes: bool) -> R:
        """Run ``body``, in a transaction if it writes, on a connection that works."""
        with self._lock:
            for attempt in itertools.count(1):
                is_ending = False
                try:
                    self._connect()
                    if writes:
                        self._ask(self.beginning)
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
                inherited.append(connection)

    def _ask_rows(
        self, statement: str, columns: dict[str, str], rows: Iterable[Sequence[Any]], *parameters: Any
    ) -> list[tuple[Any, ...]]:
        """Run a statement about the rows given, which it knows as table ``r`` with these columns; what it returns.

        Its own parameters come after the rows.
        """
        found: list[tuple[Any, ...]] = []
        for some in portions(list(rows), self.most_rows):
            table, values = self._table(columns, some)
            found += self._ask(f"WITH r ({', '.join(columns)}) AS ({table}) {statement}", *values, *parameters)
        return found

    # --- what SQLite and PostgreSQL each do in their own way -----------------------------------------------------------

    @abstractmethod
    def __str__(self) -> str:
        """The database, as a sentence names it."""

    def place(self) -> object:
        """What is another value once another database is found in the place of this one, as far as that can be told."""
        return None

    @abstractmethod
    def _new_connection(self) -> Any:
        """Connect, without a transaction."""

    @abstractmethod
    def _is_stale(self) -> bool:
        """Whether the connection leads to something that is no longer the database."""

    @abstractmethod
    def _ask(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement, with ``?`` for each parameter, and give the rows it returns."""

    @abstractmethod
    def _table(self, columns: dict[str, str], rows: Sequence[Sequence[Any]]) -> tuple[str, Iterable[Any]]:
        """A query that gives these rows, and its parameters."""

    @abstractmethod
    def _lock_schema(self) -> None:
        """Be the only one to make tables until the end of the transaction."""

    @abstractmethod
    def _is_passing(self, error: Exception) -> bool:
        """Whether a transaction that failed so may well succeed when it is begun again."""

    @abstractmethod
    def _failure(self, error: Exception) -> StoreError:
        """An error of the driver, in a sentence."""
