"""Theorem 1 on a fair coin, by enumeration: of rewards 1 and -1 every probability is a whole number over ``2^n``.

A sample of ``n`` equal rewards has no residuals, so that its bootstrapped quantile is 0 and the correction stands alone:
with ``phi`` a shade above 1, which no mean of a coin reaches, it must be 1 or more wherever ``2 alpha < 2^-n``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from scipy.special import gammaln

from bandstrap.basics.arrays import Floats
from bandstrap.errors import check_count, check_number

# Parts of n^2 by which a sum of signs may lie below a threshold and still reach it: rounding never makes up a miss.
ROUNDING = 1e-12


def coin_misses(n: int, level: float, correction: float) -> Fraction:
    r"""Probability that the mean of ``n`` tosses exceeds ``q_level(y - ybar) + correction``, exactly.

    .. math:: 2^{-n} \sum_k \binom{n}{k}\, 1\{P_w(X_k \ge m_k - \text{correction}) \le \text{level}\}, \qquad m_k = 2k/n - 1

    over the number ``k`` of heads; ``X_k = (2/n^2) ((n - k) A - k C)`` is the bootstrapped mean, ``A`` and ``C`` the sums
    of the ``k`` and the ``n - k`` random signs.

    Parameters
    ----------
    n
        Number of tosses, each 1 or -1.
    level
        Level of the bootstrapped quantile; 0 counts the samples that are missed whatever signs are drawn.
    correction
        What is added to the quantile, at least 0.

    Returns
    -------
    Fraction
        The probability. A threshold that ties with the mean, but for rounding, is no miss.

    Examples
    --------
    Theorem 1 as stated allows ``2 alpha``, here 0.0016, for ``phi`` above 1:

    >>> from bandstrap.theory.coin import coin_misses
    >>> n, alpha, delta = 8, 8e-4, 0.9
    >>> coin_misses(n, alpha * (1 - delta), (math.log(2 / (alpha * delta)) / n) ** 0.5 * 1.000001)
    Fraction(1, 256)
    """
    owner = "coin_misses"
    size = check_count(n, "n", owner)
    tail = Fraction(check_number(level, "level", owner, at_least=0))
    added = check_number(correction, "correction", owner, at_least=0)
    missed = 0
    for heads, (sums, above) in enumerate(sign_sums(size)):
        # n^2/2 times the mean minus the correction
        place = (heads - size / 2) * size - added * size**2 / 2
        reached = above[bisect_left(sums, place - ROUNDING * size**2)]
        if Fraction(reached, 2**size) <= tail:
            missed += math.comb(size, heads)
    return Fraction(missed, 2**size)


@lru_cache(maxsize=64)
def sign_sums(n: int) -> tuple[tuple[list[int], list[int]], ...]:
    """Values of ``n^2 X/2`` for each number of heads, and the number of the ``2^n`` vectors of signs that reach each."""
    tables = []
    for heads in range(n + 1):
        tails = n - heads
        ways: dict[int, int] = {}
        for i in range(heads + 1):
            for j in range(tails + 1):
                total = tails * (2 * i - heads) - heads * (2 * j - tails)
                ways[total] = ways.get(total, 0) + math.comb(heads, i) * math.comb(tails, j)
        sums = sorted(ways)
        above = [*accumulate(ways[each] for each in reversed(sums))][::-1]
        tables.append((sums, [*above, 0]))
    return tuple(tables)


def coin_constant(n: int) -> float:
    r"""The smallest ``C`` with which ``sqrt(C log(2/(alpha delta))/n) phi`` could be right: a fair coin needs it at ``n``.

    .. math:: \max_k\; n\, (m_k - (1 - m_k^2))_+^2 / \log(4/P(K \ge k)), \qquad m_k = 2k/n - 1

    The threshold must not be below the means ``m_k`` of samples that together have a probability above ``2 alpha``; for
    ``delta`` close to 1 the quantile is that of the level 0, ``1 - m_k^2``. Theorem 1 as stated has ``C = 1``, its proof
    ``C = 2``.

    Parameters
    ----------
    n
        Number of tosses.

    Returns
    -------
    float
        ``n/((n + 2) log 2)`` up to about 4,000 tosses, from samples of equal rewards.

    Examples
    --------
    >>> from bandstrap.theory.coin import coin_constant
    >>> [round(coin_constant(n), 4) for n in (4, 5, 100, 10**6)]
    [0.9618, 1.0305, 1.4144, 1.4432]
    """
    means, log_tails = upper_tails(check_count(n, "n", "coin_constant"))
    room = np.maximum(means - (1 - means**2), 0.0)
    return float(np.max(n * room**2 / (math.log(4) - log_tails)))


def proof_constant(n: int) -> float:
    r"""The smallest ``C`` with which the proof of theorem 1 goes through at ``n``, whatever ``alpha`` and ``delta``.

    .. math:: \max_k\; n\, m_k^2 / \log(2/P(K \ge k)), \qquad m_k = 2k/n - 1

    The proof asks that the mean of ``n`` signs exceed ``sqrt(C log(2/e)/n)`` with probability at most ``e``.

    Parameters
    ----------
    n
        Number of signs.

    Returns
    -------
    float
        At most 2, by Hoeffding's inequality.

    Examples
    --------
    >>> from bandstrap.theory.coin import proof_constant
    >>> [round(proof_constant(n), 3) for n in (1, 10, 1000, 10**6)]
    [0.721, 1.312, 1.862, 1.994]
    """
    means, log_tails = upper_tails(check_count(n, "n", "proof_constant"))
    return float(np.max(n * means**2 / (math.log(2) - log_tails)))


def upper_tails(n: int) -> tuple[Floats, Floats]:
    """Means ``m_k`` above 0, from 1 down, and the logarithms of ``P(K >= k)``."""
    heads = np.arange(n, n // 2, -1)
    terms = gammaln(n + 1.0) - gammaln(heads + 1.0) - gammaln(n - heads + 1.0) - n * math.log(2)
    return 2.0 * heads / n - 1.0, np.logaddexp.accumulate(terms)
