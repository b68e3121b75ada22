r"""A tail of the random-subset mean that is never below the exact one, for samples too large to count.

With ``v_i = y_i - x`` and ``S`` the sum of the ``v_i`` that are in, a subset's mean exceeds ``x`` when ``S > 0``. An
independent normal ``W`` with mean ``3.25 d`` and a small standard deviation ``d`` is non-negative but for a chance
``e = P(W < 0)``, so that

.. math:: P(S \ge 0) (1 - e) \le P(S + W > 0) = \frac{1}{2\pi} \int \frac{M(c + i t)}{c + i t} dt

with ``M`` the moment generating function of ``S + W`` and any ``c > 0``; the empty subset, whose ``S`` is 0, is counted.
By Poisson's summation formula the trapezoid rule with step ``h`` gives ``sum_k exp(2 pi k c/h) P(S + W > 2 pi k/h)``
over all whole ``k``: what is asked for, plus terms that are not negative and of which the largest is about
``exp(-2 pi c/h)``. Beyond the nodes that are summed ``|M(c + i t)| <= M(c) exp(-d^2 t^2/2)``, and at a node where a product
over some of the rewards is tiny its modulus is a bound too; both are added. So every approximation errs upwards.

To decide whether the tail at one ``x`` is above a level, a lower bound will often do, and a coarse one is cheap
(:func:`certain_tail`): a ``W`` of mean ``-3.25 d`` is positive but for the same chance ``e``, so that
``P(S >= 0) >= P(S + W > 0) - e``, and every error is subtracted instead.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable
from bandstrap.multipliers.normal import normal_tail

# Standard deviation of W, as a share of that of S after tilting; and its mean in standard deviations.
SMOOTHING = 0.001
SHIFT = 3.25
# The share of subsets with S >= 0 that W makes us miss.
MISSED = normal_tail(SHIFT)
# The trapezoid rule adds about this share of the level, and nodes beyond LAST standard deviations of W about as much.
EXCESS = 1e-5
LAST = 4.5
# A node is left alone once the modulus of a product over some rewards is below this.
TINY = 1e-6
# Rewards whose products are followed from node to node, those of the first nodes, and where those end: there S is smooth.
N_FOLLOWED = 24
NEAR = 7.0
# The bound's tail is at most this share below the level.
TOLERANCE = 3e-4
# Far from the best c, that of the x which is found, the terms that the trapezoid rule adds are not small: the guess was far
# off, as a saddlepoint is where one reward outweighs the others. Then the x is the next guess, at most so many times.
FAR_TILT = 1.25
MOST_LINES = 12
# Roundings in products over the rewards.
SLACK = 1e-9
# Standard deviation of W for a lower bound on the tail, as a share of that of S after tilting: few nodes, for a bound as if
# the rewards were smaller by 0.065 standard errors.
COARSE = 0.02


@jitable
def tilt(values: Floats, counts: Floats, x: float, c: float) -> tuple[float, float, float]:
    """``K(c)``, ``K'(c)`` and ``K''(c)`` of ``S``."""
    k0 = 0.0
    k1 = 0.0
    k2 = 0.0
    for i in range(values.size):
        v = values[i] - x
        e = math.exp(-abs(c * v))
        p = 1.0 / (1.0 + e) if v > 0.0 else e / (1.0 + e)
        k0 += counts[i] * (max(c * v, 0.0) + math.log(0.5 + 0.5 * e))
        k1 += counts[i] * v * p
        k2 += counts[i] * v * v * p * (1.0 - p)
    return k0, k1, k2


@jitable
def best_tilt(values: Floats, counts: Floats, x: float, start: float) -> float:
    """About the ``c`` that makes ``M(c)/c`` smallest: the root of the rising ``K'(c) - 1/c``."""
    low = 0.0
    high = math.inf
    c = start
    for _ in range(60):
        _, k1, k2 = tilt(values, counts, x, c)
        gap = k1 - 1.0 / c
        if gap < 0.0:
            low = c
        else:
            high = c
        step = gap / (k2 + 1.0 / (c * c))
        if abs(step) <= 0.02 * c:
            break
        c -= step
        if not low < c < high:
            c = 2.0 * low if high == math.inf else 0.5 * (low + high)
    return c


@jitable
def power(real: float, imaginary: float, count: float) -> tuple[float, float]:
    """A complex number to a whole power."""
    out_real = 1.0
    out_imaginary = 0.0
    left = int(count)
    while left > 0:
        if left % 2 == 1:
            out_real, out_imaginary = (
                out_real * real - out_imaginary * imaginary,
                out_real * imaginary + out_imaginary * real,
            )
        real, imaginary = real * real - imaginary * imaginary, 2.0 * real * imaginary
        left //= 2
    return out_real, out_imaginary


@jitable
def prepare_nodes(values: Floats, x: float, c: float, h: float, work: Floats) -> None:
    """Per value: ``P(in)`` after tilting, ``v``, and ``exp(i v h)``, which leads from node to node."""
    for i in range(values.size):
        v = values[i] - x
        e = math.exp(-abs(c * v))
        work[0, i] = 1.0 / (1.0 + e) if v > 0.0 else e / (1.0 + e)
        work[1, i] = v
        work[2, i] = math.cos(v * h)
        work[3, i] = math.sin(v * h)


