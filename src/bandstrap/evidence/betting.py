"""Mixtures of bets: the wealth of a gambler who holds several constant bets at once, and the sums it rules out."""

from __future__ import annotations

import math

import numpy as np

from bandstrap.basics.arrays import Floats

N_BETS = 12
LARGEST_BET = 0.9
# l_j = 0.9 * 2^-j: the best constant bet for 10 to 10^9 decisions is within a factor sqrt(2) of one of them.
BETS: Floats = np.ldexp(LARGEST_BET, -np.arange(N_BETS))


def log_prior(centre: float) -> Floats:
    """Logarithm of ``pi_j``, proportional to ``1/(1 + ((j - centre)/1.5)^2)``: bets near the centre have most of it."""
    found: Floats = -np.log1p(((np.arange(N_BETS) - centre) / 1.5) ** 2)
    return found - math.log(math.fsum(np.exp(found)))


# Each is centred where some 10,000 decisions want their bet. Scores of values vary more than those of contrasts: by the
# variance of rewards divided by the probability of the arm, in place of the variance times the overlap.
LOG_PRIOR = log_prior(2.0)
VALUE_LOG_PRIOR = log_prior(3.5)
# |log(1 + l_j x)| is at most this times |x|, for |x| <= 1.
STEEPEST: Floats = -np.log1p(-BETS)
# Newton's method needs about six steps; it stops where a step no longer changes the number.
MOST_STEPS = 60
EPS = float(np.finfo(np.float64).eps)
# Roundings of one evaluation of the wealth, with a margin.
ROUNDINGS = 64


def log_wealth(log_products: Floats, spent: Floats | float = 0.0, prior: Floats = LOG_PRIOR) -> Floats:
    r"""Logarithm of the mixture :math:`\sum_j \pi_j \exp(P_j - l_j S)` along the last axis.

    Parameters
    ----------
    log_products
        ``P_j``, the sums of ``log(1 + l_j x_i)``, of shape ``(..., 12)``.
    spent
        ``S``, the sum of the means of ``x_i`` that is tested, of shape ``(...)``. Default: 0.
    prior
        Logarithms of ``pi_j``. Default: those of contrasts.

    Examples
    --------
    >>> float(log_wealth(np.zeros(12)))
    0.0
    """
    terms = prior + log_products - BETS * np.asarray(spent)[..., None]
    top = terms.max(axis=-1)
    return top + np.log(np.exp(terms - top[..., None]).sum(axis=-1))


def lower_sum(log_products: Floats, log_target: float, prior: Floats = LOG_PRIOR) -> Floats:
    r"""Largest sum ``S`` that is ruled out from below: the root of ``log_wealth(P, S, prior) = log_target``, rounded down.

    The logarithm of a sum of exponentials of lines is convex, and falls with ``S``. At the largest of the roots of
    single bets the wealth is ``log_target`` or more, so that Newton's steps from there rise to the root and do not pass
    it. The target is raised by the rounding of one evaluation.

    Examples
    --------
    >>> products = np.log1p(0.5 * BETS) * 40  # forty scores of 1/2
    >>> float(lower_sum(products, np.log(20)))
    11.06
    """
    target = log_target + ROUNDINGS * EPS * (1.0 + abs(log_target) + np.abs(log_products).max(axis=-1, initial=0.0))
    sums = ((prior + log_products - target[..., None]) / BETS).max(axis=-1)
    for _ in range(MOST_STEPS):
        terms = prior + log_products - BETS * sums[..., None]
        top = terms.max(axis=-1)
        parts = np.exp(terms - top[..., None])
        total = parts.sum(axis=-1)
        step = (top + np.log(total) - target) / ((parts * BETS).sum(axis=-1) / total)
        raised = np.maximum(sums + step, sums)
        if (raised - sums <= 4 * EPS * np.abs(sums)).all():
            break
        sums = raised
    return sums


def log_threshold(alpha: float, n_statements: int = 1) -> float:
    """Logarithm of ``2 n/alpha``: the wealth that proves one of ``n`` statements, on one of two sides, at ``alpha``."""
    return math.log(2.0 * n_statements / alpha)


def next_level(level: float, n_before: int, reward: float) -> float:
    """Level for the decision after one of reward ``reward``: a running mean that forgets beyond 200 decisions.

    ``r + max(1/(i + 2), 0.005) (R_i - r)`` after decision ``i = 1, 2, ...``, of which there were ``n_before`` before.
    It begins with 1/2, counted as two decisions.
    """
    return level + max(1.0 / (n_before + 3), 0.005) * (reward - level)


def advance_levels(level: float, n_before: int, rewards: Floats) -> tuple[Floats, float]:
    """Levels of decisions in their order, each from those before it, and the level for the decision after them."""
    levels = np.empty(len(rewards))
    for i, reward in enumerate(rewards.tolist()):
        levels[i] = level
        level = next_level(level, n_before + i, reward)
    return levels, level


def add_in_order(total: Floats, terms: Floats) -> Floats:
    """``total`` plus the rows of ``terms`` one after the other: bits do not depend on how rows are grouped."""
    return np.add.accumulate(np.concatenate([total[None], terms]), axis=0)[-1]
