"""What a function does, read off its bytecode: without docstrings, comments, line numbers and file names.

A function is cut where jumps lead to and after every jump. Where only what it does with numbers counts, the stretches that
lead to an error and nowhere else are left out, and so is prose.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import types
from collections.abc import Iterator
from typing import NamedTuple

# Instructions that do nothing.
IDLE = {"CACHE", "EXTENDED_ARG", "NOP", "RESUME", "PRECALL", "NOT_TAKEN"}
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
ALWAYS_JUMPS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
JUMPS = {*dis.hasjrel, *dis.hasjabs}
# The flags that say how a function is called, and not how it was written: whether it has a docstring, for one.
FLAGS = 0x2F
GLOBAL_NAMES = ("LOAD_GLOBAL", "LOAD_NAME")


class Stretch(NamedTuple):
    """Instructions without a jump but at the end, and the offsets of where it may go on."""

    steps: tuple[dis.Instruction, ...]
    start: int
    goes_on: tuple[int, ...]


class Names(NamedTuple):
    """Globals that a function, and those inside it, name, what they name after a dot, and ``(module, name)`` of imports."""

    globals: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[tuple[str, str]]


@functools.lru_cache(maxsize=16_384)
def digest_code(code: types.CodeType, *, is_exact: bool = False) -> str:
    """Digest of what a function does; ``is_exact`` for all of it, its errors and their words included."""
    said: list[object] = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & FLAGS]
    if is_exact:
        said += [code.co_varnames, code.co_freevars, code.co_cellvars, code.co_exceptiontable]
    kept = stretches(code) if is_exact else surviving(code)
    places = {stretch.start: place for place, stretch in enumerate(kept)}
    for stretch in kept:
        said += [describe(step, places, is_exact=is_exact) for step in stretch.steps if step.opname not in IDLE]
    return hashlib.sha256("\n".join(map(str, said)).encode()).hexdigest()[:24]


def describe(step: dis.Instruction, places: dict[int, int], *, is_exact: bool) -> str:
    """An instruction and what it works on; a jump by the place of the stretch it leads to."""
    value = step.argval
    if step.opcode in JUMPS:
        value = places.get(value)
    elif isinstance(value, types.CodeType):
        value = digest_code(value, is_exact=is_exact)
    elif isinstance(value, str) and step.opcode in dis.hasconst and " " in value and not is_exact:
        value = "prose"
    elif isinstance(value, frozenset):  # in an order that does not depend on the seed of hashes
        value = sorted(map(repr, value))
    return f"{step.opname} {value!r}"


@functools.lru_cache(maxsize=16_384)
def names_in(code: types.CodeType) -> Names:
    """The names in a function, but for those that only an error needs."""
    names: set[str] = set()
    attributes: set[str] = set()
    imports: set[tuple[str, str]] = set()
    module = ""
    for step in (step for stretch in surviving(code) for step in stretch.steps):
        if isinstance(step.argval, types.CodeType):
            inner = names_in(step.argval)
            names |= inner.globals
            attributes |= inner.attributes
            imports |= inner.imports
        elif step.opname == "IMPORT_NAME":
            module = step.argval
        elif step.opname == "IMPORT_FROM":
            imports.add((module, step.argval))
        elif step.opcode in dis.hasname:
            (names if step.opname in GLOBAL_NAMES else attributes).add(step.argval)
    return Names(frozenset(names), frozenset(attributes), frozenset(imports))


def surviving(code: types.CodeType) -> list[Stretch]:
    """The stretches of a function, but for those that lead to an error and nowhere else."""
    kept = list(stretches(code))
    doomed: set[int] = set()
    while True:
        more = {
            stretch.start
            for stretch in kept
            if stretch.start not in doomed
            and (doomed.issuperset(stretch.goes_on) if stretch.goes_on else stretch.steps[-1].opname == "RAISE_VARARGS")
        }
        if not more:
            return [stretch for stretch in kept if stretch.start not in doomed]
        doomed |= more


def stretches(code: types.CodeType) -> list[Stretch]:
    """The instructions of a function, cut where a jump leads to and after every jump."""
    cuts = list(cut(list(dis.get_instructions(code))))
    starts = [offset_of(steps[0]) for steps in cuts]
    found = []
    for steps, start, following in zip(cuts, starts, [*starts[1:], None], strict=True):
        last = steps[-1]
        goes_on = [last.argval] if last.opcode in JUMPS else []
        if last.opname not in (*ENDS, *ALWAYS_JUMPS) and following is not None:
            goes_on.append(following)
        found.append(Stretch(tuple(steps), start, tuple(goes_on)))
    return found


def cut(steps: list[dis.Instruction]) -> Iterator[list[dis.Instruction]]:
    """The same instructions in lists."""
    targets = {step.argval for step in steps if step.opcode in JUMPS}
    begun: list[dis.Instruction] = []
    for step in steps:
        if offset_of(step) in targets and begun:
            yield begun
            begun = []
        begun.append(step)
        if step.opcode in JUMPS or step.opname in ENDS:
            yield begun
            begun = []
    if begun:
        yield begun


def offset_of(step: dis.Instruction) -> int:
    """Where a jump to an instruction leads: before the prefix of a long one, which newer versions of Python do not show."""
    return int(getattr(step, "start_offset", step.offset))
