r"""A tail of the random-subset mean that is never below the exact one, for samples too large to count.

With ``v_i = y_i - x`` and ``S`` the sum of the ``v_i`` that are in, a subset's mean exceeds ``x`` when ``S > 0``. An
independent normal ``W`` with mean ``3.25 d`` and a small standard deviation ``d`` is non-negative but for a probability
``e = P(W < 0)``, so that

.. math:: P(S \ge 0) (1 - e) \le P(S + W > 0) = \frac{1}{2\pi} \int \frac{M(c + i t)}{c + i t} dt

with ``M`` the moment generating function of ``S + W`` and any ``c > 0``; the empty subset, whose ``S`` is 0, is counted.
The trapezoid rule of ``trapezoid.py`` gives that plus terms that are not negative, of which the largest is about
``exp(-2 pi c/h)``. Beyond the nodes that are summed ``|M(c + i t)| <= M(c) exp(-d^2 t^2/2)``, and at a node where a product
over some of the rewards is tiny its modulus is a bound too; both are added. So every approximation errs upwards.

The terms of ``inversion.py`` stay where they are; the ``v_i`` move with ``x``, and the transform is another at each.

To decide whether the tail at one ``x`` is above a level, a lower bound will often do, and a coarse one is cheap
(:func:`certain_tail`): a ``W`` of mean ``-3.25 d`` is positive but for the same probability ``e``, so that
``P(S >= 0) >= P(S + W > 0) - e``, and every error is subtracted instead.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable
from bandstrap.multipliers.normal import normal_tail
from bandstrap.multipliers.saddlepoint import sum_of
from bandstrap.multipliers.trapezoid import (
    CHANCE,
    SPEED,
    STEP_SINE,
    TINY,
    beyond_last,
    log_excess,
    spread_order,
    start_turns,
    tilted_chance,
    turn,
    two_point_product,
)

# Standard deviation of W, as a share of that of S after tilting; and its mean in standard deviations.
SMOOTHING = 0.001
SHIFT = 3.25
# The share of subsets with S >= 0 that W makes us miss.
MISSED = normal_tail(SHIFT)
# Nodes beyond LAST standard deviations of W add about as much as the trapezoid rule.
LAST = 4.5
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
        p = tilted_chance(1.0, v, e)
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
def prepare_terms(values: Floats, x: float, c: float, terms: Floats) -> None:
    """Per value: ``P(in)`` after tilting, and ``v``."""
    for i in range(values.size):
        v = values[i] - x
        terms[CHANCE, i] = tilted_chance(1.0, v, math.exp(-abs(c * v)))
        terms[SPEED, i] = v


@jitable
def summed_nodes(
    terms: Floats, counts: Floats, line: tuple[float, float, float, float], first: int, last: int, followed: int
) -> tuple[float, float]:
    """``sum 2 Re[(M(z)/M(c))/z]`` over nodes ``z = c + i h j``, ``first <= j <= last``, and a bound on what was left out.

    ``line`` holds ``c``, ``h``, and mean and standard deviation of ``W``. The phases of the first ``followed`` values are
    turned on from node to node; those of the others are computed where the product so far is not tiny.
    """
    c, h, shift, deviation = line
    start_turns(terms, h, first, followed)
    total = 0.0
    bound = 0.0
    for j in range(first, last + 1):
        if j > first:
            turn(terms, followed)
        t = h * j
        size = math.exp(-0.5 * deviation * deviation * t * t)
        angle = t * (shift + c * deviation * deviation)
        real, imaginary, multiplied = two_point_product(
            size * math.cos(angle), size * math.sin(angle), terms, counts, t, TINY, followed, followed
        )
        square = c * c + t * t
        if multiplied < counts.size:
            bound += 2.0 * math.sqrt((real * real + imaginary * imaginary) / square)
        else:
            total += 2.0 * (real * c + imaginary * t) / square  # the real part of the quotient
    return total, bound


@jitable
def inverted_quantile(values: Floats, counts: Floats, level: float, start: float) -> float:
    """An ``x`` with ``P(subset mean >= x) <= level``, the empty subset included, and close to the smallest such.

    ``values`` ascend from about -1 to 1, ``start`` is a guess. Whatever the guess is, what comes of it holds.
    """
    size = values.size
    best = values[size - 1]  # no mean exceeds the largest reward
    if not values[0] < start < best:
        start = 0.5 * (values[0] + best)
    order = spread_order(size)
    v = values[order]
    k = counts[order]
    terms = np.empty((STEP_SINE + 1, size))
    c = best_tilt(v, k, start, 2.0 / (best - values[0]) / math.sqrt(sum_of(k)))
    for _ in range(MOST_LINES):
        best = inverted_on_line(v, k, level, c, start, values[0], best, terms)
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
    v: Floats, k: Floats, level: float, c: float, start: float, least: float, most: float, terms: Floats
) -> float:
    """Return :func:`inverted_quantile` by the integral on the line ``c + i t``, between ``least`` and ``most``."""
    size = v.size
    low = least
    high = most
    n = sum_of(k)
    # Where the nodes lie and how wide W is depends on the guess alone, so that the tail falls in x.
    _, _, k2 = tilt(v, k, start, c)
    scale = math.sqrt(k2)
    h = 2.0 * math.pi * c / log_excess(level)
    deviation = SMOOTHING * scale
    shift = SHIFT * deviation
    line = c, h, shift, deviation
    last = int(LAST / (deviation * h)) + 1
    near = min(int(NEAR / (scale * h)) + 2, last)
    followed = min(size, N_FOLLOWED)
    truncated = beyond_last(h, last, deviation)
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
        prepare_terms(v, x, c, terms)
        total, bound = summed_nodes(terms, k, line, 1, near, size)
        mass = 1.0 / c + total + bound + truncated
        factor = k0 + lift + math.log(h / (2.0 * math.pi)) - target
        gap = math.log(max(mass + far, 1e-3 / c)) + factor
        # Unless rewards crowd near a lattice, the far nodes hold little and hardly change with x: they are added up at the
        # first good guess, and where it would be returned.
        if is_lumpy or -TOLERANCE < gap <= 0.0 or (not is_far_known and abs(gap) < 0.03):
            total, bound = summed_nodes(terms, k, line, near + 1, last, followed)
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
            slope -= c * k[i] * terms[CHANCE, i]
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
    mixed = v[spread_order(size)]
    c = best_tilt(mixed, ones, 0.0, 1.0 / math.sqrt(size))
    k0, _, k2 = tilt(mixed, ones, 0.0, c)
    deviation = COARSE * math.sqrt(k2)
    if not deviation > 1e3 * rounding:
        return 0.0
    shift = -SHIFT * deviation - rounding
    reach = log_excess(level)
    h = 2.0 * math.pi * c / reach
    last = int(LAST / (deviation * h)) + 1
    terms = np.empty((STEP_SINE + 1, size))
    prepare_terms(mixed, 0.0, c, terms)
    nodes, bound = summed_nodes(terms, ones, (c, h, shift, deviation), 1, last, min(size, N_FOLLOWED))
    truncated = beyond_last(h, last, deviation)
    lift = c * shift + 0.5 * c * c * deviation * deviation
    tail = math.exp(k0 + lift) * h / (2.0 * math.pi) * (1.0 / c + nodes - bound - truncated)
    # The terms of Poisson's formula other than the tail: exp(-reach k) for k = 1, 2, ... below, and above by Chernoff's
    # inequality at 2 c exp(reach k) M(2 c) exp(-2 reach k).
    k0_twice, _, _ = tilt(mixed, ones, 0.0, 2.0 * c)
    lift_twice = 2.0 * c * shift + 2.0 * c * c * deviation * deviation
    others = (1.0 + math.exp(k0_twice + lift_twice)) * math.exp(-reach) / (1.0 - math.exp(-reach))
    return (tail - others) * (1.0 - SLACK) - MISSED
