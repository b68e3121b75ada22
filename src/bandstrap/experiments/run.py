"""Run what an experiment still lacks, and gather what its panels show."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandstrap.arrays import Floats
from bandstrap.bounds.coverage import CoverageRow, coverage
from bandstrap.calls import parse_call
from bandstrap.engine.blocks import Block, play_blocks, warm
from bandstrap.engine.compiling import seconds_compiling
from bandstrap.engine.interrupts import answered
from bandstrap.engine.memory import bytes_of_result, check_memory
from bandstrap.engine.pool import finish
from bandstrap.engine.result import standard_error
from bandstrap.experiments.curves import CURVES, measure_curve
from bandstrap.experiments.lanes import digest
from bandstrap.experiments.plan import AnyBlock, BoundBlock, CurvePlan, PanelPlan, keeps_choices
from bandstrap.experiments.spec import Curve, Panel
from bandstrap.experiments.store import Finished, Measured, Store


@dataclass(frozen=True, eq=False)
class CurveData:
    """What a curve shows."""

    curve: Curve
    # Rounds, swept values or sample sizes.
    places: Floats
    # One row per replication, one column per place; for bounds a single row of mean thresholds or miss rates.
    values: Floats
    rows: tuple[CoverageRow, ...]
    seconds: float

    @property
    def label(self) -> str:
        """Name in the legend."""
        return self.curve.label

    @property
    def mean(self) -> Floats:
        """Mean over replications at each place."""
        return self.values.mean(axis=0)

    @property
    def standard_error(self) -> Floats:
        """Standard error of the mean; NaN where there is one row."""
        return standard_error(self.values, axis=0)

    @property
    def n_replications(self) -> int:
        """How many replications it has."""
        return len(self.values)

    @property
    def published(self) -> list[tuple[float, float]]:
        """Published values with their places; a single one belongs to the last place."""
        values = self.curve.published
        if values is None:
            return []
        return [(float(self.places[-1]), values)] if isinstance(values, float | int) else list(values)

    def summarised(self) -> CurveSummary:
        """What a picture of it shows, in little memory."""
        return CurveSummary(
            self.curve,
            self.places,
            self.values[:0].copy(),
            self.rows,
            self.seconds,
            means=self.mean,
            errors=self.standard_error,
            count=self.n_replications,
        )

    def at(self, place: float | None = None) -> Floats:
        """Values of all replications at a place, on the line between its neighbours; by default the last."""
        if place is None:
            return self.values[:, -1]
        after = min(int(np.searchsorted(self.places, place)), self.places.size - 1)
        if after == 0 or self.places[after] <= place:
            return self.values[:, after]
        share = (place - self.places[after - 1]) / (self.places[after] - self.places[after - 1])
        before = self.values[:, after - 1]
        return before + share * (self.values[:, after] - before)


@dataclass(frozen=True, eq=False)
class CurveSummary(CurveData):
    """What a picture of a curve shows: means and standard errors, the replications themselves forgotten."""

    means: Floats
    errors: Floats
    count: int

    @property
    def mean(self) -> Floats:
        """Mean over replications at each place."""
        return self.means

    @property
    def standard_error(self) -> Floats:
        """Standard error of the mean."""
        return self.errors

    @property
    def n_replications(self) -> int:
        """How many replications there were."""
        return self.count


@dataclass(frozen=True, eq=False)
class PanelData:
    """What a panel shows."""

    panel: Panel
    curves: tuple[CurveData, ...]

    def __getitem__(self, label: str) -> CurveData:
        return next(curve for curve in self.curves if curve.label == label)

    @property
    def seconds(self) -> float:
        """Core-seconds spent on it."""
        return sum(curve.seconds for curve in self.curves)


def run_experiments(
    plans: Sequence[PanelPlan], store: Store, *, executor: Executor | None = None, progress: bool = True
) -> list[PanelData]:
    """Run the blocks that the store lacks, on any executor, then put the panels together.

    Ctrl-C (or a kill) loses no finished block; the next run resumes from there.
    """
    done = finish_blocks([block for plan in plans for block in plan], store, executor=executor, progress=progress)
    return [gather(plan, done) for plan in plans]


def read_experiments(plans: Sequence[PanelPlan], store: Store) -> list[PanelData] | None:
    """Put panels together from what the store has; ``None`` if it lacks anything. Nothing is run."""
    done: dict[AnyBlock, Any] = {}
    for block in (block for plan in plans for block in plan):
        done[block] = block.record()
        for piece in block.cut():
            finished = store.load(piece)
            if finished is None:
                return None
            done[block].put(piece, finished)
    return [gather(plan, done) for plan in plans]


def read_summary(plan: PanelPlan, store: Store) -> PanelData | None:
    """What a picture of a panel shows, one curve in memory at a time; ``None`` if the store lacks anything."""
    curves: list[CurveData] = []
    for curve in plan.curves:
        found = read_experiments([PanelPlan(plan.panel, (curve,))], store)
        if found is None:
            return None
        curves.append(found[0].curves[0].summarised())
    return PanelData(plan.panel, tuple(curves))


class Countdown:
    """The record of a block whose outcome is in a store alone: how much of it is not there yet."""

    def __init__(self, block: AnyBlock, done: Callable[[AnyBlock], None]) -> None:
        self._block, self._done = block, done
        self._left = block.work

    def put(self, piece: AnyBlock, outcome: Finished) -> None:
        """A piece was kept."""
        self._left -= piece.work
        if self._left == 0:
            self._done(self._block)


def store_blocks(
    blocks: Iterable[AnyBlock],
    store: Store,
    *,
    executor: Executor | None = None,
    progress: bool = True,
    done: Callable[[AnyBlock], None] = lambda _: None,
) -> None:
    """Run the pieces of blocks that the store lacks; memory holds those in flight, however many there are.

    Each block of which all pieces are there is told to ``done``.
    """
    different: dict[str, AnyBlock] = {}
    for block in blocks:  # of equal ones, one whose choices are kept
        key = digest(block.about)
        if key not in different or keeps_choices(block):
            different[key] = block
    ordered = in_order(different.values())
    records = {block: Countdown(block, done) for block in ordered}
    finish(ordered, run_blocks, prepare=warm, executor=executor, store=store, progress=progress, records=records)


def in_order(blocks: Iterable[AnyBlock]) -> list[AnyBlock]:
    """Linear bandits first: their blocks take longest and must not be left for the end."""
    return sorted(blocks, key=lambda block: not (isinstance(block, Block) and block.policy.plays == "actions"))


def finish_blocks(
    blocks: Iterable[AnyBlock], store: Store, *, executor: Executor | None = None, progress: bool = True
) -> dict[AnyBlock, Any]:
    """The record of every block, its pieces from the store or run now, and stored."""
    ordered = in_order(blocks)
    needed = sum(
        bytes_of_result(1, block.work, block.checkpoints.size, block.environment.n_arms)
        for block in ordered
        if isinstance(block, Block)
    )
    most = max((block.work for block in ordered), default=0)
    check_memory(needed, "replications", "the experiment", most)
    return finish(ordered, run_blocks, prepare=warm, executor=executor, store=store, progress=progress)


def run_blocks(blocks: Sequence[AnyBlock]) -> list[Finished]:
    """Run blocks of one group."""
    measured: list[Finished] = [measure_block(block) for block in blocks if isinstance(block, BoundBlock)]
    return measured or [*play_blocks([block for block in blocks if isinstance(block, Block)])]


def measure_block(block: BoundBlock) -> Measured:
    """Measure a bound, and count the core-seconds it took, without those of a compiler."""
    return answered(timed_measurement, block)  # all of it in one thread, whose time is counted


def timed_measurement(block: BoundBlock) -> Measured:
    """See :func:`measure_block`."""
    start = time.thread_time() - seconds_compiling()
    call = parse_call(block.bound)
    if call.name in CURVES:
        row = measure_curve(call, block.distribution, block.sample_size, block.alpha, block.replications, block.seed)
    else:
        (row,) = coverage(
            block.distribution,
            block.sample_size,
            block.alpha,
            bounds=[block.bound],
            replications=block.replications,
            seed=block.seed,
        )
    return Measured(row, time.thread_time() - seconds_compiling() - start)


def gather(plan: PanelPlan, done: Mapping[AnyBlock, Any]) -> PanelData:
    """Put the blocks of a panel together."""
    return PanelData(plan.panel, tuple(gather_curve(plan.panel, curve, done) for curve in plan.curves))


def gather_curve(panel: Panel, plan: CurvePlan, done: Mapping[AnyBlock, Any]) -> CurveData:
    """Put the blocks of a curve together."""
    rows: list[CoverageRow] = []
    columns: list[Floats] = []
    seconds = 0.0
    places: NDArray[np.float64] = np.array([0.0 if place is None else place for place in plan.places])
    for block in plan.blocks:
        found = done[block]
        if isinstance(block, BoundBlock):
            row = found.measured.row
            rows.append(row)
            seconds += found.measured.seconds
            columns.append(np.array([[row.mean_width if panel.show == "threshold" else row.miss_rate]]))
            continue
        seconds += found.seconds
        if plan.places == (None,):
            places = block.checkpoints.astype(np.float64)
            columns.append(found.regret)
        else:
            columns.append(found.regret[:, -1:])
    return CurveData(plan.curve, places, np.concatenate(columns, axis=1), tuple(rows), seconds)
