"""The empirical-likelihood bound behind empirical KL-UCB, by its one-dimensional dual."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.bounds.bound import Bound, Threshold, build, check_inside, check_support, mirror, register
from bandstrap.engine.kernel import Sources, entry, jitable
from bandstrap.errors import Floats, check_choice

CALIBRATIONS = ("proved", "plain")


@jitable
def dual(y: Floats, nu: float) -> tuple[float, float]:
    """``f(nu) = mean log(nu - y) + log mean 1/(nu - y)``, and ``mean 1/(nu - y)``; ``nu`` above all rewards."""
    logs = 0.0
    inverses = 0.0
    for i in range(y.size):
        gap = nu - y[i]
        logs += math.log(gap)
        inverses += 1.0 / gap
    inverses /= y.size
    return logs / y.size + math.log(inverses), inverses


@jitable
def largest_mean(y: Floats, top: float, divergence: float) -> float:
    """``sup {E_q : q on the rewards and top, KL(empirical law, q) <= divergence}``."""
    highest = y[0]
    lowest = y[0]
    for i in range(y.size):
        highest = max(highest, y[i])
        lowest = min(lowest, y[i])
    if top > highest:
        f, inverses = dual(y, top)
        if f < divergence:  # part of the mass moves to the unseen top
            r = math.exp(f - divergence)
            return r * (top - 1.0 / inverses) + (1.0 - r) * top
    if highest == lowest:
        return highest
    # f falls from infinity at the highest reward to 0: bisect the log of nu - highest.
    spread = highest - lowest
    low = math.log(spread) - 700.0
    high = math.log(spread)
    while dual(y, highest + math.exp(high))[0] > divergence:
        low = high
        high += 1.0
        if high > math.log(spread) + 30.0:  # a divergence so small that the mean itself is the answer
            break
    nu = highest + math.exp(high)
    for _ in range(200):
        middle = 0.5 * (low + high)
        nu = highest + math.exp(middle)
        if nu == highest:
            low = middle
            continue
        if dual(y, nu)[0] > divergence:
            low = middle
        else:
            high = middle
        if high - low < 1e-13:
            break
    _, inverses = dual(y, nu)
    return min(nu - 1.0 / inverses, top)


@entry
def largest_mean_batch(sources: Sources, rows: Floats, top: float, divergence: float, out: Floats) -> None:
    """:func:`largest_mean` row by row."""
    for i in range(rows.shape[0]):
        out[i] = largest_mean(rows[i], top, divergence)


def divergence_budget(n: int, alpha: float, calibration: str) -> float:
    """``log(1/alpha)/n``, with the factor ``e (n + 2)`` that the proof needs."""
    factor = math.e * (n + 2) if calibration == "proved" else 1.0
    return math.log(factor / alpha) / n


@register(assumes="bounded", needs=("support",))
def empirical_kl(
    sample: ArrayLike,
    alpha: float,
    *,
    side: str = "upper",
    support: tuple[float, float] | None = None,
    calibration: str = "proved",
) -> Bound:
    r"""Empirical-likelihood bound for bounded rewards.

    .. math:: \sup\{E_q : q \text{ on } \{y_1,\dots,y_n, u\},\ \mathrm{KL}(\hat p_n, q) \le d\}

    with ``u`` the upper end of the support.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Error probability in (0, 1).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    support
        The interval ``(low, high)`` the rewards lie in. An upper bound uses the upper end only.
    calibration
        ``"proved"`` (default): ``d = log(e (n + 2)/alpha)/n``. ``"plain"``: ``d = log(1/alpha)/n``, as empirical KL-UCB
        uses it, without proof at a fixed sample size.

    Returns
    -------
    Bound

    See Also
    --------
    bandstrap.bounds.betting : narrower at small sample sizes, and valid at all of them together.

    Examples
    --------
    >>> from bandstrap.bounds import empirical_kl
    >>> empirical_kl([0.2, 0.9, 0.4, 0.5], 0.05, support=(0, 1), calibration="plain").value
    0.8139

    References
    ----------
    .. [1] Cappe, Garivier, Maillard, Munos, Stoltz. Kullback-Leibler upper confidence bounds for optimal sequential
       allocation. Annals of Statistics 41, 2013, section 5.
    """
    ends = check_support(support, "empirical_kl")
    check_choice(calibration, "calibration", "empirical_kl", CALIBRATIONS)

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        here = mirror(ends, mirrored)
        check_inside(rewards, here, "empirical_kl")
        n = rewards.shape[-1]
        rows = rewards.reshape(-1, n)
        out = np.empty(len(rows))
        largest_mean_batch(60.0 * rows.size, rows, here[1], divergence_budget(n, alpha, calibration), out)
        main = np.maximum(out.reshape(rewards.shape[:-1]) - rewards.mean(axis=-1), 0.0)
        return Threshold(main, {"main": main}, "dual")

    proved = calibration == "proved"
    return build(
        "empirical_kl",
        sample,
        alpha,
        side,
        threshold,
        guarantee=alpha if proved else None,
        holds_for=f"independent rewards in [{ends[0]:g}, {ends[1]:g}]" + ("" if proved else ", large samples"),
    )
