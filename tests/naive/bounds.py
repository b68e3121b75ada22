"""Slow oracles of the bounds, from the formulas and from nothing of the package; and the laws they are tried on."""

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from scipy import optimize, stats

# --- the random-subset mean ------------------------------------------------------------------------------------------


def subset_mean_quantile(sample: Sequence[float], level: float) -> float:
    """:func:`exact_subset_mean_quantile` as a float."""
    return float(exact_subset_mean_quantile(sample, level))


def exact_subset_mean_quantile(sample: Sequence[float | Fraction], level: float) -> Fraction | float:
    """``inf {x : P(mean of a random subset > x) <= level}``, the empty subset counting as +inf: all ``2^n`` of them.

    The tail falls at subset means only, so the infimum is one of those.
    """
    values = [Fraction(y) for y in sample]
    n = len(values)
    means = sorted(sum(s) / len(s) for size in range(1, n + 1) for s in itertools.combinations(values, size))
    for x in means:
        above = 1 + len(means) - bisect.bisect_right(means, x)  # the empty subset is always above
        if Fraction(above, 2**n) <= Fraction(level):
            return x
    return math.inf


def is_missed(sample: Sequence[int], mean: int, level: float) -> bool:
    """Whether the exact quantile of whole numbers lies below ``mean``: ``P(subset mean >= mean) <= level``, in fractions.

    The number of subsets by their sum of ``y - mean`` is convolved reward by reward, in whole numbers without bounds; the
    empty subset has the sum 0 and is counted by that.
    """
    ways = {0: 1}
    for y in sample:
        longer = dict(ways)
        for total, count in ways.items():
            moved = total + y - mean
            longer[moved] = longer.get(moved, 0) + count
        ways = longer
    above = sum(count for total, count in ways.items() if total >= 0)
    return Fraction(above, 2 ** len(sample)) <= Fraction(level)


def count_subset_means_above(sample: Sequence[float], x: float) -> int:
    """How many non-empty subsets have a mean above ``x``, one by one."""
    values = [Fraction(float(y)) for y in sample]
    return sum(
        sum(s) > Fraction(x) * len(s)
        for size in range(1, len(values) + 1)
        for s in itertools.combinations(values, size)
    )


def many_subsets_quantile(sample: Sequence[float], level: float) -> float:
    """:func:`subset_mean_quantile` to ten digits where the subsets are millions: half by half, bisecting ``x``."""
    values = np.asarray(sample, dtype=float)
    n = values.size

    def all_sums(v: np.ndarray) -> np.ndarray:
        sums = np.zeros(1)
        for term in v:
            sums = np.concatenate([sums, sums + term])
        return np.sort(sums)

    def tail(x: float) -> float:
        first, second = all_sums(values[::2] - x), all_sums(values[1::2] - x)
        pairs = int((second.size - np.searchsorted(second, -first, side="right")).sum())
        return (pairs + 1) / 2.0**n

    if 0.5**n > level:
        return math.inf
    low, high = float(values.min()), float(values.max())
    while high - low > 1e-10 * np.ptp(values):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > level else (low, middle)
    return high


# --- signs -----------------------------------------------------------------------------------------------------------


def mean_sign_quantile(n: int, level: float | Fraction) -> float:
    """``inf {x : P(wbar > x) <= level}`` for the mean of ``n`` random signs, in fractions."""
    beyond = Fraction(1)  # P(number of pluses > k)
    for k in range(n + 1):
        beyond -= Fraction(math.comb(n, k), 2**n)
        if beyond <= Fraction(level):
            return (2 * k - n) / n
    raise AssertionError("the tail beyond n is zero")


# --- empirical likelihood ---------------------------------------------------------------------------------------------


def largest_mean_in_ball(sample: Sequence[float], top: float, divergence: float) -> float:
    """``sup {E_q : q on {y_1..y_n, top}, KL(phat, q) <= divergence}`` by constrained minimisation, without the dual.

    With ``q_i = exp(-s_i)/n`` and the rest of the mass on ``top`` the divergence is ``mean(s)``, linear, and what the
    mean lacks to ``top`` is ``mean((top - y) exp(-s))``, convex: every local optimum is the global one.
    """
    y = np.asarray(sample, dtype=float)
    n = y.size
    scale = top - y.min()
    if scale == 0:
        return top
    lacks = (top - y) / scale
    found = optimize.minimize(
        lambda s: np.mean(lacks * np.exp(-s)),
        np.zeros(n),
        jac=lambda s: -lacks * np.exp(-s) / n,
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda s: divergence - s.mean(), "jac": lambda s: np.full(n, -1 / n)},
            {"type": "ineq", "fun": lambda s: 1 - np.exp(-s).mean(), "jac": lambda s: np.exp(-s) / n},
        ],
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    return top - scale * found.fun


# --- betting ----------------------------------------------------------------------------------------------------------


