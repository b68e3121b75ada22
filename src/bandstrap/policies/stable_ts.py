"""Stable Thompson sampling: a wider posterior, so that intervals computed afterwards hold."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.policies.gaussian_ts import KERNEL
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, no_rewards


class StableTS(Policy[Label]):
    r"""Thompson sampling with a posterior whose variance is inflated, so that means of arms stay normal.

    .. math:: \theta \sim N(\bar y, \gamma \hat\sigma^2 / n)

    Assumes normal noise of a known scale. Prefer it to report the means of all arms with intervals at the end of the
    experiment: under :class:`bandstrap.GaussianTS` the means are not normal.

    Parameters
    ----------
    sigma
        Assumed noise scale.
    inflation
        Factor of the variance, the paper's ``gamma_T``. It should grow with the number of rounds T, faster than
        ``log log T`` and more slowly than ``sqrt(log T)``. The default, 2.5, is ``(log T)^0.4`` for 20,000 rounds. With 1
        this is :class:`bandstrap.GaussianTS`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    The theorem of [1]_ is for two arms and normal rewards of variance 1. The pulls of an arm, divided by a non-random
    number, tend to 1. The theorem of [2]_ is for any number of arms. The regret grows by about the factor of the inflation.

    See Also
    --------
    bandstrap.UCB1 : stable as well, and not random.

    Examples
    --------
    >>> from bandstrap import StableTS
    >>> policy = StableTS(arms=2, sigma=0.1, rng=0)
    >>> policy.update([0, 1], [0.0, 1.0])
    >>> policy.select()
    1

    References
    ----------
    .. [1] Halder, Pan, Khamaru. Stable Thompson sampling: valid inference via variance inflation. arXiv 2505.23260, 2025.
    .. [2] Yan, Zhong. Optimism stabilizes Thompson sampling for adaptive inference. arXiv 2602.06014, 2026.
    """

    kernel = KERNEL
    name = "stable_ts"

    def __init__(self, *, sigma: float = 1.0, inflation: float = 2.5, **online: Unpack[Online[Label]]) -> None:
        self.sigma = self.positive(sigma, "sigma")
        self.inflation = self.positive(inflation, "inflation")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> float:
        """The scale of the posterior."""
        return float(self.sigma * self.inflation**0.5)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)
