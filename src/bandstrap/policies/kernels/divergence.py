"""Divergences of one distribution from another, by their means; what KL-UCB, IMED and Maillard sampling are built on."""

from __future__ import annotations

import math
from typing import Literal, get_args

from bandstrap.engine.compiler.kernel import jitable
from bandstrap.policies.states.fields import SumState
from bandstrap.policies.states.moments import Moments

Divergence = Literal["bernoulli", "gaussian"]
DIVERGENCES: dict[Divergence, int] = {word: code for code, word in enumerate(get_args(Divergence))}
BERNOULLI, GAUSSIAN = DIVERGENCES.values()


@jitable
def bernoulli_divergence(p: float, q: float) -> float:
    """``p log(p/q) + (1-p) log((1-p)/(1-q))`` for ``0 <= p <= q <= 1``."""
    if p == q:
        return 0.0
    if q == 1.0:
        return math.inf
    ones = p * math.log(p / q) if p > 0.0 else 0.0
    return max(ones + (1.0 - p) * math.log((1.0 - p) / (1.0 - q)), 0.0)


@jitable
def bernoulli_upper_mean(p: float, divergence: float) -> float:
    """The largest ``q`` with ``bernoulli_divergence(p, q) <= divergence``.

    The divergence is convex in ``q``, so that Newton's method comes down to the solution from any point above it, and from
    below jumps above it. ``highest`` is such a point: there the zeros alone account for the divergence.
    """
    zeros = 1.0 - p
    if p <= 0.0 or p >= 1.0 or divergence <= 0.0:
        return p if p > 0.0 else -math.expm1(-divergence)
    highest = 1.0 - zeros * math.exp((p * math.log(p) - divergence) / zeros)
    if highest == 1.0:
        return 1.0
    q = p + math.sqrt(2.0 * divergence * p * zeros) + (zeros - p) * divergence * (2.0 / 3.0)
    if not p < q < highest:
        q = highest
    for _ in range(50):
        excess = p * math.log(p / q) + zeros * math.log(zeros / (1.0 - q)) - divergence
        step = excess * q * (1.0 - q) / (q - p)
        is_close = abs(step) <= 1e-7 * (q - p)  # the error after a step is about its square
        q = min(q - step, highest)
        if is_close:
            break
    return q


@jitable
def divergence_between(kind: int, sigma: float, mean: float, other: float) -> float:
    """Divergence of the distribution with ``mean`` from the one with mean ``other >= mean``; ``sigma`` is that of
    normal distributions.
    """
    if kind == GAUSSIAN:
        gap = (other - mean) / sigma
        divergence = 0.5 * gap * gap
    else:
        divergence = bernoulli_divergence(mean, other)
    return divergence


@jitable
def highest_mean(state: SumState) -> float:
    """The highest mean of all arms."""
    highest = -math.inf
    for arm in range(len(state.pulls)):
        highest = max(highest, state.sums[arm] / state.pulls[arm])
    return highest


@jitable
def highest_of_moments(state: Moments) -> float:
    """The same of a state that keeps means."""
    highest = -math.inf
    for arm in range(len(state.pulls)):
        highest = max(highest, state.means[arm])
    return highest


@jitable
def evidence_below(state: Moments, arm: int, best: float) -> float:
    """``(n-2)/2 log(1 + (best - ybar)^2/s^2)``: evidence that a normal arm of unknown variance is below ``best >= ybar``.

    ``1/2 log(1 + gap^2/s^2)`` is the least divergence of ``N(ybar, s^2)`` from a normal one of mean ``best``. Times
    ``n - 2`` the mean of ``exp(evidence)`` against the true mean is finite; times ``n - 1`` or ``n`` it is not.
    Of fewer than two rewards, which is what a discount may leave of more, there is no evidence.
    """
    n = state.pulls[arm]
    gap = best - state.means[arm]
    if gap <= 0.0:
        return 0.0
    squares = state.squares[arm]
    return 0.5 * max(n - 2.0, 0.0) * math.log1p(n * gap * gap / squares) if squares > 0.0 else math.inf
