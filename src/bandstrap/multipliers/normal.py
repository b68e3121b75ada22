"""The standard normal distribution in compiled loops, where SciPy cannot go."""

from __future__ import annotations

import math

from bandstrap.engine.compiler.kernel import jitable

SQRT_2 = math.sqrt(2.0)
SQRT_2_PI = math.sqrt(2.0 * math.pi)
# How far a rough quantile may be off.
ROUGHNESS = 0.00045
# Below this tail exp(z^2/2) is about to overflow.
SMALL_TAIL = 1e-300


@jitable
def normal_tail(z: float) -> float:
    """``P(N(0,1) > z)``."""
    return 0.5 * math.erfc(z / SQRT_2)


@jitable
def rough_quantile_of_log(log: float) -> float:
    """The ``z`` with ``P(N(0,1) > z) = exp(-log)``, at most 1/2, within ROUGHNESS: Abramowitz and Stegun 26.2.23."""
    t = math.sqrt(2.0 * log)
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))


@jitable
def rough_normal_quantile(tail: float) -> float:
    """The ``z`` with ``P(N(0,1) > z) = tail`` within ROUGHNESS."""
    if tail <= 0.0:
        return math.inf
    if tail >= 1.0:
        return -math.inf
    z = rough_quantile_of_log(-math.log(min(tail, 1.0 - tail)))
    return z if tail <= 0.5 else -z


@jitable
def far_normal_quantile(tail: float) -> float:
    """:func:`normal_quantile` of a tail below SMALL_TAIL: a step of Newton's method on its logarithm, a series in 1/z^2."""
    z = rough_normal_quantile(tail)
    y = 1.0 / (z * z)
    log_tail = math.log1p(-y * (1.0 - 3.0 * y * (1.0 - 5.0 * y))) - math.log(SQRT_2_PI * z) - 0.5 * z * z
    return z + (log_tail - math.log(tail)) * z / (z * z + 1.0)


@jitable
def normal_quantile(tail: float) -> float:
    """The ``z`` with ``P(N(0,1) > z) = tail``, to about 1e-9: a rough start and a step of Halley's method."""
    if tail <= 0.0 or tail >= 1.0:
        return rough_normal_quantile(tail)
    if tail < SMALL_TAIL:
        return far_normal_quantile(tail)
    small = min(tail, 1.0 - tail)
    z = rough_normal_quantile(small)
    error = (normal_tail(z) - small) * SQRT_2_PI * math.exp(0.5 * z * z)
    z += error / (1.0 - 0.5 * z * error)
    return z if tail <= 0.5 else -z
