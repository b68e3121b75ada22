r"""Quantiles of ``X = sum_i a_i w_i`` by inverting its transform: as sure on lumps and lattices as on smooth laws.

With ``M`` the moment generating function of ``X``, ``W`` an independent normal with mean 0 and a small standard deviation
``d``, and any ``c > 0``,

.. math:: P(X + W > x) = \frac{1}{2\pi} \int \frac{M(c + i t)}{c + i t} e^{(c + i t)^2 d^2/2 - (c + i t) x} dt

The trapezoid rule with step ``h`` gives ``sum_k exp(2 pi k c/h) P(X + W > x + 2 pi k/h)`` over all whole ``k``: what is
asked for, plus positive terms that a small ``h`` makes negligible. A saddlepoint says where ``c`` should be, and the
transform is computed once per quantile: another ``x`` only turns its phases. Where a few terms dominate, no saddlepoint is
found; if the tail then turns out to be a small difference of large numbers, Chernoff's bound gives a better ``c``.

Where ``X`` is smooth the transform dies out after a few nodes. Where it is lumpy (few values, clusters, a lattice, one
outlier) it comes back again and again, and the nodes reach as far as ``W`` lets them: its ``d`` is a thousandth of the
quantile, so that a lump is never off by more than three or four thousandths. A product over the terms that has become tiny
is left alone, which makes far nodes cheap.

Upward, nothing is ever too small: ``P(X > x + u) P(W > -u) <= P(X + W > x)``, so ``u`` is added and every error of the
integral counted as if it were tail.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Entry, jitable
from bandstrap.multipliers.bracket import narrowed, next_point
from bandstrap.multipliers.enumeration import extreme_quantile, is_extreme, without_zeros
from bandstrap.multipliers.normal import normal_tail
from bandstrap.multipliers.saddlepoint import (
    LOG_2,
    LOG_HIGH,
    LOG_LOW,
    cumulants,
    sum_of,
    third_cumulant,
    upper_saddle,
    variance,
)
from bandstrap.multipliers.subset_inversion import power, stride
from bandstrap.multipliers.weights import (
    EFRON,
    EXPONENTIAL,
    MAMMEN_HIGH,
    MAMMEN_LOW,
    MAMMEN_LOW_PROBABILITY,
    RADEMACHER,
    largest_sum,
)

# Standard deviation of W, as a share of the quantile; near the middle of the law, of its standard deviation.
SMOOTHING = 0.001
# Upward, W is counted on to exceed minus this many of its standard deviations, but for the chance MISSED. A share of the
# level that is lost moves a quantile from one lump to the next where the level is so near to the tail between them.
SHIFT = 4.0
MISSED = normal_tail(SHIFT)
# The nearest terms that the trapezoid rule adds are about this share of the level, or of P(X > x) after tilting.
EXCESS = 1e-5
REACH = 8.0
# Nodes end where W has brought the transform down to exp(-LAST^2/2); upward, where all that is left out is lost.
LAST = 3.5
LAST_UPWARD = 5.0
# How closely the saddlepoint is looked for: it says where to begin.
ROUGH = 0.01
# The least c, in standard deviations of X.
LEAST_TILT = 1.5
# A node is left alone once a product over some of the terms says that it adds less than this share of the tail.
TINY = 1e-6
# Terms whose phases are turned on from node to node, and whose product says whether a far node counts.
N_TURNED = 32
# Rows of what is kept of the terms: their phases, by what these turn from node to node, and what their moduli need.
COSINE, SINE, STEP_COSINE, STEP_SINE, WEIGHT = range(5)
# A tail that is a smaller share of 1/c is looked for on another line. Exponential weights, whose transform dies out, may do
# with less.
LEAST_SHARE = 0.02
LEAST_SHARE_OF_EXPONENTIALS = 100.0 * TINY
# Upward, roundings of the integral as a share of the tail.
SLACK = 1e-6


@jitable
def prepare_terms(law: int, a: Floats, c: float, sizes: Floats, speeds: Floats) -> float:
    """What the transform on the line ``c + i t`` needs of each term; returns what ``X`` is counted from.

    Two-point weights: the tilted chance of the higher point, and the distance of the points. Efron's: the tilted chance of
    a reward, and its place. Exponential weights: ``a/(1 - c a)``.
    """
    if law == EFRON:
        top = c * a[0]
        for i in range(a.size):
            top = max(top, c * a[i])
        mass = 0.0
        for i in range(a.size):
            sizes[i] = math.exp(c * a[i] - top)
            speeds[i] = a[i]
            mass += sizes[i]
        for i in range(a.size):
            sizes[i] /= mass
        return 0.0
    if law == EXPONENTIAL:
        for i in range(a.size):
            sizes[i] = a[i] / (1.0 - c * a[i])
            speeds[i] = 0.0
        return -sum_of(a)
    low = -1.0
    high = 1.0
    low_chance = 0.5
    if law != RADEMACHER:
        low = MAMMEN_LOW
        high = MAMMEN_HIGH
        low_chance = MAMMEN_LOW_PROBABILITY
    odds = (1.0 - low_chance) / low_chance
    for i in range(a.size):
        speeds[i] = a[i] * (high - low)
        v = c * speeds[i]
        e = math.exp(-abs(v))
        sizes[i] = odds / (odds + e) if v > 0.0 else odds * e / (odds * e + 1.0)
    return low * sum_of(a)


@jitable
def transform(
    law: int, sizes: Floats, speeds: Floats, t: float, tiny: float, turns: Floats, turned: int
) -> tuple[float, float]:
    """``M(c + i t)/M(c)``; a product that has become smaller than ``tiny`` is left as it is.

    ``turns`` holds the cosines and sines of the phases of the first ``turned`` terms.
    """
    n = sizes.size
    if law == EFRON:  # a power of a sum
        real = 0.0
        imaginary = 0.0
        for i in range(n):
            real += sizes[i] * (turns[COSINE, i] if i < turned else math.cos(t * speeds[i]))
            imaginary += sizes[i] * (turns[SINE, i] if i < turned else math.sin(t * speeds[i]))
        return power(real, imaginary, float(n))
    real = 1.0
    imaginary = 0.0
    for i in range(n):
        if law == EXPONENTIAL:
            v = t * sizes[i]
            square = 1.0 + v * v
            factor_real = 1.0 / square
            factor_imaginary = v / square
        else:
            cosine = turns[COSINE, i] if i < turned else math.cos(t * speeds[i])
            sine = turns[SINE, i] if i < turned else math.sin(t * speeds[i])
            factor_real = 1.0 - sizes[i] + sizes[i] * cosine
            factor_imaginary = sizes[i] * sine
        real, imaginary = (
            real * factor_real - imaginary * factor_imaginary,
            real * factor_imaginary + imaginary * factor_real,
        )
        if real * real + imaginary * imaginary < tiny * tiny:
            break
    return real, imaginary


@jitable
def prepare_turns(law: int, sizes: Floats, speeds: Floats, h: float, turns: Floats) -> None:
    """Cosines and sines of the phases at the first place, which is 0, and of their steps; and what moduli need.

    Terms that are not there do not turn, and weigh nothing.
    """
    for i in range(turns.shape[1]):
        is_there = i < sizes.size
        turns[COSINE, i] = 1.0
        turns[SINE, i] = 0.0
        turns[STEP_COSINE, i] = math.cos(h * speeds[i]) if is_there else 1.0
        turns[STEP_SINE, i] = math.sin(h * speeds[i]) if is_there else 0.0
        turns[WEIGHT, i] = 0.0
        if is_there:
            turns[WEIGHT, i] = sizes[i] if law == EFRON else 2.0 * sizes[i] * (1.0 - sizes[i])


@jitable
def turn(turns: Floats, turned: int) -> None:
    """Turn the phases of the first terms on to the next node."""
    for i in range(turned):
        cosine = turns[COSINE, i] * turns[STEP_COSINE, i] - turns[SINE, i] * turns[STEP_SINE, i]
        turns[SINE, i] = turns[SINE, i] * turns[STEP_COSINE, i] + turns[COSINE, i] * turns[STEP_SINE, i]
        turns[COSINE, i] = cosine


@jitable
def modulus_bound(law: int, n: int, turns: Floats, partial: Floats) -> float:
    """At most so large is the modulus of ``M(c + i t)/M(c)``, by the first ``N_TURNED`` terms.

    Loops over eight terms at a time, which processors do at once.
    """
    if law == EFRON:  # a power of a sum: the terms that are left add at most their mass
        for i in range(8):
            partial[i] = 0.0
            partial[8 + i] = 0.0
            partial[16 + i] = 0.0
        for k in range(0, N_TURNED, 8):
            for i in range(8):
                partial[i] += turns[WEIGHT, k + i] * turns[COSINE, k + i]
                partial[8 + i] += turns[WEIGHT, k + i] * turns[SINE, k + i]
                partial[16 + i] += turns[WEIGHT, k + i]
        real = 0.0
        imaginary = 0.0
        mass = 0.0
        for i in range(8):
            real += partial[i]
            imaginary += partial[8 + i]
            mass += partial[16 + i]
        return (math.sqrt(real * real + imaginary * imaginary) + max(1.0 - mass, 0.0)) ** n
    for i in range(8):  # |1 - p + p exp(i v)|^2 = 1 - 2 p (1 - p) (1 - cos v)
        partial[i] = (
            (1.0 - turns[WEIGHT, i] * (1.0 - turns[COSINE, i]))
            * (1.0 - turns[WEIGHT, 8 + i] * (1.0 - turns[COSINE, 8 + i]))
            * (1.0 - turns[WEIGHT, 16 + i] * (1.0 - turns[COSINE, 16 + i]))
            * (1.0 - turns[WEIGHT, 24 + i] * (1.0 - turns[COSINE, 24 + i]))
        )
    square = 1.0
    for i in range(8):
        square *= partial[i]
    return math.sqrt(max(square, 0.0))


@jitable
def fill_nodes(
    law: int, sizes: Floats, speeds: Floats, c: float, h: float, deviation: float, nodes: Floats
) -> tuple[int, float]:
    """Write ``t``, and the real and imaginary part of ``2 M(z)/M(c) E[exp(z W)]/z`` at ``z = c + i t``, where it counts.

    Returns how many nodes count, and a bound on the sum of the moduli of those that were left out.
    """
    n = sizes.size
    turns = np.empty((WEIGHT + 1, max(n, N_TURNED)))
    prepare_turns(law, sizes, speeds, h, turns)
    partial = np.empty(24)
    turned = turns.shape[1]  # all terms, as long as nodes count one after the other
    count = 0
    bound = 0.0
    for j in range(1, nodes.shape[1] + 1):
        t = h * j
        tiny = 0.5 * TINY * t / c
        if law != EXPONENTIAL:
            turn(turns, turned)
            if turned == N_TURNED:
                modulus = modulus_bound(law, n, turns, partial)
                if modulus < tiny:
                    bound += 2.0 * modulus / t
                    continue
        real, imaginary = transform(law, sizes, speeds, t, tiny, turns, min(turned, n))
        modulus = math.sqrt(real * real + imaginary * imaginary)
        if modulus < tiny:
            bound += 2.0 * modulus / t
            turned = N_TURNED
            if law == EXPONENTIAL:  # the modulus falls
                bound += 2.0 * modulus / t * (nodes.shape[1] - j)
                break
            continue
        damping = 2.0 * math.exp(-0.5 * deviation * deviation * t * t)
        square = c * c + t * t
        # The phase of E[exp(z W)], and the division by z.
        angle = c * deviation * deviation * t
        cosine = damping * math.cos(angle) / square
        sine = damping * math.sin(angle) / square
        real, imaginary = real * cosine - imaginary * sine, real * sine + imaginary * cosine
        nodes[0, count] = t
        nodes[1, count] = real * c + imaginary * t
        nodes[2, count] = imaginary * c - real * t
        count += 1
    return count, bound


@jitable
def summed(nodes: Floats, count: int, place: float) -> tuple[float, float]:
    """The real part of the sum over nodes at a place, and its derivative there."""
    total = 0.0
    slope = 0.0
    for j in range(count):
        t = nodes[0, j]
        cosine = math.cos(t * place)
        sine = math.sin(t * place)
        total += nodes[1, j] * cosine + nodes[2, j] * sine
        slope += t * (nodes[2, j] * cosine - nodes[1, j] * sine)
    return total, slope


@jitable
def log_chance_of_largest(law: int, a: Floats) -> float:
    """The log probability that ``sum_i a_i w_i`` takes its largest value."""
    if law == EXPONENTIAL:
        return -math.inf
    total = 0.0
    if law == EFRON:
        top = a[0]
        for i in range(a.size):
            top = max(top, a[i])
        for i in range(a.size):
            total += a[i] == top
        return a.size * math.log(total / a.size)
    for i in range(a.size):
        if a[i] > 0.0:
            total += LOG_2 if law == RADEMACHER else -LOG_HIGH
        elif a[i] < 0.0:
            total += LOG_2 if law == RADEMACHER else -LOG_LOW
    return -total


@jitable
def end_of_transform(law: int, a: Floats) -> float:
    """Where ``M`` ends on the right: for exponential weights where ``1 - s a_i`` is 0, for the others nowhere."""
    if law != EXPONENTIAL:
        return math.inf
    top = 0.0
    for i in range(a.size):
        top = max(top, a[i])
    return 1.0 / top


@jitable
def chernoff_tilt(law: int, a: Floats, level: float, deviation: float, start: float) -> float:
    """About the ``s`` at which Chernoff's bound on the tail of ``X + W``, ``exp(K(s) - s K'(s))``, is the level."""
    aim = -math.log(level)
    square = deviation * deviation
    low = 0.0
    high = end_of_transform(law, a)
    s = start
    for _ in range(200):
        k0, k1, k2 = cumulants(law, a, s)
        gap = s * k1 - k0 + 0.5 * s * s * square - aim  # rises with s
        if abs(gap) <= ROUGH * aim:
            break
        if gap < 0.0:
            low = s
        else:
            high = s
        s -= gap / (s * (k2 + square))
        if not low < s < high:
            s = 2.0 * low if high == math.inf else 0.5 * (low + high)
    return s


@jitable
def upper_inverted(law: int, a: Floats, level: float, z: float, upward: bool) -> float:
    """Quantile of ``sum_i a_i w_i`` at a level whose normal quantile ``z`` is not below the middle of the law."""
    scale = math.sqrt(variance(a))
    most = largest_sum(law, a)
    if math.log(level) < log_chance_of_largest(law, a):
        return most
    s, guess = upper_saddle(law, a, z, ROUGH)
    if math.isnan(s) or guess >= most:  # a few terms dominate: most often any start will do
        s = z / scale
        guess = min(z * scale, most)
    # Far from the middle the saddlepoint; for exponential weights at most half way to where M ends.
    c = min(max(s, LEAST_TILT / scale), 0.5 * end_of_transform(law, a))
    x, share = inverted_on_line(law, a, level, c, guess, upward)
    if share < (LEAST_SHARE_OF_EXPONENTIALS if law == EXPONENTIAL else LEAST_SHARE):
        c = chernoff_tilt(law, a, level, SMOOTHING * max(guess, 0.5 * scale), c)
        _, guess, _ = cumulants(law, a, c)
        x, _ = inverted_on_line(law, a, level, c, guess, upward)
    return min(x, most)


@jitable
def inverted_on_line(law: int, a: Floats, level: float, c: float, guess: float, upward: bool) -> tuple[float, float]:
    """The quantile by the integral on the line ``c + i t``, looked for from a guess; and the integral, times ``c``.

    Where that is small, it is a small difference of large numbers, whose errors then count.
    """
    scale = math.sqrt(variance(a))
    k0, _, k2 = cumulants(law, a, c)
    period = max((math.log(1.0 / level) - math.log(EXCESS)) / c, REACH * math.sqrt(k2))
    h = 2.0 * math.pi / period
    deviation = SMOOTHING * max(guess, 0.5 * scale)
    last = LAST_UPWARD if upward else LAST
    nodes = np.empty((3, int(last / (deviation * h)) + 1))
    sizes = np.empty(a.size)
    speeds = np.empty(a.size)
    origin = prepare_terms(law, a, c, sizes, speeds)
    count, bound = fill_nodes(law, sizes, speeds, c, h, deviation, nodes)
    target = math.log(level)
    error = 0.0
    if upward:
        target += math.log1p(-MISSED - SLACK)
        end = h * nodes.shape[1] * deviation
        error = bound + 2.0 / h * math.exp(-0.5 * end * end) / (end * end)
    reach = 0.05 * max(guess, scale)
    factor = k0 + 0.5 * c * c * deviation * deviation + math.log(h / (2.0 * math.pi)) - target
    # Newton's steps from the guess; where they leave what is known to hold the quantile, false position.
    bracket = (-math.inf, math.nan, math.inf, math.nan, 0)
    x = guess
    for step in range(300):
        total, slope = summed(nodes, count, x - origin)
        tail = 1.0 / c + total + error
        gap = math.log(tail) + factor - c * x if tail > 0.0 else -math.inf
        if abs(gap) <= 0.1 * SLACK:
            break
        bracket = narrowed(bracket, x, gap)
        fall = slope / tail - c if tail > 0.0 else 0.0
        newton = x - gap / fall if fall < 0.0 and gap > -math.inf else math.nan
        # A step too long is no step to the quantile, but from one lump to another.
        newton = min(max(newton, x - reach), x + reach)
        if step < 10 and bracket[0] < newton < bracket[2]:
            x = newton
        elif bracket[0] == -math.inf or bracket[2] == math.inf:
            x = x + reach if gap > 0.0 else x - reach
            reach *= 2.0
        elif bracket[2] - bracket[0] <= 1e-6 * deviation:
            x = bracket[2]
            break
        else:
            x = next_point(bracket)
    return x + SHIFT * deviation if upward else x, tail * c


@jitable
def inverted_quantile(law: int, a: Floats, level: float, z: float, upward: bool) -> float:
    """Quantile of ``sum_i a_i w_i`` at ``level``, whose normal quantile is ``z``; not below the exact one if ``upward``.

    Upward is for symmetric weights: below the middle of their law 0 will do.
    """
    k2 = variance(a)
    if k2 <= 0.0 or (upward and z < 0.0):
        return 0.0
    if z < third_cumulant(law, a) / (6.0 * k2 * math.sqrt(k2)):  # below the middle: the upper tail of -X
        return -upper_inverted(law, -a, 1.0 - level, -z, False)
    return upper_inverted(law, a, level, z, upward)


# A dozen quantiles in plain Python take less time than compiling.
@partial(Entry, plain_work=1_500_000)
def inversion_batch(law: int, terms: Floats, levels: Floats, z: Floats, upward: bool, out: Floats) -> None:
    """Row by row: quantiles of ``sum_i a_i w_i``, into ``out`` of shape ``(rows, levels)``.

    Where the tail holds few of the ``2^n`` signed sums, they are counted: rows of Rademacher weights are magnitudes that
    descend.
    """
    for row in range(terms.shape[0]):
        for k in range(levels.size):
            if law == RADEMACHER:
                magnitudes = without_zeros(terms[row, ::-1])
                if magnitudes.size > 0 and is_extreme(magnitudes.size, levels[k]):
                    out[row, k] = extreme_quantile(magnitudes, levels[k])
                    continue
            out[row, k] = inverted_quantile(law, terms[row], levels[k], z[k], upward)


def spread_order(n: int) -> NDArray[np.int64]:
    """An order of ``n`` sorted terms whose first ones are spread over all of them."""
    return (np.arange(n) * stride(n) + n // 2) % n


def quantiles(law: int, terms: Floats, levels: Floats, *, upward: bool = False) -> Floats:
    """Quantiles of ``sum_i a_i w_i`` for each row ``a`` of ``terms``: shape ``(rows, levels)``.

    Within half a per cent at levels up to 0.2, whatever the sample; ``upward`` (Rademacher weights), never below the exact
    one.
    """
    if law == RADEMACHER:
        rows = np.sort(np.abs(terms), axis=-1)[:, ::-1]
    else:
        rows = np.sort(terms, axis=-1)[:, spread_order(terms.shape[-1])]
    out = np.empty((terms.shape[0], levels.size))
    work = levels.size * terms.shape[0] * (50_000 + 50 * terms.shape[-1])
    inversion_batch(work, law, np.ascontiguousarray(rows), levels, -ndtri(levels), upward, out)
    return out