def last_not_rejected(rejected: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> float:
    """``sup {m : not rejected}`` on a grid, and on finer ones between its last point not rejected and the next."""
    if not rejected(np.array([high]))[0]:
        return high
    for _ in range(5):
        grid = np.linspace(low, high, 401)
        last = np.flatnonzero(~rejected(grid))[-1]
        low, high = grid[last], grid[last + 1]
    return low


def betting_capital(
    sample: Sequence[float], alpha: float, means: np.ndarray, share: float, fixed_size: bool = False
) -> np.ndarray:
    """Capital ``prod (1 - l_i (y_i - m))`` after each prefix of rewards in [0, 1]: shape ``(n, means)``."""
    n = len(sample)
    averages = [(0.5 + sum(sample[: j + 1])) / (j + 2) for j in range(n)]
    capital = np.ones_like(means)
    path = []
    with np.errstate(divide="ignore"):
        most = share / (1 - means)
    for i in range(1, n + 1):
        variance = (0.25 + sum((sample[j] - averages[j]) ** 2 for j in range(i - 1))) / i
        size = n if fixed_size else i * math.log(1 + i)
        bet = math.sqrt(2 * math.log(1 / alpha) / (variance * size))
        capital = capital * (1 - np.minimum(bet, most) * (sample[i - 1] - means))
        path.append(capital)
    return np.array(path)


def betting_bound(sample: Sequence[float], alpha: float, share: float = 0.5) -> float:
    """Largest mean in [0, 1] against which the capital stayed below ``1/alpha`` after every prefix."""
    return last_not_rejected(
        lambda means: (betting_capital(sample, alpha, means, share) >= 1 / alpha).any(axis=0), 0.0, 1.0
    )


def average_betting_bound(orders: Sequence[Sequence[float]], alpha: float, share: float = 0.5) -> float:
    """Largest mean in [0, 1] against which the capital of several orders is below ``1/alpha`` on average in the end."""

    def rejected(means: np.ndarray) -> np.ndarray:
        ends = [betting_capital(order, alpha, means, share, fixed_size=True)[-1] for order in orders]
        return np.mean(ends, axis=0) >= 1 / alpha

    return last_not_rejected(rejected, 0.0, 1.0)


def symmetric_bets(sample: Sequence[float], alpha: float, fixed_size: bool = False) -> list[float]:
    """The bets of the symmetric bound, each from the variance (1/n) of the rewards before it."""
    bets = []
    for i in range(1, len(sample) + 1):
        variance = np.var(sample[: i - 1]) if len(set(sample[: i - 1])) > 1 else 0.0
        size = len(sample) if fixed_size else i * math.log(1 + i)
        bets.append(math.sqrt(2 * math.log(1 / alpha) / (variance * size)) if variance > 0 else 0.0)
    return bets


def symmetric_capital(
    sample: Sequence[float], alpha: float, centres: np.ndarray, fixed_size: bool = False
) -> np.ndarray:
    """Capital ``prod exp(-l_i (y_i - x))/cosh(l_i (y_i - x))`` after each prefix: shape ``(n, centres)``."""
    capital = np.ones_like(centres)
    path = []
    for bet, y in zip(symmetric_bets(sample, alpha, fixed_size), sample, strict=True):
        v = np.clip(bet * (y - centres), -300, 300)
        capital = capital * np.exp(-v) / np.cosh(v)
        path.append(capital)
    return np.array(path)


def symmetric_betting_bound(sample: Sequence[float], alpha: float) -> float:
    """Largest centre against which the capital stayed below ``1/alpha`` after every prefix."""
    count = sum(bet > 0 for bet in symmetric_bets(sample, alpha))

    def rejected(centres: np.ndarray) -> np.ndarray:
        return (symmetric_capital(sample, alpha, centres) >= 1 / alpha).any(axis=0)

    return last_centre(rejected, Fraction(2) ** count, alpha, sample)


def average_symmetric_bound(orders: Sequence[Sequence[float]], alpha: float) -> float:
    """Largest centre against which the capital of several orders is below ``1/alpha`` on average in the end."""
    counts = [sum(bet > 0 for bet in symmetric_bets(order, alpha)) for order in orders]

    def rejected(centres: np.ndarray) -> np.ndarray:
        ends = [symmetric_capital(order, alpha, centres, fixed_size=True)[-1] for order in orders]
        return np.mean(ends, axis=0) >= 1 / alpha

    return last_centre(rejected, sum(Fraction(2) ** count for count in counts) / len(counts), alpha, orders[0])


def last_centre(
    rejected: Callable[[np.ndarray], np.ndarray], most: Fraction, alpha: float, sample: Sequence[float]
) -> float:
    """The last centre not rejected; ``most`` is what the capital stays below, as each bet multiplies it by less than 2."""
    if most * Fraction(alpha) <= 1:
        return math.inf
    spread = max(sample) - min(sample)
    low, high = min(sample), max(sample)
    while rejected(np.array([low]))[0]:
        low -= spread
    while not rejected(np.array([high]))[0]:
        high += spread
    return last_not_rejected(rejected, low, high)


# --- sub-Weibull moments ----------------------------------------------------------------------------------------------


def largest_moment(order: float, beta: float) -> float:
    """Largest ``E|y|^order`` under ``E exp(|y|^beta) <= 2``, over all laws on two points of a grid.

    Two linear constraints (probabilities sum to one, the norm) make a linear programme, whose optimum has two points.
    The grid is in ``|y|^beta`` and closes in on the best pair.
    """
    near = far = np.linspace(0, 2 * order / beta + 5, 801)
    best = 0.0
    for _ in range(6):
        a, b = near[:, None], far[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(np.exp(b) <= 2, 1.0, np.clip((2 - np.exp(a)) / (np.exp(b) - np.exp(a)), 0, 1))
        moment = (1 - share) * a ** (order / beta) + share * b ** (order / beta)
        moment = np.where(np.exp(a) <= 2, moment, 0)
        i, j = np.unravel_index(np.argmax(moment), moment.shape)
        best = max(best, float(moment[i, j]))
        steps = (near[1] - near[0], far[1] - far[0])
        near = np.linspace(max(near[i] - steps[0], 0), near[i] + steps[0], 201)
        far = np.linspace(max(far[j] - steps[1], 0), far[j] + steps[1], 201)
    return best


def even_moment_of_sum(n: int, order: int, moments: Sequence[float]) -> float:
    """``E (y_1 + ... + y_n)^order`` from the moments of one, term by term of the multinomial expansion."""
    total = 0.0
    for powers in itertools.product(range(order + 1), repeat=n):
        if sum(powers) == order:
            ways = math.factorial(order)
            for p in powers:
                ways //= math.factorial(p)
            total += ways * math.prod(moments[p] for p in powers)
    return total


def sub_weibull_width(n: int, alpha: float, beta: float, *, symmetric: bool) -> float:
    """``min_k (E S^{2k} / alpha)^{1/(2k)} / n`` with moments up to order ``2 ceil(log(1/alpha) + 8)``."""
    most = 2 * math.ceil(math.log(1 / alpha) + 8)
    moments = [1.0, 0.0]
    moments += [0.0 if symmetric and p % 2 else largest_moment(p, beta) for p in range(2, most + 1)]
    return min((even_moment_of_sum(n, k, moments) / alpha) ** (1 / k) / n for k in range(2, most + 1, 2))


# --- laws and miss counts ---------------------------------------------------------------------------------------------

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def symmetric_weibull(beta: float) -> Draw:
    """``P(|y| > t) = exp(-t^beta)`` with a random sign: its ``psi_beta`` norm is ``2^(1/beta)``."""
    return lambda rng, shape: rng.choice([-1.0, 1.0], shape) * rng.exponential(size=shape) ** (1 / beta)


# Symmetric about 0.
SYMMETRIC: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, size=shape),
    "laplace": lambda rng, shape: rng.laplace(size=shape),
    "t2": lambda rng, shape: rng.standard_t(2, size=shape),
    "weibull-half": symmetric_weibull(0.5),
}
CAUCHY: Draw = lambda rng, shape: rng.standard_cauchy(size=shape)  # noqa: E731

