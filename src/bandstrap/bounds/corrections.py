r"""The second-order correction of theorem 1, and the sum (2.8) it completes: scalars, for bounds and policies alike.

.. math:: \bar y + q_{\alpha(1-\delta)}(y - \bar y) + c\, \varphi(y)

With ``phi`` the preliminary width, and ``c`` by the name of the correction, as in :func:`bandstrap.bounds.bootstrap`.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

from bandstrap.engine.compiler.kernel import jitable
from bandstrap.multipliers.mean_sign import mean_sign_bound, mean_sign_quantile

Correction = Literal["practical", "theorem", "stated", "sharp", "none"]
# Codes, because compiled code compares integers cheaply.
CORRECTIONS: dict[Correction, int] = {word: code for code, word in enumerate(get_args(Correction))}
PRACTICAL, THEOREM, STATED, SHARP, NONE = CORRECTIONS.values()
# The forms that theorem 1 proves.
PROVED: tuple[Correction, ...] = ("theorem", "sharp")


@jitable
def correction_term(correction: int, n: int, phi: Any, alpha: float, delta: float, most_counted: float) -> Any:
    """``c phi``: the last term of (2.8), for a number or an array of them.

    Beyond ``most_counted`` rewards the ``c`` of the sharp correction is Chernoff's bound, which is proved as well, larger,
    and takes constant time.
    """
    term = 0.0
    if correction == PRACTICAL:
        term = phi / math.sqrt(n)
    elif correction == SHARP:
        level = alpha * delta
        factor = mean_sign_quantile(n, level) if n <= most_counted else mean_sign_bound(n, math.log(1.0 / level))
        if factor != 0.0:  # a phi that knows nothing is infinite, and may meet a factor of 0
            term = factor * phi
    elif correction != NONE:
        log = math.log(2.0 / (alpha * delta))
        term = math.sqrt((2.0 if correction == THEOREM else 1.0) * log / n) * phi
    return term


@jitable
def corrected_width(correction: int, main: float, term: float, phi: float) -> float:
    """Quantile plus correction, the distance of (2.8) from the mean; the sharp one is never wider than ``phi``."""
    total = main + term
    if correction == SHARP:
        total = min(phi, total)
    return total
