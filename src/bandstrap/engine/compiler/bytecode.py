"""Digest of what a function does, from its bytecode: without docstrings, comments, line numbers and file names.

A function is cut where jumps lead to and after every jump. Where only what it does with numbers counts, the stretches that
lead to an error and nowhere else are left out, and so is prose.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import re
import types
from collections.abc import Iterator
from typing import NamedTuple

# Instructions that do nothing.
IDLE = {"CACHE", "EXTENDED_ARG", "NOP", "RESUME", "PRECALL", "NOT_TAKEN"}
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
ALWAYS_JUMPS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
JUMPS = {*dis.hasjrel, *dis.hasjabs}
# What Python writes in one way or the other depending on how lines are broken is described in one of them: jumps by their
# opposites, and two instructions in one as two.
OPPOSITES = {"POP_JUMP_IF_FALSE": "POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE": "POP_JUMP_IF_NOT_NONE"}
PAIR = re.compile("((?:LOAD|STORE)_FAST)_((?:LOAD|STORE)_FAST)")
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
    kept = {stretch.start: stretch for stretch in (stretches(code) if is_exact else surviving(code))}
    # Python leaves out jumps to jumps or not, depending on how lines are broken.
    working = [stretch for stretch in kept.values() if stretch.start == led_to(stretch.start, kept)]
    places = {stretch.start: place for place, stretch in enumerate(working)}
    for stretch in working:
        said += [describe(step, is_exact=is_exact) for step in stretch.steps if not is_idle(step)]
        goes_on = [places.get(led_to(start, kept)) for start in stretch.goes_on]
        said.append(goes_on[::-1] if plain_name(stretch.steps[-1]) in OPPOSITES else goes_on)
    return hashlib.sha256("\n".join(map(str, said)).encode()).hexdigest()[:24]


def is_idle(step: dis.Instruction) -> bool:
    """Return whether an instruction does nothing but go on elsewhere."""
    return step.opname in IDLE or step.opname in ALWAYS_JUMPS


def led_to(start: int, kept: dict[int, Stretch]) -> int:
    """The first stretch that does something, from one on."""
    passed = set()
    while start in kept and start not in passed and all(map(is_idle, kept[start].steps)) and kept[start].goes_on:
        passed.add(start)
        start = kept[start].goes_on[0]
    return start


def plain_name(step: dis.Instruction) -> str:
    """The name of an instruction, without the direction of a jump."""
    return step.opname.replace("_FORWARD", "").replace("_BACKWARD", "") if step.opcode in JUMPS else step.opname


def describe(step: dis.Instruction, *, is_exact: bool) -> str:
    """An instruction and what it works on; where a jump leads to is said otherwise."""
    if step.opcode in JUMPS:
        return OPPOSITES.get(plain_name(step), plain_name(step))
    if step.opcode in dis.hasconst:
        return f"{step.opname} {describe_constant(step.argval, is_exact=is_exact)}"
    if (both := PAIR.fullmatch(step.opname)) is not None:
        return "\n".join(f"{name} {value!r}" for name, value in zip(both.groups(), step.argval, strict=True))
    return f"{step.opname} {step.argval!r}"


def describe_constant(value: object, *, is_exact: bool) -> str:
    """A constant; prose, which is told by its blanks, computes nothing."""
    if isinstance(value, types.CodeType):
        return digest_code(value, is_exact=is_exact)
    if isinstance(value, str) and " " in value and not is_exact:
        return "prose"
    if isinstance(value, tuple | frozenset):
        parts = [describe_constant(part, is_exact=is_exact) for part in value]
        # The order in a set depends on the seed of hashes.
        return f"{type(value).__name__} {parts if isinstance(value, tuple) else sorted(parts)}"
    return repr(value)


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
    """Target of a jump to an instruction: before the prefix of a long one, which newer versions of Python do not
    show.
    """
    return int(getattr(step, "start_offset", step.offset))
