"""IMED: indexed minimum empirical divergence."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from bandstrap.bounds.empirical_kl import least_divergence
from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import check_choice, check_number
from bandstrap.policies.kernels.divergence import Divergence, divergence_between, highest_mean
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, History, Numbers, Order, Path
from bandstrap.policies.states.history import room

RewardKind = Literal[Divergence, "bounded"]
# The codes of the divergences are the same.
KINDS: dict[RewardKind, int] = {word: code for code, word in enumerate(get_args(RewardKind))}
BOUNDED = KINDS["bounded"]


class Params(NamedTuple):
    """Divergence, its noise scale if normal, and the largest possible reward if bounded."""

    kind: int
    sigma: float
    upper: float


class State(NamedTuple):
    """Pulls and sum of rewards of each arm; with bounded rewards also the rewards, and the arm's last dual variable."""

    order: Order
    pulls: Counts
    sums: Numbers
    duals: Path
    history: History


def prepare(params: Params, state: State, round_: int) -> float:
    """The highest mean."""
    return highest_mean(state)


def score(params: Params, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``-(n d(arm, best) + log n)``: the smallest index is pulled."""
    n = state.pulls[arm]
    mean = state.sums[arm] / n
    if params.kind != BOUNDED:
        divergence = divergence_between(params.kind, params.sigma, mean, shared)
    elif mean == shared:
        divergence = 0.0
    else:
        divergence, state.duals[arm] = least_divergence(state.history[arm][:n], params.upper, shared, state.duals[arm])
    return -(n * divergence + math.log(n))


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Count the pull and add the reward; keep it where rewards are bounded."""
    if params.kind == BOUNDED:
        state.history[arm][state.pulls[arm]] = reward
    state.pulls[arm] += 1
    state.sums[arm] += reward


KERNEL = Kernel("imed", learn=learn, score=score, prepare=prepare)


class IMED(Policy[Label]):
    r"""Indexed minimum empirical divergence: pulls the arm with the least evidence against being the best.

    .. math:: \text{pull the arm with the smallest } n_k\, D(\hat F_k, \max_j \bar y_j) + \log n_k

    where ``D`` is the least divergence of the arm's distribution from one whose mean is that of the leader.

    Assumes rewards in [0, 1], normal noise of a known scale, or a known largest reward, as ``divergence`` says. Prefer it
    for the best asymptotic constant without a confidence level to choose.

    Parameters
    ----------
    divergence
        ``"bernoulli"`` (default) for any rewards in [0, 1]; ``"gaussian"`` for ``(p - q)^2/(2 sigma^2)``; ``"bounded"`` for
        rewards of at most ``upper``, with the divergence of the whole sample from all distributions up to ``upper``. Its
        cost grows with the arm's rewards.
    sigma
        Assumed noise scale, used by ``"gaussian"`` only.
    upper
        The largest possible reward, used by ``"bounded"`` only. No lower end is needed. Costs (``direction="min"``) are at
        least ``-upper``: give 0 if they are never negative.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    There is no confidence level. Regret is proved to be asymptotically optimal for ``"bounded"``, and so for
    ``"bernoulli"`` with rewards 0 and 1, where the two agree.

    See Also
    --------
    bandstrap.EmpiricalKLUCB : the divergence of ``"bounded"`` as an upper confidence bound.
    bandstrap.MaillardSampling : draws arms by the same divergence.

    Examples
    --------
    >>> from bandstrap import IMED
    >>> policy = IMED(arms=2, divergence="bounded", upper=1.0, rng=0)
    >>> policy.update([0, 1] * 10, [0.1, 0.8, 0.3, 0.9] * 5)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Honda, Takemura. Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards. Journal of Machine
       Learning Research 16, 2015.
    """

    kernel = KERNEL

    def __init__(
        self,
        *,
        divergence: RewardKind = "bernoulli",
        sigma: float = 1.0,
        upper: float = 1.0,
        **online: Unpack[Online[Label]],
    ) -> None:
        owner = type(self).__name__
        self.divergence = check_choice(divergence, "divergence", owner, KINDS)
        self.sigma = self.positive(sigma, "sigma")
        self.upper = check_number(upper, "upper", owner)
        if self.divergence == "bernoulli":
            self.support = (0.0, 1.0)
        super().__init__(**online)
        if self.divergence == "bounded":
            self.support = self.support_up_to(self.upper)

    def make_params(self, horizon: int | None) -> Params:
        return Params(KINDS[self.divergence], self.sigma, self.upper)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: sums at zero, and room for the rewards if they are bounded."""
        rows = n_arms if self.divergence == "bounded" else 0
        return State(order, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), np.zeros(n_arms), room(rows, capacity))
