"""ReBoot: a bootstrap of the residuals and of two pseudo-residuals that keep it exploring."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.online.epoch_policy import EpochOptions, EpochPolicy, KernelOfEpochs
from bandstrap.policies.online.policy import Label
from bandstrap.policies.states.moments import State, learn


def prepare(params: float, state: State, round_: int) -> float:
    """``2 sigma_a^2``; ``params`` is ``sigma_a``."""
    return 2.0 * params * params


def score(params: float, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """A draw from ``N(ybar, (sum (y - ybar)^2 + 2 (n+2) sigma_a^2)/(n+2)^2)``."""
    size = state.pulls[arm] + 2
    return state.means[arm] + math.sqrt(state.squares[arm] + shared * size) / size * rng.standard_normal()


KERNEL = Kernel("reboot", learn=learn, score=score, prepare=prepare)


class ReBoot(EpochPolicy[Label]):
    r"""Residual bootstrap exploration with Gaussian weights.

    .. math:: \theta = \bar y + \frac{1}{n+2} \sum_{i=1}^{n+2} w_i e_i, \qquad w_i \sim N(0, 1)

    over the residuals ``y_i - ybar`` and two pseudo-residuals ``+- sqrt(n+2) r sigma``. The sum is normal, so no single
    weights are drawn: :math:`\theta \sim N(\bar y, (\sum (y_i - \bar y)^2 + 2 (n+2) r^2 \hat\sigma^2)/(n+2)^2)`.

    Assumes a noise scale, for its pseudo-residuals. Prefer :class:`bandstrap.GaussianTS` if the scale is known; this policy
    is here for comparison.

    Parameters
    ----------
    sigma
        Assumed noise scale.
    r
        Size of the pseudo-residuals in noise scales. The authors advise 1.5 (default) or more. It explores far more than
        Thompson sampling: the spread of its draws is ``sqrt(1 + 2 r^2)`` times as large.
    epochs, epoch_length, discount
        See :class:`bandstrap.policies.online.epoch_policy.EpochPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.GaussianTS : lower regret where ``sigma`` is known.

    Examples
    --------
    >>> from bandstrap import ReBoot
    >>> policy = ReBoot(arms=2, sigma=0.1, rng=0)
    >>> policy.update([0, 1] * 10, [0.0, 1.0] * 10)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Wang, Yu, Hao, Cheng. Residual bootstrap exploration for bandit algorithms. arXiv 2002.08436, 2020.
    """

    kernel = KernelOfEpochs(KERNEL)
    name = "reboot"

    def __init__(self, *, sigma: float = 1.0, r: float = 1.5, **online: Unpack[EpochOptions[Label]]) -> None:
        self.sigma = self.positive(sigma, "sigma")
        self.r = self.positive(r, "r")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Any:
        """Scale of the pseudo-residuals."""
        return self.with_epochs(self.r * self.sigma)
