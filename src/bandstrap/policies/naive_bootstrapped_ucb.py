"""Bootstrapped UCB without its correction, as in theorem 4 of the paper."""

from __future__ import annotations

import inspect
from typing import Unpack

from bandstrap.basics.constructors import refuse_misfit
from bandstrap.multipliers.weights import Weights
from bandstrap.policies.bootstrapped_ucb import BootstrappedUCB
from bandstrap.policies.kernels.bootstrap_index import IndexQuantile
from bandstrap.policies.kernels.schedule import Alpha
from bandstrap.policies.online.policy import Label, Online


class NaiveBootstrappedUCB(BootstrappedUCB[Label]):
    r"""Bootstrapped UCB without correction: the bound that theorem 4 shows to have linear regret.

    .. math:: \bar y + q_{\alpha_t(1-\delta)}(y - \bar y)

    An arm whose first rewards are equal has ``q = 0`` and may never be pulled again.

    Assumes nothing, and may give up the best arm for good. Prefer any other policy; this one illustrates theorem 4.

    Parameters
    ----------
    quantile, n_resamples, weights, delta, alpha, tau, horizon
        As in :class:`bandstrap.BootstrappedUCB`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Examples
    --------
    >>> from bandstrap import NaiveBootstrappedUCB
    >>> policy = NaiveBootstrappedUCB(arms=2, rng=0)
    >>> policy.update([0, 1], [0.0, 1.0])
    >>> {policy.select() for _ in range(50)}  # arm 0 had one bad reward
    {1}

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, supplement A.
    """

    def __init__(
        self,
        *,
        quantile: IndexQuantile = "resampled",
        n_resamples: int = 200,
        weights: Weights = "rademacher",
        delta: float = 0.1,
        alpha: Alpha = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        **online: Unpack[Online[Label]],
    ) -> None:
        # What belongs to the correction would do nothing here.
        refuse_misfit(type(self).__name__, inspect.signature(type(self)), (), online)
        super().__init__(
            quantile=quantile,
            n_resamples=n_resamples,
            weights=weights,
            correction="none",
            delta=delta,
            alpha=alpha,
            tau=tau,
            horizon=horizon,
            **online,
        )
