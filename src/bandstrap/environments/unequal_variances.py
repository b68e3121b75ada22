"""Normal rewards whose noise differs from arm to arm."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.environments.environment import ArmOptions, Environment, NumberSequence, Uniform


class UnequalVariances(Environment):
    """Normal rewards; each replication assigns the noise scales to the arms at random.

    Means are uniform in (-1, 1) unless given.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.
    scale_range
        Smallest and largest standard deviation of an arm. The other standard deviations lie between them, in geometric
        progression.

    Examples
    --------
    >>> from bandstrap.environments import UnequalVariances
    >>> UnequalVariances(n_arms=3, scale_range=(0.5, 2)).scales.tolist()
    [0.5, 1.0, 2.0]
    """

    def __init__(
        self, means: NumberSequence | None = None, *, scale_range: Uniform = (0.1, 2.0), **options: Unpack[ArmOptions]
    ) -> None:
        super().__init__(means, **options)
        self.scale_range = self.checked_pair(scale_range, "scale_range", above=0)

    @property
    def scales(self) -> Floats:
        """The noise scales, ascending."""
        return np.geomspace(*self.scale_range, self.n_arms)

    def draw_traits(self, rng: np.random.Generator) -> Floats:
        """The noise scales, in random order."""
        return rng.permutation(self.scales)

    def draw_rewards(self, means: Floats, traits: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Normal of the given mean and scale."""
        return means[:, None] + traits[:, None] * rng.standard_normal((means.size, n))
