"""Equation (2.8) as an index: four ways to the quantile of an arm, and the correction of ``bounds/corrections.py``.

Each way is a kernel of its own, so that only what is asked for is compiled.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.corrections import NONE, corrected_width, correction_term
from bandstrap.bounds.hoeffding import hoeffding_width, root_log
from bandstrap.bounds.sub_weibull import theorem_width
from bandstrap.engine.compiler.kernel import Kernel, borrowing, inlined, jitable, rebuilt
from bandstrap.multipliers.normal import normal_quantile, rough_normal_quantile
from bandstrap.multipliers.order_statistic import (
    between,
    largest,
    level_of_sum,
    next_sum,
    order_statistic_sum,
    rank_and_share,
)
from bandstrap.multipliers.weights import Weights
from bandstrap.policies.kernels.draws import add_weights, resampled_sums
from bandstrap.policies.kernels.schedule import FIXED, Schedule, error_probability
from bandstrap.policies.states.ceilings import (
    Ceilings,
    forget,
    growth_to_ceiling,
    leading,
    new_ceilings,
    put_ceiling,
    settle,
)
from bandstrap.policies.states.fields import Cache, Counts, History, Numbers, Order, Scratch
from bandstrap.policies.states.history import room
from bandstrap.policies.states.quantile_memory import (
    CurveMemory,
    Sums,
    arm_mean,
    count_reward,
    curve_quantile,
    new_curve_memory,
    new_sums,
    refresh_curve,
)
from bandstrap.policies.states.sign_memory import (
    HEIGHT,
    HEIGHT_TO,
    SignMemory,
    add_reward,
    law_quantile,
    main_bound,
    new_sign_memory,
    ripples,
)

IndexQuantile = Literal["resampled", "resampled-literal", "streaming", "exact"]
QUANTILES: tuple[IndexQuantile, ...] = get_args(IndexQuantile)
NamedPhi = Literal["hoeffding", "sub_weibull"]
# A name, a constant, or the user's own function of the number of rewards and the error probability.
IndexPhi = NamedPhi | float | Callable[[int, float], float]
PHIS: dict[NamedPhi, int] = {word: code for code, word in enumerate(get_args(NamedPhi))}
HOEFFDING, SUB_WEIBULL = PHIS.values()
CONSTANT, OWN = len(PHIS), len(PHIS) + 1
# Heights are worked out for an error probability this many times smaller, or when it is reached.
HEIGHTS_APART = 1.1
# Up to this many rewards the sharp correction is exact; beyond, Chernoff's bound takes constant time and is proved too.
MOST_COUNTED_SIGNS = 64


class Params(NamedTuple):
    """Settings as numbers."""

    schedule: Schedule
    law: int
    n_resamples: int
    interpolates: bool
    correction: int
    phi: int
    sigma: float
    beta: float
    constant: float
    delta: float


class LiteralState(NamedTuple):
    """Every reward of each arm, and room for draws."""

    order: Order
    pulls: Counts
    memory: Sums
    history: History  # (arm, reward)
    scratch: Scratch


class StreamingState(NamedTuple):
    """The draws of each arm."""

    order: Order
    pulls: Counts
    memory: Sums
    sums: Numbers  # (arm, resample): sum of w y
    totals: Numbers  # (arm, resample): sum of w
    cached: Cache  # (arm, 3): rank, the draw of that rank, and the next lower one if the quantile is between them
    scratch: Scratch
    ceilings: Ceilings


class SignState(NamedTuple):
    """The quantile function of each arm for random signs."""

    order: Order
    pulls: Counts
    memory: SignMemory
    ceilings: Ceilings
    drawn: Scratch  # -log(1 - level) of each arm, in this round
    lower: Scratch  # the same of the next lower draw, if the quantile is between them


class CurveState(NamedTuple):
    """The quantile function of each arm for other weights."""

    order: Order
    pulls: Counts
    memory: CurveMemory


State = LiteralState | StreamingState | SignState | CurveState


def new_state(
    quantile: IndexQuantile, weights: Weights, n_arms: int, capacity: int, n_resamples: int, order: NDArray[np.int64]
) -> State:
    """State of a quantile method before the first reward."""
    pulls = np.zeros(n_arms, dtype=np.int64)
    if quantile == "resampled-literal":
        return LiteralState(order, pulls, new_sums(n_arms), room(n_arms, capacity), np.zeros(n_resamples))
    if quantile == "streaming":
        draws = np.zeros((2, n_arms, n_resamples))
        cached = np.full((n_arms, 3), -1.0)
        scratch, ceilings = np.zeros(n_resamples), new_ceilings(n_arms)
        return StreamingState(order, pulls, new_sums(n_arms), draws[0], draws[1], cached, scratch, ceilings)
    if weights == "rademacher":
        drawn, lower = np.zeros((2, n_arms))
        return SignState(order, pulls, new_sign_memory(n_arms), new_ceilings(n_arms), drawn, lower)
    return CurveState(order, pulls, new_curve_memory(n_arms))


class Shared(NamedTuple):
    """Values shared by all arms in a round."""

    alpha: float
    level: float
    z: float
    rank: int
    share: float
    root_log: float


def prepare(params: Params, state: object, round_: int) -> Shared:
    """Compute what arms share in a round."""
    return shared_at(params, error_probability(params.schedule, round_))


@jitable
def shared_at(params: Params, alpha: float) -> Shared:
    """Level ``alpha (1 - delta)``, its normal quantile, its rank among the draws, and ``sqrt(2 log(1/alpha))``."""
    level = alpha * (1.0 - params.delta)
    rank, share = rank_and_share(params.n_resamples, level, params.interpolates)
    return Shared(alpha, level, normal_quantile(level), rank, share, root_log(alpha))


@inlined
def shared_by_draws(params: Params, alpha: float) -> Shared:
    """:func:`shared_at` where levels or weights are drawn, and no normal quantile is needed."""
    level = alpha * (1.0 - params.delta)
    rank, share = rank_and_share(params.n_resamples, level, params.interpolates)
    return Shared(alpha, level, math.nan, rank, share, root_log(alpha))


# --- the correction ---------------------------------------------------------------------------------------------------


@jitable
def own_width(n: int, alpha: float) -> float:
    """Width that the user's function replaces, see :func:`with_phi`; without one nothing is known."""
    return math.inf


