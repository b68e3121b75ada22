"""The distributions of the bootstrap weights, and random draws from them.

Every distribution has mean 0 and variance 1 after centring (for ``efron``, jointly: counts minus one), so that
``X = (1/n) sum_i w_i (y_i - ybar)`` has mean 0 and variance close to ``V/n`` given the sample.

============== ================================================== ===========================================
name           one weight                                         what it is for
============== ================================================== ===========================================
rademacher     -1 or 1, each with probability 1/2                 the paper's theory and bandit experiments
gaussian       N(0, 1)                                            closed form
efron          multinomial(n; 1/n, ..., 1/n) counts               resampling with replacement
exponential    Exp(1) - 1                                         Bayesian bootstrap in its multiplier form
mammen         (1 - sqrt 5)/2 or (1 + sqrt 5)/2, skewness 1       reproduces the third moment of the residuals
============== ================================================== ===========================================
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable

Weights = Literal["rademacher", "gaussian", "efron", "exponential", "mammen"]
# Codes, because compiled code compares integers cheaply.
LAWS: dict[Weights, int] = {word: code for code, word in enumerate(get_args(Weights))}
RADEMACHER, GAUSSIAN, EFRON, EXPONENTIAL, MAMMEN = LAWS.values()

# Mammen (1993): P(w = MAMMEN_LOW) = MAMMEN_LOW_PROBABILITY, else MAMMEN_HIGH.
MAMMEN_LOW = (1 - math.sqrt(5)) / 2
MAMMEN_HIGH = (1 + math.sqrt(5)) / 2
MAMMEN_LOW_PROBABILITY = (math.sqrt(5) + 1) / (2 * math.sqrt(5))

# The two values and P(larger value) of the two-point distributions.
TWO_POINT = {
    RADEMACHER: (-1.0, 1.0, 0.5),
    MAMMEN: (MAMMEN_LOW, MAMMEN_HIGH, 1 - MAMMEN_LOW_PROBABILITY),
}


def draw_weights(law: int, n_resamples: int, n: int, rng: np.random.Generator) -> Floats:
    """Draw ``n_resamples`` weight vectors of length ``n``: shape ``(n_resamples, n)``."""
    shape = (n_resamples, n)
    if law == RADEMACHER:
        return np.where(rng.integers(0, 2, shape) == 0, 1.0, -1.0)
    if law == GAUSSIAN:
        return rng.standard_normal(shape)
    if law == EFRON:
        return rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)
    if law == EXPONENTIAL:
        return rng.standard_exponential(shape) - 1.0
    return np.where(rng.random(shape) < MAMMEN_LOW_PROBABILITY, MAMMEN_LOW, MAMMEN_HIGH)


@jitable
def largest_sum(law: int, a: Floats) -> float:
    """The largest value ``sum_i a_i w_i`` can take."""
    total = 0.0
    if law == EFRON:
        for i in range(a.size):
            total = max(total, a[i])
        return a.size * total
    if law == RADEMACHER:
        for i in range(a.size):
            total += abs(a[i])
        return total
    if law in (GAUSSIAN, EXPONENTIAL):
        return math.inf
    for i in range(a.size):
        total += max(a[i] * MAMMEN_LOW, a[i] * MAMMEN_HIGH)
    return total
