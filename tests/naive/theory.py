"""Slow oracles of the theory, from the formulas and from nothing of the package."""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import integrate, optimize, stats

from naive.multipliers import rademacher_atoms


def mean_exceeds_two(distances: Sequence[float], weights: Sequence[float], c: float, beta: float) -> bool:
    """Whether ``sum w exp((d/c)^beta) > 2``."""
    total = 0.0
    for d, w in zip(distances, weights, strict=True):
        exponent = (d / c) ** beta
        if exponent > 700:
            return w > 0
        total += w * math.exp(exponent)
    return total > 2


def atoms_norm(distances: Sequence[float], weights: Sequence[float], beta: float) -> float:
    """Orlicz norm of a law on finitely many points, by bisection."""
    low, high = 0.0, 2 * max(distances) / math.log(2) ** (1 / beta)
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if mean_exceeds_two(distances, weights, middle, beta) else (low, middle)
    return high


def density_norm(
    log_density: Callable[[float], float], centre: float, ends: tuple[float, float], beta: float, hint: float
):
    """Orlicz norm of a continuous law, by adaptive quadrature between ``ends``; the root lies within half of ``hint``."""

    def excess(c: float) -> float:
        def integrand(y: float) -> float:
            return math.exp((abs(y - centre) / c) ** beta + log_density(y))

        return sum(integrate.quad(integrand, *part, limit=400)[0] for part in itertools.pairwise([*ends])) - 2

    return optimize.brentq(excess, 0.75 * hint, 1.5 * hint, xtol=1e-12 * hint)


def deviation(n: float, log: float, scale: float, beta: float) -> float:
    """Theorem 2's width of a mean at level ``exp(-log)``, ``scale`` being ``C sigma``."""
    if beta <= 1:
        second = log ** (1 / beta) / n
    elif beta < 2:
        second = (log / n) ** (1 / beta)
    else:
        second = 0.0
    return scale * (math.sqrt(log / n) + second)


def pulls_needed(gap: float, horizon: float, scale: float, beta: float) -> float:
    """Smallest ``n`` with ``V(2L) + 3 V(L) <= gap`` for ``L = 2 log T``, by bisection."""
    level = 2 * math.log(horizon)

    def excess(log_n: float) -> float:
        n = math.exp(log_n)
        return deviation(n, 2 * level, scale, beta) + 3 * deviation(n, level, scale, beta) - gap

    return math.exp(optimize.brentq(excess, -50, 200))


def expectation(probabilities: Sequence[float], term: Callable[[int], float]) -> float:
    """Sum of ``term`` over 0, 1, 2, ... with these probabilities, skipping those of probability 0."""
    return math.fsum(p * term(k) for k, p in enumerate(probabilities) if p > 0)


def naive_policy_regret(means: tuple[float, float], horizon: int, level: float) -> float:
    """Expected regret of the naive policy on two Bernoulli arms, over all tapes of rewards; ties to the first arm."""
    best = max(means)

    def index(rewards: Sequence[int]) -> float:
        atoms = sorted(rademacher_atoms(rewards))
        for x, _ in atoms:
            if sum(p for value, p in atoms if value > x) <= level:
                return sum(rewards) / len(rewards) + float(x)
        raise AssertionError

    indices = {r: index(r) for n in range(1, horizon) for r in itertools.product((0, 1), repeat=n)}
    total = 0.0
    tapes = list(itertools.product((0, 1), repeat=horizon - 1))
    for tape in itertools.product(tapes, tapes):
        probability = math.prod(m if y else 1 - m for m, rewards in zip(means, tape, strict=True) for y in rewards)
        pulls = [1, 1]
        for _ in range(horizon - 2):
            scores = [indices[tape[k][: pulls[k]]] for k in (0, 1)]
            pulls[int(np.argmax(scores))] += 1
        total += probability * sum((best - m) * n for m, n in zip(means, pulls, strict=True))
    return total


def weibull_sum_moment(weights: Sequence[float], order: int, beta: float) -> float:
    """``(E|sum a_i y_i|^p)^{1/p}`` for ``P(|y| >= t) = exp(-t^beta)``, random signs, by the multinomial theorem."""
    total = 0.0
    for powers in itertools.product(range(0, order + 1, 2), repeat=len(weights)):
        if sum(powers) == order:
            ways = math.factorial(order) / math.prod(math.factorial(p) for p in powers)
            total += ways * math.prod(a**p * math.gamma(1 + p / beta) for a, p in zip(weights, powers, strict=True))
    return total ** (1 / order)


def index_is_low(n: int, slope: float, shift: float) -> float:
    """``P(Z >= sqrt(n) shift + slope W)`` of a normal ``Z`` and a chi ``W`` of ``n - 1`` degrees, by quad over log W."""
    freedom, start = n - 1, math.sqrt(n) * shift

    def integrand(log: float) -> float:
        return stats.chi.pdf(math.exp(log), freedom) * math.exp(log) * stats.norm.sf(start + slope * math.exp(log))

    ends = [math.log(stats.chi.ppf(1e-16, freedom)), math.log(stats.chi.isf(1e-16, freedom))]
    inside = [point for point in (math.log(1 / slope), math.log(freedom) / 2) if ends[0] < point < ends[1]]
    parts = itertools.pairwise(sorted([*ends, *inside]))
    return sum(integrate.quad(integrand, *part, epsabs=0, epsrel=1e-10, limit=400)[0] for part in parts)


def index_is_high(n: int, slope: float, value: float) -> float:
    """``P(Z + slope W >= value)``: adaptively, over ``Z``."""

    def integrand(z: float) -> float:
        return stats.norm.pdf(z) * stats.chi.sf((value - z) / slope, n - 1)

    middle = value - slope * math.sqrt(n - 1)
    inside = [point for point in (value, middle - 2 * slope, middle, middle + 2 * slope) if -9 < point < 9]
    parts = itertools.pairwise(sorted([-9.0, *inside, 9.0]))
    return sum(integrate.quad(integrand, *part, epsabs=0, epsrel=1e-10, limit=400)[0] for part in parts)


def studentized_multiplier(n: int, level: float, quantile: Callable[[float], float]) -> float:
    """What ``sqrt(S2/n)`` is multiplied by where nothing is borrowed and rewards are not skewed, term by term."""
    z = quantile(0.9 * level)
    main = math.sqrt(math.exp(min(z**2 / (n - 1), 50)) - 1)
    own = math.sqrt(n / (n - 1)) * math.sqrt(2 * math.log(1 / level)) / n  # s = sqrt(S2/n) sqrt(n/(n-1))
    return main + own
