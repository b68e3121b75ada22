"""CHK-UCB: an upper confidence bound for normal rewards of unknown variance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.online.epoch_policy import EpochPolicy, KernelOfEpochs
from bandstrap.policies.online.policy import Label
from bandstrap.policies.states.moments import State, learn


def prepare(params: int, state: State, round_: int) -> float:
    """``2 log t``."""
    return 2.0 * math.log(round_)


def score(params: int, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``ybar + s sqrt(t^(2/(n-2)) - 1)``; infinite before the third reward."""
    n = state.pulls[arm]
    index = math.inf
    if n > 2:
        index = state.means[arm] + math.sqrt(state.squares[arm] / n * math.expm1(shared / (n - 2)))
    return index


KERNEL = Kernel("chk_ucb", learn=learn, score=score, prepare=prepare)


class CHKUCB(EpochPolicy[Label]):
    r"""CHK-UCB: inflated sample mean for normal rewards whose variance is not known.

    .. math:: \bar y + s \sqrt{t^{2/(n-2)} - 1}

    with ``s^2`` the variance of the arm's rewards (divided by ``n``). Each arm is pulled three times first.

    Assumes normal rewards; their variances may differ. Prefer it if normality is certain and there are many rounds.

    Parameters
    ----------
    epochs, epoch_length, discount
        See :class:`bandstrap.policies.online.epoch_policy.EpochPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Needs no scale and is asymptotically optimal for normal rewards, but starts slowly: after three rewards the bound is
    about ``t`` standard deviations wide. An arm whose rewards are all equal gets no bonus at all.

    See Also
    --------
    bandstrap.GaussianTSUnknownVariance : random, for the same rewards.

    Examples
    --------
    >>> from bandstrap import CHKUCB
    >>> policy = CHKUCB(arms=2, rng=0)
    >>> policy.update([0, 1] * 12, [0.1, 0.8, 0.3, 0.9] * 6)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Cowan, Honda, Katehakis. Normal bandits of unknown means and variances. Journal of Machine Learning Research 18,
       2018.
    """

    kernel = KernelOfEpochs(KERNEL)
    indices_are_bounds = True
    name = "chk_ucb"
    n_initial = 3

    def make_params(self, horizon: int | None) -> Any:
        """There are no parameters."""
        return self.with_epochs(0)
