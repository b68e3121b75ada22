"""Do the data contradict what a bound assumes of them?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr

from bandstrap.bounds.bound import BOUNDS
from bandstrap.errors import check_sample, near_one

# A doubt is raised when data at least as odd would come up this rarely under the assumption.
SIGNIFICANCE = 0.01
# Below this many rewards the tests have no power worth a sentence.
FEWEST = 8


def symmetry_p_value(sample: ArrayLike) -> float:
    r"""P-value of the test of symmetry of Miao, Gel and Gastwirth.

    ``sqrt(n) (mean - median) / J`` with ``J = sqrt(pi/2) mean|y - median|`` is about ``N(0, pi/2 - 1)`` for normal
    rewards, and the robust scale keeps it near that for other symmetric ones.

    Examples
    --------
    >>> from bandstrap.bounds.assumptions import symmetry_p_value
    >>> symmetry_p_value([1, 1, 1, 2, 2, 3, 9, 30, 80, 250])
    0.0012

    References
    ----------
    .. [1] Miao, Gel, Gastwirth. A new test of symmetry about an unknown median. Random Walk, Sequential Analysis and
       Related Topics, 2006.
    """
    rewards, _ = near_one(check_sample(sample, "symmetry_p_value").ravel())
    median = float(np.median(rewards))
    spread = math.sqrt(math.pi / 2) * float(np.abs(rewards - median).mean())
    if spread == 0:
        return 1.0
    statistic = math.sqrt(rewards.size) * (float(rewards.mean()) - median) / spread
    return float(2 * ndtr(-abs(statistic) / math.sqrt(math.pi / 2 - 1)))


def doubts(name: str, sample: ArrayLike, options: dict[str, Any]) -> list[str]:
    """Sentences that say how ``sample`` contradicts what the bound ``name`` assumes; usually none."""
    rewards = check_sample(sample, name).ravel()
    scaled, exponent = near_one(rewards)  # so that squares neither overflow nor vanish
    n = rewards.size
    found = []
    support = options.get("support")
    if support is not None:
        low, high = support
        outside = int(((rewards < low) | (rewards > high)).sum())
        if outside:
            found.append(f"{outside} of {n} rewards lie outside [{low:g}, {high:g}], so the bound cannot be computed")
    assumes = BOUNDS[name].assumes
    if assumes in ("symmetric", "normal") and n >= FEWEST:
        p_value = symmetry_p_value(rewards)
        if p_value < SIGNIFICANCE:
            direction = "right" if scaled.mean() > np.median(scaled) else "left"
            found.append(f"the rewards look skewed to the {direction} (symmetry test, p = {p_value:.2g})")
    sigma = options.get("sigma")
    if sigma is not None and assumes != "sub-Weibull" and n >= FEWEST:
        digits, power = math.frexp(sigma)
        with np.errstate(over="ignore"):
            ratio = np.ldexp(scaled.std() / digits, exponent - power)
            p_value = float(chdtrc(n - 1, n * ratio**2))
        if p_value < SIGNIFICANCE:
            deviation = float(np.ldexp(scaled.std(ddof=1), exponent))
            found.append(f"their standard deviation, {deviation:.3g}, is above sigma = {sigma:g}")
    return found
