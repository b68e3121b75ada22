"""Compiled twins of plain functions; importing this module imports numba.

The twin of a function has its code, and, under the names of the marked functions that it calls, their twins. So numba
meets nothing but functions it can compile, by name, and need not look for one that fits the types of each call. A twin
that is inlined is copied into its callers before anything is known of types, so that these are worked out once, for all
of it: several times faster than by numba's ``overload``, which works them out for every copy by itself.

What a borrowing function calls is compiled anew for it, without counting references.

Machine code is known to numba by the name of its function, the types of its arguments and a number that counts functions
within a process. What two processes compiled and a third one loads must not share all three, or one is run for the other:
twins that depend on more than their own function have the identity of all of it in their names.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import numba

from bandstrap.engine.identity import is_known_by_version, named
from bandstrap.engine.kernel import compiled_as, is_borrowing, is_inlined, is_jitable, is_ours

Replacements = Mapping[Callable[..., Any], Callable[..., Any]]

# Twins of the package's own functions, which do not change while a program runs; those of others are made anew each time.
_ours: dict[tuple[Callable[..., Any], bool], Any] = {}


def twin(function: Callable[..., Any], tag: str, replaced: Replacements | None = None) -> types.FunctionType:
    """The twin of a function, ready to be compiled; where it calls some functions, it may call others ``replaced`` by.

    ``tag`` is the identity of all that is compiled.
    """
    return _Twins(replaced or {}, tag).bare(compiled_as(function), lambda made: None, tag)


class _Twins:
    """Twins that refer to each other."""

    def __init__(self, replaced: Replacements, tag: str, borrow: bool = False) -> None:
        self.replaced = replaced
        self.tag = tag
        self.borrow = borrow
        self.made: dict[tuple[Callable[..., Any], bool], Any] = {}

    def bare(self, function: Any, announce: Callable[[types.FunctionType], None], tag: str) -> types.FunctionType:
        """A function with the code of another, and twins under the names it uses; announced before these are made."""
        space = {"__name__": function.__module__, "__builtins__": function.__globals__["__builtins__"]}
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        made = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__ = function.__kwdefaults__
        made.__qualname__ = f"{function.__qualname__}_{tag}" if tag else function.__qualname__
        announce(made)
        names = set(named(function.__code__))
        for name in names & function.__globals__.keys():
            space[name] = self.of(function.__globals__[name], names)
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = self.of(original.cell_contents, names)
        return made

    def of(self, value: Any, names: set[str]) -> Any:
        """What a twin has in place of a value: a twin of a marked function, a module of twins, or the value itself."""
        if isinstance(value, types.ModuleType) and not is_known_by_version(value.__name__):
            module = types.ModuleType(value.__name__)
            for name in names & vars(value).keys():
                setattr(module, name, self.of(vars(value)[name], set()))
            return module
        if isinstance(value, types.FunctionType) and (value in self.replaced or is_jitable(value)):
            return self.callable(value)
        return value

    def callable(self, function: types.FunctionType, lends: bool = False) -> Any:
        """The twin of a marked function, as numba calls it.

        One that borrows is copied into a caller that does as well; only a caller that ``lends`` calls it.
        """
        body = self.replaced.get(function, function)
        if is_borrowing(body) and not self.borrow:
            return _Twins(self.replaced, self.tag, borrow=True).callable(function, lends=True)
        is_shared = is_ours(function) and function not in self.replaced
        made = _ours if is_shared else self.made
        place = function, self.borrow
        if place not in made:

            def announce(bare: types.FunctionType) -> None:  # it may call itself
                inline = "always" if is_inlined(body) or (is_borrowing(body) and not lends) else "never"
                made[place] = numba.njit(
                    inline=inline, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=not self.borrow
                )(bare)

            self.bare(compiled_as(body), announce, "" if is_shared else self.tag)
        return made[place]
