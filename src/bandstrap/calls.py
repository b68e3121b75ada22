"""A name with options in one word, ``name:key=value,key=value``, as the command line and the coverage lab take it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from bandstrap.errors import InvalidInput


class Call(NamedTuple):
    """A name and its options."""

    name: str
    options: dict[str, Any]

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return self.name + ":" + ",".join(f"{key}={format_value(value)}" for key, value in self.options.items())


def parse_call(text: str) -> Call:
    """Parse ``name`` or ``name:key=value,...``; values are numbers, ``true``/``false``, ``(a, b)`` pairs or words.

    >>> parse_call("bootstrap:sigma=2,correction=sharp")
    Call(name='bootstrap', options={'sigma': 2, 'correction': 'sharp'})
    >>> parse_call("betting:support=(0,1)")
    Call(name='betting', options={'support': (0, 1)})
    """
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    if not name.strip() or (":" in text and not rest.strip()):
        raise InvalidInput(f"{text!r} is not of the form name:key=value,key=value.")
    for item in split_options(rest) if rest else []:
        key, equals, value = item.partition("=")
        if not equals or not key.strip().isidentifier() or not value.strip():
            raise InvalidInput(f"{item!r} in {text!r} is not of the form key=value.")
        options[key.strip()] = parse_value(value.strip())
    return Call(name.strip(), options)


def split_options(text: str) -> list[str]:
    """Split at commas; those inside brackets, of whatever depth, belong to a value."""
    items, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth <= 0:
            items.append("")
        else:
            items[-1] += character
    return items


def parse_value(text: str) -> Any:
    """A Python literal if it is one, ``true`` and ``false`` as booleans, else the word itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: nested too deeply
        return text
    return tuple(value) if isinstance(value, list) else value


def format_value(value: Any) -> str:
    """Short text of an option's value."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, tuple):
        return "(" + ",".join(format_value(item) for item in value) + (",)" if len(value) == 1 else ")")
    return str(value)
