"""OFUL with labelled arms: the radius of a confidence ellipsoid for each arm."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

from bandstrap.engine.compiler.kernel import Kernel, borrowing, inlined
from bandstrap.errors import check_number, requirement
from bandstrap.policies.contextual.contextual_policy import ContextualOnline, ContextualPolicy
from bandstrap.policies.contextual.regressions import State, learn, look_at_all, score
from bandstrap.policies.contextual.triangles import log_diagonal
from bandstrap.policies.online.policy import Label


class Params(NamedTuple):
    """Noise, the length of the penalised coefficients, and the probability of a failure."""

    sigma: float
    theta_bound: float
    delta: float


@inlined
def growth(state: State, arm: int) -> float:
    """``log det V - log det P`` over two, for the coefficients of an arm and those that all share."""
    total = log_diagonal(state.own[arm]) + log_diagonal(state.common)
    d = state.roots.size
    for j in range(state.own.shape[1]):
        total -= math.log(state.roots[j])
    for i in range(state.common.shape[0]):
        total -= math.log(state.roots[i % d])
    return total


@borrowing
def prepare(params: Params, state: State, round_: int) -> None:
    """Write down ``f + radius sqrt(v)``."""
    look_at_all(state)
    for arm in range(len(state.leverages)):
        radius = params.theta_bound + params.sigma * math.sqrt(
            2.0 * max(growth(state, arm), 0.0) - 2.0 * math.log(params.delta)
        )
        state.scores[arm] = state.fits[arm] + radius * math.sqrt(state.leverages[arm])


KERNEL = Kernel("contextual_oful", learn=learn, prepare=prepare, score=score)


class ContextualOFUL(ContextualPolicy[Label]):
    r"""OFUL with labelled arms: LinUCB with the width required by a theorem.

    .. math:: f_k + \Bigl(S + \sigma\sqrt{\log\tfrac{\det V_k}{\det P} + 2\log\tfrac1\delta}\Bigr) \sqrt{v_k}

    for the penalty :math:`P` and :math:`V_k`, the penalty plus the sum over contexts of arm ``k``.

    Assumes that means are linear, noise ``sigma``-sub-Gaussian, and coefficients no longer than ``theta_bound`` in the norm
    of the penalty. Prefer it if a guarantee matters more than regret: the width is several times too large in practice. The
    guarantee requires given scales and ``ridge="textbook"``; it does not cover shrinkage to a mean of rewards.

    Parameters
    ----------
    sigma
        The noise of rewards.
    theta_bound
        :math:`S`, the length of the coefficients in the norm of the penalty.
    delta
        Probability that the ellipsoid of an arm ever misses its coefficients; with ``K`` arms the probability for any of
        them is up to ``K delta``.
    contexts, model, features, ridge, standardise
        See :class:`bandstrap.policies.contextual.ContextualPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.OFUL : for actions described by their features.

    Examples
    --------
    >>> from bandstrap import ContextualOFUL
    >>> policy = ContextualOFUL(arms=["red", "blue"], contexts=1, sigma=0.1, rng=0)
    >>> policy.update(["red", "blue"] * 50, [0.0, 1.0] * 50, context=[[0.0]] * 100)
    >>> policy.select(context=[0.0])
    'blue'

    References
    ----------
    .. [1] Abbasi-Yadkori, Pal, Szepesvari. Improved algorithms for linear stochastic bandits. NeurIPS 2011.
    """

    kernel = KERNEL

    def __init__(
        self,
        *,
        sigma: float = 1.0,
        theta_bound: float = 0.0,
        delta: float = 0.05,
        **online: Unpack[ContextualOnline[Label]],
    ) -> None:
        self.sigma = self.positive(sigma, "sigma")
        self.theta_bound = self.not_negative(theta_bound, "theta_bound")
        self.delta = check_number(delta, "delta", type(self).__name__, above=0)
        if self.delta >= 1.0:
            raise requirement("delta", type(self).__name__, "below 1", delta)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.sigma, self.theta_bound, self.delta)
