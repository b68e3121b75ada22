"""Bootstrapped UCB for linear bandits (the paper's BUCBL)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, NamedTuple, Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, compiled_body, inlined, jitable
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.errors import check_choice, check_count
from bandstrap.multipliers.order_statistic import largest, order_rank
from bandstrap.multipliers.weights import EFRON
from bandstrap.policies.kernels.draws import random_index
from bandstrap.policies.kernels.schedule import Alpha, error_probability
from bandstrap.policies.linear.estimated_distances import estimated_distances
from bandstrap.policies.linear.known_actions import KnownActions, record, start_known
from bandstrap.policies.linear.linear_policy import LinearOnline
from bandstrap.policies.linear.multiplied import (
    COUNTED,
    CountedWeights,
    MultipliedState,
    add_multiplied,
    multiplied_distances,
)
from bandstrap.policies.linear.multiplied import Params as MultipliedParams
from bandstrap.policies.linear.oful import OFUL, Params
from bandstrap.policies.linear.radius import Radius, radius
from bandstrap.policies.linear.replicates import (
    Generators,
    Observed,
    Times,
    distances,
    resample,
    resampled_distances,
    start_factors,
    start_generators,
)
from bandstrap.policies.linear.ridge import Regression, add_observation, highest, norms, predictions, start_regression
from bandstrap.policies.states.fields import Array


class LinearStreamingState(NamedTuple):
    """The ridge regression and its replicates, updated with every observation."""

    regression: Regression
    factors: Array


class ResampledState(NamedTuple):
    """The ridge regression, and all observations to draw from."""

    regression: Regression
    known: KnownActions
    observed: Observed
    generators: Generators


def number_from_the_top(lengths: Floats, rank: int) -> float:
    """The length number ``rank + 1`` from the top."""
    place = len(lengths) - 1 - rank
    return float(np.partition(lengths, place)[place])


@compiled_body(number_from_the_top)
def number_from_the_top_in_loops(lengths: Floats, rank: int) -> float:
    """:func:`number_from_the_top`, because a partition takes 4 s to compile; plain, this takes 20 times as long."""
    return largest(lengths, rank)


@inlined
def confidence_width(params: Params | MultipliedParams, regression: Regression, lengths: Floats, round_: int) -> float:
    """``q + beta/sqrt(n)``; ``q`` is the upper quantile of ``lengths``."""
    ellipsoid = params.ellipsoid
    rank = order_rank(len(lengths), error_probability(ellipsoid.schedule, round_))
    beta = radius(ellipsoid, regression.factor, round_)
    return number_from_the_top(lengths, rank) + beta / math.sqrt(max(round_ - 1, 1))


@inlined
def optimistic_choice(
    params: Params | MultipliedParams, regression: Regression, lengths: Floats, actions: Floats, round_: int
) -> int:
    """The action with the highest ``x'theta + (q + beta/sqrt(n)) |x|``."""
    width = confidence_width(params, regression, lengths, round_)
    return highest(predictions(regression.theta, actions) + width * norms(regression.factor, actions))


def choose_streaming(
    params: Params, state: LinearStreamingState, actions: Floats, round_: int, rng: np.random.Generator
) -> int:
    """Choose by the replicates that were kept."""
    if round_ <= params.random_rounds:
        return random_index(len(actions), rng)
    lengths = distances(state.factors, state.regression.theta)
    return optimistic_choice(params, state.regression, lengths, actions, round_)


def learn_streaming(
    params: Params, state: LinearStreamingState, x: Floats, reward: float, round_: int, rng: np.random.Generator
) -> None:
    """Add the observation, and add it to each replicate with a Poisson weight."""
    add_observation(state.regression, x, reward, round_)
    add_multiplied(EFRON, state.factors, x, reward, rng)


def learn_multiplied(
    params: MultipliedParams,
    state: LinearStreamingState,
    x: Floats,
    reward: float,
    round_: int,
    rng: np.random.Generator,
) -> None:
    """Add the observation, and add it to each replicate with a weight of the distribution asked for."""
    add_observation(state.regression, x, reward, round_)
    add_multiplied(params.law, state.factors, x, reward, rng)


def choose_multiplied(
    params: MultipliedParams, state: MultipliedState, actions: Floats, round_: int, rng: np.random.Generator
) -> int:
    """Choose by replicates of all observations with fresh weights."""
    if round_ <= params.random_rounds:
        return random_index(len(actions), rng)
    lengths = multiplied_distances(params, state, rng)
    return optimistic_choice(params, state.regression, lengths, actions, round_)


def choose_resampled(
    params: Params, state: ResampledState, actions: Floats, round_: int, rng: np.random.Generator
) -> int:
    """Choose by fresh replicates."""
    if round_ <= params.random_rounds:
        return random_index(len(actions), rng)
    times = resample(state.observed.size[0], state.generators)
    return choice_of_resamples(params, state, times, actions, round_)


@inlined
def choice_of_resamples(params: Params, state: ResampledState, times: Times, actions: Floats, round_: int) -> int:
    """Choose by replicates given by their draws."""
    return choice_by_distances(params, state, times, actions, round_)


