"""An update of a live policy happens as a whole or not at all, also when it is interrupted, and one thread at a time.

Before anything changes, what will change is written down; when all is done the entry is struck out. An exception, such as
``KeyboardInterrupt``, may come at any point. An update that it ends is taken back at once, from the entry; should a second
one end that too, the entry still stands, and the next call takes the update back before it does anything else. To take
back is to put saved values in their places, which may be begun again as often as need be.

Of a compiled policy all this holds too, though no signal comes in the middle of machine code: one may come before or after
it, between two rewards of a batch, and an error may end it half-way.
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from types import CodeType, FrameType
from typing import Any

import numpy as np

from bandstrap.basics.arrays import AnyArray
from bandstrap.policies.states.fields import Leaf, PolicyState, declared_leaves

# The state of a generator's source of bits.
BitState = Mapping[str, Any]


# What was of an arm: numbers, lists, and arrays.
SavedRows = tuple[list[float], list[list[float]], list[AnyArray]]
# What an update under way began with: the values of attributes; the generator's state where rewards draw from it; arrays
# and lists with what they held; and the rows of the arms concerned, each written down when its turn comes. These are plain
# tuples, which Python makes several times faster than named ones.
Undo = tuple[tuple[object, ...], BitState | None, list[tuple[Leaf, Leaf]], dict[int, SavedRows]]


class OwnLock(type(threading.RLock())):  # type: ignore[misc] # the class behind the function RLock
    """A lock that every copy of its owner has for itself."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> OwnLock:
        return OwnLock()

    def __reduce__(self) -> tuple[type[OwnLock], tuple[()]]:
        return OwnLock, ()


class ChangedRows:
    """Rows of a state that ``learn`` may change for the reward of one arm.

    Parameters
    ----------
    state
        The state of a live policy.
    by_arm
        Names of the fields with an entry or a row per arm, of which ``learn`` changes the one of its arm, as far as is
        declared; see ``fields.py``.
    across
        Names of the fields with rows in which each arm has an entry, of which it changes those of its arm.
    """

    def __init__(self, state: PolicyState, by_arm: Collection[str], across: Collection[str] = ()) -> None:
        self.numbers: list[Leaf] = []
        self.lists: list[Leaf] = []
        self.arrays: list[Leaf] = []
        # Rows of the first rewards, which rest when these fill them.
        self.firsts: list[Leaf] = []
        self.pulls = state.pulls
        self.whole: list[Leaf] = []
        for name, field, values in declared_leaves(state):
            if not field.is_rewritten or (name in by_arm and len(values) == 0):
                continue
            if name in across:
                self.numbers.extend(values)
            elif name not in by_arm:
                self.whole.append(values)
            elif isinstance(values[0], list):
                if values[0]:
                    self.lists.append(values)
            elif isinstance(values[0], np.ndarray):
                if values[0].size > 0:
                    (self.firsts if field.learned == "first" else self.arrays).append(values)
            else:
                self.numbers.append(values)
        self.full = len(self.firsts[0][0]) if self.firsts else 0
        self.are_numbers = not (self.lists or self.arrays or self.firsts)

    def save(self, arm: int) -> SavedRows:
        """Save the arm's entries and rows as they are now."""
        numbers = [values[arm] for values in self.numbers]
        if self.are_numbers:
            return numbers, [], []
        arrays = [rows[arm].copy() for rows in self.arrays]
        if self.pulls[arm] < self.full:
            arrays += [rows[arm].copy() for rows in self.firsts]
        return numbers, [rows[arm][:] for rows in self.lists], arrays

    def put_back(self, arm: int, saved: SavedRows) -> None:
        """Make them so again."""
        numbers, lists, arrays = saved
        for values, number in zip(self.numbers, numbers, strict=True):
            values[arm] = number
        for rows, row in zip(self.lists, lists, strict=True):
            rows[arm] = row
        for rows, array in zip(
            [*self.arrays, *self.firsts], arrays, strict=False
        ):  # those of the first, or without them
            rows[arm][:] = array


def save_whole(values: Leaf) -> Leaf:
    """A copy of an array, a list, or a list of lists."""
    if isinstance(values, np.ndarray):
        return values.copy()
    return [row[:] for row in values] if values and isinstance(values[0], list) else values[:]


def put_back_whole(values: Leaf, saved: Leaf) -> None:
    """Give an array or a list the content it had, of which ``saved`` stays a copy."""
    if isinstance(values, np.ndarray):
        values[...] = saved
    else:
        values[:] = save_whole(saved)


@functools.cache
def uses_generator(learn: Callable[..., None]) -> bool:
    """Return whether a ``learn`` looks at its last parameter, the generator, at all."""
    code = learn.__code__
    rng = code.co_varnames[code.co_argcount - 1]
    # From Python 3.13 on, one instruction may load two variables.
    names = (step.argval if isinstance(step.argval, tuple) else (step.argval,) for step in dis.get_instructions(code))
    return any(rng in named for named in names)


def refuse_inside_update(steps: Collection[CodeType], owner: object) -> None:
    """Refuse a call that came out of an update of the same object: a signal handler's, run in the middle of it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in steps and frame.f_locals.get("self") is owner:
            raise RuntimeError(
                f"This {type(owner).__name__} was called during its own update. A signal handler should only set a "
                "flag; call the policy later."
            )
        frame = frame.f_back
