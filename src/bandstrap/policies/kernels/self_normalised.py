"""The self-normalised index for symmetric rewards: what ``SignFlipUCB(proved=True)`` plays.

Rewards are summed as deviations ``d`` from the arm's first one, and their squares in a unit of the arm's own. Let ``n`` be
the number of rewards, ``Q = sum d^2``, and ``u = 2^-53`` the unit of rounding. A sum of ``n`` numbers is off by at most
``n u`` times the sum of their sizes, and ``sum |d| <= sqrt(n Q)``. So the mean is off by less than ``(n + 4) u sqrt(Q/n)``,
and the variance ``Q/n - (sum d/n)^2`` by less than ``(3n + 12) u Q/n``, up to ``2^40`` rewards. The index adds more than
that, and is never below its formula.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.states.central_sums import LEAST_UNIT, MOST_UNITS, enlarge_unit
from bandstrap.policies.states.fields import Counts, Numbers, Order

ROUNDING = 2.0**-53
# What covers the few roundings of a product, a quotient, a root or a logarithm.
UP = 1.0 + 16.0 * ROUNDING


class FlipLevel(NamedTuple):
    """``2 log(1/alpha)`` of a fixed level; 0 for levels that fall."""

    twice_log: float


class DeviationSums(NamedTuple):
    """First reward of each arm, the sum of deviations from it, the arm's unit, and in that the sum of their squares."""

    order: Order
    pulls: Counts
    firsts: Numbers
    totals: Numbers
    units: Numbers
    squares: Numbers  # one row, as enlarge_unit has them


def no_deviations(n_arms: int, order: NDArray[np.int64]) -> DeviationSums:
    """The state before the first reward."""
    pulls, units = np.zeros(n_arms, dtype=np.int64), np.full(n_arms, LEAST_UNIT)
    return DeviationSums(order, pulls, np.zeros(n_arms), np.zeros(n_arms), units, np.zeros((1, n_arms)))


def prepare(params: FlipLevel, state: DeviationSums, round_: int) -> float:
    """``2 log(1/alpha_t)``, with ``alpha_t = (t (1 + log t))^-2`` unless the level is fixed."""
    log = math.log(round_)
    return UP * (params.twice_log if params.twice_log > 0.0 else 4.0 * (log + math.log1p(log)))


def score(params: FlipLevel, state: DeviationSums, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``ybar + sqrt(S/n) sqrt(2L/(n - 2L))``; infinite while ``n <= 2L``."""
    n = float(state.pulls[arm])
    index = math.inf
    if n > shared:
        unit = state.units[arm]
        step = state.totals[arm] / unit / n
        square = state.squares[0][arm] / n
        variance = max(square - step * step, 0.0) + (4.0 * n + 16.0) * ROUNDING * square
        width = UP * math.sqrt(variance * (shared / (n - shared))) + (2.0 * n + 8.0) * ROUNDING * math.sqrt(square)
        index = state.firsts[arm] + unit * (step + width)
        index += 4.0 * ROUNDING * abs(index)
    return index


def learn(
    params: FlipLevel, state: DeviationSums, arm: int, reward: float, round_: int, rng: np.random.Generator
) -> None:
    """Take the reward into the sums."""
    state.pulls[arm] += 1
    if state.pulls[arm] == 1:
        state.firsts[arm] = reward
    deviation = reward - state.firsts[arm]
    if abs(deviation) > MOST_UNITS * state.units[arm]:
        enlarge_unit(state.units, state.squares, arm, deviation)
    state.totals[arm] += deviation
    part = deviation / state.units[arm]
    state.squares[0][arm] += part * part


KERNEL = Kernel("sign_flip_ucb_proved", learn=learn, score=score, prepare=prepare)
