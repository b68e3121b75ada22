r"""Quantiles of ``X = sum_i a_i w_i`` by inverting its transform: as sure on lumps and lattices as on smooth distributions.

With ``W`` an independent normal of mean 0 and a small standard deviation ``d``, the tail of ``X + W`` is an integral on a
line ``c + i t``, see ``trapezoid.py``. A saddlepoint says where ``c`` should be, and the transform is computed once per
quantile: another ``x`` only turns its phases. Where a few terms dominate, no saddlepoint is found; if the tail then turns
out to be a small difference of large numbers, Chernoff's bound gives a better ``c``.

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
from bandstrap.multipliers.trapezoid import (
    CHANCE,
    COSINE,
    SINE,
    SPEED,
    STEP_SINE,
    TINY,
    beyond_last,
    log_excess,
    power,
    spread_order,
    start_turns,
    tilted_chance,
    times,
    turn,
    two_point_product,
)
from bandstrap.multipliers.weights import (
    EFRON,
    EXPONENTIAL,
    MAMMEN_HIGH,
    MAMMEN_LOW,
    MAMMEN_LOW_PROBABILITY,
    RADEMACHER,
    largest_sum,
)

# Standard deviation of W, as a share of the quantile; near the middle of the distribution, of its standard deviation.
SMOOTHING = 0.001
# Upward, W is counted on to exceed minus this many of its standard deviations, but for the chance MISSED. A share of the
# level that is lost moves a quantile from one lump to the next where the level is so near to the tail between them.
SHIFT = 4.0
MISSED = normal_tail(SHIFT)
# The period is at least this many standard deviations of X after tilting.
REACH = 8.0
# Nodes end where W has brought the transform down to exp(-LAST^2/2); upward, where all that is left out is lost.
LAST = 3.5
LAST_UPWARD = 5.0
# How closely the saddlepoint is looked for: it says where to begin.
ROUGH = 0.01
# The least c, in standard deviations of X.
LEAST_TILT = 1.5
# Terms whose phases are turned on from node to node, and whose product says whether a far node counts.
N_TURNED = 32
# The row, below those of phases and steps, of what the moduli of the terms need.
WEIGHT = STEP_SINE + 1
# A tail that is a smaller share of 1/c is looked for on another line. Exponential weights, whose transform dies out, may do
# with less.
LEAST_SHARE = 0.02
LEAST_SHARE_OF_EXPONENTIALS = 100.0 * TINY
# Upward, roundings of the integral as a share of the tail.
SLACK = 1e-6


@jitable
def prepare_terms(law: int, a: Floats, c: float, terms: Floats) -> float:
    """Prepare each term for the transform on the line ``c + i t``; returns the origin of ``X``.

    Two-point weights: the tilted probability of the higher point, and the distance of the points. Efron's: the tilted
    probability of a reward, and its place. Exponential weights: ``a/(1 - c a)``.
    """
    chances, speeds = terms[CHANCE], terms[SPEED]
    if law == EFRON:
        top = c * a[0]
        for i in range(a.size):
            top = max(top, c * a[i])
        mass = 0.0
        for i in range(a.size):
            chances[i] = math.exp(c * a[i] - top)
            speeds[i] = a[i]
            mass += chances[i]
        for i in range(a.size):
            chances[i] /= mass
        return 0.0
    if law == EXPONENTIAL:
        for i in range(a.size):
            chances[i] = a[i] / (1.0 - c * a[i])
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
        chances[i] = tilted_chance(odds, v, math.exp(-abs(v)))
    return low * sum_of(a)


@jitable
def transform(law: int, terms: Floats, ones: Floats, t: float, tiny: float, turned: int) -> tuple[float, float]:
    """``M(c + i t)/M(c)``, of as many terms as there are ``ones``; a product that has become ``tiny`` is left as it is.

    The first ``turned`` terms have their phases.
    """
    real = 1.0
    imaginary = 0.0
    if law == EFRON:  # a power of a sum
        real = 0.0
        for i in range(ones.size):
            real += terms[CHANCE, i] * (terms[COSINE, i] if i < turned else math.cos(t * terms[SPEED, i]))
            imaginary += terms[CHANCE, i] * (terms[SINE, i] if i < turned else math.sin(t * terms[SPEED, i]))
        return power(real, imaginary, float(ones.size))
    if law != EXPONENTIAL:
        real, imaginary, _ = two_point_product(real, imaginary, terms, ones, t, tiny, turned, 1)
        return real, imaginary
    for i in range(ones.size):
        v = t * terms[CHANCE, i]
        square = 1.0 + v * v
        real, imaginary = times(real, imaginary, 1.0 / square, v / square)
        if real * real + imaginary * imaginary < tiny * tiny:
            break
    return real, imaginary


@jitable
def modulus_bound(law: int, n: int, terms: Floats, partial: Floats) -> float:
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
                partial[i] += terms[WEIGHT, k + i] * terms[COSINE, k + i]
                partial[8 + i] += terms[WEIGHT, k + i] * terms[SINE, k + i]
                partial[16 + i] += terms[WEIGHT, k + i]
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
            (1.0 - terms[WEIGHT, i] * (1.0 - terms[COSINE, i]))
            * (1.0 - terms[WEIGHT, 8 + i] * (1.0 - terms[COSINE, 8 + i]))
            * (1.0 - terms[WEIGHT, 16 + i] * (1.0 - terms[COSINE, 16 + i]))
            * (1.0 - terms[WEIGHT, 24 + i] * (1.0 - terms[COSINE, 24 + i]))
        )
    square = 1.0
    for i in range(8):
        square *= partial[i]
    return math.sqrt(max(square, 0.0))


@jitable
def fill_nodes(
    law: int, terms: Floats, n: int, c: float, h: float, deviation: float, nodes: Floats
) -> tuple[int, float]:
    """Write ``t``, and the real and imaginary part of ``2 M(z)/M(c) E[exp(z W)]/z`` at ``z = c + i t``, where it counts.

    Returns how many nodes count, and a bound on the sum of the moduli of those that were left out.
    """
    start_turns(terms, h, 1, n)
    for i in range(n):
        terms[WEIGHT, i] = terms[CHANCE, i] if law == EFRON else 2.0 * terms[CHANCE, i] * (1.0 - terms[CHANCE, i])
    partial = np.empty(24)
    ones = np.ones(n)
    turned = terms.shape[1]  # all terms, as long as nodes count one after the other
    count = 0
    bound = 0.0
    for j in range(1, nodes.shape[1] + 1):
        t = h * j
        tiny = 0.5 * TINY * t / c
        if law != EXPONENTIAL:
            if j > 1:
                turn(terms, turned)
            if turned == N_TURNED:
                modulus = modulus_bound(law, n, terms, partial)
                if modulus < tiny:
                    bound += 2.0 * modulus / t
                    continue
        real, imaginary = transform(law, terms, ones, t, tiny, min(turned, n))
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
        real, imaginary = times(real, imaginary, cosine, sine)
        nodes[0, count] = t
        nodes[1, count], nodes[2, count] = times(real, imaginary, c, -t)
        count += 1
    return count, bound


@jitable
def summed(nodes: Floats, count: int, place: float) -> tuple[float, float]:
    """The real part of the sum over nodes at a place, and its derivative there."""
    total = 0.0
    slope = 0.0
    for j in range(count):
        t = nodes[0, j]
        real, imaginary = times(nodes[1, j], nodes[2, j], math.cos(t * place), -math.sin(t * place))
        total += real
        slope += t * imaginary
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
    """Right end of ``M``: for exponential weights where ``1 - s a_i`` is 0, for the others nowhere."""
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
    """Quantile of ``sum_i a_i w_i`` at a level whose normal quantile ``z`` is not below the middle of the distribution."""
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
    period = max(log_excess(level) / c, REACH * math.sqrt(k2))
    h = 2.0 * math.pi / period
    deviation = SMOOTHING * max(guess, 0.5 * scale)
    last = LAST_UPWARD if upward else LAST
    nodes = np.empty((3, int(last / (deviation * h)) + 1))
    terms = np.zeros((WEIGHT + 1, max(a.size, N_TURNED)))  # those that are not there do not turn, and weigh nothing
    origin = prepare_terms(law, a, c, terms)
    count, bound = fill_nodes(law, terms, a.size, c, h, deviation, nodes)
    target = math.log(level)
    error = 0.0
    if upward:
        target += math.log1p(-MISSED - SLACK)
        error = bound + beyond_last(h, nodes.shape[1], deviation)
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

    Upward is for symmetric weights: below the middle of their distribution 0 will do.
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
