"""What a policy that resamples remembers of an arm: every reward."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.policies.fields import Counts, History, Order


class State(NamedTuple):
    """Pulls and rewards of each arm, and the order that breaks ties."""

    order: Order
    pulls: Counts
    history: History


def no_rewards(n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
    """The state before the first reward, with room for ``capacity`` of them per arm."""
    return State(order, np.zeros(n_arms, dtype=np.int64), np.zeros((n_arms, capacity)))


def learn(params: Any, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Keep the reward."""
    state.history[arm][state.pulls[arm]] = reward
    state.pulls[arm] += 1
