"""Bootstrapped UCB+: a level that falls with an arm's share of the pulls, and a scale read off the data."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, borrowing, jitable
from bandstrap.errors import check_number
from bandstrap.multipliers.normal import rough_normal_quantile
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.ceilings import (
    Ceilings,
    forget,
    growth_to_ceiling,
    leading,
    new_ceilings,
    put_ceiling,
    settle,
)
from bandstrap.policies.states.fields import Counts, Numbers, Order, Path
from bandstrap.policies.states.quantile_memory import arm_mean
from bandstrap.policies.states.sign_memory import (
    SignMemory,
    add_reward,
    arm_squares,
    law_quantile,
    new_sign_memory,
    ripples,
)

# Ceilings are put for a pooled scale that is larger by this part than that of the round.
SCALE_MARGIN = 0.02


class Params(NamedTuple):
    """Noise scale (0: estimated), share of the level spent on the correction, forced pulls over ``log t``."""

    sigma: float
    delta: float
    exploration: float


class State(NamedTuple):
    """Statistics of each arm."""

    order: Order
    pulls: Counts
    memory: SignMemory
    squares: Numbers  # sums of squares about the mean
    ceilings: Ceilings
    highest_scale: Path  # of the pooled scales that ceilings are for


@jitable
def pooled_scale(params: Params, state: State) -> float:
    """The standard deviation within arms, pooled; the range of their means while no arm has had two different rewards."""
    scale = params.sigma
    if scale == 0.0:
        pulls = state.pulls
        n_arms = len(pulls)
        total = 0
        inside = 0.0
        for k in range(n_arms):
            total += pulls[k]
            inside += state.squares[k]
        scale = math.sqrt(inside / max(total - n_arms, 1))
        if scale == 0.0:
            low = math.inf
            high = -math.inf
            for k in range(n_arms):
                mean = arm_mean(pulls, state.memory, k)
                low = min(low, mean)
                high = max(high, mean)
            scale = high - low
    return scale


@jitable
def score(params: Params, state: State, arm: int, round_: float, pooled: float) -> float:
    """``ybar + q_{(1 - delta) e} + s sqrt(2 log(1/e))/n`` with ``e = min(1/2, n/(t + 1))``."""
    pulls, memory = state.pulls, state.memory
    n = pulls[arm]
    share = min(0.5, n / (round_ + 1.0))
    level = (1.0 - params.delta) * share
    scale = pooled
    if params.sigma == 0.0:
        scale = max(scale, math.sqrt(state.squares[arm] / max(n - 1, 1)))
    mean = arm_mean(pulls, memory, arm)
    main = law_quantile(memory, arm, n, mean, level, rough_normal_quantile(level))
    return mean + main + scale * math.sqrt(-2.0 * math.log(share)) / n


@borrowing
def choose(params: Params, state: State, round_: int, rng: np.random.Generator) -> int:
    """The first arm that lacks pulls, or the one with the highest :func:`score`."""
    order, pulls, ceilings = state.order, state.pulls, state.ceilings
    least = params.exploration * math.log(round_)
    for i in range(len(order)):
        if pulls[order[i]] < least:
            return order[i]
    pooled = pooled_scale(params, state)
    if pooled > state.highest_scale[0]:  # ceilings are for scales up to this one
        state.highest_scale[0] = (1.0 + SCALE_MARGIN) * pooled
        for k in range(len(order)):
            forget(ceilings, k, ceilings.parts[k] == 0.0)
    elif pooled < (1.0 - 2.0 * SCALE_MARGIN) * state.highest_scale[0]:
        state.highest_scale[0] = (1.0 + SCALE_MARGIN) * pooled  # those there are hold for it, too
    moment = float(round_)
    arm = leading(order, ceilings, moment)
    while ceilings.settled[arm] != moment:
        settle(ceilings, arm, score(params, state, arm, moment, pooled), moment)
        arm = leading(order, ceilings, moment)
    for k in range(len(order)):
        if k != arm and ceilings.settled[k] == moment:
            value = ceilings.bounds[k]
            log = math.log(max((moment + 1.0) / pulls[k], 2.0))
            width = value - arm_mean(pulls, state.memory, k)
            growth = growth_to_ceiling(ceilings.parts[k], ceilings.bounds[arm] - value, width, log)
            later = float(math.floor(moment * math.exp(growth)))
            if later > moment + 1.0:
                value = score(params, state, k, later, state.highest_scale[0])
                put_ceiling(ceilings, k, value, width, later, ceilings.bounds[arm])
    return arm


@borrowing
def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into sums and memory."""
    add_reward(state.pulls, state.memory, arm, reward)
    state.squares[arm] = arm_squares(state.memory, arm, state.pulls[arm], arm_mean(state.pulls, state.memory, arm))
    forget(state.ceilings, arm, ripples(state.memory.values[arm], state.pulls[arm]))


