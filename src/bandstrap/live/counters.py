"""Counts for the status, kept beside the snapshots: decisions until a time, rewards and the log until a place.

Whoever asks how an experiment stands counts what came since, and nothing twice. Decisions are counted for good once they
are so old that no transaction under way can add one before them. Where rows were changed after all (a decision was
voided, or a clock was put back), everything is counted anew.
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import contextlib
import copy
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bandstrap.errors import InvalidInput, check_count, check_number
from bandstrap.live import counting
from bandstrap.live.database import TIMEOUT, StoreError
from bandstrap.live.fold import LiveState, checksum, is_due, is_whole
from bandstrap.live.settle import IS_CLOSED, IS_VOID, START, Settle
from bandstrap.live.store import Store
from bandstrap.live.tally import Tally

FORMAT = 1
# Before the name of the build, in the table of snapshots.
PREFIX = "counters "
# Characters of counters that are kept: of very many arms they would be longer than it takes to count.
LONGEST = 1 << 20
# Largest number that a database keeps, and the level of intervals longer than all time.
LARGEST, HIGHEST_LEVEL = 2**63 - 1, 40
OWNER = "Counters"
# Before and after all times, for databases that take no infinity.
EVER = 1e300


@dataclass
class Counters:
    """Numbers of decisions made before ``until``, of rewards up to the row ``last_reward``, of the log up to ``version``.

    ``by_build`` has the hashes of builds; ``served`` are decisions of each arm without the holdout's; ``chosen`` those of
    each arm and interval of ``level`` in which the policy chose it, or would have in shadow mode, and ``of_day`` the same
    in intervals of ``counting.DAY_LEVEL``, none that ended before ``day``; ``learned`` are rewards of both.
    ``countable`` are neither the holdout's nor deferred.
    """

    level: int
    until: float = -EVER
    version: int = 0
    last_reward: int = 0
    n_voided: int = 0
    day: float = -EVER
    countable: int = 0
    deferred: int = 0
    rewards: int = 0
    late: int = 0
    defaults: int = 0
    nothing: int = 0
    by_source: Counter[str] = field(default_factory=Counter)
    by_build: Counter[int] = field(default_factory=Counter)
    served: Counter[int] = field(default_factory=Counter)
    chosen: defaultdict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    of_day: defaultdict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    learned: defaultdict[int, dict[int, Tally]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def n_learned(self) -> int:
        """Rewards learned, defaults among them."""
        return sum(tally.n for tallies in self.learned.values() for tally in tallies.values())

    def lift_to(self, level: int) -> None:
        """Merge pairs of intervals until they are of a level."""
        up = level - self.level
        if up > 0:
            for arm, counts in self.chosen.items():
                self.chosen[arm] = raised(counts, up)
            for arm, tallies in self.learned.items():
                lifted: dict[int, Tally] = {}
                for stretch, tally in sorted(tallies.items()):
                    lifted[stretch >> up] = lifted.get(stretch >> up, Tally()).merged(tally)
                self.learned[arm] = lifted
            self.level = level

    def count(
        self, store: Store, experiment: int, until: float, version: int, last_reward: int, day: float
    ) -> Counter[int]:
        """Count the rows that came since; returns the choices of the policy after ``day`` among them."""
        recent: Counter[int] = Counter()
        finest = min(self.level, counting.DAY_LEVEL)
        rows = store.ask(counting.DECISIONS, 2.0**finest, day, experiment, self.until, until)
        for source, arm, chosen, build, waits, stretch, n, n_day in rows:
            self.by_source[source] += n
            self.by_build[build] += n
            self.deferred += n * waits
            if source != "holdout":
                self.countable += n * (1 - waits)
                self.served[arm] += n
                self.chosen[chosen][int(stretch) >> (self.level - finest)] += n
                self.of_day[chosen][int(stretch) >> (counting.DAY_LEVEL - finest)] += n
                recent[chosen] += n_day
        self.until = max(self.until, until)
        last, n_rewards, n_late = store.ask(
            counting.RECEIVED, self.last_reward, experiment, self.last_reward, last_reward
        )[0]
        self.last_reward, self.rewards, self.late = last, self.rewards + n_rewards, self.late + n_late
        settled = experiment, self.version, version
        for arm, stretch, n, middle, spread, total, squares, n_defaults in store.ask(
            counting.LEARNED, *settled, 2.0**self.level, *settled
        ):
            tallies, place = self.learned[arm], int(stretch)
            tally = Tally.of_scaled(n, middle, spread, total, squares)
            tallies[place] = tallies.get(place, Tally()).merged(tally)
            self.defaults += int(n_defaults)
        self.nothing += store.ask(counting.SETTLED_WITHOUT, *settled)[0][0]
        self.version = max(self.version, version)
        return recent

    def forget_days(self, day: float) -> None:
        """Keep no intervals that ended before the last day began."""
        first = math.floor(day / 2.0**counting.DAY_LEVEL)
        for arm, counts in self.of_day.items():
            self.of_day[arm] = Counter({stretch: n for stretch, n in counts.items() if stretch >= first})
        self.day = max(self.day, day)

    def since(self, store: Store, experiment: int, day: float) -> Counter[int]:
        """Choices of the policy after the last day began; of the interval in which it began, the database counts a part."""
        length = 2.0**counting.DAY_LEVEL
        first = math.floor(day / length) + 1
        edge = store.ask(counting.OF_DAY, experiment, day, min(first * length, self.until))
        found: Counter[int] = Counter(dict(edge))
        for arm, counts in self.of_day.items():
            found[arm] += sum(n for stretch, n in counts.items() if stretch >= first)
        return found

    def to_json(self) -> str:
        """The counters as text, from which :meth:`from_json` makes them again."""
        return json.dumps({"format": FORMAT, **vars(self)}, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Counters:
        """The counters that were written; :class:`InvalidInput` of anything else."""
        try:
            body = json.loads(text)
            if body.pop("format") != FORMAT:
                raise ValueError("of another format")
            found = cls(
                check_count(body["level"], "level", OWNER, at_least=counting.LOWEST_LEVEL, at_most=HIGHEST_LEVEL)
            )
            for name in NUMBERS:
                setattr(found, name, count(body[name], name))
            for name in ("until", "day"):
                setattr(found, name, check_number(body[name], name, OWNER))
            found.by_source.update({source: count(n, source) for source, n in body["by_source"].items()})
            found.by_build.update(numbers(body["by_build"]))
            found.served.update(numbers(body["served"]))
            for arm in body["chosen"]:
                found.chosen[place(arm)] = Counter(numbers(body["chosen"][arm]))
            for arm in body["of_day"]:
                found.of_day[place(arm)] = Counter(numbers(body["of_day"][arm]))
            for arm, tallies in body["learned"].items():
                found.learned[place(arm)] = {
                    place(stretch): Tally(
                        count(n, "n"), *(check_number(each, "learned", OWNER) for each in (mean, squares))
                    )
                    for stretch, (n, mean, squares) in tallies.items()
                }
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise InvalidInput(f"The stored counters cannot be read: {error}") from None
        return found


NUMBERS = (
    *("version", "last_reward", "n_voided", "countable", "deferred"),
    *("rewards", "late", "defaults", "nothing"),
)


def count(value: object, name: str) -> int:
    """A number of rows, which a database can count."""
    return check_count(value, name, OWNER, at_least=0, at_most=LARGEST)


def place(key: str) -> int:
    """The number of an arm, of an interval or of a text; JSON has text for keys."""
    return check_count(int(key), "key", OWNER, at_least=-LARGEST - 1, at_most=LARGEST)


def numbers(written: Mapping[str, Any]) -> dict[int, int]:
    """Numbers by numbers."""
    return {place(key): count(n, key) for key, n in written.items()}


def raised(counts: Mapping[int, int], up: int) -> Counter[int]:
    """Counts of longer intervals."""
    found: Counter[int] = Counter()
    for stretch, n in counts.items():
        found[stretch >> up] += n
    return found


class CountKeeper:
    """Keeps the counters of one experiment, and stores them for others."""

    def __init__(self, store: Store, experiment: int, build: str) -> None:
        self.store, self.experiment, self.build = store, experiment, PREFIX + build
        self.found: Counters | None = None
        self._seen = 0  # version of the log when counters were stored last

    def keep_up(self, state: LiveState) -> None:
        """Count and store the rows that came since if that is due and nobody else has; decisions do not depend on it."""
        with contextlib.suppress(StoreError):
            if is_due(state.version, self._seen):
                self.stored(state)
            if is_due(state.version, self._seen):
                self.complete(state)

    def complete(self, state: LiveState) -> Counters:
        """Counters of all that is final, stored if that is due."""
        store, experiment = self.store, self.experiment
        found = copy.deepcopy(self.stored(state))  # counting that fails half-way must leave nothing behind
        first = counting.first_decision(store, experiment)
        ((now,),) = store.ask(f"SELECT {store.now}")
        until = now - TIMEOUT
        if found is None or found.version > state.version or not self._is_whole(found, now):
            ((n_voided,),) = store.ask("SELECT count(*) FROM live_void WHERE experiment = ?", experiment)
            found = Counters(counting.LOWEST_LEVEL, n_voided=n_voided)
        if first is not None:
            found.lift_to(counting.stretches(first, now, found.level).level)
            last_reward = (
                "SELECT coalesce(max(id), 0) FROM live_reward WHERE experiment = ? AND id > ? AND received_at < ?"
            )
            ((last,),) = store.ask(last_reward, experiment, found.last_reward, until)
            found.count(store, experiment, max(until, found.until), state.version, last, now)
            found.forget_days(now - counting.DAY)
            self.found = found
        if is_due(state.version, self._seen):
            self._seen = state.version  # also if it fails: the next will be due in time
            body = found.to_json()
            if len(body) <= LONGEST:
                with contextlib.suppress(StoreError):
                    store.save_snapshot(experiment, state.version, self.build, state.link, body, checksum(body))
        return found

    def stored(self, state: LiveState) -> Counters | None:
        """Counters that were counted last, here or by another worker."""
        newest = self.store.latest_snapshot(self.experiment, self.build, state.version)
        if newest is not None and newest.version > self._seen:
            self._seen = newest.version
            with contextlib.suppress(InvalidInput):
                if is_whole(newest):
                    self.found = Counters.from_json(newest.body)
        return self.found

    def _is_whole(self, found: Counters, now: float) -> bool:
        """Check that no other decision is of that time, none was voided since, and the clock was not put back."""
        ((n_decisions, n_voided),) = self.store.ask(
            "SELECT (SELECT count(*) FROM live_decision WHERE experiment = ? AND decided_at < ?),"
            " (SELECT count(*) FROM live_void WHERE experiment = ?)",
            self.experiment,
            found.until,
            self.experiment,
        )
        is_later = now - counting.DAY >= found.day
        return bool(n_decisions == found.by_source.total() and n_voided == found.n_voided and is_later)


# --- what is counted at one moment --------------------------------------------------------------------------------------


class Totals(NamedTuple):
    """Numbers that hold at one moment: decisions that wait for a reward, or got none, and rows of the log and the queue."""

    open: int
    unanswered: int
    inactive: int
    pending: int
    voided: int
    version: int
    learned: int


IS_POLICYS = "d.experiment = ? AND d.source <> 'holdout'"
ACTIVATED = "FROM live_activation a CROSS JOIN live_decision d WHERE d.number = a.decision AND d.experiment = ?"
# Of the log after what was counted: what was settled by a reward, by the default, with nothing.
TAIL = f"FROM live_learned l WHERE {counting.IS_SETTLED}"
VOIDED = f"""
SELECT count({START}) FROM live_void v JOIN live_decision d ON d.number = v.decision
    LEFT JOIN live_activation a ON a.decision = d.number WHERE v.experiment = ? AND {IS_POLICYS}
