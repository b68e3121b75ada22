"""Exact quantiles for two-valued rewards, where ``X`` lives on a lattice.

With ``k`` of the ``n`` rewards at the higher value, ``p = k/n`` and ``gap`` the distance of the two values:

* two-point weights: ``n^2 X / (gap (high - low)) = (n - k) J - k M`` with independent ``J ~ Bin(k, pi)``,
  ``M ~ Bin(n - k, pi)``, and ``low``, ``high``, ``pi = P(high)`` the weight's distribution (Rademacher: -1, 1, 1/2);
* Efron's weights: ``n X / gap = Bin(n, p) - k``.

So a tail costs O(n), and the quantile is an integer bisection. Up to 50 rewards nothing is rounded: Rademacher weights have
dyadic probabilities, and Efron's resamples are counted.

In compiled loops, for random signs, it is a difference of two counts of coins. With ``few`` rewards at one value and
``many`` at the other, ``n^2 X/gap = many F - few M``, where ``F`` and ``M`` are the independent sums of ``few`` and
``many`` signs. Tables hold the upper halves of both distributions, as far as 5.5 standard deviations: 4e-8 of a
distribution is left out, for a tail in O(sqrt n). So the two ways differ far out, and neither can stand for the
other.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable
from bandstrap.multipliers.weights import EFRON, TWO_POINT

# Up to this many rewards tails are free of rounding.
MOST_EXACT = 50
# The most rewards whose two tables of coins fit into a row of this length.
MOST_COINS = 4000
TABLE = 264


def is_two_valued(sample: Floats) -> np.ndarray:
    """Rows of ``sample`` that take exactly two values."""
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


# --- random signs in compiled loops -------------------------------------------------------------------------------------


@jitable
def half_length(n: int) -> int:
    """Number of values, from the middle up, in the table of ``n`` signs."""
    return min(n // 2, math.ceil(2.75 * math.sqrt(n))) + 1


@jitable
def middle_mass(m: int) -> float:
    """``C(2m, m)/4^m``: the probability of the middle value of ``2m`` signs, and of either of ``2m - 1``; to 1e-10."""
    if m > 32:  # Wallis's product, expanded; the bits of lgamma differ in plain Python and compiled code
        x = 1.0 / m
        return (1.0 - x * (0.125 - x * (1.0 / 128.0 + x * (5.0 / 1024.0 - x * (21.0 / 32768.0))))) / math.sqrt(
            math.pi * m
        )
    mass = 1.0
    for i in range(1, m + 1):
        mass *= (2.0 * i - 1.0) / (2.0 * i)
    return mass


@jitable
def fit_coins(few: int, many: int, table: Floats) -> None:
    """Write probabilities of the sum of ``few`` signs, from the middle up, and behind them tails of the sum of ``many``."""
    first = half_length(few)
    for part in range(2):
        n = many if part else few
        start = first if part else 0
        length = half_length(n)
        heads = (n + 1) // 2
        mass = middle_mass(heads)
        for i in range(length):
            table[start + i] = mass
            mass *= (n - heads - i) / (heads + i + 1.0)
        if part:
            tail = 0.0
            for i in range(start + length - 1, start - 1, -1):
                tail += table[i]
                table[i] = tail


@jitable
def coins_around(few: int, many: int, table: Floats, x: int) -> tuple[float, int, int]:
    """``P(many F - few M > x)``, and the values next to ``x``: the largest up to it and the smallest above.

    Values that are left out of the tables are passed over.
    """
    first = half_length(few)
    length = half_length(many)
    odd = many % 2
    width = 2 * few  # from one value to the next while F stays
    end = few * (odd + 2 * (length - 1))
    total = 0.0
    below = -4 * few * many
    above = 4 * few * many
    # M = odd + 2 k. For each F the least k of a value up to x, and how far below x that value is, go on from those of the
    # F before by whole numbers: a division for each of them takes several times as long.
    size = few % 2
    steps = many // few
    left = 2 * (many - few * steps)
    plus = -((x + few * odd - many * size) // width)
    plus_gap = width * plus + x + few * odd - many * size
    minus = -((x + few * odd + many * size) // width)
    minus_gap = width * minus + x + few * odd + many * size
    least = width
    most = 0
    for i in range(first):
        mass = table[i]
        for side in range(2):
            if side and size == 0:
                continue
            middle = -many * size if side else many * size
            k = minus if side else plus
            j = 1 - odd - k  # P(M < (many F - x)/few) = P(M >= odd + 2 j): M is symmetric
            if k >= length:
                total += mass
                above = min(above, middle - end)
            elif j >= length:
                below = max(below, middle + end)
            else:
                total += mass * (table[first + j] if middle <= x else 1.0 - table[first + k])
                gap = minus_gap if side else plus_gap
                least = min(least, gap)
                most = max(most, gap + 1)
        size += 2
        plus += steps
        plus_gap -= left
        if plus_gap < 0:
            plus += 1
            plus_gap += width
        minus -= steps
        minus_gap += left
        if minus_gap >= width:
            minus -= 1
            minus_gap -= width
    if most > 0:
        below = max(below, x - least)
        above = min(above, x + width + 1 - most)
    return total, below, above


@jitable
def coins_quantile(
    few: int, many: int, table: Floats, start: float, rate: float, level: float
) -> tuple[int, float, float]:
    """``inf {x : P(many F - few M > x) <= level}``, for a level below 1/2, and the range of levels it is the quantile of.

    ``rate`` is about the relative fall of the tail per unit of ``x``.
    """
    lower = 0  # what the quantile is at least, and the tail just below: P(X >= 0) >= 1/2
    upper = 2 * few * many
    tail_below = 0.5
    tail_at = 0.0
    x = min(max(math.floor(start), lower), upper - 1)
    attempt = 0
    while lower < upper:
        tail, below, above = coins_around(few, many, table, x)
        after = x + math.floor(math.log(tail / level) / rate) if tail > 0.0 else lower
        if tail > level:
            lower = above
            tail_below = tail
            x = max(after, above)
        else:
            upper = below
            tail_at = tail
            x = min(after, below - 1)
        attempt += 1
        if attempt > 8 or not lower <= x < upper:
            x = (lower + upper) // 2
    return upper, tail_at, tail_below
