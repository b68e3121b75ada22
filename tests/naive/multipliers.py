"""Slow oracles of the multiplier bootstrap, written from the formulas and from nothing of the package.

A law is a list of atoms ``(value, probability)``. Values and probabilities are fractions wherever the weights are
rational, so that ties and tails are exact.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

Atoms = list[tuple[Any, Fraction]]

SQRT_5 = math.sqrt(5)
MAMMEN = ((1 - SQRT_5) / 2, (1 + SQRT_5) / 2)
MAMMEN_PROBABILITIES = ((SQRT_5 + 1) / (2 * SQRT_5), (SQRT_5 - 1) / (2 * SQRT_5))


def exact_residuals(sample: Sequence[float]) -> list[Fraction]:
    """``y_i - ybar`` without rounding."""
    values = [Fraction(float(y)) for y in sample]
    mean = sum(values) / len(values)
    return [y - mean for y in values]


def rademacher_atoms(sample: Sequence[float]) -> Atoms:
    """All ``2^n`` values of ``(1/n) sum w_i (y_i - ybar)`` with signs ``w_i``."""
    residuals = exact_residuals(sample)
    n = len(residuals)
    return [
        (sum(w * r for w, r in zip(signs, residuals, strict=True)) / n, Fraction(1, 2**n))
        for signs in itertools.product((-1, 1), repeat=n)
    ]


def mammen_atoms(sample: Sequence[float]) -> Atoms:
    """All ``2^n`` values of ``(1/n) sum w_i (y_i - ybar)`` with Mammen's two points."""
    residuals = [float(r) for r in exact_residuals(sample)]
    n = len(residuals)
    return [
        (
            math.fsum(MAMMEN[j] * r for j, r in zip(choice, residuals, strict=True)) / n,
            Fraction(math.prod(MAMMEN_PROBABILITIES[j] for j in choice)),
        )
        for choice in itertools.product((0, 1), repeat=n)
    ]


def efron_atoms(sample: Sequence[float]) -> Atoms:
    """All ``n^n`` values of the resampled mean minus the mean."""
    residuals = exact_residuals(sample)
    n = len(residuals)
    return [(sum(draws) / n, Fraction(1, n**n)) for draws in itertools.product(residuals, repeat=n)]


ATOMS = {"rademacher": rademacher_atoms, "mammen": mammen_atoms, "efron": efron_atoms}


def all_sums(terms: Sequence[float], weights: str) -> tuple[np.ndarray, np.ndarray]:
    """All ``2^n`` values of ``sum_i w_i a_i``, ascending, and their probabilities; for up to twenty terms or so."""
    (low, high), (p_low, p_high) = ((-1, 1), (0.5, 0.5)) if weights == "rademacher" else (MAMMEN, MAMMEN_PROBABILITIES)
    values, probabilities = np.zeros(1), np.ones(1)
    for term in terms:
        values = np.append(values + low * term, values + high * term)
        probabilities = np.append(probabilities * p_low, probabilities * p_high)
    order = np.argsort(values)
    return values[order], probabilities[order]


def tails(atoms: Atoms) -> list[tuple[float, Fraction]]:
    """``(v, P(X > v))`` for each distinct value, ascending; values closer than 1e-12 of the largest are one."""
    ordered = sorted(atoms)
    width = Fraction(1, 10**12) * Fraction(max(abs(value) for value, _ in ordered))
    merged: list[list[Any]] = []
    for value, probability in ordered:
        if merged and value - merged[-1][0] <= width:
            merged[-1][1] += probability
        else:
            merged.append([value, probability])
    beyond = Fraction(0)
    out = []
    for value, probability in reversed(merged):
        out.append((float(value), beyond))
        beyond += probability
    return out[::-1]


def quantiles(atoms: Atoms, levels: Iterable[float]) -> list[float]:
    """``inf {x : P(X > x) <= level}``: the tail jumps at atoms only, so the infimum is an atom."""
    law = tails(atoms)
    return [next(value for value, tail in law if tail <= Fraction(level)) for level in levels]


def away_from_atoms(atoms: Atoms, levels: Iterable[float]) -> list[float]:
    """The levels that are further than 1e-9 from every tail probability, where the quantile jumps."""
    law = tails(atoms)
    return [level for level in levels if min(abs(tail - Fraction(level)) for _, tail in law) > Fraction(1, 10**9)]


def exponential_tail(sample: Sequence[float], x: float) -> float:
    """``P((1/n) sum (E_i - 1)(y_i - ybar) > x)`` for ``x > 0``, independent standard exponentials and distinct values.

    Partial fractions of the moment generating function ``prod 1/(1 - s a_i)`` of ``sum a_i E_i``, where ``sum a_i = 0``:
    the positive ``a_i`` carry the upper tail. The terms alternate and are huge, hence eighty digits.
    """
    terms = [r / len(sample) for r in exact_residuals(sample)]
    with localcontext(prec=80):
        a = [Decimal(t.numerator) / Decimal(t.denominator) for t in terms]
        total = Decimal(0)
        for i, own in enumerate(a):
            if own > 0:
                share = math.prod((own / (own - other) for j, other in enumerate(a) if j != i), start=Decimal(1))
                total += share * (-Decimal(x) / own).exp()
    return float(total)


def lattice_atoms(steps: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Values of ``n (sum w_i (k_i - kbar))`` for signs ``w_i`` and whole ``k_i``, ascending, and their probabilities.

    One term at a time: half of the mass goes up by ``n k_i - sum k``, half goes down. All sums are whole numbers.
    """
    n = len(steps)
    moves = [abs(n * k - sum(steps)) for k in steps]
    reach = sum(moves)
    mass = np.zeros(2 * reach + 1)
    mass[reach] = 1.0
    for move in moves:
        if move:
            new = np.zeros_like(mass)
            new[move:] += 0.5 * mass[:-move]
            new[:-move] += 0.5 * mass[move:]
            mass = new
    return np.arange(-reach, reach + 1), mass


def lattice_quantile(steps: Sequence[int], level: float) -> float:
    """``inf {x : P((1/n) sum w_i (k_i - kbar) > x) <= level}`` for signs ``w_i`` and whole ``k_i``."""
    values, mass = lattice_atoms(steps)
    beyond = np.cumsum(mass[::-1])[::-1] - mass
    possible = values[(beyond <= level) & (mass > 0)]
    return float(possible[0]) / len(steps) ** 2


def explicit_sums(terms: Sequence[float], weights: Sequence[Sequence[float]]) -> list[float]:
    """``sum_i w_bi a_i`` for each draw ``b``, one product at a time."""
    return [math.fsum(w * a for w, a in zip(row, terms, strict=True)) for row in weights]


def signs_of_words(words: Sequence[Sequence[int]], n: int) -> list[list[int]]:
    """Signs held by random words, bit by bit: bit ``i % 64`` of ``words[i // 64][b]``, set for minus."""
    n_resamples = len(words[0])
    return [[-1 if (int(words[i // 64][b]) >> (i % 64)) & 1 else 1 for i in range(n)] for b in range(n_resamples)]


def definition_d1(draws: Sequence[float], level: str) -> float:
    """``inf {x : (1/B) #{b : X_b >= x} <= level}``, with the level read as the decimal it is written as.

    The count is constant between draws, so the set is an open half line that begins at a draw: the smallest one just
    above which the condition holds.
    """
    most = Fraction(level)
    for start in sorted(draws):
        x = math.nextafter(start, math.inf)
        if Fraction(sum(draw >= x for draw in draws), len(draws)) <= most:
            return start
    raise AssertionError("no draw is larger than the largest draw")
