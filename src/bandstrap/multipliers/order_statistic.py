"""Order statistics of ``B`` draws: the paper's Monte Carlo quantile (definition D.1).

``inf {x : (1/B) #{b : X_b >= x} <= level}`` is the draw number ``floor(B level) + 1`` from the top. Once ``B level < 1``
that is the largest draw whatever the level: the quantile *saturates*.

``numpy.percentile`` reads another quantile off the same draws: on the line between two of them, ``(B - 1) level`` below the
largest.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import inlined, jitable
from bandstrap.multipliers.normal import ROUGHNESS, rough_normal_quantile

# Up to this many values are kept in order.
MOST_IN_ORDER = 12


@jitable
def order_rank(n_draws: int, level: float) -> int:
    """``m = floor(B level)``: the quantile is the draw number ``m + 1`` from the top (definition D.1).

    The small addend keeps a product like ``200 * 0.07`` from falling below its integer value.
    """
    return min(math.floor(n_draws * level + 1e-9), n_draws - 1)


@jitable
def rank_and_share(n_draws: int, level: float, interpolates: bool) -> tuple[int, float]:
    """The rank of the draw that the quantile is at, and the share of the way from there to the next lower draw.

    The share is 0 by definition (D.1); ``numpy.percentile`` interpolates. Once the definition saturates it is the higher.
    """
    if not interpolates:
        return order_rank(n_draws, level), 0.0
    place = (n_draws - 1) * level
    rank = math.floor(place)
    return rank, place - rank


@inlined
def between(draw: float, lower: float, share: float) -> float:
    """A share of the way from a draw to the next lower one, which rounding may have put above it."""
    return draw - share * max(draw - lower, 0.0)


def order_statistics(values: Floats, levels: Floats) -> Floats:
    """Definition (D.1) at each of ``levels``."""
    from_below = [values.size - 1 - order_rank(values.size, float(level)) for level in levels]
    return np.partition(values, sorted(set(from_below)))[from_below]


@jitable
def largest(values: Floats, rank: int) -> float:
    """The value number ``rank + 1`` from the top; reorders ``values``.

    By quickselect, or near the top by keeping the highest in order, into which few others must be put. For compiled loops,
    where NumPy's partition takes long to compile, and for the lists of the online object.
    """
    if rank < MOST_IN_ORDER:
        for i in range(len(values)):
            place = min(i, rank + 1)
            value = values[i]
            if place <= rank or value > values[rank]:
                if place > rank:
                    values[i] = values[rank]
                    place = rank
                while place > 0 and values[place - 1] < value:
                    values[place] = values[place - 1]
                    place -= 1
                values[place] = value
        return values[rank]
    low = 0
    high = len(values) - 1
    target = rank
    while low < high:
        pivot = values[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            break
    return values[target]


@inlined
def order_statistic_sum(m: int, n_draws: int, rng: np.random.Generator) -> float:
    """``-log(1 - U)`` of the upper tail probability ``U`` of draw number ``m + 1`` from the top: Beta(m + 1, n_draws - m).

    ``1 - U`` is the product of ``V_j^(1/(n_draws - j))``, ``j = 0..m``, with uniform ``V``: one factor per order statistic.
    """
    total = 0.0
    for j in range(m + 1):
        total += rng.standard_exponential() / (n_draws - j)
    return total


@inlined
def next_sum(total: float, m: int, n_draws: int, rng: np.random.Generator) -> float:
    """:func:`order_statistic_sum` of the next lower draw of the same ``n_draws``, given that of draw number ``m + 1``."""
    return total + rng.standard_exponential() / (n_draws - m - 1)


@inlined
def level_of_sum(total: float) -> float:
    """The tail probability of :func:`order_statistic_sum`."""
    return -math.expm1(-total)


# Sums up to N_STEPS/STEPS_TO_ONE are looked up, but for the smallest: their steps are too coarse.
FIRST_STEP, N_STEPS, STEPS_TO_ONE = 8, 1024, 16384.0


def tabulate_quantiles(factor: float) -> Floats:
    """Values that rough normal quantiles at ``1/factor`` times the tail probability of a sum do not exceed, by steps
    of the sum.

    Quantiles fall as the sum rises, so the one at the lower end of a step, and what two rough ones may be off, holds for
    all of it.
    """
    sums = np.arange(N_STEPS) / STEPS_TO_ONE
    return np.array([rough_normal_quantile(level_of_sum(x) / factor) + 2.0 * ROUGHNESS for x in sums.tolist()])


@inlined
def quantile_bound(table: Floats, factor: float, total: float) -> float:
    """Value that the rough normal quantile at ``1/factor`` times the tail probability of a sum does not exceed."""
    step = int(min(total * STEPS_TO_ONE, N_STEPS))
    is_tabled = FIRST_STEP <= step < N_STEPS
    return float(table[step]) if is_tabled else rough_normal_quantile(level_of_sum(total) / factor)
