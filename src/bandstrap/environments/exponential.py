"""Skewed rewards without an upper end: exponential."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bandstrap.arrays import Floats
from bandstrap.environments.environment import Environment, Uniform
from bandstrap.errors import requirement


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
            raise requirement("means", "Exponential", "greater than 0", means.tolist())

    def draw_rewards(self, means: Floats, horizon: int, rng: np.random.Generator) -> Floats:
        """Exponential of the given mean."""
        return means[:, None] * rng.standard_exponential((means.size, horizon))

    @property
    def support(self) -> tuple[float, float]:
        """No upper end."""
        return 0.0, np.inf
