r"""The distribution of a sum of signs as a sum of waves: its characteristic function, inverted.

A sum :math:`S = \sum \pm a_i` has the characteristic function :math:`\varphi(u) = \prod \cos(a_i u)`. On an interval of
half length :math:`H` that holds all of the distribution that counts, its tail is the Fourier series

.. math:: P(S > x) = \frac12 - \frac{x}{2H} - \sum_{j \ge 1} \frac{\varphi(u_j)}{\pi j} \sin(u_j x), \qquad u_j = \pi j/H

Where the distribution is smooth, twenty waves are enough. Where it is lumpy, waves never end; then it is blurred by a
narrow normal distribution, whose variance is taken out again by scaling.

The largest terms are factors of :math:`\varphi` one by one. All others, however many, go in by their power sums:
:math:`\log \cos v = -v^2/2 - v^4/12 - v^6/45 - \dots`
"""

from __future__ import annotations

import math

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable

MOST_WAVES = 192  # a multiple of four
# Terms that are factors of their own; a multiple of four.
MOST_TERMS = 24
# Half length of the interval in standard deviations: beyond it lies less than 1e-9 of any sum of signs (Hoeffding).
REACH = 6.5
# What is left of the last wave after blurring, as a negative logarithm.
BLUR = 16.0
# Waves smaller than this, STILL of them in a row, end the series.
NEGLIGIBLE = 1e-9
STILL = 6  # at least three


@jitable
def whole_power(x: float, n: int) -> float:
    """``x^n`` by squaring: the same bits in plain Python and compiled, which ``**`` does not promise."""
    power = 1.0
    while n > 0:
        if n & 1:
            power *= x
        x *= x
        n >>= 1
    return power


