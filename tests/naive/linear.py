"""Slow oracles of linear bandits: every quantity from its formula, with the whole history, and from nothing of the package.

``X`` holds the features observed, one observation per row, ``y`` the rewards, ``actions`` the features to choose among.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray
WORD = 2**64 - 1


def anytime(t: int) -> float:
    """The paper's ``alpha_t``."""
    return 1 / (t + 1)


# --- ridge regression -------------------------------------------------------------------------------------------------


def gram(X: Array, ridge: float) -> Array:
    """``ridge I + sum x x'``."""
    return ridge * np.eye(X.shape[1]) + X.T @ X


def estimate(X: Array, y: Array, ridge: float) -> Array:
    """``V^-1 X'y``."""
    return np.linalg.solve(gram(X, ridge), X.T @ y)


def log_determinant(X: Array, ridge: float) -> float:
    """``log det V``."""
    return np.linalg.slogdet(gram(X, ridge))[1]


def norms(X: Array, ridge: float, actions: Array) -> Array:
    """``sqrt(x'V^-1 x)`` of each action."""
    return np.sqrt(np.sum(actions * np.linalg.solve(gram(X, ridge), actions.T).T, axis=1))


def stacked(X: Array, ridge: float) -> Array:
    """``sqrt(ridge) I`` above ``X``: its Gram matrix is ``V``, its condition number that of ``V`` under a square root."""
    return np.vstack([math.sqrt(ridge) * np.eye(X.shape[1]), X])


def stable_estimate(X: Array, y: Array, ridge: float) -> Array:
    """:func:`estimate` as the least squares problem it is, for ``V`` too near a singular matrix to solve with."""
    return np.linalg.lstsq(stacked(X, ridge), np.concatenate([np.zeros(X.shape[1]), y]), rcond=None)[0]


def stable_norms(X: Array, ridge: float, actions: Array) -> Array:
    """:func:`norms` likewise, by singular values."""
    _, values, right = np.linalg.svd(stacked(X, ridge), full_matrices=False)
    return np.sqrt(np.sum((actions @ right.T / values) ** 2, axis=1))


def stable_log_determinant(X: Array, ridge: float) -> float:
    """:func:`log_determinant` likewise."""
    return 2 * np.sum(np.log(np.linalg.svd(stacked(X, ridge), compute_uv=False)))


# --- OFUL, LinUCB -----------------------------------------------------------------------------------------------------


def radius(kind: str, X: Array, alpha: float, sigma: float, ridge: float, bound: float) -> float:
    """``beta``: the theorem's, the closed form the published curves follow, and the printed one."""
    n, d = X.shape
    log_v, log_prior = log_determinant(X, ridge), d * math.log(ridge)
    if kind == "theorem":
        return sigma * math.sqrt(2 * (log_v / 2 - log_prior / 2 + math.log(1 / alpha))) + math.sqrt(ridge) * bound
    if kind == "closed-form":
        return sigma * math.sqrt(d * math.log((1 + n / ridge) / alpha)) + math.sqrt(ridge) * bound
    if kind == "printed":
        inside = 2 * (log_v / 2 + log_prior / 2 + math.log(1 / alpha)) + math.sqrt(ridge) * bound
        return sigma * math.sqrt(max(inside, 0.0))
    raise ValueError(kind)


def optimistic_scores(X: Array, y: Array, ridge: float, actions: Array, width: float) -> Array:
    """``x'theta + width |x|``."""
    return actions @ estimate(X, y, ridge) + width * norms(X, ridge, actions)


def oful(kind: str = "theorem", sigma: float = 1.0, ridge: float = 1.0, bound: float = 0.0):
    """Scores of OFUL in round ``t``."""

    def scores(X: Array, y: Array, actions: Array, t: int) -> Array:
        return optimistic_scores(X, y, ridge, actions, radius(kind, X, anytime(t), sigma, ridge, bound))

    return scores


