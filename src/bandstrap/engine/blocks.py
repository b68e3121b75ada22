"""Blocks of replications: what to play, playing it, and the outcome."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bandstrap.arrays import Floats
from bandstrap.engine.feedback import AT_ONCE, Arrivals, Feedback
from bandstrap.engine.interrupts import step
from bandstrap.engine.plain import play_plain
from bandstrap.engine.play import (
    compiled_play,
    compiled_play_late,
    compiled_play_linear,
    compiled_play_linear_late,
    in_a_sentence,
)
from bandstrap.engine.streams import ENVIRONMENT, POLICY, stream
from bandstrap.errors import SlowWarning, brief, requirement
from bandstrap.sources import code_digest


class PolicyLike(Protocol):
    """What the simulator needs of a policy."""

    @property
    def kernel(self) -> Any:
        """Its compiled functions; a plain object has none."""
        ...

    @property
    def plays(self) -> str:
        """``"arms"`` or ``"actions"``."""
        ...

    @property
    def n_initial(self) -> int:
        """Pulls of each arm before it chooses."""
        ...

    @property
    def support(self) -> tuple[float, float]:
        """The interval rewards must lie in."""
        ...

    @property
    def label(self) -> str:
        """Name shown in results."""
        ...

    def make_params(self, horizon: int | None) -> Any:
        """Numbers for the kernel."""
        ...

    def start(self, size: int, capacity: int, rng: np.random.Generator, /) -> Any:
        """A new state for ``size`` arms, or for actions with ``size`` features."""
        ...


class EnvironmentLike(Protocol):
    """What the simulator needs of an environment."""

    n_arms: int

    @property
    def offers(self) -> tuple[str, ...]:
        """Who can play: policies of ``"arms"``, of ``"actions"``, or both."""
        ...

    @property
    def support(self) -> tuple[float, float]:
        """The interval all rewards lie in."""
        ...

    @property
    def label(self) -> str:
        """Name shown in results."""
        ...

    def tape(self, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means and rewards of one replication, and the sets of actions where there are any."""
        ...


# Replications in a block: handing one out costs nothing compared with playing it, and a stopped run loses few.
BLOCK_SIZE = 25
N_CHECKPOINTS = 200


@dataclass(frozen=True, eq=False)
class Block:
    """Replications ``first`` to ``last - 1`` of a policy on an environment, and the rounds at which regret is recorded."""

    policy: PolicyLike
    environment: EnvironmentLike
    horizon: int
    seed: int
    first: int
    last: int
    checkpoints: NDArray[np.int64]
    feedback: Feedback = AT_ONCE

    @property
    def work(self) -> int:
        """How much work it is: replications."""
        return self.last - self.first

    @property
    def group(self) -> tuple[Any, ...]:
        """Blocks of one group meet the same tapes, which are drawn once for all of them."""
        return *self.race, self.first, self.last

    @property
    def race(self) -> tuple[Any, ...]:
        """Blocks of one race meet the same tapes, delays and losses in the replications they share."""
        return self.environment.label, self.feedback.label, self.horizon, self.seed

    @property
    def needs(self) -> tuple[str, str, bool]:
        """The compiled code it is played with."""
        policy = self.policy
        code = policy.label if policy.kernel is None else policy.kernel.identity.digest
        return code, policy.plays, self.feedback.is_at_once

    @property
    def label(self) -> str:
        """Who plays."""
        return self.policy.label

    @cached_property
    def about(self) -> dict[str, Any]:
        """Everything its numbers depend on, as text and numbers."""
        player = getattr(self.policy, "made", type(self.policy))
        return {
            "policy": self.policy.label,
            "environment": self.environment.label,
            "feedback": self.feedback.label,
            "horizon": self.horizon,
            "seed": self.seed,
            "first": self.first,
            "last": self.last,
            "checkpoints": self.checkpoints.tolist(),
            "code": code_digest(__name__, player.__module__, type(self.environment).__module__),
        }

    def cut(self, size: int = BLOCK_SIZE) -> Iterator[Block]:
        """The block in pieces of at most ``size`` replications, each made when it is asked for."""
        starts = range(self.first, self.last, size)
        return (replace(self, first=first, last=min(first + size, self.last)) for first in starts)

    def record(self) -> PlayedSoFar:
        """Where its pieces are put together."""
        shape = self.last - self.first, self.checkpoints.size, self.environment.n_arms
        return PlayedSoFar(self.first, np.empty(shape[:2]), np.empty(shape[::2], dtype=np.int64))


