"""What the database counts for the status, in SQL that SQLite and PostgreSQL both understand.

A million decisions are counted where they are; what comes back is a few rows for each arm. Rewards are counted as sums
of ``z = (y - middle) / spread`` and of ``z^2``, with ``middle`` their mean and ``spread`` their range, so that sums
neither cancel nor overflow, however large the rewards are.
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.live.rows import Snapshot
from bandstrap.live.settle import Aggregate, Settle
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
    WHERE experiment = ? AND source <> 'holdout' ORDER BY decided_at DESC, id DESC LIMIT ?
) AS recent GROUP BY chosen
"""

# Decisions of the policy: all of them, those deferred and not activated, and those that have a reward in the log.
OURS = "SELECT count(*) FROM live_decision WHERE experiment = ? AND source <> 'holdout'"
INACTIVE = """
SELECT count(*) FROM live_decision d LEFT JOIN live_activation a ON a.decision = d.id
WHERE d.experiment = ? AND d.deferred AND d.source <> 'holdout' AND a.at IS NULL
"""
ANSWERED = "SELECT count(*) FROM live_learned WHERE experiment = ? AND kind IN ('reward', 'default')"

# Those that are not in the log, and began after a moment.
OPEN = """
SELECT count(*) FROM (
    SELECT d.id FROM live_decision d
    WHERE d.experiment = ? AND d.source <> 'holdout' AND NOT d.deferred AND d.decided_at > ?
    UNION ALL
    SELECT d.id FROM live_activation a JOIN live_decision d ON d.id = a.decision
    WHERE d.experiment = ? AND d.source <> 'holdout' AND d.deferred AND a.at > ?
) AS begun LEFT JOIN live_learned l ON l.decision = begun.id WHERE l.decision IS NULL
"""

LEARNED = f"""
WITH centre AS (
    SELECT arm, avg(reward) AS middle, coalesce(nullif(max(reward) - min(reward), 0), 1) AS spread
    FROM live_learned WHERE experiment = ? AND kind IN ('reward', 'default') GROUP BY arm
)
SELECT arm, stretch, count(*), max(middle), max(spread), sum(z), sum(z * z), sum(is_default) FROM (
    SELECT l.arm, middle, spread, (reward - middle) / spread AS z, {STRETCH.format("at")} AS stretch,
        CASE WHEN kind = 'default' THEN 1 ELSE 0 END AS is_default
    FROM live_learned l JOIN centre c ON c.arm = l.arm WHERE experiment = ? AND kind IN ('reward', 'default')
) AS scaled GROUP BY arm, stretch
"""

REWARDS = "SELECT arm, reward FROM live_learned WHERE experiment = ? AND kind IN ('reward', 'default') ORDER BY seq"

# The lag of place ceil(k n / 100) of n, for k = 1, ..., 100: the smallest that k % of them do not exceed.
LAGS = """
SELECT place, n, lag FROM (
    SELECT lag, row_number() OVER (ORDER BY lag) AS place, count(*) OVER () AS n FROM (
        SELECT r.received_at - d.decided_at AS lag
        FROM (SELECT decision, received_at FROM live_reward WHERE experiment = ? ORDER BY id DESC LIMIT ?) AS r
            JOIN live_decision d ON d.id = r.decision
    ) AS waited
) AS placed WHERE place * 100 / n > (place - 1) * 100 / n ORDER BY place
"""

# Units by the stretch in which each first came. A unit counts once, by the mean reward of its decisions; a decision
# without a unit is one by itself.
UNITS = f"""
WITH units AS (
    SELECT min(decided_at) AS began, avg(reward) AS mean FROM ({{settled}}) AS settled WHERE reward IS NOT NULL
    GROUP BY unit, CASE WHEN unit IS NULL THEN id END
), centre AS (
    SELECT avg(mean) AS middle, coalesce(nullif(max(mean) - min(mean), 0), 1) AS spread FROM units
)
SELECT stretch, count(*), max(middle), max(spread), sum(z), sum(z * z) FROM (
    SELECT middle, spread, (mean - middle) / spread AS z, {STRETCH.format("began")} AS stretch FROM units CROSS JOIN centre
) AS scaled GROUP BY stretch
"""

