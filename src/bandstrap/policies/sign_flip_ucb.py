"""Sign-flip UCB: an index that is exact for symmetric rewards and needs no scale."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.kernel import Kernel, jitable
from bandstrap.errors import Floats
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.multipliers.subset_index import counted_index, distance, moment_quantile, saddlepoint_index
from bandstrap.policies.policy import Online, Policy
from bandstrap.policies.rewards import N_POWERS, central_moments, mean_reward, remember
from bandstrap.policies.schedule import Alpha, Schedule, error_probability

# Up to so many rewards subsets are counted, up to so many the rewards are kept for a saddlepoint; beyond, moments serve.
MOST_COUNTED = 16
MOST_KEPT = 48
# A tail of fewer subsets than this is a staircase, and followed step by step; otherwise the bound is interpolated, in the
# normal quantile of the level, between levels that are powers of 1/2.
FEW_SUBSETS = 32.0
# Beyond MOST_KEPT the ratio of an arm's quantile to the normal one moves slowly: computed anew when pulls have grown so.
REFIT = 1.02


class Params(NamedTuple):
    """Schedule of the error probability; a noise scale, or infinity for none."""

    schedule: Schedule
    sigma: float


class State(NamedTuple):
    """Power sums and first rewards of each arm, and its bound at the levels around the current one."""

    order: NDArray[np.int64]
    pulls: NDArray[np.int64]
    powers: Floats
    shifts: Floats
    kept: Floats
    keys: Floats  # what the next two were computed for: a number of subsets, or an octave
    lows: Floats  # at a level of 2^-octave the bound or, beyond MOST_KEPT rewards, its quantile over the normal one ...
    highs: Floats  # ... and at half that level
    fitted: Floats  # pulls at which the last two were computed
    residuals: Floats  # room to count subsets in


class Shared(NamedTuple):
    """Level of the round, its normal quantile, its logarithm to base 1/2 and place between two whole ones, and
    ``sqrt(2 log(1/alpha))``.
    """

    level: float
    z: float
    halvings: float
    octave: int
    fraction: float
    root_log: float


def prepare(params: Params, state: State, round_: int) -> Shared:
    """The level in all its guises."""
    alpha = error_probability(params.schedule, round_)
    halvings = -math.log2(alpha)
    octave = math.floor(halvings)
    z = normal_quantile(alpha)
    low = normal_quantile(0.5**octave)
    fraction = (z - low) / (normal_quantile(0.5 ** (octave + 1)) - low)
    return Shared(alpha, z, halvings, octave, fraction, math.sqrt(2.0 * math.log(1.0 / alpha)))


@jitable
def bound_at(state: State, arm: int, level: float) -> float:
    """What ``lows`` and ``highs`` hold for an arm, at a level that some non-empty subset can reach."""
    n = state.pulls[arm]
    mean = mean_reward(state.pulls, state.powers, state.shifts, arm)
    if n <= MOST_COUNTED:
        allowed = math.floor(level * 2.0**n + 1e-9) - 1  # the empty subset is always above
        return counted_index(state.kept[arm][:n], mean, allowed, state.residuals)
    z = normal_quantile(level - 0.5**n)
    if n <= MOST_KEPT:
        return saddlepoint_index(state.kept[arm][:n], mean, z)
    return moment_quantile(n, central_moments(state.powers[arm], n), z) / z


@jitable
def refresh(state: State, arm: int, key: float, shared: Shared) -> None:
    """Compute an arm's row anew, because it was pulled or the level has moved enough."""
    state.keys[arm] = key
    state.fitted[arm] = state.pulls[arm]
    if key > 0.0:
        state.lows[arm] = bound_at(state, arm, shared.level)
        state.highs[arm] = state.lows[arm]
    else:
        state.lows[arm] = bound_at(state, arm, 0.5**shared.octave)
        state.highs[arm] = bound_at(state, arm, 0.5 ** (shared.octave + 1))


