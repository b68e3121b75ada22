r"""A common change of all arms, swept out: least squares with an effect of each epoch.

Rewards are cut into epochs of equal numbers. In the model a reward of arm k in epoch e is :math:`a_k + \beta_e` and
noise. With the sums of what is within epochs,

.. math:: L = \sum_e \operatorname{diag}(n_e) - n_e n_e^\top/N_e, \qquad
    r = \sum_e \sum_{i \in e} (e_{A_i} - n_e/N_e)(y_i - \bar y_e), \qquad W = \sum_e \sum_{i \in e} (y_i - \bar y_e)^2,

the arms' effects solve :math:`L x = r`, and :math:`W - r^\top x` is left over. A reward of arm k adds :math:`g\, u
u^\top`, :math:`g\, u (y - \bar y_e)` and :math:`g\, (y - \bar y_e)^2`, with :math:`u = e_k - n_e/N_e` and :math:`g =
N_e/(N_e + 1)` as they were before it: Welford's update, in which a common level cancels and constant rewards leave
zeros.

Memory does not grow with the number of epochs. Of the comparison between epochs a share :math:`1 - f = 10^{-4}` is
left. With :math:`D = \operatorname{diag}(n)` and :math:`d_k = \bar y_k - \bar y`,

.. math:: A = (1 - f) D + f L, \qquad A x = (1 - f) D d + f r, \qquad
    \frac{1}{n'_k} = \frac{1}{N} + c_k^\top A^{-1} c_k = (A^{-1})_{kk} - \frac{f}{(1 - f) N}, \quad c_k = e_k - \frac{n}{N}

because :math:`A 1 = (1 - f) n`. An arm counts as one of :math:`n'_k \le n_k` rewards, whose mean is :math:`\bar y +
x_k`. So even arms that never share an epoch are compared. With :math:`f = 0`, or in a single epoch, nothing differs
from plain means.

Two tests say at the end of each epoch whether the common level changes: the F test of the effects of epochs beside
those of arms, which finds any large change; and the t test of a trend, the slope of rewards over time within arms,
which finds a steady change sooner.

A late reward belongs to the epoch in which it is learned. Least squares is right if the mean level of an epoch is the
same for all arms. With delays that do not depend on the arm it is, as far as shares of arms stay put while delays
differ; a constant delay, or a batch, moves all together. The epoch of the decision would be right with any delay. But
then every epoch with a reward to come would have to be kept, and ``update`` be told which one it is.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable
from bandstrap.policies.states.fields import Field, Scratch

# Facts of all arms, which every reward may change.
OfAll = Annotated[Floats, Field("fact", learned="all")]
# Pulls that are discounted, which take the places of those that are counted.
DiscountedPulls = Annotated[Any, Field("fact", learned="all")]
# When epochs are swept: never, if the test finds that rewards changed, always.
NEVER, TESTED, ALWAYS = range(3)
# The strength f.
SWEPT = 0.9999
# More epochs than these are tested. The common level is said to change if F exceeds 1 by so many of its standard
# deviations, or the slope 0 by so many standard errors.
FEW_EPOCHS = 3.0
DEVIATIONS = 2.0
STANDARD_ERRORS = 3.0
# A part of all squares that rounding may leave.
ROUNDING = 1e-12
# What ``totals`` holds: the first reward of all, from which others are counted; how many rewards the epoch has, and their
# mean; W; how many epochs there were; f; and how many rewards there were.
ORIGIN, RECENT, RECENT_MEAN, WITHIN, EPOCHS, STRENGTH, REWARDS = range(7)


class Epochs(NamedTuple):
    """State of epochs: the pulls of this one; L and r; the solution, and ``1/n'``; the mean time of an arm's pulls,
    squared deviations from it, and their products with those of rewards; and the numbers of ``totals``. And room for
    the arms' means, counted from the origin, and for a factor of A.
    """

    recent: OfAll
    overlap: OfAll
    covariances: OfAll
    effects: OfAll
    inverse_weights: OfAll
    times: OfAll
    time_squares: OfAll
    time_products: OfAll
    totals: OfAll
    relative: Scratch
    factor: Scratch


class EpochSettings(NamedTuple):
    """Settings of epochs: when they are swept, rewards of each, and factor of all sums at its end."""

    rule: int
    length: int
    discount: float


def no_epochs(n_arms: int) -> Epochs:
    """Before the first reward."""
    one, square = np.zeros(n_arms), np.zeros((n_arms, n_arms))
    new = one.copy
    return Epochs(one, square, new(), new(), new(), new(), new(), new(), np.zeros(REWARDS + 1), new(), square.copy())


@jitable
def note_reward(settings: EpochSettings, epochs: Epochs, arm: int, reward: float) -> None:
    """Take a reward into the sums of its epoch; where epochs are never swept, it is counted alone."""
    recent, overlap, covariances, totals = epochs.recent, epochs.overlap, epochs.covariances, epochs.totals
    if settings.rule == NEVER:
        totals[RECENT] += 1.0
        return
    if totals[REWARDS] == 0.0:
        totals[ORIGIN] = reward
    totals[REWARDS] += 1.0
    n = totals[RECENT]
    deviation = (reward - totals[ORIGIN]) - totals[RECENT_MEAN]
    if n > 0.0:
        growth = n / (n + 1.0)
        for i in range(len(recent)):
            if recent[i] > 0.0 or i == arm:
                step = growth * ((1.0 if i == arm else 0.0) - recent[i] / n)
                covariances[i] += step * deviation
                for j in range(len(recent)):
                    overlap[i][j] += step * ((1.0 if j == arm else 0.0) - recent[j] / n)
        totals[WITHIN] += growth * deviation * deviation
    recent[arm] += 1.0
    totals[RECENT] = n + 1.0
    totals[RECENT_MEAN] += deviation / (n + 1.0)


@jitable
def note_time(settings: EpochSettings, epochs: Epochs, arm: int, reward: float, weight: float, mean: float) -> None:
    """Take in when a reward came; the arm's weight and mean, counted from the origin, are those with it."""
    if settings.rule == TESTED:
        time = epochs.totals[REWARDS]
        deviation = time - epochs.times[arm]
        epochs.times[arm] += deviation / weight
        epochs.time_squares[arm] += deviation * (time - epochs.times[arm])
        epochs.time_products[arm] += deviation * ((reward - epochs.totals[ORIGIN]) - mean)


