"""Two-valued rewards and random signs in compiled loops: a difference of two counts of coins.

With ``few`` rewards at one value and ``many`` at the other, ``n^2 X/gap = many F - few M``, where ``F`` and ``M`` are the
independent sums of ``few`` and ``many`` signs, and ``gap`` is the distance of the values. ``binomial.py`` has the same law
for all two-point weights, by NumPy.

Tables hold the upper halves of both laws, as far as 5.5 standard deviations: 4e-8 of a law is left out.
"""

from __future__ import annotations

import math

from bandstrap.arrays import Floats
from bandstrap.engine.kernel import jitable

# The most rewards whose two tables fit into a row of this length.
MOST_COINS = 4000
TABLE = 264


@jitable
def half_length(n: int) -> int:
    """How many values from the middle up are in the table of ``n`` signs."""
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
def coins_tail(few: int, many: int, table: Floats, x: float) -> float:
    """``P(many F - few M > x)``."""
    first = half_length(few)
    length = half_length(many)
    odd = many % 2
    odd_few = few % 2
    # Beyond this F all of M counts, below the other none does.
    reach = few * (odd + 2.0 * length)
    total = 0.0
    for i in range(first):
        size = odd_few + 2.0 * i
        mass = table[i]
        for side in range(2):
            if side and size == 0.0:
                continue
            gap = x + many * size if side else x - many * size
            if gap >= reach:
                continue
            # P(M > y) by the table of P(M >= odd + 2 i)
            y = gap / few
            if y >= 0.0:
                j = math.floor((y - odd) / 2.0) + 1
                part = table[first + j] if j < length else 0.0
            else:
                j = math.ceil((-y - odd) / 2.0)
                part = 1.0 - table[first + j] if j < length else 1.0
            total += mass * part
    return total


@jitable
def coins_value(few: int, many: int, x: float) -> float:
    """The largest value of ``many F - few M`` that is at most ``x``, values that are left out of the tables aside."""
    odd_few = few % 2
    most = odd_few + 2.0 * (half_length(few) - 1)
    highest = (many % 2) + 2.0 * (half_length(many) - 1)
    best = -math.inf
    f = -most
    while f <= most:
        m = (many * f - x) / few
        m = 2.0 * math.ceil((m - many % 2) / 2.0) + many % 2
        if m <= highest:
            best = max(best, many * f - few * max(m, -highest))
        f += 2.0
    return best


@jitable
def coins_quantile(
    few: int, many: int, table: Floats, start: float, rate: float, level: float
) -> tuple[float, float, float]:
    """``inf {x : P(many F - few M > x) <= level}``, for a level below 1/2, and the range of levels it is the quantile of.

    ``rate`` is about the relative fall of the tail per unit of ``x``.
    """
    low = -1.0  # the tail there is at least 1/2
    high = 2.0 * few * many
    x = min(max(math.floor(start), 0.0), high)
    for attempt in range(200):
        tail = coins_tail(few, many, table, x)
        if tail > level:
            value = -coins_value(few, many, -x - 1.0)  # the next one above
            next_tail = coins_tail(few, many, table, value)
            if next_tail <= level:
                return value, next_tail, tail
            low = value
            x = value
        else:
            value = coins_value(few, many, x)
            next_tail = coins_tail(few, many, table, value - 1.0)
            if next_tail > level:
                return value, tail, next_tail
            high = value - 1.0
            x = high
        after = math.floor(x + math.log(next_tail / level) / rate) if next_tail > 0.0 else -math.inf
        x = after if attempt < 8 and low < after < high else math.floor(0.5 * (low + high))
    return high, 0.0, level
