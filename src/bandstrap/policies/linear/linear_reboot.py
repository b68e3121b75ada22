"""Residual bootstrap exploration for linear bandits."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.linear.known_actions import KnownActions, find_action, record, start_known
from bandstrap.policies.linear.linear_policy import LinearOnline, LinearPolicy
from bandstrap.policies.linear.ridge import Regression, add_observation, highest, predictions, start_regression


class Params(NamedTuple):
    """Scale of the bootstrap weights."""

    omega: float


class State(NamedTuple):
    """The ridge regression and the known actions."""

    regression: Regression
    known: KnownActions


def choose(params: Params, state: State, actions: Floats, round_: int, rng: np.random.Generator) -> int:
    """The action with the highest draw from ``N(x'theta, omega^2 RSS/n^2)``; one never taken comes first."""
    known = state.known
    scores = predictions(state.regression.theta, actions)
    for a in range(len(scores)):
        place = find_action(known, actions[a])
        if place < 0:
            scores[a] = math.inf
        else:
            n = known.pulls[place]
            off = known.means[place] - scores[a]
            squares = known.squares[place] + n * off * off
            scores[a] += params.omega * math.sqrt(squares) / n * rng.standard_normal()
    return highest(scores)


def learn(params: Params, state: State, x: Floats, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Add the observation."""
    add_observation(state.regression, x, reward, round_)
    record(state.known, x, reward)


KERNEL = Kernel("linear_reboot", learn=learn, choose=choose)


class LinearReBoot(LinearPolicy):
    r"""Draw each action's mean around its estimate, with the spread of the residuals of its own rewards.

    .. math:: \tilde\mu_x \sim N\Bigl(x^\top\hat\theta_t,\; \omega^2\, \frac{\mathrm{RSS}_x}{n_x^2}\Bigr), \qquad
              \mathrm{RSS}_x = \sum_{s : x_s = x} (y_s - x^\top\hat\theta_t)^2

    Assumes that means are linear in the features, and a set of actions that stays the same. Prefer it if noise differs
    between actions. Do not use it if actions are new each round: its regret is then that of random choices.

    Parameters
    ----------
    omega
        Scale of the bootstrap weights; the authors use 0.5 and 1.
    ridge
        :math:`\lambda`, the penalty of the estimate; the authors' value.
    dimension, rng, direction, compiled
        See :class:`bandstrap.LinearPolicy`.

    Notes
    -----
    Every action is taken once first, and actions are identified by their features. If all actions are new each round, the
    policy never uses its data; :func:`bandstrap.simulate` then gives an ``AssumptionWarning``.

    Examples
    --------
    >>> from bandstrap import LinearReBoot
    >>> policy = LinearReBoot(rng=0)
    >>> policy.update([[1.0, 0.0], [0.0, 1.0]] * 50, [0.1, 0.9] * 50)
    >>> policy.select([[1.0, 0.0], [0.0, 1.0]])
    1

    References
    ----------
    .. [1] Wu, Wang, Li, Cheng. Residual bootstrap exploration for stochastic linear bandit. UAI 2022.
    """

    kernel = KERNEL
    name = "linear_reboot"
    needs_same_actions = True

    def __init__(self, *, omega: float = 1.0, ridge: float = 0.1, **online: Unpack[LinearOnline]) -> None:
        self.omega = self.positive(omega, "omega")
        self.ridge = self.positive(ridge, "ridge")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.omega)

    def make_state(self, dimension: int, capacity: int, rng: np.random.Generator) -> State:
        """State before the first reward: an empty ridge regression, and no known actions."""
        return State(start_regression(dimension, self.ridge), start_known(dimension, capacity))
