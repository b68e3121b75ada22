"""Classes whose constructors show and explain parameters, and refuse them in one sentence.

The constructors of policies and environments hand options on to their base classes, so that only the whole chain knows
them. Python's own ``TypeError`` names neither the class nor what it takes.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from bandstrap.errors import InvalidInput, brief

T = TypeVar("T")

# Parameters that a docstring leaves to a base class, which must be named.
POINTER = re.compile(r"^(?P<names>\w+(?:, \w+)*)\n    See :class:`(?:\w+\.)*(?P<base>\w+)`\.$", re.M)
# A parameter and what is said about it.
ENTRY = re.compile(r"^(\w+)((?:\n    .*)+)", re.M)


class Declared(type):
    """A class that knows all its constructor takes, and says so when it is called with something else."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], **options: object) -> None:
        super().__init__(name, bases, namespace, **options)
        if "__doc__" in namespace and cls.__doc__ is not None:  # there is none under -OO
            cls.__doc__ = explained(cls.__doc__, {base.__name__: base for base in cls.__mro__})

    @property
    def __signature__(cls) -> inspect.Signature:
        """The constructor's parameters, those handed on to base classes in the place of ``**options``."""
        found: dict[str, inspect.Parameter] = {}
        for part in cls.constructors():
            _, *own = inspect.signature(vars(part)["__init__"]).parameters.values()
            for parameter in own:
                if parameter.kind is not parameter.VAR_KEYWORD:
                    found.setdefault(parameter.name, parameter)
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in own):
                break
        return inspect.Signature(sorted(found.values(), key=lambda parameter: parameter.kind))

    def constructors(cls) -> list[type]:
        """The classes that options are handed on to, this one first: all that have a constructor."""
        return [part for part in cls.__mro__ if "__init__" in vars(part)]

    if not TYPE_CHECKING:  # type checkers read the constructors themselves

        def __call__(cls: type[T], *values: object, **options: object) -> T:
            """Build an object; a call that the constructor cannot take is refused in a sentence."""
            try:
                return super().__call__(*values, **options)
            except TypeError as error:
                # Checked only now, because a user's class may take more than its signature shows.
                if "__init__() " in str(error):
                    refuse_misfit(cls.__name__, inspect.signature(cls), values, options)
                raise


def explained(text: str, bases: Mapping[str, type]) -> str:
    """A docstring in which the line that points to a base class is replaced by what that class says about its parameters.

    So that ``help`` explains all parameters, though each is explained in one place.
    """

    def entries(pointer: re.Match[str]) -> str:
        known = dict(ENTRY.findall(inspect.getdoc(bases[pointer["base"]]) or "")) if pointer["base"] in bases else {}
        names = pointer["names"].split(", ")
        return "\n".join(name + known[name] for name in names) if known.keys() >= {*names} else pointer[0]

    return POINTER.sub(entries, inspect.cleandoc(text))


def refuse_misfit(
    owner: str, signature: inspect.Signature, values: Iterable[object], options: Mapping[str, object]
) -> None:
    """Refuse arguments that a signature does not have; nothing happens if it has them all."""
    known = signature.parameters
    takes = f"it takes {', '.join(known)}" if known else "it takes none"
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise InvalidInput(f"{owner} has no parameter {brief(name)}{hint}; {takes}.")
    values = list(values)
    by_place = [name for name, parameter in known.items() if parameter.kind is not parameter.KEYWORD_ONLY]
    if len(values) > len(by_place):
        extra = values[len(by_place)]
        raise InvalidInput(
            f"{owner} takes its parameters by name: {', '.join(known)}. Got {brief(extra)} without a name."
        )
    given = {*by_place[: len(values)], *options}
    for name in by_place[: len(values)]:
        if name in options:
            raise InvalidInput(f"{owner} was given the parameter {name!r} twice.")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in given:
            raise InvalidInput(f"{owner} needs the parameter {name!r}; {takes}.")
