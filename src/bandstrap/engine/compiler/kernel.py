"""Compile plain functions with numba on first need, with a disk cache that follows their content.

A formula is written once, as a plain module-level function of scalars and arrays. Marked with :func:`jitable` it can be
called from Python as it is, and from compiled code by the same name. An :class:`Entry` is the door between the two: it
runs its function plainly while the work is small, so that a first small request never waits for a compiler, and compiled
otherwise. Both give the same bits.

What was compiled is known by the identity of its functions (see ``identity.py``): an edit to any function that compiled
code calls, or to a constant it reads, gives another identity, and is never answered with old machine code.

Importing this module does not import numba.
"""

from __future__ import annotations

import functools
import inspect
import time
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from bandstrap.engine.compiler.identity import Identity, identify, is_known_by_version, named, used_values
from bandstrap.engine.compiler.locks import count_compiling
from bandstrap.errors import InvalidInput, requirement

Function = TypeVar("Function", bound=Callable[..., Any])

_jitables: set[Callable[..., Any]] = set()
_inlined: set[Callable[..., Any]] = set()
_borrowing: set[Callable[..., Any]] = set()
_compiled_bodies: dict[Callable[..., Any], Callable[..., Any]] = {}


def inlined(function: Function) -> Function:
    """Mark as :func:`jitable`, and have numba copy it into its callers.

    For short functions that take a state: taking an array out of a tuple counts a reference, at several nanoseconds each
    time, unless caller and callee are compiled as one. Such a function should have few returns.
    """
    _inlined.add(function)
    return jitable(function)


def borrowing(function: Function) -> Function:
    """Mark as :func:`jitable`, and have compiled code count no references, there and in all that it calls.

    For functions that take a state and work on its arrays: counting who holds them may take half of the time. The caller
    holds them all the while. Such a function must neither make arrays, which numba refuses, nor return any.
    """
    _borrowing.add(function)
    return jitable(function)


def jitable(function: Function) -> Function:
    """Mark a plain function as callable from compiled code; it stays a plain function.

    >>> @jitable
    ... def squared(x):
    ...     return x * x
    >>> squared(3.0)
    9.0
    """
    _jitables.add(function)
    return function


def compiled_body(plain: Callable[..., Any]) -> Callable[[Function], Function]:
    """Mark a function as what compiled code runs where it calls ``plain``.

    For work on whole arrays, which plain Python must leave to NumPy and compiled code does best in loops. The two bodies
    are written side by side and must give the same bits.
    """

    def mark(loops: Function) -> Function:
        _compiled_bodies[plain] = loops
        jitable(plain)
        return loops

    return mark


def rebuilt(function: Function, replaced: Mapping[Callable[..., Any], Callable[..., Any]]) -> Function:
    """A copy of a plain function that calls others in place of some, itself and through the marked functions it calls.

    For formulas with a part of the user's own. A function that reaches nothing of what is ``replaced`` is not copied;
    none may call itself. Copies are named by the content of what they call: numba tells machine code from several
    processes apart by name.
    """
    tag = identify(*replaced.values(), body=compiled_as).digest[:12]
    made: dict[Callable[..., Any], Callable[..., Any]] = {
        old: _copied(new, new.__globals__, tag) for old, new in replaced.items()
    }
    for new, copy in zip(replaced.values(), made.values(), strict=True):
        for marks in (_jitables, _inlined, _borrowing):
            if new in marks:
                marks.add(copy)
        jitable(copy)
    return cast("Function", _rebuilt(function, made, tag))


def _copied(function: Any, space: dict[str, Any], tag: str) -> types.FunctionType:
    code, name = function.__code__, function.__name__
    copy = types.FunctionType(code, space, name, function.__defaults__, function.__closure__)
    copy.__kwdefaults__, copy.__module__, copy.__doc__ = function.__kwdefaults__, function.__module__, function.__doc__
    copy.__qualname__ = f"{function.__qualname__}_{tag}"
    return copy


