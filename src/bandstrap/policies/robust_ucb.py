"""Robust UCB: upper bounds from estimators of the mean that withstand heavy tails."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats, each, sum_in_order
from bandstrap.engine.compiler.kernel import Kernel, compiled_body, inlined, jitable
from bandstrap.errors import check_choice, requirement
from bandstrap.multipliers.order_statistic import largest
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, History, Order, Path
from bandstrap.policies.states.history import room

Estimator = Literal["truncated-mean", "median-of-means", "catoni"]
ESTIMATORS: dict[Estimator, int] = {word: code for code, word in enumerate(get_args(Estimator))}
TRUNCATED_MEAN, MEDIAN_OF_MEANS, CATONI = ESTIMATORS.values()
# Columns of State.cached: the estimate (of the truncated mean, its sum), and until when it holds: the largest
# ``log(1/delta)`` of the truncated mean, size and number of blocks of the median of means, as one number.
VALUE, UNTIL = range(2)
# Newton's method for Catoni's estimator stops at a step this small, in units of its influence function.
TOLERANCE = 1e-10
MOST_STEPS = 60
# Rewards closer to 0 are never truncated; powers of their inverse might overflow.
NEXT_TO_NOTHING = 1e-100
# More than there are blocks of the median of means in any game: these are at most 1 + 16 log(t).
MOST_BLOCKS = 2**20


class Params(NamedTuple):
    """Estimator, order of the moment less one, and bound on the moment."""

    estimator: int
    epsilon: float
    moment: float


class State(NamedTuple):
    """Rewards, the last estimates, and what estimators know of each reward.

    ``limits`` says of each, for the truncated mean, up to which ``log(1/delta)`` it is kept; ``spans``, for the median of
    means, what the span of rewards that ends with it adds up to, see :func:`span_start`.
    """

    order: Order
    pulls: Counts
    cached: Path
    history: History
    limits: History
    spans: History


def prepare(params: Params, state: State, round_: int) -> float:
    """``log(1/delta)`` with ``delta = t^-2``."""
    return 2.0 * math.log(round_)


@inlined
def kept_until(params: Params, reward: float, i: int) -> float:
    """The largest ``log(1/delta)`` at which reward number ``i`` is not truncated: ``u i/|y|^(1 + epsilon)``."""
    size = abs(reward)
    until = math.inf
    if size > NEXT_TO_NOTHING:
        until = params.moment * i * (1.0 / size) ** (1.0 + params.epsilon)
    return until


def kept_sum(rewards: Floats, limits: Floats, n: int, log: float) -> tuple[float, float]:
    """Sum of the rewards, of the first ``n``, whose limit is not below ``log``, and the smallest limit among them."""
    kept = limits[:n] >= log
    return sum_in_order(rewards[:n][kept]), float(limits[:n][kept].min(initial=math.inf))


@compiled_body(kept_sum)
def kept_sum_in_loops(rewards: Floats, limits: Floats, n: int, log: float) -> tuple[float, float]:
    """:func:`kept_sum` in loops, because masks take up to 3 times as long compiled; loops take 40 times plain."""
    total = 0.0
    until = math.inf
    for i in range(n):
        if limits[i] >= log:
            total += rewards[i]
            until = min(until, limits[i])
    return total, until


@jitable
def truncated_sum(state: State, arm: int, log: float) -> float:
    """Sum of ``y_i`` over ``|y_i| <= (u i/log(1/delta))^(1/(1 + epsilon))``; fewer remain as the logarithm grows."""
    cached = state.cached[arm]
    if log > cached[UNTIL]:
        total, until = kept_sum(state.history[arm], state.limits[arm], state.pulls[arm], log)
        cached[VALUE] = total
        cached[UNTIL] = until
    return cached[VALUE]


@inlined
def span_start(end: int) -> int:
    """The first reward of the span that ends before number ``end``; its length is the lowest bit of ``end``.

    Any rewards in a row are a few spans (Fenwick 1994). Differences of running sums would be simpler, but one huge reward
    would drown all that come after it.
    """
    return end & (end - 1)


@jitable
def block_sum(rewards: Floats, spans: Floats, start: int, end: int) -> float:
    """Sum of the rewards from number ``start`` up to, but not including, number ``end``."""
    total = 0.0
    while end > start:
        begin = span_start(end)
        if begin >= start:
            total += spans[end - 1]
            end = begin
        else:
            end -= 1
            total += rewards[end]
    return total


@jitable
def median_of_means(state: State, arm: int, log: float) -> float:
    """Median of the means of ``k = floor(min(1 + 8 log(1/delta), n/2))`` blocks of ``floor(n/k)`` rewards."""
    cached = state.cached[arm]
    n = state.pulls[arm]
    k = max(int(min(1.0 + 8.0 * log, 0.5 * n)), 1)
    size = n // k
    blocks = size * MOST_BLOCKS + k
    if cached[UNTIL] != blocks:
        rewards, spans = state.history[arm], state.spans[arm]
        means = np.empty(k)
        for b in range(k):
            means[b] = block_sum(rewards, spans, b * size, (b + 1) * size) / size
        middle = largest(means, k // 2)
        if k % 2 == 0:
            middle = 0.5 * (middle + largest(means, k // 2 - 1))
        cached[VALUE] = middle
        cached[UNTIL] = blocks
    return cached[VALUE]


def influence(rewards: Floats, n: int, a: float, theta: float) -> tuple[float, float]:
    """``sum psi(a (y_i - theta))`` over the first ``n`` rewards, and the sum of the derivatives of ``psi``."""
    x = a * (rewards[:n] - theta)
    size = np.abs(x)
    inside = 1.0 + size + 0.5 * x * x
    return sum_in_order(np.copysign(each(math.log, inside), x)), sum_in_order((1.0 + size) / inside)


@compiled_body(influence)
def influence_in_loops(rewards: Floats, n: int, a: float, theta: float) -> tuple[float, float]:
    """:func:`influence` in loops, because arrays take up to 1.5 times as long compiled; loops take 5 times plain."""
    total = 0.0
    slope = 0.0
    for i in range(n):
        x = a * (rewards[i] - theta)
        size = abs(x)
        inside = 1.0 + size + 0.5 * x * x
        total += math.copysign(math.log(inside), x)
        slope += (1.0 + size) / inside
    return total, slope


@jitable
def catoni_mean(params: Params, state: State, arm: int, log: float) -> float:
    """Root of ``sum psi(a (y_i - theta)) = 0``, ``psi(x) = sign(x) log(1 + |x| + x^2/2)``, from the arm's last root."""
    n = state.pulls[arm]
    rewards = state.history[arm]
    cached = state.cached[arm]
    v = params.moment
    a = math.sqrt(2.0 * log / (n * (v + 2.0 * v * log / (n - 2.0 * log))))
    theta = cached[VALUE]
    low = -math.inf
    high = math.inf
    for _ in range(MOST_STEPS):
        total, slope = influence(rewards, n, a, theta)
        if total > 0.0:
            low = theta
        else:
            high = theta
        step = total / (a * slope)
        if abs(step) * a <= TOLERANCE or theta + step == theta:  # far from 0 a step may be less than a bit
            break
        theta += step
        if not low < theta < high:  # beyond a value known to be too far, which is then finite, as is the other end
            theta = 0.5 * (low + high)
    cached[VALUE] = theta
    return theta


