"""Saddlepoint quantiles of ``X = sum_i a_i w_i``: a handful of O(n) passes, accurate far into the tail.

With ``K`` the cumulant generating function of ``X``, ``x = K'(s)``, ``w = sqrt(2 (s x - K(s)))`` and
``u = s sqrt(K''(s))``, the tail is ``P(X > x) ~ 1 - Phi(r*)`` with ``r* = w + log(u/w)/w`` (Barndorff-Nielsen's form
of Lugannani and Rice). A quantile needs no inner loop: solve ``r*(s) = z`` in the one unknown ``s`` and return
``K'(s)``.

A sum of few signs is lumpy where a few terms dominate, and no smooth formula can follow the lumps. For Rademacher
weights :func:`conditioned_quantiles` therefore enumerates the signs of the dominating terms and uses the saddlepoint
for the rest; and where the tail holds only few of the ``2^n`` sums, they are found exactly as in ``enumeration``.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import entry, jitable
from bandstrap.multipliers.bracket import narrowed, next_point
from bandstrap.multipliers.enumeration import extreme_quantile, is_extreme, without_zeros
from bandstrap.multipliers.normal import normal_tail
from bandstrap.multipliers.weights import (
    EFRON,
    EXPONENTIAL,
    GAUSSIAN,
    MAMMEN_HIGH,
    MAMMEN_LOW,
    MAMMEN_LOW_PROBABILITY,
    RADEMACHER,
    largest_sum,
)

LOG_2 = math.log(2.0)
LOG_LOW = math.log(MAMMEN_LOW_PROBABILITY)
LOG_HIGH = math.log(1.0 - MAMMEN_LOW_PROBABILITY)

# A term joins the enumerated ones while its square exceeds this share of the squares below it, up to MOST_CONDITIONED.
DOMINANCE = 0.1
MOST_CONDITIONED = 10
# Nodes in s of the tabulated tail of the terms that are not enumerated.
N_NODES = 128


@jitable
def cumulants(law: int, a: Floats, s: float) -> tuple[float, float, float]:
    """``K(s), K'(s), K''(s)`` of ``sum_i a_i w_i``; ``a`` sums to zero for the distributions that are not centred."""
    k0 = 0.0
    k1 = 0.0
    k2 = 0.0
    if law == RADEMACHER:  # K = sum log cosh(s a), without overflow
        for i in range(a.size):
            v = abs(s * a[i])
            e = math.exp(-2.0 * v)
            t = (1.0 - e) / (1.0 + e)
            k0 += v + math.log1p(e) - LOG_2
            k1 += abs(a[i]) * t
            k2 += a[i] * a[i] * 4.0 * e / ((1.0 + e) * (1.0 + e))
        if s < 0.0:
            k1 = -k1
    elif law == EFRON:  # K = n log mean exp(s a)
        n = a.size
        top = s * a[0]
        for i in range(n):
            top = max(top, s * a[i])
        mass = 0.0
        for i in range(n):
            e = math.exp(s * a[i] - top)
            mass += e
            k1 += e * a[i]
            k2 += e * a[i] * a[i]
        k1 /= mass
        k2 = n * max(k2 / mass - k1 * k1, 0.0)
        k1 *= n
        k0 = n * (top + math.log(mass / n))
    elif law == EXPONENTIAL:  # K = -sum (log(1 - s a) + s a)
        for i in range(a.size):
            v = 1.0 - s * a[i]
            k0 -= math.log(v) + s * a[i]
            k1 += a[i] * (1.0 / v - 1.0)
            k2 += (a[i] / v) * (a[i] / v)
    elif law == GAUSSIAN:
        for i in range(a.size):
            k2 += a[i] * a[i]
        k1 = s * k2
        k0 = 0.5 * s * s * k2
    else:  # Mammen's two points
        for i in range(a.size):
            low = LOG_LOW + s * a[i] * MAMMEN_LOW
            high = LOG_HIGH + s * a[i] * MAMMEN_HIGH
            top = max(low, high)
            k = top + math.log(math.exp(low - top) + math.exp(high - top))
            p = math.exp(high - k)
            spread = a[i] * (MAMMEN_HIGH - MAMMEN_LOW)
            k0 += k
            k1 += a[i] * MAMMEN_LOW + p * spread
            k2 += p * math.exp(low - k) * spread * spread
    return k0, k1, k2


@jitable
def sum_of(a: Floats) -> float:
    """Sum in order: ``a.sum()`` adds in a different order when compiled, and the last bit differs."""
    total = 0.0
    for i in range(a.size):
        total += a[i]
    return total


@jitable
def variance(a: Floats) -> float:
    """``K''(0)``, the same for all distributions."""
    squares = 0.0
    for i in range(a.size):
        squares += a[i] * a[i]
    return squares


