"""Thompson sampling for linear bandits (the paper's TSL)."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, Unpack, get_args

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.errors import check_choice, check_count, check_number, requirement
from bandstrap.policies.kernels.draws import random_index
from bandstrap.policies.kernels.schedule import Alpha, Schedule, error_probability
from bandstrap.policies.linear.linear_policy import LinearOnline, LinearPolicy
from bandstrap.policies.linear.ridge import (
    Regression,
    add_observation,
    back_substitute,
    highest,
    predictions,
    start_regression,
)
from bandstrap.policies.states.fields import Scratch

Inflation = Literal["none", "paper", "agrawal-goyal"]
INFLATIONS: dict[Inflation, int] = {word: code for code, word in enumerate(get_args(Inflation))}
NONE, PAPER, AGRAWAL_GOYAL = INFLATIONS.values()


class Params(NamedTuple):
    """Noise scale and how much wider than the posterior to draw, and how long actions are drawn at random first."""

    inflation: int
    sigma: float
    delta: float
    schedule: Schedule
    random_rounds: int


class State(NamedTuple):
    """The ridge regression, and room for a draw."""

    regression: Regression
    noise: Scratch
    draw: Scratch


@jitable
def spread(params: Params, d: int, round_: int) -> float:
    """``v``: the draw has covariance ``v^2`` times the inverse of ``V``."""
    if params.inflation == PAPER:
        return params.sigma * math.sqrt(d * math.log(1.0 / error_probability(params.schedule, round_)))
    if params.inflation == AGRAWAL_GOYAL:
        return params.sigma * math.sqrt(9.0 * d * math.log(round_ / params.delta))
    return params.sigma


def choose(params: Params, state: State, actions: Floats, round_: int, rng: np.random.Generator) -> int:
    """The best action for a draw ``theta + v R^-1 eta``, which solves ``R draw = z + v eta``."""
    if round_ <= params.random_rounds:
        return random_index(len(actions), rng)
    target = state.regression.target
    d = len(target)
    v = spread(params, d, round_)
    for k in range(d):
        state.noise[k] = target[k] + v * rng.standard_normal()
    back_substitute(state.regression.factor, state.noise, state.draw)
    return highest(predictions(state.draw, actions))


def learn(params: Params, state: State, x: Floats, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Add the observation."""
    add_observation(state.regression, x, reward, round_)


KERNEL = Kernel("linear_ts", learn=learn, choose=choose)


class LinearTS(LinearPolicy):
    r"""Thompson sampling: the best action for a draw from the posterior, or from a wider version of it.

    .. math:: \tilde\theta \sim N(\hat\theta_t,\; v^2 \bar V_t^{-1}), \qquad \arg\max_x x^\top\tilde\theta

    Assumes that means are linear in the features, and normal noise of scale ``sigma``. Prefer it if there is a prior
    (``prior_scale``), or if rewards come late.

    Parameters
    ----------
    inflation
        Inflation of the posterior: ``"none"`` (default), :math:`v = \hat\sigma`, the posterior itself; ``"paper"``,
        :math:`v = \hat\sigma\sqrt{d\log(1/\alpha_t)}`, the paper's TSL; ``"agrawal-goyal"``,
        :math:`v = \hat\sigma\sqrt{9 d\log(t/\delta)}`, for which regret is proved.
    sigma
        Assumed noise scale.
    ridge
        :math:`\lambda`. The posterior of a normal prior with standard deviation :math:`\tau` in each coordinate has
        :math:`\lambda = \hat\sigma^2/\tau^2`.
    prior_scale
        :math:`\tau`; it sets ``ridge``, which must then keep its default.
    delta
        Confidence parameter of ``"agrawal-goyal"``.
    alpha, tau, horizon
        Error probability of ``"paper"`` in round ``t``, as in :class:`bandstrap.UCB1`.
    random_rounds
        Rounds at the start in which the action is drawn at random, as in :class:`bandstrap.OFUL`.
    dimension, rng, direction, compiled
        See :class:`bandstrap.LinearPolicy`.

    Examples
    --------
    >>> from bandstrap import LinearTS
    >>> policy = LinearTS(sigma=0.1, rng=0)
    >>> policy.update([[1.0, 0.0], [0.0, 1.0]], [0.2, 0.9])
    >>> policy.select([[1.0, 0.0], [0.0, 1.0]])
    1

    References
    ----------
    .. [1] Agrawal, Goyal. Thompson sampling for contextual bandits with linear payoffs. ICML 2013.
    """

    kernel = KERNEL

    def __init__(
        self,
        *,
        inflation: Inflation = "none",
        sigma: float = 1.0,
        ridge: float = 1.0,
        prior_scale: float | None = None,
        delta: float = 0.1,
        alpha: Alpha = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        random_rounds: int = 0,
        **online: Unpack[LinearOnline],
    ) -> None:
        self.inflation = check_choice(inflation, "inflation", "LinearTS", INFLATIONS)
        self.sigma = self.positive(sigma, "sigma")
        self.ridge = self.positive(ridge, "ridge")
        self.prior_scale = None if prior_scale is None else self.positive(prior_scale, "prior_scale")
        if self.prior_scale is not None and self.ridge != 1.0:
            raise requirement("ridge", "LinearTS", "left out when 'prior_scale' is given", self.ridge)
        if self.prior_scale is not None and not 0.0 < self.penalty < math.inf:
            rule = "such that (sigma / prior_scale)^2 is a finite number greater than 0"
            raise requirement("prior_scale", "LinearTS", rule, self.prior_scale)
        self.delta = check_number(delta, "delta", "LinearTS", above=0, below=1)
        self.set_schedule(alpha, tau, horizon)
        self.random_rounds = check_count(random_rounds, "random_rounds", "LinearTS", at_least=0)
        super().__init__(**online)

    @property
    def penalty(self) -> float:
        r""":math:`\lambda`, as given or as implied by the prior."""
        if self.prior_scale is None:
            return self.ridge
        ratio = self.sigma / self.prior_scale
        return ratio * ratio

    def make_params(self, horizon: int | None) -> Params:
        schedule = self.schedule_for(horizon)
        return Params(INFLATIONS[self.inflation], self.sigma, self.delta, schedule, self.random_rounds)

    def make_state(self, dimension: int, capacity: int, rng: np.random.Generator) -> State:
        """State before the first reward: an empty ridge regression, and room for a draw."""
        return State(start_regression(dimension, self.penalty), np.zeros(dimension), np.zeros(dimension))
