"""Constant memory of a bootstrap policy: its rewards, in brief, and their quantile function.

The memory for random signs, the paper's weights, is in ``sign_memory.py``. Here is that for all other weights, and what is
needed where weights are drawn.

A state holds the arrays as one tuple. Taking it out of the state counts a reference for each of them; done once per call it
costs nothing that can be measured, done in a loop over arms 4 % of a decision of :class:`bandstrap.BootstrappedUCBPlus`.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import inlined, jitable
from bandstrap.multipliers.curve import COEFFICIENTS, ROW, evaluate_curve, fit_sums, fit_terms
from bandstrap.multipliers.weights import GAUSSIAN
from bandstrap.policies.states.fields import Entries, FirstRewards, Numbers, OfFirstRewards
from bandstrap.policies.states.power_sums import N_POWERS, central_moments

# Rewards kept where weights are not signs: their distribution goes through a saddlepoint. More are known by power sums
# only.
MOST_KEPT = 32
# Normal quantile of the smallest level an arm's curve is fitted for (3e-7); beyond, the polynomial is extrapolated.
LARGEST_Z = 5.0
SMALLEST = 1e-290  # of a fourth power that is as exact as others


class ShiftedSums(Protocol):
    """Memory that holds at least what :class:`Sums` does."""

    @property
    def sums(self) -> Floats:
        """Sums of the rewards of each arm, around the first."""

    @property
    def shifts(self) -> Floats:
        """The first reward of each arm."""


class Sums(NamedTuple):
    """All that is needed of rewards whose weights are drawn."""

    sums: Numbers  # of the rewards, around the first
    shifts: Numbers  # the first reward


class CurveMemory(NamedTuple):
    """A quantile function as a polynomial, for weights other than signs."""

    sums: Numbers
    shifts: Numbers
    powers: Numbers  # sums of powers of the rewards, around the first
    kept: FirstRewards  # the first MOST_KEPT rewards
    residuals: OfFirstRewards  # their distances from the mean, in some unit
    curves: Numbers  # the polynomial


def new_sums(n_arms: int) -> Sums:
    """Sums before the first reward."""
    return Sums(np.zeros(n_arms), np.zeros(n_arms))


def new_curve_memory(n_arms: int) -> CurveMemory:
    """Memory before the first reward."""
    return CurveMemory(
        *new_sums(n_arms),
        powers=np.zeros((n_arms, N_POWERS)),
        kept=np.zeros((n_arms, MOST_KEPT)),
        residuals=np.zeros((n_arms, MOST_KEPT)),
        curves=np.zeros((n_arms, ROW)),
    )


@inlined
def arm_mean(pulls: Entries, memory: ShiftedSums, arm: int) -> float:
    """Mean of an arm's rewards."""
    return memory.shifts[arm] + memory.sums[arm] / pulls[arm]


@inlined
def count_reward(pulls: NDArray[np.int64], memory: ShiftedSums, arm: int, reward: float) -> None:
    """Count a pull and add its reward up."""
    if pulls[arm] == 0:
        memory.shifts[arm] = reward
    pulls[arm] += 1
    memory.sums[arm] += reward - memory.shifts[arm]


@jitable
def flat(row: Floats) -> None:
    """The curve of equal rewards: 0 at every level."""
    row[0] = 1.0
    for i in range(1, ROW):
        row[i] = 0.0


@jitable
def refresh_curve(law: int, pulls: Entries, memory: CurveMemory, arm: int, reward: float) -> None:
    """Take in a reward that was counted, and fit the arm's curve: to up to MOST_KEPT rewards, or to power sums."""
    n = pulls[arm]
    power = 1.0
    for k in range(N_POWERS):
        power *= reward - memory.shifts[arm]
        memory.powers[arm][k] += power
    mean = arm_mean(pulls, memory, arm)
    row = memory.curves[arm]
    if n <= MOST_KEPT:
        memory.kept[arm][n - 1] = reward
        a = memory.residuals[arm][:n]
        largest = 0.0
        for i in range(n):
            a[i] = (memory.kept[arm][i] - mean) / n
            largest = max(largest, abs(a[i]))
        if n * largest <= 1e-14 * abs(mean):  # equal rewards, but for the rounding of their mean
            a[:] = 0.0
            flat(row)
        else:
            # In units of a power of two, which changes no bit, and keeps cubes of huge and of tiny terms among the doubles.
            _, exponent = math.frexp(largest)
            unit = math.ldexp(1.0, exponent)
            for i in range(n):
                a[i] /= unit
            fit_terms(law, a, LARGEST_Z, row)
            for i in range(COEFFICIENTS, ROW):
                row[i] *= unit
        return
    m2, m3, m4, _, m6 = central_moments(memory.powers[arm], n)
    if not m2 > 1e-14 * memory.powers[arm][1] / n:
        flat(row)
    elif SMALLEST < m2 * m2 <= m4 and m6 * m2 >= m4 * m4 and m6 < math.inf:
        fit_sums(law, n, m2, m3, m4, LARGEST_Z, row)
    else:  # rounding, overflow or underflow spoiled the higher moments: the normal quantile
        fit_sums(GAUSSIAN, n, m2, 0.0, m2 * m2, LARGEST_Z, row)


@inlined
def curve_quantile(pulls: Entries, memory: CurveMemory, arm: int, z: float) -> float:
    """Quantile of an arm at the normal quantile ``z``."""
    return evaluate_curve(memory.curves[arm], z) if pulls[arm] > 1 else 0.0
