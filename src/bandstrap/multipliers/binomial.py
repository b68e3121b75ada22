"""Exact quantiles for two-valued rewards, where ``X`` lives on a lattice.

With ``k`` of the ``n`` rewards at the higher value, ``p = k/n`` and ``gap`` the distance of the two values:

* two-point weights: ``n^2 X / (gap (high - low)) = (n - k) J - k M`` with independent ``J ~ Bin(k, pi)``,
  ``M ~ Bin(n - k, pi)``, and ``low``, ``high``, ``pi = P(high)`` the weight's law (Rademacher: -1, 1, 1/2);
* Efron's weights: ``n X / gap = Bin(n, p) - k``.

So a tail costs O(n), and the quantile is an integer bisection. Up to 50 rewards nothing is rounded: Rademacher weights have
dyadic probabilities, and Efron's resamples are counted.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from bandstrap.basics.arrays import Floats
from bandstrap.multipliers.weights import EFRON, TWO_POINT

# Up to this many rewards tails are free of rounding.
MOST_EXACT = 50


def is_two_valued(sample: Floats) -> np.ndarray:
    """Which rows of ``sample`` take exactly two values."""
    low = sample.min(axis=-1, keepdims=True)
    high = sample.max(axis=-1, keepdims=True)
    two: np.ndarray = ((sample == low) | (sample == high)).all(axis=-1) & (low != high)[..., 0]
    return two


def binomial_probabilities(n: int, p: float) -> Floats:
    """``P(Bin(n, p) = j)`` for ``j = 0..n``; free of rounding for ``p = 1/2`` and ``n <= MOST_EXACT``."""
    if p == 0.5 and n <= MOST_EXACT:
        return np.array([math.comb(n, j) for j in range(n + 1)]) / 2.0**n
    j = np.arange(n + 1.0)
    log_mass = gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1) + xlogy(j, p) + xlog1py(n - j, -p)
    mass: Floats = np.exp(log_mass)
    return mass


def tail_sums(probabilities: Floats) -> Floats:
    """``P(value >= j)`` for ``j = 0..n + 1``."""
    return np.append(np.cumsum(probabilities[::-1])[::-1], 0.0)


def lattice_quantile(n: int, k: int, pi: float, level: float) -> int:
    """``inf {v : P((n - k) J - k M > v) <= level}`` with ``J ~ Bin(k, pi)``, ``M ~ Bin(n - k, pi)``."""
    j = np.arange(k + 1)
    j_mass = binomial_probabilities(k, pi)
    m_below = np.append(0.0, np.cumsum(binomial_probabilities(n - k, pi)))  # P(M < m) at m = 0..n-k+1

    def tail(v: int) -> float:
        # (n - k) j - k m > v  <=>  m < ((n - k) j - v)/k
        bound = -((v - (n - k) * j) // k)  # ceil
        return float(j_mass @ m_below[np.clip(bound, 0, n - k + 1)])

    low, high = -k * (n - k) - 1, k * (n - k)
    while high - low > 1:
        middle = (low + high) // 2
        if tail(middle) > level:
            low = middle
        else:
            high = middle
    return high


def resampled_quantile(n: int, k: int, level: float) -> int:
    """``inf {j : P(Bin(n, k/n) > j) <= level}``."""
    if n > MOST_EXACT:
        beyond = tail_sums(binomial_probabilities(n, k / n))[1:]  # P(Bin > j)
        return int(np.argmax(beyond <= level))
    left = math.floor(Fraction(level) * n**n)  # of the n^n resamples so many may lie beyond
    j = n
    while (ways := math.comb(n, j) * k**j * (n - k) ** (n - j)) <= left:
        left -= ways
        j -= 1
    return j


def quantiles(law: int, sample: Floats, levels: Floats) -> Floats:
    """Quantiles for the two-valued rows of ``sample``: shape ``(rows, levels)``."""
    n = sample.shape[-1]
    highs = sample.max(axis=-1)
    gaps = highs - sample.min(axis=-1)
    out = np.empty((sample.shape[0], levels.size))
    known: dict[tuple[int, int], float] = {}  # a two-valued row is its k
    for row in range(sample.shape[0]):
        k = int((sample[row] == highs[row]).sum())
        for column, level in enumerate(levels):
            if (k, column) not in known:
                if law == EFRON:
                    known[k, column] = (resampled_quantile(n, k, float(level)) - k) / n
                else:
                    low, high, pi = TWO_POINT[law]
                    known[k, column] = lattice_quantile(n, k, pi, float(level)) * (high - low) / n**2
            out[row, column] = gaps[row] * known[k, column]
    return out
