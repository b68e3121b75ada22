"""The mid-p bound: the exact binomial bound that counts half of what was seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bisection import bisect
from bandstrap.bounds.bound import ZERO_OR_ONE, Bound, Side, check_level, register
from bandstrap.bounds.clopper_pearson import SMALLEST_LEVEL, exact_ends, two_valued

# The tails are computed to some 1e-14; a level lowered by this much leaves an end on the right side.
MARGIN = 1e-12


def tail_above(p: Floats, k: Floats, n: int) -> Floats:
    """``P(X > k) + P(X = k)/2``, which rises with ``p``."""
    at_least = np.where(k == 0, 1.0, betainc(np.maximum(k, 1), n - k + 1, p))
    above = np.where(k == n, 0.0, betainc(k + 1, np.maximum(n - k, 1), p))
    return 0.5 * (at_least + above)


def tail_below(p: Floats, k: Floats, n: int) -> Floats:
    """``P(X < k) + P(X = k)/2``, which falls with ``p``."""
    below = np.where(k == 0, 0.0, betaincc(np.maximum(k, 1), n - k + 1, p))
    at_most = np.where(k == n, 1.0, betaincc(k + 1, np.maximum(n - k, 1), p))
    return 0.5 * (below + at_most)


def mid_ends(successes: ArrayLike, n: int, alpha: float) -> tuple[Floats, Floats]:
    """Points where the two tails are ``alpha``, or the end of [0, 1] where they stay above it; rounded outwards."""
    k = np.asarray(successes, dtype=np.float64)
    level = alpha * (1 - MARGIN)
    low, high = exact_ends(k, n, alpha)  # which are at least as far out
    if alpha < SMALLEST_LEVEL:
        return low, high
    inside = bisect(lambda p: tail_above(p, k, n) > level, low, k / n)[0]
    outside = bisect(lambda p: tail_below(p, k, n) <= level, k / n, high)[1]
    return np.where(k == 0, 0.0, inside), np.where(k == n, 1.0, outside)


@register(assumes=("binary",))
def mid_p(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    support: tuple[float, float] = ZERO_OR_ONE,
    check: bool = True,
) -> Bound:
    r"""Mid-p bound for rewards of two values: narrower than the exact one, and misses up to ``2 alpha``.

    .. math:: \sup\{p : P_p(X < k) + P_p(X = k)/2 \ge \alpha\}

    with ``k`` the number of ones and ``X`` binomial.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``, each 0 or 1 (or false or true).
    alpha
        Nominal error probability, in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    support
        The two values that rewards take, if not 0 and 1.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        Never wider than :func:`bandstrap.bounds.clopper_pearson`.

    See Also
    --------
    bandstrap.bounds.clopper_pearson : prefer it if ``alpha`` must be guaranteed.

    Notes
    -----
    The bound misses ``p`` if ``X`` is at most some ``k`` with ``P(X < k) + P(X = k)/2 < alpha``. The other half of
    ``P(X = k)`` is also less than ``alpha``, so the miss probability is at most ``2 alpha`` for every ``p``. Averaged
    over all ``p``, the miss probability is below ``alpha``.

    Examples
    --------
    >>> from bandstrap.bounds import mid_p
    >>> mid_p([0] * 200, 0.05).value
    0.011447
    >>> mid_p([1] * 3 + [0] * 197, 0.05, side="two-sided").value
    (0.0038, 0.0402)

    References
    ----------
    .. [1] Lancaster. Significance tests in discrete distributions. JASA 56, 1961.
    .. [2] Berry, Armitage. Mid-P confidence intervals: a brief review. The Statistician 44, 1995.
    """
    return two_valued(
        "mid_p", sample, alpha, side, support, mid_ends, guarantee=2 * check_level(alpha, "mid_p"), check=check
    )
