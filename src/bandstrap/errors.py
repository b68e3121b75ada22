"""What bandstrap raises and warns, and the checks that raise it.

``InvalidInput`` is a ``ValueError`` whose message is one sentence with the parameter, its owner, the requirement and the
value received. ``AccuracyWarning`` says that a number was computed outside the region where its method is accurate,
``SlowWarning`` that there is a much faster way.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


# What says yes and what says no; True is 1 and False is 0.
FLAGS = {True: ("true", "yes", "on", 1, "1"), False: ("false", "no", "off", 0, "0")}


class InvalidInput(ValueError):
    """A parameter does not meet its requirement; the message says which, whose, what and what was received."""


class AccuracyWarning(UserWarning):
    """A result was computed outside the region where its method is accurate."""


class SlowWarning(UserWarning):
    """Something works, but much more slowly than it would if it were done another way."""


def requirement(parameter: str, owner: str, rule: str, received: object) -> InvalidInput:
    """Build the one sentence every refusal is made of."""
    return InvalidInput(f"The '{parameter}' parameter of {owner} must be {rule}. Got {received} instead.")


def check_number(
    value: Any,
    parameter: str,
    owner: str,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    at_least: float = -math.inf,
) -> float:
    """Return ``value`` as a float strictly inside ``(above, below)`` and not below ``at_least``."""
    rule = "a finite number"
    if above > -math.inf and below < math.inf:
        rule = f"a number in the open interval ({above:g}, {below:g})"
    elif above > -math.inf:
        rule = f"a finite number greater than {above:g}"
    elif at_least > -math.inf:
        rule = f"a finite number of at least {at_least:g}"
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise requirement(parameter, owner, rule, repr(value))
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond all floats
        number = math.inf
    if not (math.isfinite(number) and above < number < below and number >= at_least):
        raise requirement(parameter, owner, rule, number)
    return number


def check_count(value: Any, parameter: str, owner: str, *, at_least: int = 1) -> int:
    """Return ``value`` as an int of at least ``at_least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        raise requirement(parameter, owner, f"an integer of at least {at_least}", repr(value))
    return int(value)


def check_flag(value: Any, parameter: str, owner: str) -> bool:
    """Return ``value`` as a boolean: true, yes, on or 1, or false, no, off or 0, in letters of any case.

    >>> check_flag("no", "plus", "KLUCB")
    False
    """
    word = value.strip().lower() if isinstance(value, str) else value
    if isinstance(word, np.generic) and word.dtype.kind in "biu":
        word = word.item()
    if isinstance(word, str | int):
        for flag, names in FLAGS.items():
            if word in names:
                return flag
    raise requirement(parameter, owner, "true or false (or yes or no, on or off, 1 or 0)", repr(value))


def check_choice(value: Any, parameter: str, owner: str, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise requirement(parameter, owner, "one of " + ", ".join(repr(c) for c in choices), repr(value))
    return value


def check_sample(sample: ArrayLike, owner: str) -> Floats:
    """Return ``sample`` as finite floats of shape ``(..., n)`` with ``n >= 1``."""
    rule = "numbers of shape (..., n)"
    try:
        if np.asarray(sample).dtype.kind in "cSU":  # NumPy would drop imaginary parts, and read digits
            raise TypeError
        # In one memory order, because sums depend on it in the last bit.
        array = np.array(sample, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise requirement("sample", owner, rule, _brief(sample)) from None
    if array.ndim == 0:
        raise requirement("sample", owner, "an array with at least one axis", f"the single value {_brief(sample)}")
    if array.shape[-1] == 0:
        raise requirement("sample", owner, "non-empty along its last axis", f"shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        position = where[0] if len(where) == 1 else where
        raise requirement("sample", owner, "finite", f"{array[where]} at position {position}")
    return array


def check_numbers(values: ArrayLike, parameter: str, owner: str, *, at_least: float = -math.inf) -> Floats:
    """Return ``values`` as finite floats, each at least ``at_least``; a number gives an array of no axes."""
    rule = "finite numbers" if at_least == -math.inf else f"finite numbers of at least {at_least:g}"
    try:
        if np.asarray(values).dtype.kind not in "iuf":
            raise TypeError
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise requirement(parameter, owner, rule, _brief(values)) from None
    outside = ~(np.isfinite(array) & (array >= at_least))
    if outside.any():
        raise requirement(parameter, owner, rule, float(array[outside].flat[0]))
    return array


def near_one(rewards: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Rows divided by powers of two that bring their largest reward near 1, and the exponents.

    The division is exact; it keeps squares from overflowing or vanishing.
    """
    _, exponents = np.frexp(np.abs(rewards).max(axis=-1))
    return np.ldexp(rewards, -exponents[..., None]), exponents.astype(np.int64)


def check_levels(level: ArrayLike, parameter: str, owner: str) -> Floats:
    """Return ``level`` as floats, each strictly between 0 and 1."""
    rule = "strictly between 0 and 1"
    try:
        if np.asarray(level).dtype.kind in "cSU":
            raise TypeError
        levels = np.asarray(level, dtype=np.float64)
    except (TypeError, ValueError):
        raise requirement(parameter, owner, rule, _brief(level)) from None
    outside = ~((levels > 0) & (levels < 1))
    if outside.any():
        raise requirement(parameter, owner, rule, float(levels[outside].flat[0]))
    return levels


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