@compiled_body(choice_of_resamples)
def choice_by_estimates(params: Params, state: ResampledState, times: Times, actions: Floats, round_: int) -> int:
    """:func:`choice_of_resamples` by estimates of the distances, because these take less time, but only compiled.

    No distance is off by more than ``doubt``, so neither is any order statistic of them. Where the choice depends on their
    last digits, it is made by the distances.
    """
    regression = state.regression
    theta = regression.theta
    lengths = np.zeros(times.shape[1])
    doubt = estimated_distances(state.known, state.observed, times, params.ellipsoid.ridge, theta, lengths)
    choice = -1
    if doubt < math.inf:
        width = confidence_width(params, regression, lengths, round_)
        choice = sure_choice(
            predictions(theta, actions), norms(regression.factor, actions), width - doubt, width + doubt
        )
    if choice < 0:
        choice = choice_by_distances(params, state, times, actions, round_)
    return choice


@inlined
def choice_by_distances(params: Params, state: ResampledState, times: Times, actions: Floats, round_: int) -> int:
    """Choose by the distances of replicates given by their draws."""
    regression = state.regression
    lengths = resampled_distances(state.known, state.observed, times, params.ellipsoid.ridge, regression.theta)
    return optimistic_choice(params, regression, lengths, actions, round_)


@jitable
def sure_choice(means: Floats, lengths: Floats, low: float, high: float) -> int:
    """The action with the highest ``mean + width * length`` for all widths from ``low`` to ``high``, or -1.

    Scores are linear in the width: who wins at both ends, wins between. Wins by rounding do not count, but the first of
    actions that are the same to the last bit wins whatever the width.
    """
    best = 0
    for a in range(means.size):
        if means[a] + low * lengths[a] > means[best] + low * lengths[best]:
            best = a
    for a in range(means.size):
        ahead = means[best] - means[a]
        longer = lengths[best] - lengths[a]
        same = ahead == 0.0 and longer == 0.0 and a >= best
        room = TIE * (abs(means[best]) + abs(means[a]) + high * (lengths[best] + lengths[a]))
        if not (same or (ahead + low * longer > room and ahead + high * longer > room)):
            return -1
    return best


def learn_resampled(
    params: object,
    state: ResampledState | MultipliedState,
    x: Floats,
    reward: float,
    round_: int,
    rng: np.random.Generator,
) -> None:
    """Add the observation and keep it."""
    add_observation(state.regression, x, reward, round_)
    observed = state.observed
    place = observed.size[0]
    observed.labels[place] = record(state.known, x, reward)
    observed.rewards[place] = reward
    observed.size[0] += 1


# Scores that differ by less than this part of their terms are not told apart.
TIE = 2.0**-48

LinearQuantile = Literal["streaming", "resampled"]
KERNELS: dict[LinearQuantile, Kernel] = {
    "streaming": Kernel("linear_bootstrapped_ucb_streaming", learn=learn_streaming, choose=choose_streaming),
    "resampled": Kernel("linear_bootstrapped_ucb_resampled", learn=learn_resampled, choose=choose_resampled),
}
# The same with other weights than those of draws with replacement.
MULTIPLIED: dict[LinearQuantile, Kernel] = {
    "streaming": Kernel("linear_bootstrapped_ucb_multiplied", learn=learn_multiplied, choose=choose_streaming),
    "resampled": Kernel("linear_bootstrapped_ucb_multiplied_anew", learn=learn_resampled, choose=choose_multiplied),
}


