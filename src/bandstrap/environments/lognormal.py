"""Skewed rewards with a tail heavier than any exponential: lognormal."""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.environments.environment import ArmOptions, Environment, NumberSequence, Uniform
from bandstrap.errors import check_number


class Lognormal(Environment):
    r"""Lognormal rewards, such as revenue or file sizes: their logarithm is normal with standard deviation ``log_scale``.

    .. math:: \text{reward} = \text{mean} \cdot \exp(s Z - s^2/2), \qquad Z \sim N(0, 1), \quad s = \text{log\_scale}

    An arm's standard deviation is ``sqrt(exp(s^2) - 1)`` times its mean, 1.31 times by default. Means are uniform in
    (0.5, 1.5) unless given.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.
    log_scale
        Standard deviation of a reward's logarithm, more than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import Lognormal
    >>> means, rewards = Lognormal([1.0, 2.0], log_scale=0.5).tape(3, np.random.default_rng(0))
    >>> bool((rewards > 0).all())
    True
    """

    default_range: ClassVar[Uniform] = (0.5, 1.5)

    def __init__(
        self, means: NumberSequence | None = None, *, log_scale: float = 1.0, **options: Unpack[ArmOptions]
    ) -> None:
        self.log_scale = check_number(log_scale, "log_scale", "Lognormal", above=0)
        super().__init__(means, **options)

    def check_means(self, means: Floats) -> None:
        """Positive."""
        if (means <= 0).any():
            raise self.refused_means("greater than 0", means)

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """The exponential of a normal number, of mean 1, times the arm's mean."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused where rewards are checked
            exponents = self.log_scale * (rng.standard_normal((means.size, n)) - self.log_scale / 2)
            rewards: Floats = means[:, None] * np.exp(exponents)
        return rewards

    @property
    def support(self) -> tuple[float, float]:
        """No upper end."""
        return 0.0, np.inf
