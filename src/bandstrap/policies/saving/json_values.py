"""Labels, settings, arrays and generators as JSON, strictly, and back to the last bit.

What cannot be told apart in JSON is marked: ``[1, 2]`` is a tuple, and a float that is no number is an object of one key,
``{"float": "inf"}``. In an array, whose entries are all numbers, ``"inf"`` alone will do. All else is JSON's own: ``1`` is
an integer, ``1.0`` a float, ``"1"`` a text and ``true`` a truth value.

What is read is never trusted: :class:`Unreadable` says in a few words what is wrong.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from bandstrap.basics.arrays import AnyArray
from bandstrap.basics.storage import Json
from bandstrap.errors import brief

# The bit generators of NumPy, which can be made by their names.
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
# The nan that ``float("nan")`` is; there are others, which differ in bits that no arithmetic looks at.
NAN_BITS = 0x7FF8000000000000
WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": struct.unpack("<d", NAN_BITS.to_bytes(8, "little"))[0]}
# No tuple that anybody has made is nested deeper.
DEEPEST = 50


class Unreadable(ValueError):
    """Value that was read and is not what was written; the message says what it should be, and what it is."""


class Unwritable(ValueError):
    """JSON has no form for a value; the message says which."""


# --- single values ------------------------------------------------------------------------------------------------------


def write_value(value: object, deep: int = 0) -> Json:
    """A text, number, truth value, ``None``, or a tuple of such; a NumPy number is the number.

    >>> write_value(("a", 1, 1.0, True, None, -math.inf))
    ['a', 1, 1.0, True, None, {'float': '-inf'}]
    """
    # NumPy counts a length of time among the integers; a long float is no float.
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64 | np.longdouble):
        value = value.item()
    if type(value) is float and not math.isfinite(value):
        return {"float": write_odd(value)}
    if value is None or type(value) is str or type(value) is int or type(value) is float or type(value) is bool:
        return value
    if type(value) is tuple and deep < DEEPEST:
        return [write_value(item, deep + 1) for item in value]
    raise Unwritable(brief(value))


def read_value(value: Any, deep: int = 0) -> Any:
    """Read the value that :func:`write_value` was given."""
    if value is None or type(value) in (str, int, bool):
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is list and deep < DEEPEST:
        return tuple(read_value(item, deep + 1) for item in value)
    if type(value) is dict and list(value) == ["float"]:
        return read_odd(value["float"])
    raise Unreadable(f"a text, a number, true, false, null or a list of such; got {brief(value)}")


def write_odd(value: float) -> str:
    """A float that is not finite, as text."""
    if math.isnan(value):
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        return "nan" if bits == NAN_BITS else f"nan {bits:016x}"
    return "inf" if value > 0 else "-inf"


def read_odd(text: object) -> float:
    """The float that a text stands for."""
    if type(text) is str and text in WORDS:
        return WORDS[text]
    if type(text) is str and len(text) == 20 and text.startswith("nan ") and set(text[4:]) <= set("0123456789abcdef"):
        value: float = struct.unpack("<d", int(text[4:], 16).to_bytes(8, "little"))[0]
        if math.isnan(value):
            return value
    raise Unreadable(f"'inf', '-inf' or 'nan' where a number is not finite; got {brief(text)}")


# --- arrays -------------------------------------------------------------------------------------------------------------


def write_array(array: AnyArray) -> Json:
    """Lists in lists, one for each axis."""
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise Unwritable(f"an array of {array.dtype}")
    values = array.tolist()
    return with_words(values) if array.dtype.kind == "f" and not np.isfinite(array).all() else values


def with_words(values: Json) -> Json:
    """The same lists, with texts for floats that are not finite."""
    if isinstance(values, list):
        return [with_words(value) for value in values]
    return write_odd(values) if isinstance(values, float) and not math.isfinite(values) else values


def read_array(values: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
    """An array of this shape and type."""
    flat = flattened(values, shape)
    kinds = {*map(type, flat)}
    if dtype.kind == "b":
        allowed: set[type] = {bool}
    else:
        allowed = {int} if dtype.kind in "iu" else {float, int, str}
    if not kinds <= allowed:
        odd = next(value for value in flat if type(value) not in allowed)
        raise Unreadable(f"made of {'truth values' if dtype.kind == 'b' else 'numbers'}; got {brief(odd)}")
    if dtype.kind == "f" and kinds - {float}:
        flat = [value if type(value) is float else read_number(value) for value in flat]
    if dtype.kind == "f" and not all(map(math.isfinite, flat)) and str not in kinds:
        raise Unreadable("made of numbers of JSON, in which nan and infinity are texts")
    try:
        array = np.array(flat, dtype=dtype)
    except OverflowError:
        raise Unreadable(f"made of whole numbers that fit into {dtype.itemsize} bytes") from None
    if dtype.kind in "iu" and array.tolist() != flat:  # NumPy may wrap what does not fit
        raise Unreadable(f"made of whole numbers that fit into {dtype.itemsize} bytes")
    return array.reshape(shape)


def read_number(value: float | str) -> float:
    """A float of a text, or of a whole number that is one."""
    if type(value) is str:
        return read_odd(value)
    try:
        if float(value) == value:
            return float(value)
    except OverflowError:
        pass
    raise Unreadable(f"made of numbers that are floats; got {brief(value)}")


def flattened(values: object, shape: Sequence[int]) -> list[Any]:
    """The entries of lists in lists, which must be as many on each level as ``shape`` says."""
    level: list[Any] = [values]
    for depth, length in enumerate(shape):
        for item in level:
            if type(item) is not list or len(item) != length:
                got = f"{len(item)} of them" if type(item) is list else brief(item)
                raise Unreadable(f"of shape {tuple(shape)}; got {got} on axis {depth}")
        level = [entry for item in level for entry in item]
    return level


# --- generators ---------------------------------------------------------------------------------------------------------


def write_generator(rng: np.random.Generator) -> dict[str, Json]:
    """The name and the state of a generator's source of bits."""
    source = rng.bit_generator
    name = type(source).__name__
    if type(source).__module__.partition(".")[0] != "numpy" or name not in BIT_GENERATORS:
        raise Unwritable(f"a generator whose bits come from {type(source).__module__}.{name}, which is not NumPy's")
    return {"bits": name, "state": write_bits(dict(source.state))}


