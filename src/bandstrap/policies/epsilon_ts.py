"""Thompson sampling that draws seldom: an arm's mean, or now and then a draw from its posterior."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import requirement
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, learn, no_rewards


class Params(NamedTuple):
    """Noise scale, and the probability of a draw, 0 for ``1/K``."""

    sigma: float
    epsilon: float


class Shared(NamedTuple):
    """Values shared by all arms in a round."""

    sigma: float
    epsilon: float


def prepare(params: Params, state: State, round_: int) -> Shared:
    """Noise scale, and the probability of a draw."""
    return Shared(params.sigma, params.epsilon if params.epsilon > 0.0 else 1.0 / len(state.pulls))


def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """A draw from ``N(ybar, sigma^2/n)`` with probability epsilon, else ``ybar``."""
    n = state.pulls[arm]
    mean = state.sums[arm] / n
    if rng.random() >= shared.epsilon:
        return mean
    return mean + shared.sigma / math.sqrt(n) * rng.standard_normal()


KERNEL = Kernel("epsilon_ts", learn=learn, score=score, prepare=prepare)


class EpsilonTS(Policy[Label]):
    r"""Thompson sampling with less exploration: each arm draws from its posterior only with a small probability.

    .. math:: a_k = \begin{cases} \theta_k \sim N(\bar y_k, \hat\sigma^2/n_k) & \text{with probability } \epsilon,\\
        \bar y_k & \text{else,} \end{cases}

    independently for each arm; the arm with the highest :math:`a_k` is pulled.

    Assumes normal noise of a known scale. Prefer it to :class:`bandstrap.GaussianTS` if draws are costly or arms are many:
    its regret has the best order also in the worst case.

    Parameters
    ----------
    sigma
        Assumed noise scale.
    epsilon
        Probability of a draw, above 0 and at most 1. By default ``1/K``, for which the paper's theorem gives the best order
        both for a fixed problem and in the worst case. With 1 this is :class:`bandstrap.GaussianTS`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    If no posterior is drawn, the leader is pulled. After bad luck the best arm waits longer for its next pull than under
    Thompson sampling: runs of large regret are more frequent.

    See Also
    --------
    bandstrap.GaussianTS : draws for every arm in every round.

    Examples
    --------
    >>> from bandstrap import EpsilonTS
    >>> policy = EpsilonTS(arms=2, sigma=0.1, rng=0)
    >>> policy.update([0, 1], [0.0, 1.0])
    >>> policy.select()
    1

    References
    ----------
    .. [1] Jin, Yang, Xiao, Xu. Thompson sampling with less exploration is fast and optimal. ICML 2023, Algorithm 1.
    """

    kernel = KERNEL
    name = "epsilon_ts"

    def __init__(self, *, sigma: float = 1.0, epsilon: float | None = None, **online: Unpack[Online[Label]]) -> None:
        self.sigma = self.positive(sigma, "sigma")
        self.epsilon = None if epsilon is None else self.positive(epsilon, "epsilon")
        if self.epsilon is not None and self.epsilon > 1.0:
            raise requirement("epsilon", type(self).__name__, "above 0 and at most 1", epsilon)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.sigma, self.epsilon or 0.0)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)
