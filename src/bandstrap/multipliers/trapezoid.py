r"""The trapezoid rule for a tail's transform, and what it leaves out: shared by sums of weights and by subset means.

With ``M`` the moment generating function of ``X``, ``W`` an independent normal with a small standard deviation ``d``, and
any ``c > 0``,

.. math:: P(X + W > x) = \frac{1}{2\pi} \int \frac{M(c + i t)}{c + i t} E[e^{(c + i t) W}] e^{-(c + i t) x} dt

By Poisson's summation formula the trapezoid rule with step ``h`` gives ``sum_k exp(2 pi k c/h) P(X + W > x + 2 pi k/h)``
over all whole ``k``: what is asked for, plus positive terms that a small ``h`` makes negligible. Nodes ``t = h j`` end
where ``W`` has brought the transform down to next to nothing (:func:`beyond_last`); and where a product over some of the
terms is tiny, it bounds what the node would add.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable

# The nearest terms that the trapezoid rule adds are about this share of the level.
EXCESS = 1e-5
# A node is left alone once a product over some of the terms says that it adds less than this share of the tail.
TINY = 1e-6
# Rows of an array of terms: the probability of the higher of two points, their distance, the phase at a node, and by what
# it turns from node to node.
CHANCE, SPEED, COSINE, SINE, STEP_COSINE, STEP_SINE = range(6)


@jitable
def log_excess(level: float) -> float:
    """``2 pi c/h`` such that the nearest terms beside the tail are about ``EXCESS`` of the level."""
    return math.log(1.0 / level) - math.log(EXCESS)


@jitable
def beyond_last(h: float, last: int, deviation: float) -> float:
    """At most what nodes beyond number ``last`` add up to, of ``M(z)/M(c)/z``: there ``W`` decides."""
    end = h * last * deviation
    return 2.0 / h * math.exp(-0.5 * end * end) / (end * end)


@jitable
def tilted_chance(odds: float, v: float, e: float) -> float:
    """Probability of the higher of two points at a distance ``v`` after tilting, ``e = exp(-|v|)``; ``odds`` before."""
    return odds / (odds + e) if v > 0.0 else odds * e / (odds * e + 1.0)


@jitable
def times(real: float, imaginary: float, by_real: float, by_imaginary: float) -> tuple[float, float]:
    """A product; complex numbers of Python may be multiplied in fewer roundings on some machines."""
    return real * by_real - imaginary * by_imaginary, real * by_imaginary + imaginary * by_real


@jitable
def power(real: float, imaginary: float, count: float) -> tuple[float, float]:
    """A complex number to a whole power."""
    out_real = 1.0
    out_imaginary = 0.0
    left = int(count)
    while left > 0:
        if left % 2 == 1:
            out_real, out_imaginary = times(out_real, out_imaginary, real, imaginary)
        real, imaginary = times(real, imaginary, real, imaginary)
        left //= 2
    return out_real, out_imaginary


@jitable
def start_turns(terms: Floats, h: float, first: int, turned: int) -> None:
    """Put the phases of the first ``turned`` terms to node number ``first``."""
    for i in range(turned):
        step = terms[SPEED, i] * h
        terms[COSINE, i] = math.cos(step * first)
        terms[SINE, i] = math.sin(step * first)
        terms[STEP_COSINE, i] = math.cos(step)
        terms[STEP_SINE, i] = math.sin(step)


@jitable
def turn(terms: Floats, turned: int) -> None:
    """Turn the phases of the first ``turned`` terms on to the next node."""
    for i in range(turned):
        terms[COSINE, i], terms[SINE, i] = times(
            terms[COSINE, i], terms[SINE, i], terms[STEP_COSINE, i], terms[STEP_SINE, i]
        )


@jitable
def two_point_product(
    real: float, imaginary: float, terms: Floats, counts: Floats, t: float, tiny: float, turned: int, sure: int
) -> tuple[float, float, int]:
    """A number times the ``(1 - p + p exp(i t v))^count`` of all terms, and of how many of them it is.

    A product of more than ``sure`` terms that is not above ``tiny`` is left as it is. The first ``turned`` terms have their
    phases.
    """
    i = 0
    while i < counts.size and (i < sure or real * real + imaginary * imaginary > tiny * tiny):
        p = terms[CHANCE, i]
        factor_real = 1.0 - p + p * (terms[COSINE, i] if i < turned else math.cos(terms[SPEED, i] * t))
        factor_imaginary = p * (terms[SINE, i] if i < turned else math.sin(terms[SPEED, i] * t))
        if counts[i] != 1.0:
            factor_real, factor_imaginary = power(factor_real, factor_imaginary, counts[i])
        real, imaginary = times(real, imaginary, factor_real, factor_imaginary)
        i += 1
    return real, imaginary, i


@jitable
def stride(size: int) -> int:
    """Steps of this many places, from any on and around, visit all of ``size`` places, the first ones far apart."""
    step = max(int(0.618 * size), 1)
    while math.gcd(step, size) != 1:
        step += 1
    return step


@jitable
def spread_order(n: int) -> NDArray[np.int64]:
    """An order of ``n`` sorted terms whose first ones are spread over all of them."""
    return (np.arange(n) * stride(n) + n // 2) % n