def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """The sign-flip bound, or Hoeffding's where a scale is given and it is lower."""
    n = state.pulls[arm]
    bound = math.inf
    if n >= shared.halvings - 1e-12:  # otherwise the empty subset alone is too much
        key = -1.0 - shared.octave
        if n <= MOST_COUNTED and shared.level * (1 << n) < FEW_SUBSETS:
            key = float(math.floor(shared.level * (1 << n) + 1e-9))
        if state.keys[arm] != key:
            refresh(state, arm, key, shared)
        bound = state.lows[arm] + shared.fraction * (state.highs[arm] - state.lows[arm])
        if n > MOST_KEPT:
            row = state.powers[arm]
            step = row[0] / n
            bound = state.shifts[arm] + step + distance(bound * shared.z, max(row[1] / n - step * step, 0.0), n)
    if params.sigma < math.inf:
        mean = mean_reward(state.pulls, state.powers, state.shifts, arm)
        bound = min(bound, mean + params.sigma * shared.root_log / math.sqrt(n))
    return bound


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into sums and memory."""
    remember(state.pulls, state.powers, state.shifts, state.kept, arm, reward)
    if state.pulls[arm] <= MOST_KEPT + 1 or state.pulls[arm] > REFIT * state.fitted[arm]:
        state.keys[arm] = 0.0


KERNEL = Kernel("sign_flip_ucb", learn=learn, score=score, prepare=prepare)


class SignFlipUCB(Policy):
    r"""The exact upper bound for symmetric rewards as an index: no scale, no range, no correction.

    .. math:: U_\alpha(y) = \inf\{x : P_h(\text{mean of a random subset of } y > x) \le \alpha\}

    Each reward is in the subset with probability 1/2, and the empty subset counts as infinity. For rewards that are
    symmetric about their mean, whatever their scale and tails, the mean exceeds the bound with probability at most
    :math:`\alpha`, at every sample size.

    Parameters
    ----------
    sigma
        A noise scale, if one is known: the index is then never above Hoeffding's. By default nothing is assumed.
    alpha, tau, horizon
        Schedule of the error probability, see :class:`bandstrap.UCB1`.
    arms, rng, direction
        See :class:`bandstrap.Policy`.

    Notes
    -----
    The bound is infinite while :math:`2^{-n} > \alpha_t`: every arm is pulled about :math:`\log_2 t` times, whatever it
    earns (unless ``sigma`` is given). It is the limit of :class:`bandstrap.MARS` for many subsets.

    State is constant in the horizon: up to 16 rewards subsets are counted, up to 48 the bound is a saddlepoint one in the
    rewards, mostly within 0.3 % of exact; beyond it comes from six power sums, as accurate for light tails, and within a
    few per cent for tails like a symmetric Weibull's with exponent 1/2.

    Choices do not change when all rewards are multiplied by a positive number or shifted.

    See Also
    --------
    bandstrap.bounds.sign_flip : the bound itself.
    bandstrap.BootstrappedUCBPlus : lower regret, and no proof.

    Examples
    --------
    >>> from bandstrap import SignFlipUCB
    >>> policy = SignFlipUCB(arms=2, rng=0)
    >>> policy.update([0, 1] * 12, [0.1, 1.0, 0.3, 1.3, 0.2, 0.8] * 4)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Hartigan. Using subsample values as typical values. JASA 64, 1969.
    .. [2] Moravej Khorasani, Weyer. Maximum average randomly sampled: a scale free and non-parametric algorithm for
       stochastic bandits. NeurIPS 2023.
    """

    kernel = KERNEL

    def __init__(
        self,
        *,
        sigma: float | None = None,
        alpha: Alpha = "1/(t+1)",
        tau: float = 1.0,
        horizon: int | None = None,
        **online: Unpack[Online],
    ) -> None:
        self.sigma = None if sigma is None else self.positive(sigma, "sigma")
        self.set_schedule(alpha, tau, horizon)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        """Numbers for the kernel."""
        return Params(self.schedule_for(horizon), math.inf if self.sigma is None else self.sigma)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """Nothing known yet."""
        return State(
            order=order,
            pulls=np.zeros(n_arms, dtype=np.int64),
            powers=np.zeros((n_arms, N_POWERS)),
            shifts=np.zeros(n_arms),
            kept=np.zeros((n_arms, MOST_KEPT)),
            keys=np.zeros(n_arms),
            lows=np.zeros(n_arms),
            highs=np.zeros(n_arms),
            fitted=np.zeros(n_arms),
            residuals=np.zeros((4, 1 << (MOST_COUNTED // 2))),
        )
