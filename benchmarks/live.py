"""Live experiments: decisions and rewards a second, recovery from a long log, and what weights cost.

Rates are by the clock: they depend on the disk, and on whoever else uses the machine. Beside them stands a bare INSERT of
such rows with the same durability, taken in turns with the decisions.
"""
# ruff: noqa: S608 - statements are made of what is written here

import itertools
import json
import multiprocessing
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bandstrap import live
from bandstrap.errors import SlowWarning
from bandstrap.live.chain import first_link, next_link
from bandstrap.live.database import Durability
from bandstrap.live.fold import LiveState
from bandstrap.live.rows import LogEntry
from benchmarks.document import Row, Table

ARMS = ["red", "green", "blue", "teal", "plum"]
POLICY = "bootstrapped_ucb_plus"
BATCH = 50
PROCESSES = (1, 4)
SECONDS = 0.5  # of each run
PATIENCE = 120  # seconds until a process is taken for dead
RUNS = 3  # of which the quickest counts: others use the machine too
N_EVENTS = 1_000_000
CROWD = 8  # processes that decide at once
# Goals with full durability: times as long as a bare INSERT, in SQLite by one process; milliseconds of the slowest decision
# of a hundred, in SQLite; a share of bare INSERTs, in PostgreSQL.
MOST_BARE, SLOWEST, LEAST_SHARE = 1 / 0.7, 60.0, 0.5
# Decisions of a database that is measured, each with a reward, and goals: bytes of each, seconds, MB.
N_STORED, N_STORED_ARMS = 1_000_000, 10
BYTES, REPORTS, MOST_MEMORY = 300.0, {"status": 1.0, "export": 30.0, "replay": 60.0}, 300.0
RECOVERY = 2.0  # goal, in seconds, from a snapshot


@dataclass(frozen=True)
class Place:
    """A kind of database, with its durability, and the goal for decisions of one process in batches."""

    name: str
    new: Callable[[], str]
    goal: float | None = None
    durability: Durability = "full"


# --- calls, timed -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """Calls of one process: how many rows, in how many seconds of the clock and of its processor."""

    n_rows: int
    seconds: float
    processor: float
    latencies: list[float]


def timed(calls: Iterator[Callable[[], object]], size: int) -> Spent:
    """Make calls of ``size`` rows each until the time is over, or there are no more."""
    latencies = []
    began, used = time.perf_counter(), time.process_time()
    end = began + SECONDS
    start = began
    for call in calls:
        call()
        now = time.perf_counter()
        latencies.append(now - start)
        start = now
        if now > end:
            break
    return Spent(len(latencies) * size, start - began, time.process_time() - used, latencies)


def row_of(name: str, runs: list[list[Spent]], goal: float | None = None) -> Row:
    """Rows a second of all processes in the quickest run; the times of calls in all runs; the least processor's time."""
    latencies = [1e3 * latency for run in runs for one in run for latency in one.latencies]
    return Row(
        name,
        max(sum(one.n_rows / one.seconds for one in run) for run in runs),
        "a second",
        goal,
        "higher",
        {
            "ms, median of calls": statistics.median(latencies),
            "ms, 99%": float(np.quantile(latencies, 0.99)),
            "us of the processor a row": 1e6
            * min(sum(one.processor for one in run) / sum(one.n_rows for one in run) for run in runs),
        },
    )


# --- decisions and rewards ----------------------------------------------------------------------------------------------


def decisions(experiment: live.Experiment, size: int, ids: list[str]) -> Iterator[Callable[[], object]]:
    """Calls that decide, and keep the ids."""

    def one() -> None:
        ids.append(experiment.decide(unit="u17").id)

    def many() -> None:
        ids.extend(decision.id for decision in experiment.decide_many(["u17"] * size))

    while True:
        yield one if size == 1 else many


def rewards(experiment: live.Experiment, size: int, ids: list[str]) -> Iterator[Callable[[], object]]:
    """Calls that reward each decision."""
    for start in range(0, len(ids) - size + 1, size):
        some = ids[start : start + size]
        if size == 1:
            yield lambda some=some: experiment.reward(some[0], 0.5)
        else:
            yield lambda some=some: experiment.reward_many([(id_, 0.5) for id_ in some])


