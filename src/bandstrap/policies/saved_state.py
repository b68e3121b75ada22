"""The state of a live policy as JSON, and back, in the form in which the policy keeps it.

A state is a NamedTuple of arrays, or of NamedTuples of arrays, and becomes an object of lists. Live in plain Python most
arrays are lists, see ``as_lists``; that does not show. Of rows with room for rewards to come, what is in use is written:
the pulls of the arm, and whatever lies beyond that is not zero. They get their room back when they are read.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.memory import check_memory
from bandstrap.errors import brief
from bandstrap.policies.journal import leaves
from bandstrap.policies.json_values import Unreadable, Unwritable, read_array, read_value, write_array, write_value


def write_state(state: Any, growing: Collection[str] = ()) -> dict[str, Any]:
    """A state as an object; ``growing`` are the fields that hold a row of rewards for each arm."""
    written: dict[str, Any] = {}
    for name, value in zip(state._fields, state, strict=True):
        if hasattr(value, "_fields"):
            written[name] = write_state(value)
        elif name in growing:
            written[name] = [
                write_array(np.asarray(row)[: used(row, n)]) for row, n in zip(value, state.pulls, strict=False)
            ]
        elif isinstance(value, np.ndarray | list):
            written[name] = write_array(np.asarray(value)) if len(value) else []
        else:
            try:
                written[name] = write_value(value)
            except Unwritable:
                raise Unwritable(f"{type(value).__name__} in its state, as {name!r}") from None
    return written


def used(row: NDArray[Any], pulls: int) -> int:
    """How much of a row is in use: its pulls, and what lies beyond but is not zero."""
    places = np.nonzero((row != 0) | np.signbit(row) if row.dtype.kind == "f" else row)[0]
    return max(int(pulls), int(places.max(initial=-1)) + 1)


def read_state(saved: Any, template: Any, growing: Collection[str], as_array: bool, owner: str) -> Any:
    """A state of the form of ``template``, a new one, whose rows of rewards have grown since.

    They are one array, or a list of arrays, each of its own length.
    """
    entries = entries_of(saved, template)
    pulls = read_array(entries["pulls"], template.pulls.shape, template.pulls.dtype) if growing else template.pulls
    made = []
    for name, value in zip(template._fields, template, strict=True):
        if name in growing and len(value):
            rows = read_rows(entries[name], value, pulls, name)
            made.append(together(rows, owner) if as_array else rows)
        else:
            made.append(read_field(entries[name], value, name))
    return type(template)(*made)


def read_rows(saved: Any, room: NDArray[Any], pulls: NDArray[Any], name: str) -> list[NDArray[Any]]:
    """Rows for rewards, each doubled from its first room until it holds what was saved."""
    if type(saved) is not list or len(saved) != len(room):
        raise Unreadable(f"a state whose {name!r} has {len(room)} rows; got {brief(saved)}")
    rows = []
    for row, first, n in zip(saved, room, pulls, strict=True):
        if type(row) is not list or len(row) < n:
            raise Unreadable(f"a state whose {name!r} has a row of at least {n} numbers; got {brief(row)}")
        length = len(first)
        while length < len(row):
            length *= 2
        made = np.zeros((length, *first.shape[1:]), dtype=room.dtype)
        made[: len(row)] = read_field(row, made[: len(row)], name)
        rows.append(made)
    return rows


def together(rows: list[NDArray[Any]], owner: str) -> NDArray[Any]:
    """Rows as one array, each as long as the longest."""
    longest = max(map(len, rows))
    shape = (len(rows), longest, *rows[0].shape[1:])
    check_memory(3 * int(np.prod(shape)) * rows[0].itemsize, "arms", owner, len(rows))
    array = np.zeros(shape, dtype=rows[0].dtype)
    for place, row in zip(array, rows, strict=True):
        place[: len(row)] = row
    return array


def read_doubling_state(saved: Any, template: Any, larger: Any) -> Any:
    """A state some of whose tuples have doubled since, as ``larger`` has against ``template``, along the first axis."""
    entries = entries_of(saved, template)
    made = []
    for name, value, twice in zip(template._fields, template, larger, strict=True):
        if hasattr(value, "_fields") and [a.shape for _, a in leaves(value)] != [a.shape for _, a in leaves(twice)]:
            made.append(read_doubled(entries[name], value, twice))
        elif hasattr(value, "_fields"):
            made.append(read_doubling_state(entries[name], value, twice))
        else:
            made.append(read_field(entries[name], value, name))
    return type(template)(*made)


def read_doubled(saved: Any, rows: Any, larger: Any) -> Any:
    """A tuple of arrays that all have doubled equally often; how many of their rows are taken is its ``size``."""
    entries = entries_of(saved, rows)
    grows = [name for name in rows._fields if getattr(rows, name).shape != getattr(larger, name).shape]
    room = len(getattr(rows, grows[0]))
    length = room
    while length < length_of(entries[grows[0]]):
        length *= 2
    made = {
        name: read_shape(entries[name], (length, *value.shape[1:]) if name in grows else value.shape, value.dtype, name)
        for name, value in zip(rows._fields, rows, strict=True)
    }
    if not 0 <= made["size"][0] <= length:
        raise Unreadable(f"a state whose 'size' is at most {length}; got {made['size'][0]}")
    return type(rows)(**made)


def read_field(saved: Any, like: Any, name: str) -> Any:
    """A field of the form of another."""
    if hasattr(like, "_fields"):
        entries = entries_of(saved, like)
        return type(like)(*(read_field(entries[n], value, n) for n, value in zip(like._fields, like, strict=True)))
    if isinstance(like, np.ndarray):
        return read_shape(saved, like.shape, like.dtype, name)
    value = read_value(saved)
    if type(value) is not type(write_value(like)):
        raise Unreadable(f"a state whose {name!r} is of type {type(like).__name__}; got {brief(saved)}")
    return value


def read_shape(saved: Any, shape: tuple[int, ...], dtype: Any, name: str) -> NDArray[Any]:
    """An array; what is wrong with it is said with its name."""
    if 0 in shape and saved == []:  # lists do not tell how long they would be
        return np.zeros(shape, dtype=dtype)
    try:
        return read_array(saved, shape, dtype)
    except Unreadable as error:
        raise Unreadable(f"a state whose {name!r} is {error}") from None


def entries_of(saved: Any, like: Any) -> dict[str, Any]:
    """The fields of an object, which must be those of a NamedTuple."""
    if type(saved) is not dict or saved.keys() != {*like._fields}:
        got = f"the fields {', '.join(map(str, saved))}" if type(saved) is dict else brief(saved)
        raise Unreadable(f"a state with the fields {', '.join(like._fields)}; got {got}")
    return saved


def length_of(saved: Any) -> int:
    """The length of a list."""
    return len(saved) if type(saved) is list else 0
