"""One replication: a policy meets a tape of rewards.

``select`` and ``learn`` are generic: called from Python they run the kernel's plain functions. To compile ``play`` for a
kernel, or one step of live play, they are replaced by that kernel's own (:func:`generics_of`). The online object and the
simulator thus share every formula.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.identity import identify
from bandstrap.engine.compiler.kernel import Kernel, borrowing, compiled_as, inlined, is_borrowing, is_ours
from bandstrap.engine.compiler.refusals import ARM, NOBODY, ROUND, NotANumber, Place, as_arm, as_index, learning
from bandstrap.engine.simulator.feedback import Arrivals
from bandstrap.engine.simulator.tape import Bookmark, opened
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


def play(
    kernel: Kernel,
    params: Any,
    state: Any,
    tape: Floats,
    rng: np.random.Generator,
    choices: NDArray[np.int64],
    n_first: int,
    by_round: bool = False,
    bookmark: Bookmark | None = None,
) -> None:
    """Play ``choices.size`` rounds; ``tape[arm, i]`` is the reward of the arm's pull number ``i``.

    The first ``n_first`` rounds pull the arms in turn. Where means change ``by_round``, ``tape[arm, i]`` is the reward of
    the arm in round ``i``. Where the tape is shorter than the game, play stops after the round that used up a row, and goes
    on at its ``bookmark`` when it is called again, see :class:`bandstrap.engine.simulator.tape.Bookmark`.
    """
    page = opened(bookmark, tape.shape[0], 0, 0)
    rounds(kernel, params, state, tape, rng, choices, n_first, by_round, page)


@inlined
def rounds(
    kernel: Kernel,
    params: Any,
    state: Any,
    tape: Floats,
    rng: np.random.Generator,
    choices: NDArray[np.int64],
    n_first: int,
    by_round: bool,
    bookmark: Bookmark,
) -> None:
    """The rounds of :func:`play`, with references counted where a kernel makes arrays."""
    n_arms, length = tape.shape
    used, at = bookmark.used, bookmark.at
    first = bookmark.n_played[0]
    n_played = choices.size
    for t in range(first, choices.size):
        at[ROUND] = t + 1
        arm = t % n_arms if t < n_first else select(kernel, params, state, t + 1, rng, at)
        place = t - first if by_round else used[arm]
        used[arm] += 1
        at[ARM] = learning(arm)
        learn(kernel, params, state, arm, tape[arm, place], t + 1, rng)
        choices[t] = arm
        if place + 1 == length:
            n_played = t + 1
            break
    bookmark.n_played[0] = n_played


# The same code for a kernel that borrows its arrays.
rounds_borrowing = FunctionType(rounds.__code__, globals(), "rounds_borrowing")
rounds_borrowing.__qualname__ = "rounds_borrowing"  # or the two would have one identity
borrowing(rounds_borrowing)


def play_late(
    kernel: Kernel,
    params: Any,
    state: Any,
    tape: Floats,
    rng: np.random.Generator,
    choices: NDArray[np.int64],
    arrivals: Arrivals,
    n_initial: int,
    by_round: bool = False,
    bookmark: Bookmark | None = None,
) -> None:
    """:func:`play` where rewards are learned when they arrive; a kernel's round counts those that it has learned.

    Arms are pulled in turn until ``n_initial`` rewards of each have been learned.
    """
    n_arms, length = tape.shape
    page = opened(bookmark, n_arms, choices.size, 0)
    used, known, earned, at = page.used, page.known, page.earned, page.at
    order, due = arrivals.order, arrivals.due
    first = page.n_played[0]
    n_lacking = 0  # arms
    for arm in range(n_arms):
        if known[arm] < n_initial:
            n_lacking += 1
    n_learned = due[first - 1] if first > 0 else 0  # rewards
    n_played = choices.size
    for t in range(first, choices.size):
        at[ROUND] = n_learned + 1
        arm = t % n_arms if n_lacking > 0 else select(kernel, params, state, n_learned + 1, rng, at)
        place = t - first if by_round else used[arm]
        earned[t] = tape[arm, place]
        used[arm] += 1
        choices[t] = arm
        while n_learned < due[t]:
            decision = order[n_learned]
            n_learned += 1
            arm = choices[decision]
            at[ARM], at[ROUND] = learning(arm), n_learned
            learn(kernel, params, state, arm, earned[decision], n_learned, rng)
            known[arm] += 1
            if known[arm] == n_initial:
                n_lacking -= 1
        if place + 1 == length:
            n_played = t + 1
            break
    page.n_played[0] = n_played


def select_action(
    kernel: Kernel, params: Any, state: Any, actions: Floats, round_: int, rng: np.random.Generator, at: Place
) -> int:
    """Which of the actions, one per row, to take in a round."""
    assert kernel.choose is not None  # noqa: S101 - the kernel of a linear policy has one
    at[ARM] = NOBODY
    return as_arm(kernel.choose(params, state, actions, round_, rng), len(actions), at)


def play_linear(
    kernel: Kernel,
    params: Any,
    state: Any,
    action_sets: Floats,
    tape: Floats,
    rng: np.random.Generator,
    choices: NDArray[np.int64],
    bookmark: Bookmark | None = None,
) -> None:
    """Play ``choices.size`` rounds of a linear bandit; ``action_sets[t]`` holds the features of round ``t``'s actions.

    A single action set serves all rounds: ``tape[arm, i]`` is then the reward of the arm's pull number ``i``, as in
    :func:`play`. With a set for each round it is the reward of the arm in round ``i``.
    """
    is_fixed = action_sets.shape[0] == 1
    n_arms, length = tape.shape
    page = opened(bookmark, n_arms, 0, 0)
    used, at = page.used, page.at
    first = page.n_played[0]
    n_played = choices.size
    for t in range(first, choices.size):
        actions = action_sets[0 if is_fixed else t - first]
        at[ROUND] = t + 1
        arm = select_action(kernel, params, state, actions, t + 1, rng, at)
        place = used[arm] if is_fixed else t - first
        used[arm] += 1
        at[ARM] = learning(arm)
        learn(kernel, params, state, actions[arm], tape[arm, place], t + 1, rng)
        choices[t] = arm
        if place + 1 == length:
            n_played = t + 1
            break
    page.n_played[0] = n_played


def play_linear_late(
    kernel: Kernel,
    params: Any,
    state: Any,
    action_sets: Floats,
    tape: Floats,
    rng: np.random.Generator,
    choices: NDArray[np.int64],
    arrivals: Arrivals,
    bookmark: Bookmark | None = None,
) -> None:
    """:func:`play_linear` where rewards are learned when they arrive, see :func:`play_late`."""
    order, due = arrivals.order, arrivals.due
    is_fixed = action_sets.shape[0] == 1
    n_arms, length = tape.shape
    page = opened(bookmark, n_arms, choices.size, 0 if is_fixed else action_sets.shape[2])
    used, earned, taken, at = page.used, page.earned, page.taken, page.at
    first = page.n_played[0]
    n_learned = due[first - 1] if first > 0 else 0
    n_played = choices.size
    for t in range(first, choices.size):
        actions = action_sets[0 if is_fixed else t - first]
        at[ROUND] = n_learned + 1
        arm = select_action(kernel, params, state, actions, n_learned + 1, rng, at)
        place = used[arm] if is_fixed else t - first
        earned[t] = tape[arm, place]
        if not is_fixed:
            taken[t] = actions[arm]
        used[arm] += 1
        choices[t] = arm
        while n_learned < due[t]:
            decision = order[n_learned]
            n_learned += 1
            at[ARM], at[ROUND] = learning(choices[decision]), n_learned
            action = action_sets[0][choices[decision]] if is_fixed else taken[decision]
            learn(kernel, params, state, action, earned[decision], n_learned, rng)
        if place + 1 == length:
            n_played = t + 1
            break
    page.n_played[0] = n_played


# --- single steps of live play, compiled; ``held`` is all that a policy plays with, see ``held.py`` --------------------


def select_held(kernel: Kernel, held: Any, round_: int) -> int:
    """See :func:`select`."""
    return select(kernel, held.params, held.state, round_, held.rng, held.at)


def select_action_held(kernel: Kernel, held: Any, actions: Floats, round_: int) -> int:
    """See :func:`select_action`."""
    return select_action(kernel, held.params, held.state, actions, round_, held.rng, held.at)


def learn_held(kernel: Kernel, held: Any, arm: Any, reward: float, round_: int) -> None:
    """See :func:`learn`."""
    learn(kernel, held.params, held.state, arm, reward, round_, held.rng)


# --- what is compiled -------------------------------------------------------------------------------------------------


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
    borrows = all(is_borrowing(function) for function in kernel.functions)
    return generics | {rounds: rounds_borrowing if borrows else rounds}


_compiled: dict[tuple[Any, str], Any] = {}


def compiled(function: Any, kernel: Kernel, *, nogil: bool = True) -> Any:
    """:func:`play` or another loop or step compiled for one kernel, from the disk cache where possible."""
    place = function, kernel.identity.digest
    if place not in _compiled:
        from bandstrap.engine.compiler import checked_math, twins
        from bandstrap.engine.compiler.cache import compile_cached

        generics = generics_of(kernel)
        # What is compiled depends on the loop of play, too, and on how twins are made.
        makers = (inspect.getsource(module) for module in (twins, checked_math))
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


def compiled_play(
    kernel: Kernel,
    params: Any,
    state: Any,
    tape: Floats,
    rng: np.random.Generator,
    choices: NDArray[np.int64],
    n_first: int,
    by_round: bool = False,
    bookmark: Bookmark | None = None,
) -> None:
    """:func:`play`, compiled."""
    bookmark = opened(bookmark, len(tape), 0, 0)
    compiled(play, kernel)(None, params, state, tape, rng, choices, n_first, by_round, bookmark)


def compiled_play_late(
    kernel: Kernel,
    params: Any,
    state: Any,
    tape: Floats,
    rng: np.random.Generator,
    choices: NDArray[np.int64],
    arrivals: Arrivals,
    n_initial: int,
    by_round: bool = False,
    bookmark: Bookmark | None = None,
) -> None:
    """:func:`play_late`, compiled."""
    bookmark = opened(bookmark, len(tape), choices.size, 0)
    compiled(play_late, kernel)(None, params, state, tape, rng, choices, arrivals, n_initial, by_round, bookmark)


def compiled_play_linear(
    kernel: Kernel,
    params: Any,
    state: Any,
    action_sets: Floats,
    tape: Floats,
    rng: np.random.Generator,
    choices: NDArray[np.int64],
    bookmark: Bookmark | None = None,
) -> None:
    """:func:`play_linear`, compiled."""
    bookmark = opened(bookmark, len(tape), 0, 0)
    compiled(play_linear, kernel)(None, params, state, action_sets, tape, rng, choices, bookmark)


def compiled_play_linear_late(
    kernel: Kernel,
    params: Any,
    state: Any,
    action_sets: Floats,
    tape: Floats,
    rng: np.random.Generator,
    choices: NDArray[np.int64],
    arrivals: Arrivals,
    bookmark: Bookmark | None = None,
) -> None:
    """:func:`play_linear_late`, compiled."""
    n_features = 0 if len(action_sets) == 1 else action_sets.shape[2]
    bookmark = opened(bookmark, len(tape), choices.size, n_features)
    compiled(play_linear_late, kernel)(None, params, state, action_sets, tape, rng, choices, arrivals, bookmark)
