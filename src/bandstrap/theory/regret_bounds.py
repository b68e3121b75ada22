"""Regret that theorems 3 and 4 promise: at most for bootstrapped UCB, at least for the naive policy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import FloatOrArray, as_number
from bandstrap.errors import check_choice, check_number, check_numbers, requirement
from bandstrap.theory.tails import FORMS, TheoremForm, sub_weibull_constant


def check_problem(gaps: ArrayLike, horizon: ArrayLike, owner: str) -> tuple[Floats, Floats]:
    """Gaps with a best arm, and horizons of at least 2."""
    arms = check_numbers(gaps, "gaps", owner, at_least=0)
    if arms.ndim != 1 or arms.size == 0 or arms.min() > 0:
        raise requirement("gaps", owner, "one number per arm, 0 for the best", repr(gaps))
    return arms, check_numbers(horizon, "horizon", owner, at_least=2)


def _check_tail(sigma: float, beta: float, constant: float | None, owner: str) -> tuple[float, float]:
    """``C_beta sigma``, the only way the two enter, and ``beta``."""
    scale = check_number(sigma, "sigma", owner, above=0)
    exponent = check_number(beta, "beta", owner, above=0)
    c = sub_weibull_constant(exponent) if constant is None else check_number(constant, "constant", owner, above=0)
    return c * scale, exponent


# With L = log(2/alpha) = 2 log T and V(l) the width of theorem 2 at level exp(-l), an arm is dropped once
# V(2L) + 3 V(L) <= gap. Each of the two terms of V may take half the gap.


def _main_scale(scale: float) -> float:
    """``m`` such that ``(m/gap)^2 L`` pulls bring the first terms of ``V(2L) + 3 V(L)`` to half the gap."""
    return 2 * (math.sqrt(2) + 3) * scale


def _rest(gap: Floats, level: Floats, scale: float, beta: float) -> Floats:
    """Gap times the pulls that bring the second terms of ``V(2L) + 3 V(L)`` to half the gap."""
    if beta >= 2:
        return np.zeros_like(gap * level)
    width = 2 * (2 ** (1 / beta) + 3) * scale
    if beta > 1:  # b = L (width/gap)^beta, because R is (L/b)^{1/beta}: erratum of theorem 2
        return level * width**beta * gap ** (1 - beta)
    return width * level ** (1 / beta) * np.ones_like(gap)


def problem_dependent_bound(
    gaps: ArrayLike,
    horizon: ArrayLike,
    *,
    sigma: float,
    beta: float,
    constant: float | None = None,
    form: TheoremForm = "corrected",
) -> FloatOrArray:
    r"""Theorem 3: upper bound on the regret of bootstrapped UCB in terms of the gaps.

    Printed:

    .. math:: \sum_{k: \Delta_k > 0} \frac{128 C^2 \sigma^2 \log T}{\Delta_k}
        + 2^{3+1/\beta} C \sigma K (\log T)^{1/\beta} + 4 \sum_k \Delta_k

    Corrected:

    .. math:: \sum_{k: \Delta_k > 0} \left[\frac{8(\sqrt 2 + 3)^2 C^2 \sigma^2 \log T}{\Delta_k}
        + S_\beta(\Delta_k) + 6 \Delta_k\right]

    with ``8 (sqrt(2) + 3)^2 = 155.9`` and, for ``w = 2 (2^{1/beta} + 3) C sigma``, ``S = w (2 log T)^{1/beta}`` if
    ``beta <= 1``, ``S = 2 log T w^beta gap^{1-beta}`` if ``1 < beta < 2`` and ``S = 0`` if ``beta >= 2``.

    Parameters
    ----------
    gaps
        Distance of each arm's mean to the best, shape ``(n_arms,)``; 0 for the best.
    horizon
        Number of rounds ``T``, a number or an array, each at least 2.
    sigma
        Upper bound on the ``psi_beta`` norm of the noise, see :func:`~bandstrap.theory.orlicz_norm`.
    beta
        Tail exponent of the noise, which is symmetric.
    constant
        ``C``; by default :func:`~bandstrap.theory.sub_weibull_constant`, which makes theorem 2 true.
    form
        ``"corrected"`` (default) is proved, see Notes. ``"printed"`` is the paper's formula, with ``K`` read as the number
        of all arms.

    Returns
    -------
    float or ndarray
        Of the shape of ``horizon``. At short horizons the trivial bound, ``T`` times the largest gap, may be smaller.

    Notes
    -----
    The policy plays ``alpha = 2/T^2``, ``delta = 1/2``, exact quantiles, ``phi`` of theorem 2 at level ``alpha``, and
    theorem 1's multiplier of ``phi``, which is at most 1 (``correction="sharp"``). The multiplier of the paper's proof,
    ``sqrt(2 log(4/alpha)/n)``, is covered if no gap exceeds ``5 C sigma``. Then it is below 1 when an arm is last pulled.

    The printed proof uses a bound over weights and rewards jointly as a bound on the quantile given the rewards. Instead:
    the quantile of ``y - ybar`` is at most that of ``y - mu`` plus ``|ybar - mu|``, because ``|wbar| <= 1``. Let
    ``L = log(2/alpha)``, and let ``V(l)`` be the width of theorem 2 at level ``exp(-l)``. Signs do not change the
    distribution of symmetric noise. So, by Markov's inequality, the quantile of ``y - mu`` at level ``alpha/2`` is below
    ``V(2L)``, except with probability ``alpha/2``. Also ``|ybar - mu| <= V(L)``, except with probability ``alpha/2``. Then
    the index of arm ``k`` is below ``mu_k + V(2L) + 3 V(L)``. Once this is below the best mean, the arm is not pulled
    again. Misses cost ``T (2 alpha T + alpha) = 4 + 2/T`` pulls, and rounding up costs one, which gives the 6. (``"sharp"``
    itself never exceeds ``phi``, so for it ``2 V(L)`` is enough, and 32 can replace 155.9.)

    Examples
    --------
    >>> from bandstrap.theory import problem_dependent_bound
    >>> problem_dependent_bound([0, 0.5, 1], [1000, 2000], sigma=1, beta=2, constant=1)
    array([3239.3, 3563.5])
    >>> problem_dependent_bound([0, 0.5, 1], 2000, sigma=1, beta=2, constant=1, form="printed")
    3018.3

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, theorem 3.
    """
    owner = "problem_dependent_bound"
    arms, rounds = check_problem(gaps, horizon, owner)
    scale, exponent = _check_tail(sigma, beta, constant, owner)
    check_choice(form, "form", owner, FORMS)
    wrong = arms[arms > 0]
    log = np.log(rounds)
    if form == "printed":
        rest = 2 ** (3 + 1 / exponent) * scale * arms.size * log ** (1 / exponent)
        total = 128 * scale**2 * log * np.sum(1 / wrong) + rest + 4 * arms.sum()
    else:
        level = 2 * log[..., None]
        per_arm = _main_scale(scale) ** 2 * level / wrong + _rest(wrong, level, scale, exponent) + 6 * wrong
        total = per_arm.sum(axis=-1)
    return as_number(total, rounds.shape)


def gap_free_bound(
    gaps: ArrayLike,
    horizon: ArrayLike,
    *,
    sigma: float,
    beta: float,
    constant: float | None = None,
    best_mean: float | None = None,
    form: TheoremForm = "corrected",
) -> FloatOrArray:
    r"""Theorem 3: upper bound on the regret of bootstrapped UCB that needs no gaps.

    Printed, if ``T >= 2^{2/beta-3} K (log T)^{2/beta-1}``:

    .. math:: 32 \sqrt 2 C \sigma \sqrt{T K \log T} + 4 K \mu_1^*

    Corrected, with ``n`` the number of arms that are not best and ``S`` as in :func:`problem_dependent_bound`:

    .. math:: 2 m \sqrt{2 T n \log T} + n S_\beta(\Delta) + 6 \sum_k \Delta_k,
        \qquad m = 2 (\sqrt 2 + 3) C \sigma, \quad \Delta = m \sqrt{2 n \log T / T}

    Parameters
    ----------
    gaps, horizon, sigma, beta, constant
        As in :func:`problem_dependent_bound`.
    best_mean
        Needed only by the printed form: its ``mu_1^*``, which the paper does not define, is read as the best arm's mean.
    form
        ``"corrected"`` (default) is proved and needs no condition, because its middle term is kept. ``"printed"`` is the
        paper's formula, with ``K`` read as the number of all arms.

    Returns
    -------
    float or ndarray
        The bound, of the shape of ``horizon``; infinite if the condition of the printed theorem fails.

    Notes
    -----
    Arms with a gap below ``Delta`` cost at most ``T Delta`` together. Every other arm costs at most as much as an arm of
    gap ``Delta`` in :func:`problem_dependent_bound`, except for the last term. That term cannot be ``4 K mu_1^*``: gaps can
    exceed the best mean if means are negative. The order ``sqrt(K T log T)`` is the minimax ``sqrt(K T)`` up to the
    logarithm.

    Examples
    --------
    >>> from bandstrap.theory import gap_free_bound
    >>> gap_free_bound([0, 0.5, 1], 2000, sigma=1, beta=2, constant=1)
    4363.0
    >>> gap_free_bound([0, 0.5, 1], 2000, sigma=1, beta=2, constant=1, best_mean=1, form="printed")
    9676.3

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, theorem 3.
    """
    owner = "gap_free_bound"
    arms, rounds = check_problem(gaps, horizon, owner)
    scale, exponent = _check_tail(sigma, beta, constant, owner)
    check_choice(form, "form", owner, FORMS)
    log = np.log(rounds)
    if form == "printed":
        best = check_number(best_mean, "best_mean", owner)
        n_arms = arms.size
        applies = rounds >= 2 ** (2 / exponent - 3) * n_arms * log ** (2 / exponent - 1)
        value = 32 * math.sqrt(2) * scale * np.sqrt(rounds * n_arms * log) + 4 * n_arms * best
        return as_number(np.where(applies, value, np.inf), rounds.shape)
    n_wrong = np.count_nonzero(arms)
    if n_wrong == 0:
        return as_number(0.0, rounds.shape)
    threshold = _main_scale(scale) * np.sqrt(2 * n_wrong * log / rounds)
    value = 2 * rounds * threshold + n_wrong * _rest(threshold, 2 * log, scale, exponent) + 6 * arms.sum()
    return as_number(value, rounds.shape)


def naive_lower_bound(means: ArrayLike, horizon: ArrayLike) -> FloatOrArray:
    r"""Theorem 4: lower bound on the regret of bootstrapped UCB without correction, linear in ``T``.

    .. math:: R(T) \ge \Delta \left((1 - \mu_1) \mu_2 (T - 2) + 1\right)

    If the best arm's first reward is 0 and the other's 1, the best arm has index 0 forever, and the other's stays above.

    It applies to two Bernoulli arms, each pulled once in the first two rounds. Weights, tie rule and levels are arbitrary,
    as long as the bootstrap quantile is not negative. With the exact quantile this means ``alpha (1 - delta) < 1/2``.

    Parameters
    ----------
    means
        The two success probabilities, in any order.
    horizon
        Number of rounds ``T``, a number or an array, each at least 2.

    Returns
    -------
    float or ndarray
        Of the shape of ``horizon``.

    Examples
    --------
    >>> from bandstrap.theory import naive_lower_bound
    >>> naive_lower_bound([0.6, 0.4], [2, 2000])
    array([ 0.2  , 64.136])

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, theorem 4 (supplement A).
    """
    owner = "naive_lower_bound"
    pair = check_numbers(means, "means", owner, at_least=0)
    if pair.shape != (2,) or pair.max() > 1:
        raise requirement("means", owner, "two probabilities", repr(means))
    rounds = check_numbers(horizon, "horizon", owner, at_least=2)
    best, other = float(pair.max()), float(pair.min())
    return as_number((best - other) * ((1 - best) * other * (rounds - 2) + 1), rounds.shape)
