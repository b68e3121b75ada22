r"""Bootstrap replicates of the ridge regression, all at once: the last axis of every array is the replicate.

A replicate's factor is kept with its right-hand side as one more column, ``[R | z]`` of shape ``(d, d + 1)``. Then the
distance that bootstrapped UCB takes the quantile of needs no solve:

.. math:: \|\theta^{(b)} - \hat\theta\|_{V_b} = \|R_b(\theta^{(b)} - \hat\theta)\| = \|z_b - R_b\hat\theta\|

Plain bodies let NumPy work on all replicates at once, compiled ones run over them in the innermost loop.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.arrays import Floats
from bandstrap.engine.kernel import compiled_body, jitable
from bandstrap.policies.draws import random_bits
from bandstrap.policies.linear.known_actions import KnownActions
from bandstrap.policies.linear.ridge import ROUNDING

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
    total: Floats = np.zeros(factors.shape[2])
    for k in range(d):
        rest = factors[k, d].copy()
        for j in range(k, d):
            rest -= factors[k, j] * theta[j]
        total += rest * rest
    return np.sqrt(total)


@compiled_body(distances)
def distances_in_loops(factors: Floats, theta: Floats) -> Floats:
    """See :func:`distances`."""
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


# --- streaming: every observation enters every replicate once, with a Poisson weight ----------------------------------

# P(Poisson(1) <= k), until it is 1 in double precision.
POISSON = (*(math.exp(-1.0) * sum(1.0 / math.factorial(i) for i in range(k + 1)) for k in range(17)), 1.0)


def poisson_roots(n: int, rng: np.random.Generator) -> Floats:
    """Square roots of ``n`` independent Poisson(1) weights, by inversion."""
    return np.sqrt(np.searchsorted(np.array(POISSON), rng.random(n), side="right"))


@compiled_body(poisson_roots)
def poisson_roots_in_loops(n: int, rng: np.random.Generator) -> Floats:
    """See :func:`poisson_roots`."""
    roots = np.empty(n)
    for b in range(n):
        u = rng.random()
        count = 0
        while u >= POISSON[count]:
            count += 1
        roots[b] = math.sqrt(count)
    return roots


def rotate_into_all(factors: Floats, x: Floats, y: float, roots: Floats) -> None:
    """Rotate the row ``root (x, y)`` into each replicate's ``[R | z]``; see ``ridge.rotate_in``."""
    d = factors.shape[0]
    row = np.append(x, y)[:, None] * roots
    for k in range(d):
        top = factors[k]
        size = np.sqrt(top[k] * top[k] + row[k] * row[k])
        c = top[k] / size
        s = row[k] / size
        top[k] = size
        rest, row_rest = top[k + 1 :], row[k + 1 :]
        top[k + 1 :], row[k + 1 :] = c * rest + s * row_rest, c * row_rest - s * rest


@compiled_body(rotate_into_all)
def rotate_into_all_in_loops(factors: Floats, x: Floats, y: float, roots: Floats) -> None:
    """See :func:`rotate_into_all`."""
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


class Observed(NamedTuple):
    """Each observation's action (a number among the known ones) and reward, and how many there are."""

    size: NDArray[np.int64]
    labels: NDArray[np.int64]
    rewards: Floats


class Generators(NamedTuple):
    """One xorshift128+ generator per replicate: the policy's own would take longer than all else together."""

    first: Words
    second: Words


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
    """See :func:`next_words`."""
    first = generators.first
    second = generators.second
    for b in range(words.size):
        x = first[b]
        y = second[b]
        first[b] = y
        x ^= x << np.uint64(23)
        second[b] = x ^ y ^ (x >> np.uint64(17)) ^ (y >> np.uint64(26))
        words[b] = second[b] + y


def resample(n: int, generators: Generators) -> Times:
    """Draw ``n`` of ``n`` observations with replacement: how often each replicate drew each of them.

    A word gives two places, ``floor(n u)`` for its upper and its lower 32 bits ``u``.
    """
    times = np.zeros((n, generators.first.size), dtype=np.uint8)
    words = np.empty(generators.first.size, dtype=np.uint64)
    replicate = np.arange(words.size)
    for i in range(n):
        if i % 2 == 0:
            next_words(generators, words)
        half = (words >> np.uint64(32 * (1 - i % 2))) & LOWER_HALF
        times[(half * np.uint64(n)) >> np.uint64(32), replicate] += 1
    return times


@compiled_body(resample)
def resample_in_loops(n: int, generators: Generators) -> Times:
    """See :func:`resample`."""
    times = np.zeros((n, generators.first.size), dtype=np.uint8)
    words = np.empty(generators.first.size, dtype=np.uint64)
    bound = np.uint64(n)
    for i in range(n):
        if i % 2 == 0:
            next_words(generators, words)
        shift = np.uint64(32 * (1 - i % 2))
        for b in range(words.size):
            times[np.int64((((words[b] >> shift) & LOWER_HALF) * bound) >> np.uint64(32)), b] += 1
    return times


def tally(observed: Observed, times: Times, counts: Floats, sums: Floats) -> None:
    """Add up, for each known action and replicate, how many draws there were of it and their rewards."""
    for i in range(times.shape[0]):
        label = observed.labels[i]
        counts[label] += times[i]
        sums[label] += times[i] * observed.rewards[i]


@compiled_body(tally)
def tally_in_loops(observed: Observed, times: Times, counts: Floats, sums: Floats) -> None:
    """See :func:`tally`."""
    labels = observed.labels
    rewards = observed.rewards
    for i in range(times.shape[0]):
        label = labels[i]
        reward = rewards[i]
        for b in range(times.shape[1]):
            count = float(times[i, b])
            counts[label, b] += count
            sums[label, b] += count * reward


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
            else:
                factors[i, j] /= factors[i, i]
    return factors


@compiled_body(factor_all)
def factor_all_in_loops(known: KnownActions, counts: Floats, sums: Floats, ridge: float) -> Floats:
    """See :func:`factor_all`."""
    features = known.features
    n_known = known.size[0]
    d = features.shape[1]
    n = counts.shape[1]
    factors = np.zeros((d, d + 1, n))
    least = np.empty(n)
    for i in range(d):
        for b in range(n):
            factors[i, i, b] = ridge
        for j in range(i, d + 1):
            for a in range(n_known):
                if j < d:
                    weight = features[a, i] * features[a, j]
                    for b in range(n):
                        factors[i, j, b] += weight * counts[a, b]
                else:
                    weight = features[a, i]
                    for b in range(n):
                        factors[i, j, b] += weight * sums[a, b]
            if j == i:
                for b in range(n):
                    least[b] = max(ROUNDING * factors[i, i, b], ridge)
            for k in range(i):
                for b in range(n):
                    factors[i, j, b] -= factors[k, i, b] * factors[k, j, b]
            for b in range(n):
                if j == i:
                    factors[i, i, b] = math.sqrt(max(factors[i, i, b], least[b]))
                else:
                    factors[i, j, b] /= factors[i, i, b]
    return factors


@jitable
def resampled_distances(
    known: KnownActions, observed: Observed, generators: Generators, ridge: float, theta: Floats
) -> Floats:
    """Distance of each replicate's estimate from ``theta`` in its own norm, for fresh replicates."""
    counts = np.zeros((known.size[0], generators.first.size))
    sums = np.zeros((known.size[0], generators.first.size))
    tally(observed, resample(observed.size[0], generators), counts, sums)
    return distances(factor_all(known, counts, sums, ridge), theta)
