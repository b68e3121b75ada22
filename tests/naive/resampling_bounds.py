"""Bootstrap-t, BCa and Hall's bound of one sample, resample by resample, from their formulas; upper ends only."""

import math
from collections.abc import Sequence
from statistics import NormalDist, mean, pstdev

import numpy as np

NORMAL = NormalDist()


def resamples(sample: Sequence[float], n_resamples: int, seed: int) -> list[list[float]]:
    """Samples drawn from the sorted sample with replacement, each reward equally often in all of them together."""
    urn = np.random.default_rng(seed).permutation(np.tile(np.arange(len(sample)), n_resamples)).tolist()
    ordered = sorted(sample)
    return [[ordered[urn.pop(0)] for _ in ordered] for _ in range(n_resamples)]


def skewness(sample: Sequence[float]) -> float:
    centre, spread = mean(sample), pstdev(sample)
    return mean((y - centre) ** 3 for y in sample) / spread**3


def low_draw(values: list[float], alpha: float) -> float:
    rank = math.floor(alpha * (len(values) + 1) + 1e-9)
    return sorted(values)[rank - 1] if rank else -math.inf


def t_value(resample: Sequence[float], centre: float) -> float:
    difference = mean(resample) - centre
    if min(resample) == max(resample):
        return math.copysign(math.inf, difference) if abs(difference) > 1e-12 else 0.0
    return difference / pstdev(resample)


def bootstrap_t(sample: Sequence[float], alpha: float, drawn: list[list[float]]) -> float:
    if min(sample) == max(sample):
        return math.inf
    centre = mean(sample)
    t = low_draw([t_value(resample, centre) for resample in drawn], alpha)
    return max(centre - t * pstdev(sample), centre)


def hall(sample: Sequence[float], alpha: float, drawn: list[list[float]] | None) -> float:
    """With the normal quantile where no resamples are given."""
    n = len(sample)
    if min(sample) == max(sample):
        return math.inf

    def transformed(t: float, c: float) -> float:
        return t + c * t**2 / 3 + c**2 * t**3 / 27 + c / (6 * n)

    centre = mean(sample)
    if drawn is None:
        goal = NORMAL.inv_cdf(alpha) / math.sqrt(n)
    else:
        values = []
        for resample in drawn:
            t = t_value(resample, centre)
            values.append(transformed(t, skewness(resample)) if min(resample) < max(resample) else t)
        goal = low_draw(values, alpha)
    if goal == -math.inf:
        return math.inf
    low, high = -1e9, 1e9  # the transformation rises: bisect
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if transformed(middle, skewness(sample)) < goal else (low, middle)
    return max(centre - high * pstdev(sample), centre)


def bca(sample: Sequence[float], alpha: float, drawn: list[list[float]]) -> float:
    n = len(sample)
    if min(sample) == max(sample):
        return math.inf
    centre, scale = mean(sample), max(sample) - min(sample)
    means = [mean(resample) for resample in drawn]
    below = sum(y < centre - 1e-12 * scale for y in means)
    ties = sum(abs(y - centre) <= 1e-12 * scale for y in means)
    share = (below + ties / 2) / len(means)
    bias = NORMAL.inv_cdf(share) if 0 < share < 1 else math.copysign(math.inf, share - 0.5)
    # The jackknife: the mean without reward i is a linear function of it.
    without = [(sum(sample) - y) / (n - 1) for y in sample]
    gaps = [mean(without) - each for each in without]
    acceleration = sum(gap**3 for gap in gaps) / (6 * sum(gap**2 for gap in gaps) ** 1.5)
    step = bias + NORMAL.inv_cdf(1 - alpha)
    level = 0.0
    if 1 - acceleration * step > 0:
        level = 1 - NORMAL.cdf(bias + step / (1 - acceleration * step))
    if (sum(y == max(sample) for y in sample) / n) ** n > level:
        return math.inf
    return max(float(np.quantile(means, 1 - level)), centre)
