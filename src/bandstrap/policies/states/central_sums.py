"""Memory of a policy that uses the shape of rewards: mean and central sums up to the sixth.

With a new reward the mean moves by ``r``: the deviations of the rewards before become smaller by ``r``, and the new one has
a deviation of its own. The binomial theorem gives the sums of their powers, without the cancellation of power sums around
a fixed point (Welford 1962; Pebay 2008). All are exactly 0 while all rewards are equal.

Deviations are counted in a unit of the arm's own, so that sixth powers of the largest and the smallest doubles are doubles.
Units are powers of ``2^128``: arms whose rewards are at all alike have the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import inlined, jitable
from bandstrap.policies.states.fields import Numbers

# Rows of the sums: those of the second to the sixth powers of deviations.
SECOND, THIRD, FOURTH, FIFTH, SIXTH = range(5)
# Units are 2 to a multiple of UNIT_STEP, from LEAST_UNIT up to its inverse. A deviation of more than MOST_UNITS makes an
# arm's unit larger.
UNIT_STEP = 128
MOST_STEPS = 7
LEAST_UNIT = 2.0 ** (-UNIT_STEP * MOST_STEPS)
MOST_UNITS = 2.0 ** (UNIT_STEP // 2)


class CentralSums(NamedTuple):
    """First reward of each arm; the mean less that, so that no bits are lost where the mean is large beside the spread; the
    arm's unit; and in powers of that, row by row, the central sums.
    """

    firsts: Numbers
    steps: Numbers
    units: Numbers
    sums: Numbers


def no_sums(n_arms: int) -> CentralSums:
    """Before the first reward."""
    return CentralSums(np.zeros(n_arms), np.zeros(n_arms), np.full(n_arms, LEAST_UNIT), np.zeros((SIXTH + 1, n_arms)))


@jitable
def unit_for(deviation: float) -> float:
    """The unit nearest in size to a deviation that is not 0."""
    _, exponent = math.frexp(deviation)
    steps = (exponent + UNIT_STEP // 2) // UNIT_STEP
    return math.ldexp(1.0, UNIT_STEP * min(max(steps, -MOST_STEPS), MOST_STEPS))


@jitable
def enlarge_unit(units: Floats, sums: Floats, arm: int, deviation: float) -> None:
    """Give an arm the unit of a deviation, larger than the one it has, and bring its sums to that."""
    unit = unit_for(deviation)
    share = units[arm] / unit
    units[arm] = unit
    power = share
    for k in range(len(sums)):
        power *= share
        sums[k][arm] *= power


@inlined
def mean_reward(central: CentralSums, arm: int) -> float:
    """Mean of an arm's rewards."""
    return central.firsts[arm] + central.steps[arm]


@inlined
def mean_difference(central: CentralSums, arm: int, first: float, step: float) -> float:
    """Mean of an arm's rewards less another's, whose ``first`` and ``step`` are given: their large parts cancel first."""
    return (central.firsts[arm] - first) + (central.steps[arm] - step)


@inlined
def add_reward(pulls: NDArray[np.int64], central: CentralSums, arm: int, reward: float) -> None:
    """Count a pull and take its reward in."""
    firsts, steps, units, sums = central.firsts, central.steps, central.units, central.sums
    before = pulls[arm]
    n = before + 1
    pulls[arm] = n
    if n == 1:
        firsts[arm] = reward
    from_first = reward - firsts[arm]
    deviation = from_first - steps[arm]
    if abs(deviation) > MOST_UNITS * units[arm]:
        enlarge_unit(units, sums, arm, deviation)
    steps[arm] += deviation / n
    unit = units[arm]
    r = deviation / unit / n
    a = (from_first - steps[arm]) / unit
    s2, s3, s4, s5 = sums[SECOND][arm], sums[THIRD][arm], sums[FOURTH][arm], sums[FIFTH][arm]
    r2 = r * r
    r3 = r2 * r
    r4 = r2 * r2
    a2 = a * a
    a3 = a2 * a
    sums[SECOND][arm] = s2 + before * r2 + a2
    sums[THIRD][arm] = s3 - 3.0 * r * s2 - before * r3 + a3
    sums[FOURTH][arm] = s4 - 4.0 * r * s3 + 6.0 * r2 * s2 + before * r4 + a2 * a2
    sums[FIFTH][arm] = s5 - 5.0 * r * s4 + 10.0 * r2 * s3 - 10.0 * r3 * s2 - before * r2 * r3 + a2 * a3
    sums[SIXTH][arm] += 15.0 * r4 * s2 - 20.0 * r3 * s3 + 15.0 * r2 * s4 - 6.0 * r * s5 + before * r3 * r3 + a3 * a3
