"""Slow oracles of the published rivals: indices, laws and probabilities from their formulas, with the whole history."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, special

Rewards = np.ndarray


def bernoulli_kl(p: float, q: float) -> float:
    """Divergence between coins of mean ``p`` and ``q``."""
    return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))


def largest_coin(p: float, divergence: float) -> float:
    """``sup {q : kl(p, q) <= divergence}``, by bracketing."""
    if p == 1 or divergence == 0:
        return p
    if bernoulli_kl(p, 1 - 2**-53) <= divergence:
        return 1.0
    return float(optimize.brentq(lambda q: bernoulli_kl(p, q) - divergence, p, 1 - 2**-53, xtol=1e-15, rtol=1e-14))


def divergence(kind: str, y: Rewards, mean: float, sigma: float = 1.0, upper: float = 1.0) -> float:
    """Least divergence of an arm from a law with ``mean``, at least that of the arm."""
    if kind == "bernoulli":
        return bernoulli_kl(np.mean(y), mean)
    if kind == "gaussian":
        return (mean - np.mean(y)) ** 2 / (2 * sigma**2)
    return least_divergence(y, upper, mean)


def least_divergence(y: Rewards, upper: float, mean: float) -> float:
    """``max_{0 <= x <= 1/(upper - mean)} mean log(1 - x (y - mean))``, by golden section."""
    if np.mean(y) >= mean:
        return 0.0
    if mean >= upper:
        return math.inf
    end = 1 / (upper - mean)

    def lack(x: float) -> float:
        with np.errstate(divide="ignore"):
            return -np.mean(np.log(np.maximum(1 - x * (np.asarray(y) - mean), 0)))

    found = optimize.minimize_scalar(lack, bounds=(0, end), method="bounded", options={"xatol": 1e-12 * end})
    return max(-found.fun, -lack(end))


def kl_ucb_index(
    y: Rewards, t: int, kind: str = "bernoulli", sigma: float = 1.0, plus: bool = False, c: float = 0.0
) -> float:
    """``sup {q : n d(ybar, q) <= log s + c log log s}``, ``s = t`` or ``t/n``."""
    n = len(y)
    log = math.log(t / n if plus else t)
    budget = (log + c * max(math.log(log), 0)) / n
    return largest_coin(np.mean(y), budget) if kind == "bernoulli" else np.mean(y) + sigma * math.sqrt(2 * budget)


def moss_index(y: Rewards, t: int, n_arms: int, sigma: float, c: float, horizon: int | None) -> float:
    """``ybar + sigma sqrt(c log+(t/(K n))/n)``."""
    n = len(y)
    return np.mean(y) + sigma * math.sqrt(c / n * max(math.log((horizon or t) / (n_arms * n)), 0))


def ucb_v_index(y: Rewards, t: int, upper: float, zeta: float, c: float) -> float:
    """``ybar + sqrt(2 v e/n) + 3 c u e/n`` with ``e = zeta log t``."""
    n, e = len(y), zeta * math.log(t)
    return np.mean(y) + math.sqrt(2 * np.var(y) * e / n) + 3 * c * upper * e / n


def ucb_tuned_index(y: Rewards, t: int, upper: float) -> float:
    """Auer's index of the rewards divided by their range, times the range."""
    n, x = len(y), np.asarray(y) / upper
    bound = np.mean(x**2) - np.mean(x) ** 2 + math.sqrt(2 * math.log(t) / n)
    return upper * (np.mean(x) + math.sqrt(math.log(t) / n * min(0.25, bound)))


def chk_ucb_index(y: Rewards, t: int) -> float:
    """``ybar + s sqrt(t^(2/(n-2)) - 1)``."""
    return math.inf if len(y) < 3 else np.mean(y) + np.std(y) * math.sqrt(t ** (2 / (len(y) - 2)) - 1)


def light_tailed_index(
    y: Rewards, t: int, n_arms: int, sigma: float, eta1: float, eta2: float, alpha: float, beta: float
) -> float:
    """``ybar + sigma min(eta1 (t/K)^alpha sqrt(log K)/n, eta2 sqrt(t^beta/n))``."""
    n = len(y)
    fast, slow = eta1 * (t / n_arms) ** alpha * math.sqrt(math.log(n_arms)) / n, eta2 * math.sqrt(t**beta / n)
    return np.mean(y) + sigma * min(fast, slow)


def normal_divergence(y: Rewards, mean: float) -> float:
    """Least divergence of ``N(ybar, s^2)`` from normal distributions with ``mean``, over their variances, by bracketing."""
    variance, gap = np.var(y), mean - np.mean(y)
    if gap <= 0:
        return 0.0
    if variance == 0:
        return math.inf

    def divergence_from(log_ratio: float) -> float:
        return 0.5 * (log_ratio + (1 + gap**2 / variance) * math.exp(-log_ratio) - 1)

    return optimize.minimize_scalar(divergence_from, bracket=(0, 1), options={"xtol": 1e-10}).fun


def evidence_of_unknown_variance(samples: Sequence[Rewards]) -> np.ndarray:
    """``(n - 2) D`` of each arm, with its least divergence ``D`` from the highest mean."""
    best = max(np.mean(y) for y in samples)
    return np.array([(len(y) - 2) * normal_divergence(y, best) for y in samples])