def lin_ucb(delta: float = 0.1, ridge: float = 1.0, width: float | None = None):
    """Scores of LinUCB."""

    def scores(X: Array, y: Array, actions: Array, t: int) -> Array:
        a = 1 + math.sqrt(math.log(2 / delta) / 2) if width is None else width
        return optimistic_scores(X, y, ridge, actions, a)

    return scores


# --- bootstrapped UCB -------------------------------------------------------------------------------------------------


class XorShift:
    """Vigna's xorshift128+ in whole numbers."""

    def __init__(self, first: int, second: int):
        self.first, self.second = first, second

    def word(self) -> int:
        x, y = self.first, self.second
        self.first = y
        x ^= (x << 23) & WORD
        self.second = x ^ y ^ (x >> 17) ^ (y >> 26)
        return (self.second + y) & WORD


def seeded(n: int, rng: np.random.Generator) -> list[XorShift]:
    """One generator per replicate, seeded by 52 bits each: all first halves, then all second halves."""
    halves = [[(int(rng.random() * 2**52) << 12) | 1 for _ in range(n)] for _ in range(2)]
    return [XorShift(first, second) for first, second in zip(*halves, strict=True)]


def distance(X: Array, y: Array, ridge: float, theta: Array) -> float:
    """``| theta_b - theta |`` in the norm of ``V_b``, both of a resample."""
    off = estimate(X, y, ridge) - theta
    return math.sqrt(max(off @ gram(X, ridge) @ off, 0.0))


def weighted_distances(X: Array, y: Array, ridge: float, weights: Array, theta: Array) -> Array:
    """Of each replicate, given by how often it holds each observation: ``weights[observation, replicate]``."""
    found = []
    for w in weights.T:
        V = ridge * np.eye(X.shape[1]) + (X.T * w) @ X
        off = np.linalg.solve(V, (X.T * w) @ y) - theta
        found.append(math.sqrt(max(off @ V @ off, 0.0)))
    return np.array(found)


def byte_law(rate: float) -> tuple[list[int], list[float], float]:
    """The Poisson law as a mixture: 256 weights, one per byte, and the probabilities of a rest with its share."""
    law = [256 * math.exp(-rate) * rate**k / math.factorial(k) for k in range(21)]
    cells = [0, *(round(p) if p > 32 else math.floor(p) for p in law[1:5])]
    cells[0] = 256 - sum(cells)
    share = 1 - min(1.0, *(p / c for p, c in zip(law, cells, strict=False) if c))
    rest = [max(p - (1 - share) * c, 0) for p, c in zip(law, cells + [0] * 16, strict=True)]
    return [k for k in range(5) for _ in range(cells[k])], [r / sum(rest) for r in rest], share


def first_above(probabilities: Sequence[float], u: float) -> int:
    """The first ``k`` with ``P(N <= k) > u``, the last one at most."""
    k, below = 0, probabilities[0]
    while u >= below and k + 1 < len(probabilities):
        k += 1
        below += probabilities[k]
    return k


def resampled_weights(n: int, generators: Sequence[XorShift]) -> Array:
    """How often each of ``n`` draws with replacement took each observation, one column per generator.

    Poisson weights of a rate that leaves 1.5 standard deviations to draw, by bytes; some are marked and drawn again from
    the rest of the law; then places ``floor(n u)`` are added, or taken away where the weight is above five random bits.
    """
    weights = np.zeros((n, len(generators)), dtype=int)
    rate = 1 - 1.5 / math.sqrt(max(n, 1))
    if rate > 0:
        by_byte, rest, share = byte_law(rate)
        for first in range(0, n, 8):
            found = [by_byte[byte] for g in generators for byte in g.word().to_bytes(8, "little")]
            rows = np.reshape(found, (8, len(generators)))
            weights[first : first + 8] = rows[: n - first]
        mean = -n * math.log(1 - share)
        marks = [math.exp(-mean) * mean**k / math.factorial(k) for k in range(100)]
        for b, drawn in enumerate([g.word() for g in generators]):
            for _ in range(first_above(marks, (drawn >> 11) / 2**53)):
                word = generators[b].word()
                weights[(n * (word >> 32)) >> 32, b] = first_above(rest, (word & 0xFFFFFFFF) / 2**32)
    for b, g in enumerate(generators):
        while weights[:, b].sum() != n:
            word = g.word()
            place, other = (n * (word >> 32)) >> 32, (n * (word & 0xFFFFFFFF)) >> 32
            if weights[:, b].sum() < n:
                weights[place, b] += 1
                weights[other, b] += weights[:, b].sum() < n
            elif weights[place, b] > (word & 0xFFFFFFFF) >> 27:
                weights[place, b] -= 1
    return weights


