"""Quantiles of the mean of a random subset: each reward in with probability 1/2, the empty subset counting as +infinity.

Subsets are counted exactly where there are few of them, or few values; elsewhere their tail is inverted numerically, with
all errors on the safe side. What comes out is never below the exact quantile.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import entry, jitable
from bandstrap.errors import near_one
from bandstrap.multipliers.lattice import round_onto, rounded_up
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.multipliers.subset_count import ROWS, Counting, allowed_mass, counted_quantile, group, grouped_step
from bandstrap.multipliers.subset_index import saddlepoint_index
from bandstrap.multipliers.subset_inversion import SLACK, certain_tail, inverted_quantile

# Subsets are counted one by one up to this many rewards; see Counting.many ...
MOST_COUNTED = 24
MANY_SUBSETS = 1.0
# ... and up to this many where the tail holds few of them, which is where smoothing costs most.
MOST_COUNTED_FAR = 36
FEW_SUBSETS = 4096
# Rewards of few values are counted by how often each is in, while there are at most this many such counts.
MOST_GROUPED = 20_000.0
# Other rewards are rounded up to whole numbers of this many bits before they are counted, in steps of 1/Q of them; of fewer
# bits beyond this many rewards, so that sums of them have at most 52.
BITS = 45
Q = 4.0
MOST_OF_ALL_BITS = 32
# Rewards that crowd within this share of a standard error are counted as one value, the largest of them.
CLOSE = 1e-3

METHODS = ("enumeration", "grouped enumeration", "inversion")
ENUMERATION, GROUPED, INVERSION = range(3)


@jitable
def is_counted(n: int, level: float) -> bool:
    """Return whether subsets are counted one by one."""
    return n <= MOST_COUNTED or (n <= MOST_COUNTED_FAR and level * 2.0**n < FEW_SUBSETS)


@jitable
def crowded_quantile(y: Floats, level: float) -> float:
    """The quantile of rewards that crowd at few places, by counting them as few values; NaN where they do not.

    Rewards are raised to the largest of their crowd, which raises every subset mean, by at most ``CLOSE`` standard errors.
    """
    n = y.size
    mean = 0.0
    for i in range(n):
        mean += y[i] / n
    square = 0.0
    for i in range(n):
        square += (y[i] - mean) * (y[i] - mean)
    width = CLOSE * math.sqrt(square) / n
    counts = np.empty(n)
    tops = np.empty(n)
    size = 0
    first = 0
    others = 1.0  # how many counts there are of all crowds but the largest
    most = 1.0
    for i in range(1, n + 1):
        if i == n or y[i] - y[first] > width:
            count = float(i - first)
            others *= min(count + 1.0, most)
            most = max(most, count + 1.0)
            if others > MOST_GROUPED:
                return math.nan
            tops[size] = y[i - 1]
            counts[size] = count
            size += 1
            first = i
    spread = y[-1] - y[0]
    _, exponent = math.frexp(n / MOST_OF_ALL_BITS)
    m = np.empty(size)
    unit = round_onto(tops[:size], y[0], spread, BITS - max(exponent, 0), m)
    t, _, _ = grouped_step(m, counts[:size], n, 0.0, allowed_mass(counts[:size], n, level), Q)
    return min(rounded_up(y[0], unit, t, Q, 2.0**-52 * spread), y[-1])


@jitable
def smoothed_quantile(y: Floats, level: float) -> float:
    """The quantile of rewards too many to count: :func:`inverted_quantile` of the rewards moved and scaled to [-1, 1]."""
    n = y.size
    centre = y[n // 2]
    scale = max(y[-1] - centre, centre - y[0])
    values = np.empty(n)
    counts = np.empty(n)
    moved = (y - centre) / scale
    size = group(moved, values, counts)
    mean = 0.0
    for i in range(n):
        mean += moved[i] / n
    z = normal_quantile(level)
    if z > 0.1:
        start = saddlepoint_index(moved, mean, z)
    else:
        square = 0.0
        for i in range(n):
            square += (moved[i] - mean) * (moved[i] - mean)
        start = mean + z * math.sqrt(square) / n
    x = inverted_quantile(values[:size], counts[:size], level, start)
    # Moving and scaling lost a rounding or two of the largest reward.
    x = centre + (scale * x + 1e-15 * (scale + abs(centre)))
    return min(x, y[-1])


@jitable
def safe_quantile(y: Floats, level: float) -> tuple[float, int]:
    """``inf {x : P(subset mean > x) <= level}`` or a little more, and how it was computed; ``y`` ascends."""
    n = y.size
    if 0.5**n > level:  # the empty subset alone is too much
        return math.inf, ENUMERATION
    if y[0] == y[-1] or 0.5 ** (n - 1) > level:  # equal rewards, or no other subset may be above
        return y[-1], ENUMERATION
    one_by_one = is_counted(n, level)
    how = Counting(BITS, Q, math.inf, 2.0 ** (n // 2) if one_by_one else MOST_GROUPED, one_by_one, MANY_SUBSETS)
    room = np.empty((ROWS, 1 << (n - n // 2) if one_by_one else 0))
    x, _, _, is_grouped = counted_quantile(y, y[0], level, how, room)
    if not math.isnan(x):
        return x, GROUPED if is_grouped else ENUMERATION
    x = crowded_quantile(y, level)
    return (smoothed_quantile(y, level), INVERSION) if math.isnan(x) else (x, GROUPED)


@entry
def subset_mean_batch(rows: Floats, level: float, methods: NDArray[np.int64], out: Floats) -> None:
    """Row by row; each row ascends."""
    for i in range(rows.shape[0]):
        out[i], methods[i] = safe_quantile(rows[i], level)


def quantiles(rows: Floats, level: float) -> tuple[Floats, NDArray[np.int64]]:
    """Quantile of the random-subset mean for each row, rounded up, and the numbers in ``METHODS`` of how it was found."""
    n = rows.shape[-1]
    out = np.empty(len(rows))
    methods = np.zeros(len(rows), dtype=np.int64)
    steps = 8.0 * 2.0 ** ((n + 1) // 2) if is_counted(n, level) else 2000.0 + 40.0 * n
    scaled, exponents = near_one(np.sort(rows, axis=-1))
    subset_mean_batch(50.0 * len(rows) * steps, scaled, level, methods, out)
    # The scaling loses bits of what is 2^1000 times smaller than the largest reward, and of the smallest doubles.
    is_lossy = (np.ldexp(scaled, exponents[:, None]) != np.sort(rows, axis=-1)).any(axis=-1)
    out[is_lossy] = np.nextafter(out[is_lossy] + 2.0**-1070, np.inf)
    ends = np.ldexp(out, exponents)
    is_low = np.ldexp(ends, -exponents) < out
    ends[is_low] = np.nextafter(ends[is_low], np.inf)
    return ends, methods


@entry
def certain_tail_batch(rows: Floats, level: float, out: Floats) -> None:
    """:func:`certain_tail` row by row."""
    for i in range(rows.shape[0]):
        out[i] = certain_tail(rows[i], level)


def are_certainly_above(rows: Floats, level: float, x: float) -> NDArray[np.bool_]:
    """Rows whose :func:`quantiles` are certainly ``x`` or more, found without them; some that are may not be found.

    Subsets with a mean of ``x`` or more have a probability above ``level`` there. Of samples with mean ``x`` on average
    some ``1.2 level`` are left open, so that the others cost a fortieth. Few rewards, or two values, are counted as
    quickly, and are left open too.
    """
    tails = np.zeros(len(rows))
    is_mixed = ((rows != rows[:, :1]) & (rows != rows.max(axis=-1, keepdims=True))).any(axis=-1)
    if rows.shape[-1] > MOST_COUNTED and is_mixed.any():
        with np.errstate(over="ignore"):
            distances, _ = near_one(rows[is_mixed] - x)
        found = np.empty(len(distances))
        certain_tail_batch(200.0 * distances.size, distances, level, found)
        tails[is_mixed] = found
    return tails > level * (1.0 + SLACK)
