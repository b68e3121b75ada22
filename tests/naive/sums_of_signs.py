"""The law of a sum of signs, slowly: exactly from fractions, or on a grid so fine that it does not matter."""

import math
from fractions import Fraction

import numpy as np


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
