"""Bootstrapped upper confidence bounds with labelled arms: the spread of replicates of the regression."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel, borrowing
from bandstrap.errors import check_count
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.policies.contextual.contextual_policy import ContextualOnline, ContextualPolicy
from bandstrap.policies.contextual.regressions import State, find_noise, look_at_all, score, take_in
from bandstrap.policies.contextual.share_ucb import PART, information, level
from bandstrap.policies.kernels.draws import random_index
from bandstrap.policies.online.policy import Label


class Params(NamedTuple):
    """Number of replicates."""

    replicates: int


@borrowing
def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take in a reward, with a random sign in each replicate that stays what it is."""
    for b in range(params.replicates):
        state.weights[b] = 2.0 * random_index(2, rng) - 1.0
    take_in(state, arm, reward)


@borrowing
def prepare(params: Params, state: State, round_: int) -> None:
    """Write down ``f + z`` times the root mean square of replicates."""
    look_at_all(state)
    noise = math.sqrt(find_noise(state).pooled)
    total = information(state)
    n = params.replicates
    for arm in range(len(state.leverages)):
        squares = 0.0
        for b in range(n):
            value = state.dots[arm, 2 + b] + noise * state.dots[arm, 2 + n + b]
            squares += value * value
        z = normal_quantile(PART * level(state, arm, total))
        state.scores[arm] = state.fits[arm] + z * math.sqrt(squares / n)


KERNEL = Kernel("contextual_bootstrapped_ucb", learn=learn, prepare=prepare, score=score)


class ContextualBootstrappedUCB(ContextualPolicy[Label]):
    r"""Bootstrapped upper confidence bounds: the spread of bootstrapped regressions at the context.

    .. math:: f_k + z_k \sqrt{\frac1B \sum_b (x^\top\delta_{kb})^2}, \qquad
              V_k \delta_{kb} = \sum_i w_{ib} x_i \hat\epsilon_i + \bar s \sqrt P \eta_b

    A replicate has each innovation :math:`\hat\epsilon_i` with a random sign :math:`w_{ib}` that is drawn when the reward
    is learned and never changes. The penalty ``P`` has normal noise; otherwise an arm without rewards would have no spread
    and never be pulled. The level is that of :class:`bandstrap.ShareUCB`.

    Assumes nothing about noise, which may differ between contexts. Prefer it if noise does differ; otherwise the formula of
    ShareUCB is equally good, faster, and deterministic.

    Parameters
    ----------
    replicates
        :math:`B`. With 30 the spread has an error of about an eighth.
    contexts, model, features, ridge, standardise
        See :class:`bandstrap.policies.contextual.ContextualPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.LinearBootstrappedUCB : the paper's, for actions that are known by their features.

    Examples
    --------
    >>> from bandstrap import ContextualBootstrappedUCB
    >>> policy = ContextualBootstrappedUCB(arms=["red", "blue"], contexts=1, rng=0)
    >>> policy.update(["red", "blue"] * 50, [0.0, 1.0] * 50, context=[[0.0]] * 100)
    >>> policy.select(context=[0.0])
    'blue'

    References
    ----------
    .. [1] Wu. Jackknife, bootstrap and other resampling methods in regression analysis. Annals of Statistics 14, 1986.
    """

    kernel = KERNEL

    def __init__(self, *, replicates: int = 30, **online: Unpack[ContextualOnline[Label]]) -> None:
        self.replicates = self.n_replicates = check_count(replicates, "replicates", type(self).__name__, at_most=10_000)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.replicates)
