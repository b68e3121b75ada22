"""The law of ``sum +-a_i`` on a grid: for the few dozen terms whose sums are too many to list and too lumpy to smooth.

Each sign moves the mass by ``+-a_i``; a step that ends between two cells is split between them, so that the mean stays.
The variance this adds is known, and taken out again by scaling.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.arrays import Floats
from bandstrap.engine.kernel import jitable

N_CELLS = 256
# Cells beside the ends, for splits.
MARGIN = 2
N_POINTS = N_CELLS + 1 + 2 * MARGIN


@jitable
def fit_grid(magnitudes: Floats, tails: Floats) -> tuple[float, float]:
    """Write ``P(sum +-a_i > x)`` at the upper edge of each cell into ``tails``; returns ``sum a_i`` and the scaling.

    ``magnitudes`` ascend: the law then stays narrow, and cheap to move, for as long as it can.
    """
    total = 0.0
    square = 0.0
    for i in range(magnitudes.size):
        total += magnitudes[i]
        square += magnitudes[i] * magnitudes[i]
    cell = 2.0 * total / N_CELLS
    # As much room beside the grid as a move can reach beyond it; it stays empty.
    room = N_POINTS // 2 + 1
    centre = room + N_POINTS // 2
    mass = np.zeros(N_POINTS + 2 * room)
    moved = np.zeros(N_POINTS + 2 * room)
    mass[centre] = 1.0
    half = 0
    variance = cell * cell / 12.0  # of a point spread over its cell
    for i in range(magnitudes.size):
        step = magnitudes[i] / cell
        k = int(step)
        far = 0.5 * (step - k)
        near = 0.5 - far
        variance += 4.0 * near * far * cell * cell
        half = min(half + k + 1, N_POINTS // 2)
        first = centre - half
        last = centre + half + 1
        moved[first:last] = near * (mass[first - k : last - k] + mass[first + k : last + k]) + far * (
            mass[first - k - 1 : last - k - 1] + mass[first + k + 1 : last + k + 1]
        )
        mass, moved = moved, mass
    tail = 0.0
    for j in range(N_POINTS - 1, -1, -1):
        tails[j] = tail
        tail += mass[room + j]
    return total, math.sqrt(square / (square + variance))


@jitable
def grid_quantile(tails: Floats, total: float, scale: float, n: int, level: float) -> float:
    """``inf {x : P(sum of n signs > x) <= level}`` from :func:`fit_grid`, linear inside a cell."""
    if level < 0.5**n:
        return total
    if level >= 1.0 - 0.5**n:
        return -total
    low = 0  # tails fall; the answer lies in the first cell whose upper edge has a tail of at most level
    high = N_POINTS - 1
    while low < high:
        middle = (low + high) // 2
        if tails[middle] <= level:
            high = middle
        else:
            low = middle + 1
    above = tails[low]
    below = tails[low - 1] if low > 0 else 1.0
    edge = low - MARGIN - N_CELLS // 2 + 0.5
    if below > above:
        edge -= (level - above) / (below - above)
    x = scale * edge * (2.0 * total / N_CELLS)
    return min(max(x, -total), total)
