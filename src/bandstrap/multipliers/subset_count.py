"""Exact counts of the subsets whose mean exceeds a number, and the quantile found by them, rounded up.

Rewards are first put on a lattice ``origin + unit m_i`` with whole ``m_i``: the one they live on where they live on one
(whole numbers, decimals, two values), else a fine one to which they are rounded up, which can only raise a subset mean.
A subset has a mean above ``origin + unit t/q`` when its ``sum (q m_i - t)`` is positive, and these are whole numbers below
``2^53``: sums, ties and counts are free of rounding. Subsets are counted by the number of times each value is in
(:func:`grouped_tail`) where there are few values, otherwise one by one, half against half (:func:`count_subsets_above`).
"""

from __future__ import annotations

import math

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable

# Up to this many rewards the number of subsets, and all sums of such numbers, are doubles without rounding.
MOST_EXACT = 50
# Tails of more rewards are sums of positive products: their relative error is below this much per term and reward.
ROUNDING = 2.0**-52
# Rewards are on a lattice if its unit is at least this share of their range ...
FINEST_UNIT = 2.0**-20
# ... and they are this close to it, as a share of the largest reward: what decimals lose to rounding.
LATTICE_NOISE = 2.0**-47
LARGEST_WHOLE = 2.0**52


# --- lattices -----------------------------------------------------------------------------------------------------------


@jitable
def common_unit(first: float, second: float) -> float:
    """Greatest common measure of two non-negative numbers, by Euclid; remainders that are mere rounding count as 0."""
    large = max(first, second)
    small = min(first, second)
    least = 2.0**-30 * large
    while small > least:
        rest = abs(large - small * math.floor(large / small + 0.5))
        large = small
        small = rest
    return large


@jitable
def lattice_unit(y: Floats) -> float:
    """Unit of the lattice on which all ``y`` lie, with ``y[0]`` the smallest and ``y[-1]`` the largest; 0 if none."""
    spread = y[-1] - y[0]
    unit = spread
    for i in range(1, len(y)):
        if y[i] != y[i - 1]:
            unit = common_unit(unit, y[i] - y[0])
            if unit < FINEST_UNIT * spread:
                return 0.0
    return spread / math.floor(spread / unit + 0.5)


@jitable
def to_lattice(y: Floats, origin: float, unit: float, m: Floats) -> float:
    """Write the nearest whole ``m_i = (y_i - origin)/unit``; returns the largest distance, with rounding, or 0 if none.

    It is 0 only where ``unit`` and all ``y_i`` are whole multiples of a power of two, so that sums of them are exact too.
    """
    noise = 0.0
    largest = 0.0
    for i in range(len(y)):
        m[i] = math.floor((y[i] - origin) / unit + 0.5)
        noise = max(noise, abs((y[i] - origin) - unit * m[i]))
        largest = max(largest, abs(y[i]))
    _, exponent = math.frexp(largest * len(y))
    grain = math.ldexp(1.0, exponent - 52)
    is_exact = noise == 0.0 and grain > 0.0 and math.floor(unit / grain) == unit / grain
    for i in range(len(y)):
        is_exact = is_exact and math.floor(y[i] / grain) == y[i] / grain
    return 0.0 if is_exact else noise + 5e-16 * largest


@jitable
def round_onto(y: Floats, origin: float, spread: float, bits: int, m: Floats) -> float:
    """Write ``m_i``, the ``(y_i - origin)/unit`` rounded up to whole numbers of at most ``2^bits``; returns ``unit``.

    Quotients are rounded by at most ``2^-53`` of the range ``spread`` before they are rounded up.
    """
    unit = spread * 0.5**bits
    for i in range(len(y)):
        m[i] = math.ceil((y[i] - origin) / unit)
    return unit


@jitable
def rounded_up(origin: float, unit: float, over: float, under: float, noise: float) -> float:
    """``origin + unit over/under + noise`` or a little more; the next double above the quotient if ``noise`` is 0."""
    if noise > 0.0:
        x = origin + (unit * (over / under) * (1.0 + 5e-16) + noise)
        return float(np.nextafter(x, math.inf))
    total = under * origin + unit * over  # a sum of rewards: exact
    x = total / under
    # The sign of x under - total, by the two halves of x: products and first difference are exact.
    shifted = 134217729.0 * x  # 2^27 + 1
    high = shifted - (shifted - x)
    if (high * under - total) + (x - high) * under < 0.0:
        x = float(np.nextafter(x, math.inf))
    return x


