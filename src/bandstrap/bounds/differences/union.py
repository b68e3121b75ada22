"""A bound on each of two means makes one on their difference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.seeds import fixed_seed
from bandstrap.bounds.bound import BOUNDS, Bound, Refuted, Side, Threshold, bound_by_name, check_level, without_warnings
from bandstrap.bounds.differences.difference import NAMES, build, check_groups, register
from bandstrap.errors import check_choice


@register(reads_spread=False)
def union(
    first: ArrayLike,
    second: ArrayLike,
    alpha: float,
    *,
    side: Side = "two-sided",
    bound: str = "betting",
    check: bool = True,
    **options: Any,
) -> Bound:
    r"""Bound on the difference of two means by one on each, at half the error probability.

    .. math:: U_x(\alpha/2) - L_y(\alpha/2)

    Parameters
    ----------
    first, second, alpha, side, check
        As in :func:`bandstrap.bounds.difference`.
    bound
        Any bound on one mean, by name: ``"betting"`` (default) for bounded rewards, ``"clopper_pearson"`` for zeros and
        ones, ``"sign_flip"`` for symmetric ones, and so on.
    **options
        Options of that bound, such as ``support``.

    Returns
    -------
    Bound
        Proved where that bound is proved for both groups, whose distributions may differ in anything.

    See Also
    --------
    bandstrap.bounds.differences.betting : narrower for bounded rewards in groups of about the same size.

    Examples
    --------
    >>> from bandstrap.bounds import difference
    >>> bound = difference([1] * 30 + [0] * 70, [1] * 12 + [0] * 88, method="union", bound="clopper_pearson")
    >>> bound.value, bound.guarantee
    ((-0.011, 0.356), 0.05)
    """
    x, y = check_groups(first, second, "union", side)
    alpha = check_level(alpha, "union")
    check_choice(bound, "bound", "union", BOUNDS)
    sides = 2 if side == "two-sided" else 1
    if options.get("seed") is not None:  # a generator draws once for all bounds
        options["seed"] = fixed_seed(options["seed"], "union")

    def bound_one(group: Floats, level: float, end: Side) -> Bound:
        return bound_by_name(bound, group, level, end, {**options, "check": False})

    def probe(group: Floats, name: str) -> Bound:
        try:
            with without_warnings():
                return bound_by_name(bound, group, alpha / (2 * sides), "upper", {**options, "check": check})
        except Refuted as refusal:
            raise refusal.of(name) from None

    probed = [probe(group, name) for group, name in zip((x, y), NAMES, strict=True)]
    proved = [each.guarantee for each in probed]

    def threshold(alpha: float, mirrored: bool) -> Threshold:
        above, below = (y, x) if mirrored else (x, y)
        high = bound_one(above, alpha / 2, "upper")
        low = bound_one(below, alpha / 2, "lower")
        with np.errstate(over="ignore"):
            # Outwards, for the rounding of the difference.
            end = np.nextafter(np.asarray(high.upper - low.lower), np.inf)
            width = end - (np.asarray(high.mean) - np.asarray(low.mean))
        in_turn = (low, high) if mirrored else (high, low)
        reasons = [
            f"{name}: {each.why_infinite}" for name, each in zip(NAMES, in_turn, strict=True) if each.why_infinite
        ]
        method = " and ".join(dict.fromkeys((high.method, low.method)))
        return Threshold(width, {"main": width}, method, end, "; ".join(reasons))

    return build(
        "union",
        x,
        y,
        alpha,
        side,
        threshold,
        # Each of the two bounds on either side may miss.
        guarantee=None if None in proved else sides * sum(filter(None, proved)),
        holds_for=f"{probed[0].holds_for}, in both groups",
        order=probed[0].order,
        notes=[f"{name}: {note}" for name, each in zip(NAMES, probed, strict=True) for note in each.notes],
        check=check,
        contradicted=any(each.contradicted for each in probed),
    )