@jitable
def summed_nodes(
    counts: Floats,
    c: float,
    h: float,
    shift: float,
    deviation: float,
    first: int,
    last: int,
    followed: int,
    work: Floats,
) -> tuple[float, float]:
    """``sum 2 Re[(M(z)/M(c))/z]`` over nodes ``z = c + i h j``, ``first <= j <= last``, and a bound on what was left out.

    ``shift`` is the mean of ``W``, ``deviation`` its standard deviation. The turning factors of the first ``followed``
    values are multiplied on from node to node; those of the others are computed where the product so far is not tiny.
    """
    total = 0.0
    bound = 0.0
    for i in range(followed):
        angle = work[1, i] * h * first
        work[4, i] = math.cos(angle)
        work[5, i] = math.sin(angle)
    for j in range(first, last + 1):
        t = h * j
        size = math.exp(-0.5 * deviation * deviation * t * t)
        angle = t * (shift + c * deviation * deviation)
        real = size * math.cos(angle)
        imaginary = size * math.sin(angle)
        for i in range(followed):
            p = work[0, i]
            cosine = work[4, i]
            sine = work[5, i]
            factor_real = 1.0 - p + p * cosine
            factor_imaginary = p * sine
            if counts[i] != 1.0:
                factor_real, factor_imaginary = power(factor_real, factor_imaginary, counts[i])
            real, imaginary = (
                real * factor_real - imaginary * factor_imaginary,
                real * factor_imaginary + imaginary * factor_real,
            )
            work[4, i] = cosine * work[2, i] - sine * work[3, i]
            work[5, i] = cosine * work[3, i] + sine * work[2, i]
        i = followed
        while i < counts.size and real * real + imaginary * imaginary > TINY * TINY:
            angle = work[1, i] * t
            p = work[0, i]
            factor_real = 1.0 - p + p * math.cos(angle)
            factor_imaginary = p * math.sin(angle)
            if counts[i] != 1.0:
                factor_real, factor_imaginary = power(factor_real, factor_imaginary, counts[i])
            real, imaginary = (
                real * factor_real - imaginary * factor_imaginary,
                real * factor_imaginary + imaginary * factor_real,
            )
            i += 1
        square = c * c + t * t
        if i < counts.size:
            bound += 2.0 * math.sqrt((real * real + imaginary * imaginary) / square)
        else:
            total += 2.0 * (real * c + imaginary * t) / square  # the real part of the quotient
    return total, bound


@jitable
def stride(size: int) -> int:
    """Steps of this many places, from any on and around, visit all of ``size`` places, the first ones far apart."""
    step = max(int(0.618 * size), 1)
    while math.gcd(step, size) != 1:
        step += 1
    return step


