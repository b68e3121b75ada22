"""The quantile of the random-subset mean for an index that is asked for in every round: three ways, by sample size.

See ``subset_mean.py`` for what it is. Few rewards: subsets are counted. More: a plain saddlepoint, in the rewards. Many:
from central moments alone, in constant time.
"""

from __future__ import annotations

import math

from bandstrap.engine.kernel import jitable
from bandstrap.errors import Floats
from bandstrap.multipliers.curve import SMALL_CUMULANT, matched_quantile
from bandstrap.multipliers.saddlepoint import LOG_2, signed_root
from bandstrap.multipliers.subset_mean import count_subsets_above

# Halvings of the range of rewards above their mean: to 0.01 % of it.
N_HALVINGS = 13


@jitable
def counted_index(y: Floats, mean: float, allowed: int, buffers: Floats) -> float:
    """The smallest ``x``, but for the last halving, that no more than ``allowed`` non-empty subsets' means exceed."""
    low = mean
    high = y[0]
    for i in range(1, y.size):
        high = max(high, y[i])
    if allowed <= 0:
        return high
    for _ in range(N_HALVINGS):
        middle = 0.5 * (low + high)
        if count_subsets_above(y, middle, buffers) > allowed:
            low = middle
        else:
            high = middle
    return high


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
