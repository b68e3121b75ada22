"""State shown to kernels of pulls, mean and variance when epochs are swept.

Variances stay as they are. An arm never counts as fewer rewards than those with which the policy begins, if it has them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import inlined, jitable
from bandstrap.policies.kernels.epochs import ArmSums, Params
from bandstrap.policies.states.epochs import DiscountedPulls, Epochs, OfAll, no_epochs
from bandstrap.policies.states.fields import Counts, Numbers, Order
from bandstrap.policies.states.moments import State as Moments
from bandstrap.policies.states.moments import add_reward


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


@inlined
def as_shown(state: State) -> Moments:
    """State that the policy is shown."""
    return Moments(state.order, state.shown_weights, state.shown_means, state.shown_squares)


@jitable
def take_in(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Welford's update."""
    add_reward(Moments(state.order, state.weights, state.means, state.squares), arm, reward)


@jitable
def mean(state: State, arm: int, origin: float) -> float:
    """Mean of an arm, counted from the origin."""
    return state.means[arm] - origin


@jitable
def squares(state: State, arm: int) -> float:
    """Sum of an arm's squared deviations."""
    return state.squares[arm]


@jitable
def show(state: State, arm: int) -> None:
    """Show an arm as it is."""
    state.shown_weights[arm] = state.weights[arm]
    state.shown_means[arm] = state.means[arm]
    state.shown_squares[arm] = state.squares[arm]


@jitable
def show_swept(state: State, arm: int, least: float) -> None:
    """Show an arm as it is when epochs are swept."""
    weight = state.weights[arm]
    shown = max(1.0 / state.epochs.inverse_weights[arm], min(weight, least))
    state.shown_weights[arm] = shown
    state.shown_means[arm] = state.means[arm] + (state.epochs.effects[arm] - state.epochs.relative[arm])
    state.shown_squares[arm] = state.squares[arm] * (shown / weight)


@jitable
def discount(state: State, arm: int, factor: float) -> None:
    """Multiply what an arm has."""
    state.weights[arm] *= factor
    state.squares[arm] *= factor


SUMS = ArmSums(as_shown, take_in, mean, squares, show, show_swept, discount)
