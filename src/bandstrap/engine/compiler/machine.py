"""The kernel of a live policy as machine code; importing this module does not import numba.

Python's lock stays with the caller: a step takes microseconds, and who lets go of it may have to wait for other threads
much longer than that to have it back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.collecting import collecting_seldom
from bandstrap.engine.compiler.compiled import compiled, in_a_sentence
from bandstrap.engine.compiler.identity import identify
from bandstrap.engine.compiler.kernel import Kernel, compiled_as
from bandstrap.engine.compiler.steps import learn, select, select_action
from bandstrap.engine.work.progress import announced
from bandstrap.errors import requirement

_holding: dict[str, Any] = {}


def select_held(kernel: Kernel, held: Any, round_: int) -> int:
    """:func:`select` with all that a policy plays with, see ``borrowed.py``."""
    return select(kernel, held.params, held.state, round_, held.rng, held.at)


def select_action_held(kernel: Kernel, held: Any, actions: Floats, round_: int) -> int:
    """:func:`select_action` likewise."""
    return select_action(kernel, held.params, held.state, actions, round_, held.rng, held.at)


def learn_held(kernel: Kernel, held: Any, arm: Any, reward: float, round_: int) -> None:
    """:func:`learn` likewise."""
    learn(kernel, held.params, held.state, arm, reward, round_, held.rng)


class Parts(NamedTuple):
    """All that a policy plays with, taken apart in every call."""

    params: Any
    state: Any
    rng: np.random.Generator
    at: Any


def compiled_hold(kernel: Kernel) -> Any:
    """``borrowed.hold``, compiled; kept beside the kernel's own functions, whose types it is told."""
    from bandstrap.engine.compiler.internals import has

    if not has("handle"):
        return Parts
    place = kernel.identity.digest
    if place not in _holding:
        from bandstrap.engine.compiler import borrowed
        from bandstrap.engine.compiler.cache import compile_cached

        maker = compile(inspect.getsource(borrowed), "", "exec", optimize=2)
        identity = identify(borrowed.hold, maker, body=compiled_as)
        _holding[place] = compile_cached(borrowed.hold, f"hold-{kernel.name}", kernel.home, identity, nogil=False)
    return _holding[place]


class Machine:
    """Steps of one live policy, compiled.

    Parameters
    ----------
    plays
        What the policy plays: ``"arms"``, ``"contexts"`` (arms, with what is known in the state), or ``"actions"``.
    label
        Who is compiled, for messages.

    Notes
    -----
    What it plays with is handed over in every call, and taken apart when it is not what it was in the last one: other
    parameters, an array that has grown, another generator. A copy has to begin anew, and does.
    """

    def __init__(self, plays: str, label: str) -> None:
        self._about = plays, label
        self._hold: Any = None
        self._kind: Any = None
        self._params: Any = None
        self._state: Any = None
        self._rng: Any = None
        # Where the kernel is, see ``refusals.py``.
        self.at = np.zeros(2, dtype=np.int64)

    def select(self, kernel: Kernel, params: Any, state: Any, rng: np.random.Generator, *seen: Any) -> int:
        """The arm or action to take; ``seen`` is the round, behind the actions if there are any."""
        if params is not self._params or state is not self._state or rng is not self._rng:
            self.hold(kernel, params, state, rng)
        with self._lock:  # that of NumPy's own methods
            return self._select(None, self._held, *seen)

    def learn(
        self, kernel: Kernel, params: Any, state: Any, rng: np.random.Generator, arm: Any, reward: float, round_: int
    ) -> None:
        """Take in the reward of an arm, or of an action given by its features."""
        if params is not self._params or state is not self._state or rng is not self._rng:
            self.hold(kernel, params, state, rng)
        with self._lock:
            self._learn(None, self._held, arm, reward, round_)

    def hold(self, kernel: Kernel, params: Any, state: Any, rng: np.random.Generator) -> None:
        """Keep hold of what to play with, compiled for its types."""
        self._state = None  # nothing is held until all is
        if self._hold is None:
            self._compile(kernel, params, state, rng)
        held = self._hold(params, state, rng, self.at)
        if kind_of(held) != self._kind:
            self._compile(kernel, params, state, rng)
        self._held, self._lock = held, rng.bit_generator.lock
        self._params, self._rng = params, rng
        self._state = state

    def _compile(self, kernel: Kernel, params: Any, state: Any, rng: np.random.Generator) -> None:
        """Compile all functions for these types, or load them from the disk."""
        plays, label = self._about
        kernel.forget_identity()
        with (
            in_a_sentence(kernel, label),
            collecting_seldom(),
            announced(f"compiling {label} (ten seconds or so, the first time only)", after=1.0),
        ):
            from numba import config, types

            if config.DISABLE_JIT:
                raise requirement("compiled", label, "False while NUMBA_DISABLE_JIT is set", True)
            hold = compiled_hold(kernel)
            kind, number, real = kind_of(hold(params, state, rng, self.at)), types.int64, types.float64
            if plays != "actions":
                self._select = entry_point(select_held, kernel, kind, number)
                taken = number
            else:
                self._select = entry_point(select_action_held, kernel, kind, types.Array(real, 2, "C"), number)
                taken = types.Array(real, 1, "C")
            self._learn = entry_point(learn_held, kernel, kind, taken, real, number)
        self._hold, self._kind = hold, kind

    def __deepcopy__(self, memo: dict[int, Any]) -> Machine:
        return Machine(*self._about)

    def __reduce__(self) -> tuple[type[Machine], tuple[str, str]]:
        return Machine, self._about


def kind_of(held: Any) -> Any:
    """The type for compiled code of what a policy plays with."""
    if isinstance(held, Parts):
        from numba import typeof

        return typeof(held)
    return held._numba_type_


def entry_point(step: Callable[..., Any], kernel: Kernel, *kinds: Any) -> Callable[..., Any]:
    """A step compiled for arguments of these types, which are not asked for theirs in every call."""
    from numba import types

    from bandstrap.engine.compiler.internals import has

    function = compiled(step, kernel, nogil=False)
    return function.compile((types.none, *kinds)) if has("handle") else function
