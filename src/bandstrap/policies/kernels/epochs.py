"""Kernels played with what is left of the rewards when epochs are swept, or discounted.

The effective pulls and means of ``states/epochs.py`` take the places of the pulls and means. What else a policy keeps of
each arm is its own: :class:`ArmSums` says how.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel, borrowing, inlined, jitable, rebuilt
from bandstrap.policies.states.epochs import (
    ORIGIN,
    RECENT,
    STRENGTH,
    EpochSettings,
    close_epoch,
    note_reward,
    note_time,
    rounds_of,
    solve,
)


class Params(NamedTuple):
    """Parameters of the policy and of its epochs, and the number of first rewards per arm."""

    policy: Any
    epochs: EpochSettings
    least: float


class ArmSums(NamedTuple):
    """Interface that epochs need of the sums that a policy keeps: functions of a state with ``pulls``, ``weights``
    and ``epochs``.

    Parameters
    ----------
    as_shown
        The state that the plain kernel is shown.
    take_in
        Add a reward to the sums, and to the weight, of its arm.
    mean
        Mean of an arm, counted from the origin.
    squares
        Sum of an arm's squared deviations.
    show, show_swept
        Show an arm as it is, or with the mean and effective pulls that are left when epochs are swept.
    discount
        Multiply what an arm has.
    """

    as_shown: Callable[..., Any]
    take_in: Callable[..., None]
    mean: Callable[..., float]
    squares: Callable[..., float]
    show: Callable[..., None]
    show_swept: Callable[..., None]
    discount: Callable[..., None]


# --- what functions of the policy replace ---------------------------------------------------------------------------


@jitable
def policy_prepare(params: Any, state: Any, round_: float) -> Any:
    """``prepare`` of the plain kernel."""


@jitable
def policy_score(params: Any, state: Any, arm: int, shared: Any, rng: np.random.Generator) -> float:
    """``score`` of the plain kernel."""
    return 0.0


@inlined
def as_shown(state: Any) -> Any:
    """Return the state that the plain kernel is shown."""


@jitable
def take_in(params: Params, state: Any, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Add a reward to the sums, and to the weight, of its arm."""


@jitable
def mean(state: Any, arm: int, origin: float) -> float:
    """Return the mean of an arm, counted from the origin."""
    return 0.0


@jitable
def squares(state: Any, arm: int) -> float:
    """Return the sum of an arm's squared deviations."""
    return 0.0


@jitable
def show(state: Any, arm: int) -> None:
    """Show an arm as it is."""


@jitable
def show_swept(state: Any, arm: int, least: float) -> None:
    """Show an arm with the mean and effective pulls that are left when epochs are swept."""


@jitable
def discount(state: Any, arm: int, factor: float) -> None:
    """Multiply what an arm has by a factor."""


# --- the kernel -------------------------------------------------------------------------------------------------------


def prepare(params: Params, state: Any, round_: int) -> Any:
    """Run the policy's ``prepare`` on the swept state."""
    return policy_prepare(params.policy, as_shown(state), rounds_of(params.epochs, state.weights, round_))


def score(params: Params, state: Any, arm: int, shared: Any, rng: np.random.Generator) -> float:
    """The policy's index of what it is shown."""
    return policy_score(params.policy, as_shown(state), arm, shared, rng)


@jitable
def note_means(state: Any) -> None:
    """Count the arms' means from the origin."""
    for k in range(len(state.weights)):
        state.epochs.relative[k] = mean(state, k, state.epochs.totals[ORIGIN])


@jitable
def show_arms(state: Any, first: int, end: int, least: float) -> None:
    """Show some arms as they are; all arms as they are when epochs are swept, if they are."""
    epochs, weights = state.epochs, state.weights
    if epochs.totals[STRENGTH] > 0.0:
        note_means(state)
        solve(epochs, weights, epochs.totals[STRENGTH])
        for k in range(len(weights)):
            if weights[k] > 0.0:
                show_swept(state, k, least)
    else:
        for k in range(first, end):
            if weights[k] > 0.0:
                show(state, k)


@jitable
def end_epoch(settings: EpochSettings, state: Any, least: float) -> None:
    """Close the epoch, and discount what the arms have."""
    total = 0.0
    for k in range(len(state.weights)):
        total += squares(state, k)
    note_means(state)
    close_epoch(settings, state.epochs, state.weights, total)
    if settings.discount < 1.0:
        for k in range(len(state.weights)):
            discount(state, k, settings.discount)
    show_arms(state, 0, len(state.weights), least)


def learn(params: Params, state: Any, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into the sums of its arm and of its epoch."""
    note_reward(params.epochs, state.epochs, arm, reward)
    state.pulls[arm] += 1
    take_in(params, state, arm, reward, round_, rng)
    from_origin = mean(state, arm, state.epochs.totals[ORIGIN])
    note_time(params.epochs, state.epochs, arm, reward, state.weights[arm], from_origin)
    if state.epochs.totals[RECENT] >= params.epochs.length:
        end_epoch(params.epochs, state, params.least)
    else:
        show_arms(state, arm, arm + 1, params.least)


@functools.cache
def with_epochs(kernel: Kernel, sums: ArmSums) -> Kernel:
    """A kernel that sweeps epochs."""
    stand_ins = (as_shown, take_in, mean, squares, show, show_swept, discount)
    replaced: dict[Any, Any] = dict(zip(stand_ins, sums, strict=True))
    replaced |= {policy_prepare: kernel.prepare, policy_score: kernel.score}
    functions: dict[str, Any] = {f.__name__: rebuilt(f, replaced) for f in (learn, prepare, score)}
    if kernel.borrows:
        functions = {name: borrowing(function) for name, function in functions.items()}
    return Kernel(f"{kernel.name}_epochs", **functions)
