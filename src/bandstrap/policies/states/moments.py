"""What a policy that looks at the spread of rewards remembers of an arm: count, mean and sum of squared deviations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import inlined
from bandstrap.policies.states.fields import Counts, Numbers, Order


class State(NamedTuple):
    """Pulls, mean and sum of squared deviations from the mean of each arm, and the order that breaks ties."""

    order: Order
    pulls: Counts
    means: Numbers
    squares: Numbers


def no_rewards(n_arms: int, order: NDArray[np.int64]) -> State:
    """The state before the first reward."""
    return State(order, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), np.zeros(n_arms))


@inlined
def add_reward(moments: Any, arm: int, reward: float) -> None:
    """Welford's update of ``pulls``, ``means`` and ``squares``, exactly 0 in the last while all rewards are equal."""
    moments.pulls[arm] += 1
    deviation = reward - moments.means[arm]
    moments.means[arm] += deviation / moments.pulls[arm]
    moments.squares[arm] += deviation * (reward - moments.means[arm])


def learn(params: Any, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Add the reward."""
    add_reward(state, arm, reward)
