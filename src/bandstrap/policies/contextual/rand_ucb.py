"""RandUCB: LinUCB with a width that is drawn, once for all arms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, borrowing, jitable
from bandstrap.errors import check_count
from bandstrap.policies.contextual.contextual_policy import ContextualOnline, ContextualPolicy
from bandstrap.policies.contextual.regressions import State, leader, learn, look_at_all
from bandstrap.policies.online.policy import Label

# Standard deviation of the distribution of the width, and the probability of the largest, as in the paper.
SPREAD, OF_LARGEST = 0.125, 1e-7


class Params(NamedTuple):
    """The largest width, between which and 0 there are so many."""

    width: float
    points: int


@jitable
def density_of(point: int, points: int) -> float:
    """Proportional to the probability of a width but for the largest: a half-normal distribution on a grid."""
    z = point / (points - 1) / SPREAD
    return math.exp(-0.5 * z * z)


@jitable
def write_scores(params: Params, state: State, point: int) -> None:
    """``f + width sqrt(v)`` with the width of that number."""
    width = params.width * point / (params.points - 1)
    for arm in range(len(state.leverages)):
        state.scores[arm] = state.fits[arm] + width * math.sqrt(state.leverages[arm])


@borrowing
def choose(params: Params, state: State, round_: int, rng: np.random.Generator) -> int:
    """The highest score with a width drawn by inversion."""
    look_at_all(state)
    last = params.points - 1
    total = 0.0
    for point in range(last):
        total += density_of(point, params.points)
    left = rng.random() / (1.0 - OF_LARGEST) * total
    point = 0
    while point < last:
        left -= density_of(point, params.points)
        if left < 0.0:
            break
        point += 1
    write_scores(params, state, point)
    return leader(state)


KERNEL = Kernel("rand_ucb", learn=learn, choose=choose)


class RandUCB(ContextualPolicy[Label]):
    r"""LinUCB with a random width for each decision, the same for all arms.

    .. math:: f_k + Z \sqrt{v_k}, \qquad Z \in \{0, \ldots, c\}

    with a half-normal distribution of standard deviation ``c/8`` on a grid, and probability ``1e-7`` for ``c`` itself.

    Assumes a linear mean; the ``width`` should match the scale of rewards, but matters less than in LinUCB. Prefer it if
    the theoretical width explores too much.

    Parameters
    ----------
    width
        :math:`c`, the largest width.
    points
        Number of widths.
    contexts, model, features, ridge, standardise
        See :class:`bandstrap.policies.contextual.ContextualPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Examples
    --------
    >>> from bandstrap import RandUCB
    >>> policy = RandUCB(arms=["red", "blue"], contexts=1, rng=0)
    >>> policy.update(["red", "blue"] * 50, [0.0, 1.0] * 50, context=[[0.0]] * 100)
    >>> policy.select(context=[0.0])
    'blue'

    References
    ----------
    .. [1] Vaswani, Mehrabian, Durand, Kveton. Old dog learns new tricks: randomized UCB for bandit problems. AISTATS 2020.
    """

    kernel = KERNEL
    is_random = True

    def __init__(self, *, width: float = 3.0, points: int = 20, **online: Unpack[ContextualOnline[Label]]) -> None:
        self.width = self.positive(width, "width")
        self.points = check_count(points, "points", type(self).__name__, at_least=2)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.width, self.points)

    def exact_weights(self, params: Any, state: Any, round_: int) -> list[float]:
        """Winner for each width, with its probability."""
        look_at_all(state)
        law: Floats = np.array([density_of(point, params.points) for point in range(params.points - 1)])
        chances = [*(law / law.sum() * (1.0 - OF_LARGEST)).tolist(), OF_LARGEST]
        weights = [0.0] * len(state.order)
        for point, chance in enumerate(chances):
            write_scores(params, state, point)
            weights[leader(state)] += chance
        return weights
