"""Memory of a policy that uses the spread of rewards: count, mean and sum of squared deviations."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import inlined
from bandstrap.policies.states.fields import Counts, Numbers, Order


class State(NamedTuple):
    """Pulls, mean and sum of squared deviations from the mean of each arm, and the order that breaks ties."""

    order: Order
    pulls: Counts
    means: Numbers
    squares: Numbers


class Moments(Protocol):
    """Count, mean and sum of squared deviations for Welford's update."""

    @property
    def pulls(self) -> NDArray[np.int64]:
        """Number of rewards of each arm or action."""

    @property
    def means(self) -> Floats:
        """Their means."""

    @property
    def squares(self) -> Floats:
        """Sums of squared deviations from the means."""


def no_rewards(n_arms: int, order: NDArray[np.int64]) -> State:
    """The state before the first reward."""
    return State(order, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), np.zeros(n_arms))


@inlined
def add_reward(moments: Moments, arm: int, reward: float) -> None:
    """Welford's update of ``pulls``, ``means`` and ``squares``, exactly 0 in the last while all rewards are equal."""
    moments.pulls[arm] += 1
    deviation = reward - moments.means[arm]
    moments.means[arm] += deviation / moments.pulls[arm]
    moments.squares[arm] += deviation * (reward - moments.means[arm])


def learn(params: object, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Add the reward."""
    add_reward(state, arm, reward)
