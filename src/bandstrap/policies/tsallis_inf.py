"""Tsallis-INF: arms drawn with probabilities that hold against an adversary and against chance."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, Numbers, Order, Path

# Newton's method comes down to the root from above, and its steps are squared in the end.
MOST_STEPS = 60
CLOSE = 1e-13
# A loss is divided by no less than this: rewards of arms that were not drawn by these probabilities would overflow.
LEAST_PROBABILITY = 1e-12


class State(NamedTuple):
    """Pulls and estimated losses of each arm, the order, and each arm's probability when it was drawn last, 0 before."""

    order: Order
    pulls: Counts
    sums: Numbers
    chances: Path


@jitable
def normaliser(losses: Floats, lowest: float, round_: int) -> float:
    """The distance ``u`` with ``sum t/(L - min L + u)^2 = 1``.

    The sum is convex and falls with ``u``, and is at least 1 at ``sqrt(t)``: from there Newton's method rises to the root.
    """
    distance = math.sqrt(round_)
    for _ in range(MOST_STEPS):
        total = 0.0
        slope = 0.0
        for arm in range(len(losses)):
            inverse = 1.0 / (losses[arm] - lowest + distance)
            total += round_ * inverse * inverse
            slope += 2.0 * round_ * inverse * inverse * inverse
        step = (total - 1.0) / slope
        distance += step
        if step <= CLOSE * distance:
            break
    return distance


@jitable
def lowest_of(losses: Floats) -> float:
    """The lowest estimated loss."""
    lowest = math.inf
    for arm in range(len(losses)):
        lowest = min(lowest, losses[arm])
    return lowest


def choose(params: int, state: State, round_: int, rng: np.random.Generator) -> int:
    """An arm by its probability, which is noted; the last takes what rounding leaves."""
    lowest = lowest_of(state.sums)
    distance = normaliser(state.sums, lowest, round_)
    left = rng.random()
    arm = 0
    while True:
        gap = state.sums[arm] - lowest + distance
        chance = round_ / (gap * gap)
        left -= chance
        if left < 0.0 or arm == len(state.sums) - 1:
            state.chances[arm] = chance
            return arm
        arm += 1


def learn(params: int, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Add the loss over the probability of the arm; ``sums`` are estimated losses."""
    chance = state.chances[arm]
    if chance == 0.0:  # it was not drawn
        lowest = lowest_of(state.sums)
        gap = state.sums[arm] - lowest + normaliser(state.sums, lowest, round_)
        chance = round_ / (gap * gap)
    state.pulls[arm] += 1
    state.sums[arm] += (1.0 - reward) / max(chance, LEAST_PROBABILITY)


KERNEL = Kernel("tsallis_inf", learn=learn, choose=choose)


class TsallisINF(Policy[Label]):
    r"""Tsallis-INF: online mirror descent, for adversarial and for stochastic rewards.

    .. math:: P(\text{arm } k) = \frac{t}{(\hat L_k - x)^2}, \qquad x < \min_k \hat L_k
        \text{ such that they sum to } 1

    with estimated losses :math:`\hat L`. A reward ``y`` of an arm adds ``(1 - y)`` divided by the arm's probability to its
    loss.

    Assumes rewards in [0, 1], and nothing else: even an adversary who knows the policy may choose them. Prefer it if
    rewards may change in any way and the best fixed arm is the benchmark. For random rewards other policies have far less
    regret.

    Parameters
    ----------
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    This is the policy with exponent 1/2, learning rates ``1/sqrt(t)``, and losses estimated by importance weighting. Each
    arm is pulled once first, which the paper does not require. A loss is divided by the arm's probability when
    :meth:`select` last drew it, among the arms available then; smaller probabilities count as 1e-12. The loss of an arm
    never drawn is divided by its probability among all arms at the time of learning. This also applies to live experiments,
    which draw the arms themselves: there losses are overestimated without limit if a good arm is paused or retired.

    A late reward, or one from elsewhere, was drawn with another probability. Then the estimate is biased, and the theorem
    does not hold. A new arm has no losses yet, and gets nearly all pulls until it has some.

    See Also
    --------
    bandstrap.MaillardSampling : probabilities in closed form for random rewards.

    Examples
    --------
    >>> from bandstrap import TsallisINF
    >>> policy = TsallisINF(arms=["a", "b"], rng=0)
    >>> policy.update(["a", "b"], [0.0, 1.0])
    >>> policy.weights()["b"] > 0.6
    True

    References
    ----------
    .. [1] Zimmert, Seldin. An optimal algorithm for stochastic and adversarial bandits. AISTATS 2019, Algorithm 1 and
       Theorem 2.
    """

    kernel = KERNEL
    name = "tsallis_inf"

    def __init__(self, **online: Unpack[Online[Label]]) -> None:
        self.support = (0.0, 1.0)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> int:
        """There are no parameters."""
        return 0

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: no pulls, no losses."""
        return State(order, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), np.zeros(n_arms))

    def exact_weights(self, params: int, state: State, round_: int) -> list[float]:
        """The probabilities."""
        losses = np.asarray(state.sums)
        lowest = lowest_of(losses)
        weights = round_ / (losses - lowest + normaliser(losses, lowest, round_)) ** 2
        return [float(weight) for weight in weights / weights.sum()]
