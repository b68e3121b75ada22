"""The regret no consistent policy can avoid: Lai and Robbins, Burnetas and Katehakis."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlog1py

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import FloatOrArray, as_number
from bandstrap.errors import check_choice, check_numbers, requirement

Family = Literal["gaussian", "gaussian-unknown-variance", "bernoulli", "exponential", "poisson"]
FAMILIES: tuple[Family, ...] = get_args(Family)
NEEDS_SIGMA = ("gaussian", "gaussian-unknown-variance")


def _excess(mean: Floats, change: Floats) -> Floats:
    """``change - mean log(1 + change/mean)``; written so that it keeps its digits where ``change`` is small."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # A ratio beyond the largest float has a mean beside it that makes its logarithm nothing.
        ratio = np.where(mean > 0, np.minimum(change / mean, np.finfo(np.float64).max), 0.0)
    return change - xlog1py(mean, ratio)


def divergence(
    mean: ArrayLike, best_mean: ArrayLike, *, family: Family, sigma: ArrayLike | None = None
) -> FloatOrArray:
    r"""Difficulty of distinguishing an arm from one that would be best: ``KL_inf``.

    .. math:: \mathrm{KL}_{\inf} = \inf\{\mathrm{KL}(\nu, \nu') : \nu' \in \text{family}, E_{\nu'} y > \mu^*\}

    With ``d = best_mean - mean`` it is

    ============================= ======================================================================
    family                        ``KL_inf``
    ============================= ======================================================================
    ``gaussian``                  ``d^2 / (2 sigma^2)``
    ``gaussian-unknown-variance`` ``log(1 + d^2/sigma^2) / 2``
    ``bernoulli``                 ``mean log(mean/best) + (1-mean) log((1-mean)/(1-best))``
    ``exponential``               ``mean/best - 1 - log(mean/best)``
    ``poisson``                   ``best - mean + mean log(mean/best)``
    ============================= ======================================================================

    Parameters
    ----------
    mean
        Mean of the arm.
    best_mean
        Mean of the best arm, at least ``mean``.
    family
        Known family of the arms' distributions.
    sigma
        Standard deviation of the arm; required for the Gaussian families, not accepted for others. A known standard
        deviation (``"gaussian"``) makes arms easier to distinguish.

    Returns
    -------
    float or ndarray
        The divergence, of the arguments' common shape; infinite if a single reward can rule out the best mean.

    Examples
    --------
    >>> from bandstrap.theory import divergence
    >>> divergence([0.25, 0.5], 0.5, family="bernoulli")
    array([0.130812, 0.      ])
    >>> divergence(0, 1, family="gaussian-unknown-variance", sigma=1)
    0.346574

    References
    ----------
    .. [1] Burnetas, Katehakis. Optimal adaptive policies for sequential allocation problems. Advances in Applied
       Mathematics 17, 1996.
    .. [2] Cowan, Honda, Katehakis. Normal bandits of unknown means and variances. JMLR 18, 2018.
    """
    return _divergence(mean, best_mean, family, sigma, "divergence", ("mean", "best_mean"))


def _divergence(
    mean: ArrayLike,
    best_mean: ArrayLike,
    family: Family,
    sigma: ArrayLike | None,
    owner: str,
    parameters: tuple[str, str],
) -> FloatOrArray:
    """:func:`divergence` for an owner, who calls the two means by the names of these parameters."""
    check_choice(family, "family", owner, FAMILIES)
    lowest = -np.inf if family in NEEDS_SIGMA else 0.0
    arm, best = (
        check_numbers(each, parameter, owner, at_least=lowest)
        for each, parameter in zip((mean, best_mean), parameters, strict=True)
    )
    if (sigma is not None) != (family in NEEDS_SIGMA):
        rule = f"given for the Gaussian families and for no other ({family!r} here)"
        raise requirement("sigma", owner, rule, repr(sigma))
    scale = np.ones(()) if sigma is None else check_numbers(sigma, "sigma", owner)
    if (scale <= 0).any():
        raise requirement("sigma", owner, "greater than 0", float(scale.min()))
    try:
        arm, best, scale = np.broadcast_arrays(arm, best, scale)
    except ValueError:
        rule = "of shapes that broadcast with those of 'best_mean' and 'sigma'"
        raise requirement(parameters[0], owner, rule, f"shapes {arm.shape}, {best.shape} and {scale.shape}") from None
    gap = best - arm
    if (gap < 0).any():
        raise requirement(parameters[1], owner, "at least 'mean'", float(best[gap < 0].flat[0]))
    if family == "bernoulli" and (best > 1).any():
        raise requirement(parameters[1], owner, "at most 1 for Bernoulli rewards", float(best.max()))
    if family == "exponential" and (arm == 0).any():
        raise requirement(parameters[0], owner, "greater than 0 for exponential rewards", 0.0)
    with np.errstate(over="ignore"):  # what is beyond the largest float is infinite
        squared = (gap / scale) ** 2
    if family == "gaussian":
        value = squared / 2
    elif family == "gaussian-unknown-variance":
        value = np.log1p(squared) / 2
    elif family == "bernoulli":
        value = _excess(arm, gap) + _excess(1 - arm, -gap)
    elif family == "exponential":
        value = _excess(np.ones_like(gap), -gap / best)
    else:
        value = _excess(arm, gap)
    return as_number(value, gap.shape)


def lai_robbins_bound(
    means: ArrayLike, horizon: ArrayLike, *, family: Family, sigma: ArrayLike | None = None
) -> FloatOrArray:
    r"""Asymptotic lower bound on the regret of any consistent policy.

    .. math:: \liminf_{T \to \infty} \frac{R(T)}{\log T} \ge \sum_{k : \Delta_k > 0} \frac{\Delta_k}{\mathrm{KL}_{\inf}(k)}

    The value is the right side times ``log T``. Compare its slope with other slopes: at a finite horizon a good policy may
    lie below it.

    Parameters
    ----------
    means
        Means of the arms, shape ``(n_arms,)``.
    horizon
        Number of rounds ``T``, a number or an array, each at least 1.
    family
        As in :func:`divergence`.
    sigma
        Standard deviation of the rewards, one for all arms or one per arm; for the Gaussian families.

    Returns
    -------
    float or ndarray
        The bound, of the shape of ``horizon``.

    Examples
    --------
    >>> from bandstrap.theory import lai_robbins_bound
    >>> lai_robbins_bound([0.5, 0.4, 0.3], [100, 10_000], family="bernoulli")
    array([34.064, 68.129])

    References
    ----------
    .. [1] Lai, Robbins. Asymptotically efficient adaptive allocation rules. Advances in Applied Mathematics 6, 1985.
    .. [2] Burnetas, Katehakis. Optimal adaptive policies for sequential allocation problems. Advances in Applied
       Mathematics 17, 1996.
    """
    owner = "lai_robbins_bound"
    arms = check_numbers(means, "means", owner)
    if arms.ndim != 1 or arms.size == 0:
        raise requirement("means", owner, "of shape (n_arms,)", f"shape {arms.shape}")
    rounds = check_numbers(horizon, "horizon", owner, at_least=1)
    if sigma is not None:
        shape = check_numbers(sigma, "sigma", owner).shape
        if shape not in ((), (1,), arms.shape):
            raise requirement("sigma", owner, "one number, or one per arm", f"shape {shape}")
    distances = np.asarray(_divergence(arms, arms.max(), family, sigma, owner, ("means", "means")))
    gaps = arms.max() - arms
    slope = np.sum(gaps[gaps > 0] / distances[gaps > 0])
    return as_number(slope * np.log(rounds), rounds.shape)
