"""Compiled twins of plain functions; importing this module imports numba.

The twin of a function has its code, and, under the names of the marked functions that it calls, their twins. So numba
meets nothing but functions it can compile, by name, and need not look for one that fits the types of each call. A twin
that is inlined is copied into its callers before anything is known of types, so that these are worked out once, for all
of it: several times faster than by numba's ``overload``, which works them out for every copy by itself.

What a borrowing function calls is compiled anew for it, without counting references.

Functions from outside the package raise, compiled, what they raise in Python, see ``refusals.py``.

Machine code is known to numba by the name of its function, the types of its arguments and a number that counts functions
within a process. What two processes compiled and a third one loads must not share all three, or one is run for the other:
twins that depend on more than their own function have the identity of all of it in their names.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from typing import Any

import numba
from numba.extending import overload

from bandstrap.engine.compiler.checked_math import CHECKED
from bandstrap.engine.compiler.identity import is_known_by_version, named
from bandstrap.engine.compiler.internals import has
from bandstrap.engine.compiler.kernel import compiled_as, is_borrowing, is_inlined, is_jitable, is_ours
from bandstrap.engine.compiler.refusals import ARM, NoArm, NotANumber, as_arm, as_index

Replacements = Mapping[Callable[..., Any], Callable[..., Any]]

# Twins of the package's own functions, which do not change while a program runs; those of others are made anew each time.
_ours: dict[tuple[Callable[..., Any], bool], Any] = {}


def twin(
    function: Callable[..., Any], tag: str, replaced: Replacements | None = None, *, boundscheck: bool = False
) -> types.FunctionType:
    """The twin of a function, ready to be compiled; where it calls some functions, it may call others ``replaced`` by.

    ``tag`` is the identity of all that is compiled. With ``boundscheck`` an index beyond an array is an error in these, and
    in functions from outside the package.
    """
    twins = _Twins({function: function, **(replaced or {})}, tag, boundscheck)
    root = lender(function) if is_borrowing(function) else compiled_as(function)
    return twins.bare(root, lambda made: None, tag)


def lender(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls another one, and holds the arrays that this one borrows."""

    def lend(kernel: Any, game: Any, rng: Any) -> Any:
        return function(kernel, game, rng)

    return lend


class _Twins:
    """Twins that refer to each other."""

    def __init__(self, replaced: Replacements, tag: str, boundscheck: bool, borrow: bool = False) -> None:
        self.replaced = replaced
        self.tag = tag
        self.boundscheck = boundscheck
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
        of = self.of if is_ours(function) else self.checked
        for name in names & function.__globals__.keys():
            space[name] = of(function.__globals__[name], names)
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = of(original.cell_contents, names)
        return made

    def checked(self, value: Any, names: set[str]) -> Any:
        """:meth:`of`, with functions of ``math`` that raise what Python's do."""
        if value is math:
            return copied(value, names, self.checked)
        is_builtin = isinstance(value, types.BuiltinFunctionType)
        return self.of(CHECKED.get(value, value) if is_builtin else value, names)

    def of(self, value: Any, names: set[str]) -> Any:
        """Value of a twin in the place of a value: a twin of a marked function, a module of twins, or the value
        itself.
        """
        if isinstance(value, types.ModuleType) and not is_known_by_version(value.__name__):
            return copied(value, names, self.of)
        if isinstance(value, types.FunctionType) and (value in self.replaced or is_jitable(value)):
            return self.callable(value)
        return value

    def callable(self, function: types.FunctionType, lends: bool = False) -> Any:
        """The twin of a marked function, as numba calls it.

        One that borrows is copied into a caller that does as well; only a caller that ``lends`` calls it.
        """
        body = self.replaced.get(function, function)
        if is_borrowing(body) and not self.borrow:
            return _Twins(self.replaced, self.tag, self.boundscheck, borrow=True).callable(function, lends=True)
        is_shared = is_ours(function) and function not in self.replaced
        made = _ours if is_shared else self.made
        place = function, self.borrow
        if place not in made:

            def announce(bare: types.FunctionType) -> None:  # it may call itself
                inline = "always" if is_inlined(body) or (is_borrowing(body) and not lends) else "never"
                bare_options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if has("bare") else {}
                counting = {"_nrt": not self.borrow} if has("borrowing") else {}
                boundscheck = self.boundscheck and made is self.made
                made[place] = numba.njit(inline=inline, boundscheck=boundscheck, **bare_options, **counting)(bare)

            self.bare(compiled_as(body), announce, "" if is_shared else self.tag)
        return made[place]


def copied(module: types.ModuleType, names: set[str], of: Callable[[Any, set[str]], Any]) -> types.ModuleType:
    """A module with the attributes of another that have these names, each as ``of`` has it."""
    copy = types.ModuleType(module.__name__)
    for name in names & vars(module).keys():
        setattr(copy, name, of(vars(module)[name], set()))
    return copy


# Neither is inlined by numba, which then removes dead code, and takes stores into arrays for it if they were taken out of
# a tuple by unpacking it. LLVM inlines both.


@overload(as_arm, strict=False)
def as_arm_compiled(chosen: Any, n_arms: Any, at: Any) -> Any:
    """Compile :func:`as_arm`."""

    def check(chosen: Any, n_arms: int, at: Any) -> Any:
        if not 0 <= chosen < n_arms:
            at[ARM] = chosen
            raise NoArm
        return chosen

    def check_optional(chosen: Any, n_arms: int, at: Any) -> Any:
        if chosen is None:
            raise NotANumber
        return as_arm(chosen + 0, n_arms, at)

    def refuse(chosen: Any, n_arms: int, at: Any) -> int:
        if n_arms >= 0:  # always; without a condition there would be no number that types the rest
            raise NotANumber
        return 0

    if isinstance(chosen, numba.types.Optional) and isinstance(chosen.type, numba.types.Integer):
        return check_optional
    return check if isinstance(chosen, numba.types.Integer) else refuse


@overload(as_index, strict=False)
def as_index_compiled(value: Any) -> Any:
    """Compile :func:`as_index`."""
    if isinstance(value, numba.types.Float | numba.types.Integer | numba.types.Boolean):
        return lambda value: value
    if isinstance(value, numba.types.Optional):  # of several returns some give None
        return lambda value: math.nan if value is None else value + 0.0
    return lambda value: math.nan
