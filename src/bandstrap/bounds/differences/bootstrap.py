"""The multiplier bootstrap of a difference: random signs on the residuals of both groups."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import Bound, Side, Threshold, check_level
from bandstrap.bounds.differences.difference import (
    NO_SPREAD,
    build,
    check_groups,
    register,
    residuals,
    scaled_pair,
    shows_nothing,
)
from bandstrap.errors import check_choice
from bandstrap.multipliers.quantile import quantiles

# Weights that are drawn for each reward alone, and so for two groups as for one.
IndependentWeights = Literal["rademacher", "gaussian", "exponential", "mammen"]
INDEPENDENT_WEIGHTS: tuple[IndependentWeights, ...] = get_args(IndependentWeights)
LARGE_GROUPS = "large groups of independent rewards; nothing is proved at small ones"


@register(reads_spread=True)
def bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    alpha: float,
    *,
    side: Side = "two-sided",
    weights: IndependentWeights = "rademacher",
    check: bool = True,
) -> Bound:
    r"""Multiplier-bootstrap bound on the difference of two means.

    .. math:: \bar x - \bar y + q_\alpha\Bigl(\frac am \sum_i w_i (x_i - \bar x) - \frac bn \sum_j v_j (y_j - \bar y)\Bigr)

    with ``q_alpha`` the upper ``alpha`` quantile over independent random weights ``w`` and ``v``. The factors
    ``a = sqrt(m/(m-1))`` and ``b = sqrt(n/(n-1))`` make the variance of the sum that of Welch's t.

    Parameters
    ----------
    first, second, alpha, side, check
        As in :func:`bandstrap.bounds.difference`.
    weights
        Distribution of the weights, one of ``"rademacher"`` (default), ``"gaussian"``, ``"exponential"`` and ``"mammen"``.

    Returns
    -------
    Bound
        Nothing is drawn: the quantile is exact, or within half a per cent. Infinite where a group has one reward, and
        where both have equal rewards only.

    See Also
    --------
    bandstrap.bounds.compare : the same for many groups at once, with the quantile of the largest sum.

    Examples
    --------
    >>> from bandstrap.bounds import difference
    >>> difference([3.1, 2.4, 4.4, 3.8, 2.9], [1.8, 2.2, 2.6, 1.1], method="bootstrap").value
    (0.462, 2.328)
    """
    x, y = check_groups(first, second, "bootstrap", side)
    alpha = check_level(alpha, "bootstrap")
    check_choice(weights, "weights", "bootstrap", INDEPENDENT_WEIGHTS)
    scaled_x, scaled_y, exponents = scaled_pair(x, y)
    unknown = shows_nothing(x, y)
    m, n = x.shape[-1], y.shape[-1]
    # Of mean 0 in either group, so that its mean over random weights is the sum wanted.
    pooled = np.concatenate([(m + n) * terms(scaled_x), -(m + n) * terms(scaled_y)], axis=-1)

    def threshold(alpha: float, mirrored: bool) -> Threshold:
        found = quantiles(-pooled if mirrored else pooled, alpha, weights=weights)
        width = np.where(unknown, np.inf, np.ldexp(found.values, exponents))
        method = " and ".join(dict.fromkeys(found.methods.ravel()))
        return Threshold(width, {"main": width}, method, why_infinite=NO_SPREAD if unknown.any() else "")

    return build("bootstrap", x, y, alpha, side, threshold, guarantee=None, holds_for=LARGE_GROUPS, check=check)


def terms(group: Floats) -> Floats:
    """Factor of each weight of a group: ``sqrt(n/(n-1)) (y - ybar)/n``, all 0 for one reward."""
    n = group.shape[-1]
    return residuals(group) * np.sqrt(n / max(n - 1, 1)) / n
