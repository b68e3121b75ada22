"""KL-UCB: the largest mean whose distribution is not too far from the rewards, for distributions known by their mean."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import check_choice, check_flag
from bandstrap.policies.kernels.divergence import BERNOULLI, DIVERGENCES, Divergence, bernoulli_upper_mean
from bandstrap.policies.kernels.schedule import exploration
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, learn, no_rewards


class Params(NamedTuple):
    """Divergence, its noise scale if normal, whether ``t/n`` replaces ``t``, and the factor of ``log log t``."""

    kind: int
    sigma: float
    plus: bool
    c: float


def prepare(params: Params, state: State, round_: int) -> float:
    """``log t + c log log t``, or ``t`` where each arm has its own."""
    return float(round_) if params.plus else exploration(round_, params.c)


def score(params: Params, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``sup {q : n d(ybar, q) <= log t + c log log t}``."""
    n = state.pulls[arm]
    mean = state.sums[arm] / n
    divergence = (exploration(shared / n, params.c) if params.plus else shared) / n
    if params.kind == BERNOULLI:
        index = bernoulli_upper_mean(mean, divergence)
    else:
        index = mean + params.sigma * math.sqrt(2.0 * divergence)
    return index


KERNEL = Kernel("kl_ucb", learn=learn, score=score, prepare=prepare)


class KLUCB(Policy[Label]):
    r"""KL-UCB: the largest mean within a Kullback-Leibler ball around the arm's mean.

    .. math:: \sup\{q : n\, d(\bar y, q) \le \log t + c \log\log t\}

    with ``d`` the divergence between Bernoulli distributions, or ``(p - q)^2/(2 sigma^2)`` between normal ones.

    Assumes rewards in [0, 1], or normal noise of a known scale. Prefer it for 0/1 rewards if a proved bound is wanted.

    Parameters
    ----------
    divergence
        ``"bernoulli"`` (default) for any rewards in [0, 1], ``"gaussian"`` for unbounded rewards of noise scale ``sigma``.
    sigma
        Assumed noise scale, used by ``"gaussian"`` only.
    plus
        KL-UCB+: ``t/n`` in place of ``t``. It is nearly always better, but not the default, because less is proved about
        it.
    c
        Factor of ``log log t``; 0 (default) in practice, 3 in theory.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.EmpiricalKLUCB : uses the whole sample; prefer it if rewards vary less than 0/1 rewards of the same mean.
    bandstrap.IMED : the same divergence without a confidence level.

    Examples
    --------
    >>> from bandstrap import KLUCB
    >>> policy = KLUCB(arms=2, rng=0)
    >>> policy.update([0, 1] * 20, [0, 1, 1, 1] * 10)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Garivier, Cappe. The KL-UCB algorithm for bounded stochastic bandits and beyond. COLT 2011.
    .. [2] Cappe, Garivier, Maillard, Munos, Stoltz. Kullback-Leibler upper confidence bounds for optimal sequential
       allocation. Annals of Statistics 41, 2013.
    """

    kernel = KERNEL
    indices_are_bounds = True
    name = "kl_ucb"

    def __init__(
        self,
        *,
        divergence: Divergence = "bernoulli",
        sigma: float = 1.0,
        plus: bool = False,
        c: float = 0.0,
        **online: Unpack[Online[Label]],
    ) -> None:
        owner = type(self).__name__
        self.divergence = check_choice(divergence, "divergence", owner, DIVERGENCES)
        self.sigma = self.positive(sigma, "sigma")
        self.plus = check_flag(plus, "plus", owner)
        self.c = self.not_negative(c, "c")
        if self.divergence == "bernoulli":
            self.support = (0.0, 1.0)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(DIVERGENCES[self.divergence], self.sigma, self.plus, self.c)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)