# --- counting -----------------------------------------------------------------------------------------------------------


@jitable
def sorted_subset_sums(v: Floats, sums: Floats, spare: Floats) -> Floats:
    """All subset sums of ``v`` in ascending order, built by merging; the two buffers hold ``2^v.size`` numbers."""
    sums[0] = 0.0
    size = 1
    for i in range(len(v)):
        shifted = v[i]
        left = 0
        right = 0
        for j in range(2 * size):
            if right >= size or (left < size and sums[left] <= sums[right] + shifted):
                spare[j] = sums[left]
                left += 1
            else:
                spare[j] = sums[right] + shifted
                right += 1
        size *= 2
        sums, spare = spare, sums
    return sums[:size]


@jitable
def count_subsets_above(y: Floats, x: float, buffers: Floats) -> int:
    """How many non-empty subsets of ``y`` have a mean above ``x``; whole numbers, so that every sum is exact."""
    half = y.size // 2
    first = sorted_subset_sums(y[:half] - x, buffers[0], buffers[1])
    second = sorted_subset_sums(y[half:] - x, buffers[2], buffers[3])
    count = 0
    position = second.size
    for i in range(first.size):
        while position > 0 and first[i] + second[position - 1] > 0.0:
            position -= 1
        count += second.size - position
    return count


@jitable
def group(m: Floats, values: Floats, counts: Floats) -> int:
    """Write the distinct values of ascending ``m`` and how often each occurs; returns their number."""
    size = 0
    for i in range(len(m)):
        if i == 0 or m[i] != m[i - 1]:
            values[size] = m[i]
            counts[size] = 0.0
            size += 1
        counts[size - 1] += 1.0
    return size


@jitable
def grouped_cost(counts: Floats) -> float:
    """How many terms :func:`grouped_tail` adds up."""
    cost = 1.0
    most = 0.0
    for i in range(counts.size):
        cost *= counts[i] + 1.0
        most = max(most, counts[i])
    return cost / (most + 1.0)


@jitable
def fill_binomials(counts: Floats, as_counts: bool, masses: Floats) -> None:
    """``masses[v, j] = C(c_v, j)``, divided by ``2^c_v`` unless ``as_counts``; then from the middle, free of underflow."""
    for v in range(counts.size):
        c = int(counts[v])
        if as_counts:
            masses[v, 0] = 1.0
            for j in range(c):
                masses[v, j + 1] = masses[v, j] * (c - j) / (j + 1)
        else:
            middle = c // 2
            masses[v, middle] = 1.0
            for j in range(middle, c):
                masses[v, j + 1] = masses[v, j] * ((c - j) / (j + 1))
            total = 0.0
            for j in range(c + 1):
                if j < middle:
                    masses[v, j] = masses[v, c - j]
                total += masses[v, j]
            for j in range(c + 1):
                masses[v, j] /= total


@jitable
def grouped_tail(
    values: Floats, counts: Floats, x: float, masses: Floats, beyond: Floats, last: int, work: Floats
) -> float:
    """Mass of the subsets whose mean exceeds ``x``: value ``v`` is in ``j`` times with ``masses[v, j]``.

    All numbers of times are tried except those of the value ``last``, of which ``beyond[j]`` is the mass of ``j`` or
    more. Values and ``x`` are whole.
    """
    size = values.size
    if size == 1:
        return beyond[1] if values[0] > x else 0.0
    times, sums, products = work[0], work[1], work[2]
    for v in range(size):
        times[v] = 0.0
    c_last = int(counts[last])
    a_last = values[last] - x
    total = 0.0
    sums[0] = 0.0
    products[0] = 1.0
    v = 0
    while v >= 0:
        if v < size:  # go down to the next value
            j = 0 if v == last else int(times[v])
            sums[v + 1] = sums[v] + (0.0 if v == last else j * (values[v] - x))
            products[v + 1] = products[v] * (1.0 if v == last else masses[v, j])
            v += 1
            continue
        s = sums[size]
        if a_last > 0.0:
            least = 0 if s > 0.0 else int(min(math.floor(-s / a_last) + 1.0, c_last + 1.0))
            total += products[size] * beyond[least]
        elif s > 0.0:
            # s + j a > 0 for j < s/|a|; the law of j is the same from both ends
            most = float(c_last) if a_last == 0.0 else min(math.ceil(s / -a_last) - 1.0, float(c_last))
            total += products[size] * beyond[c_last - int(most)]
        v = size - 1  # the next numbers of times
        while v >= 0 and (v == last or times[v] == counts[v]):
            times[v] = 0.0
            v -= 1
        if v >= 0:
            times[v] += 1.0
    return total


