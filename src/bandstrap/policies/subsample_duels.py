"""Subsampling duelling algorithms: an arm challenges the leader's mean over as few rewards as it has itself."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, compiled_body, inlined, jitable
from bandstrap.errors import check_choice, check_flag
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.duels import ROUND, by_duels, new_contest
from bandstrap.policies.states.fields import Counts, History, Numbers, Order, PathCounts, ShuffledHistory
from bandstrap.policies.states.history import room

Sampler = Literal["random-block", "last-block", "without-replacement"]
SAMPLERS: dict[Sampler, int] = {word: code for code, word in enumerate(get_args(Sampler))}
RANDOM_BLOCK, LAST_BLOCK, WITHOUT_REPLACEMENT = SAMPLERS.values()


class Params(NamedTuple):
    """Way in which the leader's rewards are sampled, and whether arms with few pulls skip their duel."""

    sampler: int
    forced: bool


class State(NamedTuple):
    """Rewards and the round under way. Sums are taken around the first reward of all, so that they stay small.

    Block samplers read ``running``, the sums of an arm's first rewards; the other draws from ``history``, whose order it
    changes.
    """

    order: Order
    pulls: Counts
    sums: Numbers
    origin: Numbers
    queue: PathCounts
    contest: PathCounts
    running: History
    history: ShuffledHistory


def shuffled_sum(rewards: Floats, n: int, size: int, rng: np.random.Generator) -> float:
    """Bring ``size`` of the first ``n`` rewards, each set as likely, to the front by Fisher and Yates, and add them up.

    The rewards change places in one step at the end: online, an interrupt in between would lose one.
    """
    total = 0.0
    moved: dict[int, float] = {}
    draws = rng.random(size)
    for i in range(size):
        j = i + int(draws[i] * (n - i))
        at_i = moved[i] if i in moved else rewards[i]
        at_j = moved[j] if j in moved else rewards[j]
        moved[i], moved[j] = at_j, at_i
        total += at_j
    rewards[np.fromiter(moved.keys(), dtype=np.int64)] = np.fromiter(moved.values(), dtype=np.float64)
    return float(total)


@compiled_body(shuffled_sum)
def shuffled_sum_in_loops(rewards: Floats, n: int, size: int, rng: np.random.Generator) -> float:
    """:func:`shuffled_sum` in place, because compiled code is not interrupted, and has no dictionary as quick."""
    total = 0.0
    for i in range(size):
        j = i + int(rng.random() * (n - i))
        rewards[i], rewards[j] = rewards[j], rewards[i]
        total += rewards[i]
    return total


@inlined
def sampled_sum(params: Params, state: State, arm: int, size: int, rng: np.random.Generator) -> float:
    """Sum of ``size`` of the arm's rewards."""
    n = state.pulls[arm]
    total = 0.0
    if params.sampler == WITHOUT_REPLACEMENT:
        total = shuffled_sum(state.history[arm], n, size, rng)
    else:
        first = n - size
        if params.sampler == RANDOM_BLOCK:
            first = int(rng.random() * (first + 1))
        running = state.running[arm]
        total = running[first + size - 1]
        if first > 0:
            total -= running[first - 1]
    return total


@jitable
def beats(params: Params, state: State, arm: int, leader: int, rng: np.random.Generator) -> bool:
    """Return whether the arm's sum reaches that of as many of the leader's rewards, or the arm is due anyway."""
    n = state.pulls[arm]
    due = params.forced and n <= math.sqrt(math.log(state.contest[ROUND]))
    return due or state.sums[arm] >= sampled_sum(params, state, leader, n, rng)


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Keep the reward, or the sum up to it."""
    if round_ == 1:
        state.origin[0] = reward
    n = state.pulls[arm]
    value = reward - state.origin[0]
    state.sums[arm] += value
    if params.sampler == WITHOUT_REPLACEMENT:
        state.history[arm][n] = value
    else:
        state.running[arm][n] = state.sums[arm]
    state.pulls[arm] = n + 1


KERNEL = Kernel("subsample_duels", learn=learn, choose=by_duels(beats))


class SubsampleDuels(Policy[Label]):
    r"""Subsampling duelling algorithms (RB-SDA, LB-SDA, WR-SDA): no parameter, no scale, no range.

    In each round the arm with the most pulls leads. A challenger with ``n`` pulls, fewer than the leader's, is pulled if

    .. math:: \bar y \ge \frac1n \sum_{i \in S} y_i^{\text{leader}}, \qquad |S| = n

    with ``S`` chosen by the sampler. If no challenger is pulled, the leader is. Winners of one round are pulled in random
    order.

    Assumes that all arms have similar noise, and needs no parameters. Prefer it if noise is bounded and similar in all
    arms; if variances differ, some runs have near-linear regret.

    Parameters
    ----------
    sampler
        Rule for the leader's rewards with which a challenger is compared.

        ``"random-block"``
            ``n`` consecutive rewards from a random place (default, RB-SDA): O(1) per duel by running sums, and
            asymptotically optimal for Bernoulli, normal and Poisson rewards.
        ``"last-block"``
            The last ``n`` (LB-SDA): O(1), and random only in the order of pulls.
        ``"without-replacement"``
            A random set of ``n`` (WR-SDA, which is BESA with two arms): O(n).
    forced_exploration
        Also pull arms with at most ``sqrt(log r)`` pulls in round ``r``. Theory requires it for rewards other than
        Bernoulli, normal and Poisson, for example exponential ones. Off by default, as in the published experiments.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Multiplying all rewards by a power of two changes no choice. Any other positive factor or shift has an effect only by
    rounding, which may make equal means unequal.

    A challenger with a mean equal to the leader's wins, as in the authors' code. The leader is the arm with most pulls.
    Ties are broken by the larger mean, then by the last leader, then by an order drawn at the start.

    See Also
    --------
    bandstrap.RDS : duels with a bonus, made for unequal variances and heavy tails.

    Examples
    --------
    >>> from bandstrap import SubsampleDuels
    >>> policy = SubsampleDuels(arms=["a", "b"], rng=0)
    >>> policy.update(["a", "b"] * 10 + ["b"], [0.1, 0.9] * 10 + [0.8])
    >>> policy.select()
    'b'

    References
    ----------
    .. [1] Baudry, Kaufmann, Maillard. Sub-sampling for efficient non-parametric bandit exploration. NeurIPS 2020,
       algorithm 1; and the authors' code.
    .. [2] Baudry, Russac, Cappe. On limited-memory subsampling strategies for bandits. ICML 2021 (LB-SDA).
    .. [3] Baransi, Maillard, Mannor. Sub-sampling for multi-armed bandits. ECML 2014 (BESA).
    """

    kernel = KERNEL

    def __init__(
        self, *, sampler: Sampler = "random-block", forced_exploration: bool = False, **online: Unpack[Online[Label]]
    ) -> None:
        self.sampler = check_choice(sampler, "sampler", type(self).__name__, SAMPLERS)
        self.forced_exploration = check_flag(forced_exploration, "forced_exploration", type(self).__name__)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(SAMPLERS[self.sampler], self.forced_exploration)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: no round under way, and room for ``capacity`` rewards or running sums."""
        in_blocks = self.sampler != "without-replacement"
        return State(
            order=order,
            pulls=np.zeros(n_arms, dtype=np.int64),
            sums=np.zeros(n_arms),
            origin=np.zeros(1),
            **new_contest(n_arms),
            running=room(n_arms if in_blocks else 0, capacity),
            history=room(0 if in_blocks else n_arms, capacity),
        )
