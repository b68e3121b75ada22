r"""Bootstrap replicates of the ridge regression, all at once: the last axis of every array is the replicate.

A replicate's factor is kept with its right-hand side as one more column, ``[R | z]`` of shape ``(d, d + 1)``. Then the
distance that bootstrapped UCB takes the quantile of needs no solve:

.. math:: \|\theta^{(b)} - \hat\theta\|_{V_b} = \|R_b(\theta^{(b)} - \hat\theta)\| = \|z_b - R_b\hat\theta\|

Plain bodies let NumPy work on all replicates at once, compiled ones run over them in the innermost loop.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import compiled_body, inlined, jitable
from bandstrap.policies.kernels.draws import random_bits
from bandstrap.policies.linear.known_actions import KnownActions
from bandstrap.policies.linear.ridge import ROUNDING
from bandstrap.policies.states.fields import AddedLabels, ArrayOfCounts, Field, Observations

Words = NDArray[np.uint64]
Times = NDArray[np.uint8]
LOWER_HALF = np.uint64(0xFFFFFFFF)


def start_factors(dimension: int, n_resamples: int, ridge: float) -> Floats:
    """Replicates of nothing: ``[sqrt(ridge) I | 0]``."""
    factors = np.zeros((dimension, dimension + 1, n_resamples))
    for k in range(dimension):
        factors[k, k] = math.sqrt(ridge)
    return factors


def distances(factors: Floats, theta: Floats) -> Floats:
    """``|z - R theta|`` of each replicate."""
    d = factors.shape[0]
    rest = factors[:, d].copy()
    for j in range(d):
        rest[: j + 1] -= factors[: j + 1, j] * theta[j]
    rest *= rest
    total: Floats = np.zeros(factors.shape[2])
    for squares in rest:
        total += squares
    return np.sqrt(total)


@compiled_body(distances)
def distances_in_loops(factors: Floats, theta: Floats) -> Floats:
    """:func:`distances` in loops, because arrays take 2 to 7 times as long compiled; loops take 50 times plain."""
    d = factors.shape[0]
    n = factors.shape[2]
    total = np.zeros(n)
    rest = np.empty(n)
    for k in range(d):
        for b in range(n):
            rest[b] = factors[k, d, b]
        for j in range(k, d):
            for b in range(n):
                rest[b] -= factors[k, j, b] * theta[j]
        for b in range(n):
            total[b] += rest[b] * rest[b]
    for b in range(n):
        total[b] = math.sqrt(total[b])
    return total


# --- streaming: every observation enters every replicate once, with a weight ------------------------------------------


def rotate_into_all(factors: Floats, x: Floats, y: float, roots: Floats) -> None:
    """Rotate the row ``root (x, y)`` into each replicate's ``[R | z]``; see ``ridge.rotate_in``."""
    d = factors.shape[0]
    row = np.append(x, y)[:, None] * roots
    turned, turned_row = np.empty_like(row), np.empty_like(row)
    for k in range(d):
        head, low_head = factors[k, k], row[k]
        size = np.sqrt(head * head + low_head * low_head)
        c = head / size
        s = low_head / size
        head[:] = size
        top, low, to_top, to_low = factors[k, k + 1 :], row[k + 1 :], turned_row[k + 1 :], turned[k + 1 :]
        np.multiply(s, low, out=to_top)
        np.multiply(s, top, out=to_low)
        top *= c
        top += to_top
        low *= c
        low -= to_low


@compiled_body(rotate_into_all)
def rotate_into_all_in_loops(factors: Floats, x: Floats, y: float, roots: Floats) -> None:
    """:func:`rotate_into_all` in loops, because arrays take 2 to 5 times as long compiled; loops take 40 times plain."""
    d = factors.shape[0]
    n = roots.size
    row = np.empty((d + 1, n))
    for b in range(n):
        row[d, b] = y * roots[b]
    for j in range(d):
        for b in range(n):
            row[j, b] = x[j] * roots[b]
    c = np.empty(n)
    s = np.empty(n)
    for k in range(d):
        make_rotations(factors[k, k], row[k], c, s)
        for j in range(k + 1, d + 1):
            rotate(factors[k, j], row[j], c, s)


@jitable
def make_rotations(top: Floats, low: Floats, c: Floats, s: Floats) -> None:
    """Cosines and sines of the rotations that bring ``low`` to 0, and the new ``top``."""
    for b in range(top.size):
        size = math.sqrt(top[b] * top[b] + low[b] * low[b])
        c[b] = top[b] / size
        s[b] = low[b] / size
        top[b] = size


