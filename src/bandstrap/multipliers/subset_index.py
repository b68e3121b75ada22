"""The quantile of the random-subset mean for an index that is asked for in every round: three ways, by sample size.

See ``subset_mean.py`` for what it is. Few rewards, or few values: subsets are counted. More: a plain saddlepoint, in the
rewards. Many: from central moments alone, in constant time.
"""

from __future__ import annotations

import math

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable
from bandstrap.multipliers.saddlepoint import LOG_2, signed_root
from bandstrap.multipliers.subset_count import ROWS, Counting, counted_quantile

# Up to this many rewards subsets are counted one by one; see Counting.many.
MOST_COUNTED = 16
MANY_SUBSETS = 16.0
ROOM = (ROWS, 1 << (MOST_COUNTED // 2))  # to count in
# Rewards on no lattice are rounded up to whole numbers of this many bits before their subsets are counted.
BITS = 14
# The most steps a lattice may have, and the most terms of a count by values.
MOST_STEPS = 1024.0
MOST_GROUPED = 400.0
# The saddlepoint's r* may be this much above what is asked for, but not below; and below LEAST_ROOT nothing is asked for,
# because there rounding is all that is left of it.
TOLERANCE = 1e-4
LEAST_ROOT = 1e-3
LARGE_PRODUCT = 2.0**500
# Below this standardised fourth cumulant the first terms of Cornish and Fisher are enough (0.3 % at z = 5).
SMALL_CUMULANT = 0.05
# Rewards crowd in lumps if gaps between them are at least this share of their range.
WIDE_GAP = 0.1


@jitable
def counted_index(y: Floats, mean: float, subsets: float, room: Floats) -> tuple[float, float, float]:
    """The smallest ``x``, rounded up, with fewer than ``subsets`` non-empty subset means above it; ``y`` ascends.

    Also a range ``first <= subsets < last`` in which this ``x`` stays the answer. Nothing below ``mean``, but for its
    fraction of a step, is looked for. NaN where counting would take long: there are many rewards, and many values.
    """
    n = len(y)
    if y[0] == y[-1]:
        return y[0], 1.0, math.inf
    if subsets < 2.0:
        return y[-1], 1.0, 2.0
    how = Counting(BITS, 1.0, MOST_STEPS, MOST_GROUPED, n <= MOST_COUNTED, MANY_SUBSETS)
    x, at_most, too_many, _ = counted_quantile(y, mean, math.ldexp(subsets, -n), how, room)
    return x, at_most + 1.0, too_many + 1.0


@jitable
def lump_gap(y: Floats) -> float:
    """Jump of sums of rewards that crowd near a few values; 0 where they crowd nowhere; ``y`` ascends.

    Rewards are cut into lumps at their wide gaps. Sums jump by the least distance ``g`` of neighbouring lumps, blurred by
    the deviation ``d`` of rewards within lumps: the jumps' part of the characteristic function is about
    ``exp(-(2 pi d/g)^2 n/8)``, and ``g`` is cut once that is below 1/2.
    """
    n = len(y)
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
def saddlepoint_index(y: Floats, mean: float, z: float) -> float:
    """An ``x`` between the mean and the largest reward at which ``r*`` is at least ``z``, by at most ``TOLERANCE``.

    With ``K(s) = sum log cosh(s (y_i - x))`` and ``t = sum (x - y_i)``, ``r*`` is that of the saddlepoint ``K'(s) = t``:
    a random subset's mean exceeds ``x`` when the signed ``y_i - x`` add up to more than ``t``. Newton's steps in ``x`` and
    ``s`` at once; the ends between which ``x`` must lie are moved only where ``s`` is the saddlepoint.
    """
    n = len(y)
    low = mean
    high = y[0]
    square = 0.0
    for i in range(n):
        high = max(high, y[i])
        square += (y[i] - mean) * (y[i] - mean)
    if not high > mean:  # equal rewards
        return mean
    aim = max(z, LEAST_ROOT) + 0.5 * TOLERANCE
    x = mean + aim * math.sqrt(square / n / max(n - z * z, 1.0))
    if x >= high:
        x = 0.5 * (low + high)
    s = (x - mean) / (square / n + (x - mean) * (x - mean))
    for step in range(150):
        sizes = 0.0
        logs = 0.0
        product = 1.0
        target = 0.0
        k1 = 0.0
        k2 = 0.0
        signs = 0.0  # sum of tanh(s (y_i - x))
        bends = 0.0  # sum of (y_i - x)/cosh^2(s (y_i - x))
        for i in range(n):
            u = y[i] - x
            v = abs(u)
            e = math.exp(-2.0 * s * v)
            d = 1.0 / (1.0 + e)
            t = (1.0 - e) * d
            q = 4.0 * e * d * d
            target -= u
            sizes += v
            k1 += v * t
            k2 += v * v * q
            signs += math.copysign(t, u)
            bends += u * q
            product *= 1.0 + e
            if product > LARGE_PRODUCT:
                logs += math.log(product)
                product = 1.0
        gap = target - k1
        is_saddlepoint = abs(gap) <= 1e-5 * target or k2 <= 1e-12 * square
        move = 0.0
        if is_saddlepoint or (step < 6 and abs(gap) <= 0.05 * target):
            k0 = s * sizes + logs + math.log(product) - n * LOG_2
            if k2 > 0.0:  # s t - K(s) at the saddlepoint, to the second order
                k0 -= 0.5 * gap * gap / k2
            r = signed_root(s, k0, target, k2, 0.0)
            if is_saddlepoint:
                if abs(r - aim) <= 0.4 * TOLERANCE:
                    return x
                if r < aim:
                    low = x
                else:
                    high = x
            # d(w^2/2)/dx = s (n + sum tanh), and r* moves about as w does
            w = math.sqrt(max(2.0 * (s * target - k0), 0.0))
            move = (aim - r) * w / (s * (n + signs))
            if not low < x + move < high:
                move = 0.5 * (low + high) - x
        if k2 > 0.0:  # where K' = t will be once x has moved
            s = max(s + (gap + (n + signs + s * bends) * move) / k2, 0.2 * s)
        x += move
    return high


@jitable
def matched_quantile(count: float, size: float, rest: float, z: float) -> float:
    """Saddlepoint quantile of ``count`` signs of ``size`` plus a normal of variance ``rest``.

    A sum of signs ``sum +-a_i`` has cumulants ``k2 = sum a^2``, ``k4 = -2 sum a^4``, ``k6 = 16 sum a^6``. So have
    ``(sum a^4)^3/(sum a^6)^2`` signs of size ``sqrt(sum a^6/sum a^4)`` plus an independent normal with the variance
    that is left, which is never negative (Cauchy and Schwarz).
    """
    scale = math.sqrt(count * size * size + rest)
    s = z / scale
    x = 0.0
    for _ in range(30):
        u = s * size
        e = math.exp(-2.0 * u)
        t = (1.0 - e) / (1.0 + e)
        k0 = count * (u + math.log1p(e) - LOG_2) + 0.5 * rest * s * s
        x = count * size * t + rest * s
        k2 = count * size * size * (1.0 - t * t) + rest
        r = signed_root(s, k0, x, k2, 0.0)
        w = math.sqrt(max(2.0 * (s * x - k0), 1e-300))
        if r == -math.inf or u > 300.0:
            break
        step = (z - r) * w / (s * k2)
        if abs(z - r) <= 1e-7:
            x += step * k2
            break
        s = min(max(s + step, 0.5 * s), 2.0 * s)
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
