"""Functions of ``math`` that raise in compiled code what Python's raise; numba's go on with ``nan`` or ``inf``.

For functions from outside the package. Those of the package are compared with plain Python by its tests, and stay away
from such numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from bandstrap.engine.compiler.kernel import jitable

DOMAIN = (
    math.sqrt,
    math.log,
    math.log2,
    math.log10,
    math.log1p,
    math.sin,
    math.cos,
    math.tan,
    math.asin,
    math.acos,
    math.acosh,
    math.atanh,
)
RANGE = (math.exp, math.expm1, math.sinh, math.cosh, math.gamma, math.lgamma)


def of_one(function: Callable[[Any], float], overflows: bool) -> Callable[[Any], float]:
    """A function of one number that raises an error where its value is none, or infinite for a finite number."""

    def checked(x: Any) -> float:
        value = function(x)
        if math.isnan(value) and not math.isnan(x):
            raise ValueError("math domain error")
        if math.isinf(value) and not math.isinf(x):
            if overflows and abs(x) > 1:
                raise OverflowError("math range error")
            raise ValueError("math domain error")
        return value

    return jitable(checked)


def of_two(function: Callable[[Any, Any], float]) -> Callable[[Any, Any], float]:
    """The same for a function of two numbers."""

    def checked(x: Any, y: Any) -> float:
        value = function(x, y)
        if math.isnan(value) and not (math.isnan(x) or math.isnan(y)):
            raise ValueError("math domain error")
        if math.isinf(value) and not (math.isinf(x) or math.isinf(y)):
            if x == 0:
                raise ValueError("math domain error")
            raise OverflowError("math range error")
        return value

    return jitable(checked)


# What compiled code runs where a function from outside the package calls one of Python's.
CHECKED: dict[Any, Callable[..., float]] = (
    {function: of_one(function, overflows=False) for function in DOMAIN}
    | {function: of_one(function, overflows=True) for function in RANGE}
    | {function: of_two(function) for function in (math.pow, math.fmod, math.hypot)}
)