@jitable
def rotate(top: Floats, low: Floats, c: Floats, s: Floats) -> None:
    """Turn each pair ``(top, low)``."""
    for b in range(top.size):
        kept = top[b]
        top[b] = c[b] * kept + s[b] * low[b]
        low[b] = c[b] * low[b] - s[b] * kept


# --- resampled: every replicate draws as many observations as there are, with replacement, anew each round -------------
#
# Drawn one by one, observations cost a random number and a scattered addition each. So most are drawn at once:
# independent Poisson weights are, given their sum, a resample of that many draws, whatever their rate. Their rate is a
# little below 1, and what the sum lacks is drawn one by one; a sum that is too large loses draws at random. Each step
# keeps the distribution of the weights given their sum, which ends as n: the distribution of n draws with replacement,
# exactly.


class Observed(NamedTuple):
    """Each observation's action (a number among the known ones) and reward, and how many there are."""

    size: ArrayOfCounts
    labels: AddedLabels
    rewards: Observations


class Generators(NamedTuple):
    """One xorshift128+ generator per replicate: the policy's own would take longer than all else together."""

    first: Annotated[Words, Field("path-dependent", "array")]
    second: Annotated[Words, Field("path-dependent", "array")]


def start_generators(n: int, rng: np.random.Generator) -> Generators:
    """Generators seeded by the policy's own."""
    seeds = [[random_bits(rng) << 12 | 1 for _ in range(n)] for _ in range(2)]
    return Generators(np.array(seeds[0], dtype=np.uint64), np.array(seeds[1], dtype=np.uint64))


def next_words(generators: Generators, words: Words) -> None:
    """64 random bits of each generator into ``words`` (Vigna 2014)."""
    x, y = generators.first.copy(), generators.second.copy()
    generators.first[:] = y
    x ^= x << np.uint64(23)
    generators.second[:] = x ^ y ^ (x >> np.uint64(17)) ^ (y >> np.uint64(26))
    words[:] = generators.second + y


@compiled_body(next_words)
def next_words_in_loops(generators: Generators, words: Words) -> None:
    """:func:`next_words` in loops, because arrays take 2 to 4 times as long compiled; loops take 50 times plain."""
    first = generators.first
    second = generators.second
    for b in range(words.size):
        y = second[b]
        second[b] = advance(first[b], y)
        first[b] = y
        words[b] = second[b] + y


@jitable
def advance(x: Words, y: Words) -> Words:
    """Next state after ``x`` and ``y`` in a generator."""
    x ^= x << np.uint64(23)
    return x ^ y ^ (x >> np.uint64(17)) ^ (y >> np.uint64(26))


class Grouped(NamedTuple):
    """The rewards by action, and where those of each action begin; at the end, how many there are."""

    starts: NDArray[np.int64]
    rewards: Floats


def group(known: KnownActions, observed: Observed) -> Grouped:
    """The observations in the order of their actions, those of one action in the order they came."""
    n_known, n = int(known.size[0]), int(observed.size[0])
    order = np.argsort(observed.labels[:n], kind="stable")
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(known.pulls[:n_known])])
    return Grouped(starts, observed.rewards[order])


@compiled_body(group)
def group_in_loops(known: KnownActions, observed: Observed) -> Grouped:
    """:func:`group` by counting, because sorting takes 7 times as long compiled; counting takes 17 times plain."""
    n = observed.size[0]
    starts = np.zeros(known.size[0] + 1, dtype=np.int64)
    for a in range(known.size[0]):
        starts[a + 1] = starts[a] + known.pulls[a]
    following = starts.copy()
    rewards = np.empty(n)
    for i in range(n):
        label = observed.labels[i]
        rewards[following[label]] = observed.rewards[i]
        following[label] += 1
    return Grouped(starts, rewards)


# How many standard deviations the Poisson weights are meant to fall short of n: one draw too many costs 32 trials, one too
# few a single draw.
SHORTFALL = 1.5
# Weights that 8 random bits tell apart are below this.
BYTE_WEIGHTS = 5
# No weight is larger: the Poisson distribution has less than 1e-20 beyond.
LARGEST_WEIGHT = 20


