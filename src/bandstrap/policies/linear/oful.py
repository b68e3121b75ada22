"""OFUL: optimism over a confidence ellipsoid."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.errors import check_choice, check_count
from bandstrap.policies.kernels.draws import random_index
from bandstrap.policies.kernels.schedule import Alpha
from bandstrap.policies.linear.linear_policy import LinearOnline, LinearPolicy
from bandstrap.policies.linear.radius import RADII, Ellipsoid, Radius, radius
from bandstrap.policies.linear.ridge import Regression, add_observation, highest, norms, predictions, start_regression
from bandstrap.policies.states.fields import StateTuple


class Params(NamedTuple):
    """Parameters of the ellipsoid, and number of first random actions."""

    ellipsoid: Ellipsoid
    random_rounds: int


class State(NamedTuple):
    """The ridge regression."""

    regression: Regression


@jitable
def widths(params: Params, state: State, actions: Floats, round_: int) -> Floats:
    """``beta |x|`` of each action."""
    factor = state.regression.factor
    return radius(params.ellipsoid, factor, round_) * norms(factor, actions)


def choose(params: Params, state: State, actions: Floats, round_: int, rng: np.random.Generator) -> int:
    """The action with the highest ``x'theta + beta |x|``."""
    if round_ <= params.random_rounds:
        return random_index(len(actions), rng)
    return highest(predictions(state.regression.theta, actions) + widths(params, state, actions, round_))


def learn(params: Params, state: State, x: Floats, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Add the observation."""
    add_observation(state.regression, x, reward, round_)


KERNEL = Kernel("oful", learn=learn, choose=choose)


class OFUL(LinearPolicy):
    r"""Optimism in the face of uncertainty over an ellipsoid that contains the unknown vector.

    .. math:: \arg\max_x\; x^\top\hat\theta_t + \beta_t \|x\|_{\bar V_t^{-1}}, \qquad
              \beta_t = \hat\sigma\sqrt{2\log\frac{\det(\bar V_t)^{1/2}\det(\lambda I)^{-1/2}}{\alpha_t}} + \sqrt\lambda\, S

    Assumes that means are linear in the features, noise of scale ``sigma`` and an unknown vector no longer than
    ``theta_bound``. Prefer it if a theorem must hold.

    Parameters
    ----------
    radius
        Reading of :math:`\beta_t`: ``"theorem"`` (default), the formula above, which the paper's curves follow;
        ``"closed-form"``, :math:`\hat\sigma\sqrt{d\log((1 + n/\lambda)/\alpha_t)} + \sqrt\lambda S` after ``n``
        observations; ``"printed"``, as printed in the paper, with two errors.
    sigma
        Assumed noise scale.
    ridge
        :math:`\lambda`, the penalty of the estimate.
    theta_bound
        :math:`S`, an upper bound on the length of the unknown vector. The default omits its term. The theorem needs a valid
        bound, and the paper's curves have :math:`S = \sqrt{10 d}` with ``ridge=0.1``.
    alpha, tau, horizon
        Error probability in round ``t``, as in :class:`bandstrap.UCB1`.
    random_rounds
        Number of initial rounds in which the action is drawn uniformly at random. None by default; the paper's curves
        suggest one round per feature.
    dimension, rng, direction, compiled
        See :class:`bandstrap.LinearPolicy`.

    See Also
    --------
    bandstrap.LinearBootstrappedUCB : estimates most of the radius from the data.

    Examples
    --------
    >>> from bandstrap import OFUL
    >>> policy = OFUL(sigma=0.5)
    >>> policy.update([[1.0, 0.0], [0.0, 1.0]], [0.2, 0.9])
    >>> policy.select([[1.0, 0.0], [0.0, 1.0]])
    1

    References
    ----------
    .. [1] Abbasi-Yadkori, Pal, Szepesvari. Improved algorithms for linear stochastic bandits. NeurIPS 2011, Theorem 2.
    """

    kernel = KERNEL

    def __init__(
        self,
        *,
        radius: Radius = "theorem",
        sigma: float = 1.0,
        ridge: float = 1.0,
        theta_bound: float = 0.0,
        alpha: Alpha = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        random_rounds: int = 0,
        **online: Unpack[LinearOnline],
    ) -> None:
        self.radius = check_choice(radius, "radius", type(self).__name__, RADII)
        self.sigma = self.positive(sigma, "sigma")
        self.ridge = self.positive(ridge, "ridge")
        self.theta_bound = self.not_negative(theta_bound, "theta_bound")
        self.set_schedule(alpha, tau, horizon)
        self.random_rounds = check_count(random_rounds, "random_rounds", type(self).__name__, at_least=0)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        schedule = self.schedule_for(horizon)
        return Params(
            Ellipsoid(RADII[self.radius], self.sigma, self.ridge, self.theta_bound, schedule), self.random_rounds
        )

    def make_state(self, dimension: int, capacity: int, rng: np.random.Generator) -> StateTuple:
        """State before the first reward: an empty ridge regression."""
        return State(start_regression(dimension, self.ridge))

    def widths(self, params: Any, state: Any, actions: Floats, round_: int) -> Floats | None:
        return widths(params, state, actions, round_)