@jitable
def third_cumulant(law: int, a: Floats) -> float:
    """``K'''(0)``: 0 for symmetric weights, else the third moment of the weight times ``sum a^3``."""
    if law == RADEMACHER or law == GAUSSIAN:
        return 0.0
    cubes = 0.0
    for i in range(a.size):
        cubes += a[i] * a[i] * a[i]
    return 2.0 * cubes if law == EXPONENTIAL else cubes


@jitable
def signed_root(s: float, k0: float, k1: float, k2: float, skew: float) -> float:
    """Barndorff-Nielsen's ``r*`` at ``s >= 0``; ``skew`` is the standardised third cumulant at 0."""
    w = math.sqrt(max(2.0 * (s * k1 - k0), 0.0))
    if w < 5e-3:  # the formula is 0/0 at the mean, where r* = w + skew/6
        return w + skew / 6.0
    u = s * math.sqrt(k2)
    if u <= 0.0:
        return -math.inf
    return w + math.log(u / w) / w


@jitable
def upper_saddle(law: int, a: Floats, z: float, tolerance: float) -> tuple[float, float]:
    """The smallest ``s >= 0`` with ``r*(s) = z`` and ``K'(s)``, or NaN where ``r*`` never reaches ``z >= r*(0)``.

    It is found once ``r*`` is within ``tolerance`` of ``z``, as a share of ``1 + z``.
    """
    scale = math.sqrt(variance(a))
    skew = third_cumulant(law, a) / (scale * scale * scale)
    if z <= skew / 6.0:
        return 0.0, 0.0
    top = 0.0
    for i in range(a.size):
        top = max(top, a[i] if law == EXPONENTIAL else abs(a[i]))
    limit = (1.0 if law == EXPONENTIAL else 350.0) / top
    low = 0.0
    s = max(z, 0.1) / scale
    if s >= limit:
        s = 0.5 * limit
    before = -math.inf
    # Walk right until r* passes z. A fall of r* before that means the end of the support is reached.
    while True:
        k0, k1, k2 = cumulants(law, a, s)
        r = signed_root(s, k0, k1, k2, skew)
        if r >= z or abs(r - z) <= tolerance * (1.0 + z):
            break
        if r < before or s >= limit * (1.0 - 1e-9):
            return math.nan, math.nan
        before = r
        low = s
        s = min(1.3 * s, 0.5 * (s + limit)) if law == EXPONENTIAL else min(1.3 * s, limit)
    high = s
    # Newton with the derivative of the leading term, dw/ds = s K''/w, kept inside the bracket.
    for _ in range(80):
        if abs(r - z) <= tolerance * (1.0 + z):
            break
        if r >= z:
            high = s
        else:
            low = s
        w = math.sqrt(max(2.0 * (s * k1 - k0), 1e-300))
        slope = s * k2 / w
        step = s - (r - z) / slope if slope > 0.0 else low
        s = step if low < step < high else 0.5 * (low + high)
        if high - low <= 1e-14 * high:
            break
        k0, k1, k2 = cumulants(law, a, s)
        r = signed_root(s, k0, k1, k2, skew)
    return s, k1


@jitable
def saddlepoint_quantile(law: int, a: Floats, z: float) -> float:
    """Quantile of ``sum_i a_i w_i`` whose upper tail is that of a standard normal above ``z``."""
    k2 = variance(a)
    if k2 <= 0.0:
        return 0.0
    sign = 1.0
    if z < third_cumulant(law, a) / (6.0 * k2 * math.sqrt(k2)):  # below r*(0): reflect
        sign = -1.0
        z = -z
        a = -a
    _, x = upper_saddle(law, a, z, 1e-10)
    most = largest_sum(law, a)
    return sign * (most if math.isnan(x) else min(x, most))


@jitable
def count_dominating(magnitudes: Floats) -> int:
    """Number of the largest terms that are enumerated; ``magnitudes`` ascend."""
    below = np.zeros(magnitudes.size + 1)
    for i in range(magnitudes.size):
        below[i + 1] = below[i] + magnitudes[i] * magnitudes[i]
    count = 0
    last = magnitudes.size - 1
    while count < MOST_CONDITIONED and last - count > 0:
        term = magnitudes[last - count]
        if term * term <= DOMINANCE * below[last - count]:
            break
        count += 1
    return count


@jitable
def tail_table(a: Floats, positions: Floats, roots: Floats) -> int:
    """Tabulate ``r*`` against ``x`` along the saddlepoints of ``sum +-a_i``; returns how many nodes were filled."""
    square = 0.0
    top = 0.0
    total = 0.0
    for i in range(a.size):
        square += a[i] * a[i]
        top = max(top, abs(a[i]))
        total += abs(a[i])
    filled = 1
    positions[0] = 0.0
    roots[0] = 0.0
    scale = math.sqrt(square)
    ratio = (700.0 * scale / top / 0.05) ** (1.0 / (N_NODES - 2))
    s = 0.05 / scale
    for _ in range(1, N_NODES):
        k0, k1, k2 = cumulants(RADEMACHER, a, s)
        r = signed_root(s, k0, k1, k2, 0.0)
        if r <= roots[filled - 1] or k1 <= positions[filled - 1] or k1 >= total:
            break
        positions[filled] = k1
        roots[filled] = r
        filled += 1
        s *= ratio
    return filled


