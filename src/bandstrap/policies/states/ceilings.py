"""The arm with the highest index, without working out the indices of arms that cannot win.

An index rises from round to round, slowly, until its arm is pulled. So an index worked out for a later moment is a ceiling
until then. Arms are settled, that is, their indices worked out, from the highest ceiling down, until the highest of all is
settled: the choice is that of all indices, and the first in the order drawn at the start wins a tie as it would among them.

A moment is any number that grows from round to round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import jitable
from bandstrap.policies.states.fields import Path

# A ceiling is worked out for the moment at which an index is expected to have come this part of its way to the leader's.
# The part is smaller where the index would have jumped past the leader by then, as indices of few values do.
PART_OF_THE_WAY = 0.7
# What a ceiling lies above that index, as a part of its width: more than a solver may be off.
SLACK = 1e-3


class Ceilings(NamedTuple):
    """Upper limits of the index of each arm."""

    bounds: Path  # not less than the index
    until: Path  # the last moment this is so
    settled: Path  # the moment at which the bound is the index itself
    parts: Path  # of the way to the leader, that the next ceiling is put at


def new_ceilings(n_arms: int) -> Ceilings:
    """No index is known."""
    never = np.full((2, n_arms), -np.inf)
    return Ceilings(np.zeros(n_arms), never[0], never[1], np.full(n_arms, PART_OF_THE_WAY))


@jitable
def leading(order: NDArray[np.int64], ceilings: Ceilings, moment: float) -> int:
    """The arm with the highest bound."""
    bounds, until = ceilings.bounds, ceilings.until
    # The highest bound first, in four rows of comparisons that do not wait for each other. Then the first arm that has it.
    a, b, c, d = -math.inf, -math.inf, -math.inf, -math.inf
    last = len(bounds) - 3
    k = 0
    while k < last:
        x = bounds[k] if moment <= until[k] else math.inf
        a = x if x > a else a
        x = bounds[k + 1] if moment <= until[k + 1] else math.inf
        b = x if x > b else b
        x = bounds[k + 2] if moment <= until[k + 2] else math.inf
        c = x if x > c else c
        x = bounds[k + 3] if moment <= until[k + 3] else math.inf
        d = x if x > d else d
        k += 4
    while k < len(bounds):
        x = bounds[k] if moment <= until[k] else math.inf
        a = x if x > a else a
        k += 1
    top = max(max(a, b), max(c, d))
    for i in range(len(order)):
        arm = order[i]
        if moment > until[arm] or bounds[arm] >= top:
            return arm
    return order[0]


@jitable
def settle(ceilings: Ceilings, arm: int, index: float, moment: float) -> None:
    """An index was worked out."""
    ceilings.until[arm] = -math.inf  # an interrupted call leaves no bound that does not hold
    ceilings.bounds[arm] = index
    ceilings.until[arm] = moment
    ceilings.settled[arm] = moment


@jitable
def put_ceiling(ceilings: Ceilings, arm: int, index: float, width: float, moment: float, leader: float) -> None:
    """An index was worked out for a later moment; ``width`` is its distance from the mean."""
    bound = index + SLACK * width
    if bound >= leader:  # of no use: the arm would have to be settled in the next round all the same
        ceilings.parts[arm] *= 0.5
        return
    ceilings.settled[arm] = -math.inf
    ceilings.until[arm] = -math.inf
    ceilings.bounds[arm] = bound
    ceilings.until[arm] = moment
    ceilings.parts[arm] = min(2.0 * ceilings.parts[arm], PART_OF_THE_WAY)


@jitable
def forget(ceilings: Ceilings, arm: int, ripples: bool) -> None:
    """The arm was pulled; no ceiling is put for an index that ``ripples``, that is, may fall while it should rise."""
    ceilings.until[arm] = -math.inf
    ceilings.settled[arm] = -math.inf
    ceilings.parts[arm] = 0.0 if ripples else PART_OF_THE_WAY


@jitable
def growth_to_ceiling(part: float, gap: float, width: float, log: float) -> float:
    """Growth of ``log(1/alpha)`` until the moment of a ceiling; widths go with its root."""
    if width <= 0.0:
        return 0.0
    return min(2.0 * part * log * gap / width, 0.5)


def without_bounds(ceilings: Ceilings) -> Ceilings:
    """Forget all bounds, because other arms are compared; whether an index ripples is kept."""
    for arm in range(len(ceilings.bounds)):
        ceilings.until[arm] = -math.inf
        ceilings.settled[arm] = -math.inf
    return ceilings
