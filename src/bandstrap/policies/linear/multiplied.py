r"""Replicates of the ridge regression with multiplier weights: each observation counts ``1 + w`` times.

``w`` has mean 0 and variance 1 and is at least -1, as for the weights of ``multipliers/weights.py`` but the normal ones:

============== =============================================
weights        how often an observation counts
============== =============================================
efron          Poisson(1): the limit of draws with replacement
rademacher     twice or not at all
exponential    Exp(1): the Bayesian bootstrap
mammen         0.38 or 2.62 times
============== =============================================
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import compiled_body, inlined
from bandstrap.multipliers.weights import (
    EFRON,
    EXPONENTIAL,
    LAWS,
    MAMMEN_HIGH,
    MAMMEN_LOW,
    MAMMEN_LOW_PROBABILITY,
    RADEMACHER,
)
from bandstrap.policies.linear.known_actions import KnownActions
from bandstrap.policies.linear.radius import Ellipsoid
from bandstrap.policies.linear.replicates import Observed, distances, factor_all, rotate_into_all
from bandstrap.policies.linear.ridge import Regression

# Weights that leave no observation with a negative count.
CountedWeights = Literal["efron", "rademacher", "exponential", "mammen"]
COUNTED: dict[CountedWeights, int] = {word: LAWS[word] for word in get_args(CountedWeights)}
# P(Poisson(1) <= k), until it is 1 in double precision.
POISSON = (*(math.exp(-1.0) * sum(1.0 / math.factorial(i) for i in range(k + 1)) for k in range(17)), 1.0)


class Params(NamedTuple):
    """Parameters of the ellipsoid, number of first random actions, and distribution of the weights."""

    ellipsoid: Ellipsoid
    random_rounds: int
    law: int
    n_resamples: int


class MultipliedState(NamedTuple):
    """The ridge regression, and all observations to be weighted anew."""

    regression: Regression
    known: KnownActions
    observed: Observed


def multipliers(law: int, n: int, rng: np.random.Generator) -> Floats:
    """Weight with which an observation counts in each of ``n`` replicates."""
    if law == EXPONENTIAL:
        return rng.standard_exponential(n)
    u = rng.random(n)
    if law == EFRON:
        return np.searchsorted(np.array(POISSON), u, side="right").astype(np.float64)
    if law == RADEMACHER:
        return np.where(u < 0.5, 2.0, 0.0)
    return np.where(u < MAMMEN_LOW_PROBABILITY, 1.0 + MAMMEN_LOW, 1.0 + MAMMEN_HIGH)


@compiled_body(multipliers)
def multipliers_in_loops(law: int, n: int, rng: np.random.Generator) -> Floats:
    """:func:`multipliers` in loops, because searches of a table take long to compile; loops take 20 times plain."""
    weights = np.empty(n)
    for b in range(n):
        if law == EXPONENTIAL:
            weights[b] = rng.standard_exponential()
        else:
            u = rng.random()
            if law == EFRON:
                count = 0
                while u >= POISSON[count]:
                    count += 1
                weights[b] = count
            elif law == RADEMACHER:
                weights[b] = 2.0 if u < 0.5 else 0.0
            else:
                weights[b] = 1.0 + MAMMEN_LOW if u < MAMMEN_LOW_PROBABILITY else 1.0 + MAMMEN_HIGH
    return weights


@inlined
def add_multiplied(law: int, factors: Floats, x: Floats, reward: float, rng: np.random.Generator) -> None:
    """Add an observation to each replicate with its own weight."""
    rotate_into_all(factors, x, reward, np.sqrt(multipliers(law, factors.shape[2], rng)))


@inlined
def multiplied_distances(params: Params, state: MultipliedState, rng: np.random.Generator) -> Floats:
    """Distance of each replicate's estimate from that of all observations, in its own norm; weights drawn anew."""
    known, observed = state.known, state.observed
    counts = np.zeros((known.size[0], params.n_resamples))
    sums = np.zeros((known.size[0], params.n_resamples))
    for i in range(observed.size[0]):
        weights = multipliers(params.law, params.n_resamples, rng)
        counts[observed.labels[i]] += weights
        sums[observed.labels[i]] += observed.rewards[i] * weights
    return distances(factor_all(known, counts, sums, params.ellipsoid.ridge), state.regression.theta)