@inlined
def preliminary_width(params: Params, n: int, shared: Shared) -> float:
    """``phi``: Hoeffding's width, theorem 2's, a constant, or the user's own."""
    if params.phi == HOEFFDING:
        return hoeffding_width(n, params.sigma, shared.root_log)
    if params.phi == SUB_WEIBULL:
        return theorem_width(n, shared.alpha, params.sigma, params.beta, params.constant)
    if params.phi == CONSTANT:
        return params.constant
    return own_width(n, shared.alpha)


@jitable
def threshold(params: Params, n: int, main: float, shared: Shared) -> float:
    """Main term plus second-order correction, see ``bounds/corrections.py``."""
    if params.correction == NONE:
        return main
    phi = preliminary_width(params, n, shared)
    term = correction_term(params.correction, n, phi, shared.alpha, params.delta, MOST_COUNTED_SIGNS)
    return corrected_width(params.correction, main, term, phi)


@jitable
def put_height(params: Params, law: Floats, n: int, mean: float, alpha: float) -> None:
    """Limit of an index but for its quantile: mean and correction, at somewhat later error probabilities too.

    Corrections grow as the error probability falls, and the sharp one only makes an index smaller than that.
    """
    later = shared_by_draws(params, alpha / HEIGHTS_APART)
    term = 0.0
    if params.correction != NONE:
        phi = preliminary_width(params, n, later)
        term = correction_term(params.correction, n, phi, later.alpha, params.delta, MOST_COUNTED_SIGNS)
    law[HEIGHT_TO] = math.inf  # an interrupted call leaves none
    law[HEIGHT] = mean + term
    law[HEIGHT_TO] = later.alpha


@inlined
def index(params: Params, state: State, arm: int, main: float, shared: Shared) -> float:
    """``ybar + q + correction``: equation (2.8)."""
    return arm_mean(state.pulls, state.memory, arm) + threshold(params, state.pulls[arm], main, shared)


@jitable
def later_moment(params: Params, state: StreamingState | SignState, arm: int, leader: float, shared: Shared) -> Shared:
    """Values that arms will share when a settled arm is on its way to the leader's index; the same as now if that is
    soon.
    """
    value = state.ceilings.bounds[arm]
    log = 0.5 * shared.root_log * shared.root_log
    width = value - arm_mean(state.pulls, state.memory, arm)
    growth = growth_to_ceiling(state.ceilings.parts[arm], leader - value, width, log)
    if growth < 2.0 * shared.alpha:  # about two rounds
        return shared
    return shared_at(params, shared.alpha * math.exp(-growth))


# --- every weight drawn anew ------------------------------------------------------------------------------------------


