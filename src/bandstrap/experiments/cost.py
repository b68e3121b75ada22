"""Cost of an experiment: decisions, bytes, and core-seconds, estimated by a short replication of every curve."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bandstrap.engine.simulator.blocks import Block, play_blocks, warm
from bandstrap.engine.simulator.tape import bytes_of_replication, open_tape
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.engine.work.pool import IN_FLIGHT
from bandstrap.engine.work.progress import progress_bar
from bandstrap.engine.work.tasks import MOST_TOGETHER
from bandstrap.experiments.choices import bytes_of_choices
from bandstrap.experiments.folder import decisions
from bandstrap.experiments.lanes import digest
from bandstrap.experiments.merged import KEPT, LARGEST_FILE
from bandstrap.experiments.plan import AnyBlock, BoundBlock, Measurement, PanelPlan, keeps_choices
from bandstrap.experiments.runner import measure_block

# Rounds of the replication that tells how fast a policy is, and rewards of the measurement of a bound at first.
ROUNDS = 2000
REWARDS = 2000
# Core-seconds that such a measurement should take.
LONG_ENOUGH = 0.05


@dataclass(frozen=True)
class Cost:
    """Cost of a panel; work that two panels share counts in both."""

    panel: str
    curves: int
    replications: int
    decisions: int
    blocks: int
    # Bytes of the numbers that are kept; on the disk they are compressed, by little.
    n_bytes: int
    # And of the choices, where they are kept; on the disk they are compressed, by much.
    bytes_of_choices: int
    # Core-seconds; ``None`` if nothing was timed.
    seconds: float | None


def cost_of(plans: Sequence[PanelPlan], *, timed: bool = True, progress: bool = True) -> list[Cost]:
    """The cost of each panel.

    A policy whose decisions take longer the more rewards it has seen is timed over fewer rounds than it will play, and
    costs more than is said here.
    """
    seconds = seconds_of([block for plan in plans for block in plan], progress=progress) if timed else None
    return [
        Cost(
            panel=plan.panel.name,
            curves=len(plan.curves),
            replications=sum(replications_of(block) for block in plan),
            decisions=sum(decisions(block.about) for block in plan),
            blocks=sum(n_pieces(block) for block in plan),
            n_bytes=sum(bytes_of(block) for block in plan),
            bytes_of_choices=sum(bytes_of_choices(block) for block in plan if isinstance(block, Block)),
            seconds=None if seconds is None else sum(seconds[digest(block.about)] for block in plan),
        )
        for plan in plans
    ]


def seconds_of(blocks: Iterable[AnyBlock], *, progress: bool) -> dict[str, float]:
    """Core-seconds of each block, by what it is about; what is compiled for it is kept on the disk."""
    different = {digest(block.about): block for block in blocks}
    racing = Counter(block.race for block in different.values())
    found = {}
    with progress_bar(len(different), shown=progress, of="curves") as show:
        for key, block in different.items():
            show(0, f"timing {block.label}")
            found[key] = time_play(block, racing[block.race]) if isinstance(block, Block) else time_bound(block)
            show(1)
    return found


def time_play(block: Block, n_racing: int = 1) -> float:
    """Core-seconds of a block, from those of one replication of at most so many rounds.

    The rewards that ``n_racing`` blocks meet are drawn once for those that are played together, and each has its share.
    """
    warm(block)
    rounds = min(block.horizon, max(ROUNDS, block.environment.n_arms * max(block.policy.n_initial, 1) + 1))
    short = replace(block, horizon=rounds, first=0, last=1, checkpoints=np.array([rounds]))
    share = -(-n_racing // MOST_TOGETHER) / n_racing
    times = []
    for _ in range(2):  # the first may meet something for the first time
        start = time.thread_time()
        open_tape(block.environment, rounds, block.seed, 0)
        drawing = time.thread_time() - start
        times.append(max(0.0, play_blocks([short])[0].seconds - (1 - share) * drawing))
    return min(times) / rounds * block.horizon * block.work


def time_bound(block: Measurement) -> float:
    """Core-seconds of a measurement, from those of one with fewer samples.

    These are as many as take a while: the first few would run as plain Python, whatever the rest does. What a call takes
    however many its samples are is told apart by a second size.
    """
    if not isinstance(block, BoundBlock):
        return measure_block(block).seconds

    def seconds_of(replications: int) -> float:
        short = replace(block, replications=replications)
        return min(measure_block(short).seconds for _ in range(2))  # the first may begin as plain Python

    few = min(max(1, REWARDS // block.sample_size), block.replications)
    seconds = seconds_of(few)
    while few < block.replications:
        more = min(4 * few, block.replications)
        longer = seconds_of(more)
        if seconds > LONG_ENOUGH:
            per_sample = max(0.0, (longer - seconds) / (more - few))
            return longer + per_sample * (block.replications - more)
        few, seconds = more, longer
    return seconds


def replications_of(block: AnyBlock) -> int:
    """Number of plays of a block, or of samples."""
    return block.work if isinstance(block, Block) else int(block.about["replications"])


def n_pieces(block: AnyBlock) -> int:
    """Number of tasks that a block is cut into."""
    return -(-block.work // block.size) if isinstance(block, Block) else 1


def bytes_of(block: AnyBlock) -> int:
    """Bytes of the numbers that are kept of a block."""
    return WORD * block.work * (block.checkpoints.size + block.environment.n_arms) if isinstance(block, Block) else 1000


def peak_memory(plans: Sequence[PanelPlan], workers: int) -> int:
    """Bytes that are needed at a time while so many workers play: reward tables, and what :func:`memory_of_driver`
    counts.
    """
    played = [block for plan in plans for block in plan if isinstance(block, Block)]
    tapes = [
        bytes_of_replication(block.environment, block.horizon, is_late=not block.feedback.is_at_once)
        for block in played
    ]
    return workers * max(tapes, default=0) + memory_of_driver(plans, workers)


def memory_of_driver(plans: Sequence[PanelPlan], workers: int) -> int:
    """Bytes that the process which hands out work needs: tasks in flight, and a panel that is merged meanwhile."""
    blocks = [block for plan in plans for block in plan if isinstance(block, Block)]
    pieces = max(map(bytes_of_piece, blocks), default=0)
    of_choices = max((4 * min(bytes_of_choices(block), LARGEST_FILE) for block in blocks), default=0)
    curve = max(sum(map(bytes_of, curve.blocks)) for plan in plans for curve in plan.curves)
    panel = max(sum(map(bytes_of, plan)) for plan in plans)
    # A file on its way to the disk is there three times, as numbers, as a frame and as bytes; then curves are read.
    merging = 3 * max(min(LARGEST_FILE, panel), curve) + min(KEPT, panel) + 2 * curve
    return workers * IN_FLIGHT * min(MOST_TOGETHER, len(blocks)) * pieces + merging + of_choices


def bytes_of_piece(block: Block) -> int:
    """Bytes of the outcome of a task, choices twice: once more when they are written."""
    of_all = bytes_of(block) + 2 * bytes_of_choices(block)
    return of_all // block.work * min(block.size, block.work)


def check_driver(plans: Sequence[PanelPlan], workers: int) -> None:
    """Refuse choices of so many rounds that the tasks in flight would need more memory than there is."""
    horizons = [block.horizon for plan in plans for block in plan if keeps_choices(block)]
    if horizons:
        owner = f"panels that keep every choice, with {workers} worker{'s' * (workers != 1)},"
        check_memory(memory_of_driver(plans, workers), "horizon", owner, max(horizons))
