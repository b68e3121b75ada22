"""The BCa bound: a percentile of resampled means, corrected for bias and skewness."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from bandstrap.basics.arrays import Floats
from bandstrap.basics.deprecation import renamed
from bandstrap.basics.seeds import Seed
from bandstrap.bounds.bound import Bound, Side, register
from bandstrap.bounds.resampling import N_RESAMPLES, SampleRows, build_resampled, resampled_moments


@register(assumes=())
@renamed(rng="seed")
def bca(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    n_resamples: int = N_RESAMPLES,
    seed: Seed = None,
    check: bool = True,
) -> Bound:
    r"""Bias-corrected and accelerated bootstrap bound, for skewed rewards.

    .. math:: \hat G^{-1}\Bigl(\Phi\Bigl(z_0 + \frac{z_0 + z}{1 - a (z_0 + z)}\Bigr)\Bigr)

    with ``G`` the distribution of the means of ``B`` samples drawn from the sample with replacement, ``z`` the upper
    ``alpha`` quantile of the normal distribution, ``Phi(z_0) = G(ybar)`` (a tie counts half) and ``a`` a sixth of the
    skewness of the mean.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Nominal error probability, in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    n_resamples
        The number ``B`` of resamples.
    seed
        Seed or generator of the resamples. By default it is derived from the rewards of each sample. One seed for all
        samples of a batch is faster, but then their resampling errors are common.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning,
        and ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        The bound never lies beyond the sample mean, and a finite bound never beyond the sample. It is infinite if a
        resample contains only the largest reward with probability above the corrected level. That happens for one
        reward, for equal rewards, for two at the usual levels, and if nearly all equal the largest.

    See Also
    --------
    bandstrap.bounds.bootstrap_t : wider, and misses less often at small samples.
    bandstrap.bounds.sign_flip : prefer it for symmetric rewards, where it is exact.

    Notes
    -----
    Nothing is proved at finite samples. The bound misses the mean of skewed rewards clearly too often. At ``alpha = 0.05``
    the miss probability is about 0.085 for 30 exponential rewards, and 0.12 for 30 lognormal ones. With the same resamples
    it is what ``scipy.stats.bootstrap`` computes with ``method="BCa"``.

    Examples
    --------
    >>> from bandstrap.bounds import bca
    >>> bca([1, 1, 1, 2, 2, 3, 9, 30, 80, 250], 0.05).value
    112.3

    References
    ----------
    .. [1] Efron. Better bootstrap confidence intervals. JASA 82, 1987.
    """

    def widths(rows: SampleRows, alpha: float, seed: int) -> Floats:
        n = rows.rewards.shape[-1]
        found = np.empty(len(rows.rewards))
        for block, (means,) in resampled_moments(rows.residuals, n_resamples, seed, order=1):
            level = corrected_level(rows.residuals[block], means, rows.rounding[block], alpha)
            of_largest = (rows.rewards[block] == rows.rewards[block, -1:]).mean(axis=-1) ** n
            width = np.maximum(quantile_of_each(means, 1 - level), 0.0)
            found[block] = np.where(of_largest > level, np.inf, width)
        return found

    return build_resampled(
        "bca",
        sample,
        alpha,
        side,
        widths,
        n_resamples=n_resamples,
        seed=seed,
        check=check,
        why_infinite=lambda n: (
            f"the bound is infinite: a resample of only the largest of {n} rewards is likelier than the corrected "
            "level; use more rewards or a larger alpha"
        ),
    )


def corrected_level(residuals: Floats, means: Floats, rounding: Floats, alpha: float) -> Floats:
    """The upper tail of the resampled means at which the bound is read off; within rounding, means are equal."""
    below = (means < -rounding[:, None]).mean(axis=-1)
    at_most = (means <= rounding[:, None]).mean(axis=-1)
    bias = ndtri((below + at_most) / 2)
    squares = (residuals**2).sum(axis=-1)
    with np.errstate(invalid="ignore"):  # 0/0 of equal rewards, which have no bound whatever the level
        acceleration = np.where(squares == 0, 0.0, (residuals**3).sum(axis=-1) / (6 * squares**1.5))
    step = bias - ndtri(alpha)
    slope = 1 - acceleration * step
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where the correction has run through infinity, no level is left.
        return np.where(slope > 0, ndtr(-(bias + step / slope)), 0.0)


def quantile_of_each(draws: Floats, probability: Floats) -> Floats:
    """The quantile of each row at its own probability, interpolated between order statistics as NumPy does by default."""
    ordered = np.sort(draws, axis=-1)
    place = probability * (ordered.shape[-1] - 1)
    low = np.clip(np.floor(place).astype(np.int64), 0, ordered.shape[-1] - 1)
    high = np.minimum(low + 1, ordered.shape[-1] - 1)
    each = np.arange(len(ordered))
    return ordered[each, low] + (place - low) * (ordered[each, high] - ordered[each, low])
