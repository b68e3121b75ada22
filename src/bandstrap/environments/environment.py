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
        self.means = None if means is None else tuple(float(m) for m in np.atleast_1d(np.asarray(means, dtype=float)))
        if self.means is not None and (not self.means or not np.isfinite(self.means).all()):
            raise requirement("means", owner, "a non-empty sequence of finite numbers", repr(means))
        self.n_arms = len(self.means) if self.means is not None else check_count(n_arms, "n_arms", owner)
        low, high = self.default_range if mean_range is None else mean_range
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise requirement("mean_range", owner, "a pair (low, high) with low <= high", repr(mean_range))
        self.mean_range = None if mean_range is None else (float(low), float(high))
        self.check_means(np.array(self.means if self.means is not None else (low, high)))

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

    def tape(self, horizon: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means, and ``tape[arm, i]``, the reward of an arm's pull number ``i``."""
        means = self.draw_means(rng)
        return means, np.ascontiguousarray(self.draw_rewards(means, horizon, rng), dtype=np.float64)

    @property
    def support(self) -> tuple[float, float]:
        """The interval all rewards lie in."""
        return -np.inf, np.inf

    @property
    def label(self) -> str:
        """Name and settings in one word, as the command line takes it."""
        parameters = inspect.signature(type(self).__init__).parameters.values()
        options = {
            p.name: getattr(self, p.name)
            for p in parameters
            if p.name != "self" and p.kind is not p.VAR_KEYWORD and _differs(getattr(self, p.name), p.default)
        }
        return str(Call(self.name, options))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"


def _differs(value: Any, default: Any) -> bool:
    return value is not default and value != default
