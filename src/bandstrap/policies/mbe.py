"""Multiplier bootstrap exploration: rewards and pseudo-rewards under random weights of mean 1."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.errors import check_choice
from bandstrap.multipliers.weights import EXPONENTIAL, GAUSSIAN
from bandstrap.policies.kernels.draws import exponential_sums
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, History, Numbers, Order
from bandstrap.policies.states.history import room
from bandstrap.policies.states.moments import add_reward

MBEWeights = Literal["gaussian", "exponential"]
LAWS: dict[MBEWeights, int] = {"gaussian": GAUSSIAN, "exponential": EXPONENTIAL}


class Params(NamedTuple):
    """Distribution of the weights, its standard deviation, and weight of the pseudo-rewards."""

    law: int
    sd: float
    strength: float


class State(NamedTuple):
    """Mean and sum of squares around it, or the rewards where the distribution needs them."""

    order: Order
    pulls: Counts
    means: Numbers
    squares: Numbers
    history: History


def prepare(params: Params, state: State, round_: int) -> int:
    """Nothing is shared."""
    return 0


@jitable
def weight_total(params: Params, n: int, rng: np.random.Generator) -> float:
    """The sum of ``n`` weights."""
    if params.law == GAUSSIAN:
        return n + params.sd * math.sqrt(n) * rng.standard_normal()
    return rng.standard_gamma(float(n))


def score(params: Params, state: State, arm: int, shared: int, rng: np.random.Generator) -> float:
    """Mean of the rewards and of ``n`` pseudo-rewards of each kind, with fresh weights."""
    n = state.pulls[arm]
    if params.law == GAUSSIAN:  # given their sum, normal weights leave a normal sum of w (y - ybar)
        total = weight_total(params, n, rng)
        weighted = state.means[arm] * total + params.sd * math.sqrt(state.squares[arm]) * rng.standard_normal()
    else:
        weighted, total = exponential_sums(state.history[arm], n, rng)
    of_ones = params.strength * weight_total(params, n, rng)
    of_zeros = params.strength * weight_total(params, n, rng)
    return (weighted + of_ones) / (total + of_ones + of_zeros)


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Update mean and sum of squares, or keep the reward."""
    if params.law == GAUSSIAN:
        add_reward(state, arm, reward)
    else:
        state.history[arm][state.pulls[arm]] = reward
        state.pulls[arm] += 1


KERNEL = Kernel("mbe", learn=learn, score=score, prepare=prepare)


class MBE(Policy[Label]):
    r"""Multiplier bootstrap-based exploration.

    .. math:: \theta = \frac{\sum_{i \le n} (w_i y_i + \lambda w'_i)}{\sum_{i \le n} (w_i + \lambda w'_i + \lambda w''_i)}

    with independent weights of mean 1, drawn anew in each round: every reward brings pseudo-rewards 1 and 0, which count
    ``lambda`` times as much.

    Assumes rewards in [0, 1], between the two pseudo-rewards. Prefer it if the same method must also serve models more
    complex than a mean.

    Parameters
    ----------
    strength
        ``lambda``, the weight of the pseudo-rewards: the larger, the more exploration. By default all pseudo-rewards
        together count as much as the rewards.
    weights
        ``"gaussian"`` (default): normal weights, simulated from their exact distribution at O(1) per decision.
        ``"exponential"``: Exp(1), which are never negative, at O(t).
    variance
        Variance of normal weights: the larger, the more exploration. It is ignored for exponential weights, whose variance
        is 1.
    check_range
        Refuse rewards outside [0, 1], for which the pseudo-rewards are meant (default).
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    For an arm with few rewards, the sum of normal weights may be near zero or negative; its draws then have heavy tails.

    See Also
    --------
    bandstrap.WeightedBootstrap : one pseudo-reward of each kind in all instead of one per reward; explores less.

    Examples
    --------
    >>> from bandstrap import MBE
    >>> policy = MBE(arms=2, rng=0)
    >>> policy.update([0, 1] * 30, [0.1, 0.9] * 30)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Wan, Wei, Kveton, Song. Multiplier bootstrap-based exploration. ICML 2023.
    """

    kernel = KERNEL
    kept_as: ClassVar[dict[str, str]] = {"weights": "multipliers"}

    def __init__(
        self,
        *,
        strength: float = 0.5,
        weights: MBEWeights = "gaussian",
        variance: float = 0.5,
        check_range: bool = True,
        **online: Unpack[Online[Label]],
    ) -> None:
        self.strength = self.positive(strength, "strength")
        self.multipliers = check_choice(weights, "weights", type(self).__name__, LAWS)
        self.variance = self.positive(variance, "variance")
        self.limit_range(check_range)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(LAWS[self.multipliers], math.sqrt(self.variance), self.strength)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: moments at zero, and room for the rewards if weights are exponential."""
        n_kept = n_arms if self.multipliers == "exponential" else 0
        return State(
            order=order,
            pulls=np.zeros(n_arms, dtype=np.int64),
            means=np.zeros(n_arms),
            squares=np.zeros(n_arms),
            history=room(n_kept, capacity),
        )