def score(params: Params, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """Estimate plus deviation, at ``delta = t^-2``."""
    n = state.pulls[arm]
    order = 1.0 + params.epsilon
    if params.estimator == TRUNCATED_MEAN:
        rate = 4.0 * params.moment ** (1.0 / order) * (shared / n) ** (params.epsilon / order)
        index = truncated_sum(state, arm, shared) / n + rate
    elif params.estimator == MEDIAN_OF_MEANS:
        rate = (12.0 * params.moment) ** (1.0 / order) * (16.0 * (0.125 + shared) / n) ** (params.epsilon / order)
        index = median_of_means(state, arm, shared) + rate
    elif n >= 4.0 * shared:
        index = catoni_mean(params, state, arm, shared) + 2.0 * math.sqrt(params.moment * shared / n)
    else:  # too few rewards for Catoni's estimator
        index = math.inf
    return index


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Keep the reward; a truncated sum goes on, and a median stands until its blocks are others."""
    n = state.pulls[arm]
    cached = state.cached[arm]
    state.history[arm][n] = reward
    if params.estimator == MEDIAN_OF_MEANS:
        before = block_sum(state.history[arm], state.spans[arm], span_start(n + 1), n)
        state.spans[arm][n] = before + reward
    elif params.estimator == TRUNCATED_MEAN:
        limit = kept_until(params, reward, n + 1)
        state.limits[arm][n] = limit
        if limit >= prepare(params, state, round_):
            cached[VALUE] += reward
            cached[UNTIL] = min(cached[UNTIL], limit)
    state.pulls[arm] = n + 1


KERNEL = Kernel("robust_ucb", learn=learn, score=score, prepare=prepare)


class RobustUCB(Policy[Label]):
    r"""Robust UCB: for rewards with a moment of order :math:`1 + \varepsilon` only.

    .. math:: \hat\mu + \text{deviation}, \qquad \delta = t^{-2}

    Assumes a bound on a moment of the rewards, and nothing else about their tails. Prefer it if the variance may be
    infinite or rewards are contaminated.

    Parameters
    ----------
    estimator
        With ``L = log(1/delta)``:

        ``"truncated-mean"``
            :math:`\frac1n \sum_i y_i 1\{|y_i| \le (u i/L)^{1/(1+\varepsilon)}\}` with deviation
            :math:`4 u^{1/(1+\varepsilon)} (L/n)^{\varepsilon/(1+\varepsilon)}` (default, and the cheapest).
        ``"median-of-means"``
            The median of the means of :math:`\lfloor \min(1 + 8L, n/2) \rfloor` blocks with deviation
            :math:`(12 v)^{1/(1+\varepsilon)} (16 (L + 1/8)/n)^{\varepsilon/(1+\varepsilon)}`.
        ``"catoni"``
            The root of :math:`\sum_i \psi(a (y_i - \theta)) = 0` with
            :math:`\psi(x) = \mathrm{sign}(x) \log(1 + |x| + x^2/2)` and
            :math:`a^2 = 2L / (n (v + 2 v L/(n - 2L)))`, deviation :math:`2 \sqrt{v L/n}`; infinite while ``n < 4L``.
            Needs a variance, ``epsilon = 1``.
    epsilon
        Order of the moment less one, in (0, 1]. The default assumes a finite variance.
    moment
        Bound on the moment: ``u`` on :math:`E|y|^{1+\varepsilon}` for the truncated mean, ``v`` on
        :math:`E|y - \mu|^{1+\varepsilon}` for the others. The default suits rewards in units of their noise, with means
        near 0 for the truncated mean.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Regret is logarithmic, but large constants make these bounds wide. Within a few thousand rounds they help only if the
    variance is infinite or rewards are contaminated. The truncated mean is not invariant to shifts of the rewards. A
    decision costs O(1) with the truncated mean, but O(t) now and then, when a reward is cut off; O(log t) with the median
    of means, but ``O(log^3 t)`` when its blocks change; and O(t) with Catoni's estimator. All rewards are kept.

    See Also
    --------
    bandstrap.UCB1 : narrower, for light tails.
    bandstrap.RDS : needs no moment.

    Examples
    --------
    >>> from bandstrap import RobustUCB
    >>> policy = RobustUCB(arms=2, estimator="median-of-means", rng=0)
    >>> policy.update([0, 1] * 100, [-1.0, 0.0, 0.5, 2.0] * 50)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Bubeck, Cesa-Bianchi, Lugosi. Bandits with heavy tail. IEEE Transactions on Information Theory 59, 2013.
    """

    kernel = KERNEL
    indices_are_bounds = True

    def __init__(
        self,
        *,
        estimator: Estimator = "truncated-mean",
        epsilon: float = 1.0,
        moment: float = 1.0,
        **online: Unpack[Online[Label]],
    ) -> None:
        owner = type(self).__name__
        self.estimator = check_choice(estimator, "estimator", owner, ESTIMATORS)
        self.epsilon = self.positive(epsilon, "epsilon")
        if self.epsilon > 1.0:
            raise requirement("epsilon", owner, "at most 1", self.epsilon)
        if self.estimator == "catoni" and self.epsilon < 1.0:
            raise requirement("epsilon", owner, "1 for estimator='catoni'", self.epsilon)
        self.moment = self.positive(moment, "moment")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(ESTIMATORS[self.estimator], self.epsilon, self.moment)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: no estimates, and room for ``capacity`` rewards per arm."""
        cached = np.zeros((n_arms, 2))
        cached[:, UNTIL] = np.inf
        return State(
            order=order,
            pulls=np.zeros(n_arms, dtype=np.int64),
            cached=cached,
            history=room(n_arms, capacity),
            limits=room(n_arms if self.estimator == "truncated-mean" else 0, capacity),
            spans=room(n_arms if self.estimator == "median-of-means" else 0, capacity),
        )
