"""The betting bound for symmetric rewards, with no scale and no range."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.seeds import Seed
from bandstrap.bounds.betting import CAPITAL_ROUNDING, CAPITAL_SLACK, capital_rounding, log_average
from bandstrap.bounds.bound import Bound, BoundOptions, Side, Threshold, build, register, too_few
from bandstrap.bounds.order import AT_ALL_SIZES, check_order, check_orders, order_name, order_seeds, read_in_orders
from bandstrap.engine.compiler.kernel import entry, jitable
from bandstrap.errors import check_sample, near_one, sample_mean


@jitable
def scale_free_bets(y: Floats, alpha: float, of_fixed_size: bool, bets: Floats) -> None:
    """``sqrt(2 log(1/alpha) / (v_{i-1} i log(1 + i)))``, or for ``n`` rewards ``sqrt(2 log(1/alpha) / (v_{i-1} n))``.

    ``v`` is the running variance; while that is 0, so is the bet.
    """
    mean = 0.0
    square = 0.0
    for i in range(y.size):
        bets[i] = 0.0
        if square > 0.0:
            variance = square / i
            size = float(y.size) if of_fixed_size else (i + 1) * math.log(2.0 + i)
            bets[i] = math.sqrt(2.0 * math.log(1.0 / alpha) / (variance * size))
        change = y[i] - mean
        mean += change / (i + 1)
        square += change * (y[i] - mean)


@jitable
def log_capitals(y: Floats, bets: Floats, centre: float) -> tuple[float, float]:
    """``sum log(1 - tanh(bet (y - centre)))``: the largest over the path, and at its end; both rise with ``centre``."""
    capital = 0.0
    largest = 0.0
    for i in range(y.size):
        v = 2.0 * bets[i] * (y[i] - centre)
        # log(1 - tanh(v/2)) = log 2 - log(1 + e^v), without overflow
        capital += math.log(2.0) - (v + math.log1p(math.exp(-v)) if v > 0.0 else math.log1p(math.exp(v)))
        largest = max(largest, capital)
    return largest, capital


@jitable
def log_capital(orders: Floats, bets: Floats, centre: float, in_order: bool, logs: Floats) -> float:
    """Logarithm of the largest capital of the one order given, or of the average that several orders end with."""
    if in_order:
        return log_capitals(orders[0], bets[0], centre)[0]
    for k in range(len(orders)):
        logs[k] = log_capitals(orders[k], bets[k], centre)[1]
    return log_average(logs)


@jitable
def symmetric_end(orders: Floats, alpha: float, in_order: bool) -> float:
    """``sup {x : the capital against x is below 1/alpha}``, or has stayed so where rewards are read ``in_order``."""
    bets = np.empty(orders.shape)
    logs = np.empty(len(orders))
    for k in range(len(orders)):
        scale_free_bets(orders[k], alpha, not in_order, bets[k])
        # A bet never quite doubles the capital.
        logs[k] = (bets[k] > 0.0).sum() * math.log(2.0)
    rounding = CAPITAL_ROUNDING if in_order else capital_rounding(orders.shape[1], 0.0)
    target = math.log(1.0 / alpha) + rounding
    if log_average(logs) <= target * (1.0 + 1e-12):
        return math.inf
    low = orders[0].min()
    high = orders[0].max()
    spread = high - low
    while log_capital(orders, bets, high, in_order, logs) < target:
        low = high
        high += spread
        spread *= 2.0
    spread = high - low
    while log_capital(orders, bets, low, in_order, logs) >= target:
        high = low
        low -= spread
        spread *= 2.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if log_capital(orders, bets, middle, in_order, logs) < target:
            low = middle
        else:
            high = middle
    return high


def why_no_end(n: int, alpha: float) -> str:
    """Reason why :func:`symmetric_end` may be infinite: the first two rewards set the scale, and each later one is
    one bet.
    """
    needed = 3 + math.floor((math.log(1.0 / alpha) + CAPITAL_ROUNDING) * (1.0 + 1e-12) / math.log(2.0))
    if n < needed:
        return too_few(n, needed, alpha)
    return "the bound is infinite: too many of the first rewards are equal, which gives no scale for the bets"


@entry
def symmetric_betting_batch(orders: Floats, alpha: float, in_order: bool, out: Floats) -> None:
    """:func:`symmetric_end` of each sample, given in one order or several."""
    for i in range(orders.shape[0]):
        out[i] = symmetric_end(orders[i], alpha, in_order)


@entry
def log_capital_batch(orders: Floats, alpha: float, in_order: bool, centre: Floats, out: Floats) -> None:
    """:func:`log_capital` against the centre of each sample."""
    bets = np.empty(orders.shape[1:])
    logs = np.empty(orders.shape[1])
    for i in range(orders.shape[0]):
        for k in range(orders.shape[1]):
            scale_free_bets(orders[i, k], alpha, not in_order, bets[k])
        out[i] = log_capital(orders[i], bets, centre[i], in_order, logs)


def read(
    rows: Floats, rewards: Floats, seed: int | None, in_order: bool, n_orders: int
) -> Iterator[tuple[slice, Floats]]:
    """Scaled rewards of shape ``(rows, n)`` in the order given or in random ones, some at a time."""
    if in_order:
        return iter([(slice(None), rows[:, None])])
    return read_in_orders(rows, n_orders, order_seeds(seed, rewards))


def covers(rewards: Floats, alpha: float, mean: float, mirrored: bool, options: BoundOptions) -> NDArray[np.bool_]:
    """Return whether the capital against ``mean``, which rises with it, is clearly below ``1/alpha``."""
    seed, is_in_order = check_order(options.get("seed"), options.get("in_order", False), "symmetric_betting")
    n_orders = check_orders(options.get("n_orders"), rewards.shape[-1], "symmetric_betting")
    rows, exponents = near_one(rewards)
    centres = np.ldexp(mean, -exponents)
    capital = np.empty(len(rows))
    for some, orders in read(rows, rewards, seed, is_in_order, n_orders):
        log_capital_batch(float(orders.size), orders, alpha, is_in_order, centres[some], capital[some])
    return capital < math.log(1.0 / alpha) - CAPITAL_SLACK


@register(assumes=("symmetric",), walks=True, covers=covers)
def symmetric_betting(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    seed: Seed = None,
    in_order: bool = False,
    n_orders: int | None = None,
    check: bool = True,
) -> Bound:
    r"""Betting bound for symmetric rewards, with no scale and no range.

    .. math:: \sup\Bigl\{x : \frac1K \sum_{k=1}^K \prod_{i=1}^n (1 - \tanh(\lambda_{ki} (y_{ki} - x))) < 1/\alpha\Bigr\}

    with ``y_k1, ..., y_kn`` the rewards in the random order ``k``. With ``in_order=True`` the rewards are read in the order
    given, and the bound is time-uniform:

    .. math:: \sup\Bigl\{x : \max_{t \le n} \prod_{i \le t} (1 - \tanh(\lambda_i (y_i - x))) < 1/\alpha\Bigr\}

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    seed, in_order, n_orders
        As in :func:`bandstrap.bounds.betting`: by default the rewards are read in 16 random orders, drawn with a seed
        derived from the rewards. With ``in_order=True`` they are read in the order given.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        By default for a sample size fixed in advance; with ``in_order=True`` for every prefix of the sample at once.
        Infinite for the first few rewards: the first two set the scale, and each later one at most doubles the capital.
        An outlier moves the sample mean but hardly the bound, so the interval may exclude the sample mean.

    See Also
    --------
    bandstrap.bounds.sign_flip : prefer it for a sample size fixed in advance; it is narrower there.

    Notes
    -----
    ``tanh`` is odd, so for rewards symmetric about ``mu`` each factor has mean 1 at ``x = mu`` for any bet. In each order
    the product is a martingale. Ville's inequality bounds the probability that the product in the order given ever reaches
    ``1/alpha``. Markov's inequality bounds the probability that the average over several orders ends there, as in
    :func:`bandstrap.bounds.betting`. Every factor rises with ``x``, so the means not rejected are a half line. The bets are
    ``sqrt(2 log(1/alpha) / (v_{i-1} n))``, and with ``in_order=True`` ``sqrt(2 log(1/alpha) / (v_{i-1} i log(1 + i)))``,
    with ``v`` the variance of earlier rewards only.

    Examples
    --------
    >>> from bandstrap.bounds import symmetric_betting
    >>> rewards = [0.4, -0.3, 0.1, 0.7, -0.6, 0.2, 0.0, -0.2, 0.5, -0.1]
    >>> symmetric_betting(rewards, 0.05).value
    0.4736

    References
    ----------
    .. [1] Ramdas, Ruf, Larsson, Koolen. Admissible anytime-valid sequential inference must rely on nonnegative
       martingales. 2020: martingales of this kind for symmetric distributions go back to de la Pena (1999).
    """
    rewards = check_sample(sample, "symmetric_betting")
    drawn, is_in_order = check_order(seed, in_order, "symmetric_betting")
    orders = check_orders(n_orders, rewards.shape[-1], "symmetric_betting")

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        rows, exponents = near_one(rewards.reshape(-1, rewards.shape[-1]))
        out = np.empty(len(rows))
        for some, paths in read(rows, rewards, drawn, is_in_order, orders):
            symmetric_betting_batch(60.0 * paths.size, paths, alpha, is_in_order, out[some])
        with np.errstate(over="ignore"):
            end = np.ldexp(out, exponents).reshape(rewards.shape[:-1])
            main = end - sample_mean(rewards)
        return Threshold(main, {"main": main}, "martingale", end, why_no_end(rewards.shape[-1], alpha))

    return build(
        "symmetric_betting",
        rewards,
        alpha,
        side,
        threshold,
        guarantee=alpha,
        holds_for="independent rewards symmetric about their mean" + (AT_ALL_SIZES if is_in_order else ""),
        order=order_name(seed, is_in_order),
        check=check,
    )
