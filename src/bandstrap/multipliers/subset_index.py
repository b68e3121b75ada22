"""The quantile of the random-subset mean for an index that is asked for in every round: three ways, by sample size.

See ``subset_mean.py`` for what it is. Few rewards, or few values: subsets are counted. More: a plain saddlepoint, in the
rewards. Many: from central moments alone, in constant time.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.arrays import Floats
from bandstrap.engine.kernel import jitable
from bandstrap.multipliers.curve import SMALL_CUMULANT, matched_quantile
from bandstrap.multipliers.saddlepoint import LOG_2, signed_root
from bandstrap.multipliers.subset_count import (
    LATTICE_NOISE,
    attained_fraction,
    counted_step,
    fine_step,
    group,
    grouped_cost,
    grouped_step,
    lattice_unit,
    round_onto,
    rounded_up,
    to_lattice,
)

# Rewards on no lattice are rounded up to whole numbers of this many bits before their subsets are counted.
BITS = 14
# The most steps a lattice may have, and the most terms of a count by values.
MOST_STEPS = 1024.0
MOST_GROUPED = 400.0
# Rewards crowd in lumps if gaps between them are at least this share of their range.
WIDE_GAP = 0.1


@jitable
def counted_index(y: Floats, mean: float, subsets: float, buffers: Floats) -> tuple[float, float, float]:
    """The smallest ``x``, rounded up, with fewer than ``subsets`` non-empty subset means above it; ``y`` ascends.

    Also the range ``first <= subsets < last`` in which this ``x`` stays the answer. Nothing below ``mean``, but for its
    fraction of a step, is looked for. NaN where counting would take long: there are many values, and ``buffers`` are too
    small for all subsets.
    """
    n = y.size
    origin = y[0]
    spread = y[-1] - origin
    if spread == 0.0:
        return origin, 1.0, math.inf
    if subsets < 2.0:
        return y[-1], 1.0, 2.0
    is_small = 1 << (n - n // 2) <= buffers.shape[1]
    m = np.empty(n)
    unit = lattice_unit(y)
    if unit > 0.0 and spread <= MOST_STEPS * unit:
        noise = to_lattice(y, origin, unit, m)
        if noise <= LATTICE_NOISE * max(abs(origin), abs(y[-1])):
            q = fine_step(n)
            low = max(math.floor((mean - origin) / unit * q) - 1.0, 0.0)
            values = np.empty(n)
            counts = np.empty(n)
            size = group(m, values, counts)
            if grouped_cost(counts[:size]) <= MOST_GROUPED:
                t, first, last = grouped_step(values[:size], counts[:size], n, low, subsets - 1.0, q)
            elif is_small:
                t, first, last = counted_step(m * q, low, subsets - 1.0, buffers)
            else:
                return math.nan, 0.0, 0.0
            over, under = attained_fraction(t, n)
            return min(rounded_up(origin, unit, over, under, noise), y[-1]), first + 1.0, last + 1.0
    if not is_small:
        return math.nan, 0.0, 0.0
    unit = round_onto(y, origin, spread, BITS, m)
    low = max(math.floor((mean - origin) / unit) - 1.0, 0.0)
    t, first, last = counted_step(m, low, subsets - 1.0, buffers)
    return min(rounded_up(origin, unit, t, 1.0, 2.0**-52 * spread), y[-1]), first + 1.0, last + 1.0


@jitable
def lump_gap(y: Floats) -> float:
    """How far sums of rewards that crowd near a few values jump; 0 where they crowd nowhere; ``y`` ascends.

    Rewards are cut into lumps at their wide gaps. Sums jump by the least distance ``g`` of neighbouring lumps, blurred by
    the deviation ``d`` of rewards within lumps: the jumps' part of the characteristic function is about
    ``exp(-(2 pi d/g)^2 n/8)``, and ``g`` is cut once that is below 1/2.
    """
    n = y.size
    wide = WIDE_GAP * (y[-1] - y[0])
    if not wide > 0.0:
        return 0.0
    gap = math.inf
    square = 0.0
    last_centre = -math.inf
    start = 0
    for stop in range(1, n + 1):
        if stop == n or y[stop] - y[stop - 1] >= wide:
            centre = 0.0
            for i in range(start, stop):
                centre += (y[i] - y[start]) / (stop - start)
            for i in range(start, stop):
                square += ((y[i] - y[start]) - centre) * ((y[i] - y[start]) - centre)
            centre += y[start]
            gap = min(gap, centre - last_centre)
            last_centre = centre
            start = stop
    if gap == math.inf:  # a single lump does not count
        return 0.0
    turn = 2.0 * math.pi / gap
    return gap * min(1.0, 2.0 * math.exp(-turn * turn * square / 8.0))


@jitable
def root_at(y: Floats, x: float, start: float) -> tuple[float, float]:
    """``r*`` of the event that a random subset's mean exceeds ``x``, and the saddlepoint ``s`` it was found at."""
    target = 0.0
    square = 0.0
    for i in range(y.size):
        target += x - y[i]
        square += (y[i] - x) * (y[i] - x)
    s = start if start > 0.0 else target / square
    k0 = 0.0
    k1 = 0.0
    k2 = square
    for _ in range(40):
        k0 = 0.0
        k1 = 0.0
        k2 = 0.0
        for i in range(y.size):
            v = abs(y[i] - x)
            e = math.exp(-2.0 * s * v)
            t = (1.0 - e) / (1.0 + e)
            k0 += s * v + math.log1p(e) - LOG_2
            k1 += v * t
            k2 += v * v * (1.0 - t * t)
        gap = target - k1
        if abs(gap) <= 1e-6 * target or k2 <= 1e-12 * square:
            break
        step = gap / k2
        # K' is concave: Newton's steps from the left never overshoot, those from the right may.
        s = s + step if s + step > 0.0 else 0.5 * s
    return signed_root(s, k0, target, k2, 0.0), s


