"""Every decision made again from the log, and compared with what is stored, to the last bit."""

from __future__ import annotations

import itertools
import json
import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.errors import InvalidInput
from bandstrap.live.chain import first_link, is_identity_of, next_link
from bandstrap.live.database import StoreError
from bandstrap.live.erasure import is_erased
from bandstrap.live.fold import (
    LiveState,
    build_id,
    checksum,
    read_log,
    read_snapshot,
    this_build,
    write_snapshot,
)
from bandstrap.live.rows import DecisionOutcome, DecisionRow, ExperimentRow, LogEntry, Recount
from bandstrap.live.settings import Settings
from bandstrap.live.settle import Settle
from bandstrap.live.store import Store
from bandstrap.live.weights import decision_id

# Decisions that are read at once.
AT_ONCE = 500


class Replay(NamedTuple):
    """Outcome of a replay.

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
        """True if everything stored follows from the log, to the last bit."""
        return self.differences == 0

    def __str__(self) -> str:
        made = counted(self.decisions, "decision", "decisions")
        seen = f"{made} on {counted(self.versions, 'version', 'versions')}, "
        seen += f"{counted(self.entries, 'entry', 'entries')} of the log"
        if self.is_identical:
            return f"identical: {seen}"
        foreign = sum(count for build, count in self.builds.items() if build != self.build)
        made_by_others = f"{counted(foreign, 'decision was', 'decisions were')} made by another build"
        by_others = f" ({made_by_others}, which may round differently)" if foreign else ""
        places = counted(self.differences, "place", "places")
        return f"different in {places}{by_others}: {seen}. First: {self.first}"


def counted(number: int, one: str, several: str) -> str:
    """A number of things, in words."""
    return f"{number} {one if number == 1 else several}"


class Notes:
    """Differences, of which the first is kept in words."""

    def __init__(self) -> None:
        self.count = 0
        self.first: str | None = None

    def add(self, sentence: str) -> None:
        """Take down a difference."""
        self.count += 1
        self.first = self.first or sentence


def replay(store: Store, row: ExperimentRow, *, deep: bool = False) -> Replay:
    """Check the log, and make every decision again from it, in the order of versions.

    Others may go on meanwhile: of what they add, decisions are replayed as far as the log goes. With ``deep`` the database
    checks itself first.
    """
    notes = Notes()
    for sentence in [*store.faults(), *orphans(store)] if deep else ():
        notes.add(sentence)
    try:
        return checked(store, row, notes)
    except (StoreError, InvalidInput):
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:  # what no row of ours leads to
        raise StoreError(notes.first or f"{store} is damaged: a row cannot be read ({error}).") from None


def checked(store: Store, row: ExperimentRow, notes: Notes) -> Replay:
    """Replay an experiment, and note all differences."""
    definition = Settings.from_json(row.definition)
    if not is_identity_of(row.identity, row.name, row.definition, row.created_by):
        notes.add("The experiment's name, definition or creator has changed since its creation.")
    builds: Counter[str] = Counter()
    versions, numbers = array("q"), array("q")
    waiting = n_rewards = n_learned = 0
    before = store.counts(row.id)
    for number, decision, outcome in store.numbered_records(row.id, definition.settle):
        n_rewards += len(outcome.values) + outcome.late
        n_learned += outcome.seq is not None
        builds[decision.build] += 1
        versions.append(decision.version)
        numbers.append(number)
        check_outcome(decision.id, outcome, definition.settle, notes)
        waiting += is_waiting(outcome, definition.settle)
    recount, after = store.recount(row.id), store.counts(row.id)
    is_quiet = before._replace(now=after.now, due=after.due) == after
    if is_quiet and waiting > after.pending:
        lost = counted(waiting - after.pending, "decision is", "decisions are")
        notes.add(f"{lost} neither learned nor in the queue.")
    if is_quiet:
        check_recount(Recount(len(numbers), n_rewards, n_learned), recount, notes)
    groups = by_version(versions, numbers)
    state = LiveState(definition)
    build = this_build(state.policy).id
    check_builds(store, builds, notes)
    entries = checked_log(store, row, definition, after.version, notes)
    stops = snapshots_by_version(store, row.id, definition, build, notes)
    n_replayed = 0

    def again(version: int, voided: list[str]) -> Iterator[LogEntry] | None:
        return read_log(store, row.id, definition, 0, version) if store.were_learned(row.id, voided) else None

    try:
        for version in sorted({*groups, *stops}):
            state.fold(itertools.islice(entries, version - state.version), again)
            if state.version < version:
                n_based = len(groups.get(version, []))
                what = counted(n_based, "decision is", "decisions are") if n_based else "a snapshot is"
                notes.add(f"Version {version}, on which {what} based, is beyond the log of {state.version} entries.")
                continue
            if version in stops and stops[version] != checksum(write_snapshot(state)):
                notes.add(f"The snapshot of version {version} is not the state that follows from the log.")
            before_these = n_replayed
            for decision in read_decisions(store, groups.get(version, [])):
                compare(state, row.name, decision, notes)
                n_replayed += 1
            n_lost = len(groups.get(version, [])) - (n_replayed - before_these)
            if n_lost:
                notes.add(f"{counted(n_lost, 'decision', 'decisions')} of version {version} cannot be found by number.")
        state.fold(entries, again)
        check_voids(store, row.id, state, notes)
    except (StoreError, ValueError, LookupError, TypeError) as error:  # what follows a log that cannot be folded
        notes.add(f"The log cannot be folded beyond entry {state.version}: {error}")
    return Replay(n_replayed, len(groups), after.version, notes.count, notes.first, dict(builds), build)


def check_recount(found: Recount, there: Recount, notes: Notes) -> None:
    """Compare what was found through indexes with what the tables hold."""
    for what, n_found, n_there in zip(Recount._fields, found, there, strict=True):
        if n_found != n_there:
            name = {"learned": "entries of the log"}.get(what, what)
            notes.add(f"An index or a row is damaged: {n_found} of {n_there} stored {name} were found.")


def orphans(store: Store) -> Iterator[str]:
    """Rows of experiments that are not there, in sentences: no index or reference of the database tells of them."""
    for table in ("live_decision", "live_reward", "live_learned", "live_change", "live_void"):
        belongs = "SELECT 1 FROM live_experiment e WHERE e.id = r.experiment"
        ((n_rows,),) = store.ask(f"SELECT count(*) FROM {table} r WHERE NOT EXISTS ({belongs})")  # noqa: S608
        if n_rows:
            lost = counted(n_rows, f"row of {table} belongs", f"rows of {table} belong")
            yield f"{lost} to an experiment that is not there."


def check_voids(store: Store, experiment: int, state: LiveState, notes: Notes) -> None:
    """Compare the decisions that count as void with those that the log voids."""
    stored = store.ask(
        "SELECT d.id FROM live_void v JOIN live_decision d ON d.number = v.decision WHERE v.experiment = ? AND v.seq <= ?",
        experiment,
        state.version,
    )
    for id_ in sorted(state.voided ^ {id_ for (id_,) in stored}):
        there = "is void only in the log" if id_ in state.voided else "is void, and not in the log"
        notes.add(f"Decision {id_} {there}.")


def is_waiting(found: DecisionOutcome, settle: Settle) -> bool:
    """Return whether a decision must be in the queue of those to be settled."""
    return found.does_count and found.seq is None and settle.is_over(found.start, found.values, math.inf)


def check_outcome(decision: str, found: DecisionOutcome, settle: Settle, notes: Notes) -> None:
    """Check that a decision was settled if it counts, and with what its rewards give."""
    if found.seq is None:
        return
    what = f"Entry {found.seq} of the log"
    if not found.does_count:
        reason = "belongs to the holdout" if found.source == "holdout" else "was never activated"
        notes.add(f"{what} learns from decision {decision}, which {reason}.")
        return
    if settle.on_arrival:  # of rewards that arrive at once, that which came to be known first
        follows = found.kind == "reward" and found.reward in found.values
    else:
        follows = (found.kind, found.reward) == settle.of(found.values)
    if not follows:
        given = f"of its rewards {found.values[:5]}" if found.values else "of a decision without rewards"
        notes.add(f"{what} has {found.kind} {found.reward!r}, which is not what is to be learned {given}.")


def check_builds(store: Store, builds: Mapping[str, int], notes: Notes) -> None:
    """Check that builds are what their ids say, and that each decision names one of them."""
    known = set()
    for id_, *about in store.ask("SELECT id, code, libraries, platform FROM live_build"):
        known.add(id_)
        if build_id(*about) != id_:
            notes.add(f"The build {id_} is not what its id says.")
    for id_ in builds.keys() - known:
        notes.add(f"{counted(builds[id_], 'decision names', 'decisions name')} the build {id_!r}, which is not there.")


def checked_log(store: Store, row: ExperimentRow, definition: Settings, last: int, notes: Notes) -> Iterator[LogEntry]:
    """The log up to ``last``, entry by entry, compared with the decisions that it learns from."""
    for seq in store.misnamed(row.id, last):
        notes.add(f"Entry {seq} of the log has no decision, or its arm differs from that of the decision.")
    for entry in read_log(store, row.id, definition, 0, last):
        if entry.seq == 1 and entry.link != next_link(first_link(row.identity), entry):
            notes.add("The log does not begin with the identity of its experiment.")
        yield entry


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


def by_version(versions: array[int], numbers: array[int]) -> dict[int, NDArray[np.int64]]:
    """The numbers of the decisions of each version, in order."""
    found, all_numbers = np.asarray(versions, dtype=np.int64), np.asarray(numbers, dtype=np.int64)
    order = np.lexsort((all_numbers, found))
    distinct, starts = np.unique(found[order], return_index=True)
    ends = [*starts[1:], len(order)]
    # Without decisions there are no starts, and one end.
    return {
        version: all_numbers[order[start:end]]
        for version, start, end in zip(distinct.tolist(), starts, ends, strict=False)
    }


def read_decisions(store: Store, numbers: Sequence[int] | NDArray[np.int64]) -> Iterator[DecisionRow]:
    """Decisions by number, in pages."""
    for start in range(0, len(numbers), AT_ONCE):
        yield from store.numbered([int(number) for number in numbers[start : start + AT_ONCE]])


def compare(state: LiveState, name: str, stored: DecisionRow, notes: Notes) -> None:
    """Make a decision again, and note the first thing in which the stored one differs."""
    what = f"Decision {stored.id} (key {stored.key!r}, version {stored.version})"
    try:
        available = None if stored.available is None else json.loads(stored.available)
        drawn = None
        if is_erased(stored):
            arm = stored.arm if stored.proposed is None else stored.proposed
            drawn = stored.source == "holdout", arm
        again = state.choose(name, stored.unit, stored.key, available, stored.context, drawn=drawn)
    except (ValueError, TypeError, LookupError) as error:  # InvalidInput among them
        notes.add(f"{what} cannot be made again: {error}")
        return
    if drawn is not None and not again.propensity > 0:
        notes.add(f"{what} has an arm that could not be drawn.")
    id_ = stored.id if drawn is not None else decision_id(name, stored.key)
    served = stored.source, stored.arm, stored.proposed, stored.propensity, stored.weights
    if (stored.id, served) == (id_, again):
        return
    for field, value in ({"id": id_} | again._asdict()).items():
        if getattr(stored, field) != value:
            notes.add(f"{what} has {field} {getattr(stored, field)!r}; from the log follows {value!r}.")
            return
