"""Discounted UCB: old rewards count less and less."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, inlined
from bandstrap.errors import check_number
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, Numbers, Order

# What is left of an arm's pulls is never less than this, so that no number is divided by 0.
LEAST_WEIGHT = 1e-300


class Params(NamedTuple):
    """Noise scale, logarithm of the discount and the factor of the logarithm of rounds."""

    sigma: float
    log_discount: float
    xi: float


class State(NamedTuple):
    """State of each arm: pulls, the round of its last reward, and pulls and sum of rewards as they counted then."""

    order: Order
    pulls: Counts
    last: Counts
    weights: Numbers
    sums: Numbers


class Shared(NamedTuple):
    """Values shared by all arms: the round, and ``4 sigma sqrt(xi log n)`` with the discounted pulls of all."""

    round_: int
    width: float


@inlined
def kept(params: Params, state: State, arm: int, round_: int) -> float:
    """The part of an arm's pulls that counts in a round."""
    return math.exp(params.log_discount * (round_ - state.last[arm]))


def prepare(params: Params, state: State, round_: int) -> Shared:
    """Count all discounted pulls."""
    total = 0.0
    for arm in range(len(state.pulls)):
        total += state.weights[arm] * kept(params, state, arm, round_)
    return Shared(round_, 4.0 * params.sigma * math.sqrt(params.xi * math.log(max(total, 1.0))))


def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """The discounted mean plus ``4 sigma sqrt(xi log(n)/N)``."""
    weight = state.weights[arm] * kept(params, state, arm, shared.round_)
    return state.sums[arm] / state.weights[arm] + shared.width / math.sqrt(max(weight, LEAST_WEIGHT))


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Discount what the arm had, and add the pull and the reward."""
    part = kept(params, state, arm, round_)
    state.weights[arm] = part * state.weights[arm] + 1.0
    state.sums[arm] = part * state.sums[arm] + reward
    state.last[arm] = round_
    state.pulls[arm] += 1


KERNEL = Kernel("discounted_ucb", learn=learn, score=score, prepare=prepare)


class DiscountedUCB(Policy[Label]):
    r"""D-UCB: an upper confidence bound in which older rewards count less.

    .. math:: \frac{\sum_s \gamma^{t - s} y_s}{N} + 4 \hat\sigma \sqrt{\frac{\xi \log n}{N}},
        \qquad N = \sum_s \gamma^{t - s}, \quad n = \sum_k N_k

    with sums over the rounds ``s`` before ``t`` in which the arm was pulled.

    Assumes sub-Gaussian noise of a known scale, and means that change. Prefer it if means drift. If means are constant, it
    never stops exploring, and any other policy has less regret.

    Parameters
    ----------
    sigma
        Assumed noise scale; half the length of the range of bounded rewards, the paper's ``B/2``.
    discount
        ``gamma``. With the default, 0.995, a reward counts half after 138 rounds. The paper's choice for ``c`` changes in
        ``T`` rounds of rewards in [0, 1] is ``1 - sqrt(c/T)/4``.
    xi
        Factor of the logarithm. The theorem needs more than 1/2; the default is 0.6.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Rounds are counted in rewards learned, and the last reward counts ``gamma`` when the next arm is chosen. The width is
    twice that of :class:`bandstrap.SlidingWindowUCB`, as in the paper.

    See Also
    --------
    bandstrap.SlidingWindowUCB : forgets at once.

    Examples
    --------
    >>> from bandstrap import DiscountedUCB
    >>> policy = DiscountedUCB(arms=2, sigma=0.1, rng=0)
    >>> policy.update([0, 1] * 10, [1.0, 0.0] * 5 + [0.0, 1.0] * 5)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Garivier, Moulines. On upper-confidence bound policies for switching bandit problems. ALT 2011.
    """

    kernel = KERNEL
    name = "discounted_ucb"

    def __init__(
        self, *, sigma: float = 1.0, discount: float = 0.995, xi: float = 0.6, **online: Unpack[Online[Label]]
    ) -> None:
        self.sigma = self.positive(sigma, "sigma")
        self.discount = check_number(discount, "discount", type(self).__name__, above=0, below=1)
        self.xi = self.positive(xi, "xi")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.sigma, math.log(self.discount), self.xi)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: all at zero."""
        none = np.zeros(n_arms, dtype=np.int64)
        return State(order, none, none.copy(), np.zeros(n_arms), np.zeros(n_arms))
