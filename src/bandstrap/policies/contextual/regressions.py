r"""Memory of contextual policies: a ridge regression of rewards on contexts for each arm, and how noisy rewards are.

Contexts come as they are, without the leading 1 of the intercept. They are standardised here, by mean and standard
deviation of the first contexts whose rewards were learned: worked out anew after 2, 4, 8, ... of them, when these are taken
in again, and kept after ``N_SCALED``. A feature that is missing, NaN, is 0 after that: its mean.

The ridge is on ``r - m`` for whatever ``m`` is: beside the rewards a target of ones is kept, and

.. math:: f_k(x) = m + x^\top (b_k - m c_k), \qquad b_k = V_k^{-1} \sum x r, \quad c_k = V_k^{-1} \sum x

Rewards are kept as differences from the first one, so that an offset costs no digits.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import borrowing, inlined, jitable
from bandstrap.policies.contextual.triangles import rotate, solve
from bandstrap.policies.states.fields import Array, Counts, Field, Numbers, Order

# Contexts by which features are scaled.
N_SCALED = 128
# Places in ``totals``: rewards taken in, the first of them, the sum of differences from it, whether m is their mean.
NUMBER, ORIGIN, SUM, SHRINKS = 0, 1, 2, 3

Fixed = Annotated[Floats, Field("fact", "array", learned="never")]
FirstArms = Annotated[NDArray[np.int64], Field("fact", "array")]
Workspace = Annotated[Floats, Field("scratch", "array")]


class State(NamedTuple):
    """Regressions of all arms; ``context`` is the one that is decided in, or whose reward is learned.

    ``own`` and ``common`` are the triangles of ``triangles.py``; targets are rewards, ones, then for each replicate of a
    bootstrap its rewards and the noise of its penalty. ``squares`` are those of the innovations of each arm.
    """

    order: Order
    pulls: Counts
    own: Array
    own_targets: Array
    common: Array
    common_targets: Array
    squares: Numbers
    totals: Array
    centre: Array
    scale: Array
    is_scaled: Fixed
    roots: Fixed
    codes: Fixed
    noise: Fixed
    common_noise: Fixed
    first: Array
    first_arms: FirstArms
    first_rewards: Array
    first_weights: Array
    context: Workspace
    x: Workspace
    row: Workspace
    values: Workspace
    weights: Workspace
    solved: Workspace
    leverages: Workspace
    dots: Workspace
    fits: Workspace
    scores: Workspace


class Noise(NamedTuple):
    """The variance of rewards over all arms, and for how many rewards of an arm's own it counts."""

    pooled: float
    prior: float


def start_regressions(
    order: NDArray[np.int64],
    is_scaled: Floats,
    roots: Floats,
    own_size: int,
    codes: Floats,
    n_replicates: int,
    shrinks: bool,
    rng: np.random.Generator,
) -> State:
    """Before the first reward; ``roots`` are the square roots of the penalties, of which the first is the intercept's."""
    n_arms, d = len(order), roots.size
    c = codes.shape[1] * d
    noise, common_noise = rng.standard_normal((n_arms, own_size, n_replicates)), rng.standard_normal((c, n_replicates))
    n_targets = 2 + 2 * n_replicates
    n_first = N_SCALED if is_scaled.any() else 0
    state = State(
        order,
        np.zeros(n_arms, dtype=np.int64),
        np.zeros((n_arms, own_size, own_size + c)),
        np.zeros((n_arms, own_size, n_targets)),
        np.zeros((c, c)),
        np.zeros((c, n_targets)),
        np.zeros(n_arms),
        np.array([0.0, 0.0, 0.0, float(shrinks)]),
        np.zeros(d),
        np.ones(d),
        is_scaled,
        roots,
        codes,
        noise,
        common_noise,
        np.zeros((n_first, d)),
        np.zeros(n_first, dtype=np.int64),
        np.zeros(n_first),
        np.zeros((n_first, n_replicates)),
        np.zeros(d - 1),
        np.zeros(d),
        np.zeros(own_size + c),
        np.zeros(n_targets),
        np.zeros(n_replicates),
        np.zeros((n_arms, own_size + c)),
        np.zeros(n_arms),
        np.zeros((n_arms, n_targets)),
        np.zeros(n_arms),
        np.zeros(n_arms),
    )
    begin(state)
    return state


