"""MOSS: a confidence bound that spends less on arms pulled more than their share."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import check_count
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, learn, no_rewards


class Params(NamedTuple):
    """Noise scale, factor of the logarithm, and the horizon, 0 where the round replaces it."""

    sigma: float
    c: float
    horizon: int


def prepare(params: Params, state: State, round_: int) -> float:
    """An arm's share of the rounds: ``t/K``, or ``T/K`` where the horizon is known."""
    return (params.horizon if params.horizon > 0 else round_) / len(state.order)


def score(params: Params, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``ybar + sigma sqrt(c log+(t/(K n))/n)``."""
    n = state.pulls[arm]
    return state.sums[arm] / n + params.sigma * math.sqrt(params.c * math.log(max(shared / n, 1.0)) / n)


KERNEL = Kernel("moss", learn=learn, score=score, prepare=prepare)


class MOSS(Policy[Label]):
    r"""Minimax optimal strategy: optimism only towards arms pulled less than their share.

    .. math:: \bar y + \hat\sigma \sqrt{\frac{c}{n} \log^+ \frac{t}{K n}}

    with ``log+ x = max(log x, 0)`` and ``K`` arms.

    Assumes noise of a known scale. Prefer it with many arms and a reliable scale; with too large a scale it explores too
    much.

    Parameters
    ----------
    sigma
        Assumed noise scale; 1/2 is enough for rewards in [0, 1].
    c
        Factor of the logarithm. The default 2 is that of UCB1; its mean regret is lower than with the proved values. With 4
        and ``sigma = 1/2`` it is the original index, proved to be minimax for a known horizon. Without a horizon Degenne
        and Perchet use 4.7.
    horizon
        ``T``, which replaces ``t``; by default it is not known. The simulator does not fill it in.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.UCB1 : without the arm's share in the logarithm; explores more.

    Examples
    --------
    >>> from bandstrap import MOSS
    >>> policy = MOSS(arms=2, sigma=0.5, rng=0)
    >>> policy.update([0, 1] * 10, [0.2, 0.8] * 10)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Audibert, Bubeck. Minimax policies for adversarial and stochastic bandits. COLT 2009.
    .. [2] Degenne, Perchet. Anytime optimal algorithms in stochastic multi-armed bandits. ICML 2016.
    .. [3] Lattimore, Szepesvari. Bandit algorithms. Cambridge University Press 2020, chapter 9.
    """

    kernel = KERNEL
    indices_are_bounds = True

    def __init__(
        self, *, sigma: float = 1.0, c: float = 2.0, horizon: int | None = None, **online: Unpack[Online[Label]]
    ) -> None:
        self.sigma = self.positive(sigma, "sigma")
        self.c = self.positive(c, "c")
        self.horizon = None if horizon is None else check_count(horizon, "horizon", type(self).__name__)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.sigma, self.c, self.horizon or 0)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)
