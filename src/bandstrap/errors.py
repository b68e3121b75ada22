"""The errors and warnings of bandstrap, and the checks that raise them.

``InvalidInput`` is a ``ValueError`` whose message is one sentence with the parameter, its owner, the requirement and the
value received. ``AccuracyWarning`` says that a number was computed outside the region where its method is accurate,
``AssumptionWarning`` that a sample contradicts what a bound assumes, or cannot show what it needs, or that an environment
contradicts what a policy assumes, ``SlowWarning`` that there is a much faster way, ``CacheWarning`` that compiled code
is not kept on disk.
"""

from __future__ import annotations

import difflib
import inspect
import math
import warnings
from collections.abc import Collection
from decimal import Decimal
from numbers import Real
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.text import ONE, listed, shortened, visible

# One of a few words, where a parameter takes no others.
Option = TypeVar("Option", bound=str)
# Compiled code counts in 64 bits.
LARGEST_COUNT = 2**63 - 1
# A count from which on only its first digits are shown.
LONG_COUNT = 10**15
# Words that mean yes and words that mean no; True is 1 and False is 0.
FLAGS = {True: ("true", "yes", "on", 1, "1"), False: ("false", "no", "off", 0, "0")}
# Characters of a refusal, and of what it shows as received.
LONGEST = 2000
LONGEST_RECEIVED = 300


