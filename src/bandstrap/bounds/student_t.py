"""Student's t bound: the textbook answer, exact for normal rewards and for nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import Bound, FloatOrArray, Side, Threshold, build, register, too_few
from bandstrap.errors import near_one


def student_width(n: int, deviation: FloatOrArray, alpha: float) -> FloatOrArray:
    """``t_{n-1, 1-alpha} s / sqrt(n)``, with ``deviation`` the standard deviation (1/(n-1)) of ``n >= 2`` rewards."""
    return -stdtrit(n - 1, alpha) * deviation / np.sqrt(n)


@register(assumes=("normal",))
def student_t(sample: ArrayLike, alpha: float, *, side: Side = "upper", check: bool = True) -> Bound:
    r"""Student's t bound for normal rewards of unknown variance.

    .. math:: \bar y + t_{n-1, 1-\alpha}\, s / \sqrt n

    with ``s`` the sample standard deviation (1/(n-1)). One reward gives no finite bound.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound

    See Also
    --------
    bandstrap.bounds.sign_flip : prefer it when the rewards are symmetric but perhaps not normal.

    Examples
    --------
    >>> from bandstrap.bounds import student_t
    >>> student_t([0.2, 0.9, 0.4, 0.5], 0.05).value
    0.846

    References
    ----------
    .. [1] Student. The probable error of a mean. Biometrika 6, 1908.
    """

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        n = rewards.shape[-1]
        if n == 1:
            width = np.full(rewards.shape[:-1], np.inf)
        else:
            scaled, exponents = near_one(rewards)
            with np.errstate(over="ignore"):
                width = np.ldexp(student_width(n, scaled.std(axis=-1, ddof=1), alpha), exponents)
        return Threshold(width, {"main": width}, why_infinite=too_few(1, 2, alpha) if n == 1 else "")

    return build(
        "student_t",
        sample,
        alpha,
        side,
        threshold,
        guarantee=alpha,
        holds_for="independent normal rewards",
        check=check,
    )