def write_bits(state: Any) -> Json:
    """A source's state: whole numbers and arrays of them, in dictionaries."""
    if isinstance(state, dict):
        return {key: write_bits(value) for key, value in state.items() if key != "bit_generator"}
    return state.tolist() if isinstance(state, np.ndarray) else int(state)


def read_generator(saved: object) -> np.random.Generator:
    """A generator that goes on where the other stood."""
    if type(saved) is not dict or saved.keys() != {"bits", "state"}:
        raise Unreadable(f"an object with the keys bits and state; got {brief(saved)}")
    name = saved["bits"]
    if type(name) is not str or name not in BIT_GENERATORS:
        raise Unreadable(f"one whose bits come from one of {', '.join(BIT_GENERATORS)}; got {brief(name)}")
    source = getattr(np.random, name)(0)
    state = read_bits(saved["state"], dict(source.state))
    # Places in a buffer, of which NumPy believes anything; and an increment that must be odd.
    places = {"MT19937": (state["state"].get("pos", 0), 624), "Philox": (state.get("buffer_pos", 0), 4)}
    place, last = places.get(name, (0, 0))
    try:
        if place > last or (name.startswith("PCG64") and state["state"]["inc"] % 2 == 0):
            raise ValueError
        source.state = {"bit_generator": name, **state}
        if write_bits(dict(source.state)) != saved["state"]:  # NumPy cuts off what does not fit
            raise ValueError
    except (ValueError, TypeError, OverflowError):
        raise Unreadable(f"in a state that {name} can be in; got {brief(saved['state'])}") from None
    return np.random.Generator(source)


def read_bits(saved: Any, like: Any) -> Any:
    """A source's state, of the same form as that of another of its kind."""
    if isinstance(like, dict):
        keys = like.keys() - {"bit_generator"}
        if type(saved) is not dict or saved.keys() != keys:
            raise Unreadable(f"an object with the keys {', '.join(sorted(keys))}; got {brief(saved)}")
        return {key: read_bits(saved[key], like[key]) for key in keys}
    if isinstance(like, np.ndarray):
        return read_array(saved, like.shape, like.dtype)
    if type(saved) is not int or not 0 <= saved < 2**128:
        raise Unreadable(f"made of whole numbers; got {brief(saved)}")
    return saved
