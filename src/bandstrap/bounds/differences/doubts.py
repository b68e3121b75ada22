"""What in two groups speaks against the assumption of a bound on their difference."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.bounds.assumptions import FEWEST, SIGNIFICANCE, Doubt, find_doubts
from bandstrap.bounds.differences.difference import check_groups, scaled_pair


def spread_p_value(first: ArrayLike, second: ArrayLike) -> float:
    """P-value of Brown and Forsythe's test that two groups spread alike about their medians; 1 where none can tell.

    Examples
    --------
    >>> from bandstrap.bounds.differences.doubts import spread_p_value
    >>> spread_p_value([1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60])
    0.00425
    """
    x, y, _ = scaled_pair(*check_groups(first, second, "spread_p_value"))
    from scipy.stats import levene

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # SciPy's, of groups without spread
        p_value = float(levene(x, y, center="median").pvalue)
    return 1.0 if math.isnan(p_value) else p_value


def find_difference_doubts(
    method: str,
    first: ArrayLike,
    second: ArrayLike,
    options: Mapping[str, Any],
    names: tuple[str, str],
    *,
    in_order: bool = False,
) -> list[Doubt]:
    """How two groups contradict what ``method`` assumes of them; usually not at all.

    ``in_order`` says that rewards are in the order in which a bound will walk through them, if it does.
    """
    x, y = check_groups(first, second, method)
    if method in ("union", "betting"):
        told = {key: value for key, value in options.items() if key != "bound"}
        return [
            doubt._replace(sentence=f"{name}: {doubt.sentence}")
            for name, group in zip(names, (x, y), strict=True)
            for doubt in find_doubts(options.get("bound", "betting"), group, told, in_order=in_order)
        ]
    if method != "permutation" or min(x.size, y.size) < FEWEST:
        return []
    p_value = spread_p_value(x, y)
    if p_value >= SIGNIFICANCE:
        return []
    sentence = f"{names[0]} and {names[1]} differ in spread (Brown and Forsythe's test, p = {p_value:.2g})"
    return [Doubt(f"{sentence}, so in more than a shift")]
