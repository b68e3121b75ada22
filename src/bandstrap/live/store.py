"""Storage of live experiments: append-only tables, the same in SQLite and in PostgreSQL, and a queue.

Decisions and rewards are inserted by anybody at any time. What was learned is one ordered log for each experiment,
``live_learned``, with positions 1, 2, 3, ... without a gap. Transactions may commit in another order than they began, so
nobody looks for "rows after the last one seen": whatever may make a decision learnable puts a row of its own into a
queue, ``live_pending``, in its own transaction. :meth:`Store.refresh` takes the experiment's lock, settles the decisions
of all rows that are due, appends them to the log and deletes just these rows. A row that is committed later is found
later.

Other tables name a decision by its number, which is the database's own, and callers by its id. Weights, available arms
and builds are the same for many decisions: each is stored once, in ``live_text``, and named by its hash.

Times are seconds since 1970 by the clock of the database.
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import math
import re
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from bandstrap.basics.storage import is_path
from bandstrap.errors import brief, check_choice, check_number, requirement
from bandstrap.live.chain import first_link, hash_of, new_identity, next_link
from bandstrap.live.database import (
    TIMEOUT,
    Database,
    DatabaseRow,
    Durability,
    OtherHistory,
    ReadOnly,
    StoreError,
    reading,
    reporting,
    writing,
)
from bandstrap.live.rows import (
    SHARED,
    Build,
    Change,
    DecisionOutcome,
    DecisionRow,
    ExperimentRow,
    LogEntry,
    NewReward,
    Recount,
    RewardOutcome,
    RowCounts,
    Snapshot,
)
from bandstrap.live.settle import ARRIVAL, IS_CLOSED, IS_VOID, START, Settle

R = TypeVar("R")
Key = TypeVar("Key", str, tuple[str, str])

# Due rows of the queue that one transaction settles, so that nobody waits long for the lock.
BATCH = 1000
# Decisions of one page when all of them are read.
PAGE = 5_000
# Snapshots of a build that are kept: the newest, and others should that one be damaged.
SNAPSHOTS = 3

EXPERIMENT = f"SELECT {', '.join(ExperimentRow._fields)} FROM live_experiment WHERE name = ?"
# A decision d as it is stored: of texts that others share, the hashes.
DECISION = ", ".join(f"d.{column}" for column in ("number", "own_weights", *DecisionRow._fields))
# Snapshots s that were taken of the log as it is.
OF_THIS_LOG = (
    "FROM live_snapshot s JOIN live_learned l ON l.experiment = s.experiment AND l.seq = s.version AND l.link = s.link"
)
# With a lock, whoever asks is the only one to append to a log until the end of the transaction.
LOCK_LOG = "SELECT identity FROM live_experiment WHERE id = ?"
NEWEST = "SELECT coalesce(max(seq), 0) FROM live_learned WHERE experiment = ?"
# Columns of a new decision, with the names that PostgreSQL has for their types.
NEW_DECISION = (
    dict.fromkeys(("own_weights", *DecisionRow._fields[:-1]), "text")
    | dict.fromkeys(("version", "arm", "proposed", *SHARED), "int8")
    | {"propensity": "float8", "deferred": "bool"}
)
WEIGHTS, *_ = SHARED_PLACES = [list(NEW_DECISION).index(column) for column in SHARED]
# Whoever has read a log that is gone may believe that texts are there. Values are asked for, each found by its key: for
# EXISTS, PostgreSQL would read the whole log, to look up the many rows that it expects to be decided on.
ARE_THERE = " AND ".join(
    f"({column} IS NULL OR (SELECT TRUE FROM live_text WHERE hash = {column}))" for column in SHARED
)
IS_BASED = """
    AND (SELECT e.identity = ? FROM live_experiment e WHERE e.id = ?)
    AND (version = 0 OR (SELECT l.link = ? FROM live_learned l WHERE l.experiment = ? AND l.seq = version))