@jitable
def tabulated_tail(x: float, positions: Floats, roots: Floats, filled: int, total: float) -> float:
    """``P(sum +-a_i > x)`` from :func:`tail_table`."""
    size = abs(x)
    if size >= total:
        tail = 0.0
    else:
        left = 0
        right = filled
        while right - left > 1:
            middle = (left + right) // 2
            if positions[middle] <= size:
                left = middle
            else:
                right = middle
        r = roots[left]
        if right < filled:
            share = (size - positions[left]) / (positions[right] - positions[left])
            r += share * (roots[right] - roots[left])
        tail = normal_tail(r)
    return 1.0 - tail if x < 0.0 else tail


@jitable
def enumerated_centres(magnitudes: Floats, n_dominating: int) -> Floats:
    """All signed sums of the ``n_dominating`` largest terms."""
    centres = np.zeros(1 << n_dominating)
    size = 1
    for i in range(magnitudes.size - n_dominating, magnitudes.size):
        for j in range(size):
            centres[size + j] = centres[j] + magnitudes[i]
            centres[j] -= magnitudes[i]
        size *= 2
    return centres


@jitable
def mixed_tail(x: float, centres: Floats, positions: Floats, roots: Floats, filled: int, rest_total: float) -> float:
    """``P(sum +-a_i > x)``: the tabulated tail of the rest, averaged over the signs of the dominating terms."""
    mass = 0.0
    for j in range(centres.size):
        mass += tabulated_tail(x - centres[j], positions, roots, filled, rest_total)
    return mass / centres.size


@jitable
def conditioned_quantiles(magnitudes: Floats, n_dominating: int, levels: Floats, out: Floats) -> None:
    """Quantiles of ``sum +-a_i`` at ``levels``: the largest terms enumerated, the rest by saddlepoint."""
    rest = magnitudes[: magnitudes.size - n_dominating]
    centres = enumerated_centres(magnitudes, n_dominating)
    positions = np.empty(N_NODES)
    roots = np.empty(N_NODES)
    filled = tail_table(rest, positions, roots)
    rest_total = sum_of(rest)
    total = sum_of(magnitudes)
    for k in range(levels.size):
        tail_level = min(levels[k], 1.0 - levels[k])  # the distribution is symmetric
        target = math.log(tail_level)
        bracket = (-total, -target, total, -math.inf, 0)  # at the far left the tail is 1, at the far right 0
        x = total
        for _ in range(100):
            x = next_point(bracket)
            tail = mixed_tail(x, centres, positions, roots, filled, rest_total)
            gap = math.log(tail) - target if tail > 0.0 else -math.inf
            if abs(gap) <= 1e-10:
                break
            bracket = narrowed(bracket, x, gap)
            if bracket[2] - bracket[0] <= 1e-10 * total:
                x = bracket[2]
                break
        out[k] = x if levels[k] <= 0.5 else -x


@jitable
def rademacher_quantiles(magnitudes: Floats, levels: Floats, z: Floats, out: Floats) -> None:
    """Quantiles of ``sum +-a_i`` at ``levels``; ``magnitudes`` ascend, ``z`` are the normal quantiles of the levels."""
    magnitudes = without_zeros(magnitudes)
    if magnitudes.size == 0:
        out[:] = 0.0
        return
    n_dominating = count_dominating(magnitudes)
    if n_dominating == 0:
        for k in range(levels.size):
            out[k] = saddlepoint_quantile(RADEMACHER, magnitudes, z[k])
    else:
        conditioned_quantiles(magnitudes, n_dominating, levels, out)
    for k in range(levels.size):
        if is_extreme(magnitudes.size, levels[k]):
            out[k] = extreme_quantile(magnitudes, levels[k])


@entry
def saddlepoint_batch(law: int, terms: Floats, levels: Floats, z: Floats, out: Floats) -> None:
    """Row by row: quantiles of ``sum_i a_i w_i``, into ``out`` of shape ``(rows, levels)``."""
    for row in range(terms.shape[0]):
        if law == RADEMACHER:
            rademacher_quantiles(terms[row], levels, z, out[row])
        else:
            for k in range(levels.size):
                out[row, k] = saddlepoint_quantile(law, terms[row], z[k])


def quantiles(law: int, terms: Floats, levels: Floats) -> Floats:
    """Quantiles of ``sum_i a_i w_i`` for each row ``a`` of ``terms``: shape ``(rows, levels)``."""
    if law == RADEMACHER:
        terms = np.sort(np.abs(terms), axis=-1)
    out = np.empty((terms.shape[0], levels.size))
    passes = 10 * levels.size + (N_NODES if law == RADEMACHER else 0)
    saddlepoint_batch(terms.size * passes, law, terms, levels, -ndtri(levels), out)
    return out
