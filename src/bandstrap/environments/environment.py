"""What every environment shares: means fixed or drawn, a tape of rewards, the registry."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bandstrap.calls import Call
from bandstrap.errors import Floats, check_count, requirement

ENVIRONMENTS: dict[str, type[Environment]] = {}
# Law of the means as text: uniform between two ends.
Uniform = tuple[float, float]


class Environment:
    """Independent arms whose rewards are drawn before play.

    Parameters
    ----------
    means
        The arms' means, fixed. Without them ``n_arms`` means are drawn anew in each replication, uniformly from
        ``mean_range``.
    n_arms
        Number of arms when means are drawn.
    mean_range
        Interval the means are drawn from.
    """

    name: ClassVar[str]
    default_range: ClassVar[Uniform] = (-1.0, 1.0)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        ENVIRONMENTS[cls.name] = cls

    def __init__(
        self, means: Sequence[float] | None = None, *, n_arms: int = 5, mean_range: Uniform | None = None
    ) -> None:
        owner = type(self).__name__
        self.means = None if means is None else self._checked_means(means)
        self.n_arms = len(self.means) if self.means is not None else check_count(n_arms, "n_arms", owner)
        self.mean_range = None if mean_range is None else self._checked_range(mean_range)
        low, high = self.mean_range or self.default_range
        self.check_means(np.array(self.means if self.means is not None else (low, high)))

    def _checked_means(self, means: Any) -> tuple[float, ...]:
        try:
            array = np.asarray(means, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
            raise requirement("means", type(self).__name__, "a non-empty sequence of finite numbers", repr(means))
        return tuple(array.tolist())

    def _checked_range(self, ends: Any) -> Uniform:
        try:
            low, high = (float(end) for end in ends)
        except (TypeError, ValueError):
            low, high = np.nan, np.nan
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise requirement("mean_range", type(self).__name__, "a pair (low, high) with low <= high", repr(ends))
        return low, high

    def check_means(self, means: Floats) -> None:
        """Refuse means that the reward law cannot have."""

    def draw_means(self, rng: np.random.Generator) -> Floats:
        """The arms' means in one replication."""
        if self.means is not None:
            return np.array(self.means)
        return rng.uniform(*(self.mean_range or self.default_range), self.n_arms)

    def draw_rewards(self, means: Floats, horizon: int, rng: np.random.Generator) -> Floats:
        """Rewards of shape ``(n_arms, horizon)``."""
        raise NotImplementedError

    def tape(self, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means, and ``tape[arm, i]``, the reward of an arm's pull number ``i``."""
        means = self.draw_means(rng)
        return means, np.ascontiguousarray(self.draw_rewards(means, horizon, rng), dtype=np.float64)

    @property
    def offers(self) -> tuple[str, ...]:
        """Who can play: policies of ``"arms"``, of ``"actions"``, or both."""
        return ("arms",)

    @property
    def support(self) -> tuple[float, float]:
        """The interval all rewards lie in."""
        return -np.inf, np.inf

    @property
    def label(self) -> str:
        """Name and settings in one word, as the command line takes it."""
        values = {name: (getattr(self, name), default) for name, default in self.parameters().items()}
        return str(Call(self.name, {name: value for name, (value, default) in values.items() if value != default}))

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Names and defaults of the options, those passed on to a base class included."""
        found: dict[str, Any] = {}
        for part in cls.__mro__:
            own = inspect.signature(vars(part)["__init__"]).parameters.values() if "__init__" in vars(part) else ()
            for parameter in own:
                if parameter.name != "self" and parameter.kind is not parameter.VAR_KEYWORD:
                    found.setdefault(parameter.name, parameter.default)
            if own and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in own):
                break
        return found

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"
