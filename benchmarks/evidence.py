"""The readout of a million decisions: from the evidence that is kept beside the snapshots, and counted from scratch."""

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from bandstrap import live
from benchmarks.document import Row, Table

N_DECISIONS = 1_000_000
BATCH = 5000
STORED, SCRATCH, MEMORY = 0.5, 60.0, 300.0  # goals: seconds, seconds, MB

# What a process of its own does: its time once the experiment is open and its packages are there, and its memory.
READ = """
import json, resource, sys, time
from bandstrap import live
from bandstrap.live import evidence
with live.open(sys.argv[1], "shop") as experiment:
    experiment.build
    began, used = time.perf_counter(), time.process_time()
    found = experiment.readout()
    spent = time.perf_counter() - began, time.process_time() - used
print(json.dumps([*spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, found.n_decisions]))
"""


def fill(target: Path, n_arms: int) -> None:
    """Have an experiment decide a million times, with rewards in batches."""
    rng = np.random.default_rng(0)
    arms = [f"arm {k}" for k in range(n_arms)]
    rates = {arm: 0.1 + 0.002 * k for k, arm in enumerate(arms)}
    with live.create(
        target, "shop", policy="bernoulli_ts", arms=arms, seed=7, durability="normal", floor=0.1
    ) as experiment:
        for start in range(0, N_DECISIONS, BATCH):
            decisions = experiment.decide_many(keys=[str(i) for i in range(start, start + BATCH)])
            draws = rng.random(BATCH)
            experiment.reward_many(
                [(each.id, float(draw < rates[str(each.arm)])) for each, draw in zip(decisions, draws, strict=True)]
            )
        experiment.refresh()


def read(target: Path) -> tuple[float, float, float, int]:
    """Seconds by the clock and of the processor, megabytes, and decisions counted."""
    command = [sys.executable, "-c", READ, str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    clock, processor, memory, n = json.loads(done.stdout)
    return clock, processor, memory, n


def tables() -> Iterator[Table]:
    """Time and memory of readouts."""
    rows = []
    for n_arms in (2, 5):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "shop.db"
            fill(target, n_arms)
            for name, goal in (("from what workers kept", STORED), ("from scratch", SCRATCH)):
                if name == "from scratch":
                    with closing(sqlite3.connect(target)) as database, database:
                        database.execute("DELETE FROM live_snapshot WHERE build LIKE 'evidence %'")
                clock, processor, memory, n = read(target)
                details = {"s of the processor": processor, "MB at most": memory, "decisions counted": n}
                rows.append(Row(f"{n_arms} arms, {name}", clock, "s", goal, details=details))
                if name == "from scratch":
                    rows.append(Row(f"{n_arms} arms, {name}, memory", memory, "MB", MEMORY))
    yield Table(f"How long does a readout of {N_DECISIONS:,} decisions take?", rows)
