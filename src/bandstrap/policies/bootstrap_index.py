"""Equation (2.8) as an index: four ways to the quantile of an arm, and the correction of ``bounds/corrections.py``."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from bandstrap.arrays import Floats
from bandstrap.bounds.corrections import NONE, corrected_width, correction_term
from bandstrap.bounds.hoeffding import hoeffding_width, root_log
from bandstrap.bounds.sub_weibull import theorem_width
from bandstrap.engine.kernel import Kernel, inlined, jitable
from bandstrap.multipliers.normal import normal_quantile, rough_normal_quantile
from bandstrap.multipliers.order_statistic import largest, order_rank, order_statistic_level
from bandstrap.policies.draws import add_weights, resampled_sums
from bandstrap.policies.quantile_memory import Memory, add_reward, arm_mean, arm_quantile, refresh_curve
from bandstrap.policies.schedule import Schedule, error_probability

Quantile = Literal["resampled", "resampled-literal", "streaming", "exact"]
QUANTILES: dict[Quantile, int] = {word: code for code, word in enumerate(get_args(Quantile))}
RESAMPLED, LITERAL, STREAMING, EXACT = QUANTILES.values()
Phi = Literal["hoeffding", "sub_weibull"]
PHIS: dict[Phi, int] = {word: code for code, word in enumerate(get_args(Phi))}
HOEFFDING, SUB_WEIBULL = PHIS.values()
# Up to this many rewards the sharp correction is exact; beyond, Chernoff's bound takes constant time and is proved too.
MOST_COUNTED_SIGNS = 64


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
    """What is known of each arm; ``sums``, ``totals`` and ``history`` are empty unless the mode needs them."""

    order: NDArray[np.int64]
    pulls: NDArray[np.int64]
    memory: Memory
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
        order_rank(params.n_resamples, level),
        root_log(alpha),
    )


@inlined
def streamed_quantile(state: State, arm: int, rank: int) -> float:
    """Order statistic of the arm's frozen draws; recomputed when the arm was pulled or the rank moved."""
    cached = state.cached[arm]
    if cached[0] != rank:
        n = state.pulls[arm]
        mean = state.memory.powers[arm][0] / n
        sums = state.sums[arm]
        totals = state.totals[arm]
        scratch = state.scratch
        top = -math.inf
        for b in range(len(scratch)):
            scratch[b] = sums[b] - mean * totals[b]
            top = max(top, scratch[b])
        cached[0] = -1.0  # of no rank, until both are in place: online, an interrupt may come in between
        cached[1] = (top if rank == 0 else largest(scratch, rank)) / n
        cached[0] = rank
    return cached[1]


@jitable
def literal_quantile(params: Params, state: State, arm: int, rank: int, rng: np.random.Generator) -> float:
    """Definition (D.1) with fresh draws."""
    n = state.pulls[arm]
    mean = arm_mean(state.pulls, state.memory, arm)
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
    return arm_quantile(params.law, state.pulls, state.memory, arm, level, z)


@inlined
def preliminary_width(params: Params, n: int, shared: Shared) -> float:
    """``phi``: Hoeffding's width, or theorem 2's."""
    if params.phi == HOEFFDING:
        return hoeffding_width(n, params.sigma, shared.root_log)
    return theorem_width(n, shared.alpha, params.sigma, params.beta, params.constant)


@inlined
def threshold(params: Params, n: int, main: float, shared: Shared) -> float:
    """Main term plus second-order correction, see ``bounds/corrections.py``."""
    if params.correction == NONE:
        return main
    phi = preliminary_width(params, n, shared)
    term = correction_term(params.correction, n, phi, shared.alpha, params.delta, MOST_COUNTED_SIGNS)
    return corrected_width(params.correction, main, term, phi)


def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """``ybar + q + correction``: equation (2.8)."""
    main = main_term(params, state, arm, shared, rng)
    return arm_mean(state.pulls, state.memory, arm) + threshold(params, state.pulls[arm], main, shared)


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into sums, memory and draws, and refit the arm's quantile function."""
    if params.mode == LITERAL:
        state.history[arm][state.pulls[arm]] = reward
    add_reward(state.pulls, state.memory, arm, reward)
    if params.mode == STREAMING:
        add_weights(params.law, reward - state.memory.shifts[arm], state.sums[arm], state.totals[arm], rng)
        state.cached[arm][0] = -1.0
    elif params.mode != LITERAL:
        refresh_curve(params.law, state.pulls, state.memory, arm)


KERNEL = Kernel("bootstrapped_ucb", learn=learn, score=score, prepare=prepare)
