"""Bootstrapped UCB: algorithm 1 of the paper, with four ways to the bootstrap quantile."""

from __future__ import annotations

import math
import types
from collections.abc import Hashable
from typing import ClassVar, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from bandstrap.bounds.corrections import CORRECTIONS, Correction
from bandstrap.bounds.sub_weibull import theorem_constant
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.errors import brief, check_choice, check_count, check_flag, check_number, is_number, requirement
from bandstrap.multipliers import WEIGHTS
from bandstrap.multipliers.weights import LAWS, Weights
from bandstrap.policies.kernels.bootstrap_index import (
    CONSTANT,
    OWN,
    PHIS,
    QUANTILES,
    RESAMPLED,
    IndexPhi,
    IndexQuantile,
    Params,
    State,
    Way,
    new_state,
    prepare,
    way_to,
    with_phi,
)
from bandstrap.policies.kernels.restricted import duplicate
from bandstrap.policies.kernels.schedule import FIXED, Alpha, Schedule
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.online.probabilities import copy_of
from bandstrap.policies.states import sign_memory
from bandstrap.policies.states.fields import as_lists
from bandstrap.policies.states.quantile_memory import arm_mean

# Error probabilities at which the constant of theorem 2 is computed for rules that go through many of them.
LEVELS: tuple[float, ...] = (0.5, 1 / 3, 0.2, 0.135, 0.05, 0.01, 1e-3, 1e-6, 1e-9, 1e-15)
# What that constant is raised by, for levels and numbers of rewards between those it is computed at.
MARGIN = 1.01
# Draws of which an order statistic is sampled from its exact distribution; with so many a decision in the first rounds
# takes a second.
MOST_RESAMPLES = 10**8


class ArmBounds(TypedDict):
    """Row of :meth:`BootstrappedUCB.bounds` for an arm."""

    pulls: int
    mean: float
    main: float
    correction: float
    index: float
    quantile: str


