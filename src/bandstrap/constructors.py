"""Classes whose constructors refuse in one sentence what they do not take.

Python's own ``TypeError`` names neither the class nor what it takes. The constructors of policies and environments hand
options on to their base classes, so that only the whole chain knows them.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from bandstrap.errors import InvalidInput

T = TypeVar("T")


class Declared(type):
    """A class that knows all its constructor takes, and says so where it is called with something else."""

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

    def __call__(cls: type[T], *values: Any, **options: Any) -> T:
        """Build an object; a call that the constructor cannot take is refused in a sentence."""
        try:
            return super().__call__(*values, **options)  # type: ignore[misc]
        except TypeError as error:
            # Asked only now, because a class of the user's may take more than its signature tells.
            if "__init__() " in str(error):
                refuse_misfit(cls.__name__, inspect.signature(cls), values, options)
            raise


def refuse_misfit(owner: str, signature: inspect.Signature, values: Iterable[Any], options: Mapping[str, Any]) -> None:
    """Refuse arguments that a signature does not have; nothing happens if it has them all."""
    known = signature.parameters
    takes = f"it takes {', '.join(known)}" if known else "it takes none"
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise InvalidInput(f"{owner} has no parameter {name!r}{hint}; {takes}.")
    values = list(values)
    by_place = [name for name, parameter in known.items() if parameter.kind is not parameter.KEYWORD_ONLY]
    if len(values) > len(by_place):
        extra = values[len(by_place)]
        raise InvalidInput(f"{owner} takes its parameters by name: {', '.join(known)}. Got {extra!r} without a name.")
    given = {*by_place[: len(values)], *options}
    for name in by_place[: len(values)]:
        if name in options:
            raise InvalidInput(f"{owner} was given the parameter {name!r} twice.")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in given:
            raise InvalidInput(f"{owner} needs the parameter {name!r}; {takes}.")
