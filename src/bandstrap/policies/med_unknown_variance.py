"""MED for normal rewards of unknown variance: arms drawn with probabilities in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.kernels.divergence import evidence_below, highest_of_moments
from bandstrap.policies.kernels.draws import gumbel, shares
from bandstrap.policies.kernels.epoch_moments import as_shown
from bandstrap.policies.online.epoch_policy import EpochPolicy, KernelOfEpochs
from bandstrap.policies.online.policy import Label
from bandstrap.policies.states.moments import State, learn


def prepare(params: int, state: State, round_: int) -> float:
    """The highest mean."""
    return highest_of_moments(state)


def score(params: int, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """The logarithm of the weight plus a Gumbel number: the highest such sum is a draw by the weights."""
    return gumbel(rng) - evidence_below(state, arm, shared)


KERNEL = Kernel("med_unknown_variance", learn=learn, score=score, prepare=prepare)


class MEDUnknownVariance(EpochPolicy[Label]):
    r"""Minimum empirical divergence for normal rewards of unknown variances; probabilities have a closed form.

    .. math:: P(\text{arm } k) \propto \Bigl(1 + \frac{(\max_j \bar y_j - \bar y_k)^2}{s_k^2}\Bigr)^{-(n_k - 2)/2}

    with ``s^2`` the variance of the arm's rewards (divided by ``n``). Each arm is pulled three times first.

    Assumes normal rewards; their variances may differ. Prefer it to :class:`bandstrap.MaillardSampling` if the probability
    of each decision must be known but no noise scale is known.

    Parameters
    ----------
    epochs, epoch_length, discount
        See :class:`bandstrap.policies.online.epoch_policy.EpochPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    MED [1]_ draws an arm with a probability proportional to ``exp(-n D)``, where ``D`` is the least divergence of the arm's
    distribution from one with the leader's mean: ``1/2 log(1 + gap^2/s^2)`` for normal rewards [2]_. Here ``n - 2``
    replaces ``n``, which makes the mean of the best arm's inverse weight finite (see
    :class:`bandstrap.IMEDUnknownVariance`). Thompson sampling with the default prior of
    :class:`bandstrap.GaussianTSUnknownVariance` has the same degrees of freedom. :meth:`weights` is exact. An arm whose
    rewards are all equal is never drawn again, unless it leads.

    See Also
    --------
    bandstrap.GaussianTSUnknownVariance : no closed form for the probabilities. bandstrap.IMEDUnknownVariance : not random,
    for the same rewards.

    Examples
    --------
    >>> from bandstrap import MEDUnknownVariance
    >>> policy = MEDUnknownVariance(arms=["a", "b"], rng=0)
    >>> policy.update(["a", "b"] * 4, [0.0, 1.0, 2.0, 3.0] * 2)
    >>> policy.weights()
    {'a': 0.3333, 'b': 0.6667}

    References
    ----------
    .. [1] Honda, Takemura. An asymptotically optimal bandit algorithm for bounded support models. COLT 2010.
    .. [2] Honda, Takemura. Optimality of Thompson sampling for Gaussian bandits depends on priors. AISTATS 2014.
    """

    kernel = KernelOfEpochs(KERNEL)
    name = "med_unknown_variance"
    n_initial = 3

    def make_params(self, horizon: int | None) -> Any:
        """There are no parameters."""
        return self.with_epochs(0)

    def exact_weights(self, params: Any, state: Any, round_: int) -> list[float]:
        """The weights over their sum."""
        state = as_shown(state) if self.has_epochs else state
        best = highest_of_moments(state)
        return shares([-evidence_below(state, arm, best) for arm in range(len(state.pulls))])
