"""The mean ``wbar`` of ``n`` random signs: the multiplier of ``phi`` in the proof of theorem 1."""

from __future__ import annotations

import math

from bandstrap.engine.compiler.kernel import jitable

LOG_2 = math.log(2.0)
# Up to this many signs, the probability that all are equal is a float of full precision.
MOST_FROM_THE_TOP = 1000
# The tail that is left out for more signs: exp(-42) of the level, less than a rounding of it.
LEFT_OUT = 42.0
# The largest double below 1, where the logarithm of 1 - c still is a number.
BELOW_ONE = 1.0 - 2.0**-53


@jitable
def mean_sign_quantile(n: int, level: float) -> float:
    """``c = inf {x : P(wbar > x) <= level}``, at most 1: probabilities are added up from the top.

    Free of rounding up to 50 signs; beyond, a tail that differs from the level by less than :func:`tail_rounding` of it is
    taken to be above it, which errs on the safe side. O(n) steps up to a thousand signs, O(sqrt n) for more.
    """
    level *= 1.0 - tail_rounding(n)
    k = n  # of the signs are pluses
    mass = 0.5**n  # P(k pluses)
    if n > MOST_FROM_THE_TOP:  # in units of the level, from where probabilities begin to count
        k = min(n, math.ceil(0.5 * n * (1.0 + mean_sign_bound(n, LEFT_OUT - math.log(level)))))
        binomial = math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
        mass = math.exp(binomial - n * LOG_2 - math.log(level))
        level = 1.0
    tail = 0.0
    while k > 0 and tail + mass <= level:
        tail += mass
        mass = mass * k / (n - k + 1.0)
        k -= 1
    return (2.0 * k - n) / n


@jitable
def tail_rounding(n: int) -> float:
    """Relative error of a tail of ``n`` signs, at most: none while its terms are whole numbers over ``2^n``.

    The errors measured, up to 100,000 signs, are below ``3e-15 n``.
    """
    return 0.0 if n <= 50 else 3e-15 * n


@jitable
def mean_sign_bound(n: int, log_level: float) -> float:
    """Chernoff's bound of :func:`mean_sign_quantile` in constant time; ``log_level`` is ``log(1/level)``.

    Solves ``n KL((1 + c)/2, 1/2) = log(1/level)`` by Newton from Hoeffding's bound; all steps but the first are down to it.
    """
    budget = log_level / n
    if budget >= LOG_2:  # a tail lighter than that of n equal signs
        return 1.0
    c = min(math.sqrt(2.0 * budget), 0.999)
    for _ in range(6):
        value = 0.5 * ((1.0 + c) * math.log1p(c) + (1.0 - c) * math.log1p(-c)) - budget
        c = min(c - value / (0.5 * (math.log1p(c) - math.log1p(-c))), BELOW_ONE)
    return c
