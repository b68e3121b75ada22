"""Types that say what each field of a policy's state is, where the field is defined.

A state is a NamedTuple of arrays, or of such tuples. The type of a field says more than that it is an array:

>>> class State(NamedTuple):
...     order: Order
...     pulls: Counts
...     history: History
>>> declared(State)["history"]
Field(kind='fact', form='rows', grows=True, learned='added')

Who keeps, saves, copies or takes back states reads it here, once for each class. A class that does not say it of all its
fields is taken as it is: every field may matter, stays one array, and may be changed anywhere by any reward.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeGuard, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import AnyArray, Floats

# What a state keeps: an array, or online, in plain Python, a list, of lists or of rows that are arrays.
Leaf = AnyArray | list[Any]
# Its classes: a union of them would be made anew with every look.
LEAVES = (np.ndarray, list)


class Entries(Protocol):
    """Whole numbers, one per arm, in a leaf of whichever form."""

    def __getitem__(self, arm: int, /) -> int:
        """Entry of an arm."""

    def __len__(self) -> int:
        """Number of arms."""

    def __iter__(self) -> Iterator[int]:
        """All of them."""


class StateTuple(Protocol):
    """A NamedTuple of leaves, or of such tuples."""

    @property
    def _fields(self) -> tuple[str, ...]: ...

    def __iter__(self) -> Iterator[object]:
        """The values of its fields."""


class PolicyState(StateTuple, Protocol):
    """Minimal state of a policy of arms."""

    @property
    def pulls(self) -> Entries:
        """Number of rewards learned, per arm."""

    @property
    def order(self) -> Entries:
        """The arms in the order that breaks ties."""


class SumState(PolicyState, Protocol):
    """A state with sums of rewards."""

    @property
    def sums(self) -> Floats:
        """Sums per arm."""


State = TypeVar("State", bound=StateTuple)


def is_tuple(value: object) -> TypeGuard[StateTuple]:
    """Return whether a value of a field is a tuple of further fields."""
    return hasattr(value, "_fields")


def remade(state: State, values: Iterable[object]) -> State:
    """A state of the same class with these values."""
    make: Callable[..., State] = type(state)
    return make(*values)


def replaced(state: State, changed: Mapping[str, object]) -> State:
    """A state with other values of some fields."""
    return remade(state, (changed.get(name, value) for name, value in zip(state._fields, state, strict=True)))


class Field(NamedTuple):
    """Properties of a field.

    Parameters
    ----------
    kind
        ``"fact"``
            What is known of rewards, and of draws made when they were learned. A choice leaves it alone.
        ``"path-dependent"``
            What a choice may change too, and what later choices depend on, be it in the last bit: a round of duels that is
            under way, the start of a solver.
        ``"memory"``
            The same of what was worked out from an arm's rewards alone, and would be again but for the last bit. Choices
            that are drawn to count them, see :meth:`bandstrap.Policy.weights`, need not each work it out anew.
        ``"recomputable"``
            What was worked out from the others, and would be again, bit for bit, if it were as in a new state.
        ``"scratch"``
            Room to work in. Nothing is lost with its content.
    form
        How it is kept online, in plain Python: as ``"list"``, of lists if it has rows, which Python reads and writes
        several times faster; as list of ``"rows"`` that are arrays, because they are long or NumPy works on them whole; or
        as one ``"array"``. Machine code keeps arrays.
    grows
        Whether it has room for a number of rewards, which is doubled when they fill it: along the second axis where there
        is a row for each arm, along the first in a tuple that counts what it holds in ``size``.
    learned
        What taking in a reward does to the entry or the row of its arm: it changes ``"any"`` of it; any of it while the
        arm's ``"first"`` rewards fill the row, and nothing later; nothing, but has more ``"added"`` behind what is in use;
        ``"never"`` anything. Or it changes those of ``"all"`` arms.
    """

    kind: Literal["fact", "path-dependent", "memory", "recomputable", "scratch"]
    form: Literal["list", "rows", "array"] = "list"
    grows: bool = False
    learned: Literal["any", "first", "added", "never", "all"] = "any"

    @property
    def is_saved(self) -> bool:
        """True if a policy could not go on without it."""
        return self.kind in ("fact", "path-dependent", "memory")

    @property
    def is_rewritten(self) -> bool:
        """True if taking in a reward may change what is in use and matters.

        What is added behind the last is not in use without its count, and what is scratch is written before it is read.
        """
        return self.learned in ("any", "first", "all") and self.kind != "scratch"


# The order that breaks ties, drawn at the start.
Order = Annotated[NDArray[np.int64], Field("fact", learned="never")]
# Facts: whole numbers, and others.
Counts = Annotated[NDArray[np.int64], Field("fact")]
Numbers = Annotated[Floats, Field("fact")]
# The rewards of each arm in the order in which they were learned, or a number for each of them that stays as it is.
History = Annotated[Floats, Field("fact", "rows", grows=True, learned="added")]
# The first few of them, and what is worked out of these alone.
FirstRewards = Annotated[Floats, Field("fact", "rows", learned="added")]
OfFirstRewards = Annotated[Floats, Field("fact", "rows", learned="first")]
# What choices change.
Path = Annotated[Floats, Field("path-dependent")]
Memory = Annotated[Floats, Field("memory")]
PathCounts = Annotated[NDArray[np.int64], Field("path-dependent")]
ShuffledHistory = Annotated[Floats, Field("path-dependent", "rows", grows=True, learned="added")]
# What is one array: whole numbers, others, and such with a row for each observation, or to which rows are only added.
ArrayOfCounts = Annotated[NDArray[np.int64], Field("fact", "array")]
Array = Annotated[Floats, Field("fact", "array")]
GrowingCounts = Annotated[NDArray[np.int64], Field("fact", "array", grows=True)]
GrowingArray = Annotated[Floats, Field("fact", "array", grows=True)]
AddedLabels = Annotated[NDArray[np.int64], Field("fact", "array", grows=True, learned="added")]
Observations = Annotated[Floats, Field("fact", "array", grows=True, learned="added")]
# What follows from the rest, and room to work in.
Cache = Annotated[Floats, Field("recomputable")]
Scratch = Annotated[Floats, Field("scratch")]

UNDECLARED = Field("path-dependent", "array")


@functools.cache
def declared(cls: type) -> dict[str, Field | type] | None:
    """Classes of the fields of a class of states, a class for a tuple inside it; ``None`` unless all of them are
    declared.
    """
    try:
        hints = get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - a user's annotation may name anything, or nothing that is there
        return None
    found: dict[str, Field | type] = {}
    for name in getattr(cls, "_fields", ()):
        hint = hints.get(name)
        notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Field)]
        if notes:
            found[name] = notes[0]
        elif isinstance(hint, type) and hasattr(hint, "_fields") and declared(hint) is not None:
            found[name] = hint
        else:
            return None
    return found


def fields_of(state: object) -> dict[str, Field | type] | None:
    """Classes of the fields of a state; ``None`` unless all are declared."""
    cls: type = state.__class__
    return declared(cls)


def is_declared(state: object) -> bool:
    """Return whether a state says what its fields are."""
    return fields_of(state) is not None


def is_scratch(state: object, name: str) -> bool:
    """Return whether a field of a state is room to work in."""
    field = (fields_of(state) or {}).get(name)
    return isinstance(field, Field) and field.kind == "scratch"


def leaves(state: StateTuple) -> Iterator[tuple[str, Leaf]]:
    """The arrays or lists of a state by name, those of tuples inside it included; what else it holds cannot change."""
    return ((name, value) for name, _, value in declared_leaves(state))


def declared_leaves(state: StateTuple) -> Iterator[tuple[str, Field, Leaf]]:
    """The same, with what they are; no part of a state is declared unless all of it is."""
    known = fields_of(state)
    for name, value in zip(state._fields, state, strict=True):
        field = UNDECLARED if known is None else known[name]
        if isinstance(value, LEAVES):
            yield name, field if isinstance(field, Field) else UNDECLARED, value
        elif is_tuple(value):
            for inner, what, leaf in declared_leaves(value):
                yield inner, UNDECLARED if known is None else what, leaf


def changed_by_learning(state: StateTuple) -> Sequence[Leaf]:
    """The arrays or lists of a state in which ``learn`` may change what is in use and matters."""
    cls: type = state.__class__
    return [values for _, values in leaves(state)] if declared(cls) is None else getter_of_changed(cls)(state)


@functools.cache
def getter_of_changed(cls: type) -> Callable[[StateTuple], tuple[Leaf, ...]]:
    """Function that takes the fields of a declared class out of a state; found once, because updates are many."""

    def paths(inner: type) -> Iterator[str]:
        for name, field in (declared(inner) or {}).items():
            if not isinstance(field, Field):
                yield from (f"{name}.{path}" for path in paths(field))
            elif field.is_rewritten:
                yield name

    found = list(paths(cls))
    get: Callable[[object], Any] = operator.attrgetter(*found)
    return get if len(found) > 1 else lambda state: (get(state),)


def growing(state: object) -> tuple[str, ...]:
    """Names of the fields of a tuple that grow; none of one that declares none."""
    cls: type = state.__class__
    return growing_in(cls)


@functools.cache
def growing_in(cls: type) -> tuple[str, ...]:
    """The same of a class; found once, because updates are many."""
    return tuple(name for name, field in (declared(cls) or {}).items() if isinstance(field, Field) and field.grows)


def as_lists(state: State) -> State:
    """A state in the form in which plain Python keeps it online, with the same numbers.

    Rows that are arrays are lists of them, so that each can grow on its own. A state that does not say what its fields are
    stays as it is: its functions may use arrays as a whole.
    """
    known = fields_of(state)
    if known is None:
        return state

    def converted(field: Field | type, value: object) -> object:
        if is_tuple(value):
            return as_lists(value)
        if not (isinstance(field, Field) and isinstance(value, np.ndarray)) or field.form == "array":
            return value
        return [row.copy() for row in value] if field.form == "rows" else value.tolist()

    return remade(state, (converted(known[name], value) for name, value in zip(state._fields, state, strict=True)))