@jitable
def fit_waves(
    terms: Floats,
    counts: Floats,
    n_terms: int,
    rest: tuple[float, float, float],
    total: float,
    scratch: Floats,
    waves: Floats,
) -> tuple[float, float, float]:
    """Write the waves of ``sum +-a_i``; returns ``H``, the number of waves, and the variance of the blur.

    Parameters
    ----------
    terms, counts, n_terms
        The largest terms, at most ``MOST_TERMS``, and how often each occurs.
    rest
        Sums of squares, fourth and sixth powers of further terms.
    total
        At least the sum of the magnitudes of all terms.
    scratch
        At least three rows of ``MOST_TERMS`` numbers.
    """
    before = scratch[0]
    now = scratch[1]
    twice = scratch[2]
    square = rest[0]
    single = True
    for i in range(n_terms):
        square += counts[i] * terms[i] * terms[i]
        single = single and counts[i] == 1.0
    half = min(1.1 * total, REACH * math.sqrt(square))
    unit = math.pi / half
    lanes = (n_terms + 3) // 4 * 4
    for i in range(lanes):
        before[i] = 1.0
        now[i] = math.cos(terms[i] * unit) if i < n_terms else 1.0
        twice[i] = 2.0 * now[i]
    second = rest[0] * unit * unit / 2.0
    fourth = rest[1] * unit * unit * unit * unit / 12.0
    sixth = rest[2] * unit * unit * unit * unit * unit * unit / 45.0
    still = 0
    for j in range(1, MOST_WAVES + 1):
        p0 = 1.0
        p1 = 1.0
        p2 = 1.0
        p3 = 1.0
        if not single:
            for i in range(n_terms):
                p0 *= whole_power(now[i], int(counts[i]))
        for i in range(0, lanes, 4):
            c0 = now[i]
            c1 = now[i + 1]
            c2 = now[i + 2]
            c3 = now[i + 3]
            if single:
                p0 *= c0
                p1 *= c1
                p2 *= c2
                p3 *= c3
            # cos((j + 1) v) = 2 cos(v) cos(j v) - cos((j - 1) v)
            now[i] = twice[i] * c0 - before[i]
            now[i + 1] = twice[i + 1] * c1 - before[i + 1]
            now[i + 2] = twice[i + 2] * c2 - before[i + 2]
            now[i + 3] = twice[i + 3] * c3 - before[i + 3]
            before[i] = c0
            before[i + 1] = c1
            before[i + 2] = c2
            before[i + 3] = c3
        value = (p0 * p1) * (p2 * p3)
        if second > 0.0:
            y = float(j * j)
            value *= math.exp(-y * (second + y * (fourth + y * sixth)))
        waves[j - 1] = value / (math.pi * j)
        still = still + 1 if abs(value) < NEGLIGIBLE else 0
        if single and still == STILL:  # equal terms may come back in step
            return half, float((j - STILL + 3) // 4 * 4), 0.0  # a multiple of four, as wave_tail takes them
    blur = BLUR / MOST_WAVES**2
    for j in range(1, MOST_WAVES + 1):
        waves[j - 1] *= math.exp(-blur * (j * j))
    return half, float(MOST_WAVES), 2.0 * blur / (unit * unit)


@jitable
def wave_tail(waves: Floats, n_waves: int, half: float, x: float) -> tuple[float, float, float]:
    """``P(S > x)``, the density there and its slope, for ``0 <= x < half``."""
    angle = math.pi * x / half
    # Every fourth wave has a recursion of its own, sin((j + 4) v) = 2 cos(4 v) sin(j v) - sin((j - 4) v), so that four do
    # not wait for each other. They begin with the waves 1 to 4 and with 0 to -3.
    s1 = math.sin(angle)
    c1 = math.cos(angle)
    s2 = 2.0 * c1 * s1
    c2 = 2.0 * c1 * c1 - 1.0
    s3 = 2.0 * c1 * s2 - s1
    c3 = 2.0 * c1 * c2 - c1
    s4 = 2.0 * c1 * s3 - s2
    c4 = 2.0 * c1 * c3 - c2
    twice = 2.0 * c4
    r1, r2, r3, r4 = -s3, -s2, -s1, 0.0
    d1, d2, d3, d4 = c3, c2, c1, 1.0
    t1, t2, t3, t4 = 0.0, 0.0, 0.0, 0.0  # tails
    u1, u2, u3, u4 = 0.0, 0.0, 0.0, 0.0  # densities
    v1, v2, v3, v4 = 0.0, 0.0, 0.0, 0.0  # slopes
    for j in range(0, n_waves, 4):
        w1, w2, w3, w4 = waves[j], waves[j + 1], waves[j + 2], waves[j + 3]
        t1 += w1 * s1
        t2 += w2 * s2
        t3 += w3 * s3
        t4 += w4 * s4
        w1 *= j + 1.0
        w2 *= j + 2.0
        w3 *= j + 3.0
        w4 *= j + 4.0
        u1 += w1 * c1
        u2 += w2 * c2
        u3 += w3 * c3
        u4 += w4 * c4
        v1 += w1 * (j + 1.0) * s1
        v2 += w2 * (j + 2.0) * s2
        v3 += w3 * (j + 3.0) * s3
        v4 += w4 * (j + 4.0) * s4
        s1, r1 = twice * s1 - r1, s1
        s2, r2 = twice * s2 - r2, s2
        s3, r3 = twice * s3 - r3, s3
        s4, r4 = twice * s4 - r4, s4
        c1, d1 = twice * c1 - d1, c1
        c2, d2 = twice * c2 - d2, c2
        c3, d3 = twice * c3 - d3, c3
        c4, d4 = twice * c4 - d4, c4
    tail = (t1 + t2) + (t3 + t4)
    density = (u1 + u2) + (u3 + u4)
    slope = (v1 + v2) + (v3 + v4)
    unit = math.pi / half
    return 0.5 - 0.5 * x / half - tail, 0.5 / half + unit * density, -unit * unit * slope


@jitable
def wave_quantile(waves: Floats, n_waves: int, half: float, start: float, level: float) -> float:
    """The ``x`` with ``P(S > x) = level``, ``0 < level < 1/2``, by Halley's method on the logarithm, from ``start``."""
    low = 0.0
    high = half
    x = min(max(start, 0.0), 0.99 * half)
    for _ in range(60):
        tail, density, slope = wave_tail(waves, n_waves, half, x)
        if tail > level:
            low = x
        else:
            high = x
        after = math.inf
        if tail > 0.0 and density > 0.0:
            gap = math.log(tail / level)
            after = x + gap * tail / density / max(1.0 + 0.5 * gap * (1.0 + slope * tail / (density * density)), 0.5)
        inside = low <= after <= high
        # A step from this near leaves the third power of the gap, or less than it on a step of the distribution.
        if inside and abs(tail - level) <= 0.003 * level:
            return after
        if high - low <= 1e-9 * half:
            return high
        x = after if inside else 0.5 * (low + high)
    return x
