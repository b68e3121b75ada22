"""Steps of a kernel: what all of play is made of.

They are generic: called from Python they run the kernel's plain functions. Compiled for a kernel, they are replaced by the
kernel's own, see ``compiled.py``. The online object and the simulator thus share every formula.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.engine.compiler.refusals import ARM, NOBODY, NotANumber, Place, as_arm


def learn(
    kernel: Kernel, params: Any, state: Any, arm: Any, reward: float, round_: int, rng: np.random.Generator
) -> None:
    """Take in the reward of an arm, or of an action given by its features."""
    kernel.learn(params, state, arm, reward, round_, rng)


def prepare(kernel: Kernel, params: Any, state: Any, round_: int) -> Any:
    """Compute what all arms share in a round."""
    assert kernel.prepare is not None  # noqa: S101 - a kernel has a choose or both of these
    return kernel.prepare(params, state, round_)


def score(kernel: Kernel, params: Any, state: Any, arm: int, shared: Any, rng: np.random.Generator) -> float:
    """The index of one arm."""
    assert kernel.score is not None  # noqa: S101 - a kernel has a choose or both of these
    return kernel.score(params, state, arm, shared, rng)


def highest_score(kernel: Kernel, params: Any, state: Any, round_: int, rng: np.random.Generator, at: Place) -> int:
    """The arm with the highest score; the first in the order drawn at the start wins a tie."""
    at[ARM] = NOBODY
    shared = prepare(kernel, params, state, round_)
    order = state.order
    best = order[0]
    best_score = -math.inf
    for i in range(len(order)):
        arm = order[i]
        at[ARM] = arm
        value = score(kernel, params, state, arm, shared, rng)
        if not value <= best_score:  # most arms are passed over with this one comparison, which NaN does not pass
            if not value > best_score:
                raise NotANumber
            best = arm
            best_score = value
    return best


def select(kernel: Kernel, params: Any, state: Any, round_: int, rng: np.random.Generator, at: Place) -> int:
    """The arm to pull in a round, once every arm has been pulled."""
    if kernel.choose is None:
        return highest_score(kernel, params, state, round_, rng, at)
    at[ARM] = NOBODY
    return as_arm(kernel.choose(params, state, round_, rng), len(state.pulls), at)


def select_action(
    kernel: Kernel, params: Any, state: Any, actions: Floats, round_: int, rng: np.random.Generator, at: Place
) -> int:
    """Index of the action, one per row, to take in a round."""
    assert kernel.choose is not None  # noqa: S101 - the kernel of a linear policy has one
    at[ARM] = NOBODY
    return as_arm(kernel.choose(params, state, actions, round_, rng), len(actions), at)
