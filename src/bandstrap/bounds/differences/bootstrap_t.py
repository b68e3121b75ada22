"""The studentised bootstrap of a difference, for skewed rewards."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.deprecation import renamed
from bandstrap.basics.seeds import Seed, fixed_seed, seed_of
from bandstrap.bounds.bound import Bound, Side, Threshold, check_level
from bandstrap.bounds.differences.bootstrap import LARGE_GROUPS
from bandstrap.bounds.differences.difference import (
    NO_SPREAD,
    build,
    check_groups,
    register,
    residuals,
    scaled_pair,
    shows_nothing,
)
from bandstrap.bounds.resampling import (
    N_RESAMPLES,
    check_resamples,
    lower_quantile,
    resampled_moments,
    rounding_of_means,
    spread_of_resamples,
    studentised,
    why_no_quantile,
)


@register(reads_spread=True, draws=True)
@renamed(rng="seed")
def bootstrap_t(
    first: ArrayLike,
    second: ArrayLike,
    alpha: float,
    *,
    side: Side = "two-sided",
    n_resamples: int = N_RESAMPLES,
    seed: Seed = None,
    check: bool = True,
) -> Bound:
    r"""Studentised bootstrap bound on the difference of two means, for skewed rewards.

    .. math:: \bar x - \bar y - t^*_\alpha\, e, \qquad t^* = (\bar x^* - \bar y^* - \bar x + \bar y)/e^*, \quad
              e^2 = \frac{s_x^2}{m-1} + \frac{s_y^2}{n-1}

    with ``t*_alpha`` the ``floor(alpha (B + 1))``-th smallest ``t*`` of ``B`` pairs of samples drawn from the groups with
    replacement, and ``s^2`` the variances (1/n).

    Parameters
    ----------
    first, second, alpha, side, check
        As in :func:`bandstrap.bounds.difference`.
    n_resamples
        The number ``B`` of resamples.
    seed
        Seed or generator of the resamples. By default it is derived from the rewards of both groups, for each pair of a
        batch by itself; a seed that is given serves all pairs of a batch.

    Returns
    -------
    Bound
        Never beyond the difference of the sample means. Infinite where a group has one reward, where both have equal
        rewards only, where ``alpha (B + 1) < 1``, and where the resamples that decide have no spread.

    Examples
    --------
    >>> from bandstrap.bounds import difference
    >>> difference([1, 1, 1, 2, 2, 3, 9, 30, 80], [1, 2, 2, 3, 4, 4, 7, 9], 0.1, method="bootstrap_t").value
    (-1.25, 91.2)

    References
    ----------
    .. [1] Efron, Tibshirani. An introduction to the bootstrap. 1993, section 12.5.
    """
    x, y = check_groups(first, second, "bootstrap_t", side)
    alpha = check_level(alpha, "bootstrap_t")
    check_resamples(n_resamples, "bootstrap_t")
    fixed = fixed_seed(seed, "bootstrap_t")
    scaled_x, scaled_y, exponents = scaled_pair(x, y)
    rows = [np.sort(group.reshape(-1, group.shape[-1]), axis=-1) for group in (scaled_x, scaled_y)]
    groups = [residuals(each) for each in rows]
    error = np.sqrt(sum(group.var(axis=-1) / max(group.shape[-1] - 1, 1) for group in groups))
    unknown = shows_nothing(x, y)
    m, n = x.shape[-1], y.shape[-1]
    # Of groups that are scaled already.
    rounding = rounding_of_means(rows[0], 0) + rounding_of_means(rows[1], 0)

    quantiles = {mirrored: np.empty(len(groups[0])) for mirrored in (False, True)}
    level = alpha / 2 if side == "two-sided" else alpha
    for block, of_x, of_y in moments_of_both(groups, n_resamples, fixed, (x, y)):
        deviation = of_x[0] - of_y[0]
        spread = sum(
            spread_of_resamples(moments, group.shape[-1]) / max(group.shape[-1] - 1, 1)
            for moments, group in ((of_x, groups[0]), (of_y, groups[1]))
        )
        for mirrored, found in quantiles.items():  # the same resamples for both sides
            t = studentised(-deviation if mirrored else deviation, np.sqrt(spread), rounding[block])
            found[block] = lower_quantile(t, level)

    def threshold(alpha: float, mirrored: bool) -> Threshold:
        with np.errstate(invalid="ignore"):
            width = np.maximum(-quantiles[mirrored] * error, 0.0).reshape(x.shape[:-1])
            width = np.where(unknown, np.inf, width)
        why = ""
        if np.isinf(width).any():
            why = NO_SPREAD if unknown.all() else why_no_quantile(min(m, n), n_resamples, alpha)
        width = np.ldexp(width, exponents)
        return Threshold(width, {"main": width}, f"{n_resamples} resamples", why_infinite=why)

    return build("bootstrap_t", x, y, alpha, side, threshold, guarantee=None, holds_for=LARGE_GROUPS, check=check)


def moments_of_both(
    groups: list[Floats], n_resamples: int, seed: int | None, given: tuple[Floats, Floats]
) -> Iterator[tuple[slice, Floats, Floats]]:
    """The first two moments of the resamples of either group, some pairs at a time; those of each pair, without a seed."""
    n_pairs = len(groups[0])
    blocks = [slice(i, i + 1) for i in range(n_pairs)] if seed is None else [slice(0, n_pairs)]
    as_given = [group.reshape(n_pairs, group.shape[-1]) for group in given]
    for pairs in blocks:
        own = seed_of(seed, *(group[pairs].ravel() for group in as_given))
        seeds = np.random.default_rng(own).integers(2**63, size=2)
        drawn = (
            resampled_moments(group[pairs], n_resamples, int(each), order=2)
            for group, each in zip(groups, seeds, strict=True)
        )
        for (block, of_x), (_, of_y) in zip(*drawn, strict=True):
            yield slice(pairs.start + block.start, pairs.start + block.stop), of_x, of_y
