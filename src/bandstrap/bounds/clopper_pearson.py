"""The exact binomial bound: for rewards of two values, such as conversions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainccinv, betaincinv

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import ZERO_OR_ONE, Bound, Refuted, Side, Support, Threshold, build, check_support, register
from bandstrap.errors import requirement, sample_mean

# SciPy's inverse of the beta distribution is good to some 1e-14; by this much more, an end is never on the wrong side.
MARGIN = 1e-12
# Below this level, where that inverse fails for some counts, nothing but the ends of [0, 1] is sure.
SMALLEST_LEVEL = 1e-100

# Both ends of a probability, from numbers of successes and of trials, and the level of one side.
EndsOfCounts = Callable[[ArrayLike, int, float], tuple[Floats, Floats]]


def exact_ends(successes: ArrayLike, n: int, alpha: float) -> tuple[Floats, Floats]:
    """``P(X >= k) = alpha`` at the lower end and ``P(X <= k) = alpha`` at the upper one, rounded outwards."""
    k = np.asarray(successes, dtype=np.float64)
    # Where k is 0 or n, one end is known without a beta distribution, which has no parameter 0.
    extreme = alpha < SMALLEST_LEVEL
    low = np.where((k == 0) | extreme, 0.0, betaincinv(np.maximum(k, 1), n - k + 1, alpha))
    high = np.where((k == n) | extreme, 1.0, betainccinv(k + 1, np.maximum(n - k, 1), alpha))
    return low * (1 - MARGIN), np.minimum(high * (1 + MARGIN), 1.0)


def two_valued(
    name: str,
    sample: ArrayLike,
    alpha: float,
    side: Side,
    support: tuple[float, float],
    ends: EndsOfCounts,
    *,
    guarantee: float,
    check: bool,
) -> Bound:
    """A bound on the mean of rewards that are one of two numbers, from one on the probability of the larger."""
    values = check_support(support, name)

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        given = -rewards if mirrored else rewards
        check_two_values(given, values, name)
        # Samples of a batch share their counts, of which there are few.
        successes, which = np.unique((given == values[1]).sum(axis=-1), return_inverse=True)
        low, high = (end[which.reshape(rewards.shape[:-1])] for end in ends(successes, rewards.shape[-1], alpha))
        # Of rewards whose sign was turned, the probability of the larger value is one minus that of the given ones.
        end = -between(values, low, down=True) if mirrored else between(values, high, down=False)
        with np.errstate(over="ignore"):
            main = end - sample_mean(rewards)
        return Threshold(main, {"main": main}, "exact", end)

    return build(
        name,
        sample,
        alpha,
        side,
        threshold,
        guarantee=guarantee,
        holds_for=f"independent rewards that are either {values[0]:g} or {values[1]:g}",
        check=check,
    )


def between(values: Support, share: Floats, *, down: bool) -> Floats:
    """``low + (high - low) share``, rounded outwards but not beyond either value."""
    low, high = values
    if low == 0.0 and high == 1.0:
        return share
    # The two products do not overflow where the difference of the values would.
    point = low * (1 - share) + high * share
    rounding = 4 * 2.0**-52 * max(abs(low), abs(high))
    moved = np.clip(point - rounding if down else point + rounding, low, high)
    return np.where(share == 0, low, np.where(share == 1, high, moved))


def check_two_values(rewards: Floats, values: Support, owner: str) -> None:
    """Refuse rewards that are neither of the two values."""
    other = (rewards != values[0]) & (rewards != values[1])
    if other.any():
        where = tuple(int(i) for i in np.argwhere(other)[0])
        position = where[0] if len(where) == 1 else where
        rule = f"of the two values {values[0]:g} and {values[1]:g} alone"
        refusal = requirement("sample", owner, rule, f"{rewards[where]:g} at position {position}")
        neither = f"neither {values[0]:g} nor {values[1]:g}, the first of them {rewards[where]:g}"
        raise Refuted(refusal, f"{int(other.sum())} of {rewards.size} rewards are {neither}")


@register(assumes=("binary",))
def clopper_pearson(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    support: tuple[float, float] = ZERO_OR_ONE,
    check: bool = True,
) -> Bound:
    r"""Exact bound for rewards of two values: zeros and ones, false and true.

    .. math:: \sup\{p : P_p(X \le k) \ge \alpha\}

    with ``k`` the number of ones and ``X`` binomial: a quantile of the beta distribution.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``, each 0 or 1 (or false or true).
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    support
        The two values that rewards take, if not 0 and 1, such as 0 and a price.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        Rounded outwards by one part in ``10^12``.

    See Also
    --------
    bandstrap.bounds.mid_p : narrower, and misses up to ``2 alpha``. bandstrap.bounds.betting : also for rewards between
    the two values.

    Notes
    -----
    It is the smallest upper bound that grows with ``k`` and holds for every probability. The miss probability reaches
    ``alpha`` just above each of the ``n`` possible bounds, and is lower elsewhere, because ``X`` is discrete.

    Examples
    --------
    No conversion among 200 visitors, and three:

    >>> from bandstrap.bounds import clopper_pearson
    >>> clopper_pearson([0] * 200, 0.05).value
    0.014867
    >>> clopper_pearson([1] * 3 + [0] * 197, 0.05, side="two-sided").value
    (0.0031, 0.0432)

    References
    ----------
    .. [1] Clopper, Pearson. The use of confidence or fiducial limits illustrated in the case of the binomial.
       Biometrika 26, 1934.
    """
    return two_valued("clopper_pearson", sample, alpha, side, support, exact_ends, guarantee=alpha, check=check)