def by_action(X: Array) -> list[int]:
    """The observations' numbers, action by action in the order of their first observation."""
    actions = distinct(X)
    return sorted(range(len(X)), key=lambda i: actions.index(tuple(X[i].tolist())))


def poisson_weights(n: int, rng: np.random.Generator) -> Array:
    """Poisson(1) counts by inversion: the first ``k`` with ``P(N <= k) > u``."""
    counts = np.zeros(n)
    for b in range(n):
        u, k, below = rng.random(), 0, math.exp(-1)
        while u >= below and k < 40:
            k += 1
            below += math.exp(-1) / math.factorial(k)
        counts[b] = k
    return counts


def order_statistic(draws: Array, level: float) -> float:
    """The ``(floor(B level) + 1)``-th largest draw."""
    return np.sort(draws)[::-1][min(math.floor(len(draws) * level + 1e-9), len(draws) - 1)]


def bootstrapped_ucb(
    mode: str,
    n_resamples: int,
    rng: np.random.Generator,
    *,
    kind: str = "closed-form",
    sigma: float = 1.0,
    ridge: float = 1.0,
    bound: float = 0.0,
):
    """Scores of BUCBL: ``x'theta + (q + beta/sqrt(n)) |x|``, resampled anew or with weights drawn once."""
    generators = seeded(n_resamples, rng) if mode == "resampled" else []
    weights: list[Array] = []

    def scores(X: Array, y: Array, actions: Array, t: int) -> Array:
        n = len(X)
        theta = estimate(X, y, ridge)
        if mode == "resampled":
            order = by_action(X)
            draws = weighted_distances(X[order], y[order], ridge, resampled_weights(n, generators), theta)
        else:
            weights.extend(poisson_weights(n_resamples, rng) for _ in range(n - len(weights)))
            draws = weighted_distances(X, y, ridge, np.array(weights).reshape(n, n_resamples), theta)
        beta = radius(kind, X, anytime(t), sigma, ridge, bound)
        return optimistic_scores(X, y, ridge, actions, order_statistic(draws, anytime(t)) + beta / math.sqrt(max(n, 1)))

    return scores


def multiplied_ucb(mode: str, draw: Callable[[np.random.Generator], Array], rng: np.random.Generator):
    """Scores of BUCBL whose observations count ``draw(rng)`` times in the replicates, drawn anew or once; ridge 1."""
    kept: list[Array] = []

    def scores(X: Array, y: Array, actions: Array, t: int) -> Array:
        n = len(X)
        if mode == "resampled":
            kept.clear()
        kept.extend(draw(rng) for _ in range(n - len(kept)))
        theta = estimate(X, y, 1.0)
        lengths = weighted_distances(X, y, 1.0, np.array(kept), theta) if n else np.zeros(1)
        beta = radius("closed-form", X, anytime(t), 1.0, 1.0, 0.0)
        return optimistic_scores(X, y, 1.0, actions, order_statistic(lengths, anytime(t)) + beta / math.sqrt(max(n, 1)))

    return scores


# --- randomised policies ----------------------------------------------------------------------------------------------


def spread(inflation: str, d: int, t: int, sigma: float = 1.0, delta: float = 0.1) -> float:
    """``v`` of Thompson sampling."""
    factors = {
        "none": 1.0,
        "paper": math.sqrt(d * math.log(1 / anytime(t))),
        "agrawal-goyal": math.sqrt(9 * d * math.log(t / delta)),
    }
    return sigma * factors[inflation]


