"""Exact quantiles of ``X = sum_i a_i w_i`` by enumeration of the weights.

Two ways, both exact. Where the tail holds few of the ``2^n`` signed sums, those are built from the top
(:func:`list_sums`). Otherwise the terms are split in two halves whose distributions are enumerated and sorted, and
pairs are counted by binary search (meet in the middle), so that n = 40 needs two arrays of ``2^20`` instead of one of
``2^40``. Sums are doubles; those of subsets, which must not be too small by a rounding, are whole numbers in
``subset_count.py``.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import entry, jitable
from bandstrap.multipliers.binomial import binomial_probabilities
from bandstrap.multipliers.weights import EFRON, RADEMACHER, TWO_POINT

# Log2 of the most sums that are enumerated, by distribution: two halves of 2^20, or of C(23, 8) resamples of 16 rewards.
MOST_BITS = dict.fromkeys(TWO_POINT, 40) | {EFRON: 16}
# Signed sums are listed from the top while the tail holds fewer than this many.
MOST_EXTREME = 4096
# Terms that crowd are counted as equal where that moves no sum by more than this share of its standard deviation.
CLOSE = 1e-3
# Pairs of half sums that are listed and sorted once bisection has narrowed the quantile down to them.
MOST_LISTED = 1 << 12


@jitable
def without_zeros(magnitudes: Floats) -> Floats:
    """The positive part of ascending ``magnitudes``: a zero term leaves the distribution as it is."""
    zeros = 0
    while zeros < magnitudes.size and magnitudes[zeros] == 0.0:
        zeros += 1
    return magnitudes[zeros:]


@jitable
def list_sums(room: Floats, terms: Floats, n: int, most: int) -> int:
    """Write the ``most`` smallest sums over subsets of the first ``n`` terms, or all; the row of ``room`` they are in.

    They ascend; no term is negative. The sums without a term and with it are merged, one term at a time, from one row into
    the other; a term that is not below the largest of ``most`` sums changes nothing.
    """
    row = 0
    size = 1
    sums, merged = room[0], room[1]
    sums[0] = 0.0
    for i in range(n):
        term = terms[i]
        if size == most and term >= sums[size - 1]:
            continue
        new_size = min(2 * size, most)
        left = 0
        right = 0
        for j in range(new_size):
            if right >= size or (left < size and sums[left] <= sums[right] + term):
                merged[j] = sums[left]
                left += 1
            else:
                merged[j] = sums[right] + term
                right += 1
        size = new_size
        sums, merged = merged, sums
        row = 1 - row
    return row


@jitable
def extreme_rank(n: int, level: float) -> int:
    """Number of the ``2^n`` sums beyond the quantile, counted from the nearer end."""
    if n > 52:  # more sums than a double can count
        return 1 << 62
    sums = 2.0**n
    above = math.floor(level * sums)  # exact: a product with a power of two
    return int(min(above, sums - above - 1.0))


@jitable
def is_extreme(n: int, level: float) -> bool:
    """Return whether the tail holds few enough sums to list them."""
    return extreme_rank(n, level) < MOST_EXTREME


@jitable
def extreme_quantile(magnitudes: Floats, level: float) -> float:
    """``inf {x : P(sum +-a_i > x) <= level}``; ``magnitudes`` ascend and are positive."""
    n = magnitudes.size
    return extreme_quantile_in(np.zeros((2, extreme_rank(n, level) + 1)), magnitudes, n, level)


@jitable
def extreme_quantile_in(room: Floats, magnitudes: Floats, n: int, level: float) -> float:
    """Return :func:`extreme_quantile` of the first ``n`` magnitudes, with three rows of ``room`` for sums.

    The sums from the top are ``sum a - 2 (subset sums from the bottom)``, and the distribution is symmetric.
    """
    total = 0.0
    for i in range(n):
        total += magnitudes[i]
    rank = extreme_rank(n, level)
    x = total - 2.0 * room[list_sums(room, magnitudes, n, rank + 1)][rank]
    sums = 2.0**n
    return x if 2.0 * math.floor(level * sums) < sums else -x


@entry
def extreme_batch(magnitudes: Floats, levels: Floats, out: Floats) -> None:
    """Row by row: :func:`extreme_quantile` where the rank allows it, NaN elsewhere."""
    for row in range(magnitudes.shape[0]):
        terms = without_zeros(magnitudes[row])
        for k in range(levels.size):
            out[row, k] = math.nan
            if terms.size == 0:
                out[row, k] = 0.0
            elif is_extreme(terms.size, levels[k]):
                out[row, k] = extreme_quantile(terms, levels[k])


class HalfLaw:
    """The sorted values of one half of the sum, their probabilities, and tail probabilities."""

    def __init__(self, values: Floats, probabilities: Floats) -> None:
        order = np.argsort(values, kind="stable")
        self.values = values[order]
        self.probabilities = probabilities[order]
        # tail[j] = P(value number j or a later one)
        self.tail = np.append(np.cumsum(self.probabilities[::-1])[::-1], 0.0)


def grouped_law(groups: list[tuple[float, int]], law: int) -> HalfLaw:
    """Distribution of ``sum_i a_i w_i`` for two-point weights; ``groups`` holds each distinct ``a`` and how often it
    occurs.

    Equal terms share one binomial count of high weights, so a group of ``c`` terms has ``c + 1`` values, not ``2^c``.
    """
    low, high, high_probability = TWO_POINT[law]
    values = np.zeros(1)
    probabilities = np.ones(1)
    for term, count in groups:
        heads = np.arange(count + 1)
        values = np.add.outer(values, term * (count * low + heads * (high - low))).ravel()
        probabilities = np.multiply.outer(probabilities, binomial_probabilities(count, high_probability)).ravel()
    return HalfLaw(values, probabilities)


def grouped(terms: Floats, law: int) -> list[tuple[float, int]]:
    """Distinct non-zero terms and their counts; signs do not matter for Rademacher weights."""
    values, counts = np.unique(np.abs(terms) if law == RADEMACHER else terms, return_counts=True)
    return [(float(v), int(c)) for v, c in zip(values, counts, strict=True) if v != 0]


def count_bits(terms: Floats, law: int) -> float:
    """Log2 of the number of sums to enumerate; a zero term adds none, equal terms few."""
    if law == EFRON:
        return float(terms.size)
    return sum(math.log2(count + 1) for _, count in grouped(terms, law))


def crowd_width(terms: Floats) -> Floats:
    """Largest width of a crowd of terms, per row: moved to its middle, all of them move a sum by ``CLOSE`` at most."""
    width: Floats = 2.0 * CLOSE / terms.shape[-1] * np.sqrt((terms**2).sum(axis=-1))
    return width


def crowded(terms: Floats, law: int, most_bits: float) -> tuple[Floats, float] | None:
    """The terms of a row, moved to the middle of their crowds, and what a sum moves by at most.

    Or None if sums of more than ``most_bits`` would be left to enumerate.
    """
    ordered = np.sort(np.abs(terms) if law == RADEMACHER else terms)
    width = float(crowd_width(terms))
    middles: list[float] = []
    counts: list[int] = []
    start, bits = 0, 0.0
    while start < ordered.size:
        stop = int(np.searchsorted(ordered, ordered[start] + width, side="right"))
        bits += math.log2(stop - start + 1)
        if bits > most_bits:
            return None
        middles.append(0.5 * (ordered[start] + ordered[stop - 1]))
        counts.append(stop - start)
        start = stop
    moved = np.repeat(middles, counts)
    low, high, _ = TWO_POINT[law]
    return moved, max(-low, high) * math.fsum(np.abs(moved - ordered))


def split(groups: list[tuple[float, int]]) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
    """Two halves of about equally many sums: the largest groups first, each to the smaller half."""
    halves: tuple[list[tuple[float, int]], list[tuple[float, int]]] = ([], [])
    sizes = [0.0, 0.0]
    for group in sorted(groups, key=lambda group: (-group[1], -abs(group[0]))):
        smaller = 0 if sizes[0] <= sizes[1] else 1
        halves[smaller].append(group)
        sizes[smaller] += math.log2(group[1] + 1)
    return halves


def resampled_law(terms: Floats, n_draws: int) -> HalfLaw:
    """Distribution of the sum of ``n_draws`` draws with replacement from ``terms``: one value per multiset.

    In place of its probability stands the number of orders it can be drawn in, a whole number.
    """
    # by_draws[d]: sums of d draws from the terms seen so far, and in how many orders
    by_draws = [(np.zeros(1), np.ones(1))] + [(np.zeros(0), np.zeros(0))] * n_draws
    for term in terms:
        by_draws = [
            (
                np.concatenate([by_draws[d - c][0] + c * term for c in range(d + 1)]),
                np.concatenate([by_draws[d - c][1] * math.comb(d, c) for c in range(d + 1)]),
            )
            for d in range(n_draws + 1)
        ]
    return HalfLaw(*by_draws[n_draws])


def meet_in_the_middle(left: HalfLaw, right: HalfLaw, level: float) -> float:
    """``inf {x : P(L + R > x) <= level}`` for independent halves; level and probabilities in any unit."""

    def above(x: float) -> tuple[float, np.ndarray]:
        first = np.searchsorted(right.values, x - left.values, side="right")
        return float(left.probabilities @ right.tail[first]), first

    # A margin on both sides: x - left and left + right do not round alike.
    low, high = left.values[0] + right.values[0], left.values[-1] + right.values[-1]
    margin = 1e-12 * (high - low)
    low, high = low - margin, high + margin
    _, low_first = above(low)
    high_mass, high_first = above(high)
    while (high_first - low_first).sum() > MOST_LISTED:
        middle = 0.5 * (low + high)
        if not low < middle < high:  # so many equal sums that the quantile is their value
            return float(high)
        mass, first = above(middle)
        if mass > level:
            low, low_first = middle, first
        else:
            high, high_mass, high_first = middle, mass, first
    # The quantile is one of the sums in (low, high]: list them from the top.
    counts = high_first - low_first
    rows = np.repeat(np.arange(counts.size), counts)
    columns = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + low_first[rows]
    sums = left.values[rows] + right.values[columns]
    order = np.argsort(-sums, kind="stable")
    probabilities = (left.probabilities[rows] * right.probabilities[columns])[order]
    beyond = high_mass + np.cumsum(probabilities) - probabilities  # P(X > this sum), ties aside
    reached = np.searchsorted(beyond, level, side="right") - 1
    return float(sums[order[reached]])


def quantiles(law: int, terms: Floats, levels: Floats) -> Floats:
    """Quantiles of ``sum_i a_i w_i`` for each row ``a`` of ``terms``: shape ``(rows, levels)``."""
    out = np.full((terms.shape[0], levels.size), np.nan)
    out[(terms == 0).all(axis=-1)] = 0.0
    if law == RADEMACHER:
        magnitudes = np.sort(np.abs(terms), axis=-1)
        listed = min(MOST_EXTREME, 2.0 ** min(terms.shape[-1], 60) * min(1.0, float(levels.max())) + 1)
        extreme_batch(terms.size * levels.size * listed, magnitudes, levels, out)
    for row in np.flatnonzero(np.isnan(out).any(axis=1)):
        masses = levels
        if law == EFRON:  # numbers of resamples: up to 13 rewards, no sum of them is rounded
            n = terms.shape[-1]
            masses = np.array([float(math.floor(Fraction(level) * n**n)) for level in levels.tolist()])
            left, right = resampled_law(terms[row], (n + 1) // 2), resampled_law(terms[row], n // 2)
        else:
            first, second = split(grouped(terms[row], law))
            left, right = grouped_law(first, law), grouped_law(second, law)
        for k in np.flatnonzero(np.isnan(out[row])):
            out[row, k] = meet_in_the_middle(left, right, float(masses[k]))
    return out