@jitable
def split_poisson(rate: float, last: Times, rest: Floats) -> float:
    """Write the Poisson distribution as a mixture of a distribution in multiples of 1/256 and a rest, and return the
    rest's share.

    A byte above ``last[k]`` means a weight above ``k``; ``rest`` is the distribution function of the rest.
    """
    cells = np.zeros(rest.size)
    probability = math.exp(-rate)
    for k in range(rest.size):
        rest[k] = 256.0 * probability
        probability *= rate / (k + 1)
    cells[0] = 256.0
    for k in range(1, BYTE_WEIGHTS):  # a large weight must not have more than its due, which would swell the rest
        cells[k] = math.floor(rest[k] + (0.5 if rest[k] > 32.0 else 0.0))
        cells[0] -= cells[k]
    kept = 1.0
    for k in range(BYTE_WEIGHTS):
        if cells[k] > 0.0:
            kept = min(kept, rest[k] / cells[k])
    reached = -1.0
    total = 0.0
    for k in range(rest.size):
        reached += cells[k]
        if k < last.size:
            last[k] = int(reached)
        total += max(rest[k] - kept * cells[k], 0.0)
        rest[k] = total
    for k in range(rest.size):
        rest[k] /= total
    return 1.0 - kept


@jitable
def poisson_table(mean: float) -> Floats:
    """Distribution function of a Poisson distribution, up to where it is 1 in double precision."""
    table = np.empty(int(mean + 12.0 * math.sqrt(mean + 1.0)) + 20)
    probability = math.exp(-mean)
    total = 0.0
    for k in range(table.size):
        total += probability
        table[k] = total
        probability *= mean / (k + 1)
    return table


