"""Sliding-window UCB: only the last rewards count."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.errors import check_count
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Array, ArrayOfCounts, Counts, Order


class Params(NamedTuple):
    """Noise scale, length of the window and the factor of the logarithm."""

    sigma: float
    window: int
    xi: float


class State(NamedTuple):
    """Pulls of each arm; the last rewards of all and their arms, in a ring; and what they come to, arm by arm."""

    order: Order
    pulls: Counts
    recent: Array
    arms: ArrayOfCounts
    counts: ArrayOfCounts
    sums: Array


def prepare(params: Params, state: State, round_: int) -> float:
    """``2 sigma sqrt(xi log(min(t, window)))``."""
    return 2.0 * params.sigma * math.sqrt(params.xi * math.log(min(round_, params.window)))


def score(params: Params, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """The mean of the arm's rewards in the window plus ``2 sigma sqrt(xi log(min(t, window))/N)``; infinite without any."""
    n = state.counts[arm]
    if n == 0:
        return math.inf
    return state.sums[arm] / n + shared / math.sqrt(n)


@jitable
def sum_anew(state: State) -> None:
    """Add up the rewards in a full window, so that no rounding stays for longer than its rewards."""
    for arm in range(len(state.pulls)):
        state.sums[arm] = 0.0
    for i in range(len(state.recent)):
        state.sums[state.arms[i]] += state.recent[i]


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Put the reward in the place of the oldest."""
    learned = 0
    for k in range(len(state.pulls)):
        learned += state.pulls[k]
    place = learned % params.window
    if learned >= params.window:
        oldest = state.arms[place]
        state.counts[oldest] -= 1
        state.sums[oldest] -= state.recent[place]
    state.recent[place] = reward
    state.arms[place] = arm
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.pulls[arm] += 1
    if place == params.window - 1:
        sum_anew(state)


KERNEL = Kernel("sliding_window_ucb", learn=learn, score=score, prepare=prepare)


class SlidingWindowUCB(Policy[Label]):
    r"""SW-UCB: an upper confidence bound from the latest rewards only.

    .. math:: \bar y_\tau + 2 \hat\sigma \sqrt{\frac{\xi \log(\min(t, \tau))}{N_\tau}}

    with the mean and number of the arm's rewards among the last :math:`\tau` rewards of all arms.

    Assumes sub-Gaussian noise of a known scale, and means that change. Prefer it if means jump. If means are constant, it
    never stops exploring, and any other policy has less regret.

    Parameters
    ----------
    sigma
        Assumed noise scale; half the length of the range of bounded rewards, the paper's ``B/2``.
    window
        ``tau``, at least 2. The default is 500 rewards. The paper's choice for ``c`` changes in ``T`` rounds of rewards in
        [0, 1] is ``2 sqrt(T log(T)/c)``.
    xi
        Factor of the logarithm. The theorem needs more than 1/2; the default is 0.6.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Rounds are counted in rewards learned. An arm without a reward in the window has an infinite index.

    See Also
    --------
    bandstrap.DiscountedUCB : forgets gradually.

    Examples
    --------
    >>> from bandstrap import SlidingWindowUCB
    >>> policy = SlidingWindowUCB(arms=2, sigma=0.1, window=10, rng=0)
    >>> policy.update([0, 1] * 10, [1.0, 0.0] * 5 + [0.0, 1.0] * 5)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Garivier, Moulines. On upper-confidence bound policies for switching bandit problems. ALT 2011.
    """

    kernel = KERNEL
    name = "sliding_window_ucb"

    def __init__(
        self, *, sigma: float = 1.0, window: int = 500, xi: float = 0.6, **online: Unpack[Online[Label]]
    ) -> None:
        self.sigma = self.positive(sigma, "sigma")
        self.window = check_count(window, "window", type(self).__name__, at_least=2)
        self.xi = self.positive(xi, "xi")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.sigma, self.window, self.xi)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: all at zero."""
        counts = np.zeros(n_arms, dtype=np.int64)
        arms = np.zeros(self.window, dtype=np.int64)
        return State(order, counts, np.zeros(self.window), arms, counts.copy(), np.zeros(n_arms))
