"""Non-parametric Thompson sampling: rewards and the largest possible one, reweighted at random."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import check_number
from bandstrap.policies.kernels.draws import exponential_sums
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.history import State, learn, no_rewards


class Params(NamedTuple):
    """The largest possible reward."""

    upper: float


def prepare(params: Params, state: State, round_: int) -> int:
    """Nothing is shared."""
    return 0


def score(params: Params, state: State, arm: int, shared: int, rng: np.random.Generator) -> float:
    """An average of the rewards and the largest possible one with Dirichlet(1, ..., 1) weights."""
    weighted, total = exponential_sums(state.history[arm], state.pulls[arm], rng)
    weight = rng.standard_exponential()
    return (weighted + weight * params.upper) / (total + weight)


KERNEL = Kernel("npts", learn=learn, score=score, prepare=prepare)


class NPTS(Policy[Label]):
    r"""Non-parametric Thompson sampling, for rewards with a known upper end.

    .. math:: \theta = w_0 u + \sum_{i \le n} w_i y_i, \qquad w \sim \mathrm{Dirichlet}(1, \dots, 1)

    Assumes rewards that never exceed a known number. Prefer it for bounded rewards of unknown shape and the best asymptotic
    constant, if the horizon is short enough to keep every reward.

    Parameters
    ----------
    upper
        ``u``, the largest possible reward. The lower end does not matter. Costs (``direction="min"``) are at least ``-u``:
        give 0 if they are never negative.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Asymptotically optimal for bounded rewards. On rewards 0 and 1 it is Thompson sampling with the prior Beta(1, 0). A
    decision costs O(t).

    See Also
    --------
    bandstrap.BernoulliTS : O(1), but replaces rewards between 0 and 1 by coin tosses. bandstrap.WeightedBootstrap : the
    same weights with a pseudo-reward at both ends.

    Examples
    --------
    >>> from bandstrap import NPTS
    >>> policy = NPTS(arms=2, upper=1.0, rng=0)
    >>> policy.update([0, 1] * 20, [0.2, 0.8] * 20)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Riou, Honda. Bandit algorithms based on Thompson sampling for bounded reward distributions. ALT 2020.
    """

    kernel = KERNEL

    def __init__(self, *, upper: float = 1.0, **online: Unpack[Online[Label]]) -> None:
        self.upper = check_number(upper, "upper", type(self).__name__)
        super().__init__(**online)
        self.support = self.support_up_to(self.upper)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.upper)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: room for ``capacity`` of them per arm."""
        return no_rewards(n_arms, capacity, order)
