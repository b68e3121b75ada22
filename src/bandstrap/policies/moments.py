"""What a policy that looks at the spread of rewards remembers of an arm: count, mean and sum of squared deviations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.errors import Floats


class State(NamedTuple):
    """Pulls, mean and sum of squared deviations from the mean of each arm, and the order that breaks ties."""

    order: NDArray[np.int64]
    pulls: NDArray[np.int64]
    means: Floats
    squares: Floats


def no_rewards(n_arms: int, order: NDArray[np.int64]) -> State:
    """The state before the first reward."""
    return State(order, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), np.zeros(n_arms))


def learn(params: Any, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Welford's update, exactly 0 in ``squares`` while all rewards are equal."""
    state.pulls[arm] += 1
    deviation = reward - state.means[arm]
    state.means[arm] += deviation / state.pulls[arm]
    state.squares[arm] += deviation * (reward - state.means[arm])
