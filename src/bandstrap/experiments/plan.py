"""From an experiment to blocks: the pieces of work that are run, stored and never run twice.

What a block's numbers depend on is in its ``about``: the policy and the environment with their options, when rewards are
learned, the horizon, the seed, the replications, and the sources of the code that plays. Labels, titles and published
numbers are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeGuard

from bandstrap.calls import parse_call
from bandstrap.engine.blocks import Block, checked_checkpoints, type_of_choices
from bandstrap.experiments.spec import (
    Curve,
    Experiment,
    Panel,
    make_environment,
    make_feedback,
    make_policy,
    planned_replications,
    resolve_horizon,
)
from bandstrap.sources import code_digest

# Where bounds are measured; one bound may look up another by name, so all are included.
MEASURING = ("bandstrap.bounds", "bandstrap.bounds.coverage", "bandstrap.experiments.curves")

# Bytes of the choices of a piece, unless those of one replication are more.
MOST_CHOICES = 2**24


@dataclass(frozen=True)
class BoundBlock:
    """A bound at one sample size."""

    bound: str
    distribution: str
    sample_size: int
    alpha: float
    replications: int
    seed: int

    @property
    def work(self) -> int:
        """How much work it is, for the progress bar: about a replication of play."""
        return 1

    @property
    def group(self) -> BoundBlock:
        """Shares its samples with no other."""
        return self

    @property
    def race(self) -> BoundBlock:
        """Shares its samples with no other."""
        return self

    @property
    def needs(self) -> None:
        """Nothing: what is compiled is compiled on the way, and its time not counted."""

    @property
    def label(self) -> str:
        """What is measured."""
        return self.bound

    @property
    def about(self) -> dict[str, Any]:
        """Everything its numbers depend on."""
        return {**vars(self), "code": code_digest(*MEASURING)}

    def cut(self) -> Iterator[BoundBlock]:
        """Itself, in one piece."""
        yield self

    def record(self) -> MeasuredSoFar:
        """Where its outcome is put."""
        return MeasuredSoFar()


class MeasuredSoFar:
    """The outcome of a measurement, once it is there."""

    measured: Any = None

    def put(self, piece: BoundBlock, measured: Any) -> None:
        """Here it is."""
        self.measured = measured


AnyBlock = Block | BoundBlock


class Blocks(Protocol):
    """Blocks that belong together, as those of a panel."""

    @property
    def name(self) -> str:
        """What to call them."""
        ...

    def __iter__(self) -> Iterator[AnyBlock]:
        """The blocks."""
        ...


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
    """Whether every choice of a block is to be kept."""
    return isinstance(block, Block) and block.keeps_choices


def with_choices(block: Block, *, wanted: bool) -> Block:
    """A block that keeps its choices if they are wanted, in pieces that are then small enough to be in flight."""
    of_one = block.horizon * type_of_choices(block.environment.n_arms).itemsize
    size = max(1, min(block.size, MOST_CHOICES // of_one)) if wanted else block.size
    return replace(block, keeps_choices=wanted, size=size)


def plan_panel(
    panel: Panel, experiment: Experiment, seed: int, share: float = 1.0, *, choices: bool | None = None
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
    panel: Panel, curve: Curve, experiment: Experiment, seed: int, replications: int, value: float | None
) -> Block:
    """All replications of a policy at a swept value."""
    policy, environment = make_policy(panel, curve, value), make_environment(panel, value)
    horizon = resolve_horizon(panel, experiment.horizon, value)
    checkpoints = checked_checkpoints(None if panel.sweep is None else [horizon], horizon)
    late = make_feedback(panel, value)
    return Block(policy, environment, horizon, seed, 0, replications, checkpoints, late, experiment.block_size)