def imed_indices(samples: Sequence[Rewards], kind: str, sigma: float = 1.0, upper: float = 1.0) -> np.ndarray:
    """``n D + log n`` of each arm."""
    best = max(np.mean(y) for y in samples)
    return np.array([len(y) * divergence(kind, y, best, sigma, upper) + math.log(len(y)) for y in samples])


def maillard_probabilities(samples: Sequence[Rewards], kind: str, sigma: float = 1.0) -> np.ndarray:
    """``exp(-n d(ybar, best))``, normalised."""
    best = max(np.mean(y) for y in samples)
    weights = np.array([math.exp(-len(y) * divergence(kind, y, best, sigma)) for y in samples])
    return weights / weights.sum()


def phe_draws(y: Rewards, coins: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Means of the rewards and of ``coins`` fair coins."""
    tosses = rng.integers(0, 2, (size, coins))
    return (np.sum(y) + tosses.sum(axis=1)) / (len(y) + coins)


def reboot_draws(y: Rewards, sigma_a: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """``ybar + (1/(n+2)) sum w_i e_i`` with normal weights, residuals and two pseudo-residuals."""
    n = len(y)
    aid = math.sqrt(n + 2) * sigma_a
    residuals = np.concatenate([np.asarray(y) - np.mean(y), [aid, -aid]])
    return np.mean(y) + rng.standard_normal((size, n + 2)) @ residuals / (n + 2)


def student_ts_draws(y: Rewards, a: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Means drawn by way of the variance: ``sigma^2`` inverse gamma, then ``N(ybar, sigma^2/n)``."""
    n = len(y)
    precision = rng.gamma((n + 2 * a - 1) / 2, 2 / np.sum((y - np.mean(y)) ** 2), size)
    return rng.normal(np.mean(y), 1 / np.sqrt(n * precision))


def discounted_ucb_index(
    rounds: Sequence[Rewards], samples: Sequence[Rewards], t: int, sigma: float, gamma: float, xi: float
) -> np.ndarray:
    """Garivier and Moulines' index in round ``t``, from each arm's rewards and the rounds they came in; ``B = 2 sigma``."""
    weights = [gamma ** (t - np.asarray(s, dtype=float)) for s in rounds]
    pulls = np.array([w.sum() for w in weights])
    means = np.array([w @ np.asarray(y) for w, y in zip(weights, samples, strict=True)]) / pulls
    return means + 2 * (2 * sigma) * np.sqrt(xi * math.log(max(pulls.sum(), 1.0)) / pulls)


def sliding_window_index(
    rounds: Sequence[Rewards], samples: Sequence[Rewards], t: int, sigma: float, window: int, xi: float
) -> np.ndarray:
    """The same with the last ``window`` rounds before ``t``; infinite for an arm without any."""
    found = []
    for s, y in zip(rounds, samples, strict=True):
        kept = np.asarray(y)[np.asarray(s) >= t - window]
        width = 2 * sigma * math.sqrt(xi * math.log(min(t, window)) / len(kept)) if len(kept) else math.inf
        found.append(kept.mean() + width if len(kept) else math.inf)
    return np.array(found)


def tsallis_weights(losses: Rewards, t: int) -> np.ndarray:
    """What minimises ``<w, L> - 2 sqrt(t) sum sqrt(w)`` over the simplex: by bisection for the multiplier."""

    def excess(x: float) -> float:
        return float(np.sum(t / (np.asarray(losses) - x) ** 2) - 1)

    lowest = min(losses)
    x = optimize.brentq(excess, lowest - 2 * math.sqrt(t * len(losses)), lowest - 0.5 * math.sqrt(t), xtol=1e-12)
    return t / (np.asarray(losses) - x) ** 2


def aim_increments(samples: Sequence[Rewards], leader: int, sigma: float) -> dict[int, float]:
    """Equation (42) of the paper for each arm but the leader, with rewards over ``sigma`` and a variance of 1."""
    best, top, n_arms = len(samples[leader]), float(np.mean(samples[leader])) / sigma, len(samples)
    first = 0.5 * math.log(best / (best + 1))
    overlap = body = 0.0
    own = {}
    for arm, y in enumerate(samples):
        if arm == leader:
            continue
        n, mean = len(y), float(np.mean(y)) / sigma
        root = best * n * (top - mean) ** 2 / (best - n) ** 2 + math.log(best / n) / (best - n)
        d = top + n * (top - mean) / (best - n) + math.sqrt(root) - mean
        fall = math.exp(-n * d**2 / 2)
        overlap += special.erfc(math.sqrt(n) * d / math.sqrt(2)) / 2
        body += (
            n**1.5 * d / (math.sqrt(2 * math.pi) * best**2) * fall
            * (math.log(best / (2 * math.pi * math.e)) / 4 - 3 / 4 + n * d**2 / 4)
        )  # fmt: skip
        own[arm] = (
            d / math.sqrt(2 * math.pi * n) * fall
            * (math.log(best / (2 * math.pi * math.e)) / (4 * n) + 1 / 2 + d**2 / 4)
        )  # fmt: skip
    shared = first + min(overlap, 1 - 1 / n_arms) / (2 * best) + body
    return {arm: shared + part for arm, part in own.items()}