@jitable
def begin(state: State) -> None:
    """Have the penalties alone in the regressions."""
    own, own_targets, common, common_targets = state.own, state.own_targets, state.common, state.common_targets
    d, size, n_replicates = state.roots.size, own.shape[1], state.noise.shape[2]
    own[:] = 0.0
    own_targets[:] = 0.0
    common[:] = 0.0
    common_targets[:] = 0.0
    for arm in range(own.shape[0]):
        for j in range(size):
            own[arm, j, j] = state.roots[j]
            for b in range(n_replicates):
                own_targets[arm, j, 2 + n_replicates + b] = state.noise[arm, j, b]
    for i in range(common.shape[0]):
        common[i, i] = state.roots[i % d]
        for b in range(n_replicates):
            common_targets[i, 2 + n_replicates + b] = state.common_noise[i, b]
    for arm in range(len(state.squares)):
        state.squares[arm] = 0.0
    state.totals[NUMBER] = 0.0
    state.totals[SUM] = 0.0


# --- contexts -----------------------------------------------------------------------------------------------------------


@jitable
def standardise(context: Floats, centre: Floats, scale: Floats, x: Floats) -> None:
    """Write 1 and the features, in standard deviations from their means, into ``x``."""
    x[0] = 1.0
    for j in range(1, len(x)):
        value = (context[j - 1] - centre[j]) / scale[j]
        x[j] = 0.0 if math.isnan(value) else value


@jitable
def find_scales(state: State, n: int) -> None:
    """Mean and standard deviation of each feature in the first ``n`` contexts; of a constant one the deviation is 1."""
    for j in range(1, len(state.centre)):
        if state.is_scaled[j] > 0.0:
            total = 0.0
            known = 0
            for i in range(n):
                if not math.isnan(state.first[i, j]):
                    total += state.first[i, j]
                    known += 1
            mean = total / max(known, 1)
            squares = 0.0
            for i in range(n):
                if not math.isnan(state.first[i, j]):
                    squares += (state.first[i, j] - mean) * (state.first[i, j] - mean)
            deviation = math.sqrt(squares / max(known, 1))
            state.centre[j] = mean
            # What rounding leaves of a constant is not a deviation.
            state.scale[j] = deviation if deviation > 1e-12 * abs(mean) else 1.0


# --- learning -----------------------------------------------------------------------------------------------------------


@inlined
def mean_reward(state: State) -> float:
    """``m``, from the first reward: the mean of all so far, or 0 where rewards are not shrunk to it."""
    totals = state.totals
    return totals[SUM] / totals[NUMBER] if totals[SHRINKS] > 0.0 and totals[NUMBER] > 0.0 else 0.0


@jitable
def look(state: State, first: int, last: int) -> None:
    """Predict rewards of some arms in the context ``x``, and their leverages."""
    solve(
        state.x,
        state.codes,
        state.own,
        state.own_targets,
        state.common,
        state.common_targets,
        state.solved,
        state.leverages,
        state.dots,
        first,
        last,
    )
    m = mean_reward(state)
    for arm in range(first, last):
        state.fits[arm] = m + (state.dots[arm, 0] - m * state.dots[arm, 1])


@jitable
def absorb(state: State, arm: int, reward: float) -> None:
    """Take in a reward, given from the first one, in the context ``x``, with the ``weights`` of replicates."""
    look(state, arm, arm + 1)
    x, row, values = state.x, state.row, state.values
    d, size, n_replicates = len(x), state.own.shape[1], len(state.weights)
    innovation = (reward - state.fits[arm]) / math.sqrt(1.0 + state.leverages[arm])
    if state.totals[NUMBER] > 0.0 or state.totals[SHRINKS] == 0.0:  # the first reward is its own prediction
        state.squares[arm] += innovation * innovation
    for j in range(size):
        row[j] = x[j]
    for p in range(state.codes.shape[1]):
        for j in range(d):
            row[size + p * d + j] = state.codes[arm, p] * x[j]
    values[0] = reward
    values[1] = 1.0
    for b in range(n_replicates):
        values[2 + b] = state.weights[b] * innovation
        values[2 + n_replicates + b] = 0.0
    rotate(state.own[arm], state.own_targets[arm], row, values, 0)
    rotate(state.common, state.common_targets, row, values, size)
    state.totals[NUMBER] += 1.0
    state.totals[SUM] += reward


