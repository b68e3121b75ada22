"""Sign-flip UCB: an index that is exact for symmetric rewards and needs no scale."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.arrays import Floats
from bandstrap.engine.kernel import Kernel, jitable
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.multipliers.subset_count import common_unit
from bandstrap.multipliers.subset_index import counted_index, distance, lump_gap, moment_quantile, saddlepoint_index
from bandstrap.policies.policy import Online, Policy
from bandstrap.policies.rewards import N_POWERS, central_moments, mean_reward, remember
from bandstrap.policies.schedule import Alpha, Schedule, error_probability

# Up to this many rewards subsets are counted, up to that many they are kept for a saddlepoint; beyond, moments serve.
MOST_COUNTED = 16
MOST_KEPT = 48
# Where subsets are counted and more than this many may be above, their number is rounded down to so many times a power of
# two at most, which can only raise the bound: a level that moves asks for few counts. Where they are not counted the bound
# is interpolated, in the normal quantile of the level, between levels that are powers of 1/2.
FEW_SUBSETS = 32.0
# Beyond MOST_KEPT the ratio of an arm's quantile to the normal one moves slowly: computed anew when pulls have grown so.
REFIT = 1.02
# Where subsets are not counted the bound is widened by this share, more than the formulas usually err.
MARGIN = 0.005
# Rewards whose common unit is smaller than this share of one of them are taken to have none.
FINEST_UNIT = 2.0**-10


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
    units: Floats  # the common unit of an arm's rewards; 0 while all are equal, negative if they have none
    lumps: Floats  # the distance of the values near which the rewards kept crowd, or 0
    firsts: Floats  # where subsets are counted: for numbers of subsets from this one ...
    lasts: Floats  # ... up to, but not including, this one the bound is that in ``lows``
    keys: Floats  # elsewhere: what the next two were computed for, an octave
    lows: Floats  # at a level of 2^-octave the bound or, beyond MOST_KEPT rewards, its quantile over the normal one ...
    highs: Floats  # ... and at half that level
    fitted: Floats  # pulls at which the last two were computed
    room: Floats  # to count subsets in


class Shared(NamedTuple):
    """Level of the round, its normal quantile, the fewest pulls that make it reachable, the place of its logarithm to base
    1/2 between two whole ones, and ``sqrt(2 log(1/alpha))``.
    """

    level: float
    z: float
    fewest: int
    octave: int
    fraction: float
    root_log: float


def prepare(params: Params, state: State, round_: int) -> Shared:
    """The level in all the forms that arms need."""
    alpha = error_probability(params.schedule, round_)
    level = min(alpha, 0.5)
    fewest = math.ceil(-math.log2(level))  # 2^-fewest <= level, and the logarithm may have been rounded
    if 0.5 ** (fewest - 1) <= level:
        fewest -= 1
    elif 0.5**fewest > level:
        fewest += 1
    octave = fewest if 0.5**fewest == level else fewest - 1
    z = normal_quantile(level)
    low = normal_quantile(0.5**octave)
    fraction = min(max((z - low) / (normal_quantile(0.5 ** (octave + 1)) - low), 0.0), 1.0)
    return Shared(level, z, fewest, octave, fraction, math.sqrt(2.0 * math.log(1.0 / alpha)))


@jitable
def ascending(rewards: Floats) -> Floats:
    """A sorted copy, by insertion."""
    out = rewards.copy()
    for i in range(1, out.size):
        value = out[i]
        j = i
        while j > 0 and out[j - 1] > value:
            out[j] = out[j - 1]
            j -= 1
        out[j] = value
    return out


@jitable
def bound_at(state: State, arm: int, level: float) -> float:
    """What ``lows`` and ``highs`` hold for an arm whose subsets are not counted."""
    n = state.pulls[arm]
    z = normal_quantile(level - 0.5**n)
    if n <= MOST_KEPT:
        mean = mean_reward(state.pulls, state.powers, state.shifts, arm)
        return saddlepoint_index(state.kept[arm][:n], mean, z)
    return moment_quantile(n, central_moments(state.powers[arm], n), z) / z


@jitable
def rounded_down(subsets: float) -> float:
    """A number of subsets with its leading bits only; see FEW_SUBSETS."""
    step = 1.0
    while subsets >= FEW_SUBSETS * step:
        step *= 2.0
    return math.floor(subsets / step) * step


@jitable
def refresh(state: State, arm: int, key: float, subsets: float, shared: Shared) -> None:
    """Compute an arm's row anew, because it was pulled or the level has moved enough."""
    n = state.pulls[arm]
    # Not valid until all is in place: online, an interrupt may come in between.
    state.keys[arm] = 0.0
    state.lasts[arm] = 0.0
    state.fitted[arm] = n
    y = ascending(state.kept[arm][: min(n, MOST_KEPT)])
    if n <= MOST_COUNTED or (n <= MOST_KEPT and (state.units[arm] >= 0.0 or subsets < 2.0)):
        mean = mean_reward(state.pulls, state.powers, state.shifts, arm)
        x, first, last = counted_index(y, mean, subsets, state.room)
        if not math.isnan(x):
            state.lows[arm] = x
            state.highs[arm] = x
            state.firsts[arm] = first
            state.lasts[arm] = last
            return
    state.lumps[arm] = lump_gap(y)
    state.lows[arm] = bound_at(state, arm, 0.5**shared.octave)
    state.highs[arm] = bound_at(state, arm, 0.5 ** (shared.octave + 1))
    state.keys[arm] = key


