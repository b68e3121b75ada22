"""Loops and steps of play, compiled for one kernel; importing this module does not import numba."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.identity import identify
from bandstrap.engine.compiler.kernel import Kernel, compiled_as, inlined, is_ours
from bandstrap.engine.compiler.refusals import ARM, NOBODY, Place, as_arm, as_index
from bandstrap.engine.compiler.steps import highest_score, learn, prepare, score, select, select_action
from bandstrap.errors import InvalidInput


def generics_of(kernel: Kernel) -> dict[Callable[..., Any], Callable[..., Any]]:
    """Generic functions resolved for one kernel."""
    own_learn: Any = kernel.learn
    own_prepare: Any = kernel.prepare
    own_score: Any = kernel.score
    own_choose: Any = kernel.choose

    def chosen(_: Any, params: Any, state: Any, round_: int, rng: np.random.Generator, at: Place) -> int:
        at[ARM] = NOBODY
        return as_arm(own_choose(params, state, round_, rng), len(state.pulls), at)

    def chosen_action(
        _: Any, params: Any, state: Any, actions: Floats, round_: int, rng: np.random.Generator, at: Place
    ) -> int:
        at[ARM] = NOBODY
        return as_arm(own_choose(params, state, actions, round_, rng), len(actions), at)

    generics: dict[Callable[..., Any], Callable[..., Any]] = {
        learn: lambda _, params, state, arm, reward, round_, rng: own_learn(params, state, arm, reward, round_, rng),
        prepare: lambda _, params, state, round_: own_prepare(params, state, round_),
        score: lambda _, params, state, arm, shared, rng: as_index(own_score(params, state, arm, shared, rng)),
        select: chosen,
        select_action: chosen_action,
    }
    for function in generics.values():
        inlined(function)
    if kernel.choose is None:
        generics[select] = highest_score
    return generics


_compiled: dict[tuple[Any, str], Any] = {}


def compiled(function: Any, kernel: Kernel, *, nogil: bool = True) -> Any:
    """A loop of play, or a step, compiled for one kernel, from the disk cache where possible."""
    place = function, kernel.identity.digest
    if place not in _compiled:
        from bandstrap.engine.compiler import checked_math, twins
        from bandstrap.engine.compiler.cache import compile_cached

        generics = generics_of(kernel)
        # What is compiled depends on the loop, too, and on how twins are made.
        makers = (compile(inspect.getsource(module), "", "exec", optimize=2) for module in (twins, checked_math))
        whole = identify(function, *generics.values(), *makers, body=compiled_as)
        boundscheck = not is_ours(kernel.home)
        bound = twins.twin(function, whole.digest, generics, boundscheck=boundscheck)
        name = f"{function.__name__}-{kernel.name}"
        _compiled[place] = compile_cached(bound, name, kernel.home, whole, nogil=nogil, boundscheck=boundscheck)
    return _compiled[place]


@contextmanager
def in_a_sentence(kernel: Kernel | None, label: str) -> Iterator[None]:
    """Report a failed compilation of a kernel in a sentence; numba's own words are its cause."""
    try:
        yield
    except Exception as error:
        if kernel is None or not type(error).__module__.startswith("numba."):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if not line.startswith("Failed in")), type(error).__name__)
        raise InvalidInput(
            f"The kernel {kernel.name!r} of {label} cannot be compiled: {reason.rstrip('.')}. The functions it calls must "
            "be marked with bandstrap.policies.jitable."
        ) from error
