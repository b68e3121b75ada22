"""UCB1-tuned: UCB1 with an upper bound on the arm's own variance."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.online.epoch_policy import EpochOptions, EpochPolicy, KernelOfEpochs
from bandstrap.policies.online.policy import Label
from bandstrap.policies.states.moments import State, learn


def prepare(params: float, state: State, round_: int) -> float:
    """``log t``."""
    return math.log(round_)


def score(params: float, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``ybar + u sqrt((log t/n) min(1/4, v/u^2 + sqrt(2 log t/n)))``; ``params`` is ``u``."""
    n = state.pulls[arm]
    rate = shared / n
    variance = state.squares[arm] / n / (params * params)
    return state.means[arm] + params * math.sqrt(rate * min(0.25, variance + math.sqrt(2.0 * rate)))


KERNEL = Kernel("ucb_tuned", learn=learn, score=score, prepare=prepare)


class UCBTuned(EpochPolicy[Label]):
    r"""UCB1-tuned: UCB1 for rewards in an interval, scaled by a bound on the arm's own variance.

    .. math:: \bar y + u \sqrt{\frac{\log t}{n} \min\left(\tfrac14,\; \frac{v}{u^2} + \sqrt{2 \log t / n}\right)}

    with ``v`` the variance of the arm's rewards (divided by ``n``), at most ``u^2/4`` for rewards in [0, u].

    Assumes rewards in [0, u]. Prefer it for 0/1 rewards over short horizons, if no proof is needed.

    Parameters
    ----------
    upper
        ``u``; rewards lie in [0, u].
    epochs, epoch_length, discount
        See :class:`bandstrap.policies.online.epoch_policy.EpochPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Nothing is proved about it, but it is hard to beat on Bernoulli rewards at short horizons.

    See Also
    --------
    bandstrap.UCBV : the same idea with a proof, and wider.

    Examples
    --------
    >>> from bandstrap import UCBTuned
    >>> policy = UCBTuned(arms=2, rng=0)
    >>> policy.update([0, 1] * 10, [0.2, 0.8] * 10)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Auer, Cesa-Bianchi, Fischer. Finite-time analysis of the multiarmed bandit problem. Machine Learning 47, 2002,
       section 4.
    """

    kernel = KernelOfEpochs(KERNEL)
    indices_are_bounds = True
    name = "ucb_tuned"

    def __init__(self, *, upper: float = 1.0, **online: Unpack[EpochOptions[Label]]) -> None:
        self.upper = self.positive(upper, "upper")
        self.support = (0.0, self.upper)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Any:
        """The largest possible reward."""
        return self.with_epochs(self.upper)