def work(place: Place, target: str, size: int, gate: Any, results: Any) -> None:
    """One process: decide, then reward what was decided, each at the same time as the others."""
    ids: list[str] = []
    with live.open(target, "busy", durability=place.durability) as experiment:
        experiment.decide()
        gate.wait()
        decided = timed(decisions(experiment, size, ids), size)
        gate.wait()
        results.put((decided, timed(rewards(experiment, size, ids), size)))


def run(place: Place, n_processes: int, size: int) -> tuple[str, list[tuple[Spent, Spent]]]:
    """Let some processes decide and reward, all at once; in which database, and what each of them spent."""
    target = place.new()
    live.create(target, "busy", policy=POLICY, arms=ARMS, seed=7, durability=place.durability).close()
    context = multiprocessing.get_context("fork")
    gate, results = context.Barrier(n_processes), context.Queue()
    workers = [
        context.Process(target=work, args=(place, target, size, gate, results), daemon=True) for _ in range(n_processes)
    ]
    for worker in workers:
        worker.start()
    spent = [results.get(timeout=PATIENCE) for _ in workers]
    for worker in workers:
        worker.join()
    return target, spent


def busy(place: Place, n_processes: int, size: int) -> list[Row]:
    """Decisions and rewards of some processes at once."""
    runs = [run(place, n_processes, size)[1] for _ in range(RUNS)]
    how = f"{n_processes} process{'es' * (n_processes > 1)}, {'single' if size == 1 else f'batches of {size}'}"
    goal = place.goal if (n_processes, size) == (1, BATCH) else None
    return [
        row_of(f"decisions, {how}", [[decided for decided, _ in one] for one in runs], goal),
        row_of(f"rewards, {how}", [[rewarded for _, rewarded in one] for one in runs]),
    ]


def learning(place: Place) -> Row:
    """How fast one refresh sequences and learns all rewards that a process left."""
    rates, costs = [], []
    for _ in range(RUNS):
        target, ((_, rewarded),) = run(place, 1, BATCH)
        with live.open(target, "busy", durability=place.durability) as experiment:
            assert experiment.build  # which takes its time, once in a process
            start, used = time.perf_counter(), time.process_time()
            version = experiment.refresh()
            rates.append(version / (time.perf_counter() - start))
            costs.append(1e6 * (time.process_time() - used) / version)
            assert version == rewarded.n_rows
    details = {"us of the processor a row": min(costs)}
    return Row("learned, all in one refresh", max(rates), "a second", details=details)


BARE = {
    "id": "TEXT PRIMARY KEY",
    "key": "TEXT",
    "unit": "TEXT",
    "version": "INTEGER",
    "source": "TEXT",
    "arm": "INTEGER",
    "propensity": "DOUBLE PRECISION",
    "weights": "TEXT",
    "build": "TEXT",
    "decided_at": "DOUBLE PRECISION",
}


@contextmanager
def bare_inserts(place: Place, target: str) -> Iterator[Callable[[int], None]]:
    """A function that inserts so many rows like those of decisions into a table without other indices."""
    if target.startswith("postgresql"):
        import psycopg

        connection, mark = psycopg.connect(target, autocommit=True), "%s"
    else:
        connection, mark = sqlite3.connect(target, isolation_level=None, timeout=PATIENCE), "?"
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {place.durability}")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS bare ({', '.join(f'{name} {kind}' for name, kind in BARE.items())})"
    )
    statement = f"INSERT INTO bare ({', '.join(BARE)}) VALUES ({', '.join([mark] * len(BARE))})"
    weights = json.dumps([1 / 3, 1 / 3, 1 / 9, 1 / 9, 1 / 9])

    def insert(size: int) -> None:
        cursor = connection.cursor()
        rows = [
            (id_ := uuid.uuid4().hex, id_, "u17", 17, "policy", 2, 1 / 3, weights, "0" * 32, time.time())
            for _ in range(size)
        ]
        cursor.execute("BEGIN" if mark == "%s" else "BEGIN IMMEDIATE")
        cursor.executemany(statement, rows)
        cursor.execute("COMMIT")

    try:
        yield insert
    finally:
        connection.close()


