"""Light-tailed UCB: a bonus that makes large regret exponentially unlikely."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import check_count, check_number, requirement
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, learn, no_rewards


class Params(NamedTuple):
    """Both factors, both exponents, and the horizon, 0 where the round replaces it."""

    eta1: float
    eta2: float
    exponent: float
    beta: float
    horizon: int


class Shared(NamedTuple):
    """Numerators over ``n`` and over its root."""

    fast: float
    slow: float


def prepare(params: Params, state: State, round_: int) -> Shared:
    """``eta1 (t/K)^alpha sqrt(log K)`` and ``eta2 sqrt(t^beta)``."""
    t = params.horizon if params.horizon > 0 else round_
    n_arms = len(state.order)
    fast = params.eta1 * (t / n_arms) ** params.exponent * math.sqrt(math.log(n_arms))
    return Shared(fast, params.eta2 * t ** (0.5 * params.beta))


def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """``ybar + min(eta1 (t/K)^alpha sqrt(log K)/n, eta2 sqrt(t^beta/n))``."""
    n = state.pulls[arm]
    return state.sums[arm] / n + min(shared.fast / n, shared.slow / math.sqrt(n))


KERNEL = Kernel("light_tailed_ucb", learn=learn, score=score, prepare=prepare)


class LightTailedUCB(Policy[Label]):
    r"""Upper confidence bound with a bonus of order ``1/n``, against rare runs of very large regret.

    .. math:: \bar y + \hat\sigma \min\Bigl(\eta_1 \frac{(t/K)^\alpha \sqrt{\log K}}{n},
        \eta_2 \sqrt{\frac{t^\beta}{n}}\Bigr)

    with ``K`` arms: more exploration early and less of it late than :class:`bandstrap.UCB1`.

    Assumes sub-Gaussian noise, whose scale need only be roughly known. Prefer it if one bad run in a thousand matters more
    than the mean. The probability of regret above ``x`` falls exponentially in ``x``, not as ``1/x``.

    Parameters
    ----------
    sigma
        Assumed noise scale, a factor of the bonus. The default suits rewards measured in units of their noise.
    eta1, eta2
        Factors of the two bonuses. The theorem holds for all; the default is 1.
    exponent
        ``alpha``, in [1/2, 1). Regret is at most of order ``T^alpha`` for any means; the default 1/2 is the least possible.
        A larger one makes linear regret less likely.
    beta
        In (0, ``alpha``], by default ``alpha``. Regret is of order ``T^beta`` for fixed means; no policy with light tails
        attains ``log T``.
    horizon
        ``T``, which replaces ``t``; by default it is not known. The simulator does not fill it in.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    A policy whose regret is of order ``log T`` for fixed means has linear regret with a probability that is a power of
    ``1/T`` [1]_. Here that probability is at most of order ``exp(-c T^beta)`` [2]_, see [3]_. With ``beta`` near 0
    the second bonus is that of UCB1 without its logarithm.

    See Also
    --------
    bandstrap.UCB1 : less mean regret over long horizons with fixed means, but heavier tails. bandstrap.EdgeworthUCB :
    ``caution`` trades the mean for the tail without a noise scale.

    Examples
    --------
    >>> from bandstrap import LightTailedUCB
    >>> policy = LightTailedUCB(arms=2, sigma=0.5, rng=0)
    >>> policy.update([0, 1] * 10, [0.2, 0.8] * 10)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Simchi-Levi, Zheng, Zhu. A simple and optimal policy design with safety against heavy-tailed risk for stochastic
       bandits. Management Science 71, 2025.
    .. [2] Simchi-Levi, Zheng, Zhu. Stochastic multi-armed bandits: optimal trade-off among optimality, consistency, and
       tail risk. NeurIPS 2023.
    .. [3] Lee, Oh. Unified framework of distributional regret in multi-armed bandits and reinforcement learning. COLT 2026,
       theorem 45.
    """

    kernel = KERNEL
    name = "light_tailed_ucb"
    indices_are_bounds = True

    def __init__(
        self,
        *,
        sigma: float = 1.0,
        eta1: float = 1.0,
        eta2: float = 1.0,
        exponent: float = 0.5,
        beta: float | None = None,
        horizon: int | None = None,
        **online: Unpack[Online[Label]],
    ) -> None:
        owner = type(self).__name__
        self.sigma = self.positive(sigma, "sigma")
        self.eta1 = self.positive(eta1, "eta1")
        self.eta2 = self.positive(eta2, "eta2")
        self.exponent = check_number(exponent, "exponent", owner, above=0, below=1)
        if self.exponent < 0.5:
            raise requirement("exponent", owner, "at least 1/2", self.exponent)
        self.beta = None if beta is None else check_number(beta, "beta", owner, above=0, below=1)
        if self.beta is not None and self.beta > self.exponent:
            raise requirement("beta", owner, f"at most the exponent {self.exponent:g}", self.beta)
        self.horizon = None if horizon is None else check_count(horizon, "horizon", owner)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        beta = self.exponent if self.beta is None else self.beta
        return Params(self.sigma * self.eta1, self.sigma * self.eta2, self.exponent, beta, self.horizon or 0)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)
