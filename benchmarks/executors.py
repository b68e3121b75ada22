"""Two threads beside two processes, two workers of dask's and two of loky's: the same work, into a folder, in turns.

Run by :mod:`benchmarks.scale` in a process of its own, since a process that is started anew imports what started it:
``python -m benchmarks.executors PARTS REPLICATIONS`` prints what was measured as JSON.
"""

import contextlib
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bandstrap.engine.simulator.blocks import BLOCK_SIZE, Block, Played, warm
from bandstrap.engine.work.pool import finish
from bandstrap.engine.work.tasks import MOST_TOGETHER
from bandstrap.engine.work.workers import workers
from bandstrap.experiments.cost import cost_of
from bandstrap.experiments.folder import Folder, planned
from bandstrap.experiments.panels import read_panel, read_panels
from bandstrap.experiments.plan import PanelPlan, plan_panel
from bandstrap.experiments.runner import Countdown, run_plans
from bandstrap.experiments.runs import Run
from bandstrap.experiments.spec import read_experiment
from benchmarks.compiling import in_a_fork, warm_form

WORKERS = 2
COMMAND = "python -m benchmarks"
# The default horizon, at which a piece is short and what is done about it weighs most.
HORIZON = 2000
LAWS = ("gaussian", "logistic", "beta")
POLICIES = (
    "ucb1",
    "moss",
    "gaussian_ts",
    "epsilon_greedy",
    "bootstrapped_ucb",
    "bootstrapped_ucb_plus",
    "edgeworth_ucb",
    "studentized_ucb",
)
# Of these, how long compiling takes is measured: from little code to much.
COMPILED = "ucb1", "bootstrapped_ucb_plus", "bootstrapped_ucb"
N_ARMS = 10
# Pieces that are handed out without anything being played, to learn what that takes.
EMPTY_PIECES = 200
# Replications of pieces whose keeping is timed.
SIZES = BLOCK_SIZE, 8 * BLOCK_SIZE


# --- what is spent ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock, and of the processor in this process and, where that was asked for, in its children."""

    clock: float
    processor: float


@contextlib.contextmanager
def spending(into: list[Spent], *, children: bool = False) -> Iterator[None]:
    """Note what is spent."""
    processor = of_all_processes if children else time.process_time
    start, used = time.perf_counter(), processor()
    yield
    into.append(Spent(time.perf_counter() - start, processor() - used))


def of_all_processes() -> float:
    """Processor seconds of this process and of those it started and that still live."""
    try:
        import psutil
    except ImportError:
        return math.nan
    here = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (here, *here.children(recursive=True)))


# --- executors ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def loky_workers() -> Iterator[Executor]:
    """Processes of loky's."""
    from joblib.externals.loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(WORKERS)
    yield pool
    pool.shutdown(wait=True, kill_workers=True)


EXECUTORS: dict[str, Callable[[], contextlib.AbstractContextManager[Executor]]] = {
    **{name: partial(workers, WORKERS, COMMAND, name) for name in ("thread", "process", "dask")},
    "loky": loky_workers,
}
PACKAGES = {"dask": "distributed", "loky": "joblib"}
# Shown in the first part alone, where its workers begin too.
ONCE = "loky"


def there_are() -> list[str]:
    """The executors whose packages are installed."""
    return [name for name in EXECUTORS if find_spec(PACKAGES.get(name, "bandstrap")) is not None]


# --- the work -----------------------------------------------------------------------------------------------------------


def plan_work(replications: int, seed: int) -> list[PanelPlan]:
    """Panels of several policies each, as a file describes them."""
    curves = "".join(f'{{ label = "{name}", policy = "{name}" }},' for name in POLICIES)
    panels = (
        f'[[panels]]\nname = "{law}"\nenvironment = "{law}:n_arms={N_ARMS}"\ncurves = [{curves}]\n' for law in LAWS
    )
    return plan_text(
        f'title = "A minute"\nhorizon = {HORIZON}\nreplications = {replications}\n' + "".join(panels), seed
    )