def beside_bare(place: Place, size: int) -> Row:
    """How many bare inserts a decision costs: the two in turns, the medians of both, by the clock and the processor."""
    target = place.new()
    ours: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    with (
        live.create(target, "busy", policy=POLICY, arms=ARMS, seed=7, durability=place.durability) as experiment,
        bare_inserts(place, place.new()) as insert,
    ):
        experiment.decide()
        insert(size)
        calls = decisions(experiment, size, [])
        end = time.perf_counter() + 2 * SECONDS
        while time.perf_counter() < end:
            for times, call in ((ours, next(calls)), (bare, lambda: insert(size))):
                start, used = time.perf_counter(), time.thread_time()
                call()
                times.append((time.perf_counter() - start, time.thread_time() - used))
    (clock, processor), (bare_clock, bare_processor) = np.median(ours, axis=0), np.median(bare, axis=0)
    name = f"a decision beside a bare INSERT, {'single' if size == 1 else f'batches of {size}'}"
    details = {
        "times, by this process's processor": processor / bare_processor,
        "bare rows a second": size / bare_clock,
    }
    goal = MOST_BARE if size == 1 and place.goal is not None and place.name.startswith("SQLite") else None
    found = {unit: float(value) for unit, value in details.items()}
    return Row(name, float(clock / bare_clock), "times", goal, details=found)


def work_bare(place: Place, target: str, gate: Any, results: Any) -> None:
    """One process: bare inserts, at the same time as the others."""
    with bare_inserts(place, target) as insert:
        gate.wait()
        results.put(timed(itertools.repeat(lambda: insert(1)), 1))


def crowded(place: Place) -> list[Row]:
    """Single decisions of many processes at once, beside as many that insert bare rows, in turns."""
    context = multiprocessing.get_context("fork")
    ours, bare = [], []
    for _ in range(RUNS):
        ours.append([decided for decided, _ in run(place, CROWD, 1)[1]])
        target = place.new()
        with bare_inserts(place, target):  # which makes the table
            pass
        gate, results = context.Barrier(CROWD), context.Queue()
        workers = [
            context.Process(target=work_bare, args=(place, target, gate, results), daemon=True) for _ in range(CROWD)
        ]
        for worker in workers:
            worker.start()
        bare.append([results.get(timeout=PATIENCE) for _ in workers])
        for worker in workers:
            worker.join()
    rates = [max(sum(one.n_rows / one.seconds for one in run) for run in runs) for runs in (ours, bare)]
    times = [[1e3 * latency for run in runs for one in run for latency in one.latencies] for runs in (ours, bare)]
    slowest, bare_slowest = (float(np.quantile(some, 0.99)) for some in times)
    is_server = place.name.startswith("PostgreSQL")
    rate_details = {"decisions a second": rates[0], "bare rows a second": rates[1]}
    return [
        Row(
            f"decisions of {CROWD} processes, as a share of bare INSERTs of {CROWD}",
            rates[0] / rates[1],
            "",
            LEAST_SHARE if is_server else None,
            "higher",
            rate_details,
        ),
        Row(
            f"99% of decisions of {CROWD} processes",
            slowest,
            "ms",
            None if is_server else SLOWEST,
            details={"ms, 99% of bare INSERTs": bare_slowest},
        ),
    ]


def throughput(place: Place) -> Table:
    """All of one kind of database."""
    rows = [row for n in PROCESSES for size in (1, BATCH) for row in busy(place, n, size)]
    rows += [learning(place), *(beside_bare(place, size) for size in (1, BATCH)), *crowded(place)]
    about = f"{place.name}; {POLICY}, K = 5; {os.cpu_count()} cores for processes and server"
    return Table(f"How many decisions and rewards does a live experiment take? ({about})", rows)


@contextmanager
def places() -> Iterator[list[Place]]:
    """SQLite with both durabilities, and PostgreSQL as it comes, on the disk that temporary files are on."""
    with tempfile.TemporaryDirectory() as folder:

        def new_file() -> str:
            return str(Path(folder) / f"{uuid.uuid4().hex}.db")

        found = [
            Place("SQLite, WAL, synchronous=FULL", new_file, 20_000.0),
            Place("SQLite, WAL, synchronous=NORMAL", new_file, None, "normal"),
        ]
        if sys.platform == "win32":
            yield found
            return
        from tests.postgres_server import PostgresServer

        server = PostgresServer(durable=True)
        try:
            server.start()
            yield [*found, Place(f"PostgreSQL, {durability_of(server)}", server.new_database, 16_000.0)]
        finally:
            server.remove()


def durability_of(server: Any) -> str:
    """What the server says of itself."""
    import psycopg

    with psycopg.connect(server.url("postgres")) as connection:
        settings = [
            f"{name}={connection.execute(f'SHOW {name}').fetchone()[0]}"
            for name in ("fsync", "synchronous_commit", "full_page_writes")
        ]
    return ", ".join(settings)