def draw_weights(n: int, rate: float, generators: Generators) -> Times:
    """Independent Poisson weights of ``n`` observations in each replicate, by 8 random bits each.

    The words of all generators, cut into bytes from below, one after the other, serve eight rows. Marks fall on
    observations at random, as many as a Poisson distribution says, so that each is marked with the share of the rest as its
    probability: a marked weight is drawn anew from the rest. A mark's place is ``floor(n u)`` with the upper 32 bits ``u``
    of a word, the lower ones draw the weight.
    """
    times = np.zeros((n, generators.first.size), dtype=np.uint8)
    if rate <= 0.0:
        return times
    last, rest = np.empty(BYTE_WEIGHTS - 1, dtype=np.uint8), np.empty(LARGEST_WEIGHT + 1)
    share = split_poisson(rate, last, rest)
    words = np.empty(generators.first.size, dtype=np.uint64)
    for first in range(0, n, 8):
        next_words(generators, words)
        found = np.searchsorted(last, words.view(np.uint8), side="left").reshape(8, -1)
        times[first : first + 8] = found[: n - first]
    next_words(generators, words)
    marks = np.searchsorted(poisson_table(-n * math.log1p(-share)), (words >> np.uint64(11)) * 2.0**-53, side="right")
    for mark in range(marks.max()):
        active = np.flatnonzero(marks > mark)
        own, words = Generators(generators.first[active], generators.second[active]), np.empty(active.size, np.uint64)
        next_words(own, words)
        generators.first[active], generators.second[active] = own
        place = ((words >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
        times[place, active] = np.searchsorted(rest[:-1], (words & LOWER_HALF) * 2.0**-32, side="right")
    return times


@compiled_body(draw_weights)
def draw_weights_in_loops(n: int, rate: float, generators: Generators) -> Times:
    """:func:`draw_weights` in loops, because compiled these weigh many bytes at once; loops take 50 times plain."""
    first_words, second_words = generators.first, generators.second
    n_replicates = first_words.size
    times = np.empty((n, n_replicates), dtype=np.uint8)
    if rate <= 0.0:
        times[:] = 0
        return times
    last = np.empty(BYTE_WEIGHTS - 1, dtype=np.uint8)
    rest = np.empty(LARGEST_WEIGHT + 1)
    share = split_poisson(rate, last, rest)
    words = np.empty(n_replicates, dtype=np.uint64)
    flat = times.reshape(-1)
    for first in range(0, n, 8):
        next_words(generators, words)
        weigh(words.view(np.uint8), last, flat[first * n_replicates : (first + 8) * n_replicates])
    next_words(generators, words)
    table = poisson_table(-n * math.log1p(-share))
    guess = int(-n * math.log1p(-share))
    least = np.empty(256, dtype=np.uint8)  # weight by the first eight bits: looked up, it is hardly ever too small
    weight = 0
    for i in range(least.size):
        while i / 256.0 >= rest[weight]:
            weight += 1
        least[i] = weight
    bound = np.uint64(n)
    for b in range(n_replicates):
        u = float(words[b] >> np.uint64(11)) * 2.0**-53
        marks = guess
        while marks > 0 and u < table[marks - 1]:
            marks -= 1
        while marks < table.size and u >= table[marks]:
            marks += 1
        x = first_words[b]
        y = second_words[b]
        for _ in range(marks):
            z = advance(x, y)
            word = z + y
            x = y
            y = z
            lower = word & LOWER_HALF
            v = float(lower) * 2.0**-32
            weight = int(least[lower >> np.uint64(24)])
            while weight < LARGEST_WEIGHT and v >= rest[weight]:
                weight += 1
            times[np.int64(((word >> np.uint64(32)) * bound) >> np.uint64(32)), b] = weight
        first_words[b] = x
        second_words[b] = y
    return times


@jitable
def weigh(numbers: Times, last: Times, out: Times) -> None:
    """Count the entries of ``last`` that each number is above, as far as ``out`` goes."""
    c0, c1, c2, c3 = last[0], last[1], last[2], last[3]
    for i in range(out.size):
        u = numbers[i]
        out[i] = np.uint8(u > c0) + np.uint8(u > c1) + np.uint8(u > c2) + np.uint8(u > c3)


@jitable
def column_sums(times: Times) -> NDArray[np.int64]:
    """Draws of each replicate: four rows in 8 bits and 2048 in 16, which cannot overflow, as many at once as will fit."""
    rows, n = times.shape
    totals = np.zeros(n, dtype=np.int64)
    part = np.empty(n, dtype=np.uint16)
    i = 0
    while i < rows:
        for b in range(n):
            part[b] = 0
        stop = min(i + 2048, rows)
        while i + 4 <= stop:
            for b in range(n):
                part[b] += np.uint8((times[i, b] + times[i + 1, b]) + (times[i + 2, b] + times[i + 3, b]))
            i += 4
        while i < stop:
            for b in range(n):
                part[b] += times[i, b]
            i += 1
        for b in range(n):
            totals[b] += part[b]
    return totals


def complete(times: Times, generators: Generators) -> None:
    """Add draws at random, or take away, until each replicate has as many as there are observations.

    A word gives two places, ``floor(n u)`` for its upper and its lower 32 bits ``u``. A draw is taken away at the first of
    them, if its weight is above a level at random, five bits of the word: so each draw is as likely as any other.
    """
    bound = np.uint64(times.shape[0])
    lacking = times.shape[0] - times.sum(axis=0, dtype=np.int64)
    while (active := np.flatnonzero(lacking)).size:
        own, words = Generators(generators.first[active], generators.second[active]), np.empty(active.size, np.uint64)
        next_words(own, words)
        generators.first[active], generators.second[active] = own
        upper, lower = words >> np.uint64(32), words & LOWER_HALF
        place = (upper * bound) >> np.uint64(32)
        adds = lacking[active] > 0
        step = np.where(adds, 1, -(times[place, active] > lower >> np.uint64(27)).astype(np.int64))
        times[place, active] += step.astype(np.uint8)
        lacking[active] -= step
        adds &= lacking[active] > 0
        times[((lower * bound) >> np.uint64(32))[adds], active[adds]] += np.uint8(1)
        lacking[active[adds]] -= 1


@compiled_body(complete)
def complete_in_loops(times: Times, generators: Generators) -> None:
    """:func:`complete` in loops, because numba does not compile its arrays; loops take up to 3 times as long plain."""
    first = generators.first
    second = generators.second
    bound = np.uint64(times.shape[0])
    totals = column_sums(times)
    for b in range(times.shape[1]):
        x = first[b]
        y = second[b]
        lacking = times.shape[0] - totals[b]
        while lacking != 0:
            z = advance(x, y)
            word = z + y
            x = y
            y = z
            place = np.int64(((word >> np.uint64(32)) * bound) >> np.uint64(32))
            other = np.int64(((word & LOWER_HALF) * bound) >> np.uint64(32))
            if lacking > 1:
                times[place, b] += 1
                times[other, b] += 1
                lacking -= 2
            elif lacking == 1:
                times[place, b] += 1
                lacking = 0
            elif np.uint64(times[place, b]) > (word & LOWER_HALF) >> np.uint64(27):
                times[place, b] -= 1
                lacking += 1
        first[b] = x
        second[b] = y


@inlined
def resample(n: int, generators: Generators) -> Times:
    """Draw ``n`` of ``n`` observations with replacement: how often each replicate drew each of them."""
    times = draw_weights(n, 1.0 - SHORTFALL / math.sqrt(max(n, 1)), generators)
    complete(times, generators)
    return times


def tally(grouped: Grouped, times: Times, counts: Floats, sums: Floats) -> None:
    """Add up, for each known action and replicate, how many draws there were of it and their rewards."""
    for a in range(grouped.starts.size - 1):
        for i in range(grouped.starts[a], grouped.starts[a + 1]):
            counts[a] += times[i]
            sums[a] += times[i] * grouped.rewards[i]


@compiled_body(tally)
def tally_in_loops(grouped: Grouped, times: Times, counts: Floats, sums: Floats) -> None:
    """:func:`tally` in loops, because arrays take 10 times as long compiled; loops take 30 times plain."""
    starts = grouped.starts
    rewards = grouped.rewards
    for a in range(starts.size - 1):
        for i in range(starts[a], starts[a + 1]):
            for b in range(times.shape[1]):
                weight = float(times[i, b])
                counts[a, b] += weight
                sums[a, b] += weight * rewards[i]


def factor_all(known: KnownActions, counts: Floats, sums: Floats, ridge: float) -> Floats:
    """``[R | z]`` of each replicate from how often it drew each known action and the sums of the rewards, by Cholesky."""
    n_known, d = int(known.size[0]), known.features.shape[1]
    factors = np.zeros((d, d + 1, counts.shape[1]))
    for i in range(d):
        factors[i, i] = ridge
        for j in range(i, d + 1):
            for a in range(n_known):
                if j < d:
                    factors[i, j] += (known.features[a, i] * known.features[a, j]) * counts[a]
                else:
                    factors[i, j] += known.features[a, i] * sums[a]
            if j == i:  # a pivot of ridge * I plus a sum of squares is at least ridge, and known up to rounding
                least = np.maximum(ROUNDING * factors[i, i], ridge)
            for k in range(i):
                factors[i, j] -= factors[k, i] * factors[k, j]
            if j == i:
                factors[i, i] = np.sqrt(np.maximum(factors[i, i], least))
                inverse = 1.0 / factors[i, i]
            else:
                factors[i, j] *= inverse
    return factors


@compiled_body(factor_all)
def factor_all_in_loops(known: KnownActions, counts: Floats, sums: Floats, ridge: float) -> Floats:
    """:func:`factor_all` in loops, because arrays take 5 to 8 times as long compiled; loops take 20 times plain."""
    features = known.features
    d = features.shape[1]
    n = counts.shape[1]
    factors = np.zeros((d, d + 1, n))
    least = np.empty(n)
    for i in range(d):
        for b in range(n):
            factors[i, i, b] = ridge
        for a in range(known.size[0]):
            for j in range(i, d):
                add_multiple(features[a, i] * features[a, j], counts[a], factors[i, j])
            add_multiple(features[a, i], sums[a], factors[i, d])
        pivots = factors[i, i]
        for b in range(n):
            least[b] = max(ROUNDING * pivots[b], ridge)
        for j in range(i, d + 1):
            for k in range(i):
                subtract_products(factors[k, i], factors[k, j], factors[i, j])
            if j == i:
                for b in range(n):
                    pivots[b] = math.sqrt(max(pivots[b], least[b]))
            else:
                for b in range(n):
                    factors[i, j, b] *= 1.0 / pivots[b]
    return factors


@jitable
def add_multiple(weight: float, numbers: Floats, out: Floats) -> None:
    """Add ``weight * numbers`` to ``out``."""
    for b in range(out.size):
        out[b] += weight * numbers[b]


@jitable
def subtract_products(first: Floats, second: Floats, out: Floats) -> None:
    """Subtract ``first * second`` from ``out``."""
    for b in range(out.size):
        out[b] -= first[b] * second[b]


@inlined
def resampled_distances(known: KnownActions, observed: Observed, times: Times, ridge: float, theta: Floats) -> Floats:
    """Distance of each replicate's estimate from ``theta`` in its own norm, for replicates given by their draws."""
    counts = np.zeros((known.size[0], times.shape[1]))
    sums = np.zeros((known.size[0], times.shape[1]))
    tally(group(known, observed), times, counts, sums)
    return distances(factor_all(known, counts, sums, ridge), theta)
