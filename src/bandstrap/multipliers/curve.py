"""An arm's quantile function in a few numbers: fitted when a reward comes in, evaluated in nanoseconds.

Between two pulls of an arm only the level of its quantile moves. So the quantile is computed at four normal quantiles
``z`` when the arm is pulled, and the polynomial through them answers every level until the next pull. With symmetric
weights ``q(z)/z`` is even, and the polynomial is one in ``z^2``.

A row holds ``cap, kind, c0, c1, c2, c3``: ``cap`` the largest node, ``kind`` how to read the coefficients.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.arrays import Floats
from bandstrap.engine.kernel import inlined, jitable
from bandstrap.multipliers.expansion import expansion_quantile
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.multipliers.saddlepoint import LOG_2, saddlepoint_quantile, signed_root
from bandstrap.multipliers.weights import EFRON, EXPONENTIAL, GAUSSIAN, RADEMACHER

ROW = 6
NODES = (0.25, 0.5, 0.75, 1.0)
# Below this standardised fourth cumulant the first terms of Cornish and Fisher are enough (0.3 % at z = 5).
SMALL_CUMULANT = 0.05
ODD, OPEN, CLOSED = 0.0, 1.0, 2.0  # even in z after division by z; not; even and constant beyond the cap

# Coefficients from values at the nodes: of polynomials in (z/cap)^2, and in z/cap through the nodes 0, 1/3, 2/3, 1.
EVEN_FIT = np.linalg.inv(np.vander(np.array(NODES) ** 2, increasing=True))
PLAIN_FIT = np.linalg.inv(np.vander(np.array([0.0, 1 / 3, 2 / 3, 1.0]), increasing=True))


@inlined
def evaluate_curve(row: Floats, z: float) -> float:
    """The quantile at the normal quantile ``z``."""
    x = z / row[0]
    if row[1] == OPEN:
        return row[2] + x * (row[3] + x * (row[4] + x * row[5]))
    if row[1] == CLOSED:  # no sum is larger than that at the cap
        if x > 1.0:
            x = 1.0
            z = row[0]
        elif x < -1.0:
            x = -1.0
            z = -row[0]
    y = x * x
    return z * (row[2] + y * (row[3] + y * (row[4] + y * row[5])))


@jitable
def fit(row: Floats, cap: float, kind: float, v0: float, v1: float, v2: float, v3: float) -> None:
    """Write the polynomial through the four node values into ``row``."""
    row[0] = cap
    row[1] = kind
    for i in range(4):
        if kind == OPEN:
            row[2 + i] = PLAIN_FIT[i, 0] * v0 + PLAIN_FIT[i, 1] * v1 + PLAIN_FIT[i, 2] * v2 + PLAIN_FIT[i, 3] * v3
        else:
            row[2 + i] = EVEN_FIT[i, 0] * v0 + EVEN_FIT[i, 1] * v1 + EVEN_FIT[i, 2] * v2 + EVEN_FIT[i, 3] * v3


@jitable
def fit_terms(law: int, a: Floats, top: float, row: Floats) -> None:
    """Curve of ``sum_i a_i w_i`` by saddlepoint on the terms themselves; ``top`` is the largest ``z`` asked for."""
    if law in (RADEMACHER, GAUSSIAN):
        cap = top
        kind = ODD
        end = math.nan
        if law == RADEMACHER:
            largest = normal_quantile(0.5 ** min(a.size, 1000))
            if largest < top:  # beyond, the quantile is the largest sum
                cap = largest
                kind = CLOSED
                end = 0.0
                for i in range(a.size):
                    end += abs(a[i])
        if math.isnan(end):
            end = saddlepoint_quantile(law, a, cap)
        v0 = saddlepoint_quantile(law, a, NODES[0] * cap) / (NODES[0] * cap)
        v1 = saddlepoint_quantile(law, a, NODES[1] * cap) / (NODES[1] * cap)
        v2 = saddlepoint_quantile(law, a, NODES[2] * cap) / (NODES[2] * cap)
        fit(row, cap, kind, v0, v1, v2, end / cap)
    else:
        v0 = saddlepoint_quantile(law, a, 0.0)
        v1 = saddlepoint_quantile(law, a, top / 3.0)
        v2 = saddlepoint_quantile(law, a, 2.0 * top / 3.0)
        fit(row, top, OPEN, v0, v1, v2, saddlepoint_quantile(law, a, top))


@jitable
def matched_quantile(count: float, size: float, rest: float, z: float) -> float:
    """Saddlepoint quantile of ``count`` signs of ``size`` plus a normal of variance ``rest``.

    These two parts match the second, fourth and sixth cumulant of any sum of signs, see :func:`fit_sums`.
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
def fit_sums(law: int, n: int, m2: float, m3: float, m4: float, m6: float, top: float, row: Floats) -> None:
    """Curve from central moments of the rewards alone, for samples too large to keep.

    A sum of signs ``sum +-a_i`` has cumulants ``k2 = sum a^2``, ``k4 = -2 sum a^4``, ``k6 = 16 sum a^6``. So have
    ``(sum a^4)^3/(sum a^6)^2`` signs of size ``sqrt(sum a^6/sum a^4)`` plus an independent normal with the variance
    that is left, which is never negative (Cauchy and Schwarz). Its saddlepoint quantile takes constant time.
    """
    scale = math.sqrt(m2 / n)
    if law == GAUSSIAN:
        fit(row, top, ODD, scale, scale, scale, scale)
    elif law == RADEMACHER and 2.0 * m4 / (n * m2 * m2) < SMALL_CUMULANT:
        # Cornish-Fisher, as in expansion.py, arranged by powers of y = (z/top)^2: no equation to solve.
        fourth = -2.0 * m4 / (n * m2 * m2)
        sixth = 16.0 * m6 / (n * n * m2 * m2 * m2)
        y = top * top
        row[0] = top
        row[1] = ODD
        row[2] = scale * (1.0 - fourth / 8.0 + sixth / 48.0 - 29.0 * fourth * fourth / 384.0)
        row[3] = scale * y * (fourth / 24.0 - sixth / 72.0 + fourth * fourth / 16.0)
        row[4] = scale * y * y * (sixth / 720.0 - fourth * fourth / 128.0)
        row[5] = 0.0
    elif law == RADEMACHER:
        size = math.sqrt(m6 / m4) / n
        count = n * m4 * m4 * m4 / (m6 * m6)
        rest = max(m2 / n - count * size * size, 0.0)
        v0 = matched_quantile(count, size, rest, NODES[0] * top) / (NODES[0] * top)
        v1 = matched_quantile(count, size, rest, NODES[1] * top) / (NODES[1] * top)
        v2 = matched_quantile(count, size, rest, NODES[2] * top) / (NODES[2] * top)
        v3 = matched_quantile(count, size, rest, top) / top
        fit(row, top, ODD, v0, v1, v2, v3)
    else:
        skewness = m3 / (m2 * math.sqrt(m2 * n))
        if law == EFRON:
            third = skewness
            fourth = (m4 / (m2 * m2) - 3.0) / n
        elif law == EXPONENTIAL:
            third = 2.0 * skewness
            fourth = 6.0 * m4 / (n * m2 * m2)
        else:
            third = skewness
            fourth = -m4 / (n * m2 * m2)
        v0, _ = expansion_quantile(scale, third, fourth, 0.0, 0.0)
        v1, _ = expansion_quantile(scale, third, fourth, 0.0, top / 3.0)
        v2, _ = expansion_quantile(scale, third, fourth, 0.0, 2.0 * top / 3.0)
        v3, _ = expansion_quantile(scale, third, fourth, 0.0, top)
        fit(row, top, OPEN, v0, v1, v2, v3)