# In [0, 1], with their means.
BOUNDED: dict[str, tuple[Draw, float]] = {
    "uniform": (lambda rng, shape: rng.random(shape), 0.5),
    "bernoulli": (lambda rng, shape: (rng.random(shape) < 0.3).astype(float), 0.3),
    "beta": (lambda rng, shape: rng.beta(4, 1, size=shape), 0.8),
}


def truncated_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A standard normal conditioned on [-1, 1], by inversion."""
    return stats.norm.ppf(rng.uniform(stats.norm.cdf(-1), stats.norm.cdf(1), size=shape))


def critical_count(replications: int, probability: float, error_rate: float) -> int:
    """Smallest ``c`` with ``P(Bin(replications, probability) > c) <= error_rate``."""
    return int(stats.binom.isf(error_rate, replications, min(probability, 1.0)))


# --- rewards of two values --------------------------------------------------------------------------------------------


def binomial_tails(k: int, n: int, p: float | Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """``P(X < k)``, ``P(X = k)`` and ``P(X > k)`` of a binomial ``X``, in fractions."""
    p = Fraction(p)
    mass = [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]
    return sum(mass[:k], Fraction()), mass[k], sum(mass[k + 1 :], Fraction())


def leaves_upper(k: int, n: int, p: float, alpha: float, share: Fraction) -> bool:
    """Whether ``P(X < k) + share P(X = k) >= alpha``: an upper bound from ``k`` successes must not lie below such a ``p``.

    A share of 1 is Clopper and Pearson's, one of 1/2 the mid-p bound.
    """
    below, at, _ = binomial_tails(k, n, p)
    return below + share * at >= Fraction(alpha)


def leaves_lower(k: int, n: int, p: float, alpha: float, share: Fraction) -> bool:
    """The same of a lower bound: ``P(X > k) + share P(X = k) >= alpha``."""
    _, at, above = binomial_tails(k, n, p)
    return above + share * at >= Fraction(alpha)
