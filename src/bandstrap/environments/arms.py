"""Arms given by distributions or by data: any SciPy law, or rewards that were observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.environments.environment import Environment
from bandstrap.errors import Floats, check_sample, requirement


class Arms(Environment):
    """One frozen ``scipy.stats`` distribution an arm.

    Examples
    --------
    >>> from scipy import stats
    >>> from bandstrap.environments import Arms
    >>> Arms([stats.norm(0, 1), stats.gamma(2)]).means
    (0.0, 2.0)
    """

    def __init__(self, distributions: Sequence[Any]) -> None:
        self.distributions = tuple(distributions)
        rule = "a non-empty sequence of frozen scipy.stats distributions with a finite mean"
        if not self.distributions or not all(hasattr(d, "rvs") and hasattr(d, "mean") for d in self.distributions):
            raise requirement("distributions", "Arms", rule, repr(distributions))
        means = [float(d.mean()) for d in self.distributions]
        if not np.isfinite(means).all():
            raise requirement("distributions", "Arms", rule, f"means {means}")
        super().__init__(means)

    @property
    def support(self) -> tuple[float, float]:
        """The hull of the distributions' supports."""
        ends = [d.support() for d in self.distributions]
        return float(min(low for low, _ in ends)), float(max(high for _, high in ends))

    def draw_rewards(self, means: Floats, horizon: int, rng: np.random.Generator) -> Floats:
        """Rewards of each distribution."""
        return np.stack([d.rvs(size=horizon, random_state=rng) for d in self.distributions])

    @property
    def label(self) -> str:
        """The laws' names."""
        return "arms:" + ",".join(d.dist.name for d in self.distributions)


class Empirical(Environment):
    """Rewards drawn with replacement from rewards that were observed; the means are those of the data.

    Parameters
    ----------
    rewards
        Observed rewards of each arm, by label.

    Examples
    --------
    >>> from bandstrap.environments import Empirical
    >>> Empirical({"old": [0, 0, 1], "new": [1, 2]}).means
    (0.3333333333333333, 1.5)
    """

    def __init__(self, rewards: Mapping[Any, ArrayLike]) -> None:
        if not isinstance(rewards, Mapping) or not rewards:
            raise requirement("rewards", "Empirical", "a non-empty mapping from arm to rewards", repr(rewards))
        self.rewards = {label: check_sample(values, "Empirical").ravel() for label, values in rewards.items()}
        super().__init__([float(values.mean()) for values in self.rewards.values()])

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest reward observed."""
        values = np.concatenate(list(self.rewards.values()))
        return float(values.min()), float(values.max())

    def draw_rewards(self, means: Floats, horizon: int, rng: np.random.Generator) -> Floats:
        """Draws with replacement."""
        return np.stack([values[rng.integers(values.size, size=horizon)] for values in self.rewards.values()])

    @property
    def label(self) -> str:
        """The arms' labels."""
        return "empirical:" + ",".join(str(label) for label in self.rewards)
