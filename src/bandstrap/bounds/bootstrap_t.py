"""The bootstrap-t bound: Student's t with its quantile read off resamples, for skewed rewards."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

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


@register(assumes=())
@renamed(rng="seed")
def bootstrap_t(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    n_resamples: int = N_RESAMPLES,
    seed: Seed = None,
    check: bool = True,
) -> Bound:
    r"""Studentised bootstrap bound, for skewed rewards without a known support.

    .. math:: \bar y - t^*_{\alpha}\, s, \qquad t^* = (\bar y^* - \bar y) / s^*

    with ``t*_alpha`` the ``floor(alpha (B + 1))``-th smallest ``t*`` of ``B`` samples drawn from the sample with
    replacement, and ``s`` the standard deviation.

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
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        The bound never lies beyond the sample mean. It is infinite if the resamples that decide it have no spread. This
        happens for one reward, for equal rewards, for two at the usual levels, and if nearly all are equal, such as a
        single 1 among zeros. It is also infinite if ``alpha (B + 1) < 1``.

    See Also
    --------
    bandstrap.bounds.bca : narrower, and misses more often at small samples.
    bandstrap.bounds.sign_flip : prefer it for symmetric rewards, where it is exact.
    bandstrap.bounds.betting : prefer it for bounded rewards, where it is proved.

    Notes
    -----
    Nothing is proved at finite samples: no bound can be proved from a finite mean alone, without a known support
    (Bahadur and Savage). For large samples the miss probability is ``alpha`` up to a multiple of ``1/n``; for Student's
    t the error is of order ``1/sqrt(n)``. A resample of equal rewards has ``t* = -inf`` or ``inf``, which errs on the
    safe side.

    Examples
    --------
    >>> from bandstrap.bounds import bootstrap_t, student_t
    >>> waits = [1, 1, 1, 2, 2, 3, 9, 30, 80, 250]
    >>> bootstrap_t(waits, 0.05).value, student_t(waits, 0.05, check=False).value
    (321.9, 83.44)

    References
    ----------
    .. [1] Efron, Tibshirani. An introduction to the bootstrap. 1993, section 12.5.
    .. [2] Bahadur, Savage. The nonexistence of certain statistical procedures in nonparametric problems. Annals of
       Mathematical Statistics 27, 1956.
    """

    def widths(rows: SampleRows, alpha: float, seed: int) -> Floats:
        n = rows.rewards.shape[-1]
        quantiles = np.empty(len(rows.rewards))
        for block, moments in resampled_moments(rows.residuals, n_resamples, seed, order=2):
            spread = np.sqrt(spread_of_resamples(moments, n))
            quantiles[block] = lower_quantile(studentised(moments[0], spread, rows.rounding[block]), alpha)
        return width_of_t(quantiles, rows.residuals)

    return build_resampled("bootstrap_t", sample, alpha, side, widths, n_resamples=n_resamples, seed=seed, check=check)
