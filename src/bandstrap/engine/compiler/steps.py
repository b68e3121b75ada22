"""Steps of a kernel: what all of play is made of.

They are generic: called from Python they run the kernel's plain functions. To compile a loop or a step of live play for a
kernel, they are replaced by the kernel's own (:func:`generics_of`). The online object and the simulator thus share every
formula.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.identity import identify
from bandstrap.engine.compiler.kernel import Kernel, compiled_as, inlined, is_ours
from bandstrap.engine.compiler.refusals import ARM, NOBODY, NotANumber, Place, as_arm, as_index
from bandstrap.errors import InvalidInput


def learn(
    kernel: Kernel, params: Any, state: Any, arm: Any, reward: float, round_: int, rng: np.random.Generator
) -> None:
    """Take in the reward of an arm, or of an action given by its features."""
    kernel.learn(params, state, arm, reward, round_, rng)


def prepare(kernel: Kernel, params: Any, state: Any, round_: int) -> Any:
    """What all arms share in a round."""
    assert kernel.prepare is not None  # noqa: S101 - a kernel has a choose or both of these
    return kernel.prepare(params, state, round_)


def score(kernel: Kernel, params: Any, state: Any, arm: int, shared: Any, rng: np.random.Generator) -> float:
    """The index of one arm."""
    assert kernel.score is not None  # noqa: S101 - a kernel has a choose or both of these
    return kernel.score(params, state, arm, shared, rng)


def highest_score(kernel: Kernel, params: Any, state: Any, round_: int, rng: np.random.Generator, at: Place) -> int:
    """The arm with the highest score; the first in the order drawn at the start wins a tie."""
    at[ARM] = NOBODY
    shared = prepare(kernel, params, state, round_)
    order = state.order
    best = order[0]
    best_score = -math.inf
    for i in range(len(order)):
        arm = order[i]
        at[ARM] = arm
        value = score(kernel, params, state, arm, shared, rng)
        if not value <= best_score:  # most arms are passed over with this one comparison, which NaN does not pass
            if not value > best_score:
                raise NotANumber
            best = arm
            best_score = value
    return best


def select(kernel: Kernel, params: Any, state: Any, round_: int, rng: np.random.Generator, at: Place) -> int:
    """The arm to pull in a round, once every arm has been pulled."""
    if kernel.choose is None:
        return highest_score(kernel, params, state, round_, rng, at)
    at[ARM] = NOBODY
    return as_arm(kernel.choose(params, state, round_, rng), len(state.pulls), at)


def select_action(
    kernel: Kernel, params: Any, state: Any, actions: Floats, round_: int, rng: np.random.Generator, at: Place
) -> int:
    """Which of the actions, one per row, to take in a round."""
    assert kernel.choose is not None  # noqa: S101 - the kernel of a linear policy has one
    at[ARM] = NOBODY
    return as_arm(kernel.choose(params, state, actions, round_, rng), len(actions), at)


def generics_of(kernel: Kernel) -> dict[Callable[..., Any], Callable[..., Any]]:
    """What the generic functions come to for one kernel."""
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
