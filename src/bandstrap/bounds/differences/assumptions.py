"""Diagnostics of two groups: which of their features contradict the assumption of a bound on their difference."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.assumptions import FEWEST, SIGNIFICANCE, trends
from bandstrap.bounds.differences.difference import NAMES, check_groups, scaled_pair


def spread_p_value(first: ArrayLike, second: ArrayLike) -> float:
    """P-value of Brown and Forsythe's test that two groups spread alike about their medians; 1 where none can tell.

    Examples
    --------
    >>> from bandstrap.bounds.differences.assumptions import spread_p_value
    >>> spread_p_value([1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60])
    0.00425
    """
    x, y, _ = scaled_pair(*check_groups(first, second, "spread_p_value"))
    distances = [np.abs(group - np.median(group)) for group in (x, y)]
    gap = distances[0].mean() - distances[1].mean()
    within = sum(each.size * each.var() for each in distances)
    m, n = x.size, y.size
    if within == 0 or m + n < 3:
        return 1.0
    return float(fdtrc(1, m + n - 2, (m + n - 2) * m * n / (m + n) * gap**2 / within))


def differ_in_spread(x: Floats, y: Floats) -> list[str]:
    """Note that two groups differ in more than a shift, as a test of their spreads shows; of a batch, nothing."""
    if x.ndim > 1 or min(x.size, y.size) < FEWEST:
        return []
    p_value = spread_p_value(x, y)
    if p_value >= SIGNIFICANCE:
        return []
    sentence = f"{NAMES[0]} and {NAMES[1]} differ in spread (Brown and Forsythe's test, p = {p_value:.2g})"
    return [f"{sentence}, so they differ by more than a shift"]


def trends_in(x: Floats, y: Floats) -> list[str]:
    """Trends along either group, which a bound that reads them in their order cannot bear; of a batch, nothing."""
    groups = zip(NAMES, (x, y), strict=True) if x.ndim == 1 else ()
    return [f"{name}: {sentence}" for name, group in groups for sentence in trends(group)]
