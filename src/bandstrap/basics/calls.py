"""A name with options as text, ``name:key=value,key=value``, as the command line and the coverage lab take it."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Mapping
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple

from bandstrap.errors import InvalidInput, brief

QUOTES = ("'", '"')
# Characters of a call: room for thousands of numbers, and read in a moment.
LONGEST_CALL = 100_000


# Options by name, as they are handed to a function.
Options = dict[str, Any]


class Call(NamedTuple):
    """A name and its options."""

    name: str
    options: Options

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return self.name + ":" + ",".join(f"{key}={format_value(value)}" for key, value in self.options.items())


def parse_call(text: str, firsts: Mapping[str, str] = MappingProxyType({})) -> Call:
    """Parse ``name`` or ``name:key=value,...``.

    Values are numbers, ``true``/``false``, ``(a, b)`` pairs, tables ``{"a": 1}`` or words. A value in quotes is always
    text. For the names in ``firsts`` the first value may come without a key: it is the text of the option given there.

    >>> parse_call("bootstrap:sigma=2,correction=sharp")
    Call(name='bootstrap', options={'sigma': 2, 'correction': 'sharp'})
    >>> parse_call("betting:support=(0,1)")
    Call(name='betting', options={'support': (0, 1)})
    >>> parse_call("empirical:visits/may 1.csv,arm='2024'", {"empirical": "file"})
    Call(name='empirical', options={'file': 'visits/may 1.csv', 'arm': '2024'})
    """
    name, colon, rest = text.partition(":")
    name = name.strip()
    if not name or (colon and not rest.strip()):
        raise InvalidInput(f"{brief(text)} is not of the form name:key=value,key=value.")
    return Call(name, parse_options(rest, text, firsts.get(name)))


def parse_options(rest: str, text: str, first: str | None = None) -> Options:
    """The options in ``rest``, the end of a call whose whole ``text`` a refusal shows.

    The first value may come without a key if there is a ``first`` option whose text it is.
    """
    if len(text) > LONGEST_CALL:
        raise InvalidInput(f"A call has at most {LONGEST_CALL} characters; {brief(text)} has {len(text)}.")
    options: Options = {}
    for i, item in enumerate(split_options(rest) if rest else []):
        key, equals, value = (part.strip() for part in item.partition("="))
        is_option = bool(equals) and key.isidentifier()
        if i == 0 and first is not None and not is_option and item.strip():
            quoted = item.strip()[0] in QUOTES
            options[first] = parse_value(item.strip()) if quoted else item.strip()
            continue
        if not is_option or not value:
            raise InvalidInput(f"{brief(item)} in {brief(text)} is not of the form key=value.")
        if key in options:
            raise InvalidInput(f"{brief(text)} has the option {brief(key)} twice.")
        options[key] = parse_value(value)
    return options


def split_options(text: str) -> list[str]:
    """Split at commas; those inside quotes, or brackets of whatever depth, belong to a value."""
    items: list[str] = []
    start, depth, quote, escaped, before = 0, 0, "", False, ""
    for i, character in enumerate(text):
        if quote:
            if character == quote and not escaped:
                quote = ""
            escaped = character == "\\" and not escaped
        elif character in QUOTES and (before in ("", "=", "(", "[", "{", ",") or (depth and before == ":")):
            quote = character  # inside a word it is an apostrophe
        else:
            depth = max(0, depth + (character in "([{") - (character in ")]}"))
        if character == "," and depth == 0 and not quote:
            items.append(text[start:i])
            start, before = i + 1, ""
        elif not character.isspace():
            before = character
    return [*items, text[start:]]


def parse_value(text: str) -> Any:
    """A Python literal if it is one, ``true`` and ``false`` as booleans, else the word itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about how it is written, of Python's compiler
            value = ast.literal_eval(text)
        repr(value)  # which Python refuses of an integer of very many digits
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: nested too deeply
        return text
    return tuple(value) if isinstance(value, list) else value


def format_value(value: object) -> str:
    """Short text of an option's value, which :func:`parse_call` reads as the same value."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, tuple):
        items = (repr(item) if isinstance(item, str) else format_value(item) for item in value)
        return "(" + ",".join(items) + (",)" if len(value) == 1 else ")")
    if isinstance(value, str):
        is_plain = split_options(f"{value},") == [value, ""] and value.strip() == value == parse_value(value) != ""
        return value if is_plain and value[0] not in QUOTES else repr(value)
    if isinstance(value, FunctionType):  # by name: its place in memory is another in every run
        return value.__qualname__
    return str(value)


def fingerprint(*parts: bytes) -> str:
    """A fingerprint of eight letters; different contents share one only in one case in four billion.

    Letters alone, so that no fingerprint reads as a number.
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:8].translate(str.maketrans("0123456789", "ghijklmnop"))