class BootstrappedUCB(Policy[Label]):
    r"""Bootstrapped upper confidence bound: its width is a bootstrap quantile of the rewards (algorithm 1 of the paper).

    .. math:: \bar y + q_{\alpha_t(1-\delta)}(y - \bar y) + \text{correction}

    Assumes rewards that are symmetric about their means, and a noise scale for the correction. Prefer it to
    :class:`bandstrap.UCB1` if ``sigma`` is a guess: here ``sigma`` enters only through a term that vanishes like 1/n.

    Parameters
    ----------
    sigma
        Assumed noise scale, used in the correction only. The default suits rewards in units of their noise.
    quantile
        Method for the bootstrapped quantile.

        ``"resampled"``
            The paper: an order statistic of ``n_resamples`` fresh draws for every arm in every round (default). It is
            sampled from its exact distribution: an order statistic of uniforms, put into the arm's quantile function.
        The same by drawing every weight, at O(B t) per round. ``"streaming"``
            Weights drawn once per reward and kept: O(B) for the pulled arm.
        ``"exact"``
            ``n_resamples`` = infinity: no Monte Carlo error, and it never saturates. Enumerated up to 12 rewards of an arm;
            the notes give its accuracy beyond.
    n_resamples
        ``B``. The default is the paper's.
    interpolate
        Interpolate the quantile of the resamples between two order statistics, as ``numpy.percentile`` does,
        ``(B - 1) level`` below the largest. The default is the paper's definition (D.1), a single order statistic, which is
        the higher of the two once the quantile saturates.
    weights
        Bootstrap weights; ``"rademacher"`` (default) is the paper's.
    correction
        ``"practical"`` (default, the paper's experiments), ``"theorem"``, ``"stated"``, ``"sharp"`` or ``"none"``, as in
        :func:`bandstrap.bounds.bootstrap`.
    phi
        Preliminary width: ``"hoeffding"`` (default), ``"sub_weibull"`` with ``beta`` and ``constant``, a number, or a
        function of an arm's number of rewards and the error probability, ``phi(n, alpha)``. Such a function must not
        decrease as ``alpha`` decreases; for simulations numba must be able to compile it. A policy with such a function
        cannot be saved.
    beta
        Tail exponent of theorem 2; ``sigma`` is then the ``psi_beta`` norm, see :func:`bandstrap.bounds.sub_weibull`.
    constant
        ``C`` of theorem 2. By default the smallest constant proved by moments for up to a billion rewards and all levels of
        the schedule down to ``1e-15``, increased by a hundredth. Examples: 1.43 for ``beta = 2`` and ``alpha = "1/(t+1)"``,
        1.24 for ``alpha = 0.01``, 3.8 for ``beta = 1/2``. With a smaller one nothing is proved.
    delta
        Share of the error probability spent on the correction; the default is the paper's.
    alpha, tau, horizon
        Schedule of the error probability, see :class:`bandstrap.UCB1`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    If ``B alpha (1 - delta) < 1``, from round 180 on for ``B = 200``, the order statistic is the largest draw at every
    level. Then ``"resampled"`` and ``"streaming"`` saturate; ``"exact"`` does not.

    State is constant in the horizon for ``"resampled"`` and ``"exact"`` and O(B) per arm for ``"streaming"``. For the first
    two and random signs, sums are enumerated up to 12 rewards of an arm, or up to 4,000 rewards of two values. Otherwise
    the distribution is approximated from the 12 lowest and the 12 highest rewards and power sums of the rest.
    :meth:`bounds` says which. Measured against the distribution on a fine grid, at the levels ``0.9/(t+1)`` of rounds ``t``
    from ``n`` to 90,000, the largest error of a quantile was, rounded up (``python -m benchmarks quantiles`` prints it):

    ======================================================  ========  =========  ============
    rewards                                                 13 to 32  33 to 300  301 to 2,000
    ======================================================  ========  =========  ============
    normal, uniform, beta, Laplace, exponential             0.5 %     0.2 %      0.1 %
    lognormal, t(3), normal with one in 20 ten times wider  0.5 %     0.3 %      0.2 %
    Pareto(1.1), whose largest reward outweighs the rest    1.8 %     0.2 %      0.8 %
    two values                                              0         0          0
    three to five values                                    7 %       8 %        1 %
    two to five tight clusters                              9 %       13 %       1 %
    zeros and ones, and one outlier                         5 %       4 %        2 %
    ======================================================  ========  =========  ============

    In the last three rows the rewards form clusters, and the quantile jumps from one cluster to the next. Half of these
    samples have errors of 2 % or less up to 32 rewards, and less beyond. Distributions not measured may have errors half as
    large again. :func:`bandstrap.multipliers.bootstrap_quantile` is within 0.5 % also in these cases. With weights other
    than signs, the quantile is fitted to power sums beyond 32 rewards, and is less accurate.

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

    kernel = RESAMPLED.kernel
    indices_are_bounds = True
    kept_as: ClassVar[dict[str, str]] = {"weights": "multipliers"}
    _state: State

    def __init__(
        self,
        *,
        sigma: float = 1.0,
        quantile: IndexQuantile = "resampled",
        n_resamples: int = 200,
        interpolate: bool = False,
        weights: Weights = "rademacher",
        correction: Correction = "practical",
        phi: IndexPhi = "hoeffding",
        beta: float = 2.0,
        constant: float | None = None,
        delta: float = 0.1,
        alpha: Alpha = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        **online: Unpack[Online[Label]],
    ) -> None:
        owner = type(self).__name__
        self.sigma = self.positive(sigma, "sigma")
        self.quantile = check_choice(quantile, "quantile", owner, QUANTILES)
        self.n_resamples = check_count(n_resamples, "n_resamples", owner)
        self.check_size(1)
        self.interpolate = check_flag(interpolate, "interpolate", owner)
        if self.interpolate and self.quantile == "exact":
            raise requirement("interpolate", owner, "False with quantile='exact', which has no resamples", True)
        self.multipliers = check_choice(weights, "weights", owner, WEIGHTS)
        self.correction = check_choice(correction, "correction", owner, CORRECTIONS)
        self.phi = check_phi(phi, owner)
        self.kernel = self.way.kernel
        self.beta = self.positive(beta, "beta")
        self.constant = None if constant is None else self.positive(constant, "constant")
        self.delta = check_number(delta, "delta", owner, above=0, below=1)
        self.set_schedule(alpha, tau, horizon)
        super().__init__(**online)

    def check_size(self, size: int) -> None:
        """Refuse more resamples than memory or a reasonable time allow."""
        if self.quantile == "resampled" and self.n_resamples > MOST_RESAMPLES:
            rule = (
                f"at most {MOST_RESAMPLES:.0e} for quantile='resampled', where every draw above the quantile takes time"
            )
            raise requirement("n_resamples", type(self).__name__, rule, brief(self.n_resamples))
        numbers = {"streaming": 2 * size + 1, "resampled-literal": 1}.get(self.quantile, 0)
        check_memory(WORD * numbers * self.n_resamples, "n_resamples", type(self).__name__, self.n_resamples)

    def make_params(self, horizon: int | None) -> Params:
        schedule = self.schedule_for(horizon)
        return Params(
            schedule,
            LAWS[self.multipliers],
            self.n_resamples,
            self.interpolate,
            CORRECTIONS[self.correction],
            PHIS[self.phi] if isinstance(self.phi, str) else OWN if callable(self.phi) else CONSTANT,
            self.sigma,
            self.beta,
            self.phi if isinstance(self.phi, float) else self.theorem_constant(schedule),
            self.delta,
        )

    @property
    def way(self) -> Way:
        """Method of the quantile, and the terms added to it."""
        way = way_to(self.quantile, self.multipliers)
        return with_phi(way, self.phi) if callable(self.phi) else way

    def __getstate__(self) -> dict[str, object]:
        """All but the kernel: one with a function of the user's own is known in its process alone."""
        return {name: value for name, value in vars(self).items() if name != "kernel"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self.kernel = self.way.kernel

    def theorem_constant(self, schedule: Schedule) -> float:
        """``C`` of theorem 2 for all levels of the schedule; 1 where ``phi`` does not ask for it."""
        if self.constant is not None or self.phi != "sub_weibull":
            return self.constant or 1.0
        levels = LEVELS
        if schedule.rule == FIXED and not callable(self.alpha):
            levels = (schedule.value,)
        elif schedule.rule == FIXED and schedule.value > LEVELS[0]:
            # A callable goes through levels like a rule does, and may return one above 1/2, where the rules never are.
            levels = (schedule.value, *LEVELS)
        try:
            with np.errstate(all="ignore"):
                constant = MARGIN * theorem_constant(self.beta, levels)
        except (ArithmeticError, ValueError):  # of moments that are no numbers
            constant = math.nan
        if not math.isfinite(constant):
            rule = "large enough that the constant of theorem 2 is a number, unless 'constant' is given"
            raise requirement("beta", type(self).__name__, rule, self.beta)
        return constant

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: an empty quantile memory, and the arrays that ``quantile`` needs."""
        return new_state(self.quantile, self.multipliers, n_arms, capacity, self.n_resamples, order)

    def quantile_source(self, arm: int, n: int, level: float) -> str:
        """Source of the quantile of an arm with ``n`` rewards, as a single word; see :meth:`bounds`."""
        if self.quantile in ("streaming", "resampled-literal"):
            return "drawn"
        if n == 1:
            return "counted"
        if self.multipliers == "gaussian":
            return "closed-form"
        if self.multipliers != "rademacher":
            return "fitted"
        return sign_memory.quantile_source(cast("sign_memory.SignMemory", self._state.memory), arm, n, level)

    def bounds(self) -> dict[Hashable, ArmBounds]:
        """Per arm: pulls, mean, main term, correction and index, as the next round would see them.

        ``"quantile"`` is the source of the arm's quantile. ``"counted"`` and ``"closed-form"`` are exact, and ``"fitted"``
        is approximate (see the notes of the class). ``"drawn"`` is an order statistic of draws, and ``"none"`` marks an arm
        without rewards.

        Nothing changes: a random quantile is drawn from a copy of the policy's generator.
        """
        self._need_arms("bounds")
        with self._lock:
            self._settle()
            state = duplicate(self._state)
            state = as_lists(state) if self.compiled else state
            rng = copy_of(self.rng)
            params = cast("Params", self.round_params(self._params))
            shared = prepare(params, state, self.n_rewards + 1)
            way = self.way
            sign = 1.0 if self.direction == "max" else -1.0
            table: dict[Hashable, ArmBounds] = {}
            # The order in which the next round draws; it draws nothing for arms that are retired.
            for i in sorted(state.order, key=lambda arm: self.arms[arm] in self.retired):
                label = self.arms[i]
                n = int(state.pulls[i])
                if n == 0:
                    nothing = ArmBounds(
                        pulls=0,
                        mean=math.nan,
                        main=math.nan,
                        correction=math.nan,
                        index=sign * math.inf,
                        quantile="none",
                    )
                    table[label] = nothing
                    continue
                mean = float(arm_mean(state.pulls, state.memory, i))
                main = float(way.main_term(params, state, i, shared, rng))
                total = float(way.threshold(params, n, main, shared))
                table[label] = {
                    "pulls": n,
                    "mean": sign * mean,
                    "main": main,
                    "correction": total - main,
                    "index": sign * (mean + total),
                    "quantile": self.quantile_source(i, n, shared.level),
                }
        return {label: table[label] for label in self.arms}

    def indices(self, params: Params, state: State, round_: int, rng: np.random.Generator) -> list[float] | None:
        """The bound of every arm, equation (2.8), unless it is drawn."""
        if self.quantile in ("resampled", "resampled-literal"):
            return None
        shared = prepare(params, state, round_)
        way = self.way
        arms = range(len(state.pulls))
        return [way.index(params, state, arm, way.main_term(params, state, arm, shared, rng), shared) for arm in arms]


# Where a user's preliminary width is looked at before it is used.
TRIED_SIZES = (1, 2, 5, 20, 100, 1000)
TRIED_LEVELS = (0.5, 0.1, 0.01, 1e-3, 1e-6, 1e-12)


def check_phi(phi: object, owner: str) -> IndexPhi:
    """A name, a number of at least 0, or a function that gives such numbers, none smaller at smaller levels."""
    if isinstance(phi, str) and phi in PHIS:
        return cast("IndexPhi", phi)
    if is_number(phi):
        return check_number(phi, "phi", owner, at_least=0)
    names = ", ".join(map(repr, PHIS))
    if not isinstance(phi, types.FunctionType):
        raise requirement("phi", owner, f"one of {names}, a number, or a function phi(n, alpha)", brief(phi))
    for n in TRIED_SIZES:
        before = 0.0
        for level in TRIED_LEVELS:
            width = phi(n, level)
            rule = f"a function whose value at n = {n} and alpha = {level:g} is a finite number of at least 0"
            if not is_number(width) or not 0 <= float(width) < math.inf:
                raise requirement("phi", owner, rule, brief(width))
            if float(width) < before:
                rule = f"a function that does not fall as alpha falls, as it does at n = {n}"
                raise requirement("phi", owner, rule, float(width))
            before = float(width)
    return phi
