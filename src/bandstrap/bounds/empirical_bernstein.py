"""Empirical Bernstein bounds: Hoeffding's range term shrinks as 1/n, the leading term knows the sample variance."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import Bound, Side, Threshold, build, check_support, register, rewards_inside, scale_inside
from bandstrap.bounds.resampling import why_no_spread
from bandstrap.errors import check_choice, check_number

BernsteinForm = Literal["audibert", "maurer-pontil"]
FORMS: tuple[BernsteinForm, ...] = get_args(BernsteinForm)


def empirical_bernstein_terms(
    variance: Floats, n: int, alpha: float, spread: float, form: BernsteinForm = "audibert"
) -> tuple[Floats, float]:
    """Variance term and range term; ``variance`` is the sample variance with 1/n, ``spread`` the length of the support."""
    if form == "audibert":
        log = math.log(3 / alpha)
        return np.sqrt(2 * variance * log / n), 3 * spread * log / n
    if n == 1:
        return np.zeros_like(variance), math.inf
    log = math.log(2 / alpha)
    return np.sqrt(2 * variance * log / (n - 1)), 7 * spread * log / (3 * (n - 1))


@register(assumes=("bounded",), needs=("support",))
def empirical_bernstein(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    support: tuple[float, float] | None = None,
    form: BernsteinForm = "audibert",
    spread: float | None = None,
    check: bool = True,
) -> Bound:
    r"""Empirical Bernstein bound for bounded rewards.

    .. math:: \bar y + \sqrt{2 V \log(3/\alpha) / n} + 3 b \log(3/\alpha) / n

    with ``V`` the sample variance (1/n) and ``b`` the length of the support.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    support
        The interval ``(low, high)`` the rewards lie in.
    form
        ``"audibert"`` (default, the paper's comparison) or ``"maurer-pontil"``, which has smaller constants:
        ``sqrt(2 V log(2/alpha) / (n - 1)) + 7 b log(2/alpha) / (3 (n - 1))``.
    spread
        ``b``, by default the length of the support. With a smaller one nothing is proved.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound
        ``parts["main"]`` is the variance term, ``parts["correction"]`` the range term.

    See Also
    --------
    bandstrap.bounds.betting : prefer it at small sample sizes.

    Notes
    -----
    The paper's Figure 1 sets ``b = 1`` for rewards in [-1, 1], whose support has length 2: ``spread=1`` draws its curve.

    Examples
    --------
    >>> from bandstrap.bounds import empirical_bernstein
    >>> bound = empirical_bernstein([0.2, 0.9, 0.4, 0.5] * 50, 0.05, support=(0, 1))
    >>> bound.value, bound.parts["correction"]
    (0.613, 0.0614)

    References
    ----------
    .. [1] Audibert, Munos, Szepesvari. Exploration-exploitation trade-off using variance estimates in multi-armed
       bandits. Theoretical Computer Science 410, 2009.
    .. [2] Maurer, Pontil. Empirical Bernstein bounds and sample variance penalization. COLT 2009.
    """
    ends = check_support(support, "empirical_bernstein")
    check_choice(form, "form", "empirical_bernstein", FORMS)
    given = None if spread is None else check_number(spread, "spread", "empirical_bernstein", above=0)
    is_proved = given is None or given >= ends[1] - ends[0]

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        scaled, (low, high), exponent = scale_inside(rewards, ends, "empirical_bernstein", mirrored)
        length = high - low if given is None else np.ldexp(given, -exponent)
        n = rewards.shape[-1]
        terms = empirical_bernstein_terms(scaled.var(axis=-1), n, alpha, length, form)
        why = why_no_spread(1) if n == 1 and form == "maurer-pontil" else ""
        with np.errstate(over="ignore"):
            main, correction = (np.ldexp(term, exponent) for term in terms)
            return Threshold(main + correction, {"main": main, "correction": correction}, why_infinite=why)

    return build(
        "empirical_bernstein",
        sample,
        alpha,
        side,
        threshold,
        guarantee=alpha if is_proved else None,
        holds_for=rewards_inside(ends) + ("" if is_proved else ", large samples"),
        check=check,
    )