@jitable
def allowed_subsets(n: int, level: float) -> float:
    """How many non-empty subsets may lie above: ``floor(level 2^n) - 1``, because the empty one always does.

    The product with a power of two is exact.
    """
    return math.floor(level * 2.0**n) - 1.0


@jitable
def allowed_mass(counts: Floats, n: int, level: float) -> float:
    """What :func:`grouped_tail` may amount to: a number of subsets, or a probability less what rounding may have taken."""
    if n <= MOST_EXACT:
        return allowed_subsets(n, level)
    return (level - 0.5**n) * (1.0 - (4.0 * n + grouped_cost(counts)) * ROUNDING)


@jitable
def grouped_step(
    values: Floats, counts: Floats, n: int, low: float, allowed: float, q: float
) -> tuple[float, float, float]:
    """The smallest whole ``t >= low`` such that subsets of at most the mass ``allowed`` have a mean above ``t/q``.

    With it come their mass, and that above ``(t - 1)/q``: between the two, ``t`` is the answer to every ``allowed``.
    ``values`` are whole and ascend.
    """
    size = values.size
    last = size - 1  # the first value of those that occur most; begun at 0, a literal, numba would compile all twice
    for v in range(size - 1, -1, -1):
        if counts[v] >= counts[last]:
            last = v
    most = int(counts[last])
    masses = np.empty((size, most + 1))
    fill_binomials(counts, n <= MOST_EXACT, masses)
    beyond = np.empty(most + 2)
    beyond[most + 1] = 0.0
    for j in range(most, -1, -1):
        beyond[j] = beyond[j + 1] + masses[last, j]
    scaled = np.empty(size)
    for v in range(size):
        scaled[v] = values[v] * q
    work = np.empty((3, size + 1))
    high = scaled[size - 1]
    high_mass = 0.0
    low_mass = math.inf
    t = low
    while True:
        mass = grouped_tail(scaled, counts, t, masses, beyond, last, work)
        if mass <= allowed:
            high = t
            high_mass = mass
        else:
            low = t
            low_mass = mass
        if not high - low > 1.0:
            return high, high_mass, low_mass
        t = float(math.floor(0.5 * (low + high)))


@jitable
def counted_step(scaled: Floats, low: float, allowed: float, buffers: Floats) -> tuple[float, float, float]:
    """As :func:`grouped_step`, subset by subset: of ``q`` times the whole numbers, in any order."""
    high = scaled[0]
    for i in range(1, scaled.size):
        high = max(high, scaled[i])
    high_count = 0.0
    low_count = math.inf
    t = low
    while True:
        count = float(count_subsets_above(scaled, t, buffers))
        if count <= allowed:
            high = t
            high_count = count
        else:
            low = t
            low_count = count
        if not high - low > 1.0:
            return high, high_count, low_count
        t = float(math.floor(0.5 * (low + high)))


@jitable
def fine_step(n: int) -> float:
    """``q`` such that no two means of up to ``n`` whole numbers lie within ``1/q``."""
    return 2.0 * n * n


@jitable
def attained_fraction(t: float, n: int) -> tuple[float, float]:
    """The fraction with a denominator of at most ``n`` in ``((t - 1)/q, t/q]``, with ``q`` that of :func:`fine_step`."""
    q = fine_step(n)
    for under in range(1, n + 1):
        over = math.floor(t * under / q)
        if over * q > (t - 1.0) * under:
            return over, float(under)
    return t, q
