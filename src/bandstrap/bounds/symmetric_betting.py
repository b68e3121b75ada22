"""The betting bound for symmetric rewards: time-uniform, with no scale and no range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.arrays import Floats
from bandstrap.bounds.betting import AT_ALL_SIZES, CAPITAL_ROUNDING, CAPITAL_SLACK
from bandstrap.bounds.bound import Bound, Side, Threshold, build, order_name, register, take_order, too_few
from bandstrap.engine.kernel import entry, jitable
from bandstrap.errors import near_one, sample_mean


@jitable
def scale_free_bets(y: Floats, alpha: float, bets: Floats) -> None:
    """``sqrt(2 log(1/alpha) / (v_{i-1} i log(1 + i)))`` with ``v`` the running variance; 0 while that is 0."""
    mean = 0.0
    square = 0.0
    for i in range(y.size):
        bets[i] = 0.0
        if square > 0.0:
            variance = square / i
            bets[i] = math.sqrt(2.0 * math.log(1.0 / alpha) / (variance * (i + 1) * math.log(2.0 + i)))
        change = y[i] - mean
        mean += change / (i + 1)
        square += change * (y[i] - mean)


@jitable
def largest_log_capital(y: Floats, bets: Floats, centre: float) -> float:
    """Largest over the path of ``sum log(1 - tanh(bet (y - centre)))``; rises with ``centre``."""
    capital = 0.0
    largest = 0.0
    for i in range(y.size):
        v = 2.0 * bets[i] * (y[i] - centre)
        # log(1 - tanh(v/2)) = log 2 - log(1 + e^v), without overflow
        capital += math.log(2.0) - (v + math.log1p(math.exp(-v)) if v > 0.0 else math.log1p(math.exp(v)))
        largest = max(largest, capital)
    return largest


@jitable
def symmetric_end(y: Floats, alpha: float) -> float:
    """``sup {x : the capital against x has stayed below 1/alpha}``."""
    bets = np.empty(y.size)
    scale_free_bets(y, alpha, bets)
    target = math.log(1.0 / alpha) + CAPITAL_ROUNDING
    # A bet never quite doubles the capital.
    if (bets > 0.0).sum() * math.log(2.0) <= target * (1.0 + 1e-12):
        return math.inf
    low = y.min()
    high = y.max()
    spread = high - low
    while largest_log_capital(y, bets, high) < target:
        low = high
        high += spread
        spread *= 2.0
    spread = high - low
    while largest_log_capital(y, bets, low) >= target:
        high = low
        low -= spread
        spread *= 2.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if largest_log_capital(y, bets, middle) < target:
            low = middle
        else:
            high = middle
    return high


def why_no_end(n: int, alpha: float) -> str:
    """Why :func:`symmetric_end` may be infinite: the first two rewards set the scale, and each later one is one bet."""
    needed = 3 + math.floor((math.log(1.0 / alpha) + CAPITAL_ROUNDING) * (1.0 + 1e-12) / math.log(2.0))
    if n < needed:
        return too_few(n, needed, alpha)
    return "the bound is infinite, since too many of the first rewards are equal, which sets no scale to bet on"


@entry
def symmetric_betting_batch(rows: Floats, alpha: float, out: Floats) -> None:
    """:func:`symmetric_end` row by row."""
    for i in range(rows.shape[0]):
        out[i] = symmetric_end(rows[i], alpha)


@entry
def log_capital_batch(rows: Floats, alpha: float, centre: Floats, out: Floats) -> None:
    """:func:`largest_log_capital` against the centre of each row."""
    bets = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        scale_free_bets(rows[i], alpha, bets)
        out[i] = largest_log_capital(rows[i], bets, centre[i])


def covers(rewards: Floats, alpha: float, mean: float, mirrored: bool, options: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Whether the capital against ``mean``, which rises with it, has stayed clearly below ``1/alpha``."""
    rows, exponents = near_one(take_order(rewards, options.get("seed"), "symmetric_betting"))
    capital = np.empty(len(rows))
    log_capital_batch(float(rows.size), rows, alpha, np.ldexp(mean, -exponents), capital)
    return capital < math.log(1.0 / alpha) - CAPITAL_SLACK


@register(assumes=("symmetric",), walks=True, covers=covers)
def symmetric_betting(
    sample: ArrayLike, alpha: float, *, side: Side = "upper", seed: int | None = None, check: bool = True
) -> Bound:
    r"""Time-uniform bound for symmetric rewards, with no scale and no range.

    .. math:: \sup\{x : \max_{t \le n} \prod_{i \le t} (1 - \tanh(\lambda_i (y_i - x))) < 1/\alpha\}

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``, in the order they came.
    alpha
        Error probability in (0, 1/2), for all sample sizes together.
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    seed
        Shuffle the rewards with this seed first; by default they are taken in the order given, as in
        :func:`bandstrap.bounds.betting`.
    check
        Test the sample for contradictions of the assumption (default). One that is found becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        Holds for every prefix of the sample at once, unless shuffled. Infinite for the first few rewards: the first two set
        the scale, and each later one at most doubles the capital.

    See Also
    --------
    bandstrap.bounds.sign_flip : prefer it for a sample size fixed in advance; it is narrower there.

    Notes
    -----
    ``tanh`` is odd, so for rewards symmetric about ``mu`` each factor has mean 1 at ``x = mu`` whatever the bet: the
    product is a martingale, and Ville's inequality bounds the chance that it ever reaches ``1/alpha``. Every factor
    rises with ``x``, so the means not rejected are a half line. The bets
    ``sqrt(2 log(1/alpha) / (v_{i-1} i log(1 + i)))`` use the variance ``v`` of earlier rewards only.

    Examples
    --------
    >>> from bandstrap.bounds import symmetric_betting
    >>> rewards = [0.4, -0.3, 0.1, 0.7, -0.6, 0.2, 0.0, -0.2, 0.5, -0.1]
    >>> symmetric_betting(rewards, 0.05).value
    0.5737

    References
    ----------
    .. [1] Ramdas, Ruf, Larsson, Koolen. Admissible anytime-valid sequential inference must rely on nonnegative
       martingales. 2020: martingales of this kind for symmetric laws go back to de la Pena (1999).
    """

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        rows, exponents = near_one(rewards.reshape(-1, rewards.shape[-1]))
        out = np.empty(len(rows))
        symmetric_betting_batch(100.0 * rows.size, rows, alpha, out)
        with np.errstate(over="ignore"):
            end = np.ldexp(out, exponents).reshape(rewards.shape[:-1])
            main = end - sample_mean(rewards)
        return Threshold(main, {"main": main}, "martingale", end, why_no_end(rewards.shape[-1], alpha))

    return build(
        "symmetric_betting",
        take_order(sample, seed, "symmetric_betting"),
        alpha,
        side,
        threshold,
        guarantee=alpha,
        holds_for="independent rewards symmetric about their mean" + AT_ALL_SIZES * (seed is None),
        order=order_name(seed),
        check=check,
    )