@jitable
def factorise(epochs: Epochs, weights: Floats, strength: float) -> None:
    """The inverse of the Cholesky factor of A, in ``factor``; of an arm without rewards, that of 1."""
    factor, overlap = epochs.factor, epochs.overlap
    for i in range(len(weights)):
        for j in range(i + 1):
            value = strength * overlap[i][j]
            if i == j:
                value = (1.0 - strength) * weights[i] + value if weights[i] > 0.0 else 1.0
            elif weights[i] <= 0.0 or weights[j] <= 0.0:
                value = 0.0
            for k in range(j):
                value -= factor[i][k] * factor[j][k]
            factor[i][j] = math.sqrt(value) if i == j else value / factor[j][j]
    for j in range(len(weights)):
        factor[j][j] = 1.0 / factor[j][j]
        for i in range(j + 1, len(weights)):
            value = 0.0
            for k in range(j, i):
                value += factor[i][k] * factor[k][j]
            factor[i][j] = -value / factor[i][i]


@jitable
def solve(epochs: Epochs, weights: Floats, strength: float) -> None:
    """``effects``, the swept means of arms with these weights, counted from the origin, and ``inverse_weights``, 1/n'."""
    effects, inverses, factor, means = epochs.effects, epochs.inverse_weights, epochs.factor, epochs.relative
    total = sum_ = 0.0
    for k in range(len(weights)):
        total += weights[k]
        sum_ += weights[k] * means[k]
    mean = sum_ / total
    factorise(epochs, weights, strength)
    size = len(weights)
    for k in range(size):
        inverses[k] = 0.0
        effects[k] = 0.0
    for i in range(size):  # x = F' (F b), row by row of F
        value = 0.0
        for j in range(i + 1):
            side = (1.0 - strength) * weights[j] * (means[j] - mean) + strength * epochs.covariances[j]
            value += factor[i][j] * side
        for j in range(i + 1):
            effects[j] += factor[i][j] * value
            inverses[j] += factor[i][j] * factor[i][j]
    shared = strength / ((1.0 - strength) * total)
    for k in range(size):
        if weights[k] > 0.0:
            effects[k] += mean
            inverses[k] = max(inverses[k] - shared, 1.0 / weights[k])


