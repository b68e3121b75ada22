"""Provenance of stored numbers: the functions that a result follows from, identified by what they do.

A block of replications, a measurement and a snapshot of a live experiment are kept under a digest of the code they came
from, and used again only while that code computes the same. The functions are found by following names from those that
do the work. Of each function counts what it does with numbers: neither where it is written, nor docstrings and comments,
nor what it says before it raises an error. What cannot be followed from names has an integer, which is raised by hand
when its numbers change on purpose; a battery of games (``tests/battery.py``) fails when they change otherwise.
"""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Collection
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from bandstrap.basics.sources import code_digest, is_ours, versions
from bandstrap.engine.compiler.bytecode import digest_code, names_in
from bandstrap.engine.compiler.identity import KNOWN_BY_VERSION, identify, is_known_by_version
from bandstrap.engine.compiler.kernel import Entry, Kernel, compiled_as

# Raised by hand when the numbers of a part change on purpose: results that were stored before are then computed anew.
PARTS = {"simulator": 1, "bounds": 1, "live": 1}
# What hands work and words around and computes no number of a result. They are not followed, but for the steps of kernels.
STEPS = "bandstrap.engine.compiler.steps"
NOT_COMPUTING = (
    "bandstrap.errors",
    "bandstrap.engine.work",
    "bandstrap.engine.compiler",
    *(
        f"bandstrap.basics.{name}"
        for name in [
            "calls",
            "constructors",
            "deprecation",
            "display",
            "registry",
            "sources",
            "storage",
            "tables",
            "text",
        ]
    ),
)
# Attributes that say what something is called.
SHOWN = {"label", "name", "origin"}
# Methods that Python calls by itself.
CALLED = {
    "__init__",
    "__post_init__",
    "__new__",
    "__call__",
    "__getitem__",
    "__iter__",
    "__len__",
    "__enter__",
    "__exit__",
}

_known: dict[Any, str] = {}


def computed_by(part: str, *roots: Any, attributes: Collection[str] = (), without: Collection[Any] = ()) -> str:
    """Digest of the functions that are reached from some, of a part's integer, and of the versions of the libraries.

    Parameters
    ----------
    part
        One of :data:`PARTS`.
    *roots
        Functions, kernels and classes that numbers come from.
    attributes
        Names of the methods of these classes that are called from elsewhere.
    without
        Functions, and names of modules, that are not followed.

    Examples
    --------
    >>> from bandstrap import UCB1, MOSS
    >>> computed_by("simulator", UCB1.kernel) == computed_by("simulator", MOSS.kernel)
    False
    """
    key = part, PARTS[part], roots, frozenset(attributes), frozenset(without)
    if key not in _known:
        found = Reach(*roots, attributes=attributes, without=without)
        foreign = sorted(found.foreign)
        said = [versions(), f"{part} {PARTS[part]}", code_digest(*foreign) if foreign else "", *sorted(found.said)]
        digest = hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]
        if foreign:  # what it is may change while a program runs
            return digest
        _known[key] = digest
    return _known[key]


@functools.cache
def attributes_in(*roots: Any, without: Collection[Any] = ()) -> frozenset[str]:
    """Names that stand after a dot in what is reached from some functions."""
    return frozenset(Reach(*roots, without=without).attributes)


