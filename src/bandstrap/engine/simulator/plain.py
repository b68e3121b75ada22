"""Plain objects among policies: anything with ``select()`` and ``update(arm, reward)`` can be raced, slowly.

One that says ``plays = "contexts"`` is shown a context: ``select(context=x)``, ``update(arm, reward, context=x)``.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.calls import Call, Options
from bandstrap.engine.simulator.feedback import Arrivals
from bandstrap.engine.simulator.own_file import told_errors
from bandstrap.engine.simulator.tape import Tape, opened
from bandstrap.errors import InvalidInput, check_choice, requirement


class PlainObject(Protocol):
    """An object that can be simulated; arms are numbers from 0."""

    def select(self) -> int | np.integer:
        """The arm to pull next."""

    def update(self, arm: int, reward: float, /) -> object:
        """Learn the reward of the arm."""


class ContextualPlainObject(Protocol):
    """An object that can be simulated with contexts."""

    plays: str

    def select(self, *, context: Any) -> int | np.integer:
        """The arm to pull next, in a context."""

    def update(self, arm: int, reward: float, /, *, context: Any) -> object:
        """Learn the reward of the arm in a context."""


class PlainMaker(Protocol):
    """A class of such objects, called with the number of arms."""

    def __call__(self, *, n_arms: int) -> PlainObject:
        """A new object."""


class PlainMakerWithRandomness(Protocol):
    """A class of such objects, called with the number of arms and a generator."""

    def __call__(self, *, n_arms: int, rng: np.random.Generator) -> PlainObject:
        """A new object."""


def is_plain(thing: object) -> bool:
    """Return whether an object, or the instances of a class, have ``select`` and ``update``."""
    return all(callable(getattr(thing, method, None)) for method in ("select", "update"))


class PlainPolicy:
    """A plain object, or a class of plain objects, for the simulator.

    Parameters
    ----------
    source
        A class, or an object. Arms are numbers from 0: ``select()`` returns one, and ``update(arm, reward)`` gets its
        reward. A class is called before each replication, with ``n_arms`` and ``rng`` if it has parameters of those names.
        With an attribute ``plays = "contexts"`` both methods get the round's ``context``, a vector, by that name. A class
        may also have a parameter ``dimension``, the length of the vector. An object is copied before each replication. Then
        its method ``reset(n_arms, rng)`` is called if it has one. Otherwise every attribute that is a
        ``numpy.random.Generator`` is replaced by the replication's.
    options
        Further arguments for a class.
    origin
        Origin of a class, for the label.

    Notes
    -----
    Objects that draw random numbers from ``random`` or ``numpy.random`` directly are not reproducible.
    """

    kernel = None
    n_initial = 0
    direction = "max"

    def __init__(self, source: object, options: Options | None = None, origin: str | None = None) -> None:
        self.source = source
        self.options = dict(options or {})
        self.origin = origin
        self.plays = check_choice(getattr(source, "plays", "arms"), "plays", self.made.__name__, ("arms", "contexts"))
        self.support: tuple[float, float] = getattr(source, "support", (-np.inf, np.inf))

    @property
    def label(self) -> str:
        """The label of the object, or the name of its class, with options."""
        given = getattr(self.source, "label", None)
        if isinstance(given, str):
            return given
        return str(Call(self.origin or self.made.__name__, self.options))

    @property
    def made(self) -> type:
        """The class of the object."""
        return self.source if isinstance(self.source, type) else type(self.source)

    def make_params(self, horizon: int | None) -> None:
        """No parameters: the object has its own."""

    def start(self, n_arms: int, capacity: int, rng: np.random.Generator, dimension: int | None = None) -> Any:
        """A new object; ``dimension`` counts the features of a context."""
        if isinstance(self.source, type):
            wanted = inspect.signature(self.source).parameters
            offered: Options = {"n_arms": n_arms, "rng": rng} | ({} if dimension is None else {"dimension": dimension})
            told = {name: value for name, value in offered.items() if name in wanted and name not in self.options}
            with told_errors(lambda: f"the policy {self.label} cannot be made"):
                return self.source(**told, **self.options)
        try:
            live: Any = copy.deepcopy(self.source)
        except TypeError as error:
            raise InvalidInput(f"the policy {self.label} cannot be copied for each replication: {error}.") from error
        if callable(getattr(live, "reset", None)):
            with told_errors(lambda: f"the policy {self.label} cannot be reset"):
                live.reset(n_arms, rng)
        else:
            for name, value in list(getattr(live, "__dict__", {}).items()):
                if isinstance(value, np.random.Generator):
                    setattr(live, name, rng)
        return live


def play_plain(live: Any, label: str, tape: Tape, choices: NDArray[np.int64], arrivals: Arrivals) -> None:
    """Play ``choices.size`` rounds with a plain object, see :func:`bandstrap.engine.simulator.play.loop`."""
    rewards, by_round = tape.rewards, tape.by_round
    n_arms, length = rewards.shape
    bookmark = opened(n_arms, 0, 0)
    used = bookmark.used
    earned: list[tuple[int, float]] = []
    n_learned = 0
    t = 0
    in_contexts = getattr(live, "plays", "arms") == "contexts"

    def seen(round_: int) -> Options:
        return {"context": tape.action_sets[0][round_, 0]} if in_contexts else {}

    with told_errors(lambda: f"the policy {label} fails in round {t + 1}"):
        for t in range(choices.size):
            arm = live.select(**seen(t))
            if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < n_arms:
                raise requirement("arm", f"{label}.select", f"an integer from 0 to {n_arms - 1}", repr(arm))
            earned.append((int(arm), float(rewards[arm, t if by_round else used[arm]])))
            used[arm] += 1
            if used[arm] == length:
                tape.turn(bookmark, choices)
            choices[t] = arm
            while n_learned < arrivals.due[t]:
                decision = arrivals.order[n_learned]
                live.update(*earned[decision], **seen(decision))
                n_learned += 1
