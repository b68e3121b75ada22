"""Lattices of rewards: the one they live on, or a fine one to which they are rounded up, and means of points of it.

On ``origin + unit m_i`` with whole ``m_i`` sums, ties and counts are free of rounding, and a quotient of them is rounded
once, up.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable

# Rewards are on a lattice if its unit is at least this share of their range ...
FINEST_UNIT = 2.0**-20
# ... and they are this close to it, as a share of the largest reward: what decimals lose to rounding.
LATTICE_NOISE = 2.0**-47


@jitable
def common_unit(first: float, second: float) -> float:
    """Greatest common measure of two non-negative numbers, by Euclid; remainders that are mere rounding count as 0."""
    large = max(first, second)
    small = min(first, second)
    least = 2.0**-30 * large
    while small > least:
        rest = abs(large - small * math.floor(large / small + 0.5))
        large = small
        small = rest
    return large


@jitable
def lattice_unit(y: Floats) -> float:
    """Unit of the lattice on which all ``y`` lie, with ``y[0]`` the smallest and ``y[-1]`` the largest; 0 if none."""
    spread = y[-1] - y[0]
    unit = spread
    for i in range(1, len(y)):
        if y[i] != y[i - 1]:
            unit = common_unit(unit, y[i] - y[0])
            if unit < FINEST_UNIT * spread:
                return 0.0
    return spread / math.floor(spread / unit + 0.5)


@jitable
def to_lattice(y: Floats, origin: float, unit: float, m: Floats) -> float:
    """Write the nearest whole ``m_i = (y_i - origin)/unit``; returns the largest distance, with rounding, or 0 if none.

    It is 0 only where ``unit`` and all ``y_i`` are whole multiples of a power of two, so that sums of them are exact too.
    """
    noise = 0.0
    largest = 0.0
    for i in range(len(y)):
        m[i] = math.floor((y[i] - origin) / unit + 0.5)
        noise = max(noise, abs((y[i] - origin) - unit * m[i]))
        largest = max(largest, abs(y[i]))
    _, exponent = math.frexp(largest * len(y))
    grain = math.ldexp(1.0, exponent - 52)
    is_exact = noise == 0.0 and grain > 0.0 and math.floor(unit / grain) == unit / grain
    for i in range(len(y)):
        is_exact = is_exact and math.floor(y[i] / grain) == y[i] / grain
    return 0.0 if is_exact else noise + 5e-16 * largest


@jitable
def round_onto(y: Floats, origin: float, spread: float, bits: int, m: Floats) -> float:
    """Write ``m_i``, the ``(y_i - origin)/unit`` rounded up to whole numbers of at most ``2^bits``; returns ``unit``.

    Quotients are rounded by at most ``2^-53`` of the range ``spread`` before they are rounded up.
    """
    unit = spread * 0.5**bits
    for i in range(len(y)):
        m[i] = math.ceil((y[i] - origin) / unit)
    return unit


@jitable
def rounded_up(origin: float, unit: float, over: float, under: float, noise: float) -> float:
    """``origin + unit over/under + noise`` or a little more; the next double above the quotient if ``noise`` is 0."""
    if noise > 0.0:
        x = origin + (unit * (over / under) * (1.0 + 5e-16) + noise)
        return float(np.nextafter(x, math.inf))
    total = under * origin + unit * over  # a sum of rewards: exact
    x = total / under
    # The sign of x under - total, by the two halves of x: products and first difference are exact.
    shifted = 134217729.0 * x  # 2^27 + 1
    high = shifted - (shifted - x)
    if (high * under - total) + (x - high) * under < 0.0:
        x = float(np.nextafter(x, math.inf))
    return x


@jitable
def fine_step(n: int) -> float:
    """``q`` such that no two means of up to ``n`` whole numbers lie within ``1/q``."""
    return 2.0 * n * n


@jitable
def attained_fraction(t: float, n: int) -> tuple[float, float]:
    """The fraction with a denominator of at most ``n`` in ``((t - 1)/q, t/q]``, with ``q`` that of :func:`fine_step`."""
    q = fine_step(n)
    for under in range(1, n + 1):
        over = math.floor(t * under / q)
        if over * q > (t - 1.0) * under:
            return over, float(under)
    return t, q
