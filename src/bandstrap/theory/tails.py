"""Tails of sub-Weibull rewards and of their mean: what a ``psi_beta`` norm promises (theorem 2)."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.bounds.bound import FloatOrArray, as_number
from bandstrap.bounds.sub_weibull import finite_width, theorem_constant, theorem_width
from bandstrap.errors import check_count, check_flag, check_number, check_numbers

# The paper's formulas as they should be, and as they stand.
TheoremForm = Literal["corrected", "printed"]
FORMS: tuple[TheoremForm, ...] = get_args(TheoremForm)
# Theorem 2 is stated for alpha below exp(-2).
LARGEST_ALPHA = math.exp(-2)


def tail_bound(t: ArrayLike, *, sigma: float, beta: float) -> FloatOrArray:
    r"""Bound on the tail of one sub-Weibull reward.

    .. math:: P(|y| \ge t) \le \min\{1, 2 \exp(-(t/\sigma)^\beta)\}

    It is Markov's inequality for ``exp(|y/sigma|^beta)``, whose mean is at most 2.

    Parameters
    ----------
    t
        Distances, not negative; a number or an array.
    sigma
        Upper bound on the ``psi_beta`` norm of ``y``, see :func:`~bandstrap.theory.orlicz_norm`.
    beta
        Tail exponent: 2 is sub-Gaussian, 1 sub-exponential, smaller is heavier.

    Returns
    -------
    float or ndarray
        A probability for each ``t``.

    Examples
    --------
    >>> from bandstrap.theory import tail_bound
    >>> tail_bound([0, 1, 3], sigma=1, beta=2)
    array([1.0, 0.73576, 0.00024682])

    References
    ----------
    .. [1] Vladimirova, Girard, Nguyen, Arbel. Sub-Weibull distributions. Stat 9, 2020.
    """
    distances = check_numbers(t, "t", "tail_bound", at_least=0)
    scale = check_number(sigma, "sigma", "tail_bound", above=0)
    exponent = check_number(beta, "beta", "tail_bound", above=0)
    with np.errstate(over="ignore"):  # an infinite exponent is a tail of zero
        return as_number(np.minimum(1.0, 2 * np.exp(-((distances / scale) ** exponent))), distances.shape)


def mean_deviation_bound(
    n: int, alpha: float, *, sigma: float, beta: float, symmetric: bool = False, constant: float | None = None
) -> float:
    r"""Theorem 2 for a mean: ``|ybar - mu|`` exceeds this with probability at most ``alpha``.

    .. math:: C_\beta \sigma \left(\sqrt{\log(1/\alpha)/n} + R\right)

    with ``R`` as in :func:`bandstrap.bounds.sub_weibull`, where the printed one is corrected for ``1 < beta < 2``.

    Parameters
    ----------
    n
        Number of rewards.
    alpha
        Error probability in (0, 1).
    sigma
        Upper bound on the ``psi_beta`` norm of ``y - mu``.
    beta
        Tail exponent.
    symmetric
        True if the rewards are symmetric about their mean; then the default is narrower.
    constant
        ``C_beta``. By default the width is the narrowest that moments prove for this ``n``, ``alpha`` and ``beta``;
        :func:`sub_weibull_constant` is valid for all of them.

    Returns
    -------
    float
        The width.

    Examples
    --------
    >>> from bandstrap.theory import mean_deviation_bound, sub_weibull_constant
    >>> mean_deviation_bound(80, 0.05, sigma=1.6, beta=2)
    0.3846
    >>> mean_deviation_bound(80, 0.05, sigma=1.6, beta=2, constant=sub_weibull_constant(2))
    0.3955

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, theorem 2.
    """
    owner = "mean_deviation_bound"
    size = check_count(n, "n", owner)
    level = check_number(alpha, "alpha", owner, above=0, below=1)
    scale = check_number(sigma, "sigma", owner, above=0)
    exponent = check_number(beta, "beta", owner, above=0)
    is_symmetric = check_flag(symmetric, "symmetric", owner)
    if constant is None:
        return scale * finite_width(size, level, exponent, is_symmetric, owner)
    return theorem_width(size, level, scale, exponent, check_number(constant, "constant", owner, above=0))


def sub_weibull_constant(beta: float) -> float:
    r"""The constant ``C_beta`` of theorem 2, which the paper leaves open.

    It is the largest ratio of the width that moments prove to the formula of theorem 2 (see :func:`mean_deviation_bound`).
    The maximum is over ``n`` up to a billion at ``alpha = exp(-2)``, the largest level of theorem 2; smaller levels have
    smaller ratios.

    Parameters
    ----------
    beta
        Tail exponent.

    Returns
    -------
    float
        ``C_beta``; computed at four sizes per octave, so accurate to about a hundredth.

    Examples
    --------
    >>> from bandstrap.theory import sub_weibull_constant
    >>> [round(sub_weibull_constant(beta), 2) for beta in (0.5, 1, 2)]
    [3.35, 1.23, 1.28]

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, theorem 2.
    """
    owner = "sub_weibull_constant"
    return theorem_constant(check_number(beta, "beta", owner, above=0), (LARGEST_ALPHA,), owner)
