"""Theorem 2 and lemma 1 for weighted sums ``sum a_i y_i`` of sub-Weibull rewards, as the paper states them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.sub_weibull import finite_sum_width, grouped, log_product
from bandstrap.errors import check_choice, check_count, check_flag, check_number, check_numbers, requirement
from bandstrap.theory.tails import FORMS, TheoremForm


def sum_deviation_bound(
    weights: ArrayLike,
    alpha: float,
    *,
    sigma: float,
    beta: float,
    symmetric: bool = False,
    constant: float | None = None,
) -> float:
    r"""Theorem 2: ``|sum a_i y_i - E sum a_i y_i|`` exceeds this with probability at most ``alpha``.

    .. math:: C_\beta \sigma \left(\|a\|_2 \sqrt{\log(1/\alpha)} + \|a\| \log(1/\alpha)^{1/\beta}\right)

    Here ``||a||`` is the largest ``|a_i|`` for ``beta <= 1``. For ``1 < beta < 2`` it is ``||a||_{beta*}`` with
    ``1/beta + 1/beta* = 1`` (the paper prints the largest ``|a_i|``). For ``beta >= 2`` there is no second term.

    Parameters
    ----------
    weights
        ``a``, one number for each reward. Equal weights ``1/n`` are :func:`bandstrap.theory.mean_deviation_bound`.
    alpha
        Error probability in (0, 1).
    sigma
        Upper bound on the ``psi_beta`` norms of ``y_i - E y_i``.
    beta
        Tail exponent.
    symmetric
        True if the rewards are symmetric about their means; then the default is narrower.
    constant
        ``C_beta``. By default the width is the narrowest that moments prove for these weights, ``alpha`` and ``beta``.

    Returns
    -------
    float
        The width; 0 if all weights are 0.

    Examples
    --------
    >>> from bandstrap.theory import sum_deviation_bound
    >>> sum_deviation_bound([0.5, 0.3, 0.2], 0.05, sigma=1, beta=1)
    1.7184
    >>> sum_deviation_bound([0.5, 0.3, 0.2], 0.05, sigma=1, beta=1, constant=1)
    2.5648

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, theorem 2 and lemma 1.
    """
    owner = "sum_deviation_bound"
    a = check_weights(weights, owner)
    level = check_number(alpha, "alpha", owner, above=0, below=1)
    scale = check_number(sigma, "sigma", owner, above=0)
    exponent = check_number(beta, "beta", owner, above=0)
    is_symmetric = check_flag(symmetric, "symmetric", owner)
    given = None if constant is None else check_number(constant, "constant", owner, above=0)
    if not a.any():
        return 0.0
    if given is not None:
        return given * scale * weighted_terms(a, math.log(1 / level), exponent)
    largest = float(np.abs(a).max())
    return scale * largest * finite_sum_width(grouped(a / largest), level, exponent, is_symmetric, owner)


def weighted_terms(weights: ArrayLike, log_level: float, beta: float, *, form: TheoremForm = "corrected") -> float:
    r"""The two terms of theorem 2 at level ``exp(-log_level)``, ``C = sigma = 1``; those of lemma 1 at that order.

    Parameters
    ----------
    weights
        ``a``.
    log_level
        ``log(1/alpha)``, so that levels may be as small as one likes.
    beta
        Tail exponent.
    form
        ``"corrected"`` (default), or ``"printed"`` with the largest ``|a_i|`` for every ``beta``.

    Returns
    -------
    float
        The sum of the terms.

    Examples
    --------
    >>> from bandstrap.theory.weighted_sums import weighted_terms
    >>> weighted_terms([3, 4], 16, 1), weighted_terms([3, 4], 16, 2), weighted_terms([3, 4], 16, 2, form="printed")
    (84.0, 20.0, 36.0)
    """
    owner = "weighted_terms"
    a = check_weights(weights, owner)
    level = check_number(log_level, "log_level", owner, above=0)
    exponent = check_number(beta, "beta", owner, above=0)
    printed = check_choice(form, "form", owner, FORMS) == "printed"
    main = float(np.linalg.norm(a)) * math.sqrt(level)
    if exponent >= 2 and not printed:
        return main
    norm = math.inf if printed or exponent <= 1 else exponent / (exponent - 1)
    with np.errstate(over="ignore"):
        return main + float(np.linalg.norm(a, norm) * np.float64(level) ** (1 / exponent))


def least_sum_deviation(weights: ArrayLike, log_level: float, beta: float) -> float:
    r"""Value that ``sum a_i y_i`` of symmetric Weibull rewards exceeds with a probability above ``exp(-log_level)``.

    Where ``m`` rewards are ``t_i`` or more and the others do not add up to less than nothing, the sum is ``sum a_i t_i``:

    .. math:: P\left(|\textstyle\sum a_i y_i| \ge \sum a_i t_i\right) \ge 2^{-m} e^{-\sum t_i^\beta}

    for ``P(|y| >= t) = exp(-t^beta)``. With the ``m`` largest weights and the best ``t``, by Hölder's inequality, that is
    ``||a||_{beta*} (log_level - m log 2)^{1/beta}`` over them; for ``beta <= 1`` one reward does best.

    Parameters
    ----------
    weights, log_level, beta
        As in :func:`weighted_terms`.

    Returns
    -------
    float
        In units of the ``psi_beta`` norm; 0 where the level is too high to say anything.

    Examples
    --------
    >>> from bandstrap.theory.weighted_sums import least_sum_deviation
    >>> round(least_sum_deviation([3, 4], 16, 1), 2), round(least_sum_deviation([3, 4], 16, 2), 2)
    (30.61, 13.51)

    Theorem 2 as printed for ``1 < beta < 2`` falls behind it by any factor:

    >>> import numpy as np
    >>> for n in (100, 10**6):
    ...     a = np.full(n, 1 / n)
    ...     round(least_sum_deviation(a, n**2, 4/3) / weighted_terms(a, n**2, 4/3, form="printed"), 2)
    0.94
    9.4
    """
    owner = "least_sum_deviation"
    a = check_weights(weights, owner)
    level = check_number(log_level, "log_level", owner, above=0)
    exponent = check_number(beta, "beta", owner, above=0)
    falling = np.sort(np.abs(a))[::-1]
    if exponent <= 1:
        norms = falling[:1]
    else:
        power = exponent / (exponent - 1)
        norms = np.cumsum(falling**power) ** (1 / power)
    budgets = np.maximum(level - math.log(2) * np.arange(1, norms.size + 1), 0.0)
    return float(np.max(norms * budgets ** (1 / exponent))) / 2 ** (1 / exponent)


def sum_moment(weights: ArrayLike, order: int, beta: float) -> float:
    r"""``(E|sum a_i y_i|^p)^{1/p}`` of symmetric Weibull rewards, the left side of lemma 1, exactly.

    Parameters
    ----------
    weights
        ``a``.
    order
        ``p``, even.
    beta
        Tail exponent: the rewards have ``P(|y| >= t) = exp(-t^beta)``, so norm ``2^{1/beta}``.

    Returns
    -------
    float
        In units of the ``psi_beta`` norm.

    Examples
    --------
    >>> from bandstrap.theory.weighted_sums import sum_moment
    >>> sum_moment([3, 4], 2, 2)  # of variance 1 each, and the norm is sqrt(2)
    3.53553
    """
    owner = "sum_moment"
    a = check_weights(weights, owner)
    exponent = check_number(beta, "beta", owner, above=0)
    p = check_count(order, "order", owner)
    if p % 2:
        raise requirement("order", owner, "even", order)
    if not a.any():
        return 0.0
    orders = np.arange(0, p + 1)
    series = np.where(orders % 2 == 0, gammaln(1 + orders / exponent) - gammaln(1 + orders), -np.inf)
    largest = float(np.abs(a).max())
    log_moment = log_product(series, grouped(a / largest))[p] + gammaln(1 + p)
    return largest * math.exp(log_moment / p) / 2 ** (1 / exponent)


def check_weights(weights: ArrayLike, owner: str) -> Floats:
    """Weights as an array of at least one finite number."""
    a = check_numbers(weights, "weights", owner)
    if a.ndim != 1 or not a.size:
        raise requirement("weights", owner, "a list of at least one number", f"an array of shape {a.shape}")
    return a
