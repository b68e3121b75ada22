"""Slow oracles of the policies that need no scale: each index from its formula, with the whole history."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
from scipy import optimize, stats

from naive.policies import exact_quantile


def pooled_scale(samples):
    """Standard deviation within samples; the range of their means where it is 0."""
    inside = sum(np.var(y) * len(y) for y in samples)
    scale = math.sqrt(inside / max(sum(map(len, samples)) - len(samples), 1))
    means = [np.mean(y) for y in samples]
    return scale if scale > 0 else max(means) - min(means)


def plus_index(samples, arm, t, *, sigma=None, exploration=0.5, delta=0.1):
    """``ybar + q_{(1 - delta) e} + s sqrt(2 log(1/e))/n`` with ``e = min(1/2, n/(t + 1))`` and forced pulls.

    ``s`` is the larger of the pooled and the own scale.
    """
    y = np.asarray(samples[arm])
    n = len(y)
    if n < exploration * math.log(t):
        return math.inf
    share = min(0.5, n / (t + 1))
    scale = sigma if sigma is not None else max(pooled_scale(samples), np.std(y, ddof=1) if n > 1 else 0.0)
    main = 0.0 if n == 1 else exact_quantile(y, (1 - delta) * share)
    return y.mean() + main + scale * math.sqrt(2 * math.log(1 / share)) / n


def normal_sign_flip_index(y, alpha):
    """The limit for many rewards, ``ybar + z s/sqrt(n - z^2)``."""
    z = stats.norm.isf(alpha)
    return np.mean(y) + z * np.std(y) / math.sqrt(len(y) - z * z)


def subset_root(y, x):
    """``r*`` of the event that a random subset's mean exceeds ``x``: Barndorff-Nielsen's form at the saddlepoint."""
    sizes = np.abs(y - x)
    target = (x - y).sum()
    log_s = optimize.brentq(lambda log: (sizes * np.tanh(np.exp(log) * sizes)).sum() - target, -50, 50, xtol=1e-14)
    s = math.exp(log_s)
    e = np.exp(-2 * s * sizes)
    w = math.sqrt(2 * (s * target - (s * sizes + np.log1p(e) - math.log(2)).sum()))
    u = s * math.sqrt((sizes**2 * 4 * e / (1 + e) ** 2).sum())
    return w if w < 5e-3 else w + math.log(u / w) / w


def centred_sum(y, power):
    """``sum (y - ybar)^power``, exactly, before it is rounded."""
    return exact_centred_sum(tuple(map(float, y)), power)


@cache
def exact_centred_sum(y, power):
    """See :func:`centred_sum`."""
    y = [Fraction(reward) for reward in y]
    mean = sum(y) / len(y)
    return float(sum((reward - mean) ** power for reward in y))


def shrunk_skewness(s2, s3, s6):
    """``(S3/S2)_+ (1 - 2 S6/S3^2)_+``."""
    return 0.0 if s3 <= 0 else s3 / s2 * max(1 - 2 * s6 / s3**2, 0)


def shared_variance(samples, borrowed):
    """The variance that arms share, and the degrees of freedom it is worth."""
    pulls = [len(y) for y in samples]
    means = [np.mean(y) for y in samples]
    several = [k for k, pulled in enumerate(pulls) if pulled > 1]
    weights = {k: min(pulls[k] - 1, 20) for k in several}
    variances = {k: centred_sum(samples[k], 2) / (pulls[k] - 1) for k in several}
    if any(variances.values()):
        shared = sum(weights[k] * variances[k] for k in several) / sum(weights.values())
    else:
        shared = (max(means) - min(means)) ** 2 or 1
    spread = sum(weights[k] * ((variances[k] / shared - 1) ** 2 - 2 / (pulls[k] - 1)) for k in several)
    h = (spread + 10 * 0.5) / (sum(weights.values()) + 10)
    return shared, borrowed if h <= 0 else min(max(2 / h - 1, 0), borrowed)


def studentized_index(
    samples, arm, t, *, exploration=0.25, borrowed=50, skew=1, caution=1, crowd=0, drawn=0, quantile=stats.norm.isf
):
    """A studentized index with a variance and degrees of freedom borrowed from other arms, and a shrunk skewness.

    Its level is at least the one ``drawn``, and only below it an arm that lacks pulls is forced.
    """
    pulls = [len(y) for y in samples]
    sums = [[centred_sum(y, power) for power in (2, 3, 6)] for y in samples]
    n = pulls[arm]
    level = min(0.5, max(1, crowd * len(samples)) / caution * n / (n + max(pulls)))
    if n < exploration * math.log(t) and drawn <= level:
        return math.inf
    level = max(drawn, level)
    log = math.log(1 / level)
    z = max(0, quantile(0.9 * level))
    shared, d0 = shared_variance(samples, borrowed)
    nu = max(n - 1 + d0, 0.5)
    main = math.sqrt((sums[arm][0] + d0 * shared) / n * (math.exp(min(z**2 / nu, 50)) - 1))
    kappa = max(shrunk_skewness(*sums[arm]), shrunk_skewness(*np.sum(sums, axis=0)))
    own = 2 / (2 + d0) * math.sqrt(sums[arm][0] / max(n - 1, 1)) * math.sqrt(2 * log)
    return np.mean(samples[arm]) + main + (own + skew * 2 * log / 3 * kappa) / n


def weights_of_drawn_levels(index, samples, t, *, n_levels=500, **options):
    """The probability that each arm has the highest index when the levels drawn are uniform and independent.

    Within ``len(samples)/n_levels``: each level is one of as many in the middle of equal parts of (0, 1).
    """
    levels = (np.arange(n_levels) + 0.5) / n_levels
    values = [[index(samples, arm, t, drawn=u, **options) for u in levels] for arm in range(len(samples))]
    below = [[np.mean(np.array(other)[:, None] < np.array(own), axis=0) for other in values] for own in values]
    return np.array(
        [np.mean(np.prod([b for k, b in enumerate(row) if k != arm], axis=0)) for arm, row in enumerate(below)]
    )


def edgeworth_index(samples, arm, t, *, exploration=0.25, caution=1, drawn=0, quantile=stats.norm.isf):
    """A studentized index with a borrowed variance, all arms' coefficient of skewness and all arms' kurtosis.

    Its level is at least the one ``drawn``, and only below it an arm that lacks pulls is forced.
    """
    pulls = [len(y) for y in samples]
    sums = [{power: centred_sum(y, power) for power in (2, 3, 4, 6)} for y in samples]
    n = pulls[arm]
    level = min(0.5, 0.75 * max(1, (len(samples) - 1) / 4) * n / (caution * t))
    if n < exploration * math.log(t) and drawn <= level:
        return math.inf
    level = max(drawn, level)
    log = math.log(1 / level)
    z = max(0, quantile(0.9 * level))
    shared, d0 = shared_variance(samples, 50)
    nu = max(n - 1 + d0, 0.5)
    s = math.sqrt((sums[arm][2] + d0 * shared) / nu)
    spread = [k for k, of_arm in enumerate(sums) if of_arm[2] > 0]
    standardised = {p: sum(sums[k][p] / (sums[k][2] / (pulls[k] - 1)) ** (p / 2) for k in spread) for p in (3, 6)}
    evidence = max(1 - 2 * standardised[6] / standardised[3] ** 2, 0) if standardised[3] > 0 else 0
    excesses = {k: pulls[k] * sums[k][4] / sums[k][2] ** 2 - 3 * (pulls[k] - 1) / (pulls[k] + 1) for k in spread}
    weights = {k: min(pulls[k] - 1, 20) for k in spread if pulls[k] > 3}
    kurtosis = max(sum(weights[k] * excesses[k] for k in weights), 0) / max(sum(weights.values()), 1)
    zeta = z / (1 + (n - 1) / nu * kurtosis / (12 * n) * max(z**2 - 3, 0))
    main = s * math.sqrt(nu / n * (math.exp(min(zeta**2 / nu, 50)) - 1))
    if sums[arm][2] > 0:
        coefficient = standardised[3] / sum(pulls[k] for k in spread)
        skewness = evidence * max(coefficient * s, sums[arm][3] / sums[arm][2])
    else:
        skewness = shrunk_skewness(*(sum(of_arm[power] for of_arm in sums) for power in (2, 3, 6)))
    own = 2 / (2 + d0) * s * math.sqrt(2 * log)
    return np.mean(samples[arm]) + main + (own + (2 * z**2 + 1) / 6 * skewness) / n