def _rebuilt(
    function: Callable[..., Any], made: dict[Callable[..., Any], Callable[..., Any]], tag: str
) -> Callable[..., Any]:
    if function in made:
        return made[function]
    made[function] = function  # unless something it calls is another
    if not isinstance(function, types.FunctionType):
        return function
    space = function.__globals__
    calls = {name: space[name] for name in set(named(function.__code__)) & space.keys()}
    others = {
        name: _rebuilt(value, made, tag)
        for name, value in calls.items()
        if isinstance(value, types.FunctionType) and (value in made or is_jitable(value))
    }
    body = _compiled_bodies.get(function)
    other_body = None if body is None else _rebuilt(body, made, tag)
    if body is other_body and all(others[name] is calls[name] for name in others):
        return function
    copy = made[function] = _copied(function, {**space, **others}, tag)
    for marks in (_jitables, _inlined, _borrowing):
        if function in marks:
            marks.add(copy)
    if other_body is not None:
        _compiled_bodies[copy] = other_body
    return copy


class Entry:
    """A function that runs plainly or compiled, with the same result.

    Parameters
    ----------
    function
        Plain function. It may call :func:`jitable` functions.
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
        return self.function(*arguments)

    def compiled(self, *arguments: Any) -> Any:
        """Run compiled, compiling or loading from the disk cache first if needed."""
        if self._compiled is None:
            began = time.thread_time()
            from bandstrap.engine.compiler.cache import compile_cached
            from bandstrap.engine.compiler.twins import twin

            identity = identify(self.function, body=compiled_as)
            bound = twin(self.function, identity.digest)
            self._compiled = compile_cached(bound, self.function.__name__, self.function, identity)
            count_compiling(time.thread_time() - began)
        return self._compiled(*arguments)


# The functions of a kernel and their parameters; those of a linear policy are given features.
PARAMETERS = {
    "learn": ("params, state, arm, reward, round_, rng", "params, state, features, reward, round_, rng"),
    "prepare": ("params, state, round_",),
    "score": ("params, state, arm, shared, rng",),
    "choose": ("params, state, round_, rng", "params, state, actions, round_, rng"),
}


class Kernel:
    """The functions of one policy.

    Parameters
    ----------
    name
        Name of the policy, for messages and for files of compiled code.
    learn
        ``learn(params, state, arm, reward, round_, rng)`` learns a reward.
    prepare, score
        For index policies: ``prepare(params, state, round_)`` returns values shared by all arms in a round.
        ``score(params, state, arm, shared, rng)`` returns the index of an arm. The arm with the highest score is pulled.
    choose
        For other policies, instead of ``prepare`` and ``score``: ``choose(params, state, round_, rng)``.

    Notes
    -----
    The round passed to ``learn`` is the number of rewards learned, including this one. The round passed to ``prepare`` and
    ``choose`` is one more than the number of rewards learned. If each decision knows the rewards of all earlier ones, this
    is the number of the decision. If rewards are late or lost, it is smaller, and several decisions may have the same
    round.

    A linear policy gets the features of the actions instead of arms: ``choose(params, state, actions, round_, rng)`` and
    ``learn(params, state, features, reward, round_, rng)``.

    Parameters have these names in this order; ``features`` may be called ``x``. Underscores around a name are ignored, and
    an unused parameter may be called ``_``.

    The functions are plain. Compiled code belongs to a kernel, which is identified by its functions: a new definition, even
    with the same name, is a new kernel.
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
        given = {"learn": learn, "prepare": prepare, "score": score, "choose": choose}
        self._check(name, given)
        self.name = name
        self.learn, self.prepare, self.score, self.choose = learn, prepare, score, choose
        for function in self.functions:
            if not is_borrowing(function):
                inlined(function)
        self.borrows = all(is_borrowing(function) for function in self.functions)

    def _check(self, name: str, given: dict[str, Any]) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise requirement("name", "Kernel", "a word of letters, digits and underscores", repr(name))
        owner = f"the kernel {name!r}"
        for part, function in given.items():
            if function is None:
                continue
            rule = f"a plain function of {' or '.join(f'({names})' for names in PARAMETERS[part])}, in this order"
            if not isinstance(function, types.FunctionType):
                raise requirement(part, owner, rule, repr(function))
            given_names = list(inspect.signature(function).parameters)
            if not any(are_named(given_names, names.split(", ")) for names in PARAMETERS[part]):
                raise requirement(part, owner, rule, f"{function.__name__}({', '.join(given_names)})")
        if given["learn"] is None:
            raise requirement("learn", owner, "given", "None")
        if given["choose"] is None:
            for part, other in (("prepare", "score"), ("score", "prepare")):
                if given[part] is None:
                    raise requirement(part, owner, f"given beside {other!r}, unless 'choose' is", "None")
        elif given["score"] is not None or given["prepare"] is not None:
            raise requirement("choose", owner, "given alone, without 'prepare' and 'score'", "all of them")

    @functools.cached_property
    def unmarked(self) -> tuple[str, str] | None:
        """Names of a function that compiled code cannot call, and of the kernel's function that calls it."""
        parts = {"learn": self.learn, "prepare": self.prepare, "score": self.score, "choose": self.choose}
        for part, function in parts.items():
            found = first_unmarked(function) if function is not None else None
            if found is not None:
                return found.__name__, part
        return None

    def check_played(self, owner: str, plays: str) -> None:
        """Refuse a kernel of another kind than the policy ``plays``, and calls of unmarked functions."""
        if self.choose is not None or plays == "actions":
            wanted = PARAMETERS["choose"][plays == "actions"]
            if self.choose is None or self.choose.__code__.co_argcount != len(wanted.split(", ")):
                raise requirement("kernel", owner, f"one with a function choose({wanted})", f"the kernel {self.name!r}")
        if self.unmarked is not None:
            called, part = self.unmarked
            raise InvalidInput(
                f"The function {called}, which the '{part}' function of {owner} calls, must be marked with "
                "bandstrap.policies.jitable."
            )

    @functools.cached_property
    def identity(self) -> Identity:
        """Identity of its functions, by content."""
        return identify(self.learn, self.prepare, self.score, self.choose, body=compiled_as)

    @property
    def functions(self) -> list[Callable[..., Any]]:
        """The functions that were given."""
        return [f for f in (self.learn, self.prepare, self.score, self.choose) if f is not None]

    @property
    def home(self) -> Callable[..., Any]:
        """The function next to whose file compiled code is kept: one from outside the package, if there is one."""
        return next((function for function in self.functions if not is_ours(function)), self.learn)

    def forget_identity(self) -> None:
        """Check the functions again: values used by functions from outside the package may have changed."""
        if not is_ours(self.home):
            self.__dict__.pop("identity", None)

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("identity", "unmarked")}


