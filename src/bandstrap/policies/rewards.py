"""What a bootstrap policy remembers of an arm in constant memory: power sums, and its first rewards.

Power sums are taken around the arm's first reward, so that they stay small where the mean is large.

Rows are indexed as ``powers[arm][k]``, which arrays in compiled code and the lists of the online object both allow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandstrap.engine.kernel import inlined, jitable
from bandstrap.errors import Floats
from bandstrap.multipliers.curve import ROW, evaluate_curve, fit_sums, fit_terms
from bandstrap.multipliers.enumeration import extreme_quantile, without_zeros
from bandstrap.multipliers.grid import N_POINTS, fit_grid, grid_quantile
from bandstrap.multipliers.weights import GAUSSIAN, RADEMACHER

# Rewards kept. With Rademacher weights the signed sums of up to MOST_LISTED are listed one by one, and those of up to
# MOST_KEPT put on a grid; with other weights they go through a saddlepoint. More rewards are known by power sums only.
MOST_LISTED = 12
MOST_KEPT = 32
N_POWERS = 6
# Normal quantile of the smallest level an arm's curve is fitted for (3e-7); beyond, the polynomial is extrapolated.
LARGEST_Z = 5.0


@inlined
def remember(pulls: Any, powers: Floats, shifts: Floats, kept: Floats, arm: int, reward: float) -> None:
    """Count a pull and take its reward into sums and memory."""
    n = pulls[arm]
    if n == 0:
        shifts[arm] = reward
    if n < len(kept[arm]):
        kept[arm][n] = reward
    pulls[arm] = n + 1
    step = reward - shifts[arm]
    power = 1.0
    row = powers[arm]
    for k in range(N_POWERS):
        power *= step
        row[k] += power


@inlined
def mean_reward(pulls: Any, powers: Floats, shifts: Floats, arm: int) -> float:
    """Mean of an arm's rewards."""
    return shifts[arm] + powers[arm][0] / pulls[arm]


@jitable
def flat(row: Floats) -> None:
    """The curve of equal rewards: 0 at every level."""
    row[0] = 1.0
    for i in range(1, ROW):
        row[i] = 0.0


@jitable
def central_moments(sums: Floats, n: int) -> tuple[float, float, float, float, float]:
    """Central moments 2 to 6 from power sums around the shift."""
    d = sums[0] / n
    r2 = sums[1] / n
    r3 = sums[2] / n
    r4 = sums[3] / n
    r5 = sums[4] / n
    r6 = sums[5] / n
    d2 = d * d
    m2 = r2 - d2
    m3 = r3 - 3.0 * d * r2 + 2.0 * d * d2
    m4 = r4 - 4.0 * d * r3 + 6.0 * d2 * r2 - 3.0 * d2 * d2
    m5 = r5 - 5.0 * d * r4 + 10.0 * d2 * r3 - 10.0 * d * d2 * r2 + 4.0 * d * d2 * d2
    m6 = r6 - 6.0 * d * r5 + 15.0 * d2 * r4 - 20.0 * d * d2 * r3 + 15.0 * d2 * d2 * r2 - 5.0 * d2 * d2 * d2
    return m2, m3, m4, m5, m6


@jitable
def refresh_curve(
    law: int,
    pulls: Any,
    powers: Floats,
    shifts: Floats,
    kept: Floats,
    residuals: Floats,
    tails: Floats,
    curves: Any,
    arm: int,
) -> None:
    """Bring an arm's quantile function up to date after a pull.

    With Rademacher weights and up to MOST_KEPT rewards ``residuals[arm]`` holds ``|y_i - ybar|/n`` in ascending order and,
    above MOST_LISTED, ``tails[arm]`` the law on a grid. Beyond, and with other weights, ``curves[arm]`` is fitted.
    """
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
def arm_quantile(
    law: int, pulls: Any, residuals: Floats, tails: Floats, curves: Any, arm: int, level: float, z: float
) -> float:
    """``q_level`` of an arm; ``z`` is the normal quantile of ``level``."""
    n = pulls[arm]
    if n == 1:
        return 0.0
    if law == RADEMACHER and n <= MOST_LISTED:
        terms = without_zeros(residuals[arm][:n])
        return extreme_quantile(terms, level) if terms.size > 0 else 0.0
    if law == RADEMACHER and n <= MOST_KEPT and curves[arm][1] > 0.0:
        return grid_quantile(tails[arm], curves[arm][0], curves[arm][1], n, level)
    return evaluate_curve(curves[arm], z)


def quantile_source(law: int, n: int) -> str:
    """How :func:`arm_quantile` knows the quantile of ``n`` rewards, in a word."""
    if n == 1 or (law == RADEMACHER and n <= MOST_LISTED):
        return "counted"
    if law == GAUSSIAN:
        return "closed-form"
    return "grid" if law == RADEMACHER and n <= MOST_KEPT else "fitted"


def new_memory(n_arms: int, *, with_grid: bool) -> dict[str, Any]:
    """The arrays of a state that remembers rewards this way; the grid is left empty where no quantile is read off it."""
    return {
        "pulls": np.zeros(n_arms, dtype=np.int64),
        "powers": np.zeros((n_arms, N_POWERS)),
        "shifts": np.zeros(n_arms),
        "kept": np.zeros((n_arms, MOST_KEPT)),
        "residuals": np.zeros((n_arms, MOST_KEPT)),
        "tails": np.zeros((n_arms, N_POINTS if with_grid else 0)),
        "curves": np.zeros((n_arms, ROW)),
    }