def posterior(X: Array, y: Array, ridge: float, v: float) -> tuple[Array, Array]:
    """Mean and covariance of the draw."""
    return estimate(X, y, ridge), v**2 * np.linalg.inv(gram(X, ridge))


def linear_ts(
    rng: np.random.Generator, inflation: str = "none", sigma: float = 1.0, ridge: float = 1.0, delta: float = 0.1
):
    """Scores ``x'theta~``, ``theta~ = theta + v R^-1 eta`` with Cholesky's ``V = R'R``."""

    def scores(X: Array, y: Array, actions: Array, t: int) -> Array:
        d = X.shape[1]
        R = np.linalg.cholesky(gram(X, ridge)).T
        eta = np.array([rng.standard_normal() for _ in range(d)])
        return actions @ (estimate(X, y, ridge) + spread(inflation, d, t, sigma, delta) * np.linalg.solve(R, eta))

    return scores


def distinct(X: Array) -> list[tuple[float, ...]]:
    """The different observed actions in the order of their first observation."""
    return list(dict.fromkeys(map(tuple, X.tolist())))


def linear_phe(rng: np.random.Generator, a: int = 2, ridge: float = 1.0, lower: float = 0.0, upper: float = 1.0):
    """Scores ``x'theta~`` of a history with ``a`` pseudo-rewards per observation, a binomial draw for each action seen."""

    def scores(X: Array, y: Array, actions: Array, t: int) -> Array:
        total = X.T @ y
        for x in distinct(X):
            n = a * int((x == X).all(axis=1).sum())
            high = rng.binomial(n, 0.5)
            total = total + np.array(x) * (high * upper + (n - high) * lower)
        return actions @ np.linalg.solve((a + 1) * gram(X, ridge), total)

    return scores


def linear_reboot(rng: np.random.Generator, omega: float = 1.0, ridge: float = 0.1):
    """Draws from ``N(x'theta, omega^2 RSS/n^2)``, infinite for an action never taken."""

    def scores(X: Array, y: Array, actions: Array, t: int) -> Array:
        theta = estimate(X, y, ridge)
        found = []
        for x in actions:
            own = y[(x == X).all(axis=1)]
            if own.size == 0:
                found.append(math.inf)
            else:
                rss = np.sum((own - x @ theta) ** 2)
                found.append(x @ theta + omega * math.sqrt(rss) / own.size * rng.standard_normal())
        return np.array(found)

    return scores


def random_first(scores, rounds: int, rng: np.random.Generator):
    """Scores of a policy that draws its action at random in its first rounds: all for one, whatever was observed."""

    def one(X: Array, y: Array, actions: Array, t: int) -> Array:
        if t > rounds:
            return scores(X, y, actions, t)
        return np.where(np.arange(len(actions)) == int(rng.random() * len(actions)), math.inf, 0.0)

    return one


# --- play -------------------------------------------------------------------------------------------------------------


def play(
    scores: Callable[[Array, Array, Array, int], Array], action_sets: Array, tape: Array, horizon: int
) -> tuple[list[int], float]:
    """Choices of the highest score, the first among equals; and the narrowest win.

    Rounds with a score that is infinite, or with all scores the same, do not count: rounding decides nothing there.
    """
    X, y = np.zeros((0, action_sets.shape[2])), np.zeros(0)
    pulls = [0] * len(tape)
    choices: list[int] = []
    narrowest = math.inf
    for t in range(1, horizon + 1):
        fixed = len(action_sets) == 1
        actions = action_sets[0 if fixed else t - 1]
        found = scores(X, y, actions, t)
        arm = int(np.argmax(found))
        if len(actions) > 1 and np.isfinite(found).all() and np.ptp(found) > 0:
            best, second = np.sort(found)[::-1][:2]
            narrowest = min(narrowest, best - second)
        reward = tape[arm, pulls[arm] if fixed else t - 1]
        pulls[arm] += 1
        X, y = np.vstack([X, actions[arm]]), np.append(y, reward)
        choices.append(arm)
    return choices, narrowest
