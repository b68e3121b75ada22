r"""The largest of several multiplier sums: what makes bounds on many differences hold together.

For groups ``g`` with one control ``c``, ``M = max_g (S_g - S_c)/e_g`` with ``S`` the sum of a group's terms times random
weights: the control's weights are the same in all of them. Given the control's, the groups are independent, so that

.. math:: P(M > x) = 1 - E_{S_c} \prod_g F_g(x e_g + S_c)

is counted group by group where each has few rewards, and not over all weights together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bandstrap.arrays import Floats
from bandstrap.bounds.mid_p import bisect
from bandstrap.bounds.resampling import lower_quantile
from bandstrap.multipliers.monte_carlo import draws

# Up to this many rewards a group, all signs are looked at.
MOST_ENUMERATED = 12


def signed_sums(terms: Floats) -> Floats:
    """``sum_i +-a_i`` over all signs, in ascending order."""
    sums = np.zeros(1)
    for term in terms:
        sums = np.concatenate([sums - term, sums + term])
    return np.sort(sums)


def enumerated_maximum(control: Floats, groups: Sequence[Floats], errors: Sequence[float], level: float) -> float:
    """``inf {x : P(M > x) <= level}`` for random signs, up to the next float, and never below it."""
    of_control = signed_sums(control)
    of_groups = [signed_sums(group) for group in groups]
    # Sums that are equal but for rounding count as equal, so that the bound errs on the safe side.
    slack = 64 * 2.0**-52 * sum(float(np.abs(terms).sum()) for terms in (control, *groups))

    def is_beyond(x: Floats) -> bool:
        inside = np.ones_like(of_control)
        for sums, error in zip(of_groups, errors, strict=True):
            inside *= np.searchsorted(sums, float(x) * error + of_control - slack, side="right") / sums.size
        return bool(1 - inside.mean() <= level * (1 - 1e-12))

    largest = max(
        (float(sums[-1] + of_control[-1] + 2 * slack) / error) for sums, error in zip(of_groups, errors, strict=True)
    )
    _, found = bisect(is_beyond, np.asarray(-largest - 1.0), np.asarray(largest + 1.0))
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
    return -float(lower_quantile(-maxima, level))
