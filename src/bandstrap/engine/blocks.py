"""Blocks of replications: what to play, and playing it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.plain import play_plain
from bandstrap.engine.play import compiled_play, compiled_play_linear
from bandstrap.engine.streams import ENVIRONMENT, POLICY, stream
from bandstrap.errors import Floats, InvalidInput, SlowWarning, requirement


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


class Block(NamedTuple):
    """A range of replications to play, and all it takes to play them."""

    policies: tuple[Any, ...]
    environment: Any
    horizon: int
    seed: int
    first: int
    last: int
    checkpoints: NDArray[np.int64]


class Played(NamedTuple):
    """Regret at the checkpoints ``(policy, replication, checkpoint)`` and pulls ``(policy, replication, arm)``."""

    regret: Floats
    pulls: NDArray[np.int64]


def play_block(block: Block) -> Played:
    """Play a block of replications with compiled play."""
    n_arms = block.environment.n_arms
    shape = (len(block.policies), block.last - block.first)
    regret = np.empty((*shape, block.checkpoints.size))
    pulls = np.empty((*shape, n_arms), dtype=np.int64)
    choices = np.empty(block.horizon, dtype=np.int64)
    rounds = np.arange(block.horizon)
    params = [policy.make_params(block.horizon) for policy in block.policies]
    for i, replication in enumerate(range(block.first, block.last)):
        means, *tape = draw_tape(block.environment, block.horizon, stream(block.seed, replication, ENVIRONMENT))
        gaps = means.max(axis=-1, keepdims=True) - means
        for p, policy in enumerate(block.policies):
            rng = stream(block.seed, replication, POLICY)
            play_policy(policy, params[p], tape, choices, rng, by_round=means.ndim == 2)
            lost = gaps[choices] if gaps.ndim == 1 else gaps[rounds, choices]
            regret[p, i] = np.cumsum(lost)[block.checkpoints - 1]
            pulls[p, i] = np.bincount(choices, minlength=n_arms)
    return Played(regret, pulls)


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
    by_round: bool = False,
) -> None:
    """Play one replication with one policy: compiled, unless it is a plain object."""
    rewards = tape[0]
    if policy.plays == "actions":
        action_sets = tape[1]
        state = policy.start(action_sets.shape[-1], choices.size, rng)
        compiled_play_linear(policy.kernel, params, state, action_sets, rewards, rng, choices)
        return
    n_arms = len(rewards)
    state = policy.start(n_arms, choices.size, rng)
    if policy.kernel is None:
        play_plain(state, policy.label, rewards, choices, by_round)
    else:
        compiled_play(policy.kernel, params, state, rewards, rng, choices, n_arms * policy.n_initial, by_round)


def warm(policies: Sequence[PolicyLike], environment: EnvironmentLike) -> None:
    """Compile or load ``play`` for each policy before workers start, since two must not compile the same at once."""
    for policy in policies:
        horizon = environment.n_arms * max(policy.n_initial, 1) + 1
        means, *tape = draw_tape(environment, horizon, np.random.default_rng(0))
        if policy.kernel is None:
            message = (
                f"{policy.label} is a plain object: it is played in Python, many times slower than a compiled policy."
            )
            warnings.warn(message, SlowWarning, stacklevel=3)
        else:
            policy.kernel.check_unchanged()
        choices = np.empty(horizon, dtype=np.int64)
        with in_a_sentence(policy):
            play_policy(
                policy, policy.make_params(horizon), tape, choices, np.random.default_rng(0), by_round=means.ndim == 2
            )


@contextmanager
def in_a_sentence(policy: PolicyLike) -> Iterator[None]:
    """Tell a failed compilation in a sentence; numba's own words are its cause."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("numba."):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if not line.startswith("Failed in")), type(error).__name__)
        raise InvalidInput(
            f"The kernel {policy.kernel.name!r} of {policy.label} cannot be compiled: {reason.rstrip('.')}. The functions "
            "it calls must be marked with bandstrap.policies.jitable."
        ) from error