def plan_text(text: str, seed: int) -> list[PanelPlan]:
    """The panels of a file with some text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "experiment.toml"
        file.write_text(text)
        experiment = read_experiment(file)
    return [plan_panel(panel, experiment, seed) for panel in experiment.panels]


def run_into_folder(plans: Sequence[PanelPlan], pool: Executor) -> Spent:
    """What ``bandstrap simulate FILE --out DIR`` does with an executor, but for the pictures."""
    spent: list[Spent] = []
    with tempfile.TemporaryDirectory() as path, quiet(), spending(spent, children=True):
        folder = Folder(Path(path))
        plan = planned("A minute", 0, ["simulate", "minute.toml"], plans)
        ran = run_plans(plans, folder, plan, executor=pool)
        if ran.unfinished is not None:
            raise ran.unfinished
        list(read_panels(plans, folder, summarised=True))
    return spent[0]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Say nothing of how far it is."""
    with open("/dev/null", "w") as nowhere, contextlib.redirect_stderr(nowhere):  # noqa: PTH123
        yield


def side_by_side(parts: int, replications: int) -> dict[str, list[Spent]]:
    """What each part of the work took, of each executor in turns; what its workers need to begin is in the first."""
    found: dict[str, list[Spent]] = {name: [] for name in there_are()}
    with contextlib.ExitStack() as stack:
        pools = {name: stack.enter_context(EXECUTORS[name]()) for name in found}
        for part in range(parts):
            plans = plan_work(replications, seed=part)
            for name, pool in pools.items():
                if name == ONCE and part > 0:
                    continue
                found[name].append(run_into_folder(plans, pool))
    return found


# --- what a piece takes beside play -------------------------------------------------------------------------------------


def not_played(blocks: Sequence[Block]) -> list[Played]:
    """Outcomes such as those of play, without any."""
    rng = np.random.default_rng(0)
    return [
        Played(
            np.cumsum(rng.random((block.work, block.checkpoints.size)), axis=1),
            rng.integers(0, block.horizon, (block.work, block.environment.n_arms)),
            0.0,
        )
        for block in blocks
    ]


def empty_blocks(horizon: int, n_pieces: int, size: int = BLOCK_SIZE) -> list[Block]:
    """As many pieces as are wanted, in groups as large as they get."""
    (curves, *_) = ([curve.blocks[0] for curve in plan.curves] for plan in plan_work(size, seed=1))
    last = n_pieces // MOST_TOGETHER * size
    return [replace(block, horizon=horizon, last=last) for block in curves[:MOST_TOGETHER] if isinstance(block, Block)]


def least(spent: Sequence[Spent], field: str) -> float:
    """The least of several: others use the machine too."""
    return min(getattr(each, field) for each in spent)


def handing_out() -> dict[str, float]:
    """Processor seconds, of the process that hands out, of a piece that is cut, handed out and taken back.

    Dask's scheduler is in the same process here, and is counted.
    """
    found = {}
    for name in there_are():
        blocks = empty_blocks(HORIZON, EMPTY_PIECES)
        spent: list[Spent] = []
        with EXECUTORS[name]() as pool:
            for _ in range(4):  # its workers begin with the first
                records = {block: Countdown(block, lambda _: None) for block in blocks}
                with spending(spent):
                    finish(blocks, not_played, executor=pool, progress=False, records=records)
        found[name] = least(spent, "processor") / EMPTY_PIECES
    spent = []
    pieces = empty_blocks(HORIZON, MOST_TOGETHER)
    for _ in range(50):
        with spending(spent):
            not_played(pieces)
    # Threads share the processor's time with what is handed out.
    found["thread"] = max(0.0, found["thread"] - least(spent, "processor") / len(pieces))
    return found


def keeping() -> dict[str, float]:
    """Seconds of a piece in the one process that hands out, by what is done, and bytes.

    Processor seconds, but for those of waiting for the disk; each for a piece and for each replication in it, from pieces
    of two sizes.
    """
    by_size = {size: keeping_pieces(size) for size in SIZES}
    small, large = by_size.values()
    a, b = SIZES
    found = {"look": small["look"], "sync": small["sync"]}
    for name in ("write", "read", "bytes"):
        slope = (large[name] - small[name]) / (b - a)
        found |= {f"{name} a replication": slope, f"{name} a block": small[name] - a * slope}
    return found | keeping_panels()