class Played(NamedTuple):
    """The outcome of a block: regret ``(replication, checkpoint)``, pulls ``(replication, arm)``, core-seconds."""

    regret: Floats
    pulls: NDArray[np.int64]
    seconds: float


class PlayedSoFar:
    """The outcome of a block while its pieces come in: room for all of it, and which replications are there."""

    def __init__(self, first: int, regret: Floats, pulls: NDArray[np.int64]) -> None:
        self.regret, self.pulls = regret, pulls
        self.is_there = np.zeros(len(regret), dtype=np.bool_)
        self._first = first
        self._nanoseconds = 0  # whole numbers, whose sum is the same in whatever order pieces come in

    def put(self, piece: Block, played: Played) -> None:
        """Add a piece."""
        rows = slice(piece.first - self._first, piece.last - self._first)
        self.regret[rows], self.pulls[rows], self.is_there[rows] = played.regret, played.pulls, True
        self._nanoseconds += round(1e9 * played.seconds)

    @property
    def seconds(self) -> float:
        """Core-seconds of all pieces."""
        return self._nanoseconds / 1e9


def checked_checkpoints(checkpoints: Sequence[int] | None, horizon: int) -> NDArray[np.int64]:
    """Rounds at which regret is recorded, ascending, the last round included."""
    if checkpoints is None:
        return np.unique(np.linspace(1, horizon, min(N_CHECKPOINTS, horizon)).round().astype(np.int64))
    try:
        marks = np.unique(np.asarray(checkpoints))
    except (TypeError, ValueError):  # lists of different lengths, and what has no order
        marks = np.array([])
    if marks.size == 0 or marks.dtype.kind not in "iu" or marks[0] < 1 or marks[-1] > horizon:
        raise requirement("checkpoints", "simulate", f"rounds between 1 and {horizon}", brief(checkpoints))
    return np.union1d(marks, [horizon]).astype(np.int64)


def play_blocks(blocks: Sequence[Block]) -> list[Played]:
    """Play blocks of one group, side by side on the same tapes."""
    one = blocks[0]
    n_arms = one.environment.n_arms
    found = [
        Played(np.empty((block.work, block.checkpoints.size)), np.empty((block.work, n_arms), dtype=np.int64), 0.0)
        for block in blocks
    ]
    seconds = np.zeros(len(blocks))
    choices = np.empty(one.horizon, dtype=np.int64)
    rounds = np.arange(one.horizon)
    params = [block.policy.make_params(block.horizon) for block in blocks]
    for i, replication in enumerate(range(one.first, one.last)):
        start = time.thread_time()
        means, *tape = draw_tape(one.environment, one.horizon, stream(one.seed, replication, ENVIRONMENT))
        gaps = means.max(axis=-1, keepdims=True) - means
        arrivals = None if one.feedback.is_at_once else one.feedback.arrivals(one.horizon, one.seed, replication)
        drawing = time.thread_time() - start
        for p, block in enumerate(blocks):
            start = time.thread_time()
            rng = stream(block.seed, replication, POLICY)
            play_policy(block.policy, params[p], tape, choices, rng, arrivals, by_round=means.ndim == 2)
            lost = gaps[choices] if gaps.ndim == 1 else gaps[rounds, choices]
            found[p].regret[i] = np.cumsum(lost)[block.checkpoints - 1]
            found[p].pulls[i] = np.bincount(choices, minlength=n_arms)
            seconds[p] += time.thread_time() - start + drawing
            step()
    return [played._replace(seconds=float(spent)) for played, spent in zip(found, seconds, strict=True)]


