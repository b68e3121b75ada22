"""Hall's bound: Student's t with its skewness removed by a cubic, for skewed rewards."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from bandstrap.basics.arrays import Floats
from bandstrap.basics.deprecation import renamed
from bandstrap.basics.seeds import Seed
from bandstrap.bounds.bound import Bound, Side, register
from bandstrap.bounds.resampling import (
    N_RESAMPLES,
    SampleRows,
    build_resampled,
    lower_quantile,
    resampled_moments,
    spread_of_resamples,
    studentised,
    width_of_t,
)
from bandstrap.errors import check_choice

HallQuantile = Literal["bootstrap", "normal"]
QUANTILES: tuple[HallQuantile, ...] = get_args(HallQuantile)


def remove_skewness(t: Floats, skewness: Floats, n: int) -> Floats:
    """``g(t) = t + c t^2/3 + c^2 t^3/27 + c/(6n)`` with ``c`` the skewness, which rises with ``t``."""
    product = skewness * t
    return t * (1 + product / 3 + product * product / 27) + skewness / (6 * n)


def restore_skewness(value: Floats, skewness: Floats, n: int) -> Floats:
    """The ``t`` with ``g(t) = value``: ``3 (r - 1)/c`` where ``r^3 = 1 + c (value - c/(6n))``, free of a division by 0."""
    moved = value - skewness / (6 * n)
    root = np.cbrt(1 + skewness * moved)
    return 3 * moved / (root**2 + root + 1)


@register(assumes=())
@renamed(rng="seed")
def hall(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    quantile: HallQuantile = "bootstrap",
    n_resamples: int = N_RESAMPLES,
    seed: Seed = None,
    check: bool = True,
) -> Bound:
    r"""Hall's bound: the t statistic with its skewness removed by a monotone cubic.

    .. math:: \bar y - s\, g^{-1}(x_\alpha), \qquad g(t) = t + \tfrac13 c t^2 + \tfrac1{27} c^2 t^3 + \tfrac1{6n} c

    with ``t = (ybar - mu)/s``, ``c`` the sample's skewness and ``x_alpha`` a lower ``alpha`` quantile of ``g(t)``.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Nominal error probability, in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    quantile
        ``"bootstrap"`` (default) takes ``x_alpha`` from resamples, each with its own skewness; ``"normal"`` takes the
        normal quantile ``-z/sqrt(n)``, without resampling.
    n_resamples
        The number ``B`` of resamples.
    seed
        Seed or generator of the resamples. By default it is derived from the rewards of each sample. One seed for all
        samples of a batch is faster, but then their resampling errors are common.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        Never beyond the sample mean. The bound is infinite for one reward and for equal rewards. With resamples it is
        also infinite if those that decide it have no spread (see :func:`bandstrap.bounds.bootstrap_t`), or if
        ``alpha (B + 1) < 1``.

    See Also
    --------
    bandstrap.bounds.bootstrap_t : the same without the transformation; similar at the usual levels.

    Notes
    -----
    Nothing is proved at finite samples. For large samples the miss probability is ``alpha`` up to a multiple of
    ``1/n``.

    Examples
    --------
    >>> from bandstrap.bounds import hall
    >>> waits = [1, 1, 1, 2, 2, 3, 9, 30, 80, 250]
    >>> hall(waits, 0.05).value, hall(waits, 0.05, quantile="normal").value
    (332.4, 200.3)

    References
    ----------
    .. [1] Hall. On the removal of skewness by transformation. JRSS B 54, 1992.
    """
    check_choice(quantile, "quantile", "hall", QUANTILES)
    is_drawn = quantile == "bootstrap"

    def widths(rows: SampleRows, alpha: float, seed: int) -> Floats:
        n = rows.rewards.shape[-1]
        values = np.full(len(rows.rewards), ndtri(alpha) / np.sqrt(n))
        if is_drawn:
            for block, moments in resampled_moments(rows.residuals, n_resamples, seed, order=3):
                variance = spread_of_resamples(moments, n)
                first, second, third = moments
                deviation = np.sqrt(variance)
                t = studentised(first, deviation, rows.rounding[block])
                with np.errstate(all="ignore"):
                    skewness = (third - first * (3 * second - 2 * first * first)) / (variance * deviation)
                    transformed = remove_skewness(t, skewness, n)
                # A resample without spread has no skewness, and its t is infinite or, on the mean, 0.
                values[block] = lower_quantile(np.where(variance == 0, t, transformed), alpha)
        with np.errstate(all="ignore"):  # equal rewards have no skewness
            skewness = (rows.residuals**3).mean(axis=-1) / rows.residuals.std(axis=-1) ** 3
            t = np.where(values == -np.inf, values, restore_skewness(values, skewness, n))
        return width_of_t(t, rows.residuals)

    return build_resampled(
        "hall", sample, alpha, side, widths, n_resamples=n_resamples, seed=seed, check=check, is_drawn=is_drawn
    )