# What decisions of the policy were settled with.
SETTLED = """
    SELECT d.unit, d.id, d.decided_at, l.reward FROM live_learned l JOIN live_decision d ON d.id = l.decision
    WHERE l.experiment = ? AND l.kind IN ('reward', 'default') AND d.version >= ?
"""

# What those of the holdout would be: nobody learns them, so that they are in no log.
HELD = """
    SELECT unit, id, decided_at, coalesce(value, ?) AS reward FROM (
        SELECT d.id, d.unit, d.decided_at, CASE WHEN d.deferred THEN a.at ELSE d.decided_at END AS start, {value}
        FROM live_decision d LEFT JOIN live_activation a ON a.decision = d.id
            LEFT JOIN live_reward r ON r.decision = d.id AND NOT r.late
        WHERE d.experiment = ? AND d.source = 'holdout' AND d.version >= ?
    ) AS came WHERE place = 1 AND start IS NOT NULL AND {is_over}
"""
HELD_VALUE: dict[Aggregate, str] = {
    "first": "value, row_number() OVER (PARTITION BY d.id ORDER BY r.received_at, r.id) AS place",
    "last": "value, row_number() OVER (PARTITION BY d.id ORDER BY r.received_at DESC, r.id DESC) AS place",
    "sum": "sum(value) OVER (PARTITION BY d.id) AS value, row_number() OVER (PARTITION BY d.id ORDER BY r.id) AS place",
}


class Stretches(NamedTuple):
    """Equal stretches of time: when the first begins, and how long each is, in seconds."""

    start: float
    length: float

    @property
    def ends(self) -> Floats:
        """When each ends."""
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
    """Numbers of decisions.

    ``served`` are those of each arm without the holdout's; ``chosen`` those of each arm and stretch in which the policy
    chose it, or would have in shadow mode, and ``of_day`` those of the last day among them.
    """

    by_source: Counter[str] = field(default_factory=Counter)
    by_build: Counter[str] = field(default_factory=Counter)
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
    """What the policy chose in its last decisions."""
    return Counter(dict(store.ask(RECENT, experiment, most)))


def count_without_reward(store: Store, experiment: int, settle: Settle, now: float) -> tuple[int, int]:
    """Decisions of the policy that wait for a reward, and those that got none and wait no longer."""
    counts = [OURS, INACTIVE, ANSWERED]
    parameters: list[float] = [experiment] * 3
    if settle.window is not None:
        since = now - settle.window
        counts.append(OPEN)
        parameters += [experiment, since, experiment, since]
    # In one statement: between two of them others decide, and the differences would be of different moments.
    ((n_ours, n_inactive, n_answered, *n_open),) = store.ask(f"SELECT ({'), ('.join(counts)})", *parameters)
    n_without = n_ours - n_inactive - n_answered
    return (n_open[0], n_without - n_open[0]) if n_open else (n_without, 0)


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
    store: Store, experiment: int, settle: Settle, since: int, now: float, time: Stretches
) -> list[tuple[Tally, Tally]]:
    """Units of the policy and of the holdout by the stretch in which each first came, from version ``since`` on."""
    is_over, window = ("TRUE", ()) if settle.on_arrival else ("start + ? <= ?", (settle.window, now))
    held = HELD.format(value=HELD_VALUE[settle.aggregate], is_over=is_over)
    groups = (
        store.ask(UNITS.format(settled=SETTLED), experiment, since, *time),
        store.ask(UNITS.format(settled=held), settle.default_reward, experiment, since, *window, *time),
    )
    pairs = [[Tally(), Tally()] for _ in range(STRETCHES)]
    for group, rows in enumerate(groups):
        for stretch, n, *sums in rows:
            pair = pairs[time.place(stretch)]
            pair[group] = pair[group].merged(Tally.of_scaled(n, *sums))
    return [(first, second) for first, second in pairs]


def newest_snapshot(store: Store, experiment: int) -> Snapshot | None:
    """The newest snapshot by whichever build."""
    rows = store.ask(
        "SELECT version, build, body, checksum, at FROM live_snapshot WHERE experiment = ?"
        " ORDER BY version DESC, at DESC LIMIT 1",
        experiment,
    )
    return Snapshot(*rows[0]) if rows else None
