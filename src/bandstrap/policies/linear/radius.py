"""The radius of OFUL's confidence ellipsoid, in the three readings of the paper's formula."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable
from bandstrap.policies.kernels.schedule import Schedule, error_probability
from bandstrap.policies.linear.ridge import log_determinant

Radius = Literal["theorem", "closed-form", "printed"]
RADII: dict[Radius, int] = {word: code for code, word in enumerate(get_args(Radius))}
THEOREM, CLOSED_FORM, PRINTED = RADII.values()


class Ellipsoid(NamedTuple):
    """Values that the radius depends on beside the data."""

    kind: int
    sigma: float
    ridge: float
    theta_bound: float
    schedule: Schedule


@jitable
def radius(ellipsoid: Ellipsoid, factor: Floats, round_: int) -> float:
    """``beta`` of the round.

    ``theorem``: Theorem 2 of Abbasi-Yadkori, Pal and Szepesvari. ``closed-form``: the determinant replaced by its bound
    for features of length at most 1. ``printed``: as the paper prints it, with the determinant of ``lambda I`` upside
    down and ``S`` inside the root.
    """
    d = len(factor)
    doubt = math.log(1.0 / error_probability(ellipsoid.schedule, round_))
    prior = 0.5 * d * math.log(ellipsoid.ridge)
    if ellipsoid.kind == CLOSED_FORM:
        square = d * (math.log(1.0 + (round_ - 1) / ellipsoid.ridge) + doubt)
    elif ellipsoid.kind == THEOREM:
        square = 2.0 * (0.5 * log_determinant(factor) - prior + doubt)
    else:
        inside = (
            2.0 * (0.5 * log_determinant(factor) + prior + doubt) + math.sqrt(ellipsoid.ridge) * ellipsoid.theta_bound
        )
        return ellipsoid.sigma * math.sqrt(max(inside, 0.0))
    # nothing observed and alpha almost 1: rounding may leave less than 0
    return ellipsoid.sigma * math.sqrt(max(square, 0.0)) + math.sqrt(ellipsoid.ridge) * ellipsoid.theta_bound
