"""Thompson sampling for normal rewards of unknown variance."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Unpack

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import check_number
from bandstrap.policies.online.epoch_policy import EpochOptions, EpochPolicy, KernelOfEpochs
from bandstrap.policies.online.policy import Label
from bandstrap.policies.states.moments import State, learn

# Beyond, the prior outweighs any number of rewards, or asks for that many before the first decision.
LARGEST_EXPONENT = 1e6


class Params(NamedTuple):
    """Exponent of the prior, and the number of rewards from which the posterior is used."""

    a: float
    n_initial: int


def prepare(params: Params, state: State, round_: int) -> float:
    """``2a - 1``, by which the degrees of freedom exceed the number of rewards."""
    return 2.0 * params.a - 1.0


def score(params: Params, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """A draw of ``ybar + sqrt(S/(n d)) t_d`` with ``d = n + 2a - 1`` degrees of freedom; infinite for too few rewards.

    ``t_d = sqrt(d (U^(-2/d) - 1)) cos(2 pi V)`` with uniform ``U`` and ``V`` (Bailey 1994).
    """
    n = state.pulls[arm]
    draw = math.inf
    if n >= params.n_initial:
        spread = state.squares[arm] / n * math.expm1(2.0 * rng.standard_exponential() / (n + shared))
        draw = state.means[arm] + math.sqrt(spread) * math.cos(2.0 * math.pi * rng.random())
    return draw


KERNEL = Kernel("gaussian_ts_unknown_variance", learn=learn, score=score, prepare=prepare)


class GaussianTSUnknownVariance(EpochPolicy[Label]):
    r"""Thompson sampling with a Student posterior, for normal rewards whose variance is not known.

    .. math:: \theta = \bar y + \sqrt{\frac{S}{n d}}\, t_d, \qquad d = n + 2a - 1, \quad S = \sum (y_i - \bar y)^2

    the posterior of a mean under the prior density :math:`(\sigma^2)^{-1-a}` of mean and variance. Each arm is pulled
    ``max(2, 3 - floor(2a))`` times first.

    Assumes normal rewards; their variances may differ. Prefer it to :class:`bandstrap.GaussianTS` where no scale is
    known and decisions must be random.

    Parameters
    ----------
    a
        Exponent of the prior. Regret is asymptotically optimal for every ``a < 0``, but not for Jeffreys' prior (1/2) or
        the reference prior (0). These are too certain of a mean if the first rewards happen to lie close together. The
        default -1/2 is the prior uniform in mean and standard deviation; -1, uniform in mean and variance, explores more.
    epochs, epoch_length, discount
        See :class:`bandstrap.policies.online.epoch_policy.EpochPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.GaussianTS : where the noise scale is known.
    bandstrap.CHKUCB : not random, for the same rewards.

    Examples
    --------
    >>> from bandstrap import GaussianTSUnknownVariance
    >>> policy = GaussianTSUnknownVariance(arms=2, rng=0)
    >>> policy.update([0, 1] * 20, [0.1, 0.8, 0.3, 0.9] * 10)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Honda, Takemura. Optimality of Thompson sampling for Gaussian bandits depends on priors. AISTATS 2014.
    .. [2] Bailey. Polar generation of random variates with the t-distribution. Mathematics of Computation 62, 1994.
    """

    kernel = KernelOfEpochs(KERNEL)
    name = "gaussian_ts_unknown_variance"

    def __init__(self, *, a: float = -0.5, **online: Unpack[EpochOptions[Label]]) -> None:
        self.a = check_number(a, "a", type(self).__name__, above=-LARGEST_EXPONENT, below=LARGEST_EXPONENT)
        self.n_initial = max(2, 3 - math.floor(2 * self.a))
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Any:
        return self.with_epochs(Params(self.a, self.n_initial))
