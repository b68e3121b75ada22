"""Base of every environment: means fixed or drawn, a reward table, the registry."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self, TypedDict

import numpy as np

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.basics.calls import Call, Options
from bandstrap.basics.constructors import Declared
from bandstrap.basics.registry import register
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.errors import InvalidInput, brief, check_count, check_number, requirement

ENVIRONMENTS: dict[str, type[Environment]] = {}
# Distribution of the means as text: uniform between two ends.
Uniform = tuple[float, float]
# Numbers one after the other: the arms' means, the coordinates of a vector.
NumberSequence = Sequence[float] | AnyArray
# Policies sum rewards and their squares, which must not overflow.
LARGEST_NUMBER = 1e100


class ArmOptions(TypedDict, total=False):
    """Options of an environment of arms beside the means and its own parameters; see :class:`Environment`."""

    n_arms: int | None
    mean_range: Uniform | None


class Environment(metaclass=Declared):
    """Independent arms whose rewards are drawn before play.

    Parameters
    ----------
    means
        The arms' means, fixed. By default ``n_arms`` means are drawn in each replication, uniformly from ``mean_range``.
    n_arms
        Number of arms; default: the number of ``means``, or 5.
    mean_range
        Interval from which the means are drawn; by default that of the class.
    """

    name: ClassVar[str]
    # Where environments of its kind are found by name.
    registry: ClassVar[dict[str, type[Environment]]] = ENVIRONMENTS
    default_range: ClassVar[Uniform] = (-1.0, 1.0)
    # The value of an omitted parameter, where it matters whether it was omitted.
    implied: ClassVar[Mapping[str, float]] = {"n_arms": 5}
    # Whether a call as text can build it, and the option that a first value without a key stands for.
    is_called: ClassVar[bool] = True
    first_option: ClassVar[str | None] = None
    # Where its class was found, if in a user's own file: "./mine.py:Mine".
    origin: str | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        register(cls.registry, cls.name, cls)

    def __init__(
        self, means: NumberSequence | None = None, *, n_arms: int | None = None, mean_range: Uniform | None = None
    ) -> None:
        owner = type(self).__name__
        self.means = None if means is None else self._checked_means(means)
        self.mean_range = None if mean_range is None else self.checked_pair(mean_range, "mean_range")
        if self.means is not None and self.mean_range is not None:
            raise requirement("mean_range", owner, "left out when 'means' are given", brief(mean_range))
        default = len(self.means) if self.means is not None else self.implied["n_arms"]
        self.n_arms = check_count(default if n_arms is None else n_arms, "n_arms", owner)
        # At least a mean, a gap and a reward of each.
        check_memory(3 * WORD * self.n_arms, "n_arms", owner, self.n_arms)
        if self.means is not None and self.n_arms != len(self.means):
            raise requirement("n_arms", owner, f"the number of 'means', {len(self.means)}, or left out", self.n_arms)
        low, high = self.mean_range or self.default_range
        self.check_means(np.array(self.means if self.means is not None else (low, high)))

    def _checked_means(self, means: object) -> tuple[float, ...]:
        array = self.checked_numbers(means, "means", "a non-empty sequence of finite numbers", 1)
        return tuple(array.tolist())

    def checked_numbers(self, values: object, parameter: str, rule: str, ndim: int) -> Floats:
        """A non-empty array of finite numbers that are not too large."""
        owner = type(self).__name__
        array = as_numbers(values)
        if array is None or array.ndim != ndim or array.size == 0:
            raise requirement(parameter, owner, rule, brief(values))
        if np.abs(array).max() > LARGEST_NUMBER:
            raise requirement(parameter, owner, f"no larger than {LARGEST_NUMBER:g} in size", brief(values))
        return array

    def checked_pair(self, ends: object, parameter: str, *, above: float = -np.inf) -> Uniform:
        """The two ends of an interval of numbers greater than ``above``."""
        least = "" if above == -np.inf else f"{above:g} < "
        rule = f"a pair (low, high) with {least}low <= high"
        array = self.checked_numbers(ends, parameter, rule, 1)
        if array.size != 2 or not above < array[0] <= array[1]:
            raise requirement(parameter, type(self).__name__, rule, brief(ends))
        return float(array[0]), float(array[1])

    def checked_scale(self, value: object, parameter: str = "scale") -> float:
        """Factor of rewards: a number above 0."""
        owner = type(self).__name__
        scale = check_number(value, parameter, owner, above=0)
        if scale > LARGEST_NUMBER:
            raise requirement(parameter, owner, f"no larger than {LARGEST_NUMBER:g}", scale)
        return scale

    def check_means(self, means: Floats) -> None:
        """Refuse means, or ends of a range of means, that the reward distribution cannot have."""

    def refused_means(self, rule: str, means: Floats) -> InvalidInput:
        """The refusal of means, or of the ends of their range."""
        return requirement("mean_range" if self.means is None else "means", type(self).__name__, rule, means.tolist())

    def draw_means(self, rng: np.random.Generator) -> Floats:
        """The arms' means in one replication."""
        if self.means is not None:
            return np.array(self.means)
        return rng.uniform(*(self.mean_range or self.default_range), self.n_arms)

    def draw_traits(self, rng: np.random.Generator) -> AnyArray:
        """Draw the traits of arms (parameters besides the means) of one replication; by default the arms' numbers."""
        return np.arange(self.n_arms)

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """``n`` rewards of each of some arms, given by their means and traits: shape ``(means.size, n)``.

        Do not draw traits here, because rewards may be drawn arm by arm and in parts.
        """
        raise NotImplementedError

    def draw_moved(
        self, means: Floats, traits: AnyArray, level: Floats, shift: Floats, rng: np.random.Generator
    ) -> Floats:
        """A reward of each arm in each round, where means are multiplied by ``level[t]`` and ``shift[t]`` is added."""
        moved = means[:, None] * level + shift
        each = self.draw_rewards(moved.ravel(), np.repeat(traits, level.size, axis=0), 1, rng)
        return each.reshape(moved.shape)

    def moved_support(self, factor: float, shift: float) -> tuple[float, float]:
        """The support with means multiplied and shifted; means that the environment cannot have then are refused."""
        moved = copy.copy(self)
        ends = self.means if self.means is not None else self.mean_range or self.default_range
        new = factor * np.array(ends) + shift
        if self.means is None:
            moved.mean_range = (float(new[0]), float(new[1]))
        else:
            moved.means = tuple(new.tolist())
        moved.check_means(new)
        return moved.support

    def tape(self, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means, and ``tape[arm, i]``, the reward of an arm's pull number ``i``."""
        means, traits = self.draw_world(rng)
        return means, self.checked_rewards(self.draw_rewards(means, traits, horizon, rng))

    @property
    def drawn_by(self) -> str:
        """Way of drawing rewards: by ``"arm"``, as :meth:`draw_arm` does, by ``"round"``, or only on a ``"tape"``."""
        return "arm" if self.has_tape_of(Environment) else "tape"

    def has_tape_of(self, cls: type[Environment]) -> bool:
        """Return whether the class defines the reward table; then rewards can also be drawn per arm or round."""
        return getattr(self.tape, "__func__", None) is cls.tape

    def draw_world(self, rng: np.random.Generator) -> tuple[AnyArray, ...]:
        """Draw the fixed part of a replication: the arms' means and traits, or the action sets of a linear bandit."""
        return self.draw_means(rng), self.draw_traits(rng)

    def draw_arm(self, world: tuple[AnyArray, ...], arm: int, n: int, rng: np.random.Generator) -> Floats:
        """``n`` rewards of one arm."""
        means, traits = (part[arm : arm + 1] for part in world)
        return self.checked_rewards(self.draw_rewards(means, traits, n, rng))[0]

    def checked_rewards(self, rewards: Floats) -> Floats:
        """Rewards as the simulator takes them; a distribution whose draws overflow is refused."""
        tape = np.ascontiguousarray(rewards, dtype=np.float64)
        if not np.isfinite(tape).all():
            raise InvalidInput(f"{self.label} cannot be played: a reward it drew is not a finite number.")
        return tape

    @property
    def offers(self) -> tuple[str, ...]:
        """Kinds of policies that can play: ``"arms"``, ``"actions"``, or both."""
        return ("arms",)

    @property
    def support(self) -> tuple[float, float]:
        """The interval all rewards lie in."""
        return -np.inf, np.inf

    @property
    def label(self) -> str:
        """Name and settings as text, as the command line takes them."""
        values = {name: (getattr(self, name), default) for name, default in self.parameters().items()}
        given = {name: value for name, (value, default) in values.items() if value != default}
        return str(Call(self.origin or self.name, given))

    @classmethod
    def parameters(cls) -> Options:
        """Names and defaults of the options, including those passed on to a base class."""
        known = inspect.signature(cls).parameters.values()
        return {parameter.name: cls.implied.get(parameter.name, parameter.default) for parameter in known}

    @classmethod
    def call_parameters(cls) -> Options:
        """Names and defaults of the options of a call as text, with the range that means come from by default."""
        return {name: cls.default_range if name == "mean_range" else value for name, value in cls.parameters().items()}

    @classmethod
    def from_call(cls, **options: Any) -> Self:
        """Build it from the options of a call as text."""
        return cls(**options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"


def as_numbers(values: object) -> Floats | None:
    """Finite numbers as an array; ``None`` where something is not one: text, a boolean, a date, NaN."""
    try:
        things = np.asarray(values, dtype=object)
        # NumPy counts a length of time among the integers.
        if not all(isinstance(thing, Real) and not isinstance(thing, bool | np.timedelta64) for thing in things.flat):
            return None
        array = things.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if np.isfinite(array).all() else None
