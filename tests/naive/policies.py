"""Slow oracles of the policies: each index from its formula, with the whole history, and from nothing of the package."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from naive.bounds import largest_mean_in_ball, mean_sign_quantile
from naive.theory import deviation

Rewards = np.ndarray


def anytime(t: int) -> float:
    """The paper's ``alpha_t``."""
    return 1 / (t + 1)


def ucb1_index(y: Rewards, alpha: float, sigma: float) -> float:
    """``ybar + sigma sqrt(2 log(1/alpha)/n)``."""
    return np.mean(y) + sigma * np.sqrt(2 * np.log(1 / alpha) / len(y))


def gaussian_ts_draws(y: Rewards, sigma: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draws from ``N(ybar, sigma^2/n)``."""
    return rng.normal(np.mean(y), sigma / np.sqrt(len(y)), size)


def bernoulli_ts_draws(y: Rewards, ones: float, zeros: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draws from ``Beta(ones + sum z, zeros + n - sum z)`` with a coin ``z`` of probability ``y`` for each reward."""
    heads = (rng.random((size, len(y))) < np.asarray(y)).sum(axis=1)
    return rng.beta(ones + heads, zeros + len(y) - heads)


def giro_history(y: Rewards, pseudo: int) -> np.ndarray:
    """Rewards, ``pseudo`` zeros and ``pseudo`` ones."""
    return np.concatenate([y, np.zeros(pseudo), np.ones(pseudo)])


def giro_draws(y: Rewards, pseudo: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Means of as many draws with replacement from the history as it has entries."""
    history = giro_history(y, pseudo)
    return rng.choice(history, (size, history.size)).mean(axis=1)


def giro_fractional_draws(y: Rewards, a: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Indices whose history has ``a n`` zeros and ones each, rounded up with a probability equal to the fraction."""
    floor = math.floor(a * len(y))
    rounded = floor + (rng.random(size) < a * len(y) - floor)
    return np.array([giro_draws(y, int(pseudo), 1, rng)[0] for pseudo in rounded])


def giro_pulls(p: Sequence[float], a: float, horizon: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Pulls of each Bernoulli arm in ``runs`` games, shape ``(run, arm)``: Giro's algorithm, all games side by side.

    Every arm is pulled once. In each round after that ``n`` pulls with ``ones`` among their rewards give a history of
    ``N = n + 2 m`` entries with ``ones + m`` ones, where ``m`` is ``a n`` rounded at random, and a bootstrap sample of
    it has ``Bin(N, (ones + m)/N)`` ones. The highest share is pulled, ties at random.
    """
    ones = (rng.random((runs, len(p))) < p).astype(int)
    pulls = np.ones((runs, len(p)), dtype=int)
    every = np.arange(runs)
    for _ in range(horizon - len(p)):
        wanted = a * pulls
        pseudo = np.floor(wanted + rng.random(wanted.shape)).astype(int)
        entries = pulls + 2 * pseudo
        index = rng.binomial(entries, (ones + pseudo) / entries) / entries
        best = index == index.max(axis=1, keepdims=True)
        chosen = np.where(best, rng.random(best.shape), -1.0).argmax(axis=1)
        ones[every, chosen] += rng.random(runs) < np.asarray(p)[chosen]
        pulls[every, chosen] += 1
    return pulls


def giro_index_law(ones: int, n: int, a: Fraction) -> dict[Fraction, float]:
    """Law of the index of ``n`` rewards, ``ones`` of them 1 and the others 0.

    With probability equal to its fraction ``a n`` is rounded up, else down, to ``m``; the ``N = n + 2 m`` draws from the
    history then hold a binomial number of ones.
    """
    floor = math.floor(a * n)
    law: dict[Fraction, float] = {}
    for pseudo, probability in ((floor, 1 - (a * n - floor)), (floor + 1, a * n - floor)):
        size = n + 2 * pseudo
        share = (ones + pseudo) / size
        for drawn in range(size + 1):
            mass = math.comb(size, drawn) * share**drawn * (1 - share) ** (size - drawn)
            law[Fraction(drawn, size)] = law.get(Fraction(drawn, size), 0.0) + float(probability) * mass
    return {value: mass for value, mass in law.items() if mass > 0}


def empirical_kl_index(y: Rewards, upper: float, t: int, c: float = 0.0) -> float:
    """``sup {E_q : KL(phat, q) <= (log t + c log log t)/n}`` by constrained minimisation."""
    budget = math.log(t) + c * math.log(max(math.log(t), 1.0))
    return largest_mean_in_ball(y, upper, budget / len(y))


# --- bootstrapped UCB -------------------------------------------------------------------------------------------------


def signed_draws(y: Rewards, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """``n_resamples`` values of ``(1/n) sum w_i (y_i - ybar)`` with fresh signs."""
    n = len(y)
    return (rng.integers(0, 2, (n_resamples, n)) * 2 - 1) @ ((np.asarray(y) - np.mean(y)) / n)


def order_statistic(draws: np.ndarray, level: float) -> float:
    """The ``(floor(B level) + 1)``-th largest draw."""
    return np.sort(draws)[::-1][math.floor(len(draws) * level + 1e-9)]


def interpolated_order_statistic(draws: np.ndarray, level: float) -> float:
    """NumPy's own, on the line between two draws."""
    return np.percentile(draws, 100 * (1 - level))


def literal_quantile(
    y: Rewards,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
    read: Callable[[np.ndarray, float], float] = order_statistic,
) -> float:
    """The paper's Monte Carlo quantile, or another that is read off the same draws."""
    return read(signed_draws(y, n_resamples, rng), level)


def exact_quantile(y: Rewards, level: float) -> float:
    """``inf {x : P(X > x) <= level}`` over all ``2^n`` sign vectors."""
    n = len(y)
    signs = np.array(list(itertools.product((-1, 1), repeat=n)))
    values = np.sort(signs @ ((np.asarray(y) - np.mean(y)) / n))[::-1]
    return values[math.floor(level * 2**n + 1e-9)]


def hoeffding_width(n: int, alpha: float, sigma: float) -> float:
    """Width of the mean of ``n`` sub-Gaussian rewards."""
    return sigma * math.sqrt(2 * math.log(1 / alpha) / n)


def sub_weibull_width(n: int, alpha: float, sigma: float, beta: float, constant: float) -> float:
    """Theorem 2 with this constant, mended where ``1 < beta < 2`` (``docs/explanation/errata.md``)."""
    return deviation(n, math.log(1 / alpha), constant * sigma, beta)


def bootstrapped_threshold(form: str, n: int, alpha: float, delta: float, main: float, phi: float) -> float:
    """Main term plus second-order correction: as in the experiments, as theorem 1 states it, as it is proved, or sharp."""
    if form == "none":
        return main
    if form == "practical":
        return main + phi / math.sqrt(n)
    if form == "stated":
        return main + math.sqrt(math.log(2 / (alpha * delta)) / n) * phi
    if form == "theorem":
        return main + math.sqrt(2 * math.log(2 / (alpha * delta)) / n) * phi
    if form == "sharp":
        return min(main + mean_sign_quantile(n, alpha * delta) * phi, phi)
    raise ValueError(form)


def bootstrapped_index(
    y: Rewards,
    alpha: float,
    quantile: Callable[[Rewards, float], float],
    *,
    sigma: float = 1.0,
    delta: float = 0.1,
    form: str = "practical",
) -> float:
    """``ybar + q_{alpha(1-delta)} + correction`` with Hoeffding's ``phi``."""
    n = len(y)
    phi = hoeffding_width(n, alpha, sigma)
    return np.mean(y) + bootstrapped_threshold(form, n, alpha, delta, quantile(y, alpha * (1 - delta)), phi)


# --- play -------------------------------------------------------------------------------------------------------------


def play(
    index: Callable[[Rewards, int], float], tape: np.ndarray, horizon: int, order: Sequence[int]
) -> tuple[list[int], float]:
    """Every arm once, then the highest index, the first in ``order`` among equals; and the narrowest win of all rounds."""
    n_arms = len(tape)
    pulls = [0] * n_arms
    choices: list[int] = []
    narrowest = math.inf
    for t in range(1, horizon + 1):
        if t <= n_arms:
            arm = t - 1
        else:
            scores = [index(tape[k, : pulls[k]], t) for k in range(n_arms)]
            arm = max(order, key=lambda k: scores[k])
            if n_arms > 1:
                best, second = sorted(scores, reverse=True)[:2]
                narrowest = min(narrowest, best - second)
        pulls[arm] += 1
        choices.append(arm)
    return choices, narrowest
