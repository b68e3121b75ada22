"""MARS: the largest mean over random halves of an arm's rewards."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.errors import check_number, requirement
from bandstrap.multipliers.weights import RADEMACHER
from bandstrap.policies.kernels.draws import add_weights, doubled_mean
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, Numbers, Order

# 1/alpha subsets take 16 bytes each, of every arm.
SMALLEST_ALPHA = 1e-7


class Params(NamedTuple):
    """Error probability of the bound."""

    alpha: float


class State(NamedTuple):
    """Sum and largest of the rewards, random signs of each subset, and the bound.

    A reward belongs to a subset if its sign there is 1; ``signed`` and ``signs`` hold sums of ``w y`` and of ``w``.
    """

    order: Order
    pulls: Counts
    sums: Numbers
    tops: Numbers
    signed: Numbers  # (arm, subset)
    signs: Numbers  # (arm, subset)
    bounds: Numbers


def prepare(params: Params, state: State, round_: int) -> int:
    """Nothing is shared."""
    return 0


def score(params: Params, state: State, arm: int, shared: int, rng: np.random.Generator) -> float:
    """The bound found at the arm's last pull."""
    return state.bounds[arm]


@jitable
def largest_subset_mean(state: State, arm: int) -> float:
    """The largest mean over the arm's subsets; that of an empty one is infinite."""
    n = state.pulls[arm]
    total = state.sums[arm]
    signed = state.signed[arm]
    signs = state.signs[arm]
    top = -math.inf
    for b in range(len(signs)):
        mean = doubled_mean(n, total, signed[b], signs[b]) if signs[b] > -n else math.inf
        top = max(top, mean)
    return top


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Put the reward into each subset with probability 1/2, once and for all, and renew the bound."""
    state.tops[arm] = max(state.tops[arm], reward)
    state.sums[arm] += reward
    state.pulls[arm] += 1
    add_weights(RADEMACHER, reward, state.signed[arm], state.signs[arm], rng)
    empty = 0.5 ** state.pulls[arm]  # probability of an empty subset
    if empty <= params.alpha:
        state.bounds[arm] = largest_subset_mean(state, arm)
    else:  # too few rewards for a finite bound at this error probability
        state.bounds[arm] = state.tops[arm] if rng.random() < params.alpha / empty else math.inf


KERNEL = Kernel("mars", learn=learn, score=score, prepare=prepare)


class MARS(Policy[Label]):
    r"""Maximum average randomly sampled: an upper bound from frozen random subsets, for symmetric rewards.

    .. math:: \max_{j \le m} \frac{\sum_i h_{ij} y_i}{\sum_i h_{ij}}, \qquad h_{ij} \sim \mathrm{Ber}(1/2), \qquad
        m = \lceil 1/\alpha \rceil

    With ``2^-n > alpha`` the bound is infinite with probability ``1 - alpha 2^n``, else the largest reward.

    Assumes rewards that are symmetric about their means. Prefer :class:`bandstrap.SignFlipUCB`, whose bound is the limit of
    this one and costs less; this policy is here for comparison.

    Parameters
    ----------
    alpha
        Error probability of the bound, at least 1e-7. The default is the authors', for 2,000 rounds.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    The subsets are drawn once: a reward joins each with probability 1/2 and stays. For symmetric rewards the bound is below
    the mean with probability at most ``alpha`` after any number of pulls. This requires an empty subset to count as
    infinite; the authors' code gives it the mean 0. No scale is assumed. A pull costs O(1/alpha), a decision O(1).

    See Also
    --------
    bandstrap.bounds.sign_flip : the bound for infinitely many subsets.

    Examples
    --------
    >>> from bandstrap import MARS
    >>> policy = MARS(arms=2, alpha=0.01, rng=0)
    >>> policy.update([0, 1] * 20, [0.1, 0.2, 0.3, 0.9] * 10)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Moravej Khorasani, Weyer. Maximum average randomly sampled: a scale free and non-parametric algorithm for
       stochastic bandits. NeurIPS 2023; and the authors' code.
    """

    kernel = KERNEL
    indices_are_bounds = True
    alpha: float

    def __init__(self, *, alpha: float = 0.001, **online: Unpack[Online[Label]]) -> None:
        owner = type(self).__name__
        self.alpha = check_number(alpha, "alpha", owner, above=0, below=1)
        if self.alpha < SMALLEST_ALPHA:
            raise requirement("alpha", owner, f"at least {SMALLEST_ALPHA:g}, as 1/alpha subsets are kept", self.alpha)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.alpha)

    @property
    def _n_subsets(self) -> int:
        """``m``; a quotient that rounding put above an integer is that integer."""
        return math.ceil(1 / self.alpha - 1e-9)

    def check_size(self, size: int) -> None:
        """Refuse a number of arms whose subsets exceed memory."""
        check_memory(2 * WORD * size * self._n_subsets, "arms", type(self).__name__, size)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: empty subsets, and infinite bounds."""
        return State(
            order=order,
            pulls=np.zeros(n_arms, dtype=np.int64),
            sums=np.zeros(n_arms),
            tops=np.full(n_arms, -np.inf),
            signed=np.zeros((n_arms, self._n_subsets)),
            signs=np.zeros((n_arms, self._n_subsets)),
            bounds=np.full(n_arms, np.inf),
        )
