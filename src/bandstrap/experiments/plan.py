"""Plan of an experiment: blocks, the tasks that are run, stored and never run twice.

What a block's numbers depend on is in its ``about``: the policy and the environment with their options, when rewards are
learned, the horizon, the seed, the replications, and the code that plays, by what it does. Labels, titles and published
numbers are not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Protocol, TypeGuard

from bandstrap.basics.calls import parse_call
from bandstrap.bounds.bound import BOUNDS
from bandstrap.bounds.coverage import coverage
from bandstrap.engine.compiler.provenance import computed_by
from bandstrap.engine.simulator.blocks import Block, type_of_choices
from bandstrap.experiments.curves import CURVES, Cell, measure_curve
from bandstrap.experiments.lanes import SeriesAbout
from bandstrap.experiments.spec import (
    Curve,
    ExperimentSpec,
    Panel,
    make_checkpoints,
    make_environment,
    make_feedback,
    make_policy,
    planned_replications,
    resolve_horizon,
)

# Bytes of the choices of a task, unless those of one replication are more.
MOST_CHOICES = 2**24


class Measurement(ABC):
    """Work that is done in one task and gives one row of numbers: all that is not play."""

    # Whatever is compiled is compiled on the way, and its time not counted.
    needs = None

    @property
    def work(self) -> int:
        """Amount of work, for the progress bar: about a replication of play."""
        return 1

    @property
    @abstractmethod
    def label(self) -> str:
        """Name of what is measured."""

    @property
    @abstractmethod
    def about(self) -> SeriesAbout:
        """Everything its numbers depend on; ``replications`` and ``sample_size`` tell how long it takes."""

    @abstractmethod
    def measure(self) -> dict[str, object]:
        """Numbers and texts that JSON can hold."""

    @property
    def group(self) -> Measurement:
        """Itself: it shares its samples with no other."""
        return self

    @property
    def race(self) -> Measurement:
        """Itself, likewise."""
        return self

    def cut(self) -> Iterator[Measurement]:
        """Itself, in one task."""
        yield self

    def record(self) -> MeasuredSoFar:
        """Record of its outcome."""
        return MeasuredSoFar()


@dataclass(frozen=True)
class BoundBlock(Measurement):
    """A bound at one sample size."""

    bound: str
    distribution: str
    sample_size: int
    alpha: float
    replications: int
    seed: int

    @property
    def label(self) -> str:
        """Label of the measurement."""
        return self.bound

    @property
    def about(self) -> SeriesAbout:
        """Everything its numbers depend on."""
        return {**vars(self), "code": code_of_bounds()}

    def measure(self) -> dict[str, object]:
        """The fields of its :class:`bandstrap.bounds.coverage.CoverageRow`."""
        call = parse_call(self.bound)
        if call.name in CURVES:
            row = measure_curve(
                call, Cell(self.distribution, self.sample_size, self.alpha, self.replications, self.seed)
            )
        else:
            (row,) = coverage(
                self.distribution,
                self.sample_size,
                self.alpha,
                bounds=[self.bound],
                replications=self.replications,
                seed=self.seed,
            )
        return asdict(row)


def code_of_bounds() -> str:
    """Code by which bounds are computed and measured; one bound may look up another by name, so all are included."""
    parts = (part for entry in BOUNDS.values() for part in (entry.function, entry.covers) if part is not None)
    return computed_by("bounds", coverage, measure_curve, *parts)


class MeasuredSoFar:
    """The outcome of a measurement, once it is there."""

    measured: object = None

    def put(self, piece: Measurement, measured: object) -> None:
        """Here it is."""
        self.measured = measured


AnyBlock = Block | Measurement


class Blocks(Protocol):
    """Blocks that belong together, as those of a panel."""

    @property
    def name(self) -> str:
        """Name of the curves."""

    def __iter__(self) -> Iterator[AnyBlock]:
        """The blocks."""


@dataclass(frozen=True)
class CurvePlan:
    """The block of one curve at each place of the axis where it has points; it is cut when it is run."""

    curve: Curve
    # Swept values or sample sizes; a single ``None`` for regret against rounds.
    places: tuple[float | None, ...]
    blocks: tuple[AnyBlock, ...]


@dataclass(frozen=True)
class PanelPlan:
    """The curves of one panel."""

    panel: Panel
    curves: tuple[CurvePlan, ...]

    @property
    def name(self) -> str:
        """The panel's name."""
        return self.panel.name

    def __iter__(self) -> Iterator[AnyBlock]:
        return (block for curve in self.curves for block in curve.blocks)


def keeps_choices(block: AnyBlock) -> TypeGuard[Block]:
    """Return whether every choice of a block is to be kept."""
    return isinstance(block, Block) and block.keeps_choices


def with_choices(block: Block, *, wanted: bool) -> Block:
    """A block that keeps its choices if they are wanted, in tasks that are then small enough to be in flight."""
    of_one = block.horizon * type_of_choices(block.environment.n_arms).itemsize
    size = max(1, min(block.size, MOST_CHOICES // of_one)) if wanted else block.size
    return replace(block, keeps_choices=wanted, size=size)


def plan_panel(
    panel: Panel, experiment: ExperimentSpec, seed: int, share: float = 1.0, *, choices: bool | None = None
) -> PanelPlan:
    """A panel's blocks; ``share`` of the replications are run, and at least two unless one is wanted.

    Choices are kept where the file says so, unless ``choices`` says otherwise.
    """
    if choices is None:
        choices = experiment.choices if panel.choices is None else panel.choices
    curves = []
    for curve in panel.curves:
        replications = planned_replications(panel, curve, experiment, share)
        if panel.plot == "bounds":
            places: tuple[float | None, ...] = tuple(float(n) for n in panel.sample_sizes or ())
            bound, law = str(parse_call(curve.bound or "")), str(panel.distribution)
            blocks: tuple[AnyBlock, ...] = tuple(
                BoundBlock(bound, law, int(n or 0), panel.alpha, replications, seed) for n in places
            )
        else:
            places = panel.sweep.values if panel.sweep is not None else (None,)
            blocks = tuple(
                with_choices(play_block(panel, curve, experiment, seed, replications, value), wanted=choices)
                for value in places
            )
        curves.append(CurvePlan(curve, places, blocks))
    return PanelPlan(panel, tuple(curves))


def play_block(
    panel: Panel, curve: Curve, experiment: ExperimentSpec, seed: int, replications: int, value: float | None
) -> Block:
    """All replications of a policy at a swept value."""
    policy, environment = make_policy(panel, curve, value), make_environment(panel, value)
    horizon = resolve_horizon(panel, experiment.horizon, value)
    checkpoints = make_checkpoints(panel, experiment, horizon)
    late = make_feedback(panel, value)
    return Block(policy, environment, horizon, seed, 0, replications, checkpoints, late, experiment.block_size)
