"""What a bootstrap policy remembers of an arm in constant memory: its rewards, in brief, and their quantile function.

A state holds the arrays as one tuple. Taking it out of the state counts a reference for each of them; done once per call it
costs nothing that can be measured, done in a loop over arms 4 % of a decision of :class:`bandstrap.BootstrappedUCBPlus`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bandstrap.arrays import Floats
from bandstrap.engine.kernel import inlined, jitable
from bandstrap.multipliers.curve import ROW, evaluate_curve, fit_sums, fit_terms
from bandstrap.multipliers.enumeration import extreme_quantile, without_zeros
from bandstrap.multipliers.grid import N_POINTS, fit_grid, grid_quantile
from bandstrap.multipliers.weights import GAUSSIAN, RADEMACHER
from bandstrap.policies.rewards import N_POWERS, central_moments, mean_reward, remember

# Rewards kept. With Rademacher weights the signed sums of up to MOST_LISTED are listed one by one, and those of up to
# MOST_KEPT put on a grid; with other weights they go through a saddlepoint. More rewards are known by power sums only.
MOST_LISTED = 12
MOST_KEPT = 32
# Normal quantile of the smallest level an arm's curve is fitted for (3e-7); beyond, the polynomial is extrapolated.
LARGEST_Z = 5.0


class Memory(NamedTuple):
    """Rows for each arm; the pulls they belong to are in the state itself."""

    powers: Floats  # sums of powers of the rewards, around the first
    shifts: Floats  # the first reward
    kept: Floats  # the first MOST_KEPT rewards
    residuals: Floats  # their distances from the mean, in ascending order
    tails: Floats  # the law of their signed sums on a grid
    curves: Floats  # the quantile function as a polynomial


def new_memory(n_arms: int, *, with_grid: bool) -> Memory:
    """Memory before the first reward; the grid is left empty where no quantile is read off it."""
    return Memory(
        powers=np.zeros((n_arms, N_POWERS)),
        shifts=np.zeros(n_arms),
        kept=np.zeros((n_arms, MOST_KEPT)),
        residuals=np.zeros((n_arms, MOST_KEPT)),
        tails=np.zeros((n_arms, N_POINTS if with_grid else 0)),
        curves=np.zeros((n_arms, ROW)),
    )


@inlined
def arm_mean(pulls: Any, memory: Memory, arm: int) -> float:
    """Mean of an arm's rewards."""
    return mean_reward(pulls, memory.powers, memory.shifts, arm)


@inlined
def add_reward(pulls: Any, memory: Memory, arm: int, reward: float) -> None:
    """Count a pull and take its reward into sums and memory; the quantile function waits for :func:`refresh_curve`."""
    remember(pulls, memory.powers, memory.shifts, memory.kept, arm, reward)


@jitable
def flat(row: Floats) -> None:
    """The curve of equal rewards: 0 at every level."""
    row[0] = 1.0
    for i in range(1, ROW):
        row[i] = 0.0


@jitable
def refresh_curve(law: int, pulls: Any, memory: Memory, arm: int) -> None:
    """Bring an arm's quantile function up to date after a pull.

    With Rademacher weights and up to MOST_KEPT rewards ``residuals[arm]`` holds ``|y_i - ybar|/n`` in ascending order and,
    above MOST_LISTED, ``tails[arm]`` the law on a grid. Beyond, and with other weights, ``curves[arm]`` is fitted.
    """
    powers, shifts, kept, residuals, tails, curves = memory
    n = pulls[arm]
    mean = mean_reward(pulls, powers, shifts, arm)
    row = curves[arm]
    if n <= MOST_KEPT:
        a = residuals[arm][:n]
        largest = 0.0
        for i in range(n):
            a[i] = (kept[arm][i] - mean) / n
            largest = max(largest, abs(a[i]))
        if largest <= 1e-14 * abs(mean):  # equal rewards, but for the rounding of their mean
            a[:] = 0.0
            flat(row)
        elif law == RADEMACHER:
            for i in range(n):  # insertion sort of the magnitudes
                value = abs(a[i])
                j = i
                while j > 0 and a[j - 1] > value:
                    a[j] = a[j - 1]
                    j -= 1
                a[j] = value
            if n > MOST_LISTED:
                row[0], row[1] = fit_grid(a, tails[arm])
        else:
            fit_terms(law, a, LARGEST_Z, row)
        return
    m2, m3, m4, _, m6 = central_moments(powers[arm], n)
    if not m2 > 1e-14 * powers[arm][1] / n:
        flat(row)
    elif m4 >= m2 * m2 and m6 * m2 >= m4 * m4 and m6 < math.inf:
        fit_sums(law, n, m2, m3, m4, m6, LARGEST_Z, row)
    else:  # rounding or overflow spoiled the higher moments: the normal quantile
        fit_sums(GAUSSIAN, n, m2, 0.0, m2 * m2, m2, LARGEST_Z, row)


@inlined
def arm_quantile(law: int, pulls: Any, memory: Memory, arm: int, level: float, z: float) -> float:
    """``q_level`` of an arm; ``z`` is the normal quantile of ``level``."""
    n = pulls[arm]
    if n == 1:
        return 0.0
    if law == RADEMACHER and n <= MOST_LISTED:
        terms = without_zeros(memory.residuals[arm][:n])
        return extreme_quantile(terms, level) if terms.size > 0 else 0.0
    if law == RADEMACHER and n <= MOST_KEPT and memory.curves[arm][1] > 0.0:
        return grid_quantile(memory.tails[arm], memory.curves[arm][0], memory.curves[arm][1], n, level)
    return evaluate_curve(memory.curves[arm], z)


def quantile_source(law: int, n: int) -> str:
    """How :func:`arm_quantile` knows the quantile of ``n`` rewards, in a word."""
    if n == 1 or (law == RADEMACHER and n <= MOST_LISTED):
        return "counted"
    if law == GAUSSIAN:
        return "closed-form"
    return "grid" if law == RADEMACHER and n <= MOST_KEPT else "fitted"
