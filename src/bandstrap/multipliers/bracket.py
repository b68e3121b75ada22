"""A bracketed root of a falling function, for compiled loops: false position with the Illinois rule.

``low`` has a positive gap and ``high`` a gap of at most 0, possibly minus infinity. A plain tuple carries the state,
because numba cannot cache a function that takes a callback.
"""

from __future__ import annotations

import math

from bandstrap.engine.compiler.kernel import jitable

Bracket = tuple[float, float, float, float, int]


@jitable
def next_point(bracket: Bracket) -> float:
    """Point to evaluate next."""
    low, low_gap, high, high_gap, _ = bracket
    if high_gap > -math.inf:
        x = (low * high_gap - high * low_gap) / (high_gap - low_gap)
        if low < x < high:
            return x
    return 0.5 * (low + high)


@jitable
def narrowed(bracket: Bracket, x: float, gap: float) -> Bracket:
    """The bracket after ``gap`` was found at ``x``; an end that stays twice counts half (Illinois)."""
    low, low_gap, high, high_gap, side = bracket
    if gap > 0.0:
        return x, gap, high, high_gap * 0.5 if side == 1 else high_gap, 1
    return low, low_gap * 0.5 if side == -1 else low_gap, x, gap, -1
