"""Epsilon-greedy: the leader, or now and then any arm."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, inlined
from bandstrap.policies.kernels.draws import random_index
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, leader, learn, no_rewards


class Params(NamedTuple):
    """Rate of exploration, and how it falls."""

    epsilon: float
    decay: float


@inlined
def exploration_rate(params: Params, n_arms: int, round_: int) -> float:
    """``epsilon (K/t)^decay``: the probability of any arm, certain from 1 on."""
    return params.epsilon * (n_arms / round_) ** params.decay


def choose(params: Params, state: State, round_: int, rng: np.random.Generator) -> int:
    """Any arm with probability ``epsilon (K/t)^decay``, else the one with the highest mean."""
    n_arms = len(state.order)
    explores = rng.random() < exploration_rate(params, n_arms, round_)
    return random_index(n_arms, rng) if explores else leader(state)


KERNEL = Kernel("epsilon_greedy", learn=learn, choose=choose)


class EpsilonGreedy(Policy[Label]):
    r"""Epsilon-greedy: the arm with the highest mean, but any arm at random with a small probability.

    .. math:: \epsilon_t = \min(1, \epsilon (K/t)^{\mathrm{decay}})

    for ``K`` arms in round ``t``.

    Assumes nothing. Prefer it if a policy must be explained in one sentence, and as a baseline: its exploration ignores
    uncertainty.

    Parameters
    ----------
    epsilon
        Rate of exploration. The default 0.1 is customary.
    decay
        Exponent of its decrease. With the default 0 the rate is constant, and regret grows linearly. With 1 and
        ``epsilon = c/d^2`` it is the rule of Auer, Cesa-Bianchi and Fischer. Its regret is logarithmic if ``d`` is at most
        the smallest gap and ``c`` is more than 5. With 1/3 no gap need be known, but regret is of order ``T^(2/3)``.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.UCB1 : explores uncertain arms.

    Examples
    --------
    >>> from bandstrap import EpsilonGreedy
    >>> policy = EpsilonGreedy(arms=2, epsilon=0.05, rng=0)
    >>> policy.update([0, 1], [0.2, 0.8])
    >>> policy.select()
    1

    References
    ----------
    .. [1] Auer, Cesa-Bianchi, Fischer. Finite-time analysis of the multiarmed bandit problem. Machine Learning 47, 2002,
       Figure 3.
    """

    kernel = KERNEL

    def __init__(self, *, epsilon: float = 0.1, decay: float = 0.0, **online: Unpack[Online[Label]]) -> None:
        self.epsilon = self.not_negative(epsilon, "epsilon")
        self.decay = self.not_negative(decay, "decay")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.epsilon, self.decay)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)

    def exact_weights(self, params: Params, state: State, round_: int) -> list[float]:
        """Equal shares of the exploration rate for all arms, and the rest for the leader."""
        n_arms = len(state.order)
        rate = min(exploration_rate(params, n_arms, round_), 1.0)
        best = leader(state)
        return [rate / n_arms + (1.0 - rate if arm == best else 0.0) for arm in range(n_arms)]
