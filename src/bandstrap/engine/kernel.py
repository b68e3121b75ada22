"""Compile plain functions with numba on first need, with a disk cache that follows the sources.

A formula is written once, as a plain module-level function of scalars and arrays. Marked with :func:`jitable` it can be
called from Python as it is, and from compiled code by the same name. An :class:`Entry` is the door between the two: it
runs its function plainly while the work is small, so that a first small request never waits for a compiler, and compiled
otherwise. Both give the same bits.

Numba stamps a cached entry with its own file only, so an edit to a function it *calls* would leave old machine code in
use. Every entry therefore takes a :data:`SOURCES` stamp as its first argument, whose numba type is named after a digest
of all package sources: any edit changes the signature and misses the cache.

Importing this module does not import numba.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from bandstrap.storage import digest_sources

Function = TypeVar("Function", bound=Callable[..., Any])

_jitables: list[Callable[..., Any]] = []
_inlined: list[Callable[..., Any]] = []
_compiled_bodies: dict[Callable[..., Any], Callable[..., Any]] = {}
_numba_ready = False


def inlined(function: Function) -> Function:
    """Mark as :func:`jitable`, and have numba copy it into its callers.

    For short functions that take a state: taking an array out of a tuple counts a reference, at several nanoseconds each
    time, unless caller and callee are compiled as one. Such a function should have few returns.
    """
    _inlined.append(function)
    return jitable(function)


def jitable(function: Function) -> Function:
    """Mark a plain function as callable from compiled code; it stays a plain function."""
    _jitables.append(function)
    if _numba_ready:
        _register(function)
    return function


def compiled_body(plain: Callable[..., Any]) -> Callable[[Function], Function]:
    """Mark a function as what compiled code runs where it calls ``plain``.

    For work on whole arrays, which plain Python must leave to NumPy and compiled code does best in loops. The two bodies
    stand side by side and must give the same bits.
    """

    def mark(loops: Function) -> Function:
        _compiled_bodies[plain] = loops
        jitable(plain)
        return loops

    return mark


@functools.cache
def source_digest() -> str:
    """Digest of every Python source of the installed package."""
    return digest_sources(Path(__file__).resolve().parent.parent)


class Sources:
    """Stamp whose numba type is named after :func:`source_digest`; carries no data."""


SOURCES = Sources()


class Entry:
    """A function of ``(sources, *arguments)`` that runs plainly or compiled, with the same result.

    Parameters
    ----------
    function
        Plain function; its first parameter receives :data:`SOURCES`. It may call :func:`jitable` functions.
    plain_work
        How much work, in inner-loop steps as told to :meth:`__call__` and added up over calls, is run plainly before the
        function is compiled. The default is about a tenth of a second of plain Python, less than importing numba takes.
    """

    def __init__(self, function: Callable[..., Any], plain_work: int = 100_000) -> None:
        self.function = function
        self.plain_work = plain_work
        self._work_done = 0.0
        self._compiled: Callable[..., Any] | None = None
        functools.update_wrapper(self, function)

    def __call__(self, work: float, *arguments: Any) -> Any:
        """Run on ``arguments``; ``work`` is a rough count of inner-loop steps."""
        self._work_done += work
        if self._compiled is None and self._work_done <= self.plain_work:
            return self.plain(*arguments)
        return self.compiled(*arguments)

    def plain(self, *arguments: Any) -> Any:
        """Run as plain Python."""
        return self.function(SOURCES, *arguments)

    def compiled(self, *arguments: Any) -> Any:
        """Run compiled, compiling or loading from the disk cache first if need be."""
        if self._compiled is None:
            self._compiled = _compile(self.function)
        return self._compiled(SOURCES, *arguments)


class Kernel:
    """The functions of one policy, bundled so that one compiled ``play`` serves all policies.

    ``learn(params, state, arm, reward, round_, rng)`` takes in a reward. Index policies give
    ``prepare(params, state, round_)``, what all arms share in a round, and ``score(params, state, arm, shared, rng)``;
    the arm with the highest score is pulled. A policy that chooses otherwise gives ``choose(params, state, round_, rng)``.
    A linear policy is told the features of the actions instead of arms: ``choose(params, state, actions, round_, rng)`` and
    ``learn(params, state, features, reward, round_, rng)``.

    The functions are plain and module-level. Compiled code finds them by the kernel's numba type, whose name holds the
    digest of all sources.
    """

    def __init__(
        self,
        name: str,
        *,
        learn: Callable[..., None],
        score: Callable[..., float] | None = None,
        prepare: Callable[..., Any] | None = None,
        choose: Callable[..., int] | None = None,
    ) -> None:
        self.name = name
        self.learn = inlined(learn)
        self.score = score and inlined(score)
        self.prepare = prepare and inlined(prepare)
        self.choose = choose and inlined(choose)
        KERNELS[name] = self


KERNELS: dict[str, Kernel] = {}


def entry(function: Callable[..., Any]) -> Entry:
    """Decorate a function as an :class:`Entry`."""
    return Entry(function)


def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    prepare_numba()
    import numba

    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    return compiled


def _register(function: Callable[..., Any]) -> None:
    from numba.extending import overload

    body = _compiled_bodies.get(function, function)

    def implementation(*args: Any, **kwargs: Any) -> Any:
        return body

    overload(function, strict=False, inline="always" if function in _inlined else "never")(implementation)


def prepare_numba() -> None:
    """Teach numba our types and every function marked so far; once per process."""
    global _numba_ready
    if _numba_ready:
        return
    from bandstrap.engine import stamp  # noqa: F401 - registers the type

    for function in _jitables:
        _register(function)
    _numba_ready = True
