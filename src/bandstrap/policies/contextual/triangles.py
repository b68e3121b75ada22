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
from bandstrap.engine.compiler.kernel import compiled_body, inlined, jitable


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
    """:func:`solve` in loops, because NumPy's temporary arrays cost more than the sums."""
    d, size = own.shape[1], x.size
    for k in range(first, last):
        row, code, products = solved[k], codes[k], dots[k]
        for j in range(d):
            row[j] = x[j]
        for p in range(code.size):
            part = row[d + p * size :]
            for j in range(size):
                part[j] = code[p] * x[j]
        for t in range(products.size):
            products[t] = 0.0
        length = eliminate(own[k], own_targets[k], row, products, 0.0)
        leverages[k] = eliminate(common, common_targets, row[d:], products, length)


@inlined
def eliminate(triangle: Floats, targets: Floats, row: Floats, products: Floats, length: float) -> float:
    """Solve for the ``u`` of a triangle, add them to the products, and return ``length + |u|^2``.

    Four columns at a time: the same sums in the same order, but the row is read and written a quarter as often.
    """
    n_fours = triangle.shape[0] // 4
    for four in range(n_fours):
        j = 4 * four
        a, b, c, d, tail = triangle[j, j:], triangle[j + 1, j:], triangle[j + 2, j:], triangle[j + 3, j:], row[j:]
        u = tail[0] / a[0]
        tail[1] -= u * a[1]
        v = tail[1] / b[1]
        tail[2] = tail[2] - u * a[2] - v * b[2]
        w = tail[2] / c[2]
        tail[3] = tail[3] - u * a[3] - v * b[3] - w * c[3]
        z = tail[3] / d[3]
        length = length + u * u + v * v + w * w + z * z
        for t in range(products.size):
            first_two = products[t] + u * targets[j, t] + v * targets[j + 1, t]
            products[t] = first_two + w * targets[j + 2, t] + z * targets[j + 3, t]
        rest, a, b, c, d = tail[4:], a[4:], b[4:], c[4:], d[4:]  # of a loop from 0 the compiler makes vectors
        for i in range(rest.size):
            rest[i] = rest[i] - u * a[i] - v * b[i] - w * c[i] - z * d[i]
    for j in range(4 * n_fours, triangle.shape[0]):
        u = row[j] / triangle[j, j]
        length += u * u
        for t in range(products.size):
            products[t] += u * targets[j, t]
        rest, a = row[j + 1 :], triangle[j, j + 1 :]
        for i in range(rest.size):
            rest[i] -= u * a[i]
    return length


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
