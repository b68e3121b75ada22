"""The evidence of an experiment: decisions counted once they are final, in a state of fixed size kept beside the snapshots.

With a window, decisions count in the order in which they were made, up to the first that may still have another reward: one
that comes soon counts no earlier than one that comes late. Without a window nobody knows which decisions will have a
reward; they count in the order of the log, when their reward comes, and the readout is about those that have one.

Only what the policy decided counts, not the holdout and not what shadow mode served. A deferred decision that is not
activated within a window counts as one that was never shown, also if it is activated later.
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bandstrap.errors import InvalidInput, check_count, check_number, requirement
from bandstrap.evidence import LogEvidence, Readout, readout
from bandstrap.evidence.table import MOST_ARMS
from bandstrap.live.changes import body_of
from bandstrap.live.database import StoreError
from bandstrap.live.fold import LiveState, checksum, is_whole
from bandstrap.live.rows import Change
from bandstrap.live.settings import Settings
from bandstrap.live.settle import IS_VOID
from bandstrap.live.store import Store
from bandstrap.live.weights import read_widths
from bandstrap.readout.log import left_out

FORMAT = 1
# Entries of the log after which decisions are counted and the evidence is stored, and how many are counted at once.
EVERY = 1000
PAGE = 5000
# Pages that a worker counts while others wait for its decisions.
FEW_PAGES = 2
# Before the name of the build, in the table of snapshots.
PREFIX = "evidence "

COLUMNS = f"""d.number, d.decided_at, d.source, d.arm, coalesce(w.body, d.own_weights), d.deferred, a.at, l.seq,
    CASE WHEN l.kind IN ('reward', 'default') THEN l.reward END, {IS_VOID.format("d.number")}"""
IN_TIME = f"""
SELECT {COLUMNS} FROM live_decision d LEFT JOIN live_activation a ON a.decision = d.number
    LEFT JOIN live_learned l ON l.decision = d.number LEFT JOIN live_text w ON w.hash = d.weights
WHERE d.experiment = ? AND (d.decided_at, d.number) > (?, ?) ORDER BY d.decided_at, d.number LIMIT {PAGE}
"""
IN_LOG = f"""
SELECT {COLUMNS} FROM live_learned l JOIN live_decision d ON d.number = l.decision
    LEFT JOIN live_activation a ON a.decision = d.number LEFT JOIN live_text w ON w.hash = d.weights
