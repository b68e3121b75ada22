"""Rewards as skewed as waiting times: exponential, and the same mirrored."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.environments.environment import Environment, Uniform


class Exponential(Environment):
    """Exponential rewards, as skewed as waiting times: an arm's standard deviation is its mean.

    Means are uniform in (0.5, 1.5) unless given.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import Exponential
    >>> means, rewards = Exponential([1.0, 2.0]).tape(3, np.random.default_rng(0))
    >>> bool((rewards > 0).all())
    True
    """

    default_range: ClassVar[Uniform] = (0.5, 1.5)

    def check_means(self, means: Floats) -> None:
        """Positive."""
        if (means <= 0).any():
            raise self.refused_means("greater than 0", means)

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """Exponential of the given mean."""
        return means[:, None] * rng.standard_exponential((means.size, n))

    @property
    def support(self) -> tuple[float, float]:
        """No upper end."""
        return 0.0, np.inf


class MirroredExponential(Environment):
    """Losses with a long tail: the negative of exponential numbers, an arm's standard deviation the size of its mean.

    Most rewards are a little above the mean and a few far below it, as with latencies and costs whose sign is changed.
    Means are uniform in (-1.5, -0.5) unless given; the best arm has the least spread.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import MirroredExponential
    >>> means, rewards = MirroredExponential([-1.0, -2.0]).tape(3, np.random.default_rng(0))
    >>> bool((rewards < 0).all())
    True
    """

    default_range: ClassVar[Uniform] = (-1.5, -0.5)

    def check_means(self, means: Floats) -> None:
        """Negative."""
        if (means >= 0).any():
            raise self.refused_means("less than 0", means)

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """Exponential of the given mean, which is negative."""
        return means[:, None] * rng.standard_exponential((means.size, n))

    @property
    def support(self) -> tuple[float, float]:
        """No lower end."""
        return -np.inf, 0.0
