"""The law of a sum of signs, slowly: exactly from fractions, or on a grid so fine that it does not matter."""

import math
from fractions import Fraction

import numpy as np


def few_values(rng, n):
    """Three to five values, as near and as likely as it comes."""
    k = rng.integers(3, 6)
    values = np.arange(k) if rng.random() < 0.5 else rng.random(k)
    return rng.choice(values.astype(float), size=n, p=rng.dirichlet(np.full(k, rng.choice([1, 5, 100]))))


def clusters(rng, n):
    """Two to five clusters, narrow and less narrow."""
    k = rng.integers(2, 6)
    return rng.choice(k, size=n, p=rng.dirichlet(np.full(k, rng.choice([1, 5])))) + spread(rng) * rng.normal(size=n)


def spread(rng):
    """Standard deviation of a cluster, from 0.0001 to 0.03 of the distance of two."""
    return 10 ** rng.uniform(-4, -1.5)


CROWDS = {
    "three to five values": few_values,
    "clusters": clusters,
    "0 and 1, and one outlier": lambda rng, n: np.r_[rng.integers(0, 2, n - 1), 10 ** rng.uniform(0.3, 2)],
}


def grid_quantiles(sample, levels) -> np.ndarray:
    """Quantiles of ``(1/n) sum +-(y_i - ybar)``: every sign moves the mass on a grid of 400 cells to a standard deviation.

    A step that ends between two cells is split; the variance this adds, at most ``n/160,000`` of the whole, is taken out by
    scaling.
    """
    n = len(sample)
    terms = np.sort(np.abs(sample - np.mean(sample))) / n
    square = (terms**2).sum()
    cell = math.sqrt(square) / 400
    reach = int(min(1.02 * terms.sum(), 7 * math.sqrt(square)) / cell) + 2
    room = int(terms[-1] / cell) + 2
    mass = np.zeros(2 * (reach + room) + 1)
    mass[reach + room] = 1.0
    inner = slice(room, room + 2 * reach + 1)
    added = 0.0
    for term in terms:
        k, far = int(term / cell), 0.5 * (term / cell - int(term / cell))
        near = 0.5 - far
        added += 4 * near * far * cell**2

        def shifted(by, mass=mass):
            return mass[room + by : room + by + 2 * reach + 1]

        moved = near * (shifted(k) + shifted(-k)) + far * (shifted(k + 1) + shifted(-k - 1))
        mass = np.zeros_like(mass)
        mass[inner] = moved
    tails = np.cumsum(mass[inner][::-1])[::-1]  # P(sum >= cell j)
    out = []
    for level in levels:
        j = int(np.argmax(tails <= level))
        edge = j - reach - 0.5
        if tails[j - 1] > tails[j]:
            edge -= (level - tails[j]) / (tails[j - 1] - tails[j])
        out.append(min(edge * cell * math.sqrt(square / (square + added)), terms.sum()))
    return np.array(out)


def tail_of_signs(terms, n_cells=1 << 19) -> tuple[np.ndarray, np.ndarray]:
    """Values of ``sum +-a_i`` in ascending order, and the probability of more than each: terms are rounded to a fine grid.

    Each by half a cell at most, of which ``n_cells`` make the sum of all terms. Equal terms stay equal: lumps stay lumps.
    """
    cell = np.abs(terms).sum() / n_cells
    steps = np.rint(np.abs(terms) / cell).astype(int)
    mass = np.zeros(steps.sum() + 1)
    mass[0], reach = 1.0, 0
    for step in steps:
        mass[: reach + 1] *= 0.5
        moved = mass[: reach + 1].copy()
        mass[step : step + reach + 1] += moved
        reach += step
    beyond = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)
    return (2 * np.arange(mass.size) - reach) * cell, beyond


def fine_quantiles(sample, levels) -> np.ndarray:
    """Quantiles of ``(1/n) sum +-(y_i - ybar)`` from :func:`tail_of_signs`, for laws of lumps."""
    values, beyond = tail_of_signs((sample - np.mean(sample)) / len(sample))
    return np.array([values[np.argmax(beyond <= level)] for level in levels])


def subset_mean_tail(sample, x, n_cells=1 << 19) -> float:
    """``P(mean of a random subset > x)``, where the empty subset counts: ``sum_S (y_i - x) > 0``, on a fine grid."""
    values, beyond = tail_of_signs(sample - x, n_cells)
    at = int(np.searchsorted(values, -(sample - x).sum(), side="right")) - 1
    return float(beyond[at]) + 0.5 ** len(sample)


def coins_law(few: int, many: int) -> dict[int, Fraction]:
    """Values of ``many F - few M``, with ``F`` and ``M`` sums of ``few`` and ``many`` signs, and their probabilities."""
    law: dict[int, Fraction] = {}
    for f in range(few + 1):
        for m in range(many + 1):
            value = many * (2 * f - few) - few * (2 * m - many)
            law[value] = law.get(value, Fraction(0)) + Fraction(
                math.comb(few, f) * math.comb(many, m), 2 ** (few + many)
            )
    return law


def coins_quantile(few: int, many: int, level: Fraction) -> int:
    """``inf {x : P(many F - few M > x) <= level}``."""
    law = coins_law(few, many)
    tail = Fraction(0)
    for value in sorted(law, reverse=True):
        if tail + law[value] > level:
            return value
        tail += law[value]
    return min(law)


def edgeworth_tail(fourth: float, sixth: float, eighth: float, x: float) -> float:
    """``P(X > x)`` of a symmetric law of variance 1 with these cumulants, to the third order: Edgeworth's series."""
    weights = {
        3: fourth / 24,
        5: sixth / 720,
        7: eighth / 40320 + fourth**2 / 1152,
        9: fourth * sixth / 17280,
        11: fourth**3 / 82944,
    }
    density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    series = sum(weight * np.polynomial.hermite_e.hermeval(x, [0] * k + [1]) for k, weight in weights.items())
    return 0.5 * math.erfc(x / math.sqrt(2)) + density * series


def cornish_fisher(fourth: float, sixth: float, eighth: float, z: float) -> float:
    """Cornish and Fisher's quantile to the third order: the terms of equal order of what solves Edgeworth's series.

    Cumulants are scaled by ``e``, ``e^2`` and ``e^3``. The solution is a power series in ``e``, read off a polynomial
    through solutions at small ones.
    """
    level = 0.5 * math.erfc(z / math.sqrt(2))
    steps = 0.02 * np.arange(-4, 5)
    solutions = []
    for e in steps:
        x = z
        for _ in range(25):
            x += (
                (edgeworth_tail(e * fourth, e**2 * sixth, e**3 * eighth, x) - level)
                * math.sqrt(2 * math.pi)
                * math.exp(z * z / 2)
            )
        solutions.append(x)
    return float(np.polynomial.polynomial.polyfit(steps, solutions, 8)[:4].sum())
