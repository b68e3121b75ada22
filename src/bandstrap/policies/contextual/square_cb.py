"""SquareCB: probabilities that are the inverse of how far an arm is predicted to be behind."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel, borrowing, jitable
from bandstrap.policies.contextual.contextual_policy import ContextualOnline, ContextualPolicy
from bandstrap.policies.contextual.greedy import greedy_scores
from bandstrap.policies.contextual.regressions import State, leader, learn
from bandstrap.policies.online.policy import Label


class Params(NamedTuple):
    """``gamma_t = scale t^exponent``."""

    scale: float
    exponent: float


@jitable
def share_of(params: Params, state: State, arm: int, best: int, round_: int) -> float:
    """``1/(K + gamma_t (f_best - f_arm))``."""
    gamma = params.scale * round_**params.exponent
    return 1.0 / (len(state.order) + gamma * (state.scores[best] - state.scores[arm]))


@borrowing
def choose(params: Params, state: State, round_: int, rng: np.random.Generator) -> int:
    """Draw an arm by the inverse of its gap; what is left goes to the leader."""
    greedy_scores(state)
    best = leader(state)
    left = rng.random()
    for arm in range(len(state.order)):
        if arm != best:
            left -= share_of(params, state, arm, best, round_)
            if left < 0.0:
                return arm
    return int(best)


KERNEL = Kernel("square_cb", learn=learn, choose=choose)


class SquareCB(ContextualPolicy[Label]):
    r"""Inverse gap weighting: an arm's probability decreases with the distance of its prediction from the best.

    .. math:: p_k = \frac{1}{K + \gamma_t (f_* - f_k)}, \qquad \gamma_t = c\, t^{\rho},

    and the rest for the leader.

    Assumes that the regression is right, and a ``scale`` that matches that of rewards. Prefer it if a log with positive
    probabilities is needed: none is below ``1/(K + c t^rho range)``.

    Parameters
    ----------
    scale, exponent
        :math:`c` and :math:`\rho`; by default 10 and 1/2, as in Vowpal Wabbit.
    contexts, model, features, ridge, standardise
        See :class:`bandstrap.policies.contextual.ContextualPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    While all rewards are equal, predictions are equal too, and leverages replace them: then arms with more information in
    the context are less probable.

    Examples
    --------
    >>> from bandstrap import SquareCB
    >>> policy = SquareCB(arms=["red", "blue"], contexts=1, rng=0)
    >>> policy.update(["red", "blue"] * 50, [0.0, 1.0] * 50, context=[[0.0]] * 100)
    >>> policy.weights(context=[0.0])["red"] < 0.02
    True

    References
    ----------
    .. [1] Foster, Rakhlin. Beyond UCB: optimal and efficient contextual bandits with regression oracles. ICML 2020.
    """

    kernel = KERNEL
    is_random = True

    def __init__(
        self, *, scale: float = 10.0, exponent: float = 0.5, **online: Unpack[ContextualOnline[Label]]
    ) -> None:
        self.scale = self.not_negative(scale, "scale")
        self.exponent = self.not_negative(exponent, "exponent")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.scale, self.exponent)

    def exact_weights(self, params: Any, state: Any, round_: int) -> list[float]:
        """The formula."""
        greedy_scores(state)
        best = leader(state)
        shares = [share_of(params, state, arm, best, round_) for arm in range(len(state.order))]
        shares[best] = 1.0 - (sum(shares) - shares[best])
        return shares
