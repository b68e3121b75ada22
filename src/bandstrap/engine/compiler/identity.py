"""Identity of a function, by content: two functions that compile to different machine code never share an identity.

Numba stamps a cached function with its own file alone, so that an edit to a function it *calls*, or to a constant it reads,
would leave old machine code in use. An identity follows everything compiled code can reach from a function: its bytecode,
constants, defaults and closure, the values of the globals it names, and the functions among them in turn. It is read off
the objects in memory, not off files, so it is right for a notebook's functions too, and a file that was edited after it
was imported cannot lend its name to what was loaded before.
"""

from __future__ import annotations

import dis
import hashlib
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bandstrap.engine.compiler.bytecode import digest_code

# Known by name and version instead of by content: what they hold is fixed by the version.
KNOWN_BY_VERSION = ("numpy", "numba", "scipy", "llvmlite")

_nonces = itertools.count()


class Identity(NamedTuple):
    """A digest, whether it will be the same in another process, and the functions it covers."""

    digest: str
    is_lasting: bool
    functions: frozenset[Callable[..., Any]]


def identify(*functions: Any, body: Callable[[Any], Any] = lambda function: function) -> Identity:
    """The identity of functions, and other values, that are compiled together.

    ``body(f)`` is what compiled code runs in place of ``f``.
    """
    walk = _Walk(body)
    for function in functions:
        walk.add(function)
    return Identity(walk.digest.hexdigest()[:24], walk.is_lasting, frozenset(walk.functions))


class _Walk:
    """Feeds a digest with a value and all it refers to, each object once."""

    def __init__(self, body: Callable[[Any], Any]) -> None:
        self.body = body
        self.digest = hashlib.sha256()
        self.is_lasting = True
        self.functions: list[Callable[..., Any]] = []
        self.places: dict[int, int] = {}
        self.alive: list[Any] = []  # an id is only unique while its object lives

    def say(self, *words: object) -> None:
        """Feed words, each with its length, so that no two sequences of words look alike."""
        for word in words:
            text = word if isinstance(word, bytes) else str(word).encode()
            self.digest.update(f"{len(text)}:".encode() + text)

    def add(self, value: Any) -> None:
        """Feed a value."""
        if isinstance(value, bool | int | float | complex | str | bytes | types.NoneType | types.EllipsisType):
            self.say(type(value).__name__, repr(value))
        elif isinstance(value, np.ndarray | np.generic):
            self.say("array", value.dtype.str, value.shape, value.tobytes())
        elif isinstance(value, tuple | list):
            self.say(type(value).__qualname__, len(value))
            for item in value:
                self.add(item)
        elif isinstance(value, set | frozenset):  # in an order that does not depend on the seed of hashes
            self.say(type(value).__name__, *sorted(repr(item) for item in value))
        elif isinstance(value, types.CodeType):
            self.add_code(value)
        elif id(value) in self.places:
            self.say("again", self.places[id(value)])
        else:
            self.places[id(value)] = len(self.places)
            self.alive.append(value)
            self.add_object(value)

    def add_object(self, value: Any) -> None:
        """Feed what has a name: a function, a class, a module, or something foreign."""
        value = getattr(value, "py_func", value)  # what numba.njit wraps
        name = getattr(value, "__qualname__", "")
        if isinstance(value, types.ModuleType):
            self.say("module", value.__name__, version_of(value.__name__))
        elif isinstance(value, types.FunctionType) and not is_known_by_version(value.__module__):
            self.add_function(value)
        elif isinstance(value, type):
            self.say("class", value.__module__, name, getattr(value, "_fields", ()))
        elif callable(value) and name and is_known_by_version(getattr(value, "__module__", None)):
            self.say("known", value.__module__, name, version_of(value.__module__))
        elif isinstance(value, np.ufunc):
            self.say("known", "numpy", value.__name__, version_of("numpy"))
        else:  # an object whose content is not known: never the same as another
            self.is_lasting = False
            self.say("foreign", next(_nonces))

    def add_function(self, function: types.FunctionType) -> None:
        """Feed a function, what it closes over and the globals it names."""
        self.functions.append(function)
        self.say("function", function.__module__, function.__qualname__)
        self.add_code(function.__code__)
        self.add(function.__defaults__)
        for key, default in sorted((function.__kwdefaults__ or {}).items()):
            self.say(key)
            self.add(default)
        for cell in function.__closure__ or ():
            self.add(cell.cell_contents)
        names = sorted(set(named(function.__code__)))
        for name in names:
            if name in function.__globals__:
                value = function.__globals__[name]
                self.say("global", name)
                self.add(value)
                if isinstance(value, types.ModuleType) and not is_known_by_version(value.__name__):
                    for attribute in names:
                        if attribute in vars(value):
                            self.say("attribute", attribute)
                            self.add(vars(value)[attribute])
        replaced = self.body(function)
        if replaced is not function:
            self.say("compiled as")
            self.add(replaced)

    def add_code(self, code: types.CodeType) -> None:
        """Feed what a function does, without its docstring, line numbers and file names."""
        self.say("code", digest_code(code, is_exact=True))


def named(code: types.CodeType) -> Iterator[str]:
    """All names in a function's code, and in the functions it defines."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from named(constant)


def used_values(function: Any) -> Iterator[Any]:
    """Values that a function uses, globals, closures and attributes of modules, in the order of its code."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    enclosed = {name: cell.cell_contents for name, cell in cells if cell != types.CellType()}
    module: types.ModuleType | None = None
    for step in steps_of(function.__code__):
        value: Any = None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = function.__globals__.get(step.argval)
        elif step.opname == "LOAD_DEREF":
            value = enclosed.get(step.argval)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and module is not None:
            value = vars(module).get(step.argval)
        module = value if isinstance(value, types.ModuleType) else None
        yield value


def steps_of(code: types.CodeType) -> Iterator[dis.Instruction]:
    """The instructions of a function, then those of the functions it defines."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from steps_of(constant)


def is_known_by_version(module: str | None) -> bool:
    """Return whether a module belongs to Python itself or to a library whose version says what it holds."""
    top = (module or "builtins").partition(".")[0]
    return top in KNOWN_BY_VERSION or (top in sys.stdlib_module_names and top != "__main__")


def version_of(module: str) -> str:
    """The version of the library a module belongs to; that of Python for its own."""
    top = module.partition(".")[0]
    return str(getattr(sys.modules.get(top), "__version__", sys.version if is_known_by_version(top) else ""))
