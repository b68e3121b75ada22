r"""Ridge regressions of several arms as triangles, with coefficients of each arm's own and coefficients that all share.

An observation of arm ``k`` in context ``x`` is a row: ``x`` in the columns of the arm, ``w_k (x) x`` (the Kronecker product
with what is known of the arm) in those that all arms share. All rows together, those of the penalty first, are
:math:`A = QR`, and as no row has entries of two arms, ``R`` is an arrow: a triangle ``R_k`` for each arm with what ties it
to the shared columns beside it, and one triangle for these. Rotating a row in touches its arm and the shared triangle
alone. With :math:`u = R^{-\top}x` and :math:`z = R^{-\top}A^\top y`, which is rotated along,

.. math:: \text{leverage} = x^\top (A^\top A)^{-1} x = |u|^2, \qquad \text{estimate} = u^\top z,

so that no system is solved twice, and no inverse is kept that rounding could make indefinite. Without shared columns arms
are disjoint regressions; without own ones they are one regression; with both they shrink to what they have in common.
(Golub, Van Loan. Matrix Computations, section 6.5; Li, Chu, Langford, Schapire. WWW 2010, the hybrid model.)
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import compiled_body, jitable


def solve(
    x: Floats,
    codes: Floats,
    own: Floats,
    own_targets: Floats,
    common: Floats,
    common_targets: Floats,
    solved: Floats,
    leverages: Floats,
    dots: Floats,
    first: int,
    last: int,
) -> None:
    """Leverages of ``x`` for the arms from ``first`` to ``last - 1``, and ``dots[arm, t]``: ``u'z`` of target ``t``."""
    d, arms = own.shape[1], slice(first, last)
    part, triangles, targets = solved[arms], own[arms], own_targets[arms]
    part[:, :d] = x[:d]
    part[:, d:] = (codes[arms][:, :, None] * x).reshape(last - first, -1)
    lengths, products = np.zeros(last - first), np.zeros_like(dots[arms])
    for j in range(d):
        u = part[:, j] / triangles[:, j, j]
        lengths += u * u
        products += u[:, None] * targets[:, j]
        part[:, j + 1 :] -= u[:, None] * triangles[:, j, j + 1 :]
    for i in range(len(common)):
        u = part[:, d + i] / common[i, i]
        lengths += u * u
        products += u[:, None] * common_targets[i]
        part[:, d + i + 1 :] -= u[:, None] * common[i, i + 1 :]
    leverages[arms] = lengths
    dots[arms] = products


@compiled_body(solve)
def solve_in_loops(
    x: Floats,
    codes: Floats,
    own: Floats,
    own_targets: Floats,
    common: Floats,
    common_targets: Floats,
    solved: Floats,
    leverages: Floats,
    dots: Floats,
    first: int,
    last: int,
) -> None:
    """:func:`solve` in loops, because NumPy's temporary arrays cost more than the sums; arms are the inner loop."""
    d, size, n_targets = own.shape[1], x.size, dots.shape[1]
    for k in range(first, last):
        row, code, products = solved[k], codes[k], dots[k]
        for j in range(d):
            row[j] = x[j]
        for p in range(code.size):
            part = row[d + p * size :]
            for j in range(size):
                part[j] = code[p] * x[j]
        for t in range(n_targets):
            products[t] = 0.0
        leverages[k] = 0.0
    for j in range(d + common.shape[0]):
        for k in range(first, last):
            tail, products = solved[k, j:], dots[k]
            if j < d:
                line, target = own[k, j, j:], own_targets[k, j]
            else:
                line, target = common[j - d, j - d :], common_targets[j - d]
            u = tail[0] / line[0]
            leverages[k] += u * u
            for t in range(n_targets):
                products[t] += u * target[t]
            for i in range(1, tail.size):
                tail[i] -= u * line[i]


def rotate(triangle: Floats, targets: Floats, row: Floats, values: Floats, start: int) -> None:
    """Rotate the columns of ``row`` from ``start`` on, with its ``values``, into a triangle and its targets."""
    tail = row[start:]
    for j in range(len(triangle)):
        head = tail[j]
        if head != 0.0:
            top = triangle[j]
            size = math.sqrt(top[j] * top[j] + head * head)
            c, s = top[j] / size, head / size
            top[j] = size
            rotate_pair(top[j + 1 :], tail[j + 1 :], c, s)
            rotate_pair(targets[j], values, c, s)


def rotate_pair(top: Floats, row: Floats, c: float, s: float) -> None:
    """``(top, row)`` becomes ``(c top + s row, c row - s top)``."""
    rotated = c * top + s * row
    row[:] = c * row - s * top
    top[:] = rotated


@compiled_body(rotate)
def rotate_in_loops(triangle: Floats, targets: Floats, row: Floats, values: Floats, start: int) -> None:
    """:func:`rotate` in loops, because compiled slices cost more than the few numbers that they hold."""
    tail = row[start:]
    for j in range(triangle.shape[0]):
        head = tail[j]
        if head != 0.0:
            top, target, low = triangle[j, j:], targets[j], tail[j:]
            size = math.sqrt(top[0] * top[0] + head * head)
            c, s = top[0] / size, head / size
            top[0] = size
            for i in range(1, low.size):
                a, b = top[i], low[i]
                top[i] = c * a + s * b
                low[i] = c * b - s * a
            for t in range(values.size):
                a, b = target[t], values[t]
                target[t] = c * a + s * b
                values[t] = c * b - s * a


@jitable
def log_diagonal(triangle: Floats) -> float:
    """The sum of the logarithms of the diagonal: half of ``log det R'R``."""
    total = 0.0
    for j in range(triangle.shape[0]):
        total += math.log(triangle[j, j])
    return total
