"""Bootstrapped UCB without its correction, as in theorem 4 of the paper."""

from __future__ import annotations

import inspect
from typing import Any

from bandstrap.constructors import refuse_misfit
from bandstrap.policies.bootstrapped_ucb import BootstrappedUCB


class NaiveBootstrappedUCB(BootstrappedUCB):
    r"""Bootstrapped UCB without correction: the bound that theorem 4 shows to have linear regret.

    .. math:: \bar y + q_{\alpha_t(1-\delta)}(y - \bar y)

    An arm whose first rewards are equal has ``q = 0`` and may never be pulled again.

    Parameters
    ----------
    quantile, n_resamples, weights, delta, alpha, tau, horizon, arms, rng, direction
        As in :class:`bandstrap.BootstrappedUCB`.

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
        quantile: str = "resampled",
        n_resamples: int = 200,
        weights: str = "rademacher",
        delta: float = 0.1,
        alpha: Any = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        **online: Any,
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
