"""Bootstrapped UCB: algorithm 1 of the paper, with the quantile drawn literally, in law, once, or not at all."""

from __future__ import annotations

import inspect
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.bounds.sub_weibull import theorem_constant
from bandstrap.constructors import refuse_misfit
from bandstrap.engine.kernel import Kernel, inlined, jitable
from bandstrap.errors import Floats, check_choice, check_count, check_number
from bandstrap.multipliers import WEIGHTS
from bandstrap.multipliers.normal import normal_quantile, rough_normal_quantile
from bandstrap.multipliers.weights import LAWS
from bandstrap.policies.draws import add_weights, draw_rank, largest, order_statistic_level, resampled_sums
from bandstrap.policies.policy import Policy
from bandstrap.policies.rewards import (
    arm_quantile,
    mean_reward,
    new_memory,
    quantile_source,
    refresh_curve,
    remember,
)
from bandstrap.policies.schedule import FIXED, Schedule, error_probability

RESAMPLED, LITERAL, STREAMING, EXACT = range(4)
QUANTILES = {"resampled": RESAMPLED, "resampled-literal": LITERAL, "streaming": STREAMING, "exact": EXACT}
NONE, PRACTICAL, STATED, THEOREM, SHARP = range(5)
CORRECTIONS = {"practical": PRACTICAL, "theorem": THEOREM, "stated": STATED, "sharp": SHARP, "none": NONE}
HOEFFDING, SUB_WEIBULL = range(2)
PHIS = {"hoeffding": HOEFFDING, "sub_weibull": SUB_WEIBULL}
# Error probabilities at which the constant of theorem 2 is computed for rules that go through many of them.
LEVELS = (0.5, 1 / 3, 0.2, 0.135, 0.05, 0.01, 1e-3, 1e-6, 1e-9, 1e-15)
# What it is raised by for levels and numbers of rewards between those it is computed at.
MARGIN = 1.01
# Up to here the quantile of the mean of random signs is exact; beyond, Chernoff's bound, which is proved too.
MOST_EXACT_SIGNS = 64


class Params(NamedTuple):
    """Settings as numbers."""

    schedule: Schedule
    law: int
    mode: int
    n_resamples: int
    correction: int
    phi: int
    sigma: float
    beta: float
    constant: float
    delta: float


class State(NamedTuple):
    """What is known of each arm; ``draws`` and ``history`` are empty unless the mode needs them."""

    order: NDArray[np.int64]
    pulls: NDArray[np.int64]
    powers: Floats
    shifts: Floats
    kept: Floats
    residuals: Floats
    tails: Floats
    curves: Floats
    sums: Floats  # (arm, resample): sum of w y, streaming
    totals: Floats  # (arm, resample): sum of w, streaming
    cached: Floats  # (arm, 2): rank and quantile, streaming
    history: Floats  # (arm, reward), literal
    scratch: Floats


class Shared(NamedTuple):
    """What all arms share in a round."""

    alpha: float
    level: float
    z: float
    rank: int
    root_log: float


def prepare(params: Params, state: State, round_: int) -> Shared:
    """Level ``alpha (1 - delta)``, its normal quantile, its rank among the draws, and ``sqrt(2 log(1/alpha))``."""
    alpha = error_probability(params.schedule, round_)
    level = alpha * (1.0 - params.delta)
    return Shared(
        alpha,
        level,
        normal_quantile(level),
        draw_rank(params.n_resamples, level),
        math.sqrt(2.0 * math.log(1.0 / alpha)),
    )


@inlined
def streamed_quantile(state: State, arm: int, rank: int) -> float:
    """Order statistic of the arm's frozen draws; recomputed when the arm was pulled or the rank moved."""
    cached = state.cached[arm]
    if cached[0] != rank:
        n = state.pulls[arm]
        mean = state.powers[arm][0] / n
        sums = state.sums[arm]
        totals = state.totals[arm]
        scratch = state.scratch
        top = -math.inf
        for b in range(len(scratch)):
            scratch[b] = sums[b] - mean * totals[b]
            top = max(top, scratch[b])
        cached[0] = rank
        cached[1] = (top if rank == 0 else largest(scratch, rank)) / n
    return cached[1]


@jitable
def literal_quantile(params: Params, state: State, arm: int, rank: int, rng: np.random.Generator) -> float:
    """Definition (D.1) with fresh draws."""
    n = state.pulls[arm]
    mean = mean_reward(state.pulls, state.powers, state.shifts, arm)
    a = np.empty(n)
    for i in range(n):
        a[i] = (state.history[arm][i] - mean) / n
    resampled_sums(params.law, a, state.scratch, rng)
    return largest(state.scratch, rank)


