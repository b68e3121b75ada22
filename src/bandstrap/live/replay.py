"""Every decision made again from the log, and compared with what is stored, to the last bit."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from bandstrap.errors import InvalidInput
from bandstrap.live.fold import PAGE, State, checksum, read_snapshot, this_build, write_snapshot
from bandstrap.live.settings import Settings
from bandstrap.live.store import Decision, Entry, ExperimentRow, Record, Store, StoreError
from bandstrap.live.weights import decision_id

# Decisions that are read at once.
AT_ONCE = 500


class Replay(NamedTuple):
    """What came of a replay.

    Attributes
    ----------
    decisions, versions, entries
        How many decisions were made again, on how many versions of the state they were based, and how long the log is.
    differences
        How many decisions, entries of the log and snapshots are not what follows from the rest.
    first
        The first difference, in words.
    builds
        How many decisions each build made: code, libraries, platform.
    build
        The build that replayed; bits are promised to be equal for equal builds.
    """

    decisions: int
    versions: int
    entries: int
    differences: int
    first: str | None
    builds: dict[str, int]
    build: str

    @property
    def is_identical(self) -> bool:
        """Whether everything stored follows from the log, to the last bit."""
        return self.differences == 0

    def __str__(self) -> str:
        seen = f"{self.decisions} decisions on {self.versions} versions, {self.entries} entries of the log"
        if self.is_identical:
            return f"identical: {seen}"
        foreign = sum(count for build, count in self.builds.items() if build != self.build)
        by_others = f" ({foreign} decisions were made by another build, which may round differently)" if foreign else ""
        return f"different in {self.differences} places{by_others}: {seen}. First: {self.first}"


class Notes:
    """Differences, of which the first is kept in words."""

    def __init__(self) -> None:
        self.count = 0
        self.first: str | None = None

    def add(self, sentence: str) -> None:
        """Take down a difference."""
        self.count += 1
        self.first = self.first or sentence


def replay(store: Store, row: ExperimentRow) -> Replay:
    """Check the log, and make every decision again from it, in the order of versions."""
    definition = Settings.from_json(row.definition)
    notes = Notes()
    builds: Counter[str] = Counter()
    versions: Counter[int] = Counter()
    order: list[tuple[int, str]] = []
    settled: dict[int, tuple[str, int, float | None]] = {}
    for record in store.records(row.id, definition.settle):
        builds[record.decision.build] += 1
        versions[record.decision.version] += 1
        order.append((record.decision.version, record.decision.id))
        check_record(record, notes)
        if record.seq is not None:
            settled[record.seq] = record.decision.id, record.decision.arm, record.reward
    state = State(definition)
    build = this_build(state.policy).id
    entries = checked_log(store, row.id, definition, settled, notes)
    stops = snapshots_by_version(store, row.id, definition, build, notes)
    order.sort()
    groups = {version: [id_ for _, id_ in group] for version, group in itertools.groupby(order, key=lambda one: one[0])}
    n_replayed = 0
    try:
        for version in sorted({*groups, *stops}):
            state.fold(itertools.islice(entries, version - state.version))
            if state.version < version:
                what = f"{len(groups[version])} decisions" if version in groups else "a snapshot"
                notes.add(f"Version {version}, on which {what} is based, is beyond the log of {state.version} entries.")
                continue
            if version in stops and stops[version] != checksum(write_snapshot(state)):
                notes.add(f"The snapshot of version {version} is not the state that follows from the log.")
            for decision in read_decisions(store, row.id, groups.get(version, [])):
                compare(state, row.name, decision, notes)
                n_replayed += 1
        state.fold(entries)
    except (StoreError, InvalidInput) as error:  # a log that cannot be folded: what comes after it cannot be replayed
        notes.add(str(error))
    return Replay(n_replayed, len(versions), state.version, notes.count, notes.first, dict(builds), build)


def check_record(record: Record, notes: Notes) -> None:
    """A decision's own consistency: what is held out is not learned, and what is deferred only when it is activated."""
    decision = record.decision
    if record.seq is not None and decision.source == "holdout":
        notes.add(f"Decision {decision.id} belongs to the holdout, but entry {record.seq} of the log learns from it.")
    if record.seq is not None and decision.deferred and record.activated_at is None:
        notes.add(f"Decision {decision.id} was not activated, but entry {record.seq} of the log learns from it.")


def checked_log(
    store: Store, experiment: int, definition: Settings, settled: dict[int, Any], notes: Notes
) -> Iterator[Entry]:
    """The log, entry by entry, each compared with the decision that it learns from."""
    last = 0
    while True:
        page = store.entries(experiment, last, PAGE, context=definition.is_linear)
        for entry in page:
            if entry.kind != "change" and (entry.decision, entry.arm, entry.reward) != settled.get(entry.seq):
                notes.add(f"Entry {entry.seq} of the log is not what its decision was settled with.")
            yield entry
        if len(page) < PAGE:
            return
        last = page[-1].seq


def snapshots_by_version(
    store: Store, experiment: int, definition: Settings, build: str, notes: Notes
) -> dict[int, str]:
    """The checksums of this build's snapshots; damaged ones are noted."""
    found: dict[int, str] = {}
    snapshot = store.latest_snapshot(experiment, build)
    while snapshot is not None:
        if read_snapshot(definition, snapshot) is None:
            notes.add(f"The snapshot of version {snapshot.version} is damaged; it is not used.")
        else:
            found[snapshot.version] = snapshot.checksum
        snapshot = store.latest_snapshot(experiment, build, snapshot.version - 1)
    return found


def read_decisions(store: Store, experiment: int, ids: list[str]) -> Iterator[Decision]:
    """Decisions by id, in pages."""
    for start in range(0, len(ids), AT_ONCE):
        for decision in store.decisions(experiment, ids[start : start + AT_ONCE]):
            if decision is not None:
                yield decision


def compare(state: State, name: str, stored: Decision, notes: Notes) -> None:
    """Make a decision again, and note the first thing in which the stored one differs."""
    what = f"Decision {stored.id} (key {stored.key!r}, version {stored.version})"
    try:
        available = None if stored.available is None else json.loads(stored.available)
        again = state.choose(name, stored.unit, stored.key, available, stored.context)
    except (ValueError, TypeError) as error:  # InvalidInput among them
        notes.add(f"{what} cannot be made again: {error}")
        return
    expected = {"id": decision_id(name, stored.key)} | again._asdict()
    for field, value in expected.items():
        if getattr(stored, field) != value:
            notes.add(f"{what} has {field} {getattr(stored, field)!r}; from the log follows {value!r}.")
            return