@jitable
def strided(values: Floats, counts: Floats, out_values: Floats, out_counts: Floats) -> None:
    """The values in an order whose first ones are spread over all of them."""
    size = values.size
    step = stride(size)
    for i in range(size):
        out_values[i] = values[(i * step + size // 2) % size]
        out_counts[i] = counts[(i * step + size // 2) % size]


@jitable
def inverted_quantile(values: Floats, counts: Floats, level: float, start: float) -> float:
    """An ``x`` with ``P(subset mean >= x) <= level``, the empty subset included, and close to the smallest such.

    ``values`` ascend from about -1 to 1, ``start`` is a guess. Whatever the guess is, what comes of it holds.
    """
    size = values.size
    best = values[size - 1]  # no mean exceeds the largest reward
    if not values[0] < start < best:
        start = 0.5 * (values[0] + best)
    v = np.empty(size)
    k = np.empty(size)
    strided(values, counts, v, k)
    work = np.empty((6, size))
    n = 0.0
    for i in range(size):
        n += k[i]
    c = best_tilt(v, k, start, 2.0 / (best - values[0]) / math.sqrt(n))
    for _ in range(MOST_LINES):
        best = inverted_on_line(v, k, level, c, start, values[0], best, work)
        if best > values[size - 1] - 1e-9:  # at the largest reward there is no best c
            break
        better = best_tilt(v, k, best, c)
        if max(c / better, better / c) < FAR_TILT:
            break
        c = better
        start = best
    return best


@jitable
def inverted_on_line(
    v: Floats, k: Floats, level: float, c: float, start: float, least: float, most: float, work: Floats
) -> float:
    """See :func:`inverted_quantile`; by the integral on the line ``c + i t``, between ``least`` and ``most``."""
    size = v.size
    low = least
    high = most
    n = 0.0
    for i in range(size):
        n += k[i]
    # Where the nodes lie and how wide W is depends on the guess alone, so that the tail falls in x.
    _, _, k2 = tilt(v, k, start, c)
    scale = math.sqrt(k2)
    h = 2.0 * math.pi * c / (math.log(1.0 / level) - math.log(EXCESS))
    deviation = SMOOTHING * scale
    shift = SHIFT * deviation
    last = int(LAST / (deviation * h)) + 1
    near = min(int(NEAR / (scale * h)) + 2, last)
    followed = min(size, N_FOLLOWED)
    end = h * last * deviation
    truncated = 2.0 / h * math.exp(-0.5 * end * end) / (end * end)
    lift = c * shift + 0.5 * c * c * deviation * deviation
    target = math.log(level * (1.0 - MISSED) * (1.0 - SLACK))
    best = high
    far = 0.0
    is_far_known = False
    is_lumpy = False
    x = start
    last_x = math.nan
    last_gap = math.nan
    for step in range(120):
        k0, _, _ = tilt(v, k, x, c)
        prepare_nodes(v, x, c, h, work)
        total, bound = summed_nodes(k, c, h, shift, deviation, 1, near, size, work)
        mass = 1.0 / c + total + bound + truncated
        factor = k0 + lift + math.log(h / (2.0 * math.pi)) - target
        gap = math.log(max(mass + far, 1e-3 / c)) + factor
        # Unless rewards crowd near a lattice, the far nodes hold little and hardly change with x: they are added up at the
        # first good guess, and where it would be returned.
        if is_lumpy or -TOLERANCE < gap <= 0.0 or (not is_far_known and abs(gap) < 0.03):
            total, bound = summed_nodes(k, c, h, shift, deviation, near + 1, last, followed, work)
            far = total + bound
            if not is_far_known:  # ends found without the far nodes do not count
                is_far_known = True
                is_lumpy = abs(far) > 0.01 * mass
                low = least
                high = best
            gap = math.log(max(mass + far, 1e-3 / c)) + factor
            if gap <= 0.0:
                best = min(best, x)
                if gap > -TOLERANCE:
                    break
        if gap > 0.0:
            low = x
        else:
            high = x
        slope = 0.0
        for i in range(size):
            slope -= c * k[i] * work[0, i]
        if abs(gap - last_gap) > 1e-9 and (gap - last_gap) * (x - last_x) < 0.0:
            slope = (gap - last_gap) / (x - last_x)
        last_x = x
        last_gap = gap
        x -= (gap + 0.5 * TOLERANCE) / slope
        if high - low < 0.01 * deviation / n:  # a step of a staircase, or the far nodes did change
            if is_lumpy:
                break
            is_lumpy = True
            low = least
            high = best
        if not low < x < high or step > 20:
            x = 0.5 * (low + high)
    return best


@jitable
def certain_tail(v: Floats, level: float) -> float:
    """At most the probability that the sum of a random subset of ``v`` is not negative, the empty one included.

    The numbers are near one and may be off by a rounding each; ``level`` is the probability that is of interest.
    """
    size = v.size
    total = 0.0
    absolute = 0.0
    for i in range(size):
        total += v[i]
        absolute += abs(v[i])
    if not absolute < math.inf:  # a difference was beyond the largest float
        return 0.0
    rounding = 1e-12 * absolute
    if total > rounding:  # of a subset and the rest, at least one has a sum that is not negative
        return 0.5
    ones = np.ones(size)
    largest = 0.0
    for i in range(size):
        largest = max(largest, v[i])
    if largest <= rounding:  # the empty subset alone is certain
        return 0.5**size
    mixed = np.empty(size)
    strided(v, ones, mixed, ones)
    c = best_tilt(mixed, ones, 0.0, 1.0 / math.sqrt(size))
    k0, _, k2 = tilt(mixed, ones, 0.0, c)
    deviation = COARSE * math.sqrt(k2)
    if not deviation > 1e3 * rounding:
        return 0.0
    shift = -SHIFT * deviation - rounding
    reach = math.log(1.0 / level) - math.log(EXCESS)
    h = 2.0 * math.pi * c / reach
    last = int(LAST / (deviation * h)) + 1
    followed = min(size, N_FOLLOWED)
    work = np.empty((6, size))
    prepare_nodes(mixed, 0.0, c, h, work)
    nodes, bound = summed_nodes(ones, c, h, shift, deviation, 1, last, followed, work)
    end = h * last * deviation
    truncated = 2.0 / h * math.exp(-0.5 * end * end) / (end * end)
    lift = c * shift + 0.5 * c * c * deviation * deviation
    tail = math.exp(k0 + lift) * h / (2.0 * math.pi) * (1.0 / c + nodes - bound - truncated)
    # The terms of Poisson's formula other than the tail: exp(-reach k) for k = 1, 2, ... below, and above by Chernoff's
    # inequality at 2 c exp(reach k) M(2 c) exp(-2 reach k).
    k0_twice, _, _ = tilt(mixed, ones, 0.0, 2.0 * c)
    lift_twice = 2.0 * c * shift + 2.0 * c * c * deviation * deviation
    others = (1.0 + math.exp(k0_twice + lift_twice)) * math.exp(-reach) / (1.0 - math.exp(-reach))
    return (tail - others) * (1.0 - SLACK) - MISSED
