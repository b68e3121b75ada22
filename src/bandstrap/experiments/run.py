"""Run what an experiment still lacks, and gather what its panels show."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bandstrap.bounds.coverage import CoverageRow, coverage, measure_exact
from bandstrap.engine import blocks as play
from bandstrap.engine.simulate import checked_checkpoints, progress_bar
from bandstrap.errors import Floats, InvalidInput
from bandstrap.experiments.plan import Block, BoundBlock, CurvePlan, PanelPlan, PlayBlock, code_of_play
from bandstrap.experiments.spec import EXACT, NAMED_ENVIRONMENTS, NAMED_POLICIES, Curve, Panel, make
from bandstrap.experiments.store import Finished, Measured, Played, Store


@dataclass(frozen=True, eq=False)
class CurveData:
    """What a curve shows."""

    curve: Curve
    # Rounds, swept values or sample sizes.
    places: Floats
    # One row a replication, one column a place; for bounds a single row of mean thresholds or miss rates.
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
        """Standard error of the mean; 0 where there is one row."""
        n = len(self.values)
        return self.values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(self.values.shape[1])

    @property
    def published(self) -> list[tuple[float, float]]:
        """Published values with their places; a single one belongs to the last place."""
        values = self.curve.published
        if values is None:
            return []
        return [(float(self.places[-1]), values)] if isinstance(values, float | int) else list(values)

    def at(self, place: float | None = None) -> Floats:
        """Values of all replications at a place; by default the last."""
        index = -1 if place is None else int(np.argmin(np.abs(self.places - place)))
        return self.values[:, index]


@dataclass(frozen=True, eq=False)
class PanelData:
    """What a panel shows."""

    panel: Panel
    curves: tuple[CurveData, ...]

    def __getitem__(self, label: str) -> CurveData:
        return next(curve for curve in self.curves if curve.label == label)

    @property
    def seconds(self) -> float:
        """Seconds of one core spent on it."""
        return sum(curve.seconds for curve in self.curves)


def run_experiments(
    plans: Sequence[PanelPlan], store: Store, *, jobs: int | None = None, progress: bool = True
) -> list[PanelData]:
    """Run the blocks that the store lacks, then put the panels together."""
    # Linear bandits first: their blocks take longest and must not be left for the end.
    blocks = sorted(
        (block for plan in plans for block in plan), key=lambda block: "linear" not in getattr(block, "policy", "")
    )
    done = finish_blocks(blocks, store, jobs=jobs, progress=progress)
    return [gather(plan, done) for plan in plans]


def finish_blocks(
    blocks: Iterable[Block], store: Store, *, jobs: int | None = None, progress: bool = True
) -> dict[Block, Finished]:
    """Every block, from the store or run now, in the order given, and stored.

    Ctrl-C (or a kill) loses no finished block; the next run goes on from there.
    """
    wanted = list(dict.fromkeys(blocks))
    found = {block: store.load(block) for block in wanted}
    done = {block: finished for block, finished in found.items() if finished is not None}
    missing = [block for block in wanted if block not in done]
    warm(missing)
    with progress_bar(sum(block.work for block in missing), shown=progress and bool(missing)) as advance:
        run_blocks(missing, store, jobs or os.cpu_count() or 1, done, advance)
    return done


def warm(blocks: Iterable[Block]) -> None:
    """Compile or load every policy's play before workers start, since two must not compile the same at once."""
    seen: set[tuple[str, str]] = set()
    pairs = {(block.policy, block.environment): block for block in blocks if isinstance(block, PlayBlock)}
    for block in pairs.values():
        policy, environment = make_pair(block)
        kind = (policy.label if policy.kernel is None else policy.kernel.identity.digest, policy.plays)
        if kind not in seen:
            seen.add(kind)
            tell(f"compiling {policy.label}")
            play.warm([policy], environment)
    tell("")


def tell(message: str) -> None:
    """On a terminal, say what is being waited for."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{message:<70}\r")


def run_blocks(
    blocks: Sequence[Block], store: Store, jobs: int, done: dict[Block, Finished], advance: Callable[[int], None]
) -> None:
    """Run blocks on threads, each stored as soon as it is done."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting: dict[Future[Finished], Block] = {pool.submit(run_block, block): block for block in blocks}
        try:
            while waiting:
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    block = waiting.pop(future)
                    done[block] = future.result()
                    store.save(block, done[block])
                    advance(block.work)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            with contextlib.suppress(OSError):
                for future, block in waiting.items():
                    if not future.cancelled() and future.exception() is None:
                        store.save(block, future.result())
            raise


def run_block(block: Block) -> Finished:
    """Run one block, and count the seconds of a core it took."""
    start = time.thread_time()
    if isinstance(block, BoundBlock):
        if block.bound == EXACT:
            row = measure_exact(block.distribution, block.sample_size, block.alpha)
        else:
            (row,) = coverage(
                block.distribution,
                block.sample_size,
                block.alpha,
                bounds=[block.bound],
                replications=block.replications,
                seed=block.seed,
            )
        return Measured(row, time.thread_time() - start)
    policy, environment = make_pair(block)
    checkpoints = checked_checkpoints(None if block.along else [block.horizon], block.horizon)
    played = play.play_block(
        play.Block((policy,), environment, block.horizon, block.seed, block.first, block.last, checkpoints)
    )
    return Played(checkpoints, played.regret[0], time.thread_time() - start)


def make_pair(block: PlayBlock) -> tuple[play.PolicyLike, play.EnvironmentLike]:
    """Policy and environment of a block; refused if they are no longer what was planned."""
    policy = make(block.policy, NAMED_POLICIES, "policy")
    environment = make(block.environment, NAMED_ENVIRONMENTS, "environment")
    if block.code and block.code != code_of_play(policy, environment):
        raise InvalidInput(f"{block.policy} was edited while it was being played; what was finished before is kept.")
    return policy, environment


def gather(plan: PanelPlan, done: Mapping[Block, Finished]) -> PanelData:
    """Put the blocks of a panel together."""
    return PanelData(plan.panel, tuple(gather_curve(plan.panel, curve, done) for curve in plan.curves))


def gather_curve(panel: Panel, plan: CurvePlan, done: Mapping[Block, Finished]) -> CurveData:
    """Put the blocks of a curve together."""
    rows: list[CoverageRow] = []
    columns: list[Floats] = []
    seconds = 0.0
    places: NDArray[np.float64] = np.array([0.0 if place is None else place for place in plan.places])
    for blocks in plan.blocks:
        finished = [done[block] for block in blocks]
        seconds += sum(part.seconds for part in finished)
        played = [part for part in finished if isinstance(part, Played)]
        measured = [part.row for part in finished if isinstance(part, Measured)]
        rows += measured
        if measured:
            row = measured[0]
            columns.append(np.array([[row.mean_width if panel.show == "threshold" else row.miss_rate]]))
        elif plan.places == (None,):
            places = played[0].checkpoints.astype(np.float64)
            columns.append(np.concatenate([part.regret for part in played]))
        else:
            columns.append(np.concatenate([part.regret[:, -1:] for part in played]))
    return CurveData(plan.curve, places, np.concatenate(columns, axis=1), tuple(rows), seconds)
