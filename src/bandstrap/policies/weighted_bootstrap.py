"""Weighted bootstrap: the mean of rewards and pseudo-rewards under exponential weights."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.kernels.draws import exponential_sums
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, History, Order
from bandstrap.policies.states.history import room


class Params(NamedTuple):
    """Numbers of pseudo-rewards 1 and 0."""

    ones: float
    zeros: float


class State(NamedTuple):
    """Number of rewards that were 1 and 0, and the other rewards."""

    order: Order
    pulls: Counts
    ones: Counts
    zeros: Counts
    history: History


def prepare(params: Params, state: State, round_: int) -> int:
    """Nothing is shared."""
    return 0


def score(params: Params, state: State, arm: int, shared: int, rng: np.random.Generator) -> float:
    """A weighted mean; the weights of all ones, and of all zeros, are drawn as one gamma variable."""
    ones = state.ones[arm]
    zeros = state.zeros[arm]
    weighted, total = exponential_sums(state.history[arm], state.pulls[arm] - ones - zeros, rng)
    of_ones = rng.standard_gamma(params.ones + ones)
    of_zeros = rng.standard_gamma(params.zeros + zeros)
    return (of_ones + weighted) / (of_ones + of_zeros + total)


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Count a reward of 1 or 0, keep any other."""
    if reward == 1.0:
        state.ones[arm] += 1
    elif reward == 0.0:
        state.zeros[arm] += 1
    else:
        state.history[arm][state.pulls[arm] - state.ones[arm] - state.zeros[arm]] = reward
    state.pulls[arm] += 1


KERNEL = Kernel("weighted_bootstrap", learn=learn, score=score, prepare=prepare)


class WeightedBootstrap(Policy[Label]):
    r"""Weighted bootstrap with exponential weights and pseudo-rewards.

    .. math:: \theta = \frac{\sum_{i \le n} w_i y_i + \sum_{j \le a} w'_j}
        {\sum_{i \le n} w_i + \sum_{j \le a} w'_j + \sum_{j \le b} w''_j}, \qquad w, w', w'' \sim \mathrm{Exp}(1)

    with ``a`` pseudo-rewards 1 and ``b`` pseudo-rewards 0. On rewards 0 and 1 this is Thompson sampling with the prior
    Beta(a, b).

    Assumes rewards in [0, 1], between the two pseudo-rewards. Prefer it for rewards between 0 and 1, if the horizon is
    short enough to keep all of them.

    Parameters
    ----------
    ones, zeros
        ``a`` and ``b``, not necessarily integers; the defaults are the uniform prior of Thompson sampling.
    check_range
        Refuse rewards outside [0, 1], for which the pseudo-rewards are meant (default).
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    The weights of equal rewards add up to a gamma variable, so a decision costs O(1) on rewards 0 and 1, and otherwise
    O(t).

    See Also
    --------
    bandstrap.BernoulliTS : tosses a coin for rewards between 0 and 1, which adds noise; prefer this one there.
    bandstrap.NPTS : a pseudo-reward at the upper end only.

    Examples
    --------
    >>> from bandstrap import WeightedBootstrap
    >>> policy = WeightedBootstrap(arms=2, rng=0)
    >>> policy.update([0, 1] * 20, [0.2, 0.8] * 20)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Vaswani, Kveton, Wen, Rao, Schmidt, Abbasi-Yadkori. New insights into bootstrapping for bandits.
       arXiv:1805.09793, 2018.
    """

    kernel = KERNEL

    def __init__(
        self, *, ones: float = 1.0, zeros: float = 1.0, check_range: bool = True, **online: Unpack[Online[Label]]
    ) -> None:
        self.ones = self.positive(ones, "ones")
        self.zeros = self.positive(zeros, "zeros")
        self.limit_range(check_range)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.ones, self.zeros)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: counts at zero, and room for ``capacity`` rewards per arm."""
        counts = np.zeros(n_arms, dtype=np.int64)
        return State(order, counts, counts.copy(), counts.copy(), room(n_arms, capacity))
