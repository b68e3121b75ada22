"""Perturbed-history exploration for linear bandits."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import check_count, check_number, requirement
from bandstrap.policies.kernels.draws import draw_heads
from bandstrap.policies.linear.known_actions import KnownActions, record, start_known
from bandstrap.policies.linear.linear_policy import LinearOnline, LinearPolicy
from bandstrap.policies.linear.ridge import (
    Regression,
    add_observation,
    back_substitute,
    forward_substitute,
    highest,
    predictions,
    start_regression,
)
from bandstrap.policies.states.fields import Scratch


class Params(NamedTuple):
    """Pseudo-rewards per observation, and their two values."""

    a: int
    lower: float
    upper: float


class State(NamedTuple):
    """The ridge regression, the known actions, and room for pseudo-rewards and a draw."""

    regression: Regression
    known: KnownActions
    pseudo: Scratch
    draw: Scratch


def choose(params: Params, state: State, actions: Floats, round_: int, rng: np.random.Generator) -> int:
    """The best action for ``(theta + V^-1 sum x u)/(a + 1)``, ``u`` the sum of an action's pseudo-rewards."""
    known = state.known
    theta = state.regression.theta
    pseudo = state.pseudo
    draw = state.draw
    d = len(theta)
    for k in range(d):
        pseudo[k] = 0.0
    for i in range(known.size[0]):
        n = params.a * known.pulls[i]
        high = draw_heads(n, rng)
        total = params.upper * high + params.lower * (n - high)
        for k in range(d):
            pseudo[k] += known.features[i, k] * total
    forward_substitute(state.regression.factor, pseudo)
    back_substitute(state.regression.factor, pseudo, draw)
    for k in range(d):
        draw[k] = (theta[k] + draw[k]) / (params.a + 1)
    return highest(predictions(draw, actions))


def learn(params: Params, state: State, x: Floats, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Add the observation."""
    add_observation(state.regression, x, reward, round_)
    record(state.known, x, reward)


KERNEL = Kernel("linear_phe", learn=learn, choose=choose)


class LinearPHE(LinearPolicy):
    r"""Perturbed-history exploration: the best action by ridge regression on rewards and ``a`` pseudo-rewards per reward.

    .. math:: \tilde\theta = \frac{1}{a+1} \bar V_t^{-1} \sum_s x_s \Bigl(y_s + \sum_{j \le a} Z_{js}\Bigr), \qquad
              Z_{js} \in \{\text{lower}, \text{upper}\} \text{ with probability } 1/2

    Assumes that means are linear in the features, and rewards in [lower, upper]. Prefer it if a random policy is wanted and
    the range of rewards is known.

    Parameters
    ----------
    a
        Pseudo-rewards per observation. The default is that of the authors' experiments; their theory asks for about
        :math:`\sqrt{d \log T}`.
    ridge
        :math:`\lambda`, the penalty of the estimate.
    lower, upper
        The range of rewards; pseudo-rewards lie at its ends.
    check_range
        Refuse rewards outside the range (default).
    dimension, rng, direction, compiled
        See :class:`bandstrap.LinearPolicy`.

    Notes
    -----
    The pseudo-rewards are drawn anew each round. Their sum per action is one binomial draw, so a decision costs one draw
    per different action observed so far.

    Examples
    --------
    >>> from bandstrap import LinearPHE
    >>> policy = LinearPHE(rng=0)
    >>> policy.update([[1.0, 0.0], [0.0, 1.0]] * 50, [0.1, 0.9] * 50)
    >>> policy.select([[1.0, 0.0], [0.0, 1.0]])
    1

    References
    ----------
    .. [1] Kveton, Szepesvari, Ghavamzadeh, Boutilier. Perturbed-history exploration in stochastic linear bandits.
       UAI 2019.
    """

    kernel = KERNEL

    def __init__(
        self,
        *,
        a: int = 2,
        ridge: float = 1.0,
        lower: float = 0.0,
        upper: float = 1.0,
        check_range: bool = True,
        **online: Unpack[LinearOnline],
    ) -> None:
        self.a = check_count(a, "a", "LinearPHE", at_most=2**31)  # coins of all pulls are counted in 64 bits
        self.ridge = self.positive(ridge, "ridge")
        self.lower = check_number(lower, "lower", "LinearPHE")
        self.upper = check_number(upper, "upper", "LinearPHE")
        if not self.lower < self.upper:
            raise requirement("upper", "LinearPHE", f"greater than 'lower', {self.lower:g}", self.upper)
        self.limit_range(check_range, self.lower, self.upper)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.a, self.lower, self.upper)

    def make_state(self, dimension: int, capacity: int, rng: np.random.Generator) -> State:
        """State before the first reward: an empty ridge regression, no known actions, and room for a draw."""
        regression = start_regression(dimension, self.ridge)
        return State(regression, start_known(dimension, capacity), np.zeros(dimension), np.zeros(dimension))