WHERE l.experiment = ? AND l.seq > ? AND l.seq <= ? ORDER BY l.seq LIMIT {PAGE}
"""
BEFORE = "SELECT count(*) FROM live_decision WHERE experiment = ? AND (decided_at, number) <= (?, ?)"
LATER = (
    "SELECT count(*) FROM live_decision WHERE experiment = ? AND (decided_at, number) > (?, ?) AND source = 'policy'"
)
VOIDED = """
SELECT count(*) FROM live_void v JOIN live_decision d ON d.number = v.decision
WHERE v.experiment = ? AND d.source = 'policy'
"""


@dataclass
class CountedDecisions:
    """Evidence, and the decisions that are counted in it: ``n_rows`` of all sources, up to a place.

    The place is that of the last one: its time and number, or without a window its entry of the log. Decisions that were
    voided are left out; ``n_voided`` are those known when the counting began.
    """

    log: LogEvidence
    time: float = -math.inf
    number: int = 0
    entry: int = 0
    n_rows: int = 0
    n_left_out: int = 0
    n_voided: int = 0

    def to_json(self) -> str:
        """The evidence as text, from which :meth:`from_json` makes it again."""
        time = None if self.time == -math.inf else self.time
        body = {"format": FORMAT, **vars(self), "time": time, "log": self.log.to_dict()}
        return json.dumps(body, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> CountedDecisions:
        """The evidence that was written; :class:`InvalidInput` of anything else."""
        try:
            body: Mapping[str, Any] = json.loads(text)
            if body["format"] != FORMAT:
                raise ValueError(f"it has the format {body['format']!r}, and this version reads {FORMAT}")
            owner, time = "CountedDecisions", body["time"]
            found = cls(
                LogEvidence.from_dict(body["log"]),
                -math.inf if time is None else check_number(time, "time", owner),
                *(check_count(body[name], name, owner, at_least=0) for name in COUNTS),
            )
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise InvalidInput(f"The stored evidence cannot be read: {error}") from None
        return found


COUNTS = ("number", "entry", "n_rows", "n_left_out", "n_voided")


class EvidenceKeeper:
    """Counts the decisions of one experiment, and stores the evidence for others."""

    def __init__(self, store: Store, experiment: int, build: str, definition: Settings, policy: Any) -> None:
        self.store, self.experiment, self.build = store, experiment, PREFIX + build
        self.definition, self.window = definition, definition.window
        self.rule: dict[str, Any] = {"direction": definition.direction}
        if (ends := range_of(definition, policy)) is not None:
            self.rule |= {"low": ends[0], "high": ends[1]}
        self.found: CountedDecisions | None = None
        self._seen = 0  # version of the log at the last look

    def keep_up(self, state: LiveState) -> None:
        """Count some decisions if that is due, and no other worker has; decisions do not depend on it."""
        if state.version - self._seen < EVERY or not is_comparable(state):
            return
        with contextlib.suppress(StoreError, InvalidInput):
            found = self._begin(state)
            if state.version - self._seen >= EVERY:
                self._seen = state.version  # also if it fails: the next will be due in time
                self._count(found, state, FEW_PAGES)
                self._save(found, state)

    def complete(self, state: LiveState) -> CountedDecisions:
        """Count all that can be counted by now."""
        found = self._begin(state)
        ((n_voided,),) = self.store.ask(VOIDED, self.experiment)
        if n_voided != found.n_voided or not self._has_all(found):
            found = self.found = self._new(state, n_voided)
        before = found.n_rows
        self._count(found, state)
        if found.n_rows - before >= EVERY:
            with contextlib.suppress(StoreError):  # where it cannot be stored, it is counted again the next time
                self._save(found, state)
        return found

    def _new(self, state: LiveState, n_voided: int) -> CountedDecisions:
        return CountedDecisions(LogEvidence(state.arms, **self.rule), n_voided=n_voided)

    def _begin(self, state: LiveState) -> CountedDecisions:
        """The evidence that was counted last, here or by another worker."""
        newest = self.store.latest_snapshot(self.experiment, self.build, state.version)
        if newest is not None and (self.found is None or newest.version > self._seen):
            with contextlib.suppress(InvalidInput):
                if is_whole(newest):
                    self.found, self._seen = CountedDecisions.from_json(newest.body), newest.version
        if self.found is None:
            ((n_voided,),) = self.store.ask(VOIDED, self.experiment)
            self.found = self._new(state, n_voided)
        return self.found

    def _has_all(self, found: CountedDecisions) -> bool:
        """Return whether no decision is there now that was made before the last counted: a clock that was put back
        makes some.
        """
        if self.window is None:
            return True
        ((n,),) = self.store.ask(BEFORE, self.experiment, *as_place(found))
        return bool(n == found.n_rows)

    def _save(self, found: CountedDecisions, state: LiveState) -> None:
        """Store the evidence beside the snapshots; an empty log has no version to store it under."""
        if state.version:
            body = found.to_json()
            self._seen = state.version
            self.store.save_snapshot(self.experiment, state.version, self.build, state.link, body, checksum(body))

    def _count(self, found: CountedDecisions, state: LiveState, pages: int | None = None) -> None:
        """Count the next decisions."""
        for label in state.arms[len(found.log.labels) :]:
            found.log.add_arm(label)
        for rows in self._pages(found, state.version, pages):
            add_rows(found, rows, self.window)

    def _pages(self, found: CountedDecisions, version: int, pages: int | None) -> Iterator[list[tuple[Any, ...]]]:
        """Rows of decisions that are final, some at a time."""
        until = -math.inf if self.window is None else self.store.final_until(self.experiment)
        while pages is None or pages > 0:
            if self.window is None:
                rows = self.store.ask(IN_LOG, self.experiment, found.entry, version)
                final = len(rows)
            else:
                rows = self.store.ask(IN_TIME, self.experiment, *as_place(found))
                final = next((i for i, row in enumerate(rows) if not end_of(row, self.window) < until), len(rows))
            if final:
                yield rows[:final]
            if final < PAGE:
                return
            pages = None if pages is None else pages - 1

    def n_open(self, found: CountedDecisions) -> int | None:
        """Number of the policy's decisions that are not final yet; without a window none ever is."""
        if self.window is None:
            return None
        ((n,),) = self.store.ask(LATER, self.experiment, *as_place(found))
        return int(n)


