"""The preliminary bound ``phi`` of theorem 1: a coarse width known to hold, from a name, a number or a callable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.seeds import Seed
from bandstrap.bounds.bound import BOUNDS, ZERO_OR_ONE, BoundOptions, mirror, takes_seed
from bandstrap.bounds.order import order_name
from bandstrap.errors import read_numbers, requirement

Phi = str | float | ArrayLike | Callable[[Floats, float], ArrayLike]
# Bounds that take a preliminary width, and so can be none themselves.
WITH_PHI = ("bootstrap", "sign_flip")


def order_of_phi(phi: Phi | None, seed: Seed) -> str | None:
    """Text of ``Bound.order`` for a bound whose preliminary width is a sequential bound; ``None`` for any other."""
    return order_name(seed, in_order=False) if isinstance(phi, str) and phi in BOUNDS and BOUNDS[phi].walks else None


def preliminary_width(
    phi: Phi | None,
    rewards: Floats,
    alpha: float,
    *,
    owner: str,
    options: BoundOptions,
    mirrored: bool,
    seed: Seed = None,
) -> Floats:
    """Width of ``phi`` for ``rewards``: ``mu - ybar > phi`` has probability at most ``alpha``.

    That is all theorem 1 needs, see :func:`bandstrap.bounds.bootstrap`. ``options`` go to the bound that ``phi`` names, and
    so does the ``seed`` where it takes one. A sequential bound is read in random orders, for a fixed sample size.
    """
    given = {key: value for key, value in options.items() if value is not None}
    if phi is None:
        if not given:
            rule = "a bound's name, a width or a callable, unless 'sigma' or 'support' is given"
            raise requirement("phi", owner, rule, "None")
        phi = "hoeffding"
    if isinstance(phi, str):
        usable = [name for name in BOUNDS if name not in WITH_PHI]
        if phi not in usable:
            rule = f"one of {', '.join(map(repr, usable))}, a width or a callable"
            raise requirement("phi", owner, rule, repr(phi))
        if "binary" in BOUNDS[phi].assumes:  # whose default is of rewards as they were given
            given.setdefault("support", ZERO_OR_ONE)
        if "support" in given:
            given["support"] = mirror(given["support"], mirrored)
        if seed is not None and takes_seed(phi):
            given["seed"] = seed
        try:
            # Without a check: the bound that phi is for has its own.
            bound = BOUNDS[phi].function(rewards, alpha, check=False, **given)
        except TypeError:
            raise requirement("phi", owner, f"a bound that takes {', '.join(given)}", repr(phi)) from None
        return np.asarray(bound.width)
    value = phi(rewards, alpha) if callable(phi) else phi
    rule = f"a width of shape {rewards.shape[:-1]}"
    numbers = read_numbers(value, "phi", owner, rule, kinds="iuf")
    try:
        width = np.broadcast_to(numbers, rewards.shape[:-1])
    except ValueError:
        raise requirement("phi", owner, rule, repr(value)) from None
    if not (width >= 0).all():
        raise requirement("phi", owner, "non-negative", float(width[~(width >= 0)].flat[0]))
    return width