@jitable
def saddlepoint_index(y: Floats, mean: float, z: float) -> float:
    """The ``x`` at which ``r* = z``: a secant, kept between the mean and the largest reward."""
    n = y.size
    low = mean
    high = y[0]
    square = 0.0
    for i in range(n):
        high = max(high, y[i])
        square += (y[i] - mean) * (y[i] - mean)
    if not high > mean:  # equal rewards
        return mean
    x = mean + z * math.sqrt(square / n / max(n - z * z, 1.0))
    if x >= high:
        x = 0.5 * (low + high)
    last_x = mean
    last_r = 0.0
    s = 0.0
    for _ in range(40):
        r, s = root_at(y, x, s)
        if r < z:
            low = x
        else:
            high = x
        guess = x + (z - r) * (x - last_x) / (r - last_r) if r != last_r else low
        if abs(r - z) <= 1e-4:
            return min(max(guess, low), high)
        last_x = x
        last_r = r
        x = guess if low < guess < high else 0.5 * (low + high)
    return x


@jitable
def distance(c: float, m2: float, n: int) -> float:
    """``d = c sqrt(m2/(n - c^2))``: how far above the mean the answer lies, see :func:`moment_quantile`."""
    return c * math.sqrt(m2 / max(n - c * c, 1.0))


@jitable
def moment_quantile(n: int, moments: tuple[float, float, float, float, float], z: float) -> float:
    """``c`` from the central moments of order 2 to 6.

    At the answer ``d = x - mean`` is the quantile of the mean of ``n`` signed ``y_i - x``, whose mean square is
    ``m2 + d^2``. With ``c`` that quantile in standard deviations, ``d = c sqrt(m2/(n - c^2))``, and ``c`` hardly depends
    on ``d``: a few rounds of one after the other settle both.
    """
    m2, m3, m4, m5, m6 = moments
    c = z
    if not m2 * m2 * m2 > 0.0 or not m6 < math.inf:  # equal rewards, or moments beyond all numbers
        return c
    for _ in range(4):
        d = distance(c, m2, n)
        d2 = d * d
        a2 = m2 + d2
        a4 = m4 - 4.0 * d * m3 + 6.0 * d2 * m2 + d2 * d2
        a6 = m6 - 6.0 * d * m5 + 15.0 * d2 * m4 - 20.0 * d * d2 * m3 + 15.0 * d2 * d2 * m2 + d2 * d2 * d2
        if a4 < a2 * a2 or a6 * a2 < a4 * a4:  # rounding spoiled the moments
            return z
        last = c
        fourth = -2.0 * a4 / (n * a2 * a2)
        if -fourth < SMALL_CUMULANT:  # Cornish and Fisher, as in expansion.py
            sixth = 16.0 * a6 / (n * n * a2 * a2 * a2)
            z2 = z * z
            c = z * (
                1.0
                + fourth / 24.0 * (z2 - 3.0)
                + sixth / 720.0 * (z2 * z2 - 10.0 * z2 + 15.0)
                - fourth * fourth / 384.0 * (3.0 * z2 * z2 - 24.0 * z2 + 29.0)
            )
        else:
            size = math.sqrt(a6 / a4)
            count = n * a4 * a4 * a4 / (a6 * a6)
            rest = max(n * a2 - count * size * size, 0.0)
            c = matched_quantile(count, size, rest, z) / math.sqrt(n * a2)
        if abs(c - last) <= 1e-5 * c:
            break
    return c