class InvalidInput(ValueError):
    """A parameter does not meet its requirement; the message names parameter, owner, requirement and value.

    The message is always one line of bounded length without control characters.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(shortened(visible(sentence), LONGEST))


class AccuracyWarning(UserWarning):
    """A result was computed outside the region where its method is accurate."""


class AssumptionWarning(UserWarning):
    """A sample contradicts the assumptions of a bound, or lacks information that the bound needs.

    Or an environment contradicts the assumptions of a policy.
    """


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into bandstrap, at any depth of the call stack."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "bandstrap":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class SlowWarning(UserWarning):
    """Something works, but another way would be much faster."""


class CacheWarning(UserWarning):
    """Compiled code cannot be kept on disk, so every process compiles its functions again."""


def requirement(parameter: str, owner: str, rule: str, received: object) -> InvalidInput:
    """Build the sentence of a refusal."""
    shown = shortened(str(received), LONGEST_RECEIVED)
    return InvalidInput(f"The '{parameter}' parameter of {owner} must be {rule}. Got {shown} instead.")


def unknown(what: str, name: str, known: Collection[str], where: str = "") -> InvalidInput:
    """Build the refusal of a name, with the nearest known names, or all of them if none is near."""
    near = " or ".join(map(repr, difflib.get_close_matches(name.lower(), known)))
    hint = f"did you mean {near}?" if near else f"known are {', '.join(map(repr, known))}."
    return InvalidInput(f"unknown {what} {name!r}{where}; {hint}")


def check_number(
    value: object,
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
    if not is_number(value):
        raise requirement(parameter, owner, rule, brief(value))
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond the largest float
        number = math.inf
    if not (math.isfinite(number) and above < number < below and number >= at_least):
        raise requirement(parameter, owner, rule, number)
    return number


def check_count(
    value: object, parameter: str, owner: str, *, at_least: int = 1, at_most: int | None = LARGEST_COUNT
) -> int:
    """Return ``value`` as an int of at least ``at_least`` and, unless that is ``None``, of at most ``at_most``."""
    if not is_whole(value) or value < at_least:
        raise requirement(parameter, owner, f"an integer of at least {at_least}", brief(value))
    if at_most is not None and value > at_most:
        received = f"{int(value)}" if value < LONG_COUNT else f"{Decimal(int(value)):.3g}"
        raise requirement(parameter, owner, f"an integer between {at_least} and {at_most}", received)
    return int(value)


def is_number(value: object) -> TypeGuard[float | np.integer[Any] | np.floating[Any]]:
    """Return whether a value is a whole or floating number; as for :func:`is_whole`, no boolean and no length of
    time.
    """
    return is_whole(value) or isinstance(value, float | np.floating)


def is_whole(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Return whether a value is a whole number; NumPy counts a length of time among them, and Python a boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def check_flag(value: object, parameter: str, owner: str) -> bool:
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
    raise requirement(parameter, owner, "true or false (or yes or no, on or off, 1 or 0)", brief(value))


def check_choice(value: object, parameter: str, owner: str, choices: Collection[Option]) -> Option:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise requirement(parameter, owner, "one of " + ", ".join(repr(c) for c in choices), brief(value))
    return cast("Option", value)


def check_sample(sample: ArrayLike, owner: str) -> Floats:
    """Return ``sample`` as finite floats of shape ``(..., n)`` with ``n >= 1``; see :func:`read_numbers`."""
    array = read_numbers(sample, "sample", owner, "numbers of shape (..., n)", kinds="biuf")
    if array.ndim == 0:
        raise requirement("sample", owner, "an array with at least one axis", f"the single value {brief(sample)}")
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
    array = read_numbers(values, parameter, owner, rule, kinds="iuf")
    outside = ~(np.isfinite(array) & (array >= at_least))
    if outside.any():
        raise requirement(parameter, owner, rule, float(array[outside].flat[0]))
    return array


def check_levels(level: ArrayLike, parameter: str, owner: str) -> Floats:
    """Return ``level`` as floats, each strictly between 0 and 1."""
    rule = "strictly between 0 and 1"
    levels = read_numbers(level, parameter, owner, rule, kinds="iuf")
    outside = ~((levels > 0) & (levels < 1))
    if outside.any():
        raise requirement(parameter, owner, rule, float(levels[outside].flat[0]))
    return levels


def read_numbers(values: object, parameter: str, owner: str, rule: str, *, kinds: str) -> Floats:
    """Return real numbers of these NumPy ``kinds`` (``"b"`` are booleans) as floats, and refuse anything else.

    NumPy would also accept dates, bytes, digits in text, complex numbers, records, masked values and whole data frames,
    with surprising results. A series or a frame of one column is taken as that column. Python's exact numbers (any ``int``,
    ``Fraction``, ``Decimal``) are rounded.
    """
    if isinstance(values, bytes | bytearray | memoryview):
        raise requirement(parameter, owner, rule, brief(values))
    if has_masked(values):
        advice = "without masked values (compressed() leaves them out)"
        raise requirement(parameter, owner, advice, brief(values))
    if not isinstance(values, np.ndarray) and hasattr(values, "__array__") and hasattr(values, "columns"):
        names = getattr(values, "column_names", values.columns)  # Arrow's, whose columns are not names
        if len(names) != 1:
            raise requirement(parameter, owner, "one column of a data frame", f"{len(names)} ({listed(names, 5)})")
        values = np.asarray(values).reshape(-1)
    try:
        array = np.asarray(values)
        is_wanted = array.dtype.kind in kinds
        if array.dtype.kind == "O":
            is_wanted = all(is_real(value, kinds) for value in array.flat)
        if not is_wanted:
            raise TypeError
        with np.errstate(over="ignore"):  # of a longer float: found not to be finite
            # In a fixed memory order, because sums depend on it in the last bit.
            return np.array(array, dtype=np.float64, order="C")
    except OverflowError:  # a whole number beyond the largest float
        raise requirement(parameter, owner, "finite", brief(values)) from None
    except (TypeError, ValueError):  # also of lists of different lengths
        raise requirement(parameter, owner, rule, brief(values)) from None


def is_real(value: object, kinds: str) -> bool:
    """Return whether one Python object is a real number; booleans count if ``kinds`` includes them."""
    if isinstance(value, bool | np.bool_):
        return "b" in kinds
    return isinstance(value, Real | Decimal) and not isinstance(value, np.timedelta64)


def has_masked(values: object) -> bool:
    """Return whether a masked array hides values, alone or inside lists."""
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(values).any())
    if not isinstance(values, list | tuple):
        return False
    # By their types first: long lists of plain numbers need no second look.
    suspects = tuple(kind for kind in set(map(type, values)) if issubclass(kind, list | tuple | np.ma.MaskedArray))
    return bool(suspects) and any(has_masked(value) for value in values if isinstance(value, suspects))


def near_one(rewards: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Rows divided by powers of two, so that their largest reward is near 1, and the exponents.

    This keeps squares from overflowing or vanishing. The division is exact, except for rewards that are ``2^-1022`` of the
    largest or less.
    """
    _, exponents = np.frexp(np.abs(rewards).max(axis=-1))
    return np.ldexp(rewards, -exponents[..., None]), exponents.astype(np.int64)


def sample_mean(rewards: Floats) -> Floats:
    """Mean along the last axis: exact for equal rewards, and finite even if their sum overflows."""
    highest = rewards.max(axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum of equal numbers is rounded, and their mean may differ from them.
        mean = np.where(rewards.min(axis=-1) == highest, highest, rewards.mean(axis=-1))
    if np.isfinite(mean).all():
        return mean
    scaled, exponents = near_one(rewards)
    safe = np.clip(scaled.mean(axis=-1), scaled.min(axis=-1), scaled.max(axis=-1))  # not beyond, by rounding
    return np.where(np.isfinite(mean), mean, np.ldexp(safe, exponents))


def brief(value: object) -> str:
    """Text of ``value`` in a refusal: one line of at most 60 characters."""
    if isinstance(value, str | bytes):
        value = value[: ONE + 1]  # which is cut again below, where it was longer
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 - an object's own, or Python's about an integer of many digits
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= ONE else text[: ONE - 3] + "..."
