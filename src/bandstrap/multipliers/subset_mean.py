"""Quantiles of the mean of a random subset: each reward in with probability 1/2, the empty subset counting as +infinity.

With ``v_i = y_i - x`` a subset has a mean above ``x`` when its ``sum v_i`` is positive. Over all subsets that event is
``sum_i w_i v_i > -sum_i v_i`` with random signs ``w``, so the tail is that of a sum of signs: counted exactly for small
samples, by saddlepoint beyond.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.engine.kernel import entry, jitable
from bandstrap.errors import Floats, near_one
from bandstrap.multipliers.bracket import narrowed, next_point
from bandstrap.multipliers.saddlepoint import rademacher_tail

# Subsets are counted one by one (meet in the middle) up to this many rewards ...
MOST_COUNTED = 24
# ... and up to this many where the tail holds few of them, which is where a saddlepoint is least accurate.
MOST_COUNTED_FAR = 36
FEW_SUBSETS = 4096


@jitable
def sorted_subset_sums(v: Floats, sums: Floats, spare: Floats) -> Floats:
    """All subset sums of ``v`` in ascending order, built by merging; the two buffers hold ``2^v.size`` numbers."""
    sums[0] = 0.0
    size = 1
    for i in range(v.size):
        shifted = v[i]
        left = 0
        right = 0
        for j in range(2 * size):
            if right >= size or (left < size and sums[left] <= sums[right] + shifted):
                spare[j] = sums[left]
                left += 1
            else:
                spare[j] = sums[right] + shifted
                right += 1
        size *= 2
        sums, spare = spare, sums
    return sums[:size]


@jitable
def count_subsets_above(y: Floats, x: float, buffers: Floats) -> int:
    """How many non-empty subsets of ``y`` have a mean above ``x``."""
    half = y.size // 2
    first = sorted_subset_sums(y[:half] - x, buffers[0], buffers[1])
    second = sorted_subset_sums(y[half:] - x, buffers[2], buffers[3])
    count = 0
    position = second.size
    for i in range(first.size):
        while position > 0 and first[i] + second[position - 1] > 0.0:
            position -= 1
        count += second.size - position
    return count


@jitable
def is_counted(n: int, level: float) -> bool:
    """Whether subsets are counted one by one."""
    return n <= MOST_COUNTED or (n <= MOST_COUNTED_FAR and level * 2.0**n < FEW_SUBSETS)


@jitable
def counted_quantile(y: Floats, level: float) -> float:
    """``inf {x : P(subset mean > x) <= level}`` by bisection on the exact count; ``y`` ascends."""
    allowed = math.floor(level * 2.0**y.size) - 1  # the empty subset is always above
    if allowed < 0:
        return math.inf
    buffers = np.empty((4, 1 << (y.size - y.size // 2)))
    low = y[0]
    high = y[-1]
    if count_subsets_above(y, low, buffers) <= allowed:
        return low
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if count_subsets_above(y, middle, buffers) > allowed:
            low = middle
        else:
            high = middle


@jitable
def magnitudes_around(y: Floats, x: float, out: Floats) -> None:
    """``|y_i - x|`` in ascending order, by a merge from both ends; ``y`` ascends."""
    left = 0
    right = y.size - 1
    for j in range(y.size - 1, -1, -1):
        if abs(y[left] - x) > abs(y[right] - x):
            out[j] = abs(y[left] - x)
            left += 1
        else:
            out[j] = abs(y[right] - x)
            right -= 1


@jitable
def approximate_quantile(y: Floats, level: float) -> float:
    """``inf {x : P(subset mean > x) <= level}`` with the saddlepoint tail; ``y`` ascends."""
    n = y.size
    target = math.log(level - 0.5**n)
    magnitudes = np.empty(n)
    bracket = (y[0], -target, y[-1], -math.inf, 0)
    for _ in range(100):
        x = next_point(bracket)
        total = 0.0
        for i in range(n):
            total += y[i] - x
        magnitudes_around(y, x, magnitudes)
        tail = rademacher_tail(magnitudes, -total)
        gap = math.log(tail) - target if tail > 0.0 else -math.inf
        if abs(gap) <= 1e-10:
            return x
        bracket = narrowed(bracket, x, gap)
        if bracket[2] - bracket[0] <= 1e-10 * (y[-1] - y[0]):
            break
    return bracket[2]


@entry
def subset_mean_batch(rows: Floats, level: float, out: Floats) -> None:
    """Row by row; each row ascends."""
    for i in range(rows.shape[0]):
        y = rows[i]
        if 0.5**y.size > level:  # the empty subset alone is too much
            out[i] = math.inf
        elif y[0] == y[-1]:
            out[i] = y[0]
        elif is_counted(y.size, level):
            out[i] = counted_quantile(y, level)
        else:
            out[i] = approximate_quantile(y, level)


def quantiles(rows: Floats, level: float) -> Floats:
    """Quantile of the random-subset mean for each row."""
    n = rows.shape[-1]
    out = np.empty(len(rows))
    steps = 8.0 * 2.0 ** ((n + 1) // 2) if is_counted(n, level) else 130.0 * n
    scaled, exponents = near_one(np.sort(rows, axis=-1))
    subset_mean_batch(50.0 * len(rows) * steps, scaled, level, out)
    return np.ldexp(out, exponents)