class LinearBootstrappedUCB(OFUL):
    r"""Optimism whose radius is a bootstrap quantile, plus a vanishing share of OFUL's radius.

    .. math:: \arg\max_x\; x^\top\hat\theta_t + \bigl(q_{\alpha_t} + \beta_t/\sqrt{n}\bigr) \|x\|_{\bar V_t^{-1}}

    :math:`q_\alpha` is the upper quantile over ``n_resamples`` replicates of
    :math:`\|\hat\theta^{(b)} - \hat\theta\|_{V_b}`, where :math:`\hat\theta^{(b)}` is the ridge estimate of a resample of
    the :math:`n = t - 1` observations and :math:`V_b` its own :math:`\bar V`; :math:`\beta_t` is the radius of
    :class:`bandstrap.OFUL`.

    Assumes that means are linear in the features; ``sigma`` and ``theta_bound`` enter through a share that vanishes. Prefer
    it if there is no prior.

    Parameters
    ----------
    quantile
        ``"resampled"`` (default): the paper's, fresh resamples with replacement each round; O(B t) per round.
        ``"streaming"``: an observation enters each replicate once, with a Poisson weight, and never again; ``O(B d^2)`` per
        round, whatever ``t``.
    weights
        Bootstrap weights: ``"efron"`` (default), as in the paper, draws with replacement (Poisson weights for
        ``"streaming"``). With ``"rademacher"``, ``"exponential"`` and ``"mammen"`` an observation counts ``1 + w`` times in
        a replicate, see ``bandstrap.policies.linear.multiplied``. Then ``"resampled"`` draws a weight for each observation
        and replicate in every round, and takes several times as long.
    n_resamples
        :math:`B`, the paper's value by default. Below :math:`\alpha_t = 1/B` the quantile is the largest replicate.
    radius, sigma, ridge, theta_bound
        The radius :math:`\beta_t`, see :class:`bandstrap.OFUL`; here ``"closed-form"`` by default.
    alpha, tau, horizon
        Error probability in round ``t``, as in :class:`bandstrap.UCB1`.
    random_rounds
        Rounds at the start in which the action is drawn at random, as in :class:`bandstrap.OFUL`.
    dimension, rng, direction, compiled
        See :class:`bandstrap.LinearPolicy`.

    Notes
    -----
    The paper does not state :math:`\alpha`, :math:`n`, :math:`B`, :math:`\lambda` and :math:`S` of its experiment. Its
    curves match ``radius="theorem"``, ``ridge=0.1``, ``theta_bound=(10 * d) ** 0.5`` and ``random_rounds=d``.

    See Also
    --------
    bandstrap.OFUL : the same without a bootstrap.

    Examples
    --------
    >>> from bandstrap import LinearBootstrappedUCB
    >>> policy = LinearBootstrappedUCB(quantile="streaming", sigma=0.5, rng=0)
    >>> policy.update([[1.0, 0.0], [0.0, 1.0]] * 20, [0.2, 0.9] * 20)
    >>> policy.select([[1.0, 0.0], [0.0, 1.0]])
    1

    References
    ----------
    .. [1] Hao, Abbasi-Yadkori, Wen, Cheng. Bootstrapping upper confidence bound. NeurIPS 2019, section 4.2 and supplement.
    """

    kept_as: ClassVar[dict[str, str]] = {"weights": "multipliers"}

    def __init__(
        self,
        *,
        quantile: LinearQuantile = "resampled",
        n_resamples: int = 200,
        weights: CountedWeights = "efron",
        radius: Radius = "closed-form",
        sigma: float = 1.0,
        ridge: float = 1.0,
        theta_bound: float = 0.0,
        alpha: Alpha = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        random_rounds: int = 0,
        **online: Unpack[LinearOnline],
    ) -> None:
        owner = type(self).__name__
        self.quantile = check_choice(quantile, "quantile", owner, KERNELS)
        self.n_resamples = check_count(n_resamples, "n_resamples", owner)
        self.multipliers = check_choice(weights, "weights", owner, COUNTED)
        self.kernel = (KERNELS if self.multipliers == "efron" else MULTIPLIED)[self.quantile]
        super().__init__(
            radius=radius,
            sigma=sigma,
            ridge=ridge,
            theta_bound=theta_bound,
            alpha=alpha,
            tau=tau,
            horizon=horizon,
            random_rounds=random_rounds,
            **online,
        )

    def check_size(self, size: int) -> None:
        """Refuse also more resamples than memory can hold."""
        super().check_size(size)
        # A generator is two words, which are Python's integers while it is made.
        numbers = size * (size + 1) if self.quantile == "streaming" else 10
        check_memory(WORD * numbers * self.n_resamples, "n_resamples", type(self).__name__, self.n_resamples)

    def make_params(self, horizon: int | None) -> Any:
        """Parameters of the kernel, with the distribution of weights unless they are draws with replacement."""
        params = super().make_params(horizon)
        if self.multipliers == "efron":
            return params
        return MultipliedParams(*params, COUNTED[self.multipliers], self.n_resamples)

    def make_state(
        self, dimension: int, capacity: int, rng: np.random.Generator
    ) -> LinearStreamingState | ResampledState | MultipliedState:
        """State before the first reward: an empty ridge regression, and its replicates or the data to draw them from."""
        regression = start_regression(dimension, self.ridge)
        if self.quantile == "streaming":
            return LinearStreamingState(regression, start_factors(dimension, self.n_resamples, self.ridge))
        observed = Observed(np.zeros(1, dtype=np.int64), np.zeros(capacity, dtype=np.int64), np.zeros(capacity))
        known = start_known(dimension, capacity)
        if self.multipliers != "efron":
            return MultipliedState(regression, known, observed)
        return ResampledState(regression, known, observed, start_generators(self.n_resamples, rng))

    def reseeded(self, state: Any, rng: np.random.Generator) -> Any:
        """The state, with the generators of replicates restarted."""
        return (
            state._replace(generators=start_generators(self.n_resamples, rng))
            if self.quantile == "resampled" and self.multipliers == "efron"
            else state
        )

    def widths(self, params: Any, state: Any, actions: Floats, round_: int) -> Floats | None:
        """``(q + beta/sqrt(n)) |x|`` of each action, from the stored replicates; fresh ones are drawn at random."""
        if self.quantile == "resampled":
            return None
        regression = state.regression
        lengths = distances(state.factors, regression.theta)
        return confidence_width(params, regression, lengths, round_) * norms(regression.factor, actions)