def keeping_pieces(size: int) -> dict[str, float]:
    """Seconds of a piece of so many replications."""
    looked, written, synced, read = ([] for _ in range(4))
    pieces = [piece for block in empty_blocks(HORIZON, 40, size) for piece in block.cut(size)]
    outcomes = not_played(pieces)
    for _ in range(4):
        with tempfile.TemporaryDirectory() as path, Run(Folder(Path(path)).runs, 1) as run:
            store = Folder(Path(path)).store(run)
            with spending(looked):
                for piece in pieces:
                    store.load(replace(piece, seed=0))  # of which nobody knows yet what it is about
            for spent, seconds in ((written, 0.0), (synced, 1.0)):
                with spending(spent):
                    for piece, outcome in zip(pieces, outcomes, strict=True):
                        store.save(piece, outcome._replace(seconds=seconds))
            with spending(read):
                for piece in pieces:
                    store.load(piece)
            n_bytes = np.mean([store.path(piece).stat().st_size for piece in pieces])
    n = len(pieces)
    return {
        "look": least(looked, "processor") / n,
        "write": least(written, "processor") / n,
        "sync": max(0.0, least(synced, "clock") - least(written, "clock")) / n,
        "read": least(read, "processor") / n,
        "bytes": float(n_bytes),
    }


def keeping_panels() -> dict[str, float]:
    """Processor seconds and bytes of a replication of a panel that is merged and then read, its pieces' apart."""
    merged, read = [], []
    for part in range(3):
        (plan, *_) = plan_work(BLOCK_SIZE * 25, seed=part)
        pieces = [piece for block in plan for piece in block.cut()]
        with tempfile.TemporaryDirectory() as path:
            folder = Folder(Path(path))
            store = folder.store()
            for piece, outcome in zip(pieces, not_played(pieces), strict=True):
                store.save(piece, outcome)
            with spending(read):
                for piece in pieces:
                    store.load(piece)
            with spending(merged):
                folder.merge(plan, store)
                read_panel(plan, store, summarised=True)
            n_bytes = sum(file.stat().st_size for file in folder.panels.iterdir())
    n = len(pieces) * BLOCK_SIZE
    return {
        "merge a replication": max(0.0, least(merged, "processor") - least(read, "processor")) / n,
        "merged bytes per replication": n_bytes / n,
    }


def beginning() -> dict[str, float]:
    """Processor seconds of a process that is started anew until it plays, and of each further policy that it loads."""
    blocks = [replace(block, last=1) for block in empty_blocks(HORIZON, MOST_TOGETHER)]
    for block in blocks:
        warm(block)  # compiled, for all to load
    begun, loaded = [], []
    for _ in range(2):
        with workers(1, COMMAND, "process") as pool:
            first, *others = (pool.submit(spent_until_now, block).result() for block in blocks)
            begun.append(first)
            loaded.append((others[-1] - first) / len(others))
    return {"process": min(begun), "policy": min(loaded)}


def spent_until_now(block: Block) -> float:
    """Processor seconds of this process, with this policy loaded."""
    warm(block)
    return time.process_time()


def main() -> None:
    """Measure all of it."""
    parts, replications = int(sys.argv[1]), int(sys.argv[2])
    # First, while nothing has been compiled here.
    with tempfile.TemporaryDirectory() as folder:
        compiled = [in_a_fork(warm_form, str(Path(folder) / name), name) for name in COMPILED]
    found: dict[str, Any] = {"compiling": compiled}
    found |= {"beginning": beginning(), "keeping": keeping(), "handing_out": handing_out()}
    costs = cost_of(plan_work(replications, seed=0), progress=False)
    found["checked"] = parts * sum(cost.seconds or 0.0 for cost in costs)
    found["runs"] = {name: [vars(part) for part in spent] for name, spent in side_by_side(parts, replications).items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
