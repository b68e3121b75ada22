"""Counts: Poisson."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.environments.environment import Environment, Uniform

# A count must fit into 64 bits with its deviation; NumPy draws no larger means.
LARGEST_MEAN = 9e18


class Poisson(Environment):
    """Poisson rewards, such as counts of clicks, calls or goals: an arm's variance is its mean.

    Means are uniform in (0.5, 1.5) unless given.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import Poisson
    >>> means, rewards = Poisson([0.0, 40.0]).tape(3, np.random.default_rng(0))
    >>> rewards[0].tolist()
    [0.0, 0.0, 0.0]
    """

    default_range: ClassVar[Uniform] = (0.5, 1.5)

    def check_means(self, means: Floats) -> None:
        """Means at which counts can be drawn without overflow."""
        if ((means < 0) | (means > LARGEST_MEAN)).any():
            raise self.refused_means(f"between 0 and {LARGEST_MEAN:g}", means)

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """Poisson of the given mean."""
        return rng.poisson(means[:, None], (means.size, n)).astype(np.float64)

    @property
    def support(self) -> tuple[float, float]:
        """No upper end."""
        return 0.0, np.inf