KERNEL = Kernel("bootstrapped_ucb_plus", learn=learn, choose=choose)


class BootstrappedUCBPlus(Policy[Label]):
    r"""Bootstrapped UCB without parameters: scale from the data, and a level that falls with an arm's share of pulls.

    .. math:: \bar y + q_{(1-\delta) e}(y - \bar y) + \hat s \sqrt{2 \log(1/e)} / n, \qquad e = \min(1/2,\; n/(t + 1))

    :math:`\hat s` is the larger of the arm's own standard deviation and the one pooled over arms. The arm with the most
    pulls has level :math:`e = 1/2` and almost no bonus.

    Assumes a finite variance, and needs no parameters. Prefer it for skewed rewards such as money, time and counts if only
    the mean regret matters: an occasional run never finds the best arm.

    Parameters
    ----------
    sigma
        Noise scale, in place of :math:`\hat s`. By default nothing is assumed.
    exploration
        Every arm is pulled at least ``exploration * log(t)`` times. The default protects an arm from being given up after a
        few bad rewards, at the cost of a few pulls.
    delta
        As in :class:`bandstrap.BootstrappedUCB`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    There is no theorem about this policy. The quantile is that of ``quantile="exact"`` of
    :class:`bandstrap.BootstrappedUCB`, whose notes say how accurate it is. Every arm is pulled twice at the start.

    Unless ``sigma`` is given, multiplying all rewards by a power of two changes no choice, as long as their squares do not
    overflow or underflow. Any other positive factor or shift has an effect only by rounding, which may break ties. Arms
    with rewards of 0 and 1 often have equal indices.

    See Also
    --------
    bandstrap.SignFlipUCB : a proved bound, also without a scale.

    Examples
    --------
    >>> from bandstrap import BootstrappedUCBPlus
    >>> policy = BootstrappedUCBPlus(arms=["a", "b"], rng=0)
    >>> policy.update(["a", "b"] * 5, [0.1, 1.0, 0.3, 1.2, 0.2, 0.9, 0.1, 1.1, 0.2, 1.0])
    >>> policy.select()
    'b'

    References
    ----------
    .. [1] Hao, Abbasi-Yadkori, Wen, Cheng. Bootstrapping upper confidence bound. NeurIPS 2019: the algorithm it is made of.
    """

    kernel = KERNEL
    indices_are_bounds = True
    name = "bootstrapped_ucb_plus"
    n_initial = 2

    def __init__(
        self,
        *,
        sigma: float | None = None,
        exploration: float = 0.5,
        delta: float = 0.1,
        **online: Unpack[Online[Label]],
    ) -> None:
        self.sigma = None if sigma is None else self.positive(sigma, "sigma")
        self.exploration = self.not_negative(exploration, "exploration")
        self.delta = check_number(delta, "delta", type(self).__name__, above=0, below=1)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.sigma or 0.0, self.delta, self.exploration)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls at zero, and an empty quantile memory."""
        pulls, squares = np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms)
        return State(order, pulls, new_sign_memory(n_arms), squares, new_ceilings(n_arms), np.zeros(1))

    def indices(self, params: Params, state: State, round_: int, rng: np.random.Generator) -> list[float]:
        """The bound of every arm; an arm that lacks pulls is chosen regardless of its bound."""
        pooled = pooled_scale(params, state)
        return [score(params, state, arm, float(round_), pooled) for arm in range(len(state.pulls))]
