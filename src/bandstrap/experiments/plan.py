"""From an experiment to blocks: the pieces of work that are run, stored and never run twice.

A block is known by a key made of everything its numbers depend on: the policy and the environment with their options, the
horizon, the seed, the replications, and the sources of the code that plays. Labels, titles and published numbers are not
among them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bandstrap.calls import parse_call
from bandstrap.engine.plain import PlainPolicy
from bandstrap.experiments.spec import (
    Curve,
    Experiment,
    Panel,
    make_environment,
    make_policy,
    resolve_horizon,
)
from bandstrap.sources import code_digest

# Replications in a block of play: a few seconds of the slowest policy.
BLOCK_SIZE = 20
# Where blocks are played and bounds measured: what these import, a block's numbers depend on.
PLAYING = "bandstrap.engine.blocks"
MEASURING = ("bandstrap.bounds", "bandstrap.bounds.coverage")


@dataclass(frozen=True)
class PlayBlock:
    """Replications ``first`` to ``last - 1`` of a policy, with regret all along or at the last round alone."""

    policy: str
    environment: str
    horizon: int
    seed: int
    first: int
    last: int
    along: bool = True
    # Digest of the code that plays it.
    code: str = ""

    @property
    def work(self) -> int:
        """How much work it is, for the progress bar: replications."""
        return self.last - self.first


@dataclass(frozen=True)
class BoundBlock:
    """A bound at one sample size."""

    bound: str
    distribution: str
    sample_size: int
    alpha: float
    replications: int
    seed: int
    # Digest of the code that measures it.
    code: str = ""

    @property
    def work(self) -> int:
        """How much work it is, for the progress bar: about a replication of play."""
        return 1


Block = PlayBlock | BoundBlock


@dataclass(frozen=True)
class CurvePlan:
    """The blocks of one curve, at each place of the axis where it has points."""

    curve: Curve
    # Swept values or sample sizes; a single ``None`` for regret against rounds.
    places: tuple[float | None, ...]
    blocks: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True)
class PanelPlan:
    """The curves of one panel."""

    panel: Panel
    curves: tuple[CurvePlan, ...]

    def __iter__(self) -> Iterator[Block]:
        return (block for curve in self.curves for blocks in curve.blocks for block in blocks)


def code_of_play(policy: Any, environment: Any) -> str:
    """Digest of the code that plays a policy on an environment."""
    player = policy.made if isinstance(policy, PlainPolicy) else type(policy)
    return code_digest(PLAYING, player.__module__, type(environment).__module__)


def code_of_measuring() -> str:
    """Digest of the code that measures bounds, which one of them may find another by name in."""
    return code_digest(*MEASURING)


def key(block: Block) -> str:
    """The name a block is stored under."""
    about: dict[str, Any] = {"kind": type(block).__name__, **vars(block)}
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]


def plan_panel(panel: Panel, experiment: Experiment, seed: int, share: float = 1.0) -> PanelPlan:
    """Cut a panel into blocks; ``share`` of the replications are run, and at least two unless one is wanted."""
    curves = []
    for curve in panel.curves:
        wanted = curve.replications or panel.replications or experiment.replications
        replications = max(min(2, wanted), round(share * wanted))
        if panel.plot == "bounds":
            places: tuple[float | None, ...] = tuple(float(n) for n in panel.sample_sizes or ())
            bound, law = str(parse_call(curve.bound or "")), str(panel.distribution)
            blocks: tuple[tuple[Block, ...], ...] = tuple(
                (BoundBlock(bound, law, int(n or 0), panel.alpha, replications, seed, code_of_measuring()),)
                for n in places
            )
        else:
            places = panel.sweep.values if panel.sweep is not None else (None,)
            blocks = tuple(play_blocks(panel, curve, experiment, seed, replications, value) for value in places)
        curves.append(CurvePlan(curve, places, blocks))
    return PanelPlan(panel, tuple(curves))


def play_blocks(
    panel: Panel, curve: Curve, experiment: Experiment, seed: int, replications: int, value: float | None
) -> tuple[PlayBlock, ...]:
    """The blocks of a policy at a swept value."""
    policy, environment = make_policy(panel, curve, value), make_environment(panel, value)
    horizon = resolve_horizon(panel, experiment.horizon, value)
    code = code_of_play(policy, environment)
    whole = PlayBlock(policy.label, environment.label, horizon, seed, 0, replications, code=code)
    return cut(whole, BLOCK_SIZE)


def cut(whole: PlayBlock, size: int) -> tuple[PlayBlock, ...]:
    """A block in pieces of at most ``size`` replications."""
    return tuple(
        dataclasses.replace(whole, first=first, last=min(first + size, whole.last))
        for first in range(whole.first, whole.last, size)
    )
