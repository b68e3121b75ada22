"""The betting bound: time-uniform, for bounded rewards."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.arrays import Floats
from bandstrap.bounds.bound import (
    Bound,
    Side,
    Threshold,
    build,
    check_support,
    mirror,
    order_name,
    register,
    rewards_inside,
    scale_inside,
    scale_to_support,
    take_order,
)
from bandstrap.engine.kernel import entry, jitable
from bandstrap.errors import check_number, sample_mean

# The logarithm of the capital is rounded by less than this; without it a capital of just 1/alpha could pass for more.
CAPITAL_ROUNDING = 1e-12
# A capital whose logarithm is below that of 1/alpha by this much is so at every mean that rounding may mistake for another.
CAPITAL_SLACK = 1e-6
# The authors'.
DEFAULT_SHARE = 0.5
# What the order in which rewards came adds to a guarantee; a shuffled sample is of one size.
AT_ALL_SIZES = ", at all sample sizes together"


@jitable
def predictable_bets(y: Floats, alpha: float, bets: Floats) -> None:
    """``sqrt(2 log(1/alpha) / (v_{i-1} i log(1 + i)))``, ``v`` a running variance of rewards in [0, 1]."""
    square = 0.25
    total = 0.5
    for i in range(y.size):
        variance = square / (i + 1)
        bets[i] = math.sqrt(2.0 * math.log(1.0 / alpha) / (variance * (i + 1) * math.log(2.0 + i)))
        total += y[i]
        deviation = y[i] - total / (i + 2)
        square += deviation * deviation


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


@entry
def betting_batch(rows: Floats, alpha: float, share: float, out: Floats) -> None:
    """:func:`betting_end` row by row."""
    for i in range(rows.shape[0]):
        out[i] = betting_end(rows[i], alpha, share)


@entry
def log_capital_batch(rows: Floats, alpha: float, share: float, mean: float, out: Floats) -> None:
    """:func:`largest_log_capital` against one mean, row by row."""
    bets = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        predictable_bets(rows[i], alpha, bets)
        out[i] = largest_log_capital(rows[i], bets, mean, share)


def covers(rewards: Floats, alpha: float, mean: float, mirrored: bool, options: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Whether the capital against ``mean``, which rises with it, has stayed clearly below ``1/alpha``."""
    ends = check_support(options.get("support"), "betting")
    ordered = take_order(rewards, options.get("seed"), "betting")
    scaled, (low, high), exponent = scale_to_support(ordered, mirror(ends, mirrored))
    capital = np.empty(len(rewards))
    place = float((np.ldexp(mean, -exponent) - low) / (high - low))
    rows = (scaled - low) / (high - low)
    log_capital_batch(float(rows.size), rows, alpha, options.get("share", DEFAULT_SHARE), place, capital)
    return capital < math.log(1.0 / alpha) - CAPITAL_SLACK


@register(assumes=("bounded",), needs=("support",), walks=True, covers=covers)
def betting(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    support: tuple[float, float] | None = None,
    share: float = DEFAULT_SHARE,
    seed: int | None = None,
    check: bool = True,
) -> Bound:
    r"""Time-uniform bound for bounded rewards: the means against which a gambler has not grown rich.

    .. math:: \sup\{m : \max_{t \le n} \prod_{i \le t} (1 - \lambda_i (y_i - m)) < 1/\alpha\}

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``, in the order they came.
    alpha
        Error probability in (0, 1/2), for all sample sizes together.
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    support
        The interval ``(low, high)`` the rewards lie in.
    share
        Largest share of the capital put at risk in one bet; the default is the authors'.
    seed
        Shuffle the rewards with this seed first. By default they are taken in the order given, which must be that in
        which they came: a sample that is sorted, by the rewards or by anything related to them, breaks the bound.
    check
        Test the sample for contradictions of the assumption (default). One that is found becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        Holds for every prefix of the sample at once, so it may be looked at after every reward; not once shuffled, where
        it holds for the whole sample. ``order`` tells which. Rewards that change along the way may leave no mean at all:
        both ends are then ``nan``, with a note and a warning.

    See Also
    --------
    bandstrap.bounds.symmetric_betting : for symmetric rewards without a known support.
    bandstrap.bounds.empirical_kl : for a sample size fixed in advance.

    Notes
    -----
    On [0, 1] the bets are ``min(share/(1 - m), sqrt(2 log(1/alpha) / (v_{i-1} i log(1 + i))))`` with ``v`` a running
    variance, so each depends on earlier rewards only. The capital is a martingale at the true mean, and Ville's
    inequality bounds the chance that it ever reaches ``1/alpha``.

    Examples
    --------
    >>> from bandstrap.bounds import betting
    >>> betting([0.2, 0.9, 0.4, 0.5] * 10, 0.05, support=(0, 1)).value
    0.608

    References
    ----------
    .. [1] Waudby-Smith, Ramdas. Estimating means of bounded random variables by betting. JRSS B 86, 2024.
    """
    ends = check_support(support, "betting")
    share = check_number(share, "share", "betting", above=0, below=1)

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        scaled, (low, high), exponent = scale_inside(rewards, ends, "betting", mirrored)
        rows = (scaled.reshape(-1, rewards.shape[-1]) - low) / (high - low)
        out = np.empty(len(rows))
        betting_batch(60.0 * rows.size, rows, alpha, share, out)
        shares = out.reshape(rewards.shape[:-1])
        # Rounded up, twice for the two roundings of a share, but not beyond the end of the support.
        above = np.nextafter(low + (high - low) * np.nextafter(np.nextafter(shares, 2.0), 2.0), np.inf)
        above = np.where(shares == 1.0, high, np.minimum(above, high))
        with np.errstate(over="ignore"):
            end, main = np.ldexp(above, exponent), np.ldexp(above - sample_mean(scaled), exponent)
        return Threshold(main, {"main": main}, "martingale", end)

    return build(
        "betting",
        take_order(sample, seed, "betting"),
        alpha,
        side,
        threshold,
        guarantee=alpha,
        holds_for=rewards_inside(ends) + AT_ALL_SIZES * (seed is None),
        order=order_name(seed),
        check=check,
    )