def draw_tape(environment: EnvironmentLike, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
    """Means and rewards of one replication, and sets of actions where there are any; refused unless they fit.

    Means that change are given for each round, shape ``(horizon, n_arms)``; rewards are then those of rounds.
    """
    owner = f"the environment {environment.label}"
    parts = environment.tape(horizon, rng)
    try:
        means, rewards, *others = (np.ascontiguousarray(part, dtype=np.float64) for part in parts)
    except (TypeError, ValueError):
        raise requirement("tape", owner, "a pair of means and rewards, made of numbers", repr(type(parts))) from None
    n_arms = environment.n_arms
    if means.shape not in ((n_arms,), (horizon, n_arms)):
        rule = (
            f"one per arm, shape ({n_arms},), or one per round and arm, shape ({horizon}, {n_arms}), where they change"
        )
        raise requirement("means", owner, rule, f"shape {means.shape}")
    if rewards.shape != (n_arms, horizon):
        rule = f"one row per arm, shape ({n_arms}, {horizon})"
        raise requirement("rewards", owner, rule, f"shape {rewards.shape}")
    for name, part in (("means", means), ("rewards", rewards)):
        if not np.isfinite(part).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(part))[0])
            raise requirement(name, owner, "finite", f"{part[where]} at {where}")
    return means, rewards, *others


def play_policy(
    policy: PolicyLike,
    params: Any,
    tape: Sequence[Floats],
    choices: NDArray[np.int64],
    rng: np.random.Generator,
    arrivals: Arrivals | None = None,
    by_round: bool = False,
) -> None:
    """Play one replication with one policy: compiled, unless it is a plain object; by default it learns at once."""
    rewards = tape[0]
    if policy.plays == "actions":
        game = tape[1], rewards, rng, choices
        state = policy.start(tape[1].shape[-1], choices.size, rng)
        if arrivals is None:
            compiled_play_linear(policy.kernel, params, state, *game)
        else:
            compiled_play_linear_late(policy.kernel, params, state, *game, arrivals)
        return
    n_arms = len(rewards)
    state = policy.start(n_arms, choices.size, rng)
    if policy.kernel is None:
        arrivals = AT_ONCE.arrivals(choices.size, 0, 0) if arrivals is None else arrivals
        play_plain(state, policy.label, rewards, choices, arrivals, by_round)
    elif arrivals is None:
        compiled_play(policy.kernel, params, state, rewards, rng, choices, n_arms * policy.n_initial, by_round)
    else:
        compiled_play_late(policy.kernel, params, state, rewards, rng, choices, arrivals, policy.n_initial, by_round)


def warm(block: Block) -> None:
    """Compile or load what a block's policy is played with.

    This is done before any block of the policy is handed out, since two workers must not compile the same at once.
    """
    warm_policy(block.policy, block.environment, is_late=not block.feedback.is_at_once)


def warm_policy(policy: PolicyLike, environment: EnvironmentLike, *, is_late: bool = False) -> None:
    """Play a few rounds, so that a policy that cannot be played is found at once."""
    if policy.kernel is None:
        message = f"{policy.label} is a plain object: it is played in Python, many times slower than a compiled policy."
        warnings.warn(message, SlowWarning, stacklevel=2)
    else:
        policy.kernel.forget_identity()
    horizon = environment.n_arms * max(policy.n_initial, 1) + 1
    means, *tape = draw_tape(environment, horizon, np.random.default_rng(0))
    choices = np.empty(horizon, dtype=np.int64)
    params = policy.make_params(horizon)
    # Nothing is late so soon, or a policy might not come to choose.
    arrivals = AT_ONCE.arrivals(horizon, 0, 0) if is_late else None
    with in_a_sentence(policy.kernel, policy.label):
        play_policy(policy, params, tape, choices, np.random.default_rng(0), arrivals, by_round=means.ndim == 2)
