"""Kernels that look at pulls, mean and variance of each arm, played with what is left of them when epochs are swept.

The effective pulls and means of ``states/epochs.py`` take the places of the pulls and means; variances stay as they are. An
arm never counts as fewer rewards than those with which the policy begins, if it has them.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, jitable, rebuilt
from bandstrap.policies.states.epochs import (
    ORIGIN,
    RECENT,
    STRENGTH,
    DiscountedPulls,
    Epochs,
    EpochSettings,
    OfAll,
    close_epoch,
    no_epochs,
    note_reward,
    note_time,
    rounds_of,
    solve,
)
from bandstrap.policies.states.fields import Counts, Numbers, Order
from bandstrap.policies.states.moments import State as Moments
from bandstrap.policies.states.moments import add_reward


class Params(NamedTuple):
    """Parameters of the policy and of its epochs, and the number of first rewards per arm."""

    policy: Any
    epochs: EpochSettings
    least: float


class State(NamedTuple):
    """Pulls; discounted pulls and squares, and means; and the three as a policy is shown them."""

    order: Order
    pulls: Counts
    weights: DiscountedPulls
    means: Numbers
    squares: OfAll
    shown_weights: DiscountedPulls
    shown_means: OfAll
    shown_squares: OfAll
    epochs: Epochs


def no_rewards(n_arms: int, order: NDArray[np.int64]) -> State:
    """The state before the first reward."""
    one = np.zeros(n_arms)
    new = one.copy
    return State(order, one.astype(np.int64), one, new(), new(), new(), new(), new(), no_epochs(n_arms))


@jitable
def policy_prepare(params: Any, state: Moments, round_: float) -> Any:
    """Placeholder for the policy's ``prepare``."""
    return 0.0


@jitable
def policy_score(params: Any, state: Moments, arm: int, shared: Any, rng: np.random.Generator) -> float:
    """Placeholder for the policy's ``score``."""
    return 0.0


def prepare(params: Params, state: State, round_: int) -> Any:
    """Run the policy's ``prepare`` on the swept state."""
    shown = Moments(state.order, state.shown_weights, state.shown_means, state.shown_squares)
    return policy_prepare(params.policy, shown, rounds_of(params.epochs, state.weights, round_))


def score(params: Params, state: State, arm: int, shared: Any, rng: np.random.Generator) -> float:
    """The policy's index of what it is shown."""
    shown = Moments(state.order, state.shown_weights, state.shown_means, state.shown_squares)
    return policy_score(params.policy, shown, arm, shared, rng)


@jitable
def note_means(state: State) -> None:
    """Count the arms' means from the origin."""
    for k in range(len(state.means)):
        state.epochs.relative[k] = state.means[k] - state.epochs.totals[ORIGIN]


@jitable
def show(state: State, arm: int, least: float) -> None:
    """Show an arm as it is; all arms as they are when epochs are swept, if they are."""
    epochs, weights = state.epochs, state.weights
    if epochs.totals[STRENGTH] > 0.0:
        note_means(state)
        solve(epochs, weights, epochs.totals[STRENGTH])
        for k in range(len(weights)):
            if weights[k] > 0.0:
                shown = max(1.0 / epochs.inverse_weights[k], min(weights[k], least))
                state.shown_weights[k] = shown
                state.shown_means[k] = state.means[k] + (epochs.effects[k] - epochs.relative[k])
                state.shown_squares[k] = state.squares[k] * (shown / weights[k])
    else:
        state.shown_weights[arm] = weights[arm]
        state.shown_means[arm] = state.means[arm]
        state.shown_squares[arm] = state.squares[arm]


@jitable
def end_epoch(settings: EpochSettings, state: State, least: float) -> None:
    """Close the epoch, and discount what the arms have."""
    squares = 0.0
    for k in range(len(state.squares)):
        squares += state.squares[k]
    note_means(state)
    close_epoch(settings, state.epochs, state.weights, squares)
    for k in range(len(state.squares)):
        state.weights[k] *= settings.discount
        state.squares[k] *= settings.discount
    show(state, 0, least)
    if state.epochs.totals[STRENGTH] == 0.0:
        for k in range(1, len(state.squares)):
            show(state, k, least)


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into the sums of its arm and of its epoch."""
    note_reward(params.epochs, state.epochs, arm, reward)
    state.pulls[arm] += 1
    add_reward(Moments(state.order, state.weights, state.means, state.squares), arm, reward)
    mean = state.means[arm] - state.epochs.totals[ORIGIN]
    note_time(params.epochs, state.epochs, arm, reward, state.weights[arm], mean)
    if state.epochs.totals[RECENT] >= params.epochs.length:
        end_epoch(params.epochs, state, params.least)
    else:
        show(state, arm, params.least)


def as_shown(state: State) -> Moments:
    """State that the policy is shown."""
    return Moments(state.order, state.shown_weights, state.shown_means, state.shown_squares)


@functools.cache
def with_epochs(kernel: Kernel) -> Kernel:
    """A kernel of moments that sweeps epochs."""
    assert kernel.prepare is not None  # noqa: S101 - an index has both
    assert kernel.score is not None  # noqa: S101
    replaced: dict[Any, Any] = {policy_prepare: kernel.prepare, policy_score: kernel.score}
    return Kernel(
        f"{kernel.name}_epochs", learn=learn, prepare=rebuilt(prepare, replaced), score=rebuilt(score, replaced)
    )
