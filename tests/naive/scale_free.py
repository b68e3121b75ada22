"""Slow oracles of the policies that need no scale: each index from its formula, with the whole history."""

import math

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
