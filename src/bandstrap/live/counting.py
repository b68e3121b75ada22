"""Counts for the status, made by the database, in SQL that SQLite and PostgreSQL both understand.

A million decisions are counted where they are; what comes back is a few rows for each arm. What is counted of the policy's
decisions stands in the log; those of the holdout, which are in no log, are settled one by one. Rewards are counted as sums
of ``z = (y - middle) / spread`` and of ``z^2``, with ``middle`` their mean and ``spread`` their range, so that sums
neither cancel nor overflow, however large the rewards are.
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.live.rows import Snapshot
from bandstrap.live.settle import ARRIVAL, IS_CLOSED, IS_VOID, START, Settle
from bandstrap.live.store import Store
from bandstrap.live.tally import Tally

# Stretches of time from the first decision until now.
STRETCHES = 60
# Shorter ones would be below the resolution of a database's clock.
SHORTEST_STRETCH = 1e-3

# Halves are rounded down here and up there, which concerns a moment between two stretches; CAST rounds in PostgreSQL and
# cuts off in SQLite, and not every SQLite has floor().
STRETCH = "round(({} - ?) / ? - 0.5)"

SPAN = "SELECT min(decided_at) FROM live_decision WHERE experiment = ?"

DECISIONS = f"""
SELECT source, arm, coalesce(proposed, arm) AS chosen, build, {STRETCH.format("decided_at")} AS stretch, count(*),
    sum(CASE WHEN decided_at > ? THEN 1 ELSE 0 END)
FROM live_decision WHERE experiment = ?
GROUP BY source, arm, chosen, build, stretch
"""

RECENT = """
SELECT chosen, count(*) FROM (
    SELECT coalesce(proposed, arm) AS chosen FROM live_decision
    WHERE experiment = ? AND source <> 'holdout' ORDER BY decided_at DESC, number DESC LIMIT ?
) AS recent GROUP BY chosen
"""

# Decisions of the policy that count and have no reward in the log; and those of them that still wait for one.
WITHOUT_REWARD = f"""
SELECT count({START}), count(CASE WHEN l.decision IS NULL AND NOT {IS_CLOSED.format(now="?")} THEN {START} END)
FROM live_decision d LEFT JOIN live_activation a ON a.decision = d.number LEFT JOIN live_learned l ON l.decision = d.number
WHERE d.experiment = ? AND d.source <> 'holdout' AND coalesce(l.kind, 'nothing') = 'nothing'
    AND NOT {IS_VOID.format("d.number")}
"""

# Entries of the log that were learned.
IS_LEARNED = f"l.experiment = ? AND l.kind IN ('reward', 'default') AND NOT {IS_VOID.format('l.decision')}"

LEARNED = f"""
WITH centre AS (
    SELECT arm, avg(reward) AS middle, coalesce(nullif(max(reward) - min(reward), 0), 1) AS spread
    FROM live_learned l WHERE {IS_LEARNED} GROUP BY arm
)
SELECT arm, stretch, count(*), max(middle), max(spread), sum(z), sum(z * z), sum(is_default) FROM (
    SELECT l.arm, middle, spread, (reward - middle) / spread AS z, {STRETCH.format("at")} AS stretch,
        CASE WHEN kind = 'default' THEN 1 ELSE 0 END AS is_default
    FROM live_learned l JOIN centre c ON c.arm = l.arm WHERE {IS_LEARNED}
) AS scaled GROUP BY arm, stretch
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

# Units of the policy by the stretch in which each first came. A unit counts once, by the mean reward of its decisions; a
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
    """Equal stretches of time: when the first begins, and how long each is, in seconds."""

    start: float
    length: float

    @property
    def ends(self) -> Floats:
        """End of each interval."""
        return self.start + self.length * np.arange(1.0, STRETCHES + 1)

    def place(self, stretch: float) -> int:
        """A number of a stretch as the database has it, among those there are."""
        return min(max(int(stretch), 0), STRETCHES - 1)


def stretches(store: Store, experiment: int, now: float) -> Stretches | None:
    """The stretches from the first decision until now; none before the first."""
    ((first,),) = store.ask(SPAN, experiment)
    return None if first is None else Stretches(first, max((now - first) / STRETCHES, SHORTEST_STRETCH))


@dataclass
class Decided:
    """Numbers of decisions, ``by_build`` by the hash of its id.

    ``served`` are those of each arm without the holdout's; ``chosen`` those of each arm and stretch in which the policy
    chose it, or would have in shadow mode, and ``of_day`` those of the last day among them.
    """

    by_source: Counter[str] = field(default_factory=Counter)
    by_build: Counter[int] = field(default_factory=Counter)
    served: Counter[int] = field(default_factory=Counter)
    of_day: Counter[int] = field(default_factory=Counter)
    chosen: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * STRETCHES))


def count_decisions(store: Store, experiment: int, time: Stretches, day: float) -> Decided:
    """Count decisions; ``day`` is when the last day began."""
    found = Decided()
    for source, arm, chosen, build, stretch, n, n_day in store.ask(DECISIONS, *time, day, experiment):
        found.by_source[source] += n
        found.by_build[build] += n
        if source != "holdout":
            found.served[arm] += n
            found.of_day[chosen] += n_day
            found.chosen[chosen][time.place(stretch)] += n
    return found


def count_recent(store: Store, experiment: int, most: int) -> Counter[int]:
    """Count the policy's choices in its last decisions."""
    return Counter(dict(store.ask(RECENT, experiment, most)))


def count_without_reward(store: Store, experiment: int, settle: Settle, now: float) -> tuple[int, int]:
    """Decisions of the policy that wait for a reward, and those that got none and wait no longer."""
    ((n_without, n_open),) = store.ask(WITHOUT_REWARD, now, settle.window, experiment)
    return n_open, n_without - n_open


def tally_rewards(store: Store, experiment: int, time: Stretches) -> tuple[dict[int, list[Tally]], int]:
    """Rewards learned of each arm in each stretch, and how many of all are default rewards."""
    found: dict[int, list[Tally]] = {}
    n_defaults = 0
    rows = store.ask(LEARNED, experiment, *time, experiment)
    for arm, stretch, n, middle, spread, total, squares, defaults in rows:
        tallies = found.setdefault(arm, [Tally()] * STRETCHES)
        place = time.place(stretch)
        tallies[place] = tallies[place].merged(Tally.of_scaled(n, middle, spread, total, squares))
        n_defaults += int(defaults)
    return found, n_defaults


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
    policy, holdout = [Tally()] * STRETCHES, [Tally()] * STRETCHES
    for stretch, n, *sums in store.ask(UNITS, experiment, since, until, *time):
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
        place = time.place((began - time.start) / time.length)
        holdout[place] = holdout[place].merged(Tally(1, tally.mean))
    return list(zip(policy, holdout, strict=True))


def newest_snapshot(store: Store, experiment: int, besides: str) -> Snapshot | None:
    """The newest snapshot of whichever build, but for rows of builds that begin with ``besides``, which are no states."""
    rows = store.ask(
        f"SELECT {', '.join(Snapshot._fields)} FROM live_snapshot WHERE experiment = ? AND build NOT LIKE ?"
        " ORDER BY version DESC, at DESC LIMIT 1",
        experiment,
        besides + "%",
    )
    return Snapshot(*rows[0]) if rows else None
