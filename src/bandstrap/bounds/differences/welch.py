"""Welch's t: the usual answer for two groups of unequal variances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from bandstrap.bounds.bound import Bound, FloatOrArray, Side, Threshold, check_level
from bandstrap.bounds.differences.difference import (
    NO_SPREAD,
    build,
    check_groups,
    register,
    scaled_pair,
    shows_nothing,
    variance,
)


def welch_width(variances: Sequence[FloatOrArray], sizes: Sequence[int], alpha: float) -> FloatOrArray:
    """``t_{nu, 1-alpha} sqrt(s_x^2/m + s_y^2/n)`` of two groups, whose variances (1/(n-1)) are not both 0."""
    parts = [each / size for each, size in zip(variances, sizes, strict=True)]
    total = parts[0] + parts[1]
    shares = [part / total for part in parts]
    freedom = 1 / sum(share**2 / max(size - 1, 1) for share, size in zip(shares, sizes, strict=True))
    quantile: Any = stdtrit(freedom, alpha)
    return -quantile * np.sqrt(total)


@register(reads_spread=True)
def welch(first: ArrayLike, second: ArrayLike, alpha: float, *, side: Side = "two-sided", check: bool = True) -> Bound:
    r"""Welch's t bound on the difference of two means, the variances unknown and perhaps unequal.

    .. math:: \bar x - \bar y + t_{\nu, 1-\alpha}\, \sqrt{s_x^2/m + s_y^2/n}

    with ``nu = (s_x^2/m + s_y^2/n)^2 / ((s_x^2/m)^2/(m-1) + (s_y^2/n)^2/(n-1))`` degrees of freedom.

    Parameters
    ----------
    first, second, alpha, side, check
        As in :func:`bandstrap.bounds.difference`.

    Returns
    -------
    Bound
        That of ``scipy.stats.ttest_ind(first, second, equal_var=False)``. Infinite where a group has one reward, and where
        both have equal rewards only.

    Examples
    --------
    >>> from bandstrap.bounds import difference
    >>> difference([3.1, 2.4, 4.4, 3.8, 2.9], [1.8, 2.2, 2.6, 1.1], 0.05, method="welch", side="upper").value
    2.295

    References
    ----------
    .. [1] Welch. The generalization of "Student's" problem when several different population variances are involved.
       Biometrika 34, 1947.
    """
    x, y = check_groups(first, second, "welch", side)
    alpha = check_level(alpha, "welch")

    def threshold(alpha: float, mirrored: bool) -> Threshold:
        scaled_x, scaled_y, exponents = scaled_pair(x, y)
        unknown = shows_nothing(x, y)
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = x.shape[-1], y.shape[-1]
            width = np.where(unknown, np.inf, welch_width([variance(scaled_x), variance(scaled_y)], sizes, alpha))
        width = np.ldexp(width, exponents)
        return Threshold(width, {"main": width}, why_infinite=NO_SPREAD if unknown.any() else "")

    holds_for = "large groups of independent rewards; approximately also small groups of normal rewards"
    return build("welch", x, y, alpha, side, threshold, guarantee=None, holds_for=holds_for, check=check)