"""
ADD_DECISIONS, ADD_BASED_DECISIONS = (
    f"INSERT INTO live_decision (experiment, {', '.join(NEW_DECISION)}, decided_at)"
    f" SELECT ?, {', '.join(NEW_DECISION)}, {{now}} FROM r WHERE {ARE_THERE} {based}"
    " ON CONFLICT (id) DO NOTHING RETURNING id, number, decided_at"
    for based in ("", IS_BASED)
)
# Texts that are remembered, so that they are neither written nor read again.
MOST_TEXTS = 10_000


class Store(Database):
    """Experiments in one database; see :class:`Database` for who may use it, and when it connects."""

    # Ends of queries that lock the rows they read; empty where a writer has locked the whole database.
    sequencing: ClassVar[str]  # an experiment, against others who would append to its log
    rewarding: ClassVar[str]  # decisions, against those who would settle them
    settling: ClassVar[str]  # decisions d, against those who would add rewards; locked ones are left out
    skipping: ClassVar[str]  # added to such an end: rows that others have locked are left out
    unindexed: ClassVar[str]  # after the name of a table: let its rows be found without an index
    has_one_writer: ClassVar[bool]  # at a time; otherwise writers wait for each other's rows
    in_flight: ClassVar[float] = 0.0  # seconds that a transaction of others may last beside one that writes

    def __init__(self, timeout: float) -> None:
        super().__init__(timeout)
        # Of experiments that are expected: under the number of one there may be another in tables made anew.
        self._identities: dict[int, str] = {}
        self._texts: dict[int, str] = {}  # that are stored

    @staticmethod
    def open(
        target: str | Path, *, create: bool = False, durability: Durability = "full", timeout: float = TIMEOUT
    ) -> Store:
        """Open a database: a file of SQLite, or ``postgresql://...``.

        With ``create`` the file and the tables are made where they are missing; otherwise a database without them is
        refused with :class:`StoreError`. An older schema is upgraded, a newer one refused. With ``durability="full"``
        what was stored in SQLite survives a power cut, with ``"normal"`` the end of a process or of the system, at less
        cost; a server of PostgreSQL has a setting of its own. A transaction that takes longer than ``timeout`` seconds,
        connecting and waiting for others included, raises :class:`StoreError`.
        """
        check_choice(durability, "durability", "Store.open", ("full", "normal"))
        if is_server(target):
            try:
                from bandstrap.live.postgres import PostgresStore
            except ImportError:
                raise StoreError(
                    "Live experiments in PostgreSQL need psycopg 3: pip install 'bandstrap[postgres]'."
                ) from None

            store: Store = PostgresStore(str(target), timeout)
        else:
            from bandstrap.live.sqlite import SqliteStore

            store = SqliteStore(target, durability, timeout, create=create)
        try:
            store._prepare(create=create)
        except BaseException:
            store.close()
            raise
        return store

    # --- experiments ----------------------------------------------------------------------------------------------------

    @writing
    def create_experiment(self, name: str, definition: str, actor: str) -> ExperimentRow:
        """Store an experiment; where there is one of this name, it is given back unchanged."""
        self._ask(
            "INSERT INTO live_experiment (name, definition, created_at, created_by, identity)"
            f" VALUES (?, ?, {self.now}, ?, ?) ON CONFLICT (name) DO NOTHING",
            name,
            definition,
            actor,
            new_identity(name, definition, actor),
        )
        (row,) = self._ask(EXPERIMENT, name)
        return ExperimentRow(*row)

    @reading
    def experiment(self, name: str) -> ExperimentRow | None:
        """The experiment of this name."""
        return next((ExperimentRow(*row) for row in self._ask(EXPERIMENT, name)), None)

    def expect(self, row: ExperimentRow) -> None:
        """Let calls about this experiment's number be refused from now on if the number belongs to another."""
        self._identities[row.id] = row.identity

    def _check_identity(self, experiment: int, identity: str | None) -> None:
        """Refuse to go on with another experiment than the one that is expected under this number."""
        if identity != self._identities.get(experiment, identity):
            raise OtherHistory(f"{self} was made anew: it has another experiment under the number {experiment}.")

    @reading
    def experiments(self) -> list[str]:
        """Names of all experiments, sorted."""
        return sorted(str(name) for (name,) in self._ask("SELECT name FROM live_experiment"))  # nothing, where damaged

    @writing
    def add_build(self, build: Build) -> None:
        """Store what decides, once."""
        self._ask(
            "INSERT INTO live_build (id, code, libraries, platform) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            *build,
        )

    # --- decisions and rewards ------------------------------------------------------------------------------------------

    def add_decisions(
        self, experiment: int, rows: Sequence[DecisionRow], settle: Settle, link: int | None = None
    ) -> list[DecisionRow]:
        """Store decisions, and give back, in this order, what is stored: where an id was there before, the old row.

        ``link`` is that of the log at their version, as the caller has read it; if it is another by now, or the experiment
        is, :class:`OtherHistory` is raised, and nothing is written.
        """
        new = by_key(rows, lambda row: row.id)
        packed = {id_: pack(row) for id_, row in new.items()}
        values = [values for values, _ in packed.values()]
        needed = {hash_: text for _, texts in packed.values() for hash_, text in texts.items()}
        unknown = {hash_: text for hash_, text in needed.items() if hash_ not in self._texts}
        try:
            stored = self._add_decisions(experiment, new, values, settle, link, self._shareable(unknown))
        except OtherHistory:
            self._texts.clear()  # what was known of another database
            if len(unknown) == len(needed):
                raise
            stored = self._add_decisions(experiment, new, values, settle, link, self._shareable(needed))
        self._remember(needed)
        return [stored[row.id] for row in rows]

    def _shareable(self, texts: Mapping[int, str]) -> Mapping[int, str]:
        """Texts that are still to be stored with the decisions that need them.

        Where rows of others are waited for, texts are stored before: a worker that stops in the middle of a transaction
        would hold up all who need the same.
        """
        if texts and not self.has_one_writer:
            self._run(lambda: self._add_texts(texts), writes=False)
            return {}
        return texts

    def _remember(self, texts: Mapping[int, str]) -> None:
        """Remember texts that are stored."""
        if len(self._texts) + len(texts) > MOST_TEXTS:
            self._texts.clear()
        self._texts |= texts

    def _add_texts(self, texts: Mapping[int, str]) -> None:
        self._ask_rows(
            "INSERT INTO live_text (hash, body) SELECT hash, body FROM r WHERE true ON CONFLICT (hash) DO NOTHING",
            {"hash": "int8", "body": "text"},
            sorted(texts.items()),
        )

    @writing
    def _add_decisions(
        self,
        experiment: int,
        new: Mapping[str, DecisionRow],
        values: Sequence[Sequence[object]],
        settle: Settle,
        link: int | None,
        texts: Mapping[int, str],
    ) -> dict[str, DecisionRow]:
        """Store decisions, and the texts that they share; what is stored, by id."""
        self._add_texts(texts)
        statement = ADD_DECISIONS if link is None else ADD_BASED_DECISIONS
        seen = () if link is None else (self._identities[experiment], experiment, link, experiment)
        added = self._ask_rows(statement.format(now=self.now), NEW_DECISION, values, experiment, *seen)
        if not settle.on_arrival:
            counting = {id_ for id_, row in new.items() if row.source != "holdout" and not row.deferred}
            self._enqueue(experiment, [(number, settle.due(at)) for id_, number, at in added if id_ in counting])
        stored = {id_: new[id_]._replace(decided_at=at) for id_, _, at in added}
        if len(stored) < len(new):
            stored |= self._decisions(experiment, new.keys() - stored.keys())
        if len(stored) < len(new):
            raise OtherHistory(f"{self} has a different log from the one on which these decisions are based.")
        return stored

    @reporting
    def numbered(self, numbers: Sequence[int]) -> list[DecisionRow]:
        """Decisions by number, as far as there are any, in this order."""
        rows = self._ask_rows(
            f"SELECT {DECISION} FROM r CROSS JOIN live_decision d WHERE d.number = r.number",
            {"number": "int8"},
            [(number,) for number in numbers],
        )
        place = {number: i for i, number in enumerate(numbers)}
        return self._unpacked(sorted(rows, key=lambda row: place[row[0]]))

    @reporting
    def misnamed(self, experiment: int, last: int) -> list[int]:
        """Entries of the log up to one, but for changes, whose decision is not there, or was served another arm."""
        rows = self._ask(
            "SELECT l.seq FROM live_learned l LEFT JOIN live_decision d ON d.number = l.decision WHERE l.experiment = ?"
            " AND l.seq <= ? AND l.kind <> 'change' AND (d.arm IS NULL OR d.arm <> l.arm OR d.experiment <> l.experiment)"
            " ORDER BY l.seq",
            experiment,
            last,
        )
        return [seq for (seq,) in rows]

    @reading
    def decisions(self, experiment: int, ids: Sequence[str]) -> list[DecisionRow | None]:
        """Decisions by id, in this order; ``None`` for unknown ones."""
        found = self._decisions(experiment, set(ids))
        return [found.get(id_) for id_ in ids]

    @writing
    def add_rewards(self, experiment: int, rows: Sequence[NewReward], settle: Settle) -> list[RewardOutcome]:
        """Store rewards; an unknown id raises ``InvalidInput``, and nothing is written.

        A reward is ``"late"`` if its decision is settled or void, or has a window that is over; it is kept and never
        learned. It is ``"duplicate"``, and not kept, if its decision has one under this key.
        """
        # A policy of one's own may take anything as a reward; what is not a number could be folded by nobody.
        rows = [row._replace(value=check_number(row.value, "value", "reward")) for row in rows]
        numbers = self._check_known(experiment, {row.decision for row in rows}, "reward")
        ids = {number: id_ for id_, number in numbers.items()}
        new = by_key(rows, lambda row: (row.decision, row.key))
        # Time and log are read once the decisions are locked: a reward that is not late is there when they are settled.
        is_late = f"l.seq IS NOT NULL OR {IS_VOID.format('d.number')} OR {IS_CLOSED.format(now=self.now)}"
        stored = self._ask_rows(
            "INSERT INTO live_reward (experiment, decision, key, value, received_at, late)"
            f" SELECT ?, r.decision, r.key, r.value, {self.now}, {is_late}"
            " FROM r CROSS JOIN live_decision d LEFT JOIN live_activation a ON a.decision = d.number"
            " LEFT JOIN live_learned l ON l.decision = d.number WHERE d.number = r.decision"
            " ON CONFLICT (decision, key) DO NOTHING RETURNING decision, key, received_at, late",
            {"decision": "int8", "key": "text", "value": "float8"},
            [(numbers[row.decision], row.key, row.value) for row in new.values()],
            experiment,
            settle.window,
        )
        if settle.on_arrival:
            self._enqueue(experiment, [(decision, time) for decision, _, time, late in stored if not late])
        outcomes: dict[tuple[str, str], RewardOutcome] = {
            (ids[decision], key): "late" if late else "stored" for decision, key, _, late in stored
        }
        return [outcomes.pop((row.decision, row.key), "duplicate") for row in rows]

    @writing
    def activate(self, experiment: int, ids: Sequence[str], settle: Settle) -> list[bool]:
        """Let deferred decisions count from now on; whether each does so for the first time.

        An unknown id raises ``InvalidInput``, and nothing is written. A decision that was not deferred counts already.
        """
        numbers = self._check_known(experiment, set(ids), "activate")
        activated = self._ask_rows(
            f"INSERT INTO live_activation (decision, at) SELECT d.number, {self.now}"
            " FROM r CROSS JOIN live_decision d WHERE d.number = r.decision AND d.deferred"
            " ON CONFLICT (decision) DO NOTHING RETURNING decision, at",
            {"decision": "int8"},
            [(number,) for number in numbers.values()],
        )
        # A holdout's is settled by nobody: refresh() passes it over.
        self._enqueue(experiment, [(number, settle.due(time)) for number, time in activated])
        first: dict[int, float] = dict(activated)
        return [first.pop(numbers[id_], None) is not None for id_ in ids]

    # --- the log --------------------------------------------------------------------------------------------------------

    def refresh(
        self,
        experiment: int,
        settle: Settle,
        version: int = 0,
        link: int = 0,
        *,
        wait: bool = True,
        end: float = math.inf,
    ) -> int:
        """Append to the log what is due, and give its length, the newest version.

        ``version`` and ``link`` are those up to which the caller has read the log; if it is another one up to there,
        :class:`OtherHistory` is raised.

        Entries are in the order of the times at which they became due (then of decisions, in the order in which they were
        made): where rewards are learned on arrival the time of the reward, or of the activation if the decision was
        deferred; otherwise the end of the window.
        Where nothing is due, this is one read without a lock. Where another transaction is appending to the log, or was
        stopped while it did, it is waited for; without ``wait`` the newest version is given as it is. So it is where
        the database may only be read, and where more is due than can be appended until ``end`` (``time.monotonic()``).
        """
        is_due, newest, found = self._due(experiment, version)
        if version and found != link:
            raise OtherHistory(f"{self} has a different log from the one read up to entry {version}.")
        while is_due:
            try:
                is_due, newest = self._sequence(experiment, settle, wait)
                is_due = is_due and time.monotonic() <= end
            except ReadOnly:
                break  # reports are of the log as it is; whoever may write appends what is due
        return newest

    @reading
    def _due(self, experiment: int, version: int) -> tuple[bool, int, int | None]:
        """Return whether there is something to sequence, the newest version, and the link of the log at ``version``."""
        ((is_due, newest, identity, link),) = self._ask(
            # The first of the queue: PostgreSQL would look through all that are there for one that is due.
            f"SELECT coalesce((SELECT min(due) FROM live_pending WHERE experiment = ?) <= {self.now}, FALSE), ({NEWEST}),"
            " (SELECT identity FROM live_experiment WHERE id = ?),"
            " (SELECT link FROM live_learned WHERE experiment = ? AND seq = ?)",
            *[experiment] * 4,
            version,
        )
        self._check_identity(experiment, identity)
        return bool(is_due), newest, link

    @writing
    def _sequence(self, experiment: int, settle: Settle, wait: bool) -> tuple[bool, int]:
        """Settle at most ``BATCH`` due rows of the queue; whether there may be more, and the newest version."""
        locked = self._ask(LOCK_LOG + self.sequencing + ("" if wait else self.skipping), experiment)
        if not locked and not wait:
            ((version,),) = self._ask(NEWEST, experiment)
            return False, version
        version, link = self._end_of_log(experiment, locked)
        queue = self._ask(
            "SELECT p.id, p.decision, p.due, d.id, d.arm, d.context FROM live_pending p"
            f" CROSS JOIN live_decision d WHERE d.number = p.decision AND p.experiment = ? AND p.due <= (SELECT {self.now})"
            f" ORDER BY p.due, p.decision, p.id LIMIT {BATCH}{self.settling}",
            experiment,
        )
        if not queue:
            return False, version
        outcomes = self._outcomes({decision for _, decision, *_ in queue})
        entries: dict[int, LogEntry] = {}
        too_early = []
        for _, decision, due, id_, arm, context in queue:
            found = outcomes[decision]
            is_over = settle.is_over(found.start, found.values, due)  # not if activated before any reward came
            if found.seq is not None or decision in entries or not found.does_count or not is_over:
                continue
            if found.activated_at is not None and due < found.activated_at:  # a reward that came before the activation
                too_early.append((decision, found.activated_at))
                continue
            kind, reward = settle.of(found.values)
            entry = LogEntry(version + len(entries) + 1, kind, id_, arm, reward, None, None, context)
            link = next_link(link, entry)
            entries[decision] = entry._replace(link=link)
        self._enqueue(experiment, too_early)
        self._ask_rows(
            "INSERT INTO live_learned (experiment, seq, kind, decision, arm, reward, at, link)"
            f" SELECT ?, seq, kind, decision, arm, reward, {self.now}, link FROM r",
            {"seq": "int8", "kind": "text", "decision": "int8", "arm": "int8", "reward": "float8", "link": "int8"},
            [(e.seq, e.kind, decision, e.arm, e.reward, e.link) for decision, e in entries.items()],
            experiment,
        )
        self._ask_rows(
            "DELETE FROM live_pending WHERE id IN (SELECT id FROM r)", {"id": "int8"}, [(row[0],) for row in queue]
        )
        return len(queue) == BATCH or bool(too_early), version + len(entries)

    @writing
    def append_change(
        self, experiment: int, kind: str, body: str, actor: str, version: int, *, voided: str | None = None
    ) -> int | None:
        """Append a change of arms or settings, or one that voids a decision, and give its position.

        ``None``, and nothing is written, if there is a change after ``version``, which the caller has not seen: fold it,
        check again whether the change is allowed, and repeat.
        """
        newest, link = self._end_of_log(experiment, self._ask(LOCK_LOG + self.sequencing, experiment))
        if self._ask("SELECT seq FROM live_change WHERE experiment = ? AND seq > ? LIMIT 1", experiment, version):
            return None
        entry = LogEntry(newest + 1, "change", None, None, None, kind, body, None)
        self._ask(
            f"INSERT INTO live_change (experiment, seq, at, actor, kind, body) VALUES (?, ?, {self.now}, ?, ?, ?)",
            experiment,
            entry.seq,
            actor,
            kind,
            body,
        )
        self._ask(
            f"INSERT INTO live_learned (experiment, seq, kind, at, link) VALUES (?, ?, 'change', {self.now}, ?)",
            experiment,
            entry.seq,
            next_link(link, entry),
        )
        if voided is not None:
            self._ask(
                "INSERT INTO live_void (decision, experiment, seq)"
                " SELECT number, experiment, ? FROM live_decision WHERE id = ?",
                entry.seq,
                voided,
            )
        return entry.seq

    @reading
    def void_entry(self, experiment: int, decision: str) -> int | None:
        """The entry of the log that voids a decision."""
        rows = self._ask(
            "SELECT v.seq FROM live_decision d CROSS JOIN live_void v WHERE d.id = ? AND v.decision = d.number"
            " AND v.experiment = ?",
            decision,
            experiment,
        )
        return rows[0][0] if rows else None

    @reading
    def were_learned(self, experiment: int, decisions: Sequence[str]) -> bool:
        """Return whether a reward or default of one of some decisions is in the log."""
        rows = self._ask_rows(
            "SELECT l.experiment FROM r CROSS JOIN live_decision d JOIN live_learned l ON l.decision = d.number"
            " WHERE d.id = r.id AND l.kind <> 'nothing'",
            {"id": "text"},
            [(id_,) for id_ in decisions],
        )
        return (experiment,) in rows

    @reading
    def last_change(self, experiment: int, last: int) -> int:
        """The last entry of the log, up to one, that changes arms or settings, or voids a decision; 0 without any."""
        ((seq,),) = self._ask(
            "SELECT coalesce(max(seq), 0) FROM live_change WHERE experiment = ? AND seq <= ?", experiment, last
        )
        return int(seq)

    @reading
    def largest_reward(self, experiment: int, most: int) -> tuple[int, float]:
        """Number of the last rewards, up to a limit, and the largest absolute value among them."""
        ((n, largest),) = self._ask(
            "SELECT count(*), coalesce(max(abs(value)), 0.0) FROM"
            f" (SELECT value FROM live_reward w WHERE experiment = ? AND NOT {IS_VOID.format('w.decision')}"
            " ORDER BY id DESC LIMIT ?) AS latest",
            experiment,
            most,
        )
        return n, largest

    @reading
    def entries(self, experiment: int, after: int, limit: int, *, context: bool = False) -> list[LogEntry]:
        """At most ``limit`` entries of the log after position ``after``, with the contexts of decisions if asked for."""
        rows = self._ask(
            f"SELECT l.seq, l.kind, d.id, l.arm, l.reward, c.kind, c.body, {'d.context' if context else 'NULL'}, l.link"
            " FROM live_learned l LEFT JOIN live_decision d ON d.number = l.decision LEFT JOIN live_change c"
            " ON l.kind = 'change' AND c.experiment = l.experiment AND c.seq = l.seq"
            " WHERE l.experiment = ? AND l.seq > ? ORDER BY l.seq LIMIT ?",
            experiment,
            after,
            limit,
        )
        return list(map(LogEntry._make, rows))

    @reporting
    def changes(self, experiment: int) -> list[Change]:
        """The audit trail, in order."""
        rows = self._ask(
            "SELECT seq, at, actor, kind, body FROM live_change WHERE experiment = ? ORDER BY seq", experiment
        )
        return [Change(*row) for row in rows]

    # --- snapshots ------------------------------------------------------------------------------------------------------

    @writing
    def save_snapshot(self, experiment: int, version: int, build: str, link: int, body: str, checksum: str) -> None:
        """Store a snapshot, in place of one of the same version and build; of a build's, the newest few are kept.

        It is not stored, and others are not kept, if the log has another link at its version: that log is gone. Nobody who
        writes one at the same time is waited for.
        """
        self._hurry()
        self._ask(
            "INSERT INTO live_snapshot (experiment, version, build, link, body, checksum, at)"
            f" SELECT l.experiment, l.seq, ?, l.link, ?, ?, {self.now} FROM live_learned l"
            " WHERE l.experiment = ? AND l.seq = ? AND l.link = ? ON CONFLICT (experiment, version, build)"
            " DO UPDATE SET link = excluded.link, body = excluded.body, checksum = excluded.checksum, at = excluded.at",
            build,
            body,
            checksum,
            experiment,
            version,
            link,
        )
        self._ask(
            "DELETE FROM live_snapshot WHERE experiment = ? AND build = ? AND version NOT IN"
            f" (SELECT s.version {OF_THIS_LOG} WHERE s.experiment = ? AND s.build = ? ORDER BY s.version DESC LIMIT ?)",
            *(experiment, build) * 2,
            SNAPSHOTS,
        )

    @reading
    def latest_snapshot(self, experiment: int, build: str, at_most: int | None = None) -> Snapshot | None:
        """The newest snapshot of this log by this build, of a version not beyond ``at_most``."""
        rows = self._ask(
            f"SELECT {', '.join(f's.{column}' for column in Snapshot._fields)} {OF_THIS_LOG}"
            " WHERE s.experiment = ? AND s.build = ? AND s.version <= ? ORDER BY s.version DESC LIMIT 1",
            experiment,
            build,
            sys.maxsize if at_most is None else at_most,
        )
        return next((Snapshot(*row) for row in rows), None)

    # --- what is final ---------------------------------------------------------------------------------------------------

    def final_until(self, experiment: int) -> float:
        """A time before which no transaction under way can change anything, and nothing waits to be appended to the log.

        Where one writes at a time, whoever writes sees all that was stored before.
        """
        try:
            now, due = self._run(lambda: self._horizon(experiment), writes=True)
        except ReadOnly:
            now, due = self._run(lambda: self._horizon(experiment), writes=False)
            now -= TIMEOUT
        return min(now - self.in_flight, math.inf if due is None else due)

    def _horizon(self, experiment: int) -> tuple[float, float | None]:
        """Now, and when the first row of the queue is due."""
        ((now, due),) = self._ask(
            f"SELECT {self.now}, (SELECT min(due) FROM live_pending WHERE experiment = ?)", experiment
        )
        return now, due

    # --- reading all of it ----------------------------------------------------------------------------------------------

    def records(self, experiment: int, settle: Settle) -> Iterator[tuple[DecisionRow, DecisionOutcome]]:
        """All decisions in the order of (time, number), with what became of them; read in pages, without a lock."""
        return ((decision, found) for _, decision, found in self.numbered_records(experiment, settle))

    def numbered_records(self, experiment: int, settle: Settle) -> Iterator[tuple[int, DecisionRow, DecisionOutcome]]:
        """The same, and the number of each."""
        time, number = -math.inf, 0
        while page := self._page(experiment, settle, time, number):
            yield from page
            number, time = page[-1][0], page[-1][1].decided_at

    @reporting
    def _page(
        self, experiment: int, settle: Settle, time: float, number: int
    ) -> list[tuple[int, DecisionRow, DecisionOutcome]]:
        """Numbers and records after one of this time and number."""
        rows = self._ask(
            f"SELECT {DECISION}, {self.now} FROM live_decision d WHERE d.experiment = ?"
            f" AND (d.decided_at, d.number) > (?, ?) ORDER BY d.decided_at, d.number LIMIT {PAGE}",
            experiment,
            time,
            number,
        )
        decisions = self._unpacked([row[:-1] for row in rows])
        outcomes = self._outcomes([row[0] for row in rows])
        page = []
        for decision, (row_number, *_, now) in zip(decisions, rows, strict=True):
            found = outcomes[row_number]
            # Nobody learns the holdout's, but they are settled by the same rule.
            if decision.source == "holdout" and settle.is_over(found.start, found.values, now):
                kind, reward = settle.of(found.values)
                found = found._replace(kind=kind, reward=reward)
            page.append((row_number, decision, found))
        return page

    @reporting
    def counts(self, experiment: int) -> RowCounts:
        """Numbers of rows."""
        (row,) = self._ask(
            "WITH"
            " decisions AS (SELECT count(*) AS n, count(*) FILTER (WHERE source = 'holdout') AS holdout,"
            " count(*) FILTER (WHERE deferred AND a.decision IS NULL) AS waiting"
            " FROM live_decision d LEFT JOIN live_activation a ON a.decision = d.number WHERE experiment = ?),"
            " rewards AS (SELECT count(*) AS n, count(*) FILTER (WHERE late) AS late"
            " FROM live_reward WHERE experiment = ?),"
            " learned AS (SELECT count(*) AS n, count(*) FILTER (WHERE kind IN ('reward', 'default')"
            f" AND NOT {IS_VOID.format('l.decision')}) AS learned FROM live_learned l WHERE experiment = ?),"
            f" pending AS (SELECT count(*) AS n, count(*) FILTER (WHERE due <= {self.now}) AS due"
            " FROM live_pending WHERE experiment = ?)"
            " SELECT decisions.n, holdout, waiting, rewards.n, late, learned, learned.n, pending.n, due,"
            " (SELECT count(*) FROM live_void WHERE experiment = ?),"
            f" {self.now} FROM decisions, rewards, learned, pending",
            *[experiment] * 5,
        )
        return RowCounts(*row)

    @reporting
    def recount(self, experiment: int) -> Recount:
        """Numbers of rows that lead to a decision, each table read from its start to its end.

        A row that is missing from an index is not found by it, and the rest looks whole.
        """
        counted = (
            f"(SELECT count(*) FROM live_decision{self.unindexed} WHERE experiment = ?)",
            f"(SELECT count(*) FROM live_reward{self.unindexed} WHERE experiment = ?)",
            "(SELECT count(*) FROM live_learned WHERE experiment = ? AND kind <> 'change')",
        )
        ((n_decisions, n_rewards, n_learned),) = self._ask(f"SELECT {', '.join(counted)}", *[experiment] * 3)
        return Recount(n_decisions, n_rewards, n_learned)

    @abstractmethod
    def faults(self) -> list[str]:
        """Faults that the database finds in itself, in sentences: rows that indexes lack, references that lead
        nowhere.
        """

    @reporting
    def ask(self, query: str, *parameters: object) -> list[DatabaseRow]:
        """The rows of a query of this package's that only reads, with ``?`` for each parameter."""
        return self._ask(query, *parameters)

    def _overwrite(self) -> None:
        """Let what is changed or deleted from now on be overwritten, where the database can be told to."""

    def forget(self) -> None:
        """Let no copy of what was overwritten stay where the database itself keeps one, as far as it can be told to."""

    def _hurry(self) -> None:
        """Let the transaction fail rather than wait for locks of others, where that can be told apart."""

    # --- shared by those above --------------------------------------------------------------------------------------------

    def _decisions(self, experiment: int, ids: Iterable[str]) -> dict[str, DecisionRow]:
        """Decisions by id, as far as there are any."""
        # Found by their ids alone: PostgreSQL would, for want of statistics, look through those of the experiment.
        rows = self._ask_rows(
            f"SELECT d.experiment, {DECISION} FROM r CROSS JOIN live_decision d WHERE d.id = r.id",
            {"id": "text"},
            [(id_,) for id_ in ids],
        )
        return {row.id: row for row in self._unpacked([row for number, *row in rows if number == experiment])}

    def _unpacked(self, rows: Sequence[Sequence[Any]]) -> list[DecisionRow]:
        """Decisions from their columns, with the texts that they share."""
        texts = self._shared(
            {hash_ for *_, weights, available, _, _, build, _ in rows for hash_ in (weights, available, build)}
        )
        return [
            DecisionRow._make(
                (
                    *plain,
                    texts.get(weights, own_weights),
                    texts.get(available),
                    context,
                    bool(deferred),  # which SQLite keeps as a number
                    texts.get(build, ""),
                    decided_at,
                )
            )
            for _, own_weights, *plain, weights, available, context, deferred, build, decided_at in rows
        ]

    def _shared(self, hashes: set[Any]) -> Mapping[Any, str]:
        """Texts by their hashes, but for ``None``; for one that is lost, or another one, words that are no JSON."""
        unknown = hashes - self._texts.keys() - {None}
        if not unknown:
            return self._texts
        found = self._ask_rows(
            "SELECT t.hash, t.body FROM r CROSS JOIN live_text t WHERE t.hash = r.hash",
            {"hash": "int8"},
            [(hash_,) for hash_ in unknown],
        )
        read = {hash_: text for hash_, text in found if hash_of(text) == hash_}
        lost = {hash_: f"the text {hash_}, which is lost" for hash_ in unknown - read.keys()}
        self._remember(read)
        return self._texts | read | lost

    def _check_known(self, experiment: int, ids: set[str], owner: str) -> dict[str, int]:
        """Refuse ids of which there is no decision; lock those there are, and give their numbers."""
        rows = self._ask_rows(
            "SELECT d.experiment, d.id, d.number, e.identity FROM r CROSS JOIN live_decision d"
            " LEFT JOIN live_experiment e ON e.id = d.experiment WHERE d.id = r.id" + self.rewarding,
            {"id": "text"},
            [(id_,) for id_ in sorted(ids)],
        )
        known = {id_: number for owner_, id_, number, _ in rows if owner_ == experiment}
        for identity in {identity for owner_, *_, identity in rows if owner_ == experiment}:
            self._check_identity(experiment, identity)
        unknown = ids - known.keys()
        if unknown:
            ((identity,),) = self._ask("SELECT max(identity) FROM live_experiment WHERE id = ?", experiment)
            self._check_identity(experiment, identity)
            raise requirement("decision", owner, "the id of a decision of this experiment", brief(min(unknown)))
        return known

    def _end_of_log(self, experiment: int, locked: Sequence[DatabaseRow]) -> tuple[int, int]:
        """The newest version of a log and the link there; what ``LOCK_LOG`` gave says whose it is."""
        identity = locked[0][0] if locked else None
        self._check_identity(experiment, identity)
        last = self._ask(
            "SELECT seq, link FROM live_learned WHERE experiment = ? ORDER BY seq DESC LIMIT 1", experiment
        )
        return last[0] if last else (0, first_link(str(identity)))

    def _enqueue(self, experiment: int, rows: Sequence[tuple[int, float]]) -> None:
        """Let decisions be settled at the times given; to do so twice does no harm."""
        self._ask_rows(
            "INSERT INTO live_pending (experiment, decision, due) SELECT ?, decision, due FROM r",
            {"decision": "int8", "due": "float8"},
            rows,
            experiment,
        )

    def _outcomes(self, numbers: Iterable[int]) -> dict[int, DecisionOutcome]:
        """Outcomes of decisions."""
        rows = self._ask_rows(
            f"SELECT r.number, d.source, {START}, a.at, l.seq, l.kind, l.reward, {IS_VOID.format('r.number')}, w.value,"
            " w.late FROM r LEFT JOIN live_decision d ON d.number = r.number"
            " LEFT JOIN live_activation a ON a.decision = r.number LEFT JOIN live_learned l ON l.decision = r.number"
            f" LEFT JOIN live_reward w ON w.decision = r.number ORDER BY {ARRIVAL}",
            {"number": "int8"},
            [(number,) for number in numbers],
        )
        outcomes: dict[int, DecisionOutcome] = {}
        for number, *known, is_void, value, is_late in rows:
            found = outcomes.setdefault(number, DecisionOutcome._make([*known, [], 0, bool(is_void)]))
            if is_late:
                outcomes[number] = found._replace(late=found.late + 1)
            elif value is not None:
                found.values.append(value)
        return outcomes


