"""Where live experiments are kept: append-only tables, the same in SQLite and in PostgreSQL, and a queue.

Decisions and rewards are inserted by anybody at any time. What was learned is one ordered log for each experiment,
``live_learned``, with positions 1, 2, 3, ... without a gap. Transactions may commit in another order than they began, so
nobody looks for "rows after the last one seen": whatever may make a decision learnable puts a row of its own into a
queue, ``live_pending``, in its own transaction. :meth:`Store.refresh` takes the experiment's lock, settles the decisions
of all rows that are due, appends them to the log and deletes just these rows. A row that is committed later is found
later.

Times are seconds since 1970 by the clock of the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

Aggregate = Literal["first", "last", "sum"]
Durability = Literal["full", "normal"]
Outcome = Literal["stored", "duplicate", "late"]
EntryKind = Literal["reward", "default", "nothing", "change"]


class StoreError(OSError):
    """The database failed; the message is one sentence.

    Nothing is half-written, but whether the write took place at all is not known: repeat it with the same key.
    """


class Settle(NamedTuple):
    """When a decision is settled, and by which of its rewards."""

    window: float | None  # seconds from the decision, or from its activation where it was deferred
    aggregate: Aggregate  # of several rewards under different keys
    default_reward: float | None  # where none came within the window

    @property
    def on_arrival(self) -> bool:
        """Whether a reward is learned when it comes; otherwise a decision is settled when its window closes."""
        return self.aggregate == "first" and self.default_reward is None


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
    change: str | None  # JSON of a change: its kind is in `action`
    action: str | None  # kind of a change
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


class Store:
    """Experiments in one database, used by any number of threads and processes.

    One object holds one connection, is safe to share among threads, opens a connection of its own after a fork and
    another one after an error. Every method is one transaction: all of it is stored or nothing.
    """

    @staticmethod
    def open(target: str | Path, *, create: bool = False, durability: Durability = "full") -> Store:
        """Open a database: a file of SQLite, or ``postgresql://...``.

        With ``create`` the file and the tables are made where they are missing; otherwise a database without them is
        refused with :class:`StoreError`. An older schema is upgraded, a newer one refused.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        raise NotImplementedError

    # --- experiments ----------------------------------------------------------------------------------------------------

    def create_experiment(self, name: str, definition: str, actor: str) -> ExperimentRow:
        """Store an experiment; where there is one of this name, it is given back unchanged."""
        raise NotImplementedError

    def experiment(self, name: str) -> ExperimentRow | None:
        """The experiment of this name."""
        raise NotImplementedError

    def experiments(self) -> list[str]:
        """Names of all experiments, sorted."""
        raise NotImplementedError

    def add_build(self, build: Build) -> None:
        """Store what decides, once."""
        raise NotImplementedError

    # --- decisions and rewards ------------------------------------------------------------------------------------------

    def add_decisions(self, experiment: int, rows: Sequence[NewDecision], settle: Settle) -> list[Decision]:
        """Store decisions, and give back, in this order, what is stored: where an id was there before, the old row."""
        raise NotImplementedError

    def decisions(self, experiment: int, ids: Sequence[str]) -> list[Decision | None]:
        """Decisions by id, in this order; ``None`` for unknown ones."""
        raise NotImplementedError

    def add_rewards(self, experiment: int, rows: Sequence[NewReward], settle: Settle) -> list[Outcome]:
        """Store rewards; an unknown id raises ``InvalidInput``, and nothing is written.

        A reward is ``"late"`` if its decision is settled, or has a window that is over; it is kept and never learned. It is
        ``"duplicate"``, and not kept, if its decision has one under this key.
        """
        raise NotImplementedError

    def activate(self, experiment: int, ids: Sequence[str], settle: Settle) -> list[bool]:
        """Let deferred decisions count from now on; whether each does so for the first time.

        An unknown id raises ``InvalidInput``, and nothing is written. A decision that was not deferred counts already.
        """
        raise NotImplementedError

    # --- the log --------------------------------------------------------------------------------------------------------

    def refresh(self, experiment: int, settle: Settle) -> int:
        """Append to the log what is due, and give its length, the newest version.

        Entries are in the order of the times at which they became due (then of ids): where rewards are learned on arrival
        the time of the reward, or of the activation if that came later; otherwise the end of the window.
        Where nothing is due, this is one read without a lock.
        """
        raise NotImplementedError

    def append_change(self, experiment: int, kind: str, body: str, actor: str, version: int) -> int | None:
        """Append a change of arms or settings, and give its position.

        ``None``, and nothing is written, if there is a change after ``version``, which the caller has not seen: fold it,
        check again whether the change is allowed, and repeat.
        """
        raise NotImplementedError

    def entries(self, experiment: int, after: int, limit: int, *, context: bool = False) -> list[Entry]:
        """At most ``limit`` entries of the log after position ``after``, with the contexts of decisions if asked for."""
        raise NotImplementedError

    def changes(self, experiment: int) -> list[Change]:
        """The audit trail, in order."""
        raise NotImplementedError

    # --- snapshots ------------------------------------------------------------------------------------------------------

    def save_snapshot(self, experiment: int, snapshot: Snapshot) -> None:
        """Store a snapshot (its ``at`` is set by the database), in place of one of the same version and build."""
        raise NotImplementedError

    def latest_snapshot(self, experiment: int, build: str, at_most: int | None = None) -> Snapshot | None:
        """The newest snapshot by this build, of a version not beyond ``at_most``."""
        raise NotImplementedError

    # --- reading all of it ----------------------------------------------------------------------------------------------

    def records(self, experiment: int, settle: Settle) -> Iterator[Record]:
        """All decisions in the order of (time, id), with what became of them; read in pages, without a lock."""
        raise NotImplementedError

    def counts(self, experiment: int) -> Counts:
        """Numbers of rows."""
        raise NotImplementedError
