"""Tails of sub-Weibull rewards and of their mean: what a ``psi_beta`` norm promises (theorem 2, lemma 1)."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bandstrap.bounds.bound import Number, as_number
from bandstrap.bounds.sub_weibull import finite_width, log_power, theorem_constant, theorem_terms, theorem_width
from bandstrap.errors import check_choice, check_count, check_flag, check_number, check_numbers, requirement

# The paper's formulas as they should be, and as they stand.
Form = Literal["corrected", "printed"]
FORMS: tuple[Form, ...] = get_args(Form)
# Theorem 2 is stated for alpha below exp(-2).
LARGEST_ALPHA = math.exp(-2)


def tail_bound(t: ArrayLike, *, sigma: float, beta: float) -> Number:
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
        Whether the rewards are symmetric about their mean; then the default is narrower.
    constant
        ``C_beta``. The default computes the narrowest width that moments prove for this ``n``, ``alpha`` and ``beta``;
        with :func:`sub_weibull_constant` one number serves them all.

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

    It is the largest ratio of the width that moments prove to the formula of theorem 2 (see
    :func:`mean_deviation_bound`), over ``n`` up to a billion at ``alpha = exp(-2)``, the largest level theorem 2
    covers; smaller levels have smaller ratios.

    Parameters
    ----------
    beta
        Tail exponent.

    Returns
    -------
    float
        ``C_beta``; computed at four sizes per octave, so good to about a hundredth.

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


def theorem_2_terms(n: int, log_level: float, beta: float, *, form: Form = "corrected") -> float:
    r"""The two terms of theorem 2 for a mean, ``C = sigma = 1``, at any level ``alpha = exp(-log_level)``.

    .. math:: \sqrt{L/n} + L^{1/\beta}/n \text{ (printed)}, \qquad
        \sqrt{L/n} + (L/n)^{1/\beta} \text{ (corrected, } 1 < \beta < 2), \qquad L = \log(1/\alpha)

    The corrected form is that of :func:`mean_deviation_bound`: printed for ``beta <= 1``, the first term alone for
    ``beta >= 2``. Lemma 1 has the same terms for the moment of order ``L``.

    Parameters
    ----------
    n
        Number of rewards.
    log_level
        ``L``, so that levels may be as small as one likes.
    beta
        Tail exponent.
    form
        ``"corrected"`` (default) or ``"printed"``.

    Returns
    -------
    float
        The sum.

    Examples
    --------
    >>> from bandstrap.theory.tails import theorem_2_terms
    >>> theorem_2_terms(100, 1e4, 1.5), theorem_2_terms(100, 1e4, 1.5, form="printed")
    (31.5443, 14.6416)
    """
    owner = "theorem_2_terms"
    size = check_count(n, "n", owner)
    level = check_number(log_level, "log_level", owner, above=0)
    exponent = check_number(beta, "beta", owner, above=0)
    check_choice(form, "form", owner, FORMS)
    main, rest = theorem_terms(size, level, exponent)
    if form == "printed" and exponent > 1:
        rest = level ** (1 / exponent) / size
    return main + rest


def least_mean_deviation(n: int, log_level: float, beta: float) -> float:
    r"""What the mean of ``n`` symmetric Weibull rewards exceeds with a probability above ``alpha = exp(-log_level)``.

    Where ``m`` rewards are ``t/m`` or more and the others do not add up to less than nothing, the sum is ``t``:

    .. math:: P(|\textstyle\sum y_i| \ge t) \ge 2^{-m} e^{-m (t/m)^\beta}

    for ``P(|y| >= t) = exp(-t^beta)``; solved for ``t`` with the better of ``m = 1`` and ``m = n``. A formula below it is
    no confidence bound, and theorem 2 as printed for ``1 < beta < 2`` falls behind it by any factor: ``m = n``.

    Parameters
    ----------
    n, log_level, beta
        As in :func:`theorem_2_terms`.

    Returns
    -------
    float
        ``t/n`` in units of the ``psi_beta`` norm; 0 where the level is too high to say anything.

    Examples
    --------
    >>> from bandstrap.theory.tails import least_mean_deviation, theorem_2_terms
    >>> [round(least_mean_deviation(n, n**2, 4/3) / theorem_2_terms(n, n**2, 4/3, form="printed"), 2) for n in (100, 10**6)]
    [0.94, 9.4]
    """
    owner = "least_mean_deviation"
    size = check_count(n, "n", owner)
    level = check_number(log_level, "log_level", owner, above=0)
    exponent = check_number(beta, "beta", owner, above=0)
    sums = [many * (max(level / many - math.log(2), 0.0)) ** (1 / exponent) for many in (1, size)]
    return max(sums) / size / 2 ** (1 / exponent)


def mean_moment(n: int, order: int, beta: float) -> float:
    r"""``(E|ybar|^p)^{1/p}`` of ``n`` symmetric Weibull rewards, the left side of lemma 1, exactly.

    The rewards have ``P(|y| >= t) = exp(-t^beta)``, so moments ``Gamma(1 + p/beta)`` and norm ``2^{1/beta}``.

    Parameters
    ----------
    n
        Number of rewards.
    order
        ``p``, even.
    beta
        Tail exponent.

    Returns
    -------
    float
        In units of the ``psi_beta`` norm.

    Examples
    --------
    >>> from bandstrap.theory.tails import mean_moment
    >>> mean_moment(4, 2, 2)  # the standard deviation, 1/sqrt(4) of 1, and the norm is sqrt(2)
    0.35355
    """
    owner = "mean_moment"
    size = check_count(n, "n", owner)
    exponent = check_number(beta, "beta", owner, above=0)
    p = check_count(order, "order", owner)
    if p % 2:
        raise requirement("order", owner, "even", order)
    orders = np.arange(0, p + 1)
    series = np.where(orders % 2 == 0, gammaln(1 + orders / exponent) - gammaln(1 + orders), -np.inf)
    return math.exp((log_power(series, size)[p] + gammaln(1 + p)) / p) / size / 2 ** (1 / exponent)