# --- recovery -----------------------------------------------------------------------------------------------------------

# In a process of its own, whose memory is measured.
RECOVER = r"""
import json, math, re, sys, time
from pathlib import Path
from bandstrap import live
from bandstrap.errors import SlowWarning

start, used = time.perf_counter(), time.process_time()
with live.open(sys.argv[1], "long") as experiment:
    experiment.refresh()
    version = experiment.decide().version
seconds, processor = time.perf_counter() - start, time.process_time() - used
status = Path("/proc/self/status")  # getrusage would tell the peak of the process that started this one, if it is larger
peak = float(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1024 if status.exists() else math.nan
print(json.dumps({"version": version, "seconds": seconds, "processor": processor, "peak": peak}))
"""


def recovered(target: str, version: int) -> dict[str, float]:
    """What it takes a new process to open an experiment and decide."""
    done = subprocess.run([sys.executable, "-c", RECOVER, target], capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(done.stdout)
    assert found["version"] == version
    return found


def best_recovered(target: str, version: int) -> dict[str, float]:
    """The quickest of three."""
    return min((recovered(target, version) for _ in range(3)), key=lambda found: found["seconds"])


def append(target: str, first: int, last: int) -> None:
    """Insert entries of the log, and nothing else: recovery reads no other table."""
    rng = np.random.default_rng(first)
    n = last - first + 1
    arms, values = rng.integers(len(ARMS), size=n).tolist(), rng.random(n).tolist()
    with live.open(target, "long") as experiment:
        before = experiment.store.entries(1, first - 2, 1) if first > 1 else []
        link = before[0].link if before else first_link(experiment.row.identity)
    rows = []
    for seq, arm, value in zip(range(first, last + 1), arms, values, strict=True):
        entry = LogEntry(seq, "reward", None, arm, value, None, None, None)
        link = next_link(link, entry)
        rows.append((seq, "reward", seq, arm, value, link))  # of a decision that is not there
    connection = sqlite3.connect(target)
    with connection:
        connection.executemany(
            "INSERT INTO live_learned (experiment, seq, kind, decision, arm, reward, at, link)"
            " VALUES (1, ?, ?, ?, ?, ?, 0, ?)",
            rows,
        )
    connection.close()


def recovery() -> Table:
    """A new process on a log of a million, before and after there is a snapshot."""
    rows = []
    for policy in (POLICY, "robust_ucb"):  # the latter keeps every reward
        with tempfile.TemporaryDirectory() as folder:
            target = str(Path(folder) / "long.db")
            live.create(target, "long", policy=policy, arms=ARMS, seed=7).close()
            empty = recovered(target, 0)
            append(target, 1, N_EVENTS)
            bare = recovered(target, N_EVENTS)
            whole = best_recovered(target, N_EVENTS)
            longest = N_EVENTS + N_EVENTS // 20 - 1  # the next is due after one in twenty
            append(target, N_EVENTS + 1, longest)
            tail = best_recovered(target, longest)
        for name, found, goal in (
            ("no entries", empty, None),
            ("from the bare log, and a snapshot written", bare, None),
            ("from a snapshot of all", whole, RECOVERY),
            ("from a snapshot, and as many entries as there may be after it", tail, RECOVERY),
        ):
            details = {"s of the processor": found["processor"], "MB at most": found["peak"]}
            rows.append(Row(f"{policy}, {name}", found["seconds"], "s", goal, details=details))
    return Table(f"How long from opening an experiment of {N_EVENTS:,} learned rewards to its first decision?", rows)


# --- size ---------------------------------------------------------------------------------------------------------------

# In a process of its own, whose memory is measured.
REPORT = r"""
import json, re, sys, time
from pathlib import Path
from bandstrap import live
from bandstrap.errors import SlowWarning

with live.open(sys.argv[1], "long") as experiment:
    experiment.refresh()
    start, used = time.perf_counter(), time.process_time()
    report = getattr(experiment, sys.argv[2])(*sys.argv[3:])
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    assert sys.argv[2] != "replay" or report.is_identical, report.first
status = Path("/proc/self/status")
peak = float(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1024 if status.exists() else float("nan")
print(json.dumps({"seconds": seconds, "processor": processor, "peak": peak}))
"""


def size() -> Table:
    """What decisions take on the disk, and how long reports on all of them take."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "long.db"
        told = {"policy": POLICY, "arms": [f"arm {i}" for i in range(N_STORED_ARMS)], "seed": 7, "refresh": "1h"}
        with live.create(target, "long", **told, durability="normal") as experiment:
            for start in range(0, N_STORED, 1000):
                units = [f"u{start + i:06d}" for i in range(1000)]
                made = experiment.decide_many(units, keys=units)
                experiment.reward_many([(decision.id, float(i % 7 == 0)) for i, decision in enumerate(made)])
                experiment.refresh()
        rows = [Row("bytes of a decision and its reward", target.stat().st_size / N_STORED, "", BYTES)]
        for name, goal in REPORTS.items():
            options = [str(Path(folder) / "log.parquet")] if name == "export" else []
            command = [sys.executable, "-c", REPORT, str(target), name, *options]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
            found = json.loads(done.stdout)
            details = {"s of the processor": found["processor"], "MB at most": found["peak"]}
            rows.append(Row(name, found["seconds"], "s", goal, details=details))
            if name == "replay":
                rows.append(Row("memory of the replay", found["peak"], "MB", MOST_MEMORY))
    about = f"{N_STORED:,} decisions, K = {N_STORED_ARMS}, {POLICY}, SQLite"
    return Table(f"How large is a database, and how long do reports take? ({about})", rows)


# --- weights ------------------------------------------------------------------------------------------------------------

WEIGHED = (
    "ucb1",
    "bootstrapped_ucb_plus",
    "edgeworth_ucb",
    "gaussian_ts",
    "bootstrapped_ucb",
    "lin_ucb:dimension=5",
    "linear_bootstrapped_ucb:dimension=5,quantile=streaming",
)

# Two that keep all rewards, and one that does not.
GROWING, REWARDS = ("npts", "weighted_bootstrap", "edgeworth_ucb"), (1000, 10_000)


def cost_of_weights(policy: str, n_first: int = 2000, n_versions: int = 50) -> Row:
    """Median microseconds of the first weights of a version, and of learning the reward that made it."""
    rng = np.random.default_rng(0)
    is_linear = "dimension" in policy
    with (
        tempfile.TemporaryDirectory() as folder,
        live.create(f"{folder}/live.db", "x", policy=policy, arms=None if is_linear else ARMS, seed=7) as experiment,
    ):
        state = LiveState(experiment.definition)

    def context() -> str | None:
        return json.dumps(rng.uniform(-1, 1, (20, 5)).tolist()) if is_linear else None

    def entry(seq: int) -> LogEntry:
        return LogEntry(seq, "reward", None, int(rng.integers(5)), rng.random(), None, None, context())

    def spent(call: Callable[[], object]) -> float:
        start = time.thread_time()
        call()
        return 1e6 * (time.thread_time() - start)

    state.fold([entry(seq) for seq in range(1, n_first + 1)])
    learned, weighed = [], []
    for seq in range(n_first + 1, n_first + n_versions + 1):
        one, actions = [entry(seq)], context()
        learned.append(spent(lambda one=one: state.fold(one)))
        if actions is None:
            weighed.append(spent(lambda: state.chances(range(5))))
        else:
            weighed.append(spent(lambda actions=actions: state.action_chances(actions)))
    details = {"us to learn the reward": statistics.median(learned)}
    return Row(policy, statistics.median(weighed), "us", details=details)


def tables() -> Iterator[Table]:
    """One after the other."""
    with places() as found:
        for place in found:
            yield throughput(place)
    yield recovery()
    yield size()
    question = (
        "What do the weights of a new version cost? (microseconds of the processor; K = 5, or 20 actions with d = 5; "
    )
    yield Table(f"{question}1000 draws where there is no closed form)", [cost_of_weights(policy) for policy in WEIGHED])
    yield growing_cost()


def growing_cost() -> Table:
    """What the weights of a new version cost after more rewards."""
    warnings.simplefilter("ignore", SlowWarning)  # which is the question
    rows = []
    for policy in GROWING:
        few, many = (cost_of_weights(policy, n, n_versions=5).measured for n in REWARDS)
        details = {f"ms with {n:,}": cost / 1e3 for n, cost in zip(REWARDS, (few, many), strict=True)}
        rows.append(Row(policy, many / few, "times", details=details))
    about = f"{REWARDS[1]:,} rewards beside {REWARDS[0]:,}; K = 5, 1000 draws, milliseconds of the processor"
    return Table(f"Do the weights of a new version cost more as the log grows? ({about})", rows)
