"""Exact counts of the subsets whose mean exceeds a number, and the quantile found by them, rounded up.

Rewards are first put on a lattice ``origin + unit m_i`` with whole ``m_i``: the one they live on where they live on one
(whole numbers, decimals, two values), else a fine one to which they are rounded up, which can only raise a subset mean.
A subset has a mean above ``origin + unit t/q`` when its ``sum (q m_i - t)`` is positive, and these are whole numbers below
``2^53``: sums, ties and counts are free of rounding. Subsets are counted by the number of times each value is in
(:func:`grouped_tail`) where there are few values, otherwise one by one, as far as they are above (:func:`count_above`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable
from bandstrap.multipliers.enumeration import list_sums
from bandstrap.multipliers.lattice import (
    LATTICE_NOISE,
    attained_fraction,
    fine_step,
    lattice_unit,
    round_onto,
    rounded_up,
    to_lattice,
)

# Up to this many rewards the number of subsets, and all sums of such numbers, are doubles without rounding.
MOST_EXACT = 50
# Tails of more rewards are sums of positive products: their relative error is below this much per term and reward.
ROUNDING = 2.0**-52
LARGEST_WHOLE = 2.0**52
# Rows of the room that subsets are counted in: two for sums of gaps, one for the gaps, and two for choices left open.
ROWS = 5


class Counting(NamedTuple):
    """Resolution of the lattice of rewards, and number of subsets that are counted.

    Rewards on no lattice become whole numbers of ``bits``, and their quantile one of ``q`` times these. A lattice has at
    most ``most_steps``. Few values have at most ``most_grouped`` numbers of times. Others are counted if ``one_by_one``,
    the sums of ``k`` gaps listed where more than ``many 4^k`` subsets may be above, see :func:`count_above`.
    """

    bits: int
    q: float
    most_steps: float
    most_grouped: float
    one_by_one: bool
    many: float


@jitable
def count_above(scaled: Floats, x: float, most: float, n_listed: int, room: Floats) -> float:
    """Number of non-empty subsets of ascending whole numbers have a mean above ``x``; beyond ``most`` any larger
    number.

    Of all sums of ``scaled_i - x`` the largest is that of the positive ones. Every other subset differs from theirs in some
    terms, and its sum falls short by the gaps ``|scaled_i - x|`` of these: it is above ``x`` if they add up to less than
    the largest sum. So those above are found one by one, without looking at many others. The sums of the ``n_listed``
    smallest gaps are listed in order, and those that fit beside a choice of the other gaps are counted at once.
    """
    n = len(scaled)
    gaps, open_sums, open_lasts = room[2], room[3], room[4]
    above = 0
    while above < n and scaled[above] <= x:
        above += 1
    below = above - 1
    largest = 0.0
    for i in range(n):
        if above >= n or (below >= 0 and x - scaled[below] <= scaled[above] - x):
            gaps[i] = x - scaled[below]
            below -= 1
        else:
            gaps[i] = scaled[above] - x
            largest += gaps[i]
            above += 1
    if largest == 0.0:
        return 0.0
    n_sums = 1 << n_listed
    listed = room[list_sums(room, gaps, n_listed, n_sums)]
    count = 0.0
    short = 0.0  # the sum of the gaps chosen among those not listed
    last = n_listed - 1  # the largest of them
    n_open = 0
    while True:
        low = 0
        high = n_sums
        while low < high:
            middle = (low + high) >> 1
            if short + listed[middle] < largest:
                low = middle + 1
            else:
                high = middle
        count += low
        if count > most:
            return count
        # From a choice of gaps come two larger ones: the next gap instead of the last, or beside it.
        moved = math.inf
        if last + 1 < n:
            moved = short + gaps[last + 1]
            if last >= n_listed:
                if moved < largest:
                    open_sums[n_open] = moved
                    open_lasts[n_open] = last + 1
                    n_open += 1
                moved -= gaps[last]
        if moved < largest:
            short = moved
            last += 1
        elif n_open > 0:
            n_open -= 1
            short = open_sums[n_open]
            last = int(open_lasts[n_open])
        else:
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
    """Number of terms that :func:`grouped_tail` adds up."""
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
            # s + j a > 0 for j < s/|a|; the distribution of j is the same from both ends
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
    """Number of non-empty subsets that may lie above: ``floor(level 2^n) - 1``, because the empty one always does.

    The product with a power of two is exact.
    """
    return math.floor(level * 2.0**n) - 1.0


@jitable
def allowed_mass(counts: Floats, n: int, level: float) -> float:
    """Largest allowed value of :func:`grouped_tail`: a number of subsets, or a probability less what rounding may
    have taken.
    """
    if n <= MOST_EXACT:
        return allowed_subsets(n, level)
    return (level - 0.5**n) * (1.0 - (4.0 * n + grouped_cost(counts)) * ROUNDING)


SumEnds = tuple[
    float, float, float, float
]  # a number, the mass of the subsets above it, a higher one, and that above it


@jitable
def closer(ends: SumEnds, t: float, mass: float, allowed: float) -> SumEnds:
    """The ends between which the smallest number with at most the mass ``allowed`` above it lies, knowing that of ``t``."""
    low, low_mass, high, high_mass = ends
    return (low, low_mass, t, mass) if mass <= allowed else (t, mass, high, high_mass)


@jitable
def between(ends: SumEnds) -> float:
    """The whole number in the middle, or that below the higher end if there is none."""
    return float(math.floor(0.5 * (ends[0] + ends[2])))


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
    ends = (low, math.inf, scaled[size - 1], 0.0)
    t = low
    while True:
        ends = closer(ends, t, grouped_tail(scaled, counts, t, masses, beyond, last, work), allowed)
        if not ends[2] - ends[0] > 1.0:
            return ends[2], ends[3], ends[1]
        t = between(ends)


@jitable
def listed_step(scaled: Floats, low: float, allowed: float, many: float, room: Floats) -> tuple[float, float, float]:
    """Do as :func:`grouped_step`, subset by subset, for ``q`` times the whole numbers.

    The last count may be any number above ``allowed`` up to the true one.
    """
    n_listed = 0
    while n_listed < len(scaled) // 2 and many * 4.0**n_listed < allowed:
        n_listed += 1
    ends = (low, math.inf, scaled[-1], 0.0)
    t = low
    while True:
        ends = closer(ends, t, count_above(scaled, t, allowed, n_listed, room), allowed)
        if not ends[2] - ends[0] > 1.0:
            return ends[2], ends[3], ends[1]
        t = between(ends)


@jitable
def counted_quantile(
    y: Floats, least: float, level: float, how: Counting, room: Floats
) -> tuple[float, float, float, bool]:
    """The smallest ``x`` above which subset means have at most the probability ``level``, rounded up; ``y`` ascends.

    Nothing below ``least``, but for its fraction of a step, is looked for. With ``x`` come the numbers of subsets, at most
    and too many, between which it stays the answer, and whether they were counted by values. NaN where counting would take
    too long. Rewards on no lattice are raised by at most ``2^-bits`` of their range.
    """
    n = len(y)
    origin = y[0]
    spread = y[-1] - origin
    m = y.copy()
    q = fine_step(n)
    unit = lattice_unit(y)
    noise = math.inf
    if unit > 0.0 and spread <= how.most_steps * unit:
        noise = to_lattice(y, origin, unit, m)
    is_lattice = noise <= LATTICE_NOISE * max(abs(origin), abs(y[-1])) and m[-1] * q * n < LARGEST_WHOLE
    values = np.empty(n)
    counts = np.empty(n)
    is_grouped = False
    if is_lattice:
        size = group(m, values, counts)
        values = values[:size]
        counts = counts[:size]
        is_grouped = grouped_cost(counts) <= how.most_grouped
    if not (is_grouped or how.one_by_one):
        return math.nan, -1.0, -1.0, False
    if not is_lattice:
        q = how.q
        unit = round_onto(y, origin, spread, how.bits, m)
        noise = 2.0**-52 * spread
    low = max(math.floor((least - origin) / unit * q) - 1.0, 0.0)
    if is_grouped:
        t, at_most, too_many = grouped_step(values, counts, n, low, allowed_mass(counts, n, level), q)
    else:
        for i in range(n):
            m[i] *= q
        t, at_most, too_many = listed_step(m, low, allowed_subsets(n, level), how.many, room)
    over, under = attained_fraction(t, n) if is_lattice else (t, q)
    return min(rounded_up(origin, unit, over, under, noise), y[-1]), at_most, too_many, is_grouped
