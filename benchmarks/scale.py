"""What a grid takes on a laptop and on a cluster: executors side by side, large environments, and a model of the cost.

The model's numbers are measured here, and it is held against a minute's work. ``docs/cost.md`` shows all tables; they are
put there, and kept beside it, by ``python -m benchmarks scale --json docs/cost.json && python -m benchmarks.scale``.
"""

import json
import math
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bandstrap.engine.simulator.blocks import BLOCK_SIZE, Block, checked_checkpoints, play_blocks
from bandstrap.engine.work.tasks import MOST_TOGETHER
from bandstrap.environments import Beta
from bandstrap.experiments.store import WORTH_WAITING
from bandstrap.names import NAMED_ENVIRONMENTS, make
from bandstrap.policies import POLICIES, UCB1
from benchmarks import executors, worlds
from benchmarks.decisions import NOT_CONSTANT, cost_of_a_decision
from benchmarks.document import Row, Table, read_json
from benchmarks.timing import best_time

GOAL = 0.85  # of what two threads do
PARTS, REPLICATIONS = 3, 1000  # some twenty seconds each, with two threads
ROUNDS, FEW_ROUNDS = 20_000, 2000
PAGE = Path("docs/cost.md")

SIDE_BY_SIDE = (
    "Do two worker processes do as much as two threads? (the same work into a folder, their beginning included)"
)
RATES = "How many decisions does one core make in a second? (Beta rewards, 10 arms)"
OF_PLAY = "What does a round take beside the decision? (10 arms)"
OF_PIECES = f"What does a task of {BLOCK_SIZE} replications take beside play? (10 arms, regret at 200 rounds)"
BEGINNING = "What does a worker process take before its first task? (processor seconds)"
MODEL = "What does the model say? (20 policies x 15 environments of 10 arms x 10,000 replications x 100,000 rounds)"
HELD = "How well does the model do? (seconds predicted for that work, as a multiple of those that two threads took)"


# --- the model ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """So many curves, each of one policy on one environment."""

    n_curves: int
    replications: int
    horizon: int
    n_arms: int
    policies: Sequence[str]
    block_size: int = BLOCK_SIZE


@dataclass(frozen=True)
class Machine:
    """So many workers, and whether the process that hands out has a core of its own."""

    name: str
    n_workers: int
    executor: str
    has_own_driver: bool = False


@dataclass(frozen=True)
class Model:
    """Seconds of each part of a run, from rows that were measured."""

    measured: dict[str, float]

    @classmethod
    def of(cls, tables: Iterable[Table]) -> "Model":
        """The model of what some tables say."""
        return cls({row.name: row.measured for table in tables for row in table.rows})

    def parts(self, grid: Grid, machine: Machine) -> dict[str, float]:
        """Seconds by the clock of each part; see ``docs/cost.md`` for the formula."""
        of = self.measured
        decision = statistics.mean(1 / of[name] for name in grid.policies)
        together = min(MOST_TOGETHER, len(grid.policies))
        drawing = grid.n_arms * of["drawing a reward"] / together
        a_round = (1e9 * decision + of["keeping account of a round"] + drawing) / 1e9
        n_replications = grid.n_curves * grid.replications
        n_pieces = grid.n_curves * math.ceil(grid.replications / grid.block_size)
        a_piece = grid.block_size * grid.horizon * a_round
        # Groups of pieces are done in waves; the last may leave workers with nothing to do.
        playing = math.ceil(n_pieces / together / machine.n_workers) * together * a_piece
        per_piece = of["looking for it"] + of[f"handing it out, {machine.executor}"] + of["writing a file"]
        driving = (n_pieces * per_piece + n_replications * of["writing a replication"]) / 1e3
        waiting = n_pieces * of["waiting for the disk"] / 1e3 if a_piece >= WORTH_WAITING else 0.0
        if not machine.has_own_driver:
            playing += driving / machine.n_workers
        merging = (n_pieces * of["reading a file"] + n_replications * of["merging a replication"]) / 1e3
        beginning = len(grid.policies) * of["loading a policy"]
        if machine.executor != "thread":
            beginning += of["starting the process"]
        return {
            "playing": playing,
            "handing out and keeping": driving + waiting,
            "merging": merging,
            "beginning": beginning,
        }

    def seconds(self, grid: Grid, machine: Machine) -> float:
        """All of it: who plays and who keeps work at the same time."""
        parts = self.parts(grid, machine)
        return max(parts["playing"], parts["handing out and keeping"]) + parts["merging"] + parts["beginning"]


