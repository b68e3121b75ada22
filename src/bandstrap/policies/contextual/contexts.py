"""Fields of a context, and the numbers that it becomes: declared in Python, JSON or TOML, kept as JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.errors import (
    InvalidInput,
    brief,
    check_choice,
    check_count,
    check_number,
    is_number,
    is_whole,
    read_numbers,
    requirement,
)

OWNER = "Contexts"
FieldKind = Literal["number", "category", "boolean"]
# What becomes of a level that was not declared, and of a field that is missing.
OfUnknown = Literal["refuse", "other"]
OfMissing = Literal["refuse", "allow"]
# The largest feature, in size.
LARGEST_FEATURE = 1e50
MOST_BITS = 12
# What a field may be told, by kind.
OPTIONS: dict[str, tuple[str, ...]] = {
    "number": ("kind", "missing", "centre", "scale"),
    "category": ("kind", "missing", "levels", "unknown", "bits"),
    "boolean": ("kind", "missing"),
}


class ContextField(NamedTuple):
    """A field of a context, checked; see :class:`Contexts`."""

    name: str
    kind: FieldKind
    missing: OfMissing = "refuse"
    centre: float = 0.0
    scale: float | None = None
    levels: tuple[str, ...] = ()
    unknown: OfUnknown = "refuse"
    bits: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numbers that the field becomes."""
        columns: tuple[str, ...] = (self.name,)
        if self.kind == "category":
            if self.bits:
                columns = tuple(f"{self.name}#{place}" for place in range(2**self.bits))
            else:
                others = ("other",) if self.unknown == "other" else ()
                columns = tuple(f"{self.name}={level}" for level in (*self.levels, *others))
        return (*columns, f"{self.name} is missing") if self.missing == "allow" else columns

    def encoded(self, value: object, parameter: str, owner: str) -> list[float]:
        """The numbers of a value; ``None`` where it is missing."""
        flag = [float(value is None)] if self.missing == "allow" else []
        if value is None:
            if self.missing == "refuse":
                raise requirement(parameter, owner, f"given with the field {self.name!r}", "none")
            return [math.nan] * (len(self.columns) - 1) + flag
        if self.kind == "number":
            if not is_number(value) or not abs(int(value) if is_whole(value) else float(value)) <= LARGEST_FEATURE:
                rule = f"given with a finite number as {self.name!r}, no larger than {LARGEST_FEATURE:g}"
                raise requirement(parameter, owner, rule, brief(value))
            number = float(value)
            return [number if self.scale is None else (number - self.centre) / self.scale, *flag]
        if self.kind == "boolean":
            if not isinstance(value, bool | np.bool_):
                raise requirement(parameter, owner, f"given with true or false as {self.name!r}", brief(value))
            return [float(value), *flag]
        if not isinstance(value, str):
            raise requirement(parameter, owner, f"given with a text as {self.name!r}", brief(value))
        columns = [0.0] * (len(self.columns) - len(flag))
        columns[self._place(value, parameter, owner)] = 1.0
        return columns + flag

    def _place(self, level: str, parameter: str, owner: str) -> int:
        """The column of a level."""
        if self.bits:
            digest = hashlib.blake2b(f"{self.name}\0{level}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
            return int.from_bytes(digest, "big") >> (64 - self.bits)
        if level in self.levels:
            return self.levels.index(level)
        if self.unknown == "refuse":
            raise requirement(
                parameter, owner, f"given with {self.name!r} out of {list(self.levels)[:20]}", brief(level)
            )
        return len(self.levels)

    def described(self) -> dict[str, Any]:
        """Differences from the defaults, as JSON has it."""
        default = ContextField(self.name, self.kind)
        pairs = zip(self._fields, self, default, strict=True)
        found = {key: list(self.levels) if key == "levels" else value for key, value, usual in pairs if value != usual}
        return {"kind": self.kind} | {key: value for key, value in found.items() if key != "name"}


class Contexts:
    """Fields of a context by name, and their conversion to numbers.

    Parameters
    ----------
    fields
        For each field its kind, or a table with ``kind`` and options. ``"number"``: standardised by the contexts learned so
        far, or by ``centre`` and ``scale``. ``"boolean"``. ``"category"``: a list of ``levels``, or ``bits``, with which
        any text is hashed (BLAKE2b) into ``2^bits`` columns; ``unknown="other"`` adds a column for unlisted levels;
        ``"refuse"`` (default) refuses them. A list alone is a category of these levels. With ``missing="allow"`` a field
        may be left out or be ``None``: an extra column marks this, and its numbers are replaced by their means.
    interactions
        Pairs of fields, or longer tuples, whose numbers are multiplied.

    Notes
    -----
    Fields that are not declared are refused. A policy also accepts a number of features instead of a declaration. Then a
    context is a sequence of numbers, with NaN for missing ones.

    Examples
    --------
    >>> from bandstrap import Contexts
    >>> contexts = Contexts({"device": ["phone", "desktop"], "age": "number"}, interactions=[("device", "age")])
    >>> contexts.columns
    ('device=phone', 'device=desktop', 'age', 'device=phone * age', 'device=desktop * age')
    >>> contexts.encode({"device": "phone", "age": 31}).tolist()
    [1.0, 0.0, 31.0, 31.0, 0.0]
    """

    def __init__(self, fields: Mapping[str, object], *, interactions: Sequence[Sequence[str]] = ()) -> None:
        if not isinstance(fields, Mapping) or not fields:
            raise requirement("fields", OWNER, "a mapping from names to kinds, with one at least", brief(fields))
        self.fields = {name: read_field(name, about) for name, about in fields.items()}
        self.interactions = tuple(self._checked(several) for several in interactions)
        single = tuple(column for field in self.fields.values() for column in field.columns)
        self.columns: tuple[str, ...] = single + tuple(
            name for several in self.interactions for name in self._products(several)
        )

    def _checked(self, names: object) -> tuple[str, ...]:
        rule = f"made of two or more different fields out of {list(self.fields)}"
        if isinstance(names, str) or not isinstance(names, Sequence) or len(names) < 2 or len({*names}) < len(names):
            raise requirement("interactions", OWNER, rule, brief(names))
        if any(name not in self.fields for name in names):
            raise requirement("interactions", OWNER, rule, brief(names))
        return tuple(names)

    def _products(self, names: Sequence[str]) -> list[str]:
        columns = [""]
        for name in names:
            columns = [f"{a} * {b}" if a else b for a in columns for b in self.fields[name].columns]
        return columns

    @property
    def width(self) -> int:
        """Length of the vector of a context."""
        return len(self.columns)

    @property
    def is_scaled(self) -> Floats:
        """1 for each column that the policy scales, 0 for those whose scale was given."""
        fixed = {column for field in self.fields.values() if field.scale is not None for column in field.columns[:1]}
        return np.array([float(column not in fixed) for column in self.columns])

    def encode(self, context: object, parameter: str = "context", owner: str = "Contexts.encode") -> Floats:
        """The numbers of a context, given as a mapping from names to values."""
        if not isinstance(context, Mapping):
            raise requirement(parameter, owner, "a mapping from the names of fields to values", brief(context))
        for name in context:
            if name not in self.fields:
                raise requirement(parameter, owner, f"made of the fields {list(self.fields)}", brief(name))
        parts = {name: field.encoded(context.get(name), parameter, owner) for name, field in self.fields.items()}
        numbers = [number for part in parts.values() for number in part]
        for names in self.interactions:
            products = [1.0]
            for name in names:
                products = [a * b for a in products for b in parts[name]]
            numbers += products
        array = np.array(numbers)
        if (np.abs(array) > LARGEST_FEATURE).any():
            raise requirement(
                parameter, owner, f"such that no product exceeds {LARGEST_FEATURE:g}", brief(dict(context))
            )
        return array

    def to_json(self) -> str:
        """The declaration as text, from which :meth:`from_json` makes it again."""
        fields = {name: field.described() for name, field in self.fields.items()}
        return json.dumps({"fields": fields, "interactions": [list(names) for names in self.interactions]})

    @classmethod
    def from_json(cls, text: str) -> Contexts:
        """Read the JSON of :meth:`to_json`, or a table of fields, such as a TOML table."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            raise requirement("contexts", OWNER, "JSON", brief(text)) from None
        return cls.of(values)

    @classmethod
    def of(cls, contexts: object) -> Contexts:
        """Make contexts from any form: a declaration, JSON, a table of fields, or one with ``fields`` and
        ``interactions``.
        """
        if isinstance(contexts, Contexts):
            return contexts
        if isinstance(contexts, str):
            return cls.from_json(contexts)
        if isinstance(contexts, Mapping) and isinstance(contexts.get("fields"), Mapping):
            more = set(contexts) - {"fields", "interactions"}
            if more:
                raise requirement("contexts", OWNER, "made of 'fields' and 'interactions'", brief(sorted(more)[0]))
            return cls(contexts["fields"], interactions=contexts.get("interactions", ()))
        if not isinstance(contexts, Mapping):
            rule = "a number of features, or fields with their kinds (see bandstrap.Contexts)"
            raise requirement("contexts", OWNER, rule, brief(contexts))
        return cls(contexts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contexts) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"Contexts.from_json({self.to_json()!r})"


def read_field(name: object, about: object) -> ContextField:
    """A field from what is said about it."""
    if not isinstance(name, str) or not name:
        raise requirement("fields", OWNER, "named by texts", brief(name))
    if isinstance(about, str):
        about = {"kind": about}
    elif isinstance(about, Sequence):
        about = {"levels": about}
    if not isinstance(about, Mapping):
        raise requirement(name, OWNER, "a kind, a list of levels, or a table of options", brief(about))
    kind = check_choice(about.get("kind", "category"), f"{name}.kind", OWNER, get_args(FieldKind))
    for option in about:
        if option not in OPTIONS[kind]:
            raise InvalidInput(
                f"The field {name!r} is a {kind}, which has no option {brief(option)}; it has {', '.join(OPTIONS[kind])}."
            )
    levels, bits = about.get("levels", ()), about.get("bits", 0)
    centre, scale = about.get("centre", 0.0), about.get("scale")
    if kind == "category":
        rule = "two or more different texts, unless 'bits' is given"
        if (
            isinstance(levels, str)
            or not isinstance(levels, Sequence)
            or not all(isinstance(one, str) for one in levels)
        ):
            raise requirement(f"{name}.levels", OWNER, rule, brief(levels))
        if (bits == 0 and (len(levels) < 2 or len({*levels}) < len(levels))) or (bits != 0 and levels):
            raise requirement(f"{name}.levels", OWNER, rule, brief(list(levels)))
    if "centre" in about and scale is None:
        raise requirement(f"{name}.scale", OWNER, "given with a centre", "none")
    return ContextField(
        name,
        kind,
        check_choice(about.get("missing", "refuse"), f"{name}.missing", OWNER, get_args(OfMissing)),
        check_number(centre, f"{name}.centre", OWNER),
        None if scale is None else check_number(scale, f"{name}.scale", OWNER, above=0),
        tuple(levels),
        check_choice(about.get("unknown", "refuse"), f"{name}.unknown", OWNER, get_args(OfUnknown)),
        check_count(bits, f"{name}.bits", OWNER, at_least=0, at_most=MOST_BITS),
    )


def read_features(context: object, width: int, parameter: str, owner: str) -> Floats:
    """A context that is a sequence of so many numbers; NaN for one that is missing."""
    rule = f"a sequence of {width} numbers, no larger than {LARGEST_FEATURE:g} in size, or NaN where one is missing"
    if isinstance(context, list):  # JSON has no NaN
        context = [math.nan if number is None else number for number in context]
    array = read_numbers(context, parameter, owner, rule, kinds="biuf")
    if array.shape != (width,):
        raise requirement(parameter, owner, rule, f"shape {array.shape}")
    if (np.abs(array) > LARGEST_FEATURE).any():
        raise requirement(parameter, owner, rule, float(array[np.abs(array) > LARGEST_FEATURE][0]))
    return array
