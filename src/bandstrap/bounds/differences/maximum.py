r"""The largest of several multiplier sums: what makes bounds on many differences hold together.

For groups ``g`` with one control ``c``, ``M = max_g (S_g - S_c)/e_g`` with ``S`` the sum of a group's terms times random
weights: the control's weights are the same in all of them. Given the control's, the groups are independent, so that

.. math:: P(M > x) = 1 - E_{S_c} \prod_g F_g(x e_g + S_c)

is counted group by group where each has few rewards, and not over all weights together. For bounds on the groups' own
means there is no control, and ``S_c`` is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.basics.seeds import Seed, drawn_seed, seed_of
from bandstrap.bounds.bisection import bisect
from bandstrap.bounds.bound import Side, Threshold
from bandstrap.bounds.differences.bootstrap import INDEPENDENT_WEIGHTS, IndependentWeights, terms
from bandstrap.bounds.resampling import check_resamples, upper_quantile, why_too_few
from bandstrap.errors import check_choice
from bandstrap.multipliers.monte_carlo import draws
from bandstrap.multipliers.weights import LAWS

# Up to this many rewards per group, all signs are looked at.
MOST_ENUMERATED = 12


@dataclass(frozen=True)
class LargestSum:
    """Number of its errors by which each bound lies from its mean, so that all hold together.

    Attributes
    ----------
    upper, lower
        That multiple for either side.
    method
        How it was found.
    why_infinite
        Why it may be infinite.
    """

    upper: float
    lower: float
    method: str
    why_infinite: str

    def threshold(self, error: float | None, exponent: int, mirrored: bool, no_spread: str) -> Threshold:
        """Threshold of a bound with this error, in units of ``2^exponent``; one without an error is infinite, for
        ``no_spread``.
        """
        multiple = self.lower if mirrored else self.upper
        main = np.asarray(np.ldexp(math.inf if error is None else max(multiple * error, 0.0), exponent))
        why = no_spread if error is None else self.why_infinite
        return Threshold(main, {"main": main}, self.method, why_infinite=why)


def largest_sum(
    control: Floats,
    groups: Sequence[Floats],
    errors: Sequence[float],
    alpha: float,
    side: Side,
    owner: str,
    *,
    weights: IndependentWeights = "rademacher",
    n_resamples: int = 9999,
    seed: Seed = None,
) -> LargestSum:
    """Count the largest sum over all signs, or draw it; of groups of rewards near 1, two or more that differ in each."""
    check_choice(weights, "weights", owner, INDEPENDENT_WEIGHTS)
    check_resamples(n_resamples, owner)
    # In ascending order, so that the same draws do not depend on the order of rewards.
    ordered = [np.sort(group) for group in (control, *groups)]
    drawn_from = seed_of(drawn_seed(seed, owner), *ordered)
    of_control, *of_groups = (terms(group) for group in ordered)
    level = alpha / 2 if side == "two-sided" else alpha
    is_counted = weights == "rademacher" and max(map(len, (of_control, *of_groups))) <= MOST_ENUMERATED

    def multiple(sign: float) -> float:
        if not groups:
            return math.inf
        turned = [sign * group for group in of_groups]
        if is_counted:
            return enumerated_maximum(sign * of_control, turned, errors, level)
        drawn = np.random.default_rng(drawn_from)
        return drawn_maximum(LAWS[weights], sign * of_control, turned, errors, level, n_resamples, drawn)

    method = "enumeration" if is_counted else f"{n_resamples} resamples"
    why = "" if is_counted else why_too_few(n_resamples, level, "resample")
    return LargestSum(multiple(1.0), multiple(-1.0), method, why)


def signed_sums(numbers: Floats) -> Floats:
    """``sum_i +-a_i`` over all signs, in ascending order."""
    sums = np.zeros(1)
    for number in numbers:
        sums = np.concatenate([sums - number, sums + number])
    return np.sort(sums)


def enumerated_maximum(control: Floats, groups: Sequence[Floats], errors: Sequence[float], level: float) -> float:
    """``inf {x : P(M > x) <= level}`` for random signs, up to the next float, and never below it."""
    of_control = signed_sums(control)
    of_groups = [signed_sums(group) for group in groups]
    # Sums that are equal but for rounding count as equal, so that the bound errs on the safe side.
    slack = 64 * 2.0**-52 * sum(float(np.abs(each).sum()) for each in (control, *groups))

    def is_enough(x: Floats) -> bool:
        inside = np.ones_like(of_control)
        for sums, error in zip(of_groups, errors, strict=True):
            inside *= np.searchsorted(sums, float(x) * error + of_control - slack, side="right") / sums.size
        return bool(1 - inside.mean() <= level * (1 - 1e-12))

    largest = max(
        (float(sums[-1] + of_control[-1] + 2 * slack) / error) for sums, error in zip(of_groups, errors, strict=True)
    )
    _, found = bisect(is_enough, np.asarray(-largest - 1.0), np.asarray(largest + 1.0))
    return float(found)


def drawn_maximum(
    law: int,
    control: Floats,
    groups: Sequence[Floats],
    errors: Sequence[float],
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> float:
    """The ``floor(level (B + 1))``-th largest of ``B`` draws of ``M``; infinite where that is none."""
    of_control = draws(law, control, n_resamples, rng)
    maxima = np.full(n_resamples, -math.inf)
    for group, error in zip(groups, errors, strict=True):
        maxima = np.maximum(maxima, (draws(law, group, n_resamples, rng) - of_control) / error)
    return float(upper_quantile(maxima, level))
