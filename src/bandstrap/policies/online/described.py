"""Description of a policy of arms or actions: name, settings, direction, checks, schedule."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Hashable, Sequence
from typing import Any, ClassVar, Literal, Protocol, Self, TypeGuard, get_args

import numpy as np

from bandstrap.basics.arrays import AnyArray
from bandstrap.basics.calls import Call
from bandstrap.basics.constructors import Declared
from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import brief, check_choice, check_flag, check_number, requirement
from bandstrap.policies.kernels.schedule import Alpha, Schedule, make_schedule

# What every constructor of a policy takes: whether rewards are to be large or small, and the policy's randomness.
Direction = Literal["max", "min"]
Randomness = np.random.Generator | int | None
# Parameters that make a policy live, and are no part of what it is.
LIVE_ONLY = ("arms", "rng", "compiled")
# One reward; 0 and 1 may come as booleans.
Reward = float | np.integer[Any] | np.floating[Any] | np.bool_


class NumpyReadable(Protocol):
    """Object that NumPy can read: an array, a series."""

    def __array__(self) -> AnyArray:
        """Convert to an array."""


# What ``update`` is told: a reward, or one for each of several arms or actions.
Rewards = Reward | Sequence[Reward] | NumpyReadable


def has_axes(values: Any) -> TypeGuard[Collection[object]]:
    """Return whether these are several values, even if they form no array; bytes are text, not values."""
    if isinstance(values, bytes | bytearray | memoryview):
        return False
    try:
        return np.ndim(values) > 0
    except ValueError:  # of different lengths
        return True


class Described(metaclass=Declared):
    """Name and settings of a policy, and its requirements on rewards."""

    kernel: Kernel
    name: ClassVar[str]
    # What the constructors of all policies of a kind take beside a policy's own parameters.
    online_only: ClassVar[tuple[str, ...]]
    # Attributes of the parameters whose names are those of methods.
    kept_as: ClassVar[dict[str, str]] = {}
    # The interval rewards must lie in; a policy with a range says so here or per object.
    support: tuple[float, float] = (-np.inf, np.inf)
    # The largest reward, in size, that is taken live: squares are summed, and must not overflow.
    largest_reward: ClassVar[float] = 1e150
    # Labels of the arms of a live policy that plays arms.
    arms: tuple[Hashable, ...] = ()
    # Whether a live policy runs as machine code.
    compiled: bool = False
    # What the simulator must hand it: arms alone, or the features of actions.
    plays: ClassVar[str]
    n_rewards: int
    # Where a class from a user's own file was found, as it was named.
    origin: str | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, direction: Direction) -> None:
        self.kernel.check_played(type(self).__name__, self.plays)
        self.direction = check_choice(direction, "direction", type(self).__name__, get_args(Direction))

    def make_params(self, horizon: int | None) -> object:
        """Parameters that the compiled functions take: a NamedTuple of numbers and arrays."""
        raise NotImplementedError

    def check_size(self, size: int) -> None:
        """Refuse settings whose state exceeds memory, for ``size`` arms or for actions with ``size`` features."""

    def transform(self, reward: float) -> float:
        """The reward as the kernel sees it: larger is better."""
        if self.direction == "max":
            return reward
        low, high = self.support
        return low + high - reward if np.isfinite(low) and np.isfinite(high) else -reward

    @classmethod
    def constructors(cls) -> list[type]:
        """The class of the policy, and the base class of its kind."""
        parts = Declared.constructors(cls)
        root = next((i for i, part in enumerate(parts) if "online_only" in vars(part)), 0)
        return [parts[0], *parts[max(root, 1) :]]

    @classmethod
    def parameters(cls) -> dict[str, object]:
        """Names and defaults of the policy's own parameters."""
        known = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in known if parameter.name not in cls.online_only}

    @classmethod
    def from_call(cls, **options: Any) -> Self:
        """Build it from the options of a call as text; options of live policies, and ``direction``, are not accepted."""
        for option, value in options.items():
            if option in LIVE_ONLY or (option == "direction" and value != "max"):
                rule = "left out of a simulation, which sets the arms and random numbers itself and maximises rewards"
                raise requirement(option, cls.__name__, rule, brief(value))
        return cls(**options)

    def settings(self) -> dict[str, object]:
        """The parameters that differ from their defaults, except those of live policies."""
        known = inspect.signature(type(self)).parameters.values()
        described = {parameter.name: parameter.default for parameter in known if parameter.name not in LIVE_ONLY}
        values = {name: self.setting(name) for name in described}
        return {name: value for name, value in values.items() if value != described[name]}

    def setting(self, parameter: str) -> object:
        """The value of a parameter."""
        return getattr(self, self.kept_as.get(parameter, parameter))

    @property
    def label(self) -> str:
        """Name and settings as text, as the command line takes them."""
        return str(Call(self.origin or self.name, self.settings()))

    def round_params(self, params: object) -> object:
        """Parameters of this round, online: ``params``, unless the error probability is a user's function."""
        return self.make_params(None) if callable(getattr(self, "alpha", None)) else params

    def __repr__(self) -> str:
        items = self.settings()
        if self.arms:
            items["arms"] = list(self.arms)
        if self.compiled:
            items["compiled"] = True
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in items.items())})"

    @classmethod
    def positive(cls, value: object, parameter: str) -> float:
        """A finite number above 0."""
        return check_number(value, parameter, cls.__name__, above=0)

    @classmethod
    def not_negative(cls, value: object, parameter: str) -> float:
        """A finite number of at least 0."""
        return check_number(value, parameter, cls.__name__, at_least=0)

    def limit_range(self, check_range: bool, lower: float = 0.0, upper: float = 1.0) -> None:
        """Set ``check_range``: if true, rewards outside ``[lower, upper]`` are refused."""
        self.check_range = check_flag(check_range, "check_range", type(self).__name__)
        if self.check_range:
            self.support = (lower, upper)

    def support_up_to(self, upper: float) -> tuple[float, float]:
        """The interval of rewards that are at most ``upper``, or of costs that are at least ``-upper``."""
        return (-np.inf, upper) if self.direction == "max" else (-upper, np.inf)

    def check_reward(self, reward: object, parameter: str = "reward", owner: str | None = None) -> float:
        """A reward as a float inside the support; the refusal names this parameter of ``update``, or of another owner."""
        low, high = self.support
        largest = self.largest_reward
        if type(reward) is float and low <= reward <= high and -largest <= reward <= largest:
            return reward  # most are, and need no words
        owner = owner or f"{type(self).__name__}.update"
        value = check_number(float(reward) if isinstance(reward, bool | np.bool_) else reward, parameter, owner)
        if not low <= value <= high:
            raise requirement(parameter, owner, f"inside [{low:g}, {high:g}]", value)
        if abs(value) > largest:
            raise requirement(parameter, owner, f"no larger than {largest:g} in size", value)
        return value

    def set_schedule(self, alpha: Alpha, tau: float, horizon: int | None) -> None:
        """Check and store the parameters of the schedule."""
        self.alpha, self.tau, self.horizon = alpha, tau, horizon
        # A function is called round by round, and a horizon may come with the simulation; what is given is checked now.
        rule = "1/(t+1)" if callable(alpha) else alpha
        make_schedule(rule, tau, 2 if horizon is None else horizon, type(self).__name__)

    def schedule_for(self, horizon: int | None) -> Schedule:
        """The schedule of the kernel; a simulation's ``horizon`` replaces a missing one, online there is no default."""
        owner = type(self).__name__
        alpha = self.alpha
        if callable(alpha):
            if horizon is not None:
                raise requirement("alpha", owner, "a rule or a number in a simulation", "a callable")
            alpha = alpha(self.n_rewards + 1)
        return make_schedule(alpha, self.tau, self.horizon or horizon, owner)
