"""Dirichlet sampling: a challenger's rewards, reweighted at random with a bonus, against the leader's mean."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats, sum_in_order
from bandstrap.engine.compiler.kernel import Kernel, compiled_body, inlined, jitable
from bandstrap.errors import check_number
from bandstrap.policies.kernels.draws import exponential_sums
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.duels import by_duels, new_contest
from bandstrap.policies.states.fields import Counts, History, Numbers, Order, PathCounts
from bandstrap.policies.states.history import room


class Params(NamedTuple):
    """The largest possible reward; infinite where it is not known."""

    upper: float


class State(NamedTuple):
    """Rewards, and the round under way."""

    order: Order
    pulls: Counts
    sums: Numbers
    queue: PathCounts
    contest: PathCounts
    history: History


def shortfalls(rewards: Floats, n: int, target: float) -> float:
    """Sum of ``(target - y_i)^+`` over the first ``n`` rewards."""
    return sum_in_order(np.maximum(target - rewards[:n], 0.0))


@compiled_body(shortfalls)
def shortfalls_in_loops(rewards: Floats, n: int, target: float) -> float:
    """:func:`shortfalls` in loops, because arrays take three times as long to compile; loops take 50 times plain."""
    total = 0.0
    for i in range(n):
        total += max(target - rewards[i], 0.0)
    return total


@inlined
def bonus(params: Params, state: State, arm: int, target: float) -> float:
    """Distance from ``target`` to the pseudo-reward above it: at the known bound, or ``rho`` mean shortfalls."""
    if params.upper < math.inf:
        above = params.upper - target
    else:
        n = state.pulls[arm]
        above = math.sqrt(math.log(1.0 + n)) * shortfalls(state.history[arm], n, target) / n
    return above


@jitable
def beats(params: Params, state: State, arm: int, leader: int, rng: np.random.Generator) -> bool:
    """Return whether the arm's mean, or its reweighted mean with the bonus, reaches the leader's mean."""
    n = state.pulls[arm]
    target = state.sums[leader] / state.pulls[leader]
    wins = state.sums[arm] / n >= target
    if not wins:
        weighted, total = exponential_sums(state.history[arm], n, rng)
        wins = weighted - target * total + rng.standard_exponential() * bonus(params, state, arm, target) >= 0.0
    return wins


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Keep the reward."""
    state.history[arm][state.pulls[arm]] = reward
    state.sums[arm] += reward
    state.pulls[arm] += 1


KERNEL = Kernel("rds", learn=learn, choose=by_duels(beats))


class RDS(Policy[Label]):
    r"""Robust Dirichlet sampling (RDS); bounded Dirichlet sampling (BDS) if the largest reward is known.

    In each round the arm with the most pulls leads, with mean ``m``. A challenger with ``n`` pulls, fewer than the
    leader's, is pulled if its mean reaches ``m``, or if

    .. math:: \sum_{i \le n} w_i y_i + w_0 b \ge m, \qquad w \sim \mathrm{Dirichlet}(1, \dots, 1), \qquad
        b = m + \sqrt{\log(1 + n)}\; \frac1n \sum_{i \le n} (m - y_i)^+

    If no challenger is pulled, the leader is. Winners of one round are pulled in random order.

    Assumes light tails, of any scale, or with ``upper`` a known largest reward. Prefer it if variances of arms differ
    widely and bad runs are costly.

    Parameters
    ----------
    upper
        The largest possible reward, which then takes the place of ``b`` (BDS). Without it (default, RDS) nothing is
        assumed about the rewards' range or scale. Costs (``direction="min"``) are at least ``-upper``: give 0 if they are
        never negative.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    The factor ``sqrt(log(1 + n))`` is unbounded, so the regret of RDS is a little more than logarithmic for light tails of
    any scale. BDS has logarithmic regret with the best constant. A duel costs O(n) of the challenger's pulls.

    See Also
    --------
    bandstrap.NPTS : the same weights as an index; prefer it if the largest reward is known and arms are few.
    bandstrap.SubsampleDuels : duels without a bonus, and cheaper.

    Examples
    --------
    >>> from bandstrap import RDS
    >>> policy = RDS(arms=2, rng=0)
    >>> policy.update([0, 1] * 20 + [1], [0.2, 0.8] * 20 + [0.7])
    >>> policy.select()
    1

    References
    ----------
    .. [1] Baudry, Saux, Maillard. From optimality to robustness: adaptive re-sampling strategies in stochastic bandits.
       NeurIPS 2021.
    """

    kernel = KERNEL

    def __init__(self, *, upper: float | None = None, **online: Unpack[Online[Label]]) -> None:
        self.upper = None if upper is None else check_number(upper, "upper", type(self).__name__)
        super().__init__(**online)
        if self.upper is not None:
            self.support = self.support_up_to(self.upper)

    def make_params(self, horizon: int | None) -> Params:
        return Params(math.inf if self.upper is None else self.upper)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: no round under way, and room for ``capacity`` rewards per arm."""
        return State(
            order=order,
            pulls=np.zeros(n_arms, dtype=np.int64),
            sums=np.zeros(n_arms),
            **new_contest(n_arms),
            history=room(n_arms, capacity),
        )
