"""Rows of the tables of live experiments, as they are written and read."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

RewardOutcome = Literal["stored", "duplicate", "late"]
EntryKind = Literal["reward", "default", "nothing", "change"]


class ExperimentRow(NamedTuple):
    """An experiment as it was created; ``definition`` is JSON."""

    id: int
    name: str
    definition: str
    created_at: float
    created_by: str
    identity: str  # random, so that one of the same name in other tables is told apart


class Build(NamedTuple):
    """Build that decided: digest of the code, versions of the libraries, platform; ``id`` is a digest of the other
    three.
    """

    id: str
    code: str
    libraries: str
    platform: str


class DecisionRow(NamedTuple):
    """A decision. The database adds the time; weights, available arms and context are JSON."""

    id: str
    key: str
    unit: str | None
    version: int
    source: str  # "policy", "shadow", "shipped" or "holdout"
    arm: int
    proposed: int | None
    propensity: float
    weights: str | None
    available: str | None
    context: str | None
    deferred: bool
    build: str
    decided_at: float = math.nan


# Of these columns, texts that many decisions share: each is stored once, by its hash.
SHARED = ("weights", "available", "build")


class NewReward(NamedTuple):
    """A reward to be stored; ``decision`` is an id, and two rewards of one decision under one key are the same."""

    decision: str
    key: str
    value: float


class LogEntry(NamedTuple):
    """One entry of the log, with what folding it needs."""

    seq: int
    kind: EntryKind
    decision: str | None
    arm: int | None
    reward: float | None
    action: str | None  # of a change: what kind it is
    change: str | None  # and its JSON
    context: str | None  # of the decision
    link: int | None = None  # of the chain, as it is stored


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
    link: int  # of the chain at this version
    body: str
    checksum: str
    at: float


class DecisionOutcome(NamedTuple):
    """Outcome of a decision: activated, learned, rewarded."""

    source: str
    start: float | None  # when it began to count
    activated_at: float | None
    seq: int | None  # where it was learned
    kind: EntryKind | None  # how it was settled; of a record also a holdout's, which is never learned
    reward: float | None  # what it was settled with
    values: list[float]  # of rewards that were not late, in the order of arrival
    late: int
    is_void: bool  # its reward was taken back: it is in the log, and nothing is learned of it

    @property
    def does_count(self) -> bool:
        """True if it is to be learned from some day: not of the holdout, and activated if it was deferred."""
        return self.source != "holdout" and self.start is not None


class Recount(NamedTuple):
    """Numbers of decisions, rewards, and entries of the log that are of a decision."""

    decisions: int
    rewards: int
    learned: int


class RowCounts(NamedTuple):
    """Numbers of rows of an experiment."""

    decisions: int
    holdout: int
    waiting: int  # deferred and not activated
    rewards: int
    late: int
    learned: int  # rewards and defaults in the log, but for those of voided decisions
    version: int  # entries of the log
    pending: int  # rows of the queue
    due: int  # of these, due now
    voided: int
    now: float  # the database's clock