class Reach:
    """Everything that is reached from some functions by the names in their code.

    The class of an object is not known before it runs. So a name after a dot stands for everything of that name in all
    classes that are reached.
    """

    def __init__(self, *roots: Any, attributes: Collection[str] = (), without: Collection[Any] = ()) -> None:
        # Names after a dot.
        self.attributes = set(attributes)
        # A line for each function and each value.
        self.said: set[str] = set()
        # Modules from outside the package, whose files are digested as a whole.
        self.foreign: set[str] = set()
        # Functions by name, for those who want to see.
        self.functions: dict[str, types.FunctionType] = {}
        self._without = tuple(module for module in without if isinstance(module, str))
        self._seen = {id(function) for function in without}
        self._alive: list[Any] = []  # an id is only unique while its object lives
        self._classes: list[type] = []
        self._looked_up: set[tuple[type, str]] = set()
        for root in roots:
            self.add(root)
        self._follow()

    def _follow(self) -> None:
        """Look attributes up in classes until nothing new is reached."""
        while wanted := [
            (cls, name)
            for cls in self._classes
            for name in vars(cls)
            if (cls, name) not in self._looked_up and self._is_wanted(name)
        ]:
            for cls, name in wanted:
                self._looked_up.add((cls, name))
                self.add(vars(cls)[name], f"{cls.__name__}.{name}")

    def _is_wanted(self, name: str) -> bool:
        """Return whether reached code names an attribute, or Python calls it by itself."""
        return name not in SHOWN and (name in self.attributes or name in CALLED)

    def add(self, value: Any, name: str = "") -> None:
        """Take in a value that code names, if numbers may come from it."""
        value = inside(value)
        if id(value) in self._seen or not is_followed(value, self._without):
            return
        if isinstance(
            value, bool | int | float | complex | str | bytes | types.NoneType | tuple | list | dict | frozenset
        ):
            self._add_constant(value, name)
            return
        self._seen.add(id(value))
        self._alive.append(value)
        if isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, Kernel):
            for function in value.functions:
                self.add(function)
        elif isinstance(value, property):
            self.add(value.fget)
        elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            self.said.add(f"fields of {value.__name__} {value._fields}")
        elif isinstance(value, type):
            self._classes += [
                cls for cls in value.__mro__ if cls not in self._classes and is_followed(cls, self._without)
            ]
        elif hasattr(value, "tobytes"):
            self.said.add(f"value {name} {identify(value).digest}")
        elif not isinstance(value, types.ModuleType):
            self.add(type(value))
            if is_dataclass(value) and vars(type(value))["__dataclass_params__"].frozen:
                for field in fields(value):
                    self.add(getattr(value, field.name), f"{name}.{field.name}")

    def _add_constant(self, value: Any, name: str) -> None:
        parts = [*value.values()] if isinstance(value, dict) else value if isinstance(value, tuple | list) else None
        if parts is None or all(is_plain(part) for part in parts):
            # In an order that does not depend on the seed of hashes.
            self.said.add(f"value {name} {sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)}")
            return
        for part in parts:
            if not isinstance(inside(part), type):  # a registry names classes by the dozen
                self.add(part, name)

    def _add_function(self, function: types.FunctionType) -> None:
        self.functions[f"{function.__module__}.{function.__qualname__}"] = function
        if not is_ours(function.__module__):
            self.foreign.add(function.__module__)
        self.said.add(f"function {function.__name__} {digest_code(function.__code__)}")
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.add(default, f"{function.__name__}()")
        for cell in function.__closure__ or ():
            if cell != types.CellType():
                self.add(cell.cell_contents, f"{function.__name__}[]")
        space, named = function.__globals__, names_in(function.__code__)
        self.attributes |= named.attributes
        values = {name: space[name] for name in named.globals & space.keys()}
        for module, name in named.imports:
            if is_ours(module) and not module.startswith(NOT_COMPUTING):
                values[name] = imported(module, name)
        for name, value in values.items():
            if isinstance(value, dict | list) and not name.isupper():  # what a program remembers, not a constant
                continue
            self.add(value, name)
            if isinstance(value, types.ModuleType) and is_ours(value.__name__):
                for attribute in named.attributes & vars(value).keys():
                    self.add(vars(value)[attribute], attribute)
        body = compiled_as(function)
        if body is not function:
            self.add(body)


def imported(module: str, name: str) -> Any:
    """Object that ``from module import name`` gives."""
    home = import_module(module)
    return getattr(home, name) if hasattr(home, name) else import_module(f"{module}.{name}")


def inside(value: Any) -> Any:
    """The function that something is a wrapper of: a method of a class, a cached or compiled function."""
    if isinstance(value, Entry):
        return value.function
    if isinstance(value, classmethod | staticmethod):
        return inside(value.__func__)
    if isinstance(value, functools.cached_property):
        return inside(value.func)
    if isinstance(value, functools.partial):
        return inside(value.func)
    if not isinstance(value, type) and isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
        return value.__wrapped__
    return value


def is_plain(value: Any) -> bool:
    """Return whether a value is a number, a text or nothing."""
    return isinstance(value, bool | int | float | complex | str | bytes | types.NoneType)


def is_followed(value: Any, without: tuple[str, ...]) -> bool:
    """Return whether numbers may come from something: not if a library holds it, or what hands work and words around."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    if not isinstance(module, str):
        return not isinstance(value, types.BuiltinFunctionType)
    top = module.partition(".")[0]
    if top in KNOWN_BY_VERSION or is_known_by_version(module) or module.startswith((*NOT_COMPUTING, *without)):
        return isinstance(value, Kernel) or module == STEPS
    return True
