"""Slow oracles of the policies that resample or keep the history, from their formulas and nothing of the package."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy import optimize

Rewards = np.ndarray


# --- draws of an index ------------------------------------------------------------------------------------------------


def dirichlet_draws(values: Rewards, size: int, rng: np.random.Generator) -> np.ndarray:
    """Averages of ``values`` with Dirichlet(1, ..., 1) weights."""
    return rng.dirichlet(np.ones(len(values)), size) @ np.asarray(values)


def npts_draws(y: Rewards, upper: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Averages of the rewards and the largest possible one."""
    return dirichlet_draws(np.append(y, upper), size, rng)


def weighted_bootstrap_draws(y: Rewards, ones: int, zeros: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Averages of rewards and pseudo-rewards."""
    return dirichlet_draws(np.concatenate([y, np.ones(ones), np.zeros(zeros)]), size, rng)


def mbe_draws(
    y: Rewards,
    strength: float,
    weights: Callable[[tuple[int, int]], np.ndarray],
    size: int,
) -> np.ndarray:
    """Means of rewards and of as many pseudo-rewards 1 and 0, with ``weights(shape)``."""
    of_rewards, of_ones, of_zeros = (weights((size, len(y))) for _ in range(3))
    top = of_rewards @ np.asarray(y) + strength * of_ones.sum(axis=1)
    return top / (of_rewards + strength * (of_ones + of_zeros)).sum(axis=1)


def double_or_nothing_means(y: Rewards, ones: np.ndarray, zeros: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means of replicates that hold each reward twice or not at all, and prior data of the given weights."""
    counts = 2 * rng.integers(0, 2, (len(ones), len(y)))
    return (ones + counts @ np.asarray(y)) / (ones + zeros + counts.sum(axis=1))


def mars_bounds(y: Rewards, n_subsets: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Largest means over random subsets, infinite where one is empty."""
    inside = rng.integers(0, 2, (size, n_subsets, len(y)))
    with np.errstate(invalid="ignore"):
        means = (inside @ np.asarray(y)) / inside.sum(axis=2)
    return np.where(np.isnan(means), np.inf, means).max(axis=1)


# --- duels ------------------------------------------------------------------------------------------------------------


def leader(rewards: list[Rewards], last: int | None, order: list[int]) -> int:
    """Most pulls, then largest mean, then the last leader, then the first in the order of ties."""
    return max(order, key=lambda k: (len(rewards[k]), np.mean(rewards[k]), k == last, -order.index(k)))


def last_block(rewards: Rewards, size: int) -> float:
    """Mean of the last ``size`` rewards."""
    return np.mean(rewards[-size:])


def block_means(rewards: Rewards, size: int) -> np.ndarray:
    """Means of every block of ``size`` consecutive rewards."""
    return np.array([np.mean(rewards[i : i + size]) for i in range(len(rewards) - size + 1)])


def dirichlet_win_rate(y: Rewards, target: float, upper: float | None, size: int, rng: np.random.Generator) -> float:
    """Share of Dirichlet averages of the rewards and a bonus that reach ``target``; 1 where the mean does."""
    if np.mean(y) >= target:
        return 1.0
    bonus = upper
    if upper is None:
        bonus = target + math.sqrt(math.log(1 + len(y))) * np.maximum(target - np.asarray(y), 0).mean()
    return (dirichlet_draws(np.append(y, bonus), size, rng) >= target).mean()


# --- robust estimators ------------------------------------------------------------------------------------------------


def truncated_mean_index(y: Rewards, t: int, epsilon: float, u: float) -> float:
    """Mean of the rewards that are not too large for their number, plus its deviation."""
    log = math.log(t**2)
    n = len(y)
    limits = (u * np.arange(1, n + 1) / log) ** (1 / (1 + epsilon))
    kept = np.where(np.abs(y) <= limits, y, 0.0)
    return kept.mean() + 4 * u ** (1 / (1 + epsilon)) * (log / n) ** (epsilon / (1 + epsilon))


def median_of_means_index(y: Rewards, t: int, epsilon: float, v: float) -> float:
    """Median of block means plus its deviation."""
    n = len(y)
    k = max(1, math.floor(min(8 * math.log(math.exp(1 / 8) * t**2), n / 2)))
    size = n // k
    means = [np.mean(y[b * size : (b + 1) * size]) for b in range(k)]
    rate = (16 * math.log(math.exp(1 / 8) * t**2) / n) ** (epsilon / (1 + epsilon))
    return np.median(means) + (12 * v) ** (1 / (1 + epsilon)) * rate


def catoni_index(y: Rewards, t: int, v: float) -> float:
    """Catoni's estimator by bracketing, plus its deviation; infinite for few rewards."""
    log = math.log(t**2)
    n = len(y)
    if n < 4 * log:
        return math.inf
    a = math.sqrt(2 * log / (n * (v + 2 * v * log / (n - 2 * log))))

    def influence(theta: float) -> float:
        x = a * (np.asarray(y) - theta)
        return float((np.sign(x) * np.log(1 + np.abs(x) + x**2 / 2)).sum())

    root = optimize.brentq(influence, min(y) - 1, max(y) + 1, xtol=1e-13)
    return root + 2 * math.sqrt(v * log / n)


# --- medians of means under random signs -------------------------------------------------------------------------------


def lower_median(values: list[Fraction]) -> Fraction:
    """Of two in the middle, the smaller one."""
    return sorted(values)[(len(values) - 1) // 2]


def median_of_means(y: list[Fraction], k: int) -> Fraction:
    """The median of the means of ``k`` blocks of neighbours."""
    cuts = [b * len(y) // k for b in range(k + 1)]
    return lower_median([sum(y[i:j], Fraction(0)) / (j - i) for i, j in pairwise(cuts)])


def rmm_accepts(y: list[Fraction], theta: Fraction, k: int, signs: np.ndarray, ranks: np.ndarray) -> bool:
    """Whether the one-sided test of resampled medians of means accepts ``theta``: its rank is below the highest.

    ``ranks`` of the sample and then of the resamples break ties.
    """
    own = (median_of_means(y, k) - theta, ranks[0])
    others = []
    for row, rank in zip(signs, ranks[1:], strict=True):
        flipped = [int(sign) * (value - theta) + theta for sign, value in zip(row, y, strict=True)]
        others.append((median_of_means(flipped, k) - theta, rank))
    return sum(own < other for other in others) < len(others)


def rmm_supremum(y: Sequence[float], k: int, signs: np.ndarray, ranks: np.ndarray) -> float:
    """The supremum of what is accepted, by halving an interval, in exact arithmetic."""
    exact = [Fraction(value) for value in y]
    low, high = min(exact) - 1000, max(exact) + 1000
    if rmm_accepts(exact, high, k, signs, ranks):
        return math.inf
    if not rmm_accepts(exact, low, k, signs, ranks):
        return -math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rmm_accepts(exact, middle, k, signs, ranks) else (low, middle)
    return float(low)
