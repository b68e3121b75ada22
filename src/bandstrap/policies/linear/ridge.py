r"""The ridge estimate, kept as a triangular factor that takes in one observation at a time.

With :math:`\bar V = \lambda I + \sum x x^\top = R^\top R` and :math:`z = R^{-\top} \sum x y`, everything a linear policy
needs is a triangular solve away: :math:`\hat\theta = R^{-1} z`, :math:`\|x\|_{\bar V^{-1}} = \|R^{-\top} x\|` and
:math:`\log\det\bar V = 2 \sum \log R_{kk}`. A new row is rotated into the factor (Givens), which costs O(d^2) and is
backward stable, so that errors do not build up as they do in an inverse that is updated.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import compiled_body, jitable
from bandstrap.policies.states.fields import Numbers, Scratch

# Every so many observations the factor is compared with the sums it stands for ...
CHECK_EVERY = 1024
# ... and computed anew from them when R'R is off by more than this, relative to the largest diagonal entry.
LARGEST_DRIFT = 1e-11
# What is left of a diagonal entry in Cholesky's method is rounding where it is smaller than this part of the entry.
ROUNDING = 2.0**-52


class Regression(NamedTuple):
    """``R``, ``z``, the sums they stand for (``V`` and ``sum x y``), the estimate, and room for a row."""

    factor: Numbers
    target: Numbers
    gram: Numbers
    moment: Numbers
    theta: Numbers
    row: Scratch


def start_regression(dimension: int, ridge: float) -> Regression:
    """Nothing observed: ``V = ridge * I``."""
    factor = math.sqrt(ridge) * np.eye(dimension)
    target, moment, theta, row = np.zeros((4, dimension))
    return Regression(factor, target, ridge * np.eye(dimension), moment, theta, row)


@jitable
def add_observation(regression: Regression, x: Floats, y: float, n: int) -> None:
    """Take in observation number ``n``."""
    factor, target, gram, moment, theta, row = regression
    d = len(theta)
    for i in range(d):
        feature = x[i]
        row[i] = feature
        moment[i] += feature * y
        sums = gram[i]
        for j in range(d):
            sums[j] += feature * x[j]
    rotate_in(factor, target, row, y)
    if n % CHECK_EVERY == 0 and drift(factor, gram) > LARGEST_DRIFT:
        refactor(factor, target, gram, moment)
    back_substitute(factor, target, theta)


@jitable
def rotate_in(factor: Floats, target: Floats, row: Floats, y: float) -> None:
    """Rotate the row ``(x, y)`` into the triangle ``(R, z)``: ``R'R`` gains ``x x'`` and ``R'z`` gains ``x y``."""
    d = len(target)
    for k in range(d):
        head = row[k]
        if head != 0.0:
            top = factor[k]
            size = math.sqrt(top[k] * top[k] + head * head)
            c = top[k] / size
            s = head / size
            top[k] = size
            for j in range(k + 1, d):
                kept = top[j]
                top[j] = c * kept + s * row[j]
                row[j] = c * row[j] - s * kept
            kept = target[k]
            target[k] = c * kept + s * y
            y = c * y - s * kept


@jitable
def back_substitute(factor: Floats, target: Floats, out: Floats) -> None:
    """Solve ``R out = target``."""
    d = len(out)
    for k in range(d - 1, -1, -1):
        row = factor[k]
        total = target[k]
        for j in range(k + 1, d):
            total -= row[j] * out[j]
        out[k] = total / row[k]


@jitable
def forward_substitute(factor: Floats, out: Floats) -> None:
    """Solve ``R'u = out`` in place."""
    d = len(out)
    for k in range(d):
        total = out[k]
        for j in range(k):
            total -= factor[j][k] * out[j]
        out[k] = total / factor[k][k]


@jitable
def drift(factor: Floats, gram: Floats) -> float:
    """Largest difference between ``R'R`` and the sums, relative to the largest diagonal entry."""
    d = len(gram)
    worst = 0.0
    largest = 0.0
    for i in range(d):
        largest = max(largest, gram[i][i])
        for j in range(i, d):
            total = 0.0
            for k in range(i + 1):
                total += factor[k][i] * factor[k][j]
            worst = max(worst, abs(total - gram[i][j]))
    return worst / largest


@jitable
def refactor(factor: Floats, target: Floats, gram: Floats, moment: Floats) -> None:
    """Compute the factor anew from the sums, by Cholesky."""
    d = len(gram)
    for i in range(d):
        for j in range(i, d):
            total = gram[i][j]
            for k in range(i):
                total -= factor[k][i] * factor[k][j]
            if i == j:
                factor[i][j] = math.sqrt(max(total, ROUNDING * gram[i][i]))
            else:
                factor[i][j] = total / factor[i][i]
        total = moment[i]
        for k in range(i):
            total -= factor[k][i] * target[k]
        target[i] = total / factor[i][i]


@jitable
def log_determinant(factor: Floats) -> float:
    """``log det V``."""
    total = 0.0
    for k in range(len(factor)):
        total += math.log(factor[k][k])
    return 2.0 * total


# --- over all actions -------------------------------------------------------------------------------------------------


@jitable
def predictions(theta: Floats, actions: Floats) -> Floats:
    """``x'theta`` of each action."""
    total = np.zeros(actions.shape[0])
    for i in range(len(theta)):
        total += theta[i] * actions[:, i]
    return total


@jitable
def highest(scores: Floats) -> int:
    """The first action with the highest score; of the first that is not a number, ``-1 - action``, which no play takes."""
    best = int(np.argmax(scores))  # NaN counts as the highest
    return -1 - best if math.isnan(scores[best]) else best


def norms(factor: Floats, actions: Floats) -> Floats:
    """``|x|`` in the norm of the inverse of ``V``, of each action: the length of the solution ``u`` of ``R'u = x``."""
    rows = np.asarray(factor)
    solved = actions.T.copy(order="C")
    total: Floats = np.zeros(actions.shape[0])
    for j in range(len(rows)):
        u = solved[j]
        u /= rows[j, j]
        solved[j + 1 :] -= rows[j, j + 1 :, None] * u
        total += u * u
    return np.sqrt(total)


@compiled_body(norms)
def norms_in_loops(factor: Floats, actions: Floats) -> Floats:
    """:func:`norms` in loops, because arrays take 2 to 10 times as long compiled; loops take up to 60 times plain."""
    n_actions, d = actions.shape
    solved = np.empty((d, n_actions))
    total = np.zeros(n_actions)
    for i in range(d):
        for a in range(n_actions):
            solved[i, a] = actions[a, i]
        for j in range(i):
            weight = factor[j, i]
            for a in range(n_actions):
                solved[i, a] -= weight * solved[j, a]
        pivot = factor[i, i]
        for a in range(n_actions):
            solved[i, a] /= pivot
            total[a] += solved[i, a] * solved[i, a]
    for a in range(n_actions):
        total[a] = math.sqrt(total[a])
    return total
