"""LinUCB: a constant number of standard errors above the estimate."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.errors import check_number
from bandstrap.policies.linear.linear_policy import LinearOnline, LinearPolicy
from bandstrap.policies.linear.ridge import Regression, add_observation, highest, norms, predictions, start_regression


class Params(NamedTuple):
    """Standard errors above the estimate."""

    width: float


class State(NamedTuple):
    """The ridge regression."""

    regression: Regression


@jitable
def widths(params: Params, state: State, actions: Floats, round_: int) -> Floats:
    """``width |x|`` of each action."""
    return params.width * norms(state.regression.factor, actions)


def choose(params: Params, state: State, actions: Floats, round_: int, rng: np.random.Generator) -> int:
    """The action with the highest ``x'theta + width |x|``."""
    return highest(predictions(state.regression.theta, actions) + widths(params, state, actions, round_))


def learn(params: Params, state: State, x: Floats, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Add the observation."""
    add_observation(state.regression, x, reward, round_)


KERNEL = Kernel("lin_ucb", learn=learn, choose=choose)


class LinUCB(LinearPolicy):
    r"""The estimate plus a constant number of standard errors.

    .. math:: \arg\max_x\; x^\top\hat\theta_t + a \|x\|_{\bar V_t^{-1}}, \qquad a = 1 + \sqrt{\log(2/\delta)/2}

    Assumes that means are linear in the features, and rewards of about 1 in size. Prefer it as the simplest linear policy.

    Parameters
    ----------
    delta
        Error probability; the default gives :math:`a = 2.22`.
    width
        :math:`a` itself, instead of the value from ``delta``.
    ridge
        :math:`\lambda`, the penalty of the estimate; 1 in the original.
    dimension, rng, direction, compiled
        See :class:`bandstrap.LinearPolicy`.

    Notes
    -----
    There is no noise scale: rewards are taken to be about 1 in size. For others scale ``width``.

    See Also
    --------
    bandstrap.OFUL : a radius that grows with the data, and a theorem.

    Examples
    --------
    >>> from bandstrap import LinUCB
    >>> policy = LinUCB(width=0.5)
    >>> policy.update([[1.0, 0.0], [0.0, 1.0]], [0.2, 0.9])
    >>> policy.select([[1.0, 0.0], [0.0, 1.0]])
    1

    References
    ----------
    .. [1] Li, Chu, Langford, Schapire. A contextual-bandit approach to personalized news article recommendation. WWW 2010.
    """

    kernel = KERNEL

    def __init__(
        self, *, delta: float = 0.1, width: float | None = None, ridge: float = 1.0, **online: Unpack[LinearOnline]
    ) -> None:
        self.delta = check_number(delta, "delta", "LinUCB", above=0, below=1)
        self.width = None if width is None else self.positive(width, "width")
        self.ridge = self.positive(ridge, "ridge")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(1.0 + math.sqrt(math.log(2.0 / self.delta) / 2.0) if self.width is None else self.width)

    def make_state(self, dimension: int, capacity: int, rng: np.random.Generator) -> State:
        """State before the first reward: an empty ridge regression."""
        return State(start_regression(dimension, self.ridge))

    def widths(self, params: Params, state: State, actions: Floats, round_: int) -> Floats:
        return widths(params, state, actions, round_)
