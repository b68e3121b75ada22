"""An arm's quantile function in a few numbers: fitted when a reward comes in, evaluated in nanoseconds.

Between two pulls of an arm only the level of its quantile moves. So the quantile is computed at four normal quantiles
``z`` when the arm is pulled, and the polynomial through them answers every level until the next pull. With Gaussian
weights ``q(z)/z`` is even, and the polynomial is one in ``z^2``. Random signs are not served: see ``sign_memory.py``.

A row holds ``cap, kind, c0, c1, c2, c3``: ``cap`` the largest node, ``kind`` how to read the coefficients.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import inlined, jitable
from bandstrap.multipliers.expansion import expansion_quantile, standardised_cumulants
from bandstrap.multipliers.saddlepoint import saddlepoint_quantile
from bandstrap.multipliers.weights import GAUSSIAN

ROW = 6
COEFFICIENTS = 2  # where they begin
NODES = (0.25, 0.5, 0.75, 1.0)
ODD, OPEN = 0.0, 1.0  # even in z after division by z; not

# Coefficients from values at the nodes: of polynomials in (z/cap)^2, and in z/cap through the nodes 0, 1/3, 2/3, 1.
EVEN_FIT = np.linalg.inv(np.vander(np.array(NODES) ** 2, increasing=True))
PLAIN_FIT = np.linalg.inv(np.vander(np.array([0.0, 1 / 3, 2 / 3, 1.0]), increasing=True))


@inlined
def evaluate_curve(row: Floats, z: float) -> float:
    """The quantile at the normal quantile ``z``."""
    x = z / row[0]
    if row[1] == OPEN:
        return row[2] + x * (row[3] + x * (row[4] + x * row[5]))
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
    if law == GAUSSIAN:
        v0 = saddlepoint_quantile(law, a, NODES[0] * top) / (NODES[0] * top)
        v1 = saddlepoint_quantile(law, a, NODES[1] * top) / (NODES[1] * top)
        v2 = saddlepoint_quantile(law, a, NODES[2] * top) / (NODES[2] * top)
        fit(row, top, ODD, v0, v1, v2, saddlepoint_quantile(law, a, top) / top)
    else:
        v0 = saddlepoint_quantile(law, a, 0.0)
        v1 = saddlepoint_quantile(law, a, top / 3.0)
        v2 = saddlepoint_quantile(law, a, 2.0 * top / 3.0)
        fit(row, top, OPEN, v0, v1, v2, saddlepoint_quantile(law, a, top))


@jitable
def fit_sums(law: int, n: int, m2: float, m3: float, m4: float, top: float, row: Floats) -> None:
    """Curve from central moments of the rewards alone, for samples too large to keep."""
    if law == GAUSSIAN:
        scale = math.sqrt(m2 / n)
        fit(row, top, ODD, scale, scale, scale, scale)
    else:
        deviation, third, fourth, _ = standardised_cumulants(law, n, m2, m3, m4, 0.0)
        v0, _ = expansion_quantile(deviation, third, fourth, 0.0, 0.0)
        v1, _ = expansion_quantile(deviation, third, fourth, 0.0, top / 3.0)
        v2, _ = expansion_quantile(deviation, third, fourth, 0.0, 2.0 * top / 3.0)
        v3, _ = expansion_quantile(deviation, third, fourth, 0.0, top)
        fit(row, top, OPEN, v0, v1, v2, v3)
