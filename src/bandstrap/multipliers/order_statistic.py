"""Order statistics of ``B`` draws: the paper's Monte Carlo quantile (definition D.1).

``inf {x : (1/B) #{b : X_b >= x} <= level}`` is the draw number ``floor(B level) + 1`` from the top. Once ``B level < 1``
that is the largest draw whatever the level: the quantile *saturates*.
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.arrays import Floats
from bandstrap.engine.kernel import inlined, jitable


@jitable
def order_rank(n_draws: int, level: float) -> int:
    """``m = floor(B level)``: the quantile is the draw number ``m + 1`` from the top (definition D.1).

    The small addend keeps a product like ``200 * 0.07`` from falling below its integer value.
    """
    return min(math.floor(n_draws * level + 1e-9), n_draws - 1)


def order_statistics(values: Floats, levels: Floats) -> Floats:
    """Definition (D.1) at each of ``levels``."""
    from_below = [values.size - 1 - order_rank(values.size, float(level)) for level in levels]
    return np.partition(values, sorted(set(from_below)))[from_below]


@jitable
def largest(values: Floats, rank: int) -> float:
    """The value number ``rank + 1`` from the top, by quickselect; reorders ``values``.

    For compiled loops, where NumPy's partition takes long to compile, and for the lists of the online object.
    """
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
def order_statistic_level(m: int, n_draws: int, rng: np.random.Generator) -> float:
    """Upper tail probability of draw number ``m + 1`` from the top of ``n_draws``: Beta(m + 1, n_draws - m).

    ``1 - U`` is the product of ``V_j^(1/(n_draws - j))``, ``j = 0..m``, with uniform ``V``: one factor per order statistic.
    """
    total = 0.0
    for j in range(m + 1):
        total += rng.standard_exponential() / (n_draws - j)
    return -math.expm1(-total)
