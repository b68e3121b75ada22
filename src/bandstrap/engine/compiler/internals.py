"""Names of numba that its documentation does not promise; importing this module imports numba.

Another version of numba may lack one. Play then goes on without the feature that needs it: more slowly, with the same
numbers, and with one warning. A test finds every such name that this package uses, and fails unless it is in the table.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, NamedTuple

import numba

from bandstrap.errors import CacheWarning, warn_caller


class Internal(NamedTuple):
    """A name, where numba has it, what it is for and which feature needs it."""

    owner: str
    name: str
    feature: str
    use: str


# What is done without a feature.
WITHOUT = {
    "cache": "compiled code is not kept on disk, so every process compiles its functions again",
    "borrowing": "compiled play counts references to arrays, which takes time",
    "bare": "functions that only compiled code calls are compiled for Python too, which takes time",
    "handle": "a compiled live policy takes its arguments apart in every call",
}
# What objects have, and not their classes: a function that numba.njit gives, its cache, and the type of a named tuple.
DISPATCHER, CACHE, TUPLE_TYPE = "numba.njit()", "numba.njit()._cache", "numba.typeof()"
RESULT, CONTEXT, STRUCT = "numba.core.compiler.CompileResult", "numba.core.cpu.CPUContext", "numba.types.StructRef"
OPTIONS, PROXIES = "numba.core.cpu.CPUTargetOptions", "numba.experimental.structref"
INTERNALS = (
    Internal(DISPATCHER, "_cache", "cache", "where a function looks before it is compiled"),
    Internal(CACHE, "load_overload", "cache", "what it calls then, with types and the machine to compile for"),
    Internal(CACHE, "save_overload", "cache", "and afterwards, with what was compiled"),
    Internal(CACHE, "cache_path", "cache", "where statistics say that it is"),
    Internal(CACHE, "flush", "cache", "called when a function is to be compiled again"),
    Internal(CONTEXT, "refresh", "cache", "gets the machine ready before anything is loaded"),
    Internal(CONTEXT, "codegen", "cache", "who writes machine code"),
    Internal("numba.core.codegen.CPUCodegen", "magic_tuple", "cache", "the processor that machine code is for"),
    Internal(RESULT, "_reduce", "cache", "what was compiled, in parts that can be pickled"),
    Internal(RESULT, "_rebuild", "cache", "and put together again"),
    Internal(RESULT, "codegen", "cache", "who wrote it"),
    Internal(RESULT, "library", "cache", "its machine code"),
    Internal(RESULT, "signature", "cache", "the types that it was compiled for"),
    Internal("numba.core.codegen.CPUCodeLibrary", "has_dynamic_globals", "cache", "holds addresses of this process"),
    Internal("numba.core.serialize", "dumps", "cache", "pickles the parts, functions by their content"),
    Internal(TUPLE_TYPE, "instance_class", "cache", "tells named tuples of one name apart"),
    Internal(TUPLE_TYPE, "fields", "cache", "and by their fields"),
    Internal(STRUCT, "field_dict", "cache", "and what a live policy holds by its parts"),
    Internal(OPTIONS, "_nrt", "borrowing", "False: compiled code counts no references"),
    Internal(OPTIONS, "no_cpython_wrapper", "bare", "True: not callable from Python"),
    Internal(OPTIONS, "no_cfunc_wrapper", "bare", "True: nor from C"),
    Internal(DISPATCHER, "compile", "handle", "gives the function for given types, which no call looks up"),
    Internal(PROXIES, "register", "handle", "a type of pointers to parts"),
    Internal(PROXIES, "define_proxy", "handle", "and its objects in Python"),
    Internal(PROXIES, "StructRefProxy", "handle", "their base class"),
    Internal(f"{PROXIES}.StructRefProxy", "_numba_type_", "handle", "the type of such an object"),
    Internal(STRUCT, "preprocess_fields", "handle", "the types of the parts"),
    Internal(STRUCT, "field_dict", "handle", "and again, by name"),
)


class Pair(NamedTuple):
    """Something whose type is looked at."""

    one: float
    other: float


def owner_of(internal: Internal) -> Any:
    """The module, class or object that has a name, if this version of numba has it."""
    if internal.owner in (DISPATCHER, CACHE):
        function = numba.njit(lambda: None)
        return function if internal.owner == DISPATCHER else function._cache
    if internal.owner == TUPLE_TYPE:
        return numba.typeof(Pair(0.0, 0.0))
    parent, _, last = internal.owner.rpartition(".")
    try:
        return import_module(internal.owner)
    except ImportError:
        return getattr(import_module(parent), last)


def is_there(internal: Internal) -> bool:
    """Return whether this version of numba has a name."""
    try:
        return hasattr(owner_of(internal), internal.name)
    except (ImportError, AttributeError):
        return False


@functools.cache
def missing() -> tuple[Internal, ...]:
    """The names that this version of numba lacks; the first time, a warning says what is done without them."""
    if numba.config.DISABLE_JIT:  # nothing is compiled
        return ()
    lacking = tuple(internal for internal in INTERNALS if not is_there(internal))
    if lacking:
        names = ", ".join(dict.fromkeys(f"{internal.owner}.{internal.name}" for internal in lacking))
        effects = "; ".join(WITHOUT[feature] for feature in dict.fromkeys(internal.feature for internal in lacking))
        warn_caller(f"numba {numba.__version__} lacks {names}: {effects}. Numbers stay the same.", CacheWarning)
    return lacking


def has(feature: str) -> bool:
    """Return whether this version of numba has all that a feature needs."""
    return all(internal.feature != feature for internal in missing())