@jitable
def literal_quantile(params: Params, state: LiteralState, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """Definition (D.1), or ``numpy.percentile``, with fresh draws."""
    n = state.pulls[arm]
    mean = arm_mean(state.pulls, state.memory, arm)
    a = np.empty(n)
    for i in range(n):
        a[i] = (state.history[arm][i] - mean) / n
    resampled_sums(params.law, a, state.scratch, rng)
    draw = largest(state.scratch, shared.rank)
    if shared.share == 0.0:
        return draw
    return between(draw, highest(state.scratch, shared.rank + 1), shared.share)


def literal_score(params: Params, state: LiteralState, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """Equation (2.8) with :func:`literal_quantile`."""
    return index(params, state, arm, literal_quantile(params, state, arm, shared, rng), shared)


def literal_learn(
    params: Params, state: LiteralState, arm: int, reward: float, round_: int, rng: np.random.Generator
) -> None:
    """Keep the reward."""
    state.history[arm][state.pulls[arm]] = reward
    count_reward(state.pulls, state.memory, arm, reward)


# --- weights drawn once per reward ------------------------------------------------------------------------------------


@jitable
def highest(values: Floats, first: int) -> float:
    """The largest of the values from number ``first`` on, in four rows of comparisons that do not wait for each other."""
    top = values[first]
    a, b, c, d = top, top, top, top
    last = len(values) - 3
    i = first
    while i < last:
        a = values[i] if values[i] > a else a
        b = values[i + 1] if values[i + 1] > b else b
        c = values[i + 2] if values[i + 2] > c else c
        d = values[i + 3] if values[i + 3] > d else d
        i += 4
    while i < len(values):
        a = values[i] if values[i] > a else a
        i += 1
    return max(max(a, b), max(c, d))


@inlined
def streamed_quantile(
    params: Params, state: StreamingState, arm: int, shared: Shared, rng: np.random.Generator
) -> float:
    """Order statistic of the arm's frozen draws; they are ranked anew when the arm was pulled or the rank moved."""
    cached = state.cached[arm]
    rank = shared.rank
    if cached[0] != rank:
        n = state.pulls[arm]
        mean = state.memory.sums[arm] / n
        sums = state.sums[arm]
        totals = state.totals[arm]
        scratch = state.scratch
        for b in range(len(scratch)):
            scratch[b] = sums[b] - mean * totals[b]
        cached[0] = -1.0  # of no rank, until all is in place: online, an interrupt may come in between
        is_highest = rank == 0 and not params.interpolates
        cached[1] = (highest(scratch, 0) if is_highest else largest(scratch, rank)) / n
        if params.interpolates and rank + 1 < len(scratch):
            cached[2] = highest(scratch, rank + 1) / n
        cached[0] = rank
    return cached[1] if shared.share == 0.0 else between(cached[1], cached[2], shared.share)


@jitable
def streaming_score(params: Params, state: StreamingState, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """Equation (2.8) with :func:`streamed_quantile`."""
    return index(params, state, arm, streamed_quantile(params, state, arm, shared, rng), shared)


@borrowing
def streaming_choose(params: Params, state: StreamingState, round_: int, rng: np.random.Generator) -> int:
    """The arm with the highest :func:`streaming_score`."""
    shared = shared_by_draws(params, error_probability(params.schedule, round_))
    ceilings = state.ceilings
    moment = -shared.alpha
    arm = leading(state.order, ceilings, moment)
    while ceilings.settled[arm] != moment:
        settle(ceilings, arm, streaming_score(params, state, arm, shared, rng), moment)
        arm = leading(state.order, ceilings, moment)
    if params.schedule.rule != FIXED:
        for k in range(len(state.order)):
            if k != arm and ceilings.settled[k] == moment:
                later = later_moment(params, state, k, ceilings.bounds[arm], shared)
                if later.alpha < shared.alpha and later.rank == shared.rank:
                    value = streaming_score(params, state, k, later, rng)
                    width = value - arm_mean(state.pulls, state.memory, k)
                    put_ceiling(ceilings, k, value, width, -later.alpha, ceilings.bounds[arm])
    return arm


@borrowing
def streaming_learn(
    params: Params, state: StreamingState, arm: int, reward: float, round_: int, rng: np.random.Generator
) -> None:
    """Give the reward its weights."""
    count_reward(state.pulls, state.memory, arm, reward)
    add_weights(params.law, reward - state.memory.shifts[arm], state.sums[arm], state.totals[arm], rng)
    state.cached[arm][0] = -1.0
    forget(state.ceilings, arm, False)


# --- the quantile function itself, of random signs --------------------------------------------------------------------


@inlined
def exact_quantile(params: Params, state: SignState, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """The quantile at the level of the round."""
    mean = arm_mean(state.pulls, state.memory, arm)
    return law_quantile(state.memory, arm, state.pulls[arm], mean, shared.level, shared.z)


@inlined
def draw_sums(params: Params, state: SignState, arm: int, shared: Shared, rng: np.random.Generator) -> None:
    """Draw the level of an arm in this round, and that of the next lower draw if the quantile is between them."""
    state.drawn[arm] = order_statistic_sum(shared.rank, params.n_resamples, rng)
    if shared.share > 0.0:
        state.lower[arm] = next_sum(state.drawn[arm], shared.rank, params.n_resamples, rng)


@jitable
def quantile_at(state: SignState, arm: int, total: float) -> float:
    """The quantile of an arm at the level that a sum stands for."""
    level = level_of_sum(total)
    mean = arm_mean(state.pulls, state.memory, arm)
    return law_quantile(state.memory, arm, state.pulls[arm], mean, level, rough_normal_quantile(level))


@inlined
def drawn_quantile(state: SignState, arm: int, shared: Shared) -> float:
    """The quantile of an arm at the level that was drawn."""
    draw = quantile_at(state, arm, state.drawn[arm])
    return draw if shared.share == 0.0 else between(draw, quantile_at(state, arm, state.lower[arm]), shared.share)


@inlined
def resampled_quantile(params: Params, state: SignState, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """An order statistic of B draws, sampled from its exact distribution."""
    draw_sums(params, state, arm, shared, rng)
    return drawn_quantile(state, arm, shared)


@jitable
def exact_score(params: Params, state: SignState, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """Equation (2.8) with :func:`exact_quantile`."""
    return index(params, state, arm, exact_quantile(params, state, arm, shared, rng), shared)


@borrowing
def exact_choose(params: Params, state: SignState, round_: int, rng: np.random.Generator) -> int:
    """The arm with the highest :func:`exact_score`."""
    shared = shared_at(params, error_probability(params.schedule, round_))
    ceilings = state.ceilings
    moment = -shared.alpha
    arm = leading(state.order, ceilings, moment)
    while ceilings.settled[arm] != moment:
        settle(ceilings, arm, exact_score(params, state, arm, shared, rng), moment)
        arm = leading(state.order, ceilings, moment)
    if params.schedule.rule != FIXED:
        for k in range(len(state.order)):
            if k != arm and ceilings.settled[k] == moment:
                later = later_moment(params, state, k, ceilings.bounds[arm], shared)
                if later.alpha < shared.alpha:
                    value = exact_score(params, state, k, later, rng)
                    width = value - arm_mean(state.pulls, state.memory, k)
                    put_ceiling(ceilings, k, value, width, -later.alpha, ceilings.bounds[arm])
    return arm


@inlined
def resampled_score_at(params: Params, state: SignState, arm: int, shared: Shared) -> float:
    """Equation (2.8) with :func:`drawn_quantile`."""
    return index(params, state, arm, drawn_quantile(state, arm, shared), shared)


@inlined
def draw_levels(params: Params, state: SignState, shared: Shared, moment: float, rng: np.random.Generator) -> None:
    """Draw the level of every arm, and an upper limit on its index."""
    order, pulls, drawn, laws = state.order, state.pulls, state.drawn, state.memory.laws
    bounds, until, settled = state.ceilings.bounds, state.ceilings.until, state.ceilings.settled
    for i in range(len(order)):
        draw_sums(params, state, order[i], shared, rng)
    for k in range(len(order)):
        if shared.alpha < laws[k][HEIGHT_TO]:
            put_height(params, laws[k], pulls[k], arm_mean(pulls, state.memory, k), shared.alpha)
        settled[k] = -math.inf
        bounds[k] = laws[k][HEIGHT] + main_bound(laws, k, drawn[k])
        until[k] = moment


@borrowing
def resampled_choose(params: Params, state: SignState, round_: int, rng: np.random.Generator) -> int:
    """The arm with the highest index, levels drawn for all of them: (2.8) with :func:`resampled_quantile`."""
    shared = shared_by_draws(params, error_probability(params.schedule, round_))
    order, ceilings = state.order, state.ceilings
    moment = float(round_)
    draw_levels(params, state, shared, moment, rng)
    arm = leading(order, ceilings, moment)
    while ceilings.settled[arm] != moment:
        settle(ceilings, arm, resampled_score_at(params, state, arm, shared), moment)
        arm = leading(order, ceilings, moment)
    return arm


@borrowing
def sign_learn(
    params: Params, state: SignState, arm: int, reward: float, round_: int, rng: np.random.Generator
) -> None:
    """Take the reward into the memory for signs."""
    add_reward(state.pulls, state.memory, arm, reward)
    forget(state.ceilings, arm, ripples(state.memory.values[arm], state.pulls[arm]))


# --- and of other weights ---------------------------------------------------------------------------------------------


@inlined
def exact_curve_quantile(
    params: Params, state: CurveState, arm: int, shared: Shared, rng: np.random.Generator
) -> float:
    """The quantile at the level of the round."""
    return curve_quantile(state.pulls, state.memory, arm, shared.z)


@inlined
def resampled_curve_quantile(
    params: Params, state: CurveState, arm: int, shared: Shared, rng: np.random.Generator
) -> float:
    """An order statistic of B draws, sampled from its exact distribution."""
    total = order_statistic_sum(shared.rank, params.n_resamples, rng)
    draw = curve_quantile(state.pulls, state.memory, arm, rough_normal_quantile(level_of_sum(total)))
    if shared.share == 0.0:
        return draw
    level = level_of_sum(next_sum(total, shared.rank, params.n_resamples, rng))
    return between(draw, curve_quantile(state.pulls, state.memory, arm, rough_normal_quantile(level)), shared.share)


def exact_curve_score(params: Params, state: CurveState, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """Equation (2.8) with :func:`exact_curve_quantile`."""
    return index(params, state, arm, exact_curve_quantile(params, state, arm, shared, rng), shared)


def resampled_curve_score(
    params: Params, state: CurveState, arm: int, shared: Shared, rng: np.random.Generator
) -> float:
    """Equation (2.8) with :func:`resampled_curve_quantile`."""
    return index(params, state, arm, resampled_curve_quantile(params, state, arm, shared, rng), shared)


def curve_learn(
    params: Params, state: CurveState, arm: int, reward: float, round_: int, rng: np.random.Generator
) -> None:
    """Take the reward into the memory for curves."""
    count_reward(state.pulls, state.memory, arm, reward)
    refresh_curve(params.law, state.pulls, state.memory, arm, reward)


class Way(NamedTuple):
    """A way to the quantile: the main term of an arm, the kernel that plays with it, and what is added to it."""

    main_term: Callable[..., float]
    kernel: Kernel
    threshold: Callable[..., float] = threshold
    index: Any = index  # not that of tuples


def _kernel(name: str, learn: Callable[..., None], **chooser: Callable[..., Any]) -> Kernel:
    return Kernel(f"bootstrapped_ucb_{name}", learn=learn, **chooser)


LITERAL = Way(literal_quantile, _kernel("literal", literal_learn, score=literal_score, prepare=prepare))
STREAMING = Way(streamed_quantile, _kernel("streaming", streaming_learn, choose=streaming_choose))
EXACT = Way(exact_quantile, _kernel("exact", sign_learn, choose=exact_choose))
RESAMPLED = Way(resampled_quantile, _kernel("resampled", sign_learn, choose=resampled_choose))
EXACT_CURVE = Way(exact_curve_quantile, _kernel("exact_curve", curve_learn, score=exact_curve_score, prepare=prepare))
RESAMPLED_CURVE = Way(
    resampled_curve_quantile, _kernel("resampled_curve", curve_learn, score=resampled_curve_score, prepare=prepare)
)


@functools.cache
def with_phi(way: Way, phi: Callable[[int, float], float]) -> Way:
    """A way with the user's preliminary width, in plain and in compiled code."""
    replaced = {own_width: phi}
    kernel = way.kernel
    parts = {
        part: rebuilt(function, replaced)
        for part in ("learn", "prepare", "score", "choose")
        if (function := getattr(kernel, part)) is not None
    }
    others = (rebuilt(function, replaced) for function in (way.threshold, way.index))
    return Way(way.main_term, Kernel(kernel.name, **parts), *others)


def way_to(quantile: IndexQuantile, weights: Weights) -> Way:
    """The way to the quantile that settings ask for."""
    if quantile == "resampled-literal":
        return LITERAL
    if quantile == "streaming":
        return STREAMING
    if quantile == "exact":
        return EXACT if weights == "rademacher" else EXACT_CURVE
    return RESAMPLED if weights == "rademacher" else RESAMPLED_CURVE
