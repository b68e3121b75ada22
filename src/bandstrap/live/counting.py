"""Counts for the status, made by the database, in SQL that SQLite and PostgreSQL both understand.

Decisions are counted where they are; what comes back is a few rows for each arm. What was counted is kept
(:mod:`bandstrap.live.counters`), so that of a million only the last ones are counted again. What is counted of the policy's
decisions stands in the log; those of the holdout, which are in no log, are settled one by one. Rewards are counted as sums
of ``z = (y - middle) / spread`` and of ``z^2``, with ``middle`` their mean and ``spread`` their range, so that sums
neither cancel nor overflow, however large the rewards are.
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.live.rows import Snapshot
from bandstrap.live.settle import ARRIVAL, IS_VOID, START, Settle
from bandstrap.live.store import Store
from bandstrap.live.tally import Tally

# Most intervals of time from the first decision until now. They are 2^level seconds long, and begin at whole multiples of
# that: two of one level are one of the next.
STRETCHES = 120
# Shorter ones would be below the resolution of a database's clock.
LOWEST_LEVEL = -10
# Seconds of the last day, whose decisions are counted in intervals of this level, 17 minutes.
DAY = 86_400.0
DAY_LEVEL = 10

# Halves are rounded down here and up there, which concerns a moment between two intervals; CAST rounds in PostgreSQL and
# cuts off in SQLite, and not every SQLite has floor().
STRETCH = "round({} / ? - 0.5)"

DECISIONS = f"""
SELECT source, arm, coalesce(proposed, arm) AS chosen, build, CASE WHEN deferred THEN 1 ELSE 0 END AS waits,
    {STRETCH.format("decided_at")} AS stretch, count(*), sum(CASE WHEN decided_at > ? THEN 1 ELSE 0 END)
FROM live_decision WHERE experiment = ? AND decided_at >= ? AND decided_at < ?
GROUP BY source, arm, chosen, build, waits, stretch
"""

OF_DAY = """
SELECT coalesce(proposed, arm) AS chosen, count(*) FROM live_decision
WHERE experiment = ? AND decided_at > ? AND decided_at < ? AND source <> 'holdout' GROUP BY chosen
"""

RECENT = """
SELECT chosen, count(*) FROM (
    SELECT coalesce(proposed, arm) AS chosen FROM live_decision
    WHERE experiment = ? AND source <> 'holdout' ORDER BY decided_at DESC, number DESC LIMIT ?
) AS recent GROUP BY chosen
"""

# Entries of the log that were settled, after one up to another.
IS_SETTLED = f"l.experiment = ? AND l.seq > ? AND l.seq <= ? AND NOT {IS_VOID.format('l.decision')}"
IS_LEARNED = f"l.experiment = ? AND l.kind IN ('reward', 'default') AND NOT {IS_VOID.format('l.decision')}"

LEARNED = f"""
WITH centre AS (
    SELECT arm, avg(reward) AS middle, coalesce(nullif(max(reward) - min(reward), 0), 1) AS spread
    FROM live_learned l WHERE {IS_SETTLED} AND l.kind IN ('reward', 'default') GROUP BY arm
)
SELECT arm, stretch, count(*), max(middle), max(spread), sum(z), sum(z * z), sum(is_default) FROM (
    SELECT l.arm, middle, spread, (reward - middle) / spread AS z, {STRETCH.format("at")} AS stretch,
        CASE WHEN kind = 'default' THEN 1 ELSE 0 END AS is_default
    FROM live_learned l JOIN centre c ON c.arm = l.arm WHERE {IS_SETTLED} AND l.kind IN ('reward', 'default')
) AS scaled GROUP BY arm, stretch
"""

SETTLED_WITHOUT = f"SELECT count(*) FROM live_learned l WHERE {IS_SETTLED} AND l.kind = 'nothing'"

RECEIVED = """
SELECT coalesce(max(id), ?), count(*), coalesce(sum(CASE WHEN late THEN 1 ELSE 0 END), 0)
FROM live_reward WHERE experiment = ? AND id > ? AND id <= ?
"""

REWARDS = f"SELECT arm, reward FROM live_learned l WHERE {IS_LEARNED} ORDER BY seq"

# The lag of place ceil(k n / 100) of n, for k = 1, ..., 100: the smallest that k % of them do not exceed.
LAGS = """
SELECT place, n, lag FROM (
    SELECT lag, row_number() OVER (ORDER BY lag) AS place, count(*) OVER () AS n FROM (
        SELECT r.received_at - d.decided_at AS lag
        FROM (SELECT decision, received_at FROM live_reward WHERE experiment = ? ORDER BY id DESC LIMIT ?) AS r
            JOIN live_decision d ON d.number = r.decision
    ) AS waited
) AS placed WHERE place * 100 / n > (place - 1) * 100 / n ORDER BY place
"""

# Units of the policy by the interval in which each first came. A unit counts once, by the mean reward of its decisions; a
# decision without a unit is one by itself.
UNITS = f"""
WITH units AS (
    SELECT min(decided_at) AS began, avg(reward) AS mean
    FROM live_learned l JOIN live_decision d ON d.number = l.decision
    WHERE {IS_LEARNED} AND d.version >= ? AND d.version < ?
    GROUP BY unit, CASE WHEN unit IS NULL THEN id END
), centre AS (
    SELECT avg(mean) AS middle, coalesce(nullif(max(mean) - min(mean), 0), 1) AS spread FROM units
)
SELECT stretch, count(*), max(middle), max(spread), sum(z), sum(z * z) FROM (
    SELECT middle, spread, (mean - middle) / spread AS z, {STRETCH.format("began")} AS stretch FROM units CROSS JOIN centre
) AS scaled GROUP BY stretch
"""


# What those of the holdout are settled with, which nobody learns: a row for each of their rewards, or one without any.
HELD = f"""
SELECT d.id, d.unit, d.decided_at, {START}, w.value FROM live_decision d
    LEFT JOIN live_activation a ON a.decision = d.number LEFT JOIN live_reward w ON w.decision = d.number AND NOT w.late
