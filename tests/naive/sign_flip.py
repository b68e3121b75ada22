"""Sign flips from their definitions: subsets counted one by one, in whole numbers and fractions."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np


def subset_sums(rows):
    """Sums over all subsets of each row of whole numbers, the empty one first; shape ``(..., 2^n)``."""
    rows = np.asarray(rows)
    sums = np.zeros((*rows.shape[:-1], 1), dtype=rows.dtype)
    for i in range(rows.shape[-1]):
        sums = np.concatenate([sums, sums + rows[..., i : i + 1]], axis=-1)
    return sums


def subset_sizes(n):
    """Number of members of each subset, in the order of :func:`subset_sums`."""
    return subset_sums(np.ones(n, dtype=np.int64))


def at_least(rows, x):
    """``2^n p_n(x)``: subsets with ``sum (y - x) >= 0``, the empty one among them."""
    return (subset_sums(rows) >= x * subset_sizes(np.shape(rows)[-1])).sum(axis=-1)


def above(rows, x):
    """``2^n q_n(x)``: the empty subset, and those with ``sum (y - x) > 0``."""
    return (subset_sums(rows) > x * subset_sizes(np.shape(rows)[-1])).sum(axis=-1) + 1


def bound(y, level):
    """``inf{x : q_n(x) <= level}`` of whole numbers, a fraction; infinite if the empty subset is too much."""
    n = len(y)
    means = [Fraction(int(s), int(k)) for s, k in zip(subset_sums(y), subset_sizes(n), strict=True) if k]
    if Fraction(1, 2**n) > level:
        return math.inf
    return min(x for x in means if 1 + sum(mean > x for mean in means) <= level * 2**n)


def walk(y, x, s):
    """``S_n(s, x)``, for each of several ``s``."""
    return (math.log(2) - np.logaddexp(0.0, np.multiply.outer(s, np.asarray(y) - x))).sum(axis=-1)


def square_of_self_normalised_width(y, twice_log):
    """``(V - ybar)^2 = S/n 2L/(n - 2L)`` as a fraction, and the mean; ``None`` while ``n <= 2L``."""
    rewards = [Fraction(float(reward)) for reward in y]
    n, twice_log = len(rewards), Fraction(twice_log)
    mean = sum(rewards) / n
    if n <= twice_log:
        return None, mean
    variance = sum((reward - mean) ** 2 for reward in rewards) / n
    return variance * twice_log / (n - twice_log), mean


def twice_log_inverse(level):
    """``2 log(1/level)`` to forty digits."""
    with localcontext(prec=40):
        return -2 * Fraction(Decimal(level).ln())


def twice_log_at(t):
    """``2 log(1/alpha)`` of ``alpha = (t (1 + log t))^-2`` to forty digits."""
    with localcontext(prec=40):
        log = Decimal(t).ln()
        return 4 * Fraction(log + (1 + log).ln())


def shannon(p, q):
    """``KL(p, q)`` of two rows of probabilities."""
    here = p > 0
    return float((p[here] * np.log(p[here] / q[here])).sum()) if (q[here] > 0).all() else math.inf
