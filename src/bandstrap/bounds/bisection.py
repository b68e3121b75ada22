"""Bisection of many intervals at once, down to neighbouring floats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bandstrap.basics.arrays import Bools, Floats


def bisect(is_beyond: Callable[[Floats], Bools | bool], start: Floats, stop: Floats) -> tuple[Floats, Floats]:
    """The neighbouring numbers between which a condition becomes true."""
    while True:
        middle = 0.5 * (start + stop)
        between = (start < middle) & (middle < stop)
        if not np.any(between):
            return start, stop
        beyond = np.asarray(is_beyond(middle))
        start, stop = np.where(between & ~beyond, middle, start), np.where(between & beyond, middle, stop)
