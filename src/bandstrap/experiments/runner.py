"""The one runner: whatever a folder lacks is run, kept as soon as it is done, and merged panel by panel.

Experiments in files, the policies of a command line, the paper, the league and the study all come to :func:`run_plans`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from bandstrap.engine.compiler.locks import seconds_compiling
from bandstrap.engine.simulator.blocks import Block, play_blocks, warm
from bandstrap.engine.work.executors import worker_count
from bandstrap.engine.work.interrupts import answered
from bandstrap.engine.work.pool import Unfinished, finish
from bandstrap.engine.work.progress import notice, tell
from bandstrap.experiments.folder import Folder, FolderStore, Planned, PlannedPanel
from bandstrap.experiments.lanes import digest
from bandstrap.experiments.merging import Merging
from bandstrap.experiments.plan import AnyBlock, Blocks, Measurement, keeps_choices
from bandstrap.experiments.runs import Run
from bandstrap.experiments.store import Finished, Measured


@dataclass(frozen=True)
class Ran:
    """A folder after a run: all that was asked for is there, but for what was given up."""

    store: FolderStore
    unfinished: Unfinished | None = None
    # Names of the panels that lack something.
    incomplete: tuple[str, ...] = ()


def run_plans(
    plans: Sequence[Blocks],
    folder: Folder,
    planned: Planned,
    *,
    executor: Executor | None = None,
    progress: bool = True,
    keep: Collection[PlannedPanel] = (),
    waiting: Callable[[], None] = lambda: None,
) -> Ran:
    """Run the blocks that a folder lacks, on any executor, and merge every panel as soon as it is complete.

    Parameters
    ----------
    plans
        Panels, each with its blocks; blocks that are equal in all that matters are run once.
    folder, planned
        Where everything is kept, and what ``plan.json`` says of it.
    executor
        Any ``concurrent.futures.Executor``; by default threads, one per core.
    progress
        Show on standard error how far it is, and say there what differs from the last run.
    keep
        Panels that stay in the plan if it has them already.
    waiting
        Called while another process merges the same folder.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C. No finished block is lost; the next run resumes from there.
    """
    change = folder.begin(planned, keep)
    if change:
        notice(f"{folder.path}: {change}", shown=progress)
    with Run(folder.runs, worker_count(executor)) as run:
        store = folder.store(run)
        missing = [block for plan in plans for block in plan if not store.has(block)]
        for file in (*store.merged.damaged, *store.choices.damaged):
            notice(f"{file} is damaged; its part of this plan is run again", shown=progress)
        with Merging(folder, plans, missing, waiting) as merging:
            unfinished = store_blocks(missing, store, executor=executor, progress=progress, done=merging.done)
            tell("merging", shown=progress)
        incomplete = [plan for plan in plans if not folder.merge(plan, merging.store, waiting)]
        if incomplete and unfinished is None:  # somebody has removed blocks meanwhile
            removed = [block for plan in incomplete for block in plan]
            unfinished = store_blocks(removed, store, executor=executor, progress=progress)
            incomplete = [plan for plan in incomplete if not folder.merge(plan, merging.store, waiting)]
            if incomplete and unfinished is None:
                raise folder.incomplete(incomplete[0].name)
    if not folder.plan.is_file():  # somebody has emptied the folder meanwhile
        folder.begin(planned, keep)
    tell("", shown=progress)
    return Ran(merging.store, unfinished, tuple(plan.name for plan in incomplete))


class Countdown:
    """The record of a block whose outcome is in a store alone: how much of it is not there yet."""

    def __init__(self, block: AnyBlock, done: Callable[[AnyBlock], None]) -> None:
        self._block, self._done = block, done
        self._left = block.work

    def put(self, piece: AnyBlock, outcome: Finished) -> None:
        """A task was kept."""
        self._left -= piece.work
        if self._left == 0:
            self._done(self._block)


def store_blocks(
    blocks: Iterable[AnyBlock],
    store: FolderStore,
    *,
    executor: Executor | None = None,
    progress: bool = True,
    done: Callable[[AnyBlock], None] = lambda _: None,
) -> Unfinished | None:
    """Run the tasks of blocks that the store lacks; what was given up.

    Memory holds those in flight, however many there are. Each block of which all tasks are there is told to ``done``.
    """
    different: dict[str, AnyBlock] = {}
    for block in blocks:  # of equal ones, one whose choices are kept
        key = digest(block.about)
        if key not in different or keeps_choices(block):
            different[key] = block
    ordered = in_order(different.values())
    records = {block: Countdown(block, done) for block in ordered}
    try:
        finish(ordered, run_blocks, prepare=warm, executor=executor, store=store, progress=progress, records=records)
    except Unfinished as error:
        return error
    return None


def in_order(blocks: Iterable[AnyBlock]) -> list[AnyBlock]:
    """Linear bandits first: their blocks take longest and must not be left for the end."""
    return sorted(blocks, key=lambda block: not (isinstance(block, Block) and block.policy.plays == "actions"))


def run_blocks(blocks: Sequence[AnyBlock]) -> list[Finished]:
    """Run blocks of one group."""
    measured: list[Finished] = [measure_block(block) for block in blocks if isinstance(block, Measurement)]
    return measured or [*play_blocks([block for block in blocks if isinstance(block, Block)])]


def measure_block(block: Measurement) -> Measured:
    """Measure, and count the core-seconds it took, without those of a compiler."""
    return answered(timed_measurement, block)  # all of it in one thread, whose time is counted


def timed_measurement(block: Measurement) -> Measured:
    """Measure in one thread, whose time is counted."""
    start = time.thread_time() - seconds_compiling()
    row = block.measure()
    return Measured(row, time.thread_time() - seconds_compiling() - start)
