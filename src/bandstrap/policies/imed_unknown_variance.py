"""IMED for normal rewards of unknown variance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.kernels.divergence import evidence_below, highest_of_moments
from bandstrap.policies.online.epoch_policy import EpochPolicy, KernelOfEpochs
from bandstrap.policies.online.policy import Label
from bandstrap.policies.states.moments import State, learn


def prepare(params: int, state: State, round_: int) -> float:
    """The highest mean."""
    return highest_of_moments(state)


def score(params: int, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``-((n-2)/2 log(1 + (best - ybar)^2/s^2) + log n)``: the smallest index is pulled."""
    return -(evidence_below(state, arm, shared) + math.log(state.pulls[arm]))


KERNEL = Kernel("imed_unknown_variance", learn=learn, score=score, prepare=prepare)


class IMEDUnknownVariance(EpochPolicy[Label]):
    r"""Indexed minimum empirical divergence for normal rewards whose variances are not known.

    .. math:: \text{pull the arm with the smallest } \frac{n_k - 2}{2} \log\Bigl(1 +
        \frac{(\max_j \bar y_j - \bar y_k)^2}{s_k^2}\Bigr) + \log n_k

    with ``s^2`` the variance of the arm's rewards (divided by ``n``). Each arm is pulled three times first.

    Assumes normal rewards; their variances may differ. Prefer it if rewards are certainly normal and no scale is known.
    :class:`bandstrap.CHKUCB` explores more over usual horizons.

    Parameters
    ----------
    epochs, epoch_length, discount
        See :class:`bandstrap.policies.online.epoch_policy.EpochPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    ``1/2 log(1 + gap^2/s^2)`` is the least divergence of the arm's normal distribution from one with the leader's mean
    [2]_, and IMED [1]_ multiplies it by ``n``. Here the factor is ``n - 2``, as in :class:`bandstrap.CHKUCB` [3]_: the
    evidence against the best arm is ``x`` with probability about ``exp(-(n-1) x)``, and the arm is then not pulled for
    about ``exp((n-2) x)`` rounds. The mean of this number is finite. With ``n`` the mean is infinite, and regret grows as a
    power of the horizon. There is no confidence level. An arm whose rewards are all equal is never pulled again, unless it
    leads.

    See Also
    --------
    bandstrap.IMED : where the noise scale, or a range, is known.
    bandstrap.MEDUnknownVariance : draws arms by the same evidence.

    Examples
    --------
    >>> from bandstrap import IMEDUnknownVariance
    >>> policy = IMEDUnknownVariance(arms=2, rng=0)
    >>> policy.update([0, 1] * 10, [0.1, 0.8, 0.3, 0.9] * 5)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Honda, Takemura. Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards. Journal of Machine
       Learning Research 16, 2015.
    .. [2] Honda, Takemura. Optimality of Thompson sampling for Gaussian bandits depends on priors. AISTATS 2014.
    .. [3] Cowan, Honda, Katehakis. Normal bandits of unknown means and variances. Journal of Machine Learning Research 18,
       2018.
    """

    kernel = KernelOfEpochs(KERNEL)
    name = "imed_unknown_variance"
    n_initial = 3

    def make_params(self, horizon: int | None) -> Any:
        """There are no parameters."""
        return self.with_epochs(0)
