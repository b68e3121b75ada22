"""Types of arrays, and work on whole arrays that gives the bits of a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
# Of the arms that were chosen, in the smallest type that tells them apart.
ChoiceArray = NDArray[np.unsignedinteger]
# Of numbers of whichever type.
AnyArray = NDArray[Any]


def sum_in_order(terms: Floats) -> float:
    """The sum, added up from the first to the last as a loop does; ``np.sum`` adds in another order."""
    return 0.0 + float(terms.cumsum()[-1]) if terms.size > 0 else 0.0


def each(function: Callable[[float], float], values: Floats) -> Floats:
    """A function of ``math`` at each value; NumPy's own may differ in the last bit."""
    return np.fromiter(map(function, values.tolist()), dtype=np.float64, count=values.size)