def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """The sign-flip bound, or Hoeffding's where a scale is given and it is lower."""
    n = state.pulls[arm]
    bound = math.inf
    if n >= shared.fewest:  # otherwise the empty subset alone is too much
        key = -1.0 - shared.octave
        subsets = 0.0
        if n <= MOST_KEPT:
            subsets = rounded_down(shared.level * float(1 << n))
        if state.keys[arm] != key and not state.firsts[arm] <= subsets < state.lasts[arm]:
            refresh(state, arm, key, subsets, shared)
        bound = state.lows[arm] + shared.fraction * (state.highs[arm] - state.lows[arm])
        if n > MOST_COUNTED and state.lasts[arm] == 0.0:
            row = state.powers[arm]
            step = row[0] / n
            mean = state.shifts[arm] + step
            width = bound - mean
            if n > MOST_KEPT:
                width = distance(bound * shared.z, max(row[1] / n - step * step, 0.0), n)
            # Sums of rewards that have a unit, or crowd in lumps, jump: half a jump is what a smooth formula leaves out.
            bound = mean + (1.0 + MARGIN) * width + max(state.units[arm], state.lumps[arm]) / n
    if params.sigma < math.inf:
        mean = mean_reward(state.pulls, state.powers, state.shifts, arm)
        bound = min(bound, mean + params.sigma * shared.root_log / math.sqrt(n))
    return bound


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into sums and memory."""
    remember(state.pulls, state.powers, state.shifts, state.kept, arm, reward)
    if state.units[arm] >= 0.0:
        step = abs(reward - state.shifts[arm])
        unit = common_unit(state.units[arm], step)
        state.units[arm] = unit if unit >= FINEST_UNIT * step else -1.0
    if state.pulls[arm] <= MOST_KEPT + 1 or state.pulls[arm] > REFIT * state.fitted[arm]:
        state.keys[arm] = 0.0
        state.lasts[arm] = 0.0


KERNEL = Kernel("sign_flip_ucb", learn=learn, score=score, prepare=prepare)


class SignFlipUCB(Policy):
    r"""The exact upper bound for symmetric rewards as an index: no scale, no range, no correction.

    .. math:: U_\alpha(y) = \inf\{x : P_h(\text{mean of a random subset of } y > x) \le \alpha\}

    Each reward is in the subset with probability 1/2, and the empty subset counts as infinity. For rewards that are
    symmetric about their mean, whatever their scale and tails, the mean exceeds the bound with probability at most
    :math:`\alpha`, at every sample size; how closely the index follows it is said below.

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

    State is constant in the horizon. The index is never below the bound where subsets are counted: up to 16 rewards, and up
    to 48 of few values (any two, most three). There rewards on no lattice are rounded up to 14 bits of their range, and the
    number of subsets down to 5 bits, which widens the bound by up to 1 %.

    Elsewhere it is an approximation: a saddlepoint one in the rewards up to 48, one from six power sums beyond, mostly
    within 0.3 % of exact. It is widened by 0.5 %, and by half a jump of the sums where rewards have a common unit or crowd
    near a few values. So fair coins and the three values -1, 0 and 1 are missed with probability at most :math:`\alpha`
    from 1 to 200 rewards, by exact count, and no excess was seen in samples of rewards near two values; a tail like a
    symmetric Weibull's with exponent 1/2 may be missed up to a tenth more often than :math:`\alpha` from 49 rewards on.
    :func:`bandstrap.bounds.sign_flip` has no such reservations.

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
        """State before the first reward: power sums at zero, no bounds, and room to count subsets in."""
        return State(
            order=order,
            pulls=np.zeros(n_arms, dtype=np.int64),
            powers=np.zeros((n_arms, N_POWERS)),
            shifts=np.zeros(n_arms),
            kept=np.zeros((n_arms, MOST_KEPT)),
            units=np.zeros(n_arms),
            lumps=np.zeros(n_arms),
            firsts=np.zeros(n_arms),
            lasts=np.zeros(n_arms),
            keys=np.zeros(n_arms),
            lows=np.zeros(n_arms),
            highs=np.zeros(n_arms),
            fitted=np.zeros(n_arms),
            room=np.zeros((4, 1 << (MOST_COUNTED // 2))),
        )
