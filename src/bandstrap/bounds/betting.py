"""The betting bound: for bounded rewards, the means against which a gambler has not grown rich."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.seeds import Seed
from bandstrap.bounds.bound import (
    Bound,
    BoundOptions,
    Side,
    Support,
    Threshold,
    build,
    check_support,
    mirror,
    register,
    rewards_inside,
    scale_inside,
    scale_to_support,
)
from bandstrap.bounds.order import AT_ALL_SIZES, check_order, check_orders, order_name, order_seeds, read_in_orders
from bandstrap.engine.compiler.kernel import entry, jitable
from bandstrap.errors import check_number, check_sample, sample_mean

# The logarithm of the capital is rounded by less than this; without it a capital of just 1/alpha could pass for more.
CAPITAL_ROUNDING = 1e-12
# A capital whose logarithm is below that of 1/alpha by this much is so at every mean that rounding may mistake for another.
CAPITAL_SLACK = 1e-6
# The authors'.
DEFAULT_SHARE = 0.5
# Steps in which an end is found in several orders, and factors that are multiplied before their logarithm is taken.
MOST_STEPS = 100
FACTORS = 8


@jitable
def running_variances(y: Floats, out: Floats) -> None:
    """``v_{i-1} = (1/4 + sum_{j<i} (y_j - m_j)^2)/i``, with ``m`` a running mean, of rewards in [0, 1]."""
    square = 0.25
    total = 0.5
    for i in range(y.size):
        out[i] = square / (i + 1)
        total += y[i]
        deviation = y[i] - total / (i + 2)
        square += deviation * deviation


@jitable
def predictable_bets(y: Floats, alpha: float, bets: Floats) -> None:
    """``sqrt(2 log(1/alpha) / (v_{i-1} i log(1 + i)))``, for all sample sizes."""
    running_variances(y, bets)
    for i in range(y.size):
        bets[i] = math.sqrt(2.0 * math.log(1.0 / alpha) / (bets[i] * (i + 1) * math.log(2.0 + i)))


@jitable
def fixed_size_bets(y: Floats, alpha: float, bets: Floats) -> None:
    """``sqrt(2 log(1/alpha) / (v_{i-1} n))``, for ``n`` rewards."""
    running_variances(y, bets)
    for i in range(y.size):
        bets[i] = math.sqrt(2.0 * math.log(1.0 / alpha) / (bets[i] * y.size))


@jitable
def largest_log_capital(y: Floats, bets: Floats, mean: float, share: float) -> float:
    """Largest log capital over the path when betting that the mean is below ``mean``; rises with ``mean``."""
    most = share / (1.0 - mean) if mean < 1.0 else math.inf
    capital = 0.0
    largest = 0.0
    for i in range(y.size):
        capital += math.log1p(min(bets[i], most) * (mean - y[i]))
        largest = max(largest, capital)
    return largest


@jitable
def final_log_capital(y: Floats, bets: Floats, mean: float, share: float) -> float:
    """Log capital at the end of the path; rises with ``mean``."""
    most = share / (1.0 - mean) if mean < 1.0 else math.inf
    capital = 0.0
    product = 1.0
    for i in range(y.size):
        product *= 1.0 + min(bets[i], most) * (mean - y[i])
        if (i + 1) % FACTORS == 0:
            capital += math.log(product)
            product = 1.0
    return capital + math.log(product)


@jitable
def log_average(logs: Floats) -> float:
    """``log((e^l_1 + ... + e^l_K)/K)`` without overflow."""
    largest = logs.max()
    total = 0.0
    for each in logs:
        total += math.exp(each - largest)
    return largest + math.log(total / logs.size)


@jitable
def average_log_capital(orders: Floats, bets: Floats, mean: float, share: float, logs: Floats) -> float:
    """Logarithm of the capital that several orders of a sample end with on average; rises with ``mean``."""
    for k in range(len(orders)):
        logs[k] = final_log_capital(orders[k], bets[k], mean, share)
    return log_average(logs)


@jitable
def capital_rounding(n: int, share: float) -> float:
    """Largest rounding error of the logarithm of a product of ``n`` factors of at least ``1 - share``."""
    return CAPITAL_ROUNDING + n * 2.0**-50 / (1.0 - share)


@jitable
def betting_end(y: Floats, alpha: float, share: float) -> float:
    """``sup {m : the capital against m has stayed below 1/alpha}`` for rewards in [0, 1]."""
    bets = np.empty(y.size)
    predictable_bets(y, alpha, bets)
    target = math.log(1.0 / alpha) + CAPITAL_ROUNDING
    low = 0.0
    high = 1.0
    if largest_log_capital(y, bets, high, share) < target:
        return high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if largest_log_capital(y, bets, middle, share) < target:
            low = middle
        else:
            high = middle
    return high


@jitable
def average_end(orders: Floats, alpha: float, share: float) -> float:
    """``inf {m : the average capital against m is 1/alpha or more}`` for orders of rewards in [0, 1]; 1 if there is none.

    By the secant through both ends of an interval, where the value at an end that stays is halved each time (Illinois).
    """
    bets = np.empty(orders.shape)
    for k in range(len(orders)):
        fixed_size_bets(orders[k], alpha, bets[k])
    logs = np.empty(len(orders))
    target = math.log(1.0 / alpha) + capital_rounding(orders.shape[1], share)
    low = 0.0
    high = 1.0
    below = average_log_capital(orders, bets, low, share, logs) - target
    above = average_log_capital(orders, bets, high, share, logs) - target
    if above < 0.0:
        return high
    stayed = 0
    for step in range(MOST_STEPS):
        width = high - low
        # Now and then by halves, since secants may be slow.
        middle = 0.5 * (low + high) if step % 4 == 3 else low + width * (below / (below - above))
        # Not at an end but a little inside: then both close in.
        middle = min(max(middle, low + 2.0**-53), high - 2.0**-53)
        if not low < middle < high:
            break
        found = average_log_capital(orders, bets, middle, share, logs) - target
        if found < 0.0:
            low = middle
            below = found
            above *= 0.5 if stayed == 1 else 1.0
            stayed = 1
        else:
            high = middle
            above = found
            below *= 0.5 if stayed == 2 else 1.0
            stayed = 2
    return high


@entry
def betting_batch(rows: Floats, alpha: float, share: float, out: Floats) -> None:
    """:func:`betting_end` row by row."""
    for i in range(rows.shape[0]):
        out[i] = betting_end(rows[i], alpha, share)


@entry
def average_batch(orders: Floats, alpha: float, share: float, out: Floats) -> None:
    """:func:`average_end` of each sample, given in several orders."""
    for i in range(orders.shape[0]):
        out[i] = average_end(orders[i], alpha, share)


@entry
def log_capital_batch(rows: Floats, alpha: float, share: float, mean: float, out: Floats) -> None:
    """:func:`largest_log_capital` against one mean, row by row."""
    bets = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        predictable_bets(rows[i], alpha, bets)
        out[i] = largest_log_capital(rows[i], bets, mean, share)


@entry
def average_capital_batch(orders: Floats, alpha: float, share: float, mean: float, out: Floats) -> None:
    """:func:`average_log_capital` against one mean, sample by sample."""
    bets = np.empty(orders.shape[1:])
    logs = np.empty(orders.shape[1])
    for i in range(orders.shape[0]):
        for k in range(orders.shape[1]):
            fixed_size_bets(orders[i, k], alpha, bets[k])
        out[i] = average_log_capital(orders[i], bets, mean, share, logs)


def average_ends(blocks: Iterable[tuple[slice, Floats]], n_rows: int, alpha: float, share: float) -> Floats:
    """:func:`average_end` of samples that are read in orders some at a time."""
    out = np.empty(n_rows)
    for some, orders in blocks:
        average_batch(15.0 * orders.size, orders, alpha, share, out[some])
    return out


def place_in_support(shares: Floats, support: Support) -> Floats:
    """The number that is this share of the way through the support.

    Rounded up, twice for the two roundings of a share, but not beyond the end of the support.
    """
    low, high = support
    above = np.nextafter(low + (high - low) * np.nextafter(np.nextafter(shares, 2.0), 2.0), np.inf)
    return np.where(shares == 1.0, high, np.minimum(above, high))


def covers(rewards: Floats, alpha: float, mean: float, mirrored: bool, options: BoundOptions) -> NDArray[np.bool_]:
    """Return whether the capital against ``mean``, which rises with it, is clearly below ``1/alpha``."""
    ends = check_support(options.get("support"), "betting")
    seed, is_in_order = check_order(options.get("seed"), options.get("in_order", False), "betting")
    scaled, (low, high), exponent = scale_to_support(rewards, mirror(ends, mirrored))
    capital = np.empty(len(rewards))
    place = float((np.ldexp(mean, -exponent) - low) / (high - low))
    rows = (scaled - low) / (high - low)
    share = options.get("share", DEFAULT_SHARE)
    if is_in_order:
        log_capital_batch(float(rows.size), rows, alpha, share, place, capital)
    else:
        n_orders = check_orders(options.get("n_orders"), rows.shape[-1], "betting")
        for some, orders in read_in_orders(rows, n_orders, order_seeds(seed, rewards)):
            average_capital_batch(float(orders.size), orders, alpha, share, place, capital[some])
    return capital < math.log(1.0 / alpha) - CAPITAL_SLACK


@register(assumes=("bounded",), needs=("support",), walks=True, covers=covers)
def betting(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    support: tuple[float, float] | None = None,
    share: float = DEFAULT_SHARE,
    seed: Seed = None,
    in_order: bool = False,
    n_orders: int | None = None,
    check: bool = True,
) -> Bound:
    r"""Betting bound for bounded rewards; valid at all sample sizes together with ``in_order=True``.

    .. math:: \sup\Bigl\{m : \frac1K \sum_{k=1}^K \prod_{i=1}^n (1 - \lambda_{ki} (y_{ki} - m)) < 1/\alpha\Bigr\}

    with ``y_k1, ..., y_kn`` the rewards in the random order ``k``. With ``in_order=True`` the rewards are read in the order
    given, and the bound is time-uniform:

    .. math:: \sup\Bigl\{m : \max_{t \le n} \prod_{i \le t} (1 - \lambda_i (y_i - m)) < 1/\alpha\Bigr\}

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    support
        The interval ``(low, high)`` the rewards lie in.
    share
        Largest share of the capital put at risk in one bet; the default is the authors'.
    seed
        Seed or generator of the random orders. By default it is derived from the rewards of each sample; a given seed
        serves all samples of a batch.
    in_order
        Read the rewards in the order given, which must be the order in which they came. A sample sorted by the rewards,
        or by anything related to them, invalidates the bound.
    n_orders
        Number ``K`` of random orders. Default: 16, or ``2^21/n`` if that is less, but at least 2.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        By default for a sample size fixed in advance; it never excludes the sample mean. With ``in_order=True`` it
        holds for every prefix of the sample at once, so it may be looked at after every reward. If the rewards drift,
        the interval may then be empty: both ends are ``nan``, with a note and a warning. ``order`` tells which.

    See Also
    --------
    bandstrap.bounds.symmetric_betting : for symmetric rewards without a known support.
    bandstrap.bounds.empirical_kl : for a sample size fixed in advance, without random orders.

    Notes
    -----
    On [0, 1] the bets are ``min(share/(1 - m), sqrt(2 log(1/alpha) / (v_{i-1} n)))``, and with ``in_order=True``
    ``min(share/(1 - m), sqrt(2 log(1/alpha) / (v_{i-1} i log(1 + i))))``, with ``v`` a running variance. Each bet
    depends only on earlier rewards of its order. So every factor has conditional mean 1 at the true mean.

    *One order.* The capital is a martingale that starts with 1. Ville's inequality bounds the probability that it ever
    reaches ``1/alpha``.

    *Several orders.* The rewards have the same distribution in every order. So each final capital has mean 1, and so has
    their average. Markov's inequality bounds the probability that it reaches ``1/alpha``. This needs independent,
    identically distributed rewards, and orders that do not depend on the order given. Orders from a derived seed do not
    depend on it (see ``bandstrap.bounds.order``). The running maximum of the capital has a larger mean, so maxima cannot be
    averaged.

    *A half line.* A factor ``1 + b (m - y)`` increases with ``m``. If the bet is truncated, the factor is
    ``1 + share (m - y)/(1 - m)``, whose derivative has the sign of ``1 - y``. So every capital, and their average,
    increases with ``m``: the means not rejected form a half line.

    *The sample mean* is not excluded, except with ``in_order=True``. A bound beyond the sample mean is moved to it,
    which can only lower the miss probability. This needs one lucky order with most of the capital; it occurred in none
    of 100,000 samples.

    Examples
    --------
    >>> from bandstrap.bounds import betting
    >>> betting([0.2, 0.9, 0.4, 0.5] * 10, 0.05, support=(0, 1)).value
    0.605
    >>> betting([0.2, 0.9, 0.4, 0.5] * 10, 0.05, support=(0, 1), in_order=True).value
    0.608

    References
    ----------
    .. [1] Waudby-Smith, Ramdas. Estimating means of bounded random variables by betting. JRSS B 86, 2024.
    .. [2] Vovk, Wang. E-values: calibration, combination and applications. Annals of Statistics 49, 2021: averages.
    """
    rewards = check_sample(sample, "betting")
    ends = check_support(support, "betting")
    share = check_number(share, "share", "betting", above=0, below=1)
    drawn, is_in_order = check_order(seed, in_order, "betting")
    orders = check_orders(n_orders, rewards.shape[-1], "betting")

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        scaled, (low, high), exponent = scale_inside(rewards, ends, "betting", mirrored)
        rows = (scaled.reshape(-1, rewards.shape[-1]) - low) / (high - low)
        if is_in_order:
            out = np.empty(len(rows))
            betting_batch(60.0 * rows.size, rows, alpha, share, out)
        else:
            out = average_ends(read_in_orders(rows, orders, order_seeds(drawn, rewards)), len(rows), alpha, share)
        shares = out.reshape(rewards.shape[:-1])
        above = place_in_support(shares, (low, high))
        if not is_in_order:
            above = np.maximum(above, sample_mean(scaled))
        with np.errstate(over="ignore"):
            end, main = np.ldexp(above, exponent), np.ldexp(above - sample_mean(scaled), exponent)
        return Threshold(main, {"main": main}, "martingale", end)

    return build(
        "betting",
        rewards,
        alpha,
        side,
        threshold,
        guarantee=alpha,
        holds_for=rewards_inside(ends) + (AT_ALL_SIZES if is_in_order else ""),
        order=order_name(seed, is_in_order),
        check=check,
    )