"""
OPEN = f"""
SELECT count(*) FROM live_decision d {{}} LEFT JOIN live_learned l ON l.decision = d.number
WHERE {{}} AND {IS_POLICYS} AND l.decision IS NULL AND NOT {IS_CLOSED.format(now="?")} AND NOT {IS_VOID.format("d.number")}
"""
OPEN_AT_ONCE = OPEN.format(
    "LEFT JOIN live_activation a ON a.decision = d.number", "d.decided_at > ? AND NOT d.deferred"
)
OPEN_LATER = OPEN.format("CROSS JOIN live_activation a", "a.decision = d.number AND d.deferred")


def totals_of(store: Store, experiment: int, settle: Settle, found: Counters, now: float) -> Totals:
    """Numbers at one moment, from counters and one look at what came since."""
    settled = experiment, found.version, sys.maxsize
    parts: list[tuple[str, tuple[object, ...]]] = [
        (
            f"SELECT count(*) FROM live_decision d WHERE {IS_POLICYS} AND d.decided_at >= ? AND NOT d.deferred",
            (experiment, found.until),
        ),
        (
            "SELECT count(*) FROM live_decision d WHERE d.experiment = ? AND d.decided_at >= ? AND d.deferred",
            (experiment, found.until),
        ),
        (f"SELECT count(*) {ACTIVATED}", (experiment,)),
        (f"SELECT count(*) {ACTIVATED} AND d.source <> 'holdout'", (experiment,)),
        (f"SELECT count(*) {TAIL} AND l.kind IN ('reward', 'default')", settled),
        (f"SELECT count(*) {TAIL} AND l.kind = 'nothing'", settled),
        ("SELECT count(*) FROM live_void WHERE experiment = ?", (experiment,)),
        (VOIDED, (experiment, experiment)),
        (f"SELECT count(*) FROM live_pending WHERE experiment = ? AND due <= {store.now}", (experiment,)),
        ("SELECT coalesce(max(seq), 0) FROM live_learned WHERE experiment = ?", (experiment,)),
    ]
    if settle.window is not None:
        early = now - settle.window - 1.0
        parts += [
            (OPEN_AT_ONCE, (early, experiment, now, settle.window)),
            (OPEN_LATER, (experiment, now, settle.window)),
        ]
    parameters = [each for _, some in parts for each in some]
    (row,) = store.ask("SELECT " + ", ".join(f"({query})" for query, _ in parts), *parameters)
    at_once, deferred, activated, counting_later, learned, nothing, voided, void_started, pending, version, *is_open = (
        row
    )
    n_learned = found.n_learned + learned
    started = found.countable + at_once + counting_later - void_started
    without = started - n_learned
    n_open = sum(is_open) if settle.window is not None else without - found.nothing - nothing
    return Totals(n_open, without - n_open, found.deferred + deferred - activated, pending, voided, version, n_learned)
