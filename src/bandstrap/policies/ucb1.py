"""UCB1: the concentration bound as an index (the paper's Vanilla-UCB)."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.bounds.hoeffding import hoeffding_width, root_log
from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.kernels.schedule import Alpha, Schedule, error_probability
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, learn, no_rewards


class Params(NamedTuple):
    """Noise scale and schedule of the error probability."""

    sigma: float
    schedule: Schedule


def prepare(params: Params, state: State, round_: int) -> float:
    """``sqrt(2 log(1/alpha_t))``."""
    return root_log(error_probability(params.schedule, round_))


def score(params: Params, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """``ybar + sigma sqrt(2 log(1/alpha_t)/n)``."""
    n = state.pulls[arm]
    return state.sums[arm] / n + hoeffding_width(n, params.sigma, shared)


KERNEL = Kernel("ucb1", learn=learn, score=score, prepare=prepare)


class UCB1(Policy[Label]):
    r"""Upper confidence bound from Hoeffding's inequality.

    .. math:: \bar y + \hat\sigma \sqrt{2 \log(1/\alpha_t) / n}

    Assumes sub-Gaussian noise of a known scale. Prefer it as a benchmark, or if a guarantee must be explained in one line.

    Parameters
    ----------
    sigma
        Assumed noise scale: an upper bound on the standard deviation of normal rewards. The default suits rewards
        measured in units of their noise.
    alpha
        Error probability of the bound in round ``t``: ``"1/(t+1)"`` (default, the paper's), ``"1/T^2"``,
        ``"1/(t log^tau t)"``, a number, or (online only) a callable of ``t``.
    tau
        Exponent of the third schedule.
    horizon
        ``T`` of the second schedule; the simulator fills it in.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.BootstrappedUCB : estimates the width from the data; prefer it if ``sigma`` is a guess.

    Examples
    --------
    >>> from bandstrap import UCB1
    >>> policy = UCB1(arms=["a", "b"], sigma=1.0, rng=7)
    >>> for _ in range(2):
    ...     arm = policy.select()
    ...     policy.update(arm, 1.0 if arm == "b" else 0.0)
    >>> policy.select()
    'b'

    References
    ----------
    .. [1] Auer, Cesa-Bianchi, Fischer. Finite-time analysis of the multiarmed bandit problem. Machine Learning 47, 2002.
    """

    kernel = KERNEL
    indices_are_bounds = True

    def __init__(
        self,
        *,
        sigma: float = 1.0,
        alpha: Alpha = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        **online: Unpack[Online[Label]],
    ) -> None:
        self.sigma = self.positive(sigma, "sigma")
        self.set_schedule(alpha, tau, horizon)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.sigma, self.schedule_for(horizon))

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)
