"""Bounds on differences of means from their formulas, by looking at every division or every sign; upper ends only."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from naive.bounds import average_betting_bound, betting_bound
from naive.resampling_bounds import low_draw


def exact_mean(values: Sequence[Fraction | float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0)) / len(values)


def permutation_p_value(first: Sequence[float], second: Sequence[float], shift: Fraction | float) -> Fraction:
    """Of all divisions of the rewards, the first group's less the shift, the share with no larger difference of means."""
    moved = [Fraction(x) - Fraction(shift) for x in first]
    pooled = [*moved, *map(Fraction, second)]
    observed = exact_mean(moved) - exact_mean(second)
    count = total = 0
    for chosen in itertools.combinations(range(len(pooled)), len(first)):
        others = [pooled[i] for i in range(len(pooled)) if i not in chosen]
        count += exact_mean([pooled[i] for i in chosen]) - exact_mean(others) <= observed
        total += 1
    return Fraction(count, total)


def residuals(group: Sequence[float]) -> list[float]:
    """What weights are multiplied with: ``sqrt(n/(n-1)) (y - ybar)/n``."""
    n, centre = len(group), float(exact_mean(group))
    return [math.sqrt(n / (n - 1)) * (y - centre) / n for y in group]


def sign_quantile(values: Sequence[float], level: float) -> float:
    """``inf {x : share of values above x <= level}``; values that differ by rounding alone are equal."""
    ordered = sorted(values, reverse=True)
    return ordered[math.floor(level * len(ordered) + 1e-9)]


def all_sums(terms: Sequence[float]) -> list[float]:
    signs = itertools.product((-1, 1), repeat=len(terms))
    return [sum(sign * term for sign, term in zip(each, terms, strict=True)) for each in signs]


def bootstrap_width(first: Sequence[float], second: Sequence[float], level: float) -> float:
    """Upper quantile over the signs of both groups."""
    return sign_quantile(all_sums([*residuals(first), *residuals(second)]), level)


def largest_multiple(
    control: Sequence[float], groups: Sequence[Sequence[float]], errors: Sequence[float], level: float
) -> float:
    """Upper quantile of the largest of ``(S_g - S_c)/e_g`` over the signs of all groups and the control."""
    sums = itertools.product(all_sums(residuals(control)), *(all_sums(residuals(group)) for group in groups))
    return sign_quantile(
        [max((each - of_c) / error for each, error in zip(of_g, errors, strict=True)) for of_c, *of_g in sums], level
    )


def welch_error(first: Sequence[float], second: Sequence[float]) -> float:
    return math.sqrt(sum(float(np.var(group, ddof=1)) / len(group) for group in (first, second)))


def bootstrap_t(
    first: Sequence[float], second: Sequence[float], alpha: float, counts: tuple[np.ndarray, np.ndarray]
) -> float:
    """The studentised bootstrap with these counts of the sorted rewards of each group."""
    drawn = [
        [np.repeat(sorted(group), row.astype(int)) for row in rows]
        for group, rows in zip((first, second), counts, strict=True)
    ]
    observed = float(np.mean(first) - np.mean(second))
    values = []
    for x, y in zip(*drawn, strict=True):
        gap, error = float(np.mean(x) - np.mean(y)) - observed, welch_error(x, y)
        if error < 1e-12:
            values.append(math.copysign(math.inf, gap) if abs(gap) > 1e-12 else 0.0)
        else:
            values.append(gap / error)
    return max(observed - low_draw(values, alpha) * welch_error(first, second), observed)


def pairs(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Each reward of the smaller group with the mean of its share of the larger, in their order."""
    size = min(len(first), len(second))
    found = []
    for i in range(size):
        x, y = (group[i * len(group) // size : (i + 1) * len(group) // size] for group in (first, second))
        found.append(float(exact_mean(x) - exact_mean(y)))
    return found


def betting(first: Sequence[float], second: Sequence[float], alpha: float) -> float:
    """The betting bound on pairs of rewards in [0, 1], which lie in [-1, 1]."""
    return 2 * betting_bound([(1 + pair) / 2 for pair in pairs(first, second)], alpha) - 1


def average_betting(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], alpha: float) -> float:
    """The same with the capital averaged over several orders of both groups."""
    orders = [[(1 + pair) / 2 for pair in pairs(x, y)] for x, y in zip(first, second, strict=True)]
    return 2 * average_betting_bound(orders, alpha) - 1
