"""Greedy in each context: the highest prediction, or now and then any arm."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel, borrowing, jitable
from bandstrap.errors import requirement
from bandstrap.policies.contextual import lin_ucb
from bandstrap.policies.contextual.contextual_policy import ContextualOnline, ContextualPolicy
from bandstrap.policies.contextual.regressions import State, first_of_equals, leader, learn, look_at_all
from bandstrap.policies.kernels.draws import random_index
from bandstrap.policies.online.policy import Label


class Params(NamedTuple):
    """Share of decisions in which any arm is drawn."""

    epsilon: float


@jitable
def greedy_scores(state: State) -> None:
    """Write down predictions; while all rewards are the same, who is least known is ahead."""
    look_at_all(state)
    is_start = first_of_equals(state)
    for arm in range(len(state.leverages)):
        state.scores[arm] = state.leverages[arm] if is_start else state.fits[arm]


@borrowing
def choose(params: Params, state: State, round_: int, rng: np.random.Generator) -> int:
    """Any arm with probability epsilon, else the one with the highest prediction."""
    greedy_scores(state)
    explores = rng.random() < params.epsilon
    return random_index(len(state.order), rng) if explores else leader(state)


KERNEL = Kernel("contextual_epsilon_greedy", learn=learn, choose=choose)


class ContextualGreedy(ContextualPolicy[Label]):
    r"""The arm with the highest prediction in the context.

    Assumes that contexts vary enough to explore by themselves. Prefer it as a baseline for other policies. If contexts are
    rich it is often competitive, but with a rare important context it may fail entirely.

    Parameters
    ----------
    contexts, model, features, ridge, standardise
        See :class:`bandstrap.policies.contextual.ContextualPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    While all rewards are equal, it takes the arm with the least information in the context.

    See Also
    --------
    bandstrap.ShareUCB : explores arms with little information.

    Examples
    --------
    >>> from bandstrap import ContextualGreedy
    >>> policy = ContextualGreedy(arms=["red", "blue"], contexts=1, rng=0)
    >>> policy.update(["red", "blue", "red", "blue"], [0.0, 1.0, 1.0, 0.0], context=[[0.0], [0.0], [1.0], [1.0]])
    >>> policy.select(context=[0.0]), policy.select(context=[1.0])
    ('blue', 'red')

    References
    ----------
    .. [1] Bastani, Bayati, Khosravi. Mostly exploration-free algorithms for contextual bandits. Management Science 67,
       2021.
    """

    kernel = lin_ucb.KERNEL

    def __init__(self, **online: Unpack[ContextualOnline[Label]]) -> None:
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> lin_ucb.Params:
        """LinUCB's, without a width."""
        return lin_ucb.Params(0.0)


class ContextualEpsilonGreedy(ContextualPolicy[Label]):
    r"""The arm with the highest prediction in the context, or with a small probability any arm.

    Assumes nothing. Prefer it if a policy must be explained in one sentence, or if the log needs a known share of random
    decisions.

    Parameters
    ----------
    epsilon
        The share of decisions in which an arm is drawn; 0.1 is customary.
    contexts, model, features, ridge, standardise
        See :class:`bandstrap.policies.contextual.ContextualPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    While all rewards are equal, the leader is the arm with the least information in the context.

    Examples
    --------
    >>> from bandstrap import ContextualEpsilonGreedy
    >>> policy = ContextualEpsilonGreedy(arms=["red", "blue"], contexts=1, epsilon=0.25, rng=0)
    >>> policy.update(["red", "blue", "red", "blue"], [0.0, 1.0, 1.0, 0.0], context=[[0.0], [0.0], [1.0], [1.0]])
    >>> policy.weights(context=[0.0])
    {'red': 0.125, 'blue': 0.875}
    """

    kernel = KERNEL
    is_random = True

    def __init__(self, *, epsilon: float = 0.1, **online: Unpack[ContextualOnline[Label]]) -> None:
        self.epsilon = self.not_negative(epsilon, "epsilon")
        if self.epsilon > 1.0:
            raise requirement("epsilon", type(self).__name__, "at most 1", epsilon)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.epsilon)

    def exact_weights(self, params: Any, state: Any, round_: int) -> list[float]:
        """Equal shares of epsilon for all arms, and the rest for the leader."""
        greedy_scores(state)
        n_arms, best = len(state.order), leader(state)
        return [params.epsilon / n_arms + (1.0 - params.epsilon) * (arm == best) for arm in range(n_arms)]