def as_place(found: CountedDecisions) -> tuple[float, int]:
    """The place of the last decision in time; before the first, a time that every database takes."""
    return max(found.time, -1e300), found.number


def end_of(row: tuple[Any, ...], window: float) -> float:
    """Time at which a decision is final: when its window is over, or once it is in the log."""
    _, decided_at, source, _, _, deferred, activated_at, entry, *_ = row
    if source != "policy" or entry is not None:
        return float(decided_at)
    end = float(decided_at) + window
    return float(activated_at) + window if deferred and activated_at is not None and activated_at <= end else end


def add_rows(found: CountedDecisions, rows: list[tuple[Any, ...]], window: float | None) -> None:
    """Count decisions that are final."""
    counted = [row for row in rows if row[2] == "policy" and not row[-1]]
    try:
        weights = np.zeros((len(counted), len(found.log.labels)))
        for i, row in enumerate(counted):
            widths = read_widths(row[4])
            weights[i, : len(widths)] = widths
        shown = [
            not deferred or window is None or (activated is not None and activated <= decided_at + window)
            for _, decided_at, _, _, _, deferred, activated, *_ in counted
        ]
        found.log.update(
            np.array([row[3] for row in counted], dtype=np.int64),
            np.array([math.nan if row[-2] is None else row[-2] for row in counted], dtype=np.float64),
            weights,
            active=np.array(shown, dtype=bool),
            times=np.array([row[1] for row in counted], dtype=np.float64),
        )
    except (ValueError, TypeError, IndexError):
        ends = f"{rows[0][0]} to {rows[-1][0]}"
        raise StoreError(f"A stored decision is damaged and cannot be counted: one of those numbered {ends}.") from None
    number, time, *_, entry, _, _ = rows[-1]
    found.n_rows += len(rows)
    found.n_left_out += len(rows) - len(counted)
    found.time, found.number, found.entry = float(time), int(number), int(entry or 0)


def range_of(definition: Settings, policy: Any) -> tuple[float, float] | None:
    """Lowest and highest reward of a decision, where the experiment or its policy says so."""
    ends = definition.reward_range if definition.aggregate != "sum" else None
    if ends is None and np.isfinite(policy.support).all():
        ends = policy.support
    return None if ends is None else (float(ends[0]), float(ends[1]))


def is_comparable(state: LiveState) -> bool:
    """Return whether there are arms to compare, and not too many."""
    return not state.settings.is_linear and len(state.arms) <= MOST_ARMS


def readout_of(
    keeper: EvidenceKeeper, state: LiveState, alpha: float, control: str | None, epsilon: float | None
) -> Readout:
    """The readout of an experiment; see :meth:`bandstrap.live.Experiment.readout`."""
    if not is_comparable(state):
        rule = f"of an experiment with 2 to {MOST_ARMS} arms"
        raise requirement(
            "readout", "Experiment", rule, "actions" if state.settings.is_linear else f"{len(state.arms)} arms"
        )
    found = keeper.complete(state)
    shown = readout(found.log, alpha, control=state.settings.control if control is None else control, epsilon=epsilon)
    return replace(shown, notes=tuple(notes_of(keeper, found, state)))


def notes_of(keeper: EvidenceKeeper, found: CountedDecisions, state: LiveState) -> Iterator[str]:
    """Notes on what is not counted, and why."""
    others = has_others(keeper.definition, keeper.store.changes(keeper.experiment))
    yield from left_out(keeper.n_open(found), n_voided=found.n_voided, others=others, shipped=shipped_of(state))


def has_others(definition: Settings, changes: Iterable[Change]) -> bool:
    """Return whether there has been a holdout or a shadow mode, whose decisions are left out."""
    settings = [vars(definition), *(body_of(change) for change in changes)]
    return any(each.get("holdout", 0.0) > 0.0 or each.get("mode") == "shadow" for each in settings)


def shipped_of(state: LiveState) -> tuple[str, int] | None:
    """The arm that is served to all, and since which version; ``None`` while the policy decides."""
    return None if state.shipped is None else (state.shipped, state.ended)