@inlined
def main_term(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """The bootstrapped quantile of an arm, by the mode asked for."""
    if params.mode == STREAMING:
        return streamed_quantile(state, arm, shared.rank)
    if params.mode == LITERAL:
        return literal_quantile(params, state, arm, shared.rank, rng)
    level = shared.level
    z = shared.z
    if params.mode == RESAMPLED:  # an order statistic of B draws, drawn in law
        level = order_statistic_level(shared.rank, params.n_resamples, rng)
        if state.pulls[arm] == 1:
            return 0.0
        z = rough_normal_quantile(level)  # its error is far below that of the curve
    return arm_quantile(params.law, state.pulls, state.residuals, state.tails, state.curves, arm, level, z)


@jitable
def sign_mean_quantile(n: int, level: float) -> float:
    """Upper ``level`` quantile of the mean of ``n`` random signs, or a proved upper bound of it for large ``n``."""
    if n <= MOST_EXACT_SIGNS:
        mass = 0.5**n  # P(Bin = n), then downwards
        tail = 0.0
        k = n
        while k > 0 and tail + mass <= level:
            tail += mass
            mass *= k / (n - k + 1.0)
            k -= 1
        return (2.0 * k - n) / n
    # Chernoff: n KL((1 + c)/2, 1/2) = log(1/level), by Newton from Hoeffding's bound
    budget = math.log(1.0 / level) / n
    if budget >= math.log(2.0):  # a tail lighter than that of n equal signs
        return 1.0
    c = min(math.sqrt(2.0 * budget), 0.999)
    for _ in range(6):
        value = 0.5 * ((1.0 + c) * math.log1p(c) + (1.0 - c) * math.log1p(-c)) - budget
        c -= value / (0.5 * (math.log1p(c) - math.log1p(-c)))
    return c


@inlined
def preliminary_width(params: Params, n: int, shared: Shared) -> float:
    """``phi``: Hoeffding's width, or theorem 2's."""
    if params.phi == HOEFFDING:
        return params.sigma * shared.root_log / math.sqrt(n)
    log = 0.5 * shared.root_log * shared.root_log
    rest = 0.0
    if params.beta <= 1.0:
        rest = log ** (1.0 / params.beta) / n
    elif params.beta < 2.0:
        rest = (log / n) ** (1.0 / params.beta)
    return params.constant * params.sigma * (math.sqrt(log / n) + rest)


@inlined
def threshold(params: Params, n: int, main: float, shared: Shared) -> float:
    """Main term plus second-order correction, see ``bounds/bootstrap.py``."""
    if params.correction == NONE:
        return main
    phi = preliminary_width(params, n, shared)
    if params.correction == PRACTICAL:
        return main + phi / math.sqrt(n)
    if params.correction == SHARP:
        return min(phi, main + sign_mean_quantile(n, shared.alpha * params.delta) * phi)
    log = math.log(2.0 / (shared.alpha * params.delta))
    return main + math.sqrt((2.0 if params.correction == THEOREM else 1.0) * log / n) * phi


def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """``ybar + q + correction``: equation (2.8)."""
    main = main_term(params, state, arm, shared, rng)
    return mean_reward(state.pulls, state.powers, state.shifts, arm) + threshold(params, state.pulls[arm], main, shared)


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into sums, memory and draws, and refit the arm's quantile function."""
    if params.mode == LITERAL:
        state.history[arm][state.pulls[arm]] = reward
    remember(state.pulls, state.powers, state.shifts, state.kept, arm, reward)
    if params.mode == STREAMING:
        add_weights(params.law, reward - state.shifts[arm], state.sums[arm], state.totals[arm], rng)
        state.cached[arm][0] = -1.0
    elif params.mode != LITERAL:
        refresh_curve(
            params.law,
            state.pulls,
            state.powers,
            state.shifts,
            state.kept,
            state.residuals,
            state.tails,
            state.curves,
            arm,
        )


KERNEL = Kernel("bootstrapped_ucb", learn=learn, score=score, prepare=prepare)


class BootstrappedUCB(Policy):
    r"""Bootstrapped upper confidence bound: optimism read off the data (algorithm 1 of the paper).

    .. math:: \bar y + q_{\alpha_t(1-\delta)}(y - \bar y) + \text{correction}

    Parameters
    ----------
    sigma
        Assumed noise scale, used in the correction only. The default suits rewards in units of their noise.
    quantile
        How the bootstrapped quantile is found.

        ``"resampled"``
            The paper: an order statistic of ``n_resamples`` fresh draws for every arm in every round (default). Drawn in
            law: one order statistic of uniforms and one evaluation of the arm's quantile function.
        ``"resampled-literal"``
            The same by drawing every weight, at O(B t) a round.
        ``"streaming"``
            Weights drawn once a reward and kept: O(B) for the pulled arm.
        ``"exact"``
            ``n_resamples`` = infinity: no Monte Carlo error, and it never saturates. Counted up to 12 rewards of an arm,
            approximated beyond; see the notes.
    n_resamples
        ``B``. The default is the paper's.
    weights
        Bootstrap weights; ``"rademacher"`` (default) is the paper's.
    correction
        ``"practical"`` (default, the paper's experiments), ``"theorem"``, ``"stated"``, ``"sharp"`` or ``"none"``, as in
        :func:`bandstrap.bounds.bootstrap`.
    phi
        Preliminary width: ``"hoeffding"`` (default) or ``"sub_weibull"`` with ``beta`` and ``constant``.
    beta
        Tail exponent of theorem 2; ``sigma`` is then the ``psi_beta`` norm, see :func:`bandstrap.bounds.sub_weibull`.
    constant
        ``C`` of theorem 2. By default the smallest one that moments prove for every number of rewards up to a thousand
        million and every level of the schedule down to ``1e-15``, a hundredth added: 1.43 for ``beta = 2`` and
        ``alpha = "1/(t+1)"``, 1.24 for ``alpha = 0.01``, 3.8 for ``beta = 1/2``. With a smaller one nothing is proved.
    delta
        Share of the error probability spent on the correction; the default is the paper's.
    alpha, tau, horizon
        Schedule of the error probability, see :class:`bandstrap.UCB1`.
    arms, rng, direction
        See :class:`bandstrap.policies.policy.Policy`.

    Notes
    -----
    With ``B alpha (1 - delta) < 1``, from round 180 on for ``B = 200``, the order statistic is the largest draw whatever
    the level: ``"resampled"`` and ``"streaming"`` saturate, ``"exact"`` does not.

    State is constant in the horizon for ``"resampled"`` and ``"exact"`` and O(B) an arm for ``"streaming"``. For the first
    two, signed sums are counted up to 12 rewards and put on a grid up to 32; beyond, the quantile is fitted to power sums.
    :meth:`bounds` says which. Measured against :func:`bandstrap.multipliers.bootstrap_quantile` on 60 samples of each size,
    at the levels ``0.9/(t+1)`` of rounds ``t`` from ``n`` to 20,000, it is

    ==============================================  ====================  ====================
    rewards                                         too small by at most  too large by at most
    ==============================================  ====================  ====================
    13 to 32                                        1.6 %                 1.1 %
    13 to 32, of two values                         5.5 %                 7.7 %
    33 to 300, uniform                              0.2 %                 0.1 %
    33 to 300, normal or beta                       0.7 %                 3.2 %
    33 to 300, Laplace or exponential               1.4 %                 7.6 %
    33 to 300, lognormal                            4.5 %                 15 %
    33 to 300, t(3)                                 6.7 %                 12 %
    33 to 300, normal, one in 20 ten times as wide  4.8 %                 22 %
    33 to 300, of two values                        9.9 % (one is rare)   7.5 %
    ==============================================  ====================  ====================

    Half of the errors are below 0.5 %, but for rare values (4 %). With skew weights it is less accurate at small samples.

    See Also
    --------
    bandstrap.UCB1 : the same with a worst-case width.

    Examples
    --------
    >>> from bandstrap import BootstrappedUCB
    >>> policy = BootstrappedUCB(arms=["a", "b", "c"], sigma=1.0, rng=7)
    >>> policy.select()
    'a'
    >>> policy.update(["a", "b", "c"], [0.3, 0.9, 0.1])
    >>> policy.select()
    'b'
    >>> round(policy.bounds()["b"]["correction"], 2)
    1.79

    References
    ----------
    .. [1] Hao, Abbasi-Yadkori, Wen, Cheng. Bootstrapping upper confidence bound. NeurIPS 2019, algorithm 1.
    """

    kernel = KERNEL

    def __init__(
        self,
        *,
        sigma: float = 1.0,
        quantile: str = "resampled",
        n_resamples: int = 200,
        weights: str = "rademacher",
        correction: str = "practical",
        phi: str = "hoeffding",
        beta: float = 2.0,
        constant: float | None = None,
        delta: float = 0.1,
        alpha: Any = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        **online: Any,
    ) -> None:
        owner = type(self).__name__
        self.sigma = self.positive(sigma, "sigma")
        self.quantile = check_choice(quantile, "quantile", owner, QUANTILES)
        self.n_resamples = check_count(n_resamples, "n_resamples", owner)
        self.weights = check_choice(weights, "weights", owner, WEIGHTS)
        self.correction = check_choice(correction, "correction", owner, CORRECTIONS)
        self.phi = check_choice(phi, "phi", owner, PHIS)
        self.beta = self.positive(beta, "beta")
        self.constant = None if constant is None else self.positive(constant, "constant")
        self.delta = check_number(delta, "delta", owner, above=0, below=1)
        self.set_schedule(alpha, tau, horizon)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        """Numbers for the kernel."""
        schedule = self.schedule_for(horizon)
        return Params(
            schedule,
            LAWS[self.weights],
            QUANTILES[self.quantile],
            self.n_resamples,
            CORRECTIONS[self.correction],
            PHIS[self.phi],
            self.sigma,
            self.beta,
            self.theorem_constant(schedule),
            self.delta,
        )

    def theorem_constant(self, schedule: Schedule) -> float:
        """``C`` of theorem 2 for all levels of the schedule; 1 where ``phi`` does not ask for it."""
        if self.constant is not None or self.phi != "sub_weibull":
            return self.constant or 1.0
        if schedule.rule == FIXED and not callable(self.alpha):
            return MARGIN * theorem_constant(self.beta, (schedule.value,))
        # A callable goes through levels like a rule does, and may say one above 1/2, where the rules never are.
        above = (schedule.value,) if schedule.rule == FIXED and schedule.value > LEVELS[0] else ()
        return MARGIN * theorem_constant(self.beta, above + LEVELS)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """Nothing known yet."""
        mode = QUANTILES[self.quantile]
        draws = self.n_resamples if mode == STREAMING else 0
        return State(
            order=order,
            **new_memory(n_arms, with_grid=mode in (RESAMPLED, EXACT) and self.weights == "rademacher"),
            sums=np.zeros((n_arms, draws)),
            totals=np.zeros((n_arms, draws)),
            cached=np.full((n_arms, 2), -1.0),
            history=np.zeros((n_arms if mode == LITERAL else 0, capacity)),
            scratch=np.zeros(self.n_resamples if mode in (STREAMING, LITERAL) else 0),
        )

    def bounds(self) -> dict[Any, dict[str, Any]]:
        """Per arm: pulls, mean, main term, correction and index, as the next round would see them.

        ``"quantile"`` says how the arm's quantile is known: ``"counted"`` and ``"closed-form"`` are exact, ``"grid"`` and
        ``"fitted"`` approximate (see the notes of the class), ``"drawn"`` is an order statistic of draws, and ``"none"``
        stands beside an arm without rewards.

        Draws nothing from the policy's generator: where the quantile is random, a copy of the generator is used.
        """
        self._need_arms("bounds")
        rng = np.random.Generator(type(self.rng.bit_generator)())
        rng.bit_generator.state = self.rng.bit_generator.state
        params = self.round_params(self._params)
        shared = prepare(params, self._state, self.n_rewards + 1)
        sign = 1.0 if self.direction == "max" else -1.0
        table: dict[Any, dict[str, Any]] = {label: {} for label in self.arms}
        for i in self._state.order:  # the order in which the next round draws
            label = self.arms[i]
            n = int(self._state.pulls[i])
            if n == 0:
                nothing = dict.fromkeys(("mean", "main", "correction"), math.nan)
                table[label] = {"pulls": 0} | nothing | {"index": sign * math.inf, "quantile": "none"}
                continue
            mean = float(mean_reward(self._state.pulls, self._state.powers, self._state.shifts, i))
            main = float(main_term(params, self._state, i, shared, rng))
            total = float(threshold(params, n, main, shared))
            table[label] = {
                "pulls": n,
                "mean": sign * mean,
                "main": main,
                "correction": total - main,
                "index": sign * (mean + total),
                "quantile": "drawn" if params.mode in (STREAMING, LITERAL) else quantile_source(params.law, n),
            }
        return table


class NaiveBootstrappedUCB(BootstrappedUCB):
    r"""Bootstrapped UCB without correction: the bound that theorem 4 shows to have linear regret.

    .. math:: \bar y + q_{\alpha_t(1-\delta)}(y - \bar y)

    An arm whose first rewards are equal has ``q = 0`` and may never be pulled again.

    Parameters
    ----------
    quantile, n_resamples, weights, delta, alpha, tau, horizon, arms, rng, direction
        As in :class:`bandstrap.BootstrappedUCB`.

    Examples
    --------
    >>> from bandstrap import NaiveBootstrappedUCB
    >>> policy = NaiveBootstrappedUCB(arms=2, rng=0)
    >>> policy.update([0, 1], [0.0, 1.0])
    >>> {policy.select() for _ in range(50)}  # arm 0 had one bad reward
    {1}

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, supplement A.
    """

    def __init__(
        self,
        *,
        quantile: str = "resampled",
        n_resamples: int = 200,
        weights: str = "rademacher",
        delta: float = 0.1,
        alpha: Any = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        **online: Any,
    ) -> None:
        # What belongs to the correction would do nothing here.
        refuse_misfit(type(self).__name__, inspect.signature(type(self)), (), online)
        super().__init__(
            quantile=quantile,
            n_resamples=n_resamples,
            weights=weights,
            correction="none",
            delta=delta,
            alpha=alpha,
            tau=tau,
            horizon=horizon,
            **online,
        )
