"""UCB-V: the empirical Bernstein bound as an index."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Unpack

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.online.epoch_policy import EpochOptions, EpochPolicy, KernelOfEpochs
from bandstrap.policies.online.policy import Label
from bandstrap.policies.states.moments import State, learn


class Params(NamedTuple):
    """The largest possible reward, and the factors of the logarithm and of the range."""

    upper: float
    zeta: float
    c: float


def prepare(params: Params, state: State, round_: int) -> float:
    """``zeta log t``."""
    return params.zeta * math.log(round_)


def score(params: Params, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``ybar + sqrt(2 v e/n) + 3 c u e/n`` with ``e = zeta log t``."""
    n = state.pulls[arm]
    variance = state.squares[arm] / n
    return state.means[arm] + math.sqrt(2.0 * variance * shared / n) + 3.0 * params.c * params.upper * shared / n


KERNEL = Kernel("ucb_v", learn=learn, score=score, prepare=prepare)


class UCBV(EpochPolicy[Label]):
    r"""UCB-V: upper confidence bound from the empirical variance, for rewards in an interval.

    .. math:: \bar y + \sqrt{2 v\, e / n} + 3 c u\, e / n, \qquad e = \zeta \log t

    with ``v`` the variance of the arm's rewards (divided by ``n``).

    Assumes rewards in [0, u]. Prefer it if rewards vary little within a wide range and a proof is needed.

    Parameters
    ----------
    upper
        ``u``; rewards lie in [0, u].
    zeta
        Factor of the logarithm: 1 (default) in practice; regret is proved to be logarithmic for more than 1, such as 1.2.
    c
        Factor of the term with the range: 1 (default) in theory. A smaller factor explores less, and is better at short
        horizons.
    epochs, epoch_length, discount
        See :class:`bandstrap.policies.online.epoch_policy.EpochPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.UCBTuned : also looks at the variance; no proof, lower regret at short horizons.

    Examples
    --------
    >>> from bandstrap import UCBV
    >>> policy = UCBV(arms=2, rng=0)
    >>> policy.update([0, 1] * 50, [0.2, 0.8] * 50)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Audibert, Munos, Szepesvari. Exploration-exploitation trade-off using variance estimates in multi-armed bandits.
       Theoretical Computer Science 410, 2009.
    """

    kernel = KernelOfEpochs(KERNEL)
    indices_are_bounds = True
    name = "ucb_v"

    def __init__(
        self, *, upper: float = 1.0, zeta: float = 1.0, c: float = 1.0, **online: Unpack[EpochOptions[Label]]
    ) -> None:
        self.upper = self.positive(upper, "upper")
        self.zeta = self.positive(zeta, "zeta")
        self.c = self.positive(c, "c")
        self.support = (0.0, self.upper)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Any:
        return self.with_epochs(Params(self.upper, self.zeta, self.c))
