"""State of some of the arms as a state of its own: for a policy that is shown it, there are no others.

Such a part shares with the whole, in plain Python, the rows of its arms: rewards, and what was worked out from an arm's own
rewards, so that work done for the part is done for the whole. What was worked out by comparing arms is left behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from bandstrap.basics.arrays import AnyArray
from bandstrap.policies.online.journal import save_whole
from bandstrap.policies.states.ceilings import Ceilings, without_bounds
from bandstrap.policies.states.duels import DuelState, contest_among, contest_of_all
from bandstrap.policies.states.fields import (
    LEAVES,
    Leaf,
    State,
    StateTuple,
    declared_leaves,
    is_declared,
    is_scratch,
    is_tuple,
    leaves,
    remade,
)

T = TypeVar("T")
# Fields of a round of duels, which name arms.
DUELS = ("queue", "contest")
# What is to be written into an array or a list, and where.
StateChange = tuple[Leaf, Any, object]


def part_of(state: State, arms: Sequence[int], by_arm: Collection[str], across: Collection[str]) -> State:
    """The state of some arms, which are numbered anew, in the same order.

    Parameters
    ----------
    state
        The state of all arms.
    arms
        Those that count, in ascending order.
    by_arm, across
        Names of the fields with an entry or a row per arm, and of those with rows in which each arm has an entry. Others
        belong to no arm.
    """
    own = is_declared(state)

    duel = as_duel(state)
    contest = {} if duel is None else contest_among(duel.queue, duel.contest, arms)

    def of(name: str, value: object) -> object:
        if not isinstance(value, LEAVES):
            if isinstance(value, Ceilings):
                return without_bounds(part_of(value, arms, by_arm, across))
            return part_of(value, arms, by_arm, across) if is_tuple(value) else value
        if name in contest:
            return contest[name]
        if name == "order":
            return ranking(value, arms)
        if name in by_arm:
            return [value[arm] for arm in arms] if isinstance(value, list) else value[list(arms)]
        if name in across:
            if isinstance(value, list):
                return [[row[arm] for arm in arms] for row in value]
            return np.ascontiguousarray(value[:, list(arms)])
        # What one of our own states has worked out from all arms does not hold for a part of them, nor the other way round.
        return save_whole(value) if own and not is_scratch(state, name) else value

    return remade(state, (of(name, value) for name, value in zip(state._fields, state, strict=True)))


def with_another_arm(
    state: State, fresh: StateTuple, place: int, by_arm: Collection[str], across: Collection[str]
) -> State:
    """A state with one arm more, the last one of a ``fresh`` state of so many, at a ``place`` in the order of ties.

    What belongs to the other arms, or to none, is shared with ``state``, which stays as it is.
    """

    def of(name: str, value: object, new: object) -> object:
        if is_tuple(value) and is_tuple(new):
            return with_another_arm(value, new, place, by_arm, across)
        if isinstance(value, list) and isinstance(new, list):
            if name == "order":
                return [*value[:place], len(value), *value[place:]]
            if name in by_arm and is_square(value) and is_square(new):
                return [*([*row, other[-1]] for row, other in zip(value, new, strict=False)), new[-1]]
            if name in by_arm:
                return [*value, new[-1]]
            if name in across:
                return [[*row, other[-1]] for row, other in zip(value, new, strict=True)]
        elif isinstance(value, np.ndarray) and isinstance(new, np.ndarray):
            if name == "order":
                return np.insert(value, place, len(value))
            if name in by_arm and is_square(value) and is_square(new):
                return np.block([[value, new[:-1, -1:]], [new[-1:, :-1], new[-1:, -1:]]])
            if name in by_arm:
                return np.concatenate([value, like(value[:1], new[-1:])])
            if name in across:
                return np.concatenate([value, new[:, -1:]], axis=1)
        return value

    both = zip(state._fields, state, fresh, strict=True)
    return remade(state, (of(name, value, new) for name, value, new in both))


def is_square(values: Leaf) -> bool:
    """Return whether there is a number for each pair of arms: no rewards of arms, of which a new state has room for
    more.
    """
    if isinstance(values, np.ndarray):
        return values.ndim == 2 and values.shape[0] == values.shape[1]
    return isinstance(values[0], list) and len(values[0]) == len(values)


def like(row: AnyArray, new: AnyArray) -> AnyArray:
    """A new row with as much room as another."""
    wide = np.zeros_like(row)
    wide[tuple(slice(size) for size in new.shape)] = new
    return wide


def ranking(order: Leaf, arms: Sequence[int]) -> Leaf:
    """The order of ties among some arms, by their new numbers."""
    places = {arm: place for place, arm in enumerate(arms)}
    among = [places[arm] for arm in order if arm in places]
    return among if isinstance(order, list) else np.array(among, dtype=order.dtype)


def changes(
    state: State, part: State, arms: Sequence[int], by_arm: Collection[str], across: Collection[str]
) -> list[StateChange]:
    """Changes that a choice among some arms made to their part, and the whole lacks; facts it leaves alone.

    Of what could be worked out again, single numbers are left behind: they may be bounds that hold in the part alone.
    """
    found: list[StateChange] = []
    duel, duel_of_part = as_duel(state), as_duel(part)
    for (name, field, values), (_, entries) in zip(declared_leaves(state), leaves(part), strict=True):
        if field.kind in ("fact", "scratch") or name == "order" or not (name in across or name in by_arm):
            continue
        if duel is not None and name in DUELS:
            continue
        if isinstance(values, np.ndarray):
            key = (slice(None), list(arms)) if name in across else list(arms)
            is_kept = values.ndim > 1 or field.kind == "path-dependent"
            if is_kept and not np.array_equal(values[key], entries):
                found.append((values, key, entries))
        elif name in across:
            for row, few in zip(values, entries, strict=True):
                found.extend(differing(row, few, arms))
        elif field.kind == "path-dependent" and field.form == "list" and not isinstance(values[0], list):
            found.extend(differing(values, list(entries), arms))
    if duel is not None and duel_of_part is not None:
        found.extend(contest_of_all(duel, duel_of_part, arms))
    return found


def differing(row: list[T], few: list[T], arms: Sequence[int]) -> list[StateChange]:
    """The change of a row in which some arms have other entries, if they have."""
    return [] if few == [row[arm] for arm in arms] else [(row, slice(None), merged(row, few, arms))]


def merged(row: list[T], few: list[T], arms: Sequence[int]) -> list[T]:
    """A row with the entries of some arms in place of its own."""
    whole = row[:]
    for arm, entry in zip(arms, few, strict=True):
        whole[arm] = entry
    return whole


def duplicate(state: State) -> State:
    """A copy of a state that shares nothing with it that matters: what is written before it is read may be shared."""

    def of(name: str, value: object) -> object:
        if is_tuple(value):
            return duplicate(value)
        if is_scratch(state, name) or not isinstance(value, LEAVES):
            return value
        if isinstance(value, list):
            return [row.copy() for row in value] if value and hasattr(value[0], "copy") else value[:]
        return value.copy()

    return remade(state, (of(name, value) for name, value in zip(state._fields, state, strict=True)))


def what_choices_depend_on(state: StateTuple) -> Iterator[Leaf]:
    """The arrays or lists that a choice may change, and on which others may depend then, were it not for chance."""
    for _, field, values in declared_leaves(state):
        if field.kind == "path-dependent":
            yield from values if isinstance(values, list) and field.form == "rows" else [values]


def as_duel(state: StateTuple) -> DuelState | None:
    """A state as one of those that ``duels.py`` plays rounds with, if it is."""
    return cast("DuelState", state) if is_declared(state) and "contest" in state._fields else None