TWO_THREADS = Machine("this machine, 2 cores", 2, "thread")
MACHINES = (
    TWO_THREADS,
    Machine("a laptop of 16 such cores (extrapolated)", 16, "thread"),
    Machine("100 nodes of 32 such cores, dask (extrapolated)", 3200, "dask", has_own_driver=True),
)
STEADY = [name for name in POLICIES if name not in NOT_CONSTANT]
MINUTE = Grid(
    len(executors.LAWS) * len(executors.POLICIES),
    PARTS * REPLICATIONS,
    executors.HORIZON,
    executors.N_ARMS,
    executors.POLICIES,
)


def large_grid(block_size: int = BLOCK_SIZE) -> Grid:
    """The grid that is spoken of, of policies whose decisions cost the same however long they play."""
    return Grid(20 * 15, 10_000, 100_000, 10, STEADY, block_size)


def predictions(model: Model) -> Table:
    """What the model says for the large grid."""
    rows = []
    for machine in MACHINES:
        for size in (BLOCK_SIZE, 4 * BLOCK_SIZE) if machine.has_own_driver else (BLOCK_SIZE,):
            grid = large_grid(size)
            details = {f"s {name}": seconds for name, seconds in model.parts(grid, machine).items()}
            name = f"{machine.name}, blocks of {size}"
            rows.append(Row(name, model.seconds(grid, machine) / 60, "minutes", details=details))
    return Table(MODEL, rows)


# --- measuring ----------------------------------------------------------------------------------------------------------


def rates() -> Table:
    """Decisions a second of every policy; of those that get slower the more they have seen, in a short game."""
    rows = []
    for name, policy in POLICIES.items():
        rounds = FEW_ROUNDS if name in NOT_CONSTANT else ROUNDS
        cost = cost_of_a_decision(policy(), rounds, 10, Beta, 0.1)
        details = (
            {"rounds; slower in longer games": float(rounds)} if name in NOT_CONSTANT else {"rounds": float(rounds)}
        )
        rows.append(Row(name, 1 / cost, "a second", details=details))
    return Table(RATES, rows)


def of_play(of_ucb1: float) -> Table:
    """Nanoseconds of a round beside the decision."""
    draws = {}
    for law in executors.LAWS:
        environment = make(f"{law}:n_arms=10", NAMED_ENVIRONMENTS, "environment")
        draw = best_time(lambda world=environment: world.tape(ROUNDS, np.random.default_rng(0)), 0.2, time.thread_time)
        draws[law] = 1e9 * draw / ROUNDS / 10
    beta = make("beta:n_arms=10", NAMED_ENVIRONMENTS, "environment")
    block = Block(UCB1(), beta, ROUNDS, 0, 0, 1, checked_checkpoints(None, ROUNDS))
    whole = 1e9 * best_time(lambda: play_blocks([block]), 0.2, time.thread_time) / ROUNDS
    rows = [
        Row(
            "drawing a reward",
            statistics.mean(draws.values()),
            "ns",
            details={f"ns, {law}": ns for law, ns in draws.items()},
        ),
        Row("keeping account of a round", max(0.0, whole - 10 * draws["beta"] - 1e9 / of_ucb1), "ns"),
    ]
    return Table(OF_PLAY, rows)


