"""Memory of a policy that uses means alone: count and sum of rewards.

``moments.py`` is the same with the spread of the rewards.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import jitable
from bandstrap.policies.states.fields import Counts, Numbers, Order


class State(NamedTuple):
    """Pulls and sum of rewards of each arm, and the order that breaks ties."""

    order: Order
    pulls: Counts
    sums: Numbers


def no_rewards(n_arms: int, order: NDArray[np.int64]) -> State:
    """The state before the first reward."""
    return State(order, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms))


def learn(params: object, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Count the pull and add the reward."""
    state.pulls[arm] += 1
    state.sums[arm] += reward


@jitable
def leader(state: State) -> int:
    """The arm with the highest mean."""
    best = -1
    highest = -math.inf
    for i in range(len(state.order)):
        arm = state.order[i]
        mean = state.sums[arm] / state.pulls[arm]
        if mean > highest:
            best = arm
            highest = mean
    return best
