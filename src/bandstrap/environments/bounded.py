"""Rewards in [0, 1]: Bernoulli and Beta."""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.environments.environment import ArmOptions, Environment, NumberSequence, Uniform
from bandstrap.errors import check_number, requirement


class UnitInterval(Environment):
    """Rewards in [0, 1]; means uniform in (0.25, 0.75) unless given.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.
    """

    default_range: ClassVar[Uniform] = (0.25, 0.75)

    @property
    def support(self) -> tuple[float, float]:
        """[0, 1]."""
        return 0.0, 1.0


class Bernoulli(UnitInterval):
    """Rewards 0 or 1; means uniform in (0.25, 0.75) unless given.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import Bernoulli
    >>> means, rewards = Bernoulli([0.2, 0.8]).tape(1000, np.random.default_rng(0))
    >>> np.unique(rewards).tolist()
    [0.0, 1.0]
    """

    def check_means(self, means: Floats) -> None:
        """Probabilities."""
        if ((means < 0) | (means > 1)).any():
            raise self.refused_means("between 0 and 1", means)

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """One with probability ``mean``."""
        return (rng.random((means.size, n)) < means[:, None]).astype(np.float64)


# Less than this times a mean may be no number above 0.
SMALLEST_V = 1e-300


class Beta(UnitInterval):
    """Rewards from ``Beta(v mean, v (1 - mean))``, of variance ``mean (1 - mean)/(v + 1)``.

    Means are uniform in (0.25, 0.75) unless given.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.
    v
        Concentration, more than 0; the default is the paper's.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import Beta
    >>> means, rewards = Beta([0.2, 0.8]).tape(1000, np.random.default_rng(0))
    >>> bool(((rewards >= 0) & (rewards <= 1)).all())
    True
    """

    def __init__(self, means: NumberSequence | None = None, *, v: float = 8.0, **options: Unpack[ArmOptions]) -> None:
        self.v = check_number(v, "v", "Beta", at_least=SMALLEST_V)
        super().__init__(means, **options)

    def check_means(self, means: Floats) -> None:
        """Refuse means that are not strictly between the ends."""
        if ((means <= 0) | (means >= 1)).any():
            raise self.refused_means("strictly between 0 and 1", means)
        shapes = self.v * means
        if not ((shapes > 0) & (self.v - shapes > 0)).all():
            raise requirement("v", "Beta", "large enough that 'v' times a mean is more than 0", self.v)

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """Beta of the given mean."""
        shape = self.v * means[:, None]
        return rng.beta(shape, self.v - shape, (means.size, n))
