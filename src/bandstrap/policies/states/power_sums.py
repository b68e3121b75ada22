"""Constant memory of an index whose spread is estimated: power sums, and first rewards.

Power sums are taken around the arm's first reward, so that they stay small where the mean is large.

Rows are indexed as ``powers[arm][k]``, which arrays in compiled code and the lists of the online object both allow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import inlined, jitable

N_POWERS = 6


@inlined
def remember(pulls: NDArray[np.int64], powers: Floats, shifts: Floats, kept: Floats, arm: int, reward: float) -> None:
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