def of_pieces(found: dict[str, Any]) -> Table:
    """Milliseconds of a task, in the one process that hands out."""
    keeping = found["keeping"]
    ms = [
        ("looking for it", keeping["look"]),
        *((f"handing it out, {name}", seconds) for name, seconds in found["handing_out"].items()),
        ("writing a file", keeping["write a block"]),
        ("writing a replication", keeping["write a replication"]),
        ("waiting for the disk", keeping["sync"]),
        ("reading a file", keeping["read a block"]),
        ("merging a replication", keeping["merge a replication"] + keeping["read a replication"]),
    ]
    n_bytes = [
        ("bytes of a file", keeping["bytes a block"]),
        ("bytes of a replication in it", keeping["bytes a replication"]),
        ("bytes of a replication, merged", keeping["merged bytes per replication"]),
    ]
    rows = [Row(name, 1e3 * seconds, "ms") for name, seconds in ms]
    for row in rows:
        if row.name.startswith("handing"):
            row.details["groups a second at most"] = 1e3 / (MOST_TOGETHER * row.measured) if row.measured else math.inf
    return Table(OF_PIECES, [*rows, *(Row(name, number, "bytes") for name, number in n_bytes)])


def beginning(found: dict[str, Any]) -> Table:
    """Seconds of a worker process before it plays."""
    return Table(
        BEGINNING,
        [
            Row("starting the process", found["beginning"]["process"], "s"),
            Row("loading a policy", found["beginning"]["policy"], "s"),
            Row("compiling a policy, once for all processes of a machine", statistics.median(found["compiling"]), "s"),
        ],
    )


def side_by_side(runs: dict[str, list[dict[str, float]]]) -> Table:
    """Threads beside others on the same parts of the work."""
    rows = []
    for name in (name for name in runs if name != "thread"):
        clock, processor = totals(runs[name])
        threads, of_threads = totals(runs["thread"][: len(runs[name])])
        rows.append(
            Row(
                f"{name}, {len(runs[name])} of {len(runs['thread'])} parts of the work",
                threads / clock,
                "times",
                None if name == executors.ONCE else GOAL,
                "higher",
                {
                    "s": clock,
                    "s of two threads": threads,
                    "times their processor seconds": processor / of_threads,
                },
            )
        )
    return Table(SIDE_BY_SIDE, rows)


def totals(parts: Sequence[dict[str, float]]) -> tuple[float, float]:
    """Seconds of all parts, by the clock and of the processor."""
    return sum(part["clock"] for part in parts), sum(part["processor"] for part in parts)


def held_against(model: Model, found: dict[str, Any]) -> Table:
    """The model, and what ``bandstrap check`` says, beside what was measured."""
    clock, processor = totals(found["runs"]["thread"])
    n = TWO_THREADS.n_workers
    said = {"the model": model.seconds(MINUTE, TWO_THREADS), "bandstrap check": found["checked"] / n}
    rows = [
        Row(name, seconds / clock, "times", details={"times the processor seconds of a core": seconds * n / processor})
        for name, seconds in said.items()
    ]
    return Table(HELD, [*rows, Row("measured", clock, "s", details={"processor seconds": processor})])


def tables() -> Iterator[Table]:
    """One after the other."""
    command = [sys.executable, "-m", "benchmarks.executors", str(PARTS), str(REPLICATIONS)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)  # noqa: S603 - ourselves
    yield side_by_side(found["runs"])
    yield from worlds.tables()
    decisions = rates()
    speeds = {row.name: row.measured for row in decisions.rows}
    measured = [decisions, of_play(speeds["ucb1"]), of_pieces(found), beginning(found)]
    yield from measured
    model = Model.of(measured)
    if not any(math.isnan(number) for number in model.measured.values()) and "dask" in found["handing_out"]:
        yield predictions(model)
    yield held_against(model, found)


# --- the page -----------------------------------------------------------------------------------------------------------


def with_tables(page: str, shown: Iterable[Table]) -> str:
    """A page with each table under its question."""
    for table in shown:
        pattern = rf"(\*\*{re.escape(table.question)}\*\*\n\n).*?\n(?=\n|\Z)"
        written = table.as_markdown()
        page, count = re.subn(pattern, lambda at, text=written: at[1] + text, page, flags=re.S)
        if count != 1:
            raise ValueError(f"the page has {count} places for the table {table.question!r}")
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(), read_json(PAGE.with_suffix(".json"))))
