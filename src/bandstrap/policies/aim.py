"""AIM: the arm whose next reward tells most about the highest mean, approximately."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, leader, learn, no_rewards

# log(2 pi e), of the entropy of a normal distribution.
LOG_2_PI_E = math.log(2.0 * math.pi) + 1.0
ROOT_2_PI = math.sqrt(2.0 * math.pi)


@jitable
def distance_to_crossing(n: float, best: float, gap: float) -> float:
    """Distance above an arm's mean, in units of noise, its posterior overtakes that of the leader: equation (43).

    The arm has ``n`` pulls and the leader ``best``, more; ``gap`` is by what the leader's mean is above.
    """
    more = best - n
    return gap + n * gap / more + math.sqrt(best * n * gap * gap / (more * more) + math.log(best / n) / more)


def choose(params: float, state: State, round_: int, rng: np.random.Generator) -> int:
    """The arm with the largest increment, equation (42), if one is above 0, else the leader."""
    first = leader(state)
    best = float(state.pulls[first])
    highest = state.sums[first] / best
    n_arms = len(state.pulls)
    log = math.log(best) - LOG_2_PI_E
    overlap = 0.0
    others = 0.0
    largest = -math.inf
    rival = first
    for i in range(n_arms):
        arm = state.order[i]
        if arm == first:
            continue
        n = float(state.pulls[arm])
        if n >= best:
            return first
        distance = distance_to_crossing(n, best, (highest - state.sums[arm] / n) / params)
        square = distance * distance
        tail = math.exp(-0.5 * n * square) * distance / ROOT_2_PI
        overlap += 0.5 * math.erfc(math.sqrt(0.5 * n) * distance)
        others += tail * n * math.sqrt(n) / (best * best) * (0.25 * log - 0.75 + 0.25 * n * square)
        own = tail / math.sqrt(n) * (0.25 * log / n + 0.5 + 0.25 * square)
        if own > largest:
            largest = own
            rival = arm
    shared = 0.5 * math.log(best / (best + 1.0)) + 0.5 / best * min(overlap, 1.0 - 1.0 / n_arms)
    return rival if shared + others + largest > 0.0 else first


KERNEL = Kernel("aim", learn=learn, choose=choose)


class AIM(Policy[Label]):
    r"""Approximate information maximisation: pulls the arm that is most informative about the highest mean.

    .. math:: \Delta_k = \tfrac12 \log\frac{N}{N + 1}
        + \frac{1}{2N} \min\Bigl(\sum_m \tfrac12 \operatorname{erfc}\Bigl(\sqrt{\tfrac{n_m}{2}} d_m\Bigr),
        1 - \tfrac1K\Bigr)
        + \sum_m \frac{n_m^{3/2} d_m}{\sqrt{2 \pi} N^2} e^{-n_m d_m^2/2}
        \Bigl(\tfrac14 \log\frac{N}{2 \pi e} - \tfrac34 + \tfrac{n_m d_m^2}{4}\Bigr)
        + \frac{d_k}{\sqrt{2 \pi n_k}} e^{-n_k d_k^2/2}
        \Bigl(\tfrac{1}{4 n_k} \log\frac{N}{2 \pi e} + \tfrac12 + \tfrac{d_k^2}{4}\Bigr)

    with the pulls :math:`N` of the leader, sums over the other arms, and the distance

    .. math:: d_m = \delta + \frac{n_m \delta}{N - n_m} + \sqrt{\frac{N n_m \delta^2}{(N - n_m)^2}
        + \frac{\log(N/n_m)}{N - n_m}}

    of an arm with :math:`n_m` pulls whose mean is :math:`\delta \hat\sigma` below the leader's. The arm with the largest
    :math:`\Delta_k` is pulled if :math:`\Delta_k > 0` and every other arm has fewer pulls than the leader. Otherwise the
    leader is pulled.

    Assumes normal noise of a known scale. Prefer it if the scale can be trusted and choices must not be random.

    Parameters
    ----------
    sigma
        Assumed noise scale. Rewards are divided by it: the paper's entropies are of densities, and would otherwise depend
        on the unit of rewards. With ``sigma = 1`` these are the paper's formulas.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    The increment approximates the additional fall in the entropy of the highest mean if arm ``k`` is pulled instead of the
    leader.

    See Also
    --------
    bandstrap.IMED : a divergence in place of an entropy, for the same rewards.

    Examples
    --------
    >>> from bandstrap import AIM
    >>> policy = AIM(arms=2, sigma=0.1, rng=0)
    >>> policy.update([0, 1, 1], [0.0, 1.0, 1.1])
    >>> policy.select()
    1

    References
    ----------
    .. [1] Barbier-Chebbah, Vestergaard, Masson, Boursier. Approximate information maximization for bandit games. AISTATS
       2025, Algorithm 1 and equations (42) and (43) of its appendix.
    """

    kernel = KERNEL

    def __init__(self, *, sigma: float = 1.0, **online: Unpack[Online[Label]]) -> None:
        self.sigma = self.positive(sigma, "sigma")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> float:
        """The noise scale."""
        return self.sigma

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)
