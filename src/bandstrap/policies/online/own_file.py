"""Policies in a user's own file: ``path/mine.py:Mine:key=value``, wherever a policy is named in text."""

from __future__ import annotations

from typing import Any

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.engine.simulator.own_file import FileCall, find_class, made, origin_of, parse_file_call
from bandstrap.engine.simulator.plain import PlainPolicy, is_plain
from bandstrap.policies.online.described import Described


def make_policy(call: FileCall) -> Any:
    """The policy that a call describes."""
    found = find_class(call, "policy", is_policy)
    if not issubclass(found, Described):
        return PlainPolicy(found, call.options, origin=origin_of(call, found))
    return made(found, call)


def class_in_file(origin: str) -> type | None:
    """The class that a policy's ``origin`` names; ``None`` if the text names no file, or has options too."""
    call = parse_file_call(origin)
    if call is None or call.name is None or call.options:
        return None
    return find_class(call, "policy", is_policy)


def is_policy(thing: type) -> bool:
    """Return whether a class can be raced: it has a kernel, or can select and update."""
    return isinstance(getattr(thing, "kernel", None), Kernel) or (is_plain(thing) and not issubclass(thing, Described))
