"""Thompson sampling for normal rewards of known variance (the paper's Jeffery-TS)."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, learn, no_rewards


def prepare(params: float, state: State, round_: int) -> float:
    """The noise scale."""
    return params


def score(params: float, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """A draw from ``N(ybar, sigma^2/n)``."""
    n = state.pulls[arm]
    return state.sums[arm] / n + shared / math.sqrt(n) * rng.standard_normal()


KERNEL = Kernel("gaussian_ts", learn=learn, score=score, prepare=prepare)


class GaussianTS(Policy[Label]):
    r"""Thompson sampling with a normal posterior of known noise scale.

    .. math:: \theta \sim N(\bar y, \hat\sigma^2 / n)

    the posterior of a mean under the flat (Jeffreys) prior.

    Assumes normal noise of a known scale. Prefer it if the scale can be trusted and rewards come late or in batches: its
    random draws spread the decisions made meanwhile over the arms.

    Parameters
    ----------
    sigma
        Assumed noise scale.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    The paper calls this Jeffery-TS. It knows the variance; Jeffreys' prior for an unknown variance gives a Student t.

    See Also
    --------
    bandstrap.BernoulliTS : for rewards in [0, 1].
    bandstrap.GaussianTSUnknownVariance : where no scale is known.

    Examples
    --------
    >>> from bandstrap import GaussianTS
    >>> policy = GaussianTS(arms=2, sigma=0.1, rng=0)
    >>> policy.update([0, 1], [0.0, 1.0])
    >>> policy.select()
    1

    References
    ----------
    .. [1] Korda, Kaufmann, Munos. Thompson sampling for one-dimensional exponential family bandits. NeurIPS 2013.
    """

    kernel = KERNEL

    def __init__(self, *, sigma: float = 1.0, **online: Unpack[Online[Label]]) -> None:
        self.sigma = self.positive(sigma, "sigma")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> float:
        """The noise scale."""
        return self.sigma

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)
