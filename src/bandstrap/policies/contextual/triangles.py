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
    """:func:`solve` in loops, arm by arm, because compiled these are faster."""
    d, n, n_targets = own.shape[1], solved.shape[1], dots.shape[1]
    for k in range(first, last):
        row = solved[k]
        for j in range(d):
            row[j] = x[j]
        for p in range(codes.shape[1]):
            for j in range(x.size):
                row[d + p * x.size + j] = codes[k, p] * x[j]
        length = 0.0
        products = dots[k]
        for t in range(n_targets):
            products[t] = 0.0
        for j in range(d):
            u = row[j] / own[k, j, j]
            length += u * u
            for t in range(n_targets):
                products[t] += u * own_targets[k, j, t]
            for i in range(j + 1, n):
                row[i] -= u * own[k, j, i]
        for j in range(common.shape[0]):
            u = row[d + j] / common[j, j]
            length += u * u
            for t in range(n_targets):
                products[t] += u * common_targets[j, t]
            for i in range(j + 1, common.shape[0]):
                row[d + i] -= u * common[j, i]
        leverages[k] = length


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
    """:func:`rotate` in loops."""
    width = row.size - start
    for j in range(triangle.shape[0]):
        head = row[start + j]
        if head != 0.0:
            size = math.sqrt(triangle[j, j] * triangle[j, j] + head * head)
            c, s = triangle[j, j] / size, head / size
            triangle[j, j] = size
            for i in range(j + 1, width):
                top, low = triangle[j, i], row[start + i]
                triangle[j, i] = c * top + s * low
                row[start + i] = c * low - s * top
            for t in range(values.size):
                top, low = targets[j, t], values[t]
                targets[j, t] = c * top + s * low
                values[t] = c * low - s * top


@jitable
def log_diagonal(triangle: Floats) -> float:
    """The sum of the logarithms of the diagonal: half of ``log det R'R``."""
    total = 0.0
    for j in range(triangle.shape[0]):
        total += math.log(triangle[j, j])
    return total