def is_server(target: object) -> bool:
    """Return whether an address is that of a server; otherwise it is the path of a file.

    Text that is neither for certain is refused, and not shown: it may hold a password. A path that begins with ``/`` or
    ``./``, or is given as a ``Path``, may have any name.

    >>> is_server("postgresql://ann@localhost/shop"), is_server("shop.db"), is_server("./mode=wal.db")
    (True, False, False)
    """
    rule = "the path of a SQLite file (./FILE where its name has a colon or =), or 'postgresql://user@host/database'"
    if not isinstance(target, str | Path) or not is_path(str(target)):
        raise requirement("target", "live", rule, brief(target))
    if isinstance(target, Path):
        return False
    if re.match("postgres(ql)?://", target):
        return True
    if "://" not in target and re.match(r"\.{0,2}/(?!/)", target):
        return False
    scheme = re.match(r"\s*([a-z][a-z0-9+.-]+):", target, re.IGNORECASE)  # one letter is a drive
    if scheme is not None:
        raise requirement("target", "live", rule, f"an address with the scheme {scheme[1]!r}")
    if re.search(r"://|^//|=|:[^\\/].*@|password|^:memory:$", target, re.IGNORECASE):
        raise requirement("target", "live", rule, "neither (not shown, since it may hold a password)")
    return False


def pack(row: DecisionRow) -> tuple[list[object], dict[int, str]]:
    """The columns ``NEW_DECISION`` of a decision, and the texts that it shares with others, by their hashes."""
    values: list[object] = [None, *row[:-1]]
    if row.context is not None:
        values[0], values[WEIGHTS] = row.weights, None
    texts = {}
    for place in SHARED_PLACES:
        if isinstance(text := values[place], str):
            values[place] = hash_of(text)
            texts[hash_of(text)] = text
    return values, texts


def by_key(rows: Iterable[R], key: Callable[[R], Key]) -> dict[Key, R]:
    """Rows by their keys, the first of each, in the one order in which no two writers wait for each other."""
    found: dict[Key, R] = {}
    for row in rows:
        found.setdefault(key(row), row)
    return {key: found[key] for key in sorted(found)}


def damaged(decision: str) -> StoreError:
    """The refusal of a stored decision, given by its id, that nobody can have written so."""
    return StoreError(f"The stored decision {decision} is damaged: it cannot be read.")