def is_ours(function: Callable[..., Any]) -> bool:
    """Return whether a function comes with the package, whose functions do not change while a program runs."""
    return function.__module__.partition(".")[0] == "bandstrap"


def are_named(given: list[str], wanted: list[str]) -> bool:
    """Return whether parameters have the names wanted, but for underscores around them."""
    return len(given) == len(wanted) and all(
        name.strip("_") in ("", other.strip("_")) or (name, other) == ("x", "features")
        for name, other in zip(given, wanted, strict=True)
    )


def first_unmarked(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The first function that a function from outside the package calls, or one of those it calls, without a mark."""
    seen, ahead = {function}, [function]
    while ahead:
        caller = ahead.pop()
        for value in [] if is_ours(caller) else used_values(caller):
            if not isinstance(value, types.FunctionType) or is_known_by_version(value.__module__):
                continue
            if not is_jitable(value):
                return value
            if value not in seen:
                seen.add(value)
                ahead.append(value)
    return None


def entry(function: Callable[..., Any]) -> Entry:
    """Decorate a function as an :class:`Entry`."""
    return Entry(function)


def is_jitable(function: Callable[..., Any]) -> bool:
    """Return whether a function is marked as callable from compiled code."""
    return function in _jitables


def is_inlined(function: Callable[..., Any]) -> bool:
    """Return whether a function is copied into its callers."""
    return function in _inlined


def is_borrowing(function: Callable[..., Any]) -> bool:
    """Return whether references are not counted in a function."""
    return function in _borrowing


def compiled_as(function: Any) -> Any:
    """Function that compiled code runs in the place of another."""
    return _compiled_bodies.get(function, function)
