"""Concentration of sub-Weibull rewards (theorem 2), with constants that are computed instead of left open."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import Bound, Side, Threshold, build, register
from bandstrap.engine.compiler.kernel import jitable
from bandstrap.errors import check_flag, check_number, requirement

# Numbers of rewards at which the constant of theorem 2 is computed: four per octave, up to a billion.
SIZES = sorted({round(2 ** (j / 4)) for j in range(121)})
# Sizes of the weights of a sum, each with how many rewards have it.
Groups = tuple[tuple[float, int], ...]


@functools.lru_cache(maxsize=1024)
def log_moment(order: float, beta: float) -> float:
    r"""Log of the largest ``E|y|^order`` among rewards of ``psi_beta`` norm at most 1.

    With ``u = exp(|y|^beta) - 1`` the norm says ``E u <= 1``, and ``|y|^order = log(1+u)^r`` for ``r = order/beta``.
    The largest mean of that under ``E u <= 1`` is its concave hull at 1, reached by the two points 0 and ``u >= 1``:
    ``max_{u >= 1} log(1+u)^r / u``.
    """
    from scipy.optimize import brentq  # takes as long to import as all the rest

    r = order / beta

    def slope(log_u: float) -> float:  # derivative of r log log(1+u) - log u in log u
        share = 1 / (1 + math.exp(-log_u))
        return r * share / np.logaddexp(0, log_u) - 1

    log_u = 0.0 if slope(0.0) <= 0 else brentq(slope, 0.0, 2 * r + 10)
    return r * math.log(np.logaddexp(0, log_u)) - log_u


def log_convolve(first: Floats, second: Floats) -> Floats:
    """Logs of the coefficients of a product of two power series, cut to their common length."""
    orders = np.arange(first.size)
    partners = orders[:, None] - orders
    terms = np.where(partners >= 0, first + second[partners], -np.inf)
    products: Floats = np.logaddexp.reduce(terms, axis=1)
    return products


def log_power(series: Floats, n: int) -> Floats:
    """Logs of the coefficients of the ``n``-th power of a power series, by squaring and multiplying."""
    power = np.where(np.arange(series.size) == 0, 0.0, -np.inf)
    while n:
        if n & 1:
            power = log_convolve(power, series)
        n >>= 1
        if n:
            series = log_convolve(series, series)
    return power


def log_product(series: Floats, weights: Groups) -> Floats:
    """Logs of the coefficients of the product of ``f(a x)`` over weights ``a``; ``series`` has those of ``f``."""
    orders = np.arange(series.size)
    product: Floats | None = None
    for weight, many in weights:
        factor = log_power(series if weight == 1.0 else series + orders * math.log(weight), many)
        product = factor if product is None else log_convolve(product, factor)
    assert product is not None  # noqa: S101
    return product


def grouped(weights: Floats) -> Groups:
    """Sizes of weights, each with how often it occurs; those of 0 are left out."""
    sizes, counts = np.unique(np.abs(weights[weights != 0]), return_counts=True)
    return tuple(zip(sizes.tolist(), counts.tolist(), strict=True))


@functools.lru_cache(maxsize=1024)
def sum_width(weights: Groups, alpha: float, beta: float, symmetric: bool) -> float:
    r"""Width of the two-sided bound on ``S = sum a_i y_i`` of centred rewards of ``psi_beta`` norm at most 1.

    ``E S^{2k}`` is ``(2k)!`` times the coefficient of ``x^{2k}`` in the product of ``1 + sum_p m_p (a_i x)^p / p!`` with
    ``m_p`` the moments of one reward; ``m_1 = 0``, and odd ones vanish for symmetric rewards. All coefficients are
    non-negative, so upper bounds on moments and ``|a_i|`` for ``a_i`` give an upper bound on ``E S^{2k}``, and Markov's
    inequality gives ``P(|S| >= x) <= E S^{2k} / x^{2k}``, best over ``k``.
    """
    most = 2 * math.ceil(math.log(1 / alpha) + 8)
    series = np.full(most + 1, -np.inf)
    series[0] = 0.0
    for p in range(2, most + 1, 2 if symmetric else 1):
        series[p] = log_moment(p, beta) - gammaln(p + 1)
    orders = np.arange(2, most + 1, 2)
    log_moments = log_product(series, weights)[orders] + gammaln(orders + 1)
    return math.exp(np.min((log_moments - math.log(alpha)) / orders))


def finite_width(n: int, alpha: float, beta: float, symmetric: bool, owner: str) -> float:
    """:func:`sum_width` of the mean of ``n`` rewards; an exponent or a level so small that moments overflow is refused."""
    return finite_sum_width(((1.0, n),), alpha, beta, symmetric, owner) / n


def finite_sum_width(weights: Groups, alpha: float, beta: float, symmetric: bool, owner: str) -> float:
    """:func:`sum_width`, with the same refusal."""
    try:
        with np.errstate(all="ignore"):
            width = sum_width(weights, alpha, beta, symmetric)
    except (ArithmeticError, ValueError):  # of moments that are no numbers
        width = math.nan
    if not math.isfinite(width):
        rule = f"large enough that the moments needed for the width at alpha = {alpha:g} are finite"
        raise requirement("beta", owner, rule, beta)
    return width


@jitable
def theorem_terms(n: int, log: float, beta: float) -> tuple[float, float]:
    """The two terms of theorem 2 for a mean at level ``exp(-log)``, without the constant; its misprint corrected."""
    rest = 0.0
    if beta <= 1.0 and math.log(log) / beta > 700.0:
        rest = math.inf  # where Python raises an error
    elif beta <= 1.0:
        rest = log ** (1.0 / beta) / n
    elif beta < 2.0:
        rest = (log / n) ** (1.0 / beta)
    return math.sqrt(log / n), rest


@jitable
def theorem_width(n: int, alpha: float, sigma: float, beta: float, constant: float) -> float:
    """Theorem 2: ``C sigma`` times the sum of its two terms."""
    main, rest = theorem_terms(n, math.log(1.0 / alpha), beta)
    return constant * sigma * (main + rest)


@functools.lru_cache(maxsize=64)
def theorem_constant(beta: float, levels: tuple[float, ...], owner: str = "sub_weibull") -> float:
    """``C`` of theorem 2 for numbers of rewards up to a billion, at these error probabilities.

    The largest ratio of the width that moments prove to the formula, over four sizes per octave: good to about a
    hundredth between them.
    """
    return max(
        finite_width(n, level, beta, False, owner) / sum(theorem_terms(n, math.log(1 / level), beta))
        for level in levels
        for n in SIZES
    )


@register(assumes=("sub-Weibull",), needs=("sigma", "beta"))
def sub_weibull(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    sigma: float | None = None,
    beta: float | None = None,
    symmetric: bool = False,
    constant: float | None = None,
    check: bool = True,
) -> Bound:
    r"""Concentration bound for sub-Weibull rewards: tails like ``exp(-|y/sigma|^beta)``.

    .. math:: \bar y + C \sigma \left(\sqrt{\log(1/\alpha)/n} + R\right)

    with ``R = log(1/alpha)^{1/beta}/n`` for ``beta <= 1``, ``(log(1/alpha)/n)^{1/beta}`` for ``1 < beta < 2`` and 0 for
    ``beta >= 2``: theorem 2 of the paper, whose printed ``R`` is too small between 1 and 2.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    sigma
        Upper bound on the ``psi_beta`` (Orlicz) norm of ``y - mu``: ``E exp(|y - mu|^beta / sigma^beta) <= 2``. For a
        normal distribution with standard deviation 1 and ``beta = 2`` it is ``sqrt(8/3)``.
    beta
        Tail exponent: 2 is sub-Gaussian, 1 sub-exponential, smaller is heavier.
    symmetric
        True if the rewards are symmetric about their mean; then odd moments vanish and the bound is narrower.
    constant
        The paper leaves ``C`` open. By default the width is the smallest that moments up to order
        ``2 log(1/alpha) + 16`` can prove for this ``n``, ``alpha`` and ``beta``. The reported ``C`` makes the formula
        equal to it. A number uses the formula with that ``C``; its validity is then your assumption.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        ``parts`` has ``"main"``, ``"correction"`` (the term with ``R``) and ``"constant"``.

    Notes
    -----
    For alpha from 0.2 to 1e-4 and n from 1 to 1000, the computed ``C`` lies between 0.4 and 1.6 if ``beta >= 1``. At
    ``beta = 1/2`` it reaches 3.25. The inequality is two-sided, so an upper bound alone is a little conservative.

    Examples
    --------
    >>> from bandstrap.bounds import sub_weibull
    >>> rewards = [0.3, -1.2, 0.8, 0.1, 2.0, -0.4, -0.9, 0.6] * 10
    >>> sub_weibull(rewards, 0.05, sigma=1.6, beta=2).width
    0.3846

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, theorem 2 and lemma 1.
    .. [2] Kuchibhotla, Chakrabortty. Moving beyond sub-Gaussianity in high-dimensional statistics. Information and
       Inference 11, 2022.
    """
    scale = check_number(sigma, "sigma", "sub_weibull", above=0)
    exponent = check_number(beta, "beta", "sub_weibull", above=0)
    given = None if constant is None else check_number(constant, "constant", "sub_weibull", above=0)
    is_symmetric = check_flag(symmetric, "symmetric", "sub_weibull")

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        n = rewards.shape[-1]
        main, rest = theorem_terms(n, math.log(1 / alpha), exponent)
        c = given
        if c is None:
            c = finite_width(n, alpha, exponent, is_symmetric, "sub_weibull") / (main + rest)
        # Without a second term there is none, also where the first is beyond the largest float.
        parts = {"main": c * scale * main, "correction": c * scale * rest if rest > 0 else 0.0, "constant": c}
        arrays = {key: np.asarray(value) for key, value in parts.items()}
        with np.errstate(over="ignore"):
            width = arrays["main"] + arrays["correction"]
        return Threshold(width, arrays, "moments" if given is None else "closed-form")

    kind = "symmetric sub-Weibull" if is_symmetric else "sub-Weibull"
    return build(
        "sub_weibull",
        sample,
        alpha,
        side,
        threshold,
        guarantee=alpha if given is None else None,
        holds_for=f"independent {kind} rewards of psi norm {scale:g} and exponent {exponent:g}"
        + ("" if given is None else f", if the constant {given:g} is large enough"),
        check=check,
        told={"symmetric": symmetric},
    )
