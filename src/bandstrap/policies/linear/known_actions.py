"""The different actions observed so far, each with its rewards summed up."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import compiled_body, jitable
from bandstrap.policies.states.fields import (
    ArrayOfCounts,
    GrowingArray,
    GrowingCounts,
    Observations,
    State,
    StateTuple,
    growing,
    growing_in,
    replaced,
)
from bandstrap.policies.states.moments import add_reward


class Growing(StateTuple, Protocol):
    """Arrays with a row for each observation, of which ``size`` are in use."""

    @property
    def size(self) -> NDArray[np.int64]:
        """Number of rows in use."""


class KnownActions(NamedTuple):
    """Features of each, how many there are, and the pulls, mean and sum of squares about it of each one's rewards."""

    features: Observations
    size: ArrayOfCounts
    pulls: GrowingCounts
    means: GrowingArray
    squares: GrowingArray


def start_known(dimension: int, capacity: int) -> KnownActions:
    """None so far."""
    size, pulls = np.zeros(1, dtype=np.int64), np.zeros(capacity, dtype=np.int64)
    return KnownActions(np.zeros((capacity, dimension)), size, pulls, np.zeros(capacity), np.zeros(capacity))


def find_action(known: KnownActions, x: Floats) -> int:
    """The number of a known action, or -1."""
    same = (known.features[: known.size[0]] == x).all(axis=1)
    return int(same.argmax()) if same.any() else -1


@compiled_body(find_action)
def find_action_in_loops(known: KnownActions, x: Floats) -> int:
    """:func:`find_action` in loops, because arrays take 1.5 s to compile; of many actions, loops take long plain."""
    features = known.features
    d = x.size
    for i in range(known.size[0]):
        j = 0
        while j < d and features[i, j] == x[j]:
            j += 1
        if j == d:
            return i
    return -1


@jitable
def record(known: KnownActions, x: Floats, reward: float) -> int:
    """Take in a reward; the number of the action, new or known."""
    place = find_action(known, x)
    if place < 0:
        place = known.size[0]
        for j in range(len(x)):  # numba takes two seconds to compile what it says of an assignment that does not fit
            known.features[place, j] = x[j]
        known.size[0] += 1
    add_reward(known, place, reward)
    return place


def is_full(rows: object) -> TypeGuard[Growing]:
    """Return whether a field of a state is a tuple of arrays that grow, and there is no room left in them."""
    cls: type = rows.__class__
    grows = growing_in(cls)
    return bool(grows) and cast("Growing", rows).size[0] == len(getattr(rows, grows[0]))


def doubled(rows: State) -> State:
    """A tuple of arrays with twice the room along the first axis in those that grow."""
    larger = {name: getattr(rows, name) for name in growing(rows)}
    return replaced(rows, {name: np.concatenate([a, np.zeros_like(a)]) for name, a in larger.items()})