@jitable
def take_in(state: State, arm: int, reward: float) -> None:
    """Take in the reward of an arm in the context of the state, with the ``weights`` of replicates."""
    n = int(state.totals[NUMBER])
    if n == 0 and state.totals[SHRINKS] > 0.0:
        state.totals[ORIGIN] = reward
    reward -= state.totals[ORIGIN]
    state.pulls[arm] += 1
    n_first = state.first.shape[0]
    if n < n_first:
        for j in range(1, len(state.x)):
            state.first[n, j] = state.context[j - 1]
        state.first_arms[n] = arm
        state.first_rewards[n] = reward
        for b in range(len(state.weights)):
            state.first_weights[n, b] = state.weights[b]
    n += 1
    if 2 <= n <= n_first and n & (n - 1) == 0:
        find_scales(state, n)
        begin(state)
        for i in range(n):
            standardise(state.first[i, 1:], state.centre, state.scale, state.x)
            for b in range(len(state.weights)):
                state.weights[b] = state.first_weights[i, b]
            absorb(state, state.first_arms[i], state.first_rewards[i])
    else:
        standardise(state.context, state.centre, state.scale, state.x)
        absorb(state, arm, reward)


@borrowing
def learn(params: object, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take in a reward with the context of its decision."""
    take_in(state, arm, reward)


# --- deciding -----------------------------------------------------------------------------------------------------------


@jitable
def look_at_all(state: State) -> None:
    """Predict rewards of all arms in the context of the state, and their leverages."""
    standardise(state.context, state.centre, state.scale, state.x)
    look(state, 0, len(state.leverages))


@jitable
def find_noise(state: State) -> Noise:
    r"""The variance :math:`\bar s^2` of innovations, and the rewards :math:`d_0` that it counts for in an arm's own.

    .. math:: \bar s^2 = \frac{\sum w_k S_k/N_k}{\sum w_k}, \quad w_k = \min(N_k, 20), \qquad
              h = \frac{\sum w_k [(S_k/N_k/\bar s^2 - 1)^2 - 2/N_k] + 5}{\sum w_k + 10}, \qquad d_0 = 2/h - 1

    between 2 and 50: ``h`` estimates by how much arms differ in their variances. At least 2, or an arm without rewards
    would have no variance and be shut out. While all rewards are the same, predictions are too, and any variance will do.
    """
    weights = 0.0
    total = 0.0
    for arm in range(len(state.pulls)):
        n = state.pulls[arm]
        if n > 0:
            weight = min(n, 20)
            weights += weight
            total += weight * (state.squares[arm] / n)
    if not total > 0.0:
        return Noise(1.0, 50.0)
    pooled = total / weights
    spread = 5.0
    for arm in range(len(state.pulls)):
        n = state.pulls[arm]
        if n > 0:
            ratio = state.squares[arm] / n / pooled - 1.0
            spread += min(n, 20) * (ratio * ratio - 2.0 / n)
    spread /= weights + 10.0
    prior = 50.0 if spread <= 0.0 else min(max(2.0 / spread - 1.0, 2.0), 50.0)
    return Noise(pooled, prior)


@jitable
def first_of_equals(state: State) -> bool:
    """Return whether all predictions are the same because all rewards were: then who is least known comes first."""
    largest = 0.0
    for arm in range(len(state.squares)):
        largest = max(largest, state.squares[arm])
    return largest == 0.0


@borrowing
def score(params: object, state: State, arm: int, shared: object, rng: np.random.Generator) -> float:
    """The score that ``prepare`` wrote down."""
    return float(state.scores[arm])


@jitable
def leader(state: State) -> int:
    """The arm with the highest score; the first in the order drawn at the start wins a tie."""
    best = state.order[0]
    for arm in state.order:
        if state.scores[arm] > state.scores[best]:
            best = arm
    return best