WHERE d.experiment = ? AND d.source = 'holdout' AND d.version >= ? AND d.version < ? AND NOT {IS_VOID.format("d.number")}
ORDER BY d.decided_at, d.number, {ARRIVAL}
"""


class Stretches(NamedTuple):
    """Equal time intervals: the place of the first, how many there are, and their level."""

    first: int
    size: int
    level: int

    @property
    def length(self) -> float:
        """Seconds of each."""
        return 2.0**self.level

    @property
    def ends(self) -> Floats:
        """End of each interval."""
        return (self.first + np.arange(1.0, self.size + 1)) * self.length

    def place(self, stretch: float) -> int:
        """Index of an interval of this level, as the database has it, among those there are."""
        return min(max(int(stretch) - self.first, 0), self.size - 1)


def stretches(first: float, now: float, level: int = LOWEST_LEVEL) -> Stretches:
    """Intervals from the first decision until now, of a level or, if they are too many, a higher one.

    >>> stretches(0.0, 119.5), stretches(0.0, 120.0)
    (Stretches(first=0, size=120, level=0), Stretches(first=0, size=61, level=1))
    """
    begin, end = (math.floor(time / 2.0**level) for time in (first, max(now, first)))
    while end - begin >= STRETCHES:
        begin, end, level = begin >> 1, end >> 1, level + 1
    return Stretches(begin, end - begin + 1, level)


def first_decision(store: Store, experiment: int) -> float | None:
    """Time of the first decision; none before."""
    ((first,),) = store.ask("SELECT min(decided_at) FROM live_decision WHERE experiment = ?", experiment)
    return None if first is None else float(first)


def count_recent(store: Store, experiment: int, most: int) -> Counter[int]:
    """Count the policy's choices in its last decisions."""
    return Counter(dict(store.ask(RECENT, experiment, most)))


def read_rewards(store: Store, experiment: int) -> dict[int, Floats]:
    """All rewards learned, by arm, in the order in which they were."""
    rows = np.array(store.ask(REWARDS, experiment), dtype=np.float64).reshape(-1, 2)
    arms = rows[:, 0].astype(np.int64)
    return {int(arm): rows[arms == arm, 1] for arm in np.unique(arms)}


def find_lags(store: Store, experiment: int, most: int) -> tuple[int, list[float]]:
    """The number of the last rewards, and quantiles of 1 %, 2 %, ..., 100 % of the seconds they took; none without any."""
    rows = store.ask(LAGS, experiment, most)
    if not rows:
        return 0, []
    n = int(rows[0][1])
    lag_at = {int(place): float(lag) for place, _, lag in rows}
    return n, [lag_at[-(-k * n // 100)] for k in range(1, 101)]


def tally_units(
    store: Store, experiment: int, settle: Settle, since: int, until: int, now: float, time: Stretches
) -> list[tuple[Tally, Tally]]:
    """Units of the policy and of the holdout by the stretch in which each first came, ``since <= version < until``."""
    policy, holdout = [Tally()] * time.size, [Tally()] * time.size
    for stretch, n, *sums in store.ask(UNITS, experiment, since, until, time.length):
        place = time.place(stretch)
        policy[place] = policy[place].merged(Tally.of_scaled(n, *sums))
    units: dict[tuple[str, bool], tuple[float, Tally]] = {}
    held = itertools.groupby(store.ask(HELD, experiment, since, until), key=lambda row: row[:-1])
    for (id_, unit, decided_at, start), rows in held:
        rewards = [value for *_, value in rows if value is not None]
        _, reward = settle.of(rewards) if settle.is_over(start, rewards, now) else (None, None)
        if reward is not None:
            who = (unit or id_, unit is None)
            began, tally = units.get(who, (decided_at, Tally()))
            units[who] = began, tally.merged(Tally(1, reward))
    for began, tally in units.values():
        place = time.place(math.floor(began / time.length))
        holdout[place] = holdout[place].merged(Tally(1, tally.mean))
    return list(zip(policy, holdout, strict=True))


def newest_snapshot(store: Store, experiment: int) -> Snapshot | None:
    """The newest snapshot of whichever build, but for rows that are no states: their builds have a word before the id."""
    rows = store.ask(
        f"SELECT {', '.join(Snapshot._fields)} FROM live_snapshot WHERE experiment = ? AND build NOT LIKE ?"
        " ORDER BY version DESC, at DESC LIMIT 1",
        experiment,
        "% %",
    )
    return Snapshot(*rows[0]) if rows else None
