"""The state of a live policy as JSON, and back, in the form in which the policy keeps it.

A state is a NamedTuple of arrays, or of NamedTuples of arrays, and becomes an object of lists. Live in plain Python most
arrays are lists, see ``as_lists``; that does not show. Fields that are recomputable or scratch are left out, see
``fields.py``, and are as in a new state when it is read. Of rows with room for rewards to come, what is in use is written:
the pulls of the arm, and whatever lies beyond that is not zero. They get their room back when they are read.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar, cast

import numpy as np

from bandstrap.basics.arrays import AnyArray
from bandstrap.basics.storage import Json
from bandstrap.engine.work.memory import check_memory
from bandstrap.errors import brief
from bandstrap.policies.saving.json_values import (
    Unreadable,
    Unwritable,
    read_array,
    read_value,
    write_array,
    write_value,
)
from bandstrap.policies.states.fields import Entries, PolicyState, StateTuple, fields_of, growing, is_tuple, replaced

StateOfArms = TypeVar("StateOfArms", bound=PolicyState)


def saved_fields(state: StateTuple) -> list[tuple[str, object]]:
    """The fields of a state that are saved, by name."""
    known = fields_of(state) or {}
    fields = zip(state._fields, state, strict=True)
    return [(name, value) for name, value in fields if getattr(known.get(name), "is_saved", True)]


def write_state(state: StateTuple, rows: Collection[str] = ()) -> dict[str, Json]:
    """A state as an object; ``rows`` are the fields that hold a row of rewards for each arm."""
    written: dict[str, Json] = {}
    for name, value in saved_fields(state):
        if is_tuple(value):
            written[name] = write_state(value)
        elif isinstance(value, np.ndarray | list) and name in rows:
            pulls = cast("PolicyState", state).pulls
            written[name] = [write_array(np.asarray(row)[: used(row, n)]) for row, n in zip(value, pulls, strict=False)]
        elif isinstance(value, np.ndarray | list):
            written[name] = write_array(np.asarray(value))
        else:
            try:
                written[name] = write_value(value)
            except Unwritable:
                raise Unwritable(f"{type(value).__name__} in its state, as {name!r}") from None
    return written


def used(row: AnyArray, pulls: int) -> int:
    """Length of a row that is in use: its pulls, and what lies beyond but is not zero."""
    places = np.nonzero((row != 0) | np.signbit(row) if row.dtype.kind == "f" else row)[0]
    return max(int(pulls), int(places.max(initial=-1)) + 1)


def read_state(saved: object, template: StateOfArms, rows: Collection[str], as_array: bool, owner: str) -> StateOfArms:
    """A state of the form of ``template``, a new one, whose ``rows`` of rewards have grown since.

    They are one array, or a list of arrays, each of its own length.
    """
    entries = entries_of(saved, template)
    pulls = read_field(entries["pulls"], template.pulls, "pulls")
    made: dict[str, object] = {}
    for name, value in saved_fields(template):
        if name in rows and isinstance(value, np.ndarray) and len(value):
            grown = read_rows(entries[name], value, pulls, name)
            made[name] = together(grown, owner) if as_array else grown
        else:
            made[name] = read_field(entries[name], value, name)
    return replaced(template, made)


def read_rows(saved: object, room: AnyArray, pulls: Entries, name: str) -> list[AnyArray]:
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


def together(rows: list[AnyArray], owner: str) -> AnyArray:
    """Rows as one array, each as long as the longest."""
    longest = max(map(len, rows))
    shape = (len(rows), longest, *rows[0].shape[1:])
    check_memory(3 * int(np.prod(shape)) * rows[0].itemsize, "arms", owner, len(rows))
    array = np.zeros(shape, dtype=rows[0].dtype)
    for place, row in zip(array, rows, strict=True):
        place[: len(row)] = row
    return array


def read_field(saved: object, like: object, name: str) -> Any:
    """A field of the form of another, but for arrays of a tuple that have been doubled since, all equally often."""
    if isinstance(like, np.ndarray):
        return read_shape(saved, like.shape, like.dtype, name)
    if not is_tuple(like):
        value = read_value(saved)
        if type(value) is not type(write_value(like)):
            raise Unreadable(f"a state whose {name!r} is of type {type(like).__name__}; got {brief(saved)}")
        return value
    entries, grows = entries_of(saved, like), growing(like)
    length = len(getattr(like, grows[0])) if grows else 0
    longest = entries[grows[0]] if grows else None
    while type(longest) is list and length < len(longest):
        length *= 2
    made: dict[str, Any] = {}
    for inner, value in saved_fields(like):
        if inner in grows and isinstance(value, np.ndarray):
            made[inner] = read_shape(entries[inner], (length, *value.shape[1:]), value.dtype, inner)
        else:
            made[inner] = read_field(entries[inner], value, inner)
    if grows and not 0 <= made["size"][0] <= length:
        raise Unreadable(f"a state whose 'size' is at most {length}; got {made['size'][0]}")
    return replaced(like, made)


def read_shape(saved: object, shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> AnyArray:
    """An array; what is wrong with it is said with its name."""
    if 0 in shape and saved == []:  # lists do not tell how long they would be
        return np.zeros(shape, dtype=dtype)
    try:
        return read_array(saved, shape, dtype)
    except Unreadable as error:
        raise Unreadable(f"a state whose {name!r} is {error}") from None


def entries_of(saved: object, like: StateTuple) -> dict[str, object]:
    """The fields of an object, which must be those of a NamedTuple that are saved."""
    names = [name for name, _ in saved_fields(like)]
    if type(saved) is not dict or saved.keys() != {*names}:
        got = f"the fields {', '.join(map(str, saved))}" if type(saved) is dict else brief(saved)
        raise Unreadable(f"a state with the fields {', '.join(names)}; got {got}")
    return saved
