"""Things registered by name: each name once."""

from __future__ import annotations

from typing import TypeVar

from bandstrap.errors import requirement

Kind = TypeVar("Kind")


def register(registry: dict[str, type[Kind]], name: str, cls: type[Kind]) -> None:
    """Register a class of this package under its name; a second class of that name is refused.

    A class from outside is not registered, because two users may give different things the same name: its file
    identifies it. It may not take a name of ours, which results would show.
    """
    taken = registry.get(name)
    if taken is not None and (taken.__module__, taken.__qualname__) != (cls.__module__, cls.__qualname__):
        rule = f"other than the names of bandstrap, where {name!r} is {taken.__qualname__}"
        raise requirement("name", f"{cls.__module__}.{cls.__qualname__}", rule, repr(name))
    if cls.__module__.partition(".")[0] == "bandstrap":
        registry[name] = cls
