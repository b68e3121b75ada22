"""Hoeffding's bound: the concentration bound behind UCB1, and the paper's preliminary bound ``phi``."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import Bound, Side, Threshold, build, check_inside, check_support, register, rewards_inside
from bandstrap.engine.compiler.kernel import inlined
from bandstrap.errors import check_number, requirement


@inlined
def root_log(alpha: float) -> float:
    """``sqrt(2 log(1/alpha))``: what the widths of all sample sizes share."""
    return math.sqrt(2.0 * math.log(1.0 / alpha))


@inlined
def hoeffding_width(n: int, sigma: float, root: float) -> float:
    """``sigma sqrt(2 log(1/alpha) / n)``, with ``root`` the :func:`root_log` of ``alpha``."""
    return sigma * root / math.sqrt(n)


@register(assumes=("sub-Gaussian",), needs=("sigma|support",))
def hoeffding(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    sigma: float | None = None,
    support: tuple[float, float] | None = None,
    check: bool = True,
) -> Bound:
    r"""Hoeffding's bound for sub-Gaussian or bounded rewards.

    .. math:: \bar y + \sigma \sqrt{2 \log(1/\alpha) / n}

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    sigma
        Sub-Gaussian scale of the rewards: an upper bound on their standard deviation if they are normal. There is no
        default: a guessed scale would make the bound a guess.
    support
        Instead of ``sigma``, the interval ``(low, high)`` the rewards lie in; then ``sigma = (high - low)/2``.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound

    See Also
    --------
    bandstrap.bounds.betting : prefer it for bounded rewards; far narrower when their variance is small.
    bandstrap.bounds.bootstrap : estimates the width from the data.

    Examples
    --------
    >>> from bandstrap.bounds import hoeffding
    >>> hoeffding([0.2, 0.9, 0.4, 0.5], 0.05, support=(0, 1)).value
    1.1119

    References
    ----------
    .. [1] Hoeffding. Probability inequalities for sums of bounded random variables. JASA 58, 1963.
    """
    if (sigma is None) == (support is None):
        received = "neither" if sigma is None else "both"
        raise requirement("sigma", "hoeffding", "given, or else 'support', and not both", received)
    if support is not None:
        ends = check_support(support, "hoeffding")
        # Halved before the length can overflow; never 0, where half of the smallest float is.
        scale = ends[1] / 2 - ends[0] / 2 or ends[1] - ends[0]
        holds_for = rewards_inside(ends)
    else:
        ends = (-math.inf, math.inf)
        scale = check_number(sigma, "sigma", "hoeffding", above=0)
        holds_for = f"independent sub-Gaussian rewards of scale {scale:g}"

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        check_inside(rewards, ends, "hoeffding", mirrored)
        # By the power of two of the scale, so that no product on the way is beyond the largest float.
        size, exponent = math.frexp(scale)
        with np.errstate(over="ignore"):
            width = np.asarray(np.ldexp(hoeffding_width(rewards.shape[-1], size, root_log(alpha)), exponent))
        return Threshold(width, {"main": width})

    return build(
        "hoeffding",
        sample,
        alpha,
        side,
        threshold,
        guarantee=alpha,
        holds_for=holds_for,
        check=check,
        told={"sigma": sigma},
    )