@jitable
def changed(epochs: Epochs, weights: Floats, squares: float) -> bool:
    """Return whether the common level changed: the F test of the effects of epochs, beside those of arms, or the test
    of a trend.

    ``squares`` is the sum of squared deviations of rewards from the means of their arms, and ``effects`` are those of
    :data:`SWEPT`, so that too little is said to be explained, if anything.
    """
    totals, effects = epochs.totals, epochs.effects
    total = origin = 0.0
    n_arms = 0
    for k in range(len(weights)):
        total += weights[k]
        origin += weights[k] * effects[k]
        n_arms += weights[k] > 0.0
    origin /= total
    left = totals[WITHIN]
    for i in range(len(weights)):
        row = 0.0
        for j in range(len(weights)):
            row += epochs.overlap[i][j] * (effects[j] - origin)
        left += (effects[i] - origin) * (row - 2.0 * epochs.covariances[i])
    freedom = total - n_arms - totals[EPOCHS] + 1.0
    more = totals[EPOCHS] - 1.0
    if totals[EPOCHS] <= FEW_EPOCHS or freedom <= 0.0:
        return False
    rounding = ROUNDING * (squares + totals[WITHIN])
    limit = 1.0 + DEVIATIONS * math.sqrt(2.0 / more)
    if squares - left > max(limit * more * max(left, 0.0) / freedom, rounding):
        return True
    spread = slope = 0.0
    for k in range(len(weights)):
        spread += epochs.time_squares[k]
        slope += epochs.time_products[k]
    explained = slope * slope / spread if spread > 0.0 else 0.0
    rest = max(squares - explained, 0.0) / (total - n_arms - 1.0)
    return explained > max(STANDARD_ERRORS * STANDARD_ERRORS * rest, rounding)


@jitable
def close_epoch(settings: EpochSettings, epochs: Epochs, weights: Floats, squares: float) -> None:
    """End an epoch: decide whether epochs are swept from now on, and discount all sums but those of the arms."""
    totals = epochs.totals
    totals[EPOCHS] += 1.0
    if settings.rule == ALWAYS:
        totals[STRENGTH] = SWEPT
    elif settings.rule == TESTED:
        solve(epochs, weights, SWEPT)
        totals[STRENGTH] = SWEPT if changed(epochs, weights, squares) else 0.0
    totals[RECENT] = 0.0
    totals[RECENT_MEAN] = 0.0
    totals[WITHIN] *= settings.discount
    totals[EPOCHS] *= settings.discount
    for i in range(len(weights)):
        epochs.recent[i] = 0.0
        epochs.covariances[i] *= settings.discount
        epochs.time_squares[i] *= settings.discount
        epochs.time_products[i] *= settings.discount
        for j in range(len(weights)):
            epochs.overlap[i][j] *= settings.discount


@jitable
def rounds_of(settings: EpochSettings, weights: Floats, round_: int) -> Any:
    """The number of the round, as a policy is given it: 1 more than the rewards that still count."""
    rounds = float(round_)
    if settings.discount < 1.0:
        rounds = 1.0
        for k in range(len(weights)):
            rounds += weights[k]
    return rounds
