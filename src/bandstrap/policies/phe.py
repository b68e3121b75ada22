"""PHE: the mean of rewards and fair coins."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import check_number
from bandstrap.policies.kernels.draws import draw_heads
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, learn, no_rewards

# Beyond, rewards are lost among pseudo-rewards, and compiled code could not count these.
LARGEST_A = 1e6


def prepare(params: float, state: State, round_: int) -> float:
    """Pseudo-rewards per reward."""
    return params


def score(params: float, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``(sum y + heads)/(n + m)`` with the heads of ``m = ceil(a n)`` fair coins."""
    n = state.pulls[arm]
    coins = math.ceil(shared * n - 1e-9)  # a product that rounding put above an integer is that integer
    return (state.sums[arm] + draw_heads(coins, rng)) / (n + coins)


KERNEL = Kernel("phe", learn=learn, score=score, prepare=prepare)


class PHE(Policy[Label]):
    r"""Perturbed-history exploration: the mean of the rewards and of fresh coin tosses, for rewards in [0, 1].

    .. math:: \theta = \frac{\sum y_i + B}{n + m}, \qquad B \sim \mathrm{Bin}(m, \tfrac12), \quad m = \lceil a n \rceil

    Assumes rewards in [0, 1]. Prefer it if a random policy must be cheap, or must also serve models more complex than a
    mean.

    Parameters
    ----------
    a
        Pseudo-rewards per reward, fewer than a million. Regret is proved logarithmic for ``a > 1``; the default is 1.1.
        With smaller values regret can grow almost linearly.
    check_range
        Refuse rewards outside [0, 1], the range of the coin tosses (default); ``False`` accepts them.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.Giro : resamples the rewards as well; the cost grows with the history.

    Examples
    --------
    >>> from bandstrap import PHE
    >>> policy = PHE(arms=2, rng=0)
    >>> policy.update([0, 1] * 50, [0.1, 0.9] * 50)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Kveton, Szepesvari, Ghavamzadeh, Boutilier. Perturbed-history exploration in stochastic multi-armed bandits.
       IJCAI 2019.
    """

    kernel = KERNEL

    def __init__(self, *, a: float = 1.1, check_range: bool = True, **online: Unpack[Online[Label]]) -> None:
        self.a = check_number(a, "a", type(self).__name__, above=0, below=LARGEST_A)
        self.limit_range(check_range)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> float:
        """Pseudo-rewards per reward."""
        return self.a

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)
