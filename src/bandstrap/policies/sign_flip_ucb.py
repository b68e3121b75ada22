"""Sign-flip UCB: an index that is exact for symmetric rewards and needs no scale."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.hoeffding import hoeffding_width, root_log
from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.errors import brief, check_flag, is_number, requirement
from bandstrap.multipliers.lattice import common_unit
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.multipliers.subset_index import (
    MOST_COUNTED,
    ROOM,
    counted_index,
    distance,
    lump_gap,
    moment_quantile,
    saddlepoint_index,
)
from bandstrap.policies.kernels import self_normalised
from bandstrap.policies.kernels.schedule import Alpha, Schedule, error_probability
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, Numbers, Order, Path, Scratch
from bandstrap.policies.states.power_sums import N_POWERS, central_moments, remember

# Up to this many rewards are kept for counts of subsets or a saddlepoint; beyond, moments serve.
MOST_KEPT = 48
# Where subsets are counted and more than this many may be above, their number is rounded down to so many times a power of
# two at most, which can only raise the bound: a level that moves asks for few counts. Where they are not counted the bound
# is interpolated, in the normal quantile of the level, between levels that are powers of 1/2: an octave.
FEW_SUBSETS = 32.0
# Beyond MOST_KEPT the ratio of an arm's quantile to the normal one moves slowly: computed anew when pulls have grown so.
REFIT = 1.02
# Where subsets are not counted the bound is widened by this share, more than the formulas usually err.
MARGIN = 0.005
# Rewards whose common unit is smaller than this share of one of them are taken to have none.
FINEST_UNIT = 2.0**-10

# What ``State.facts`` holds of the arms, one row each; one array for all, because each one of a state counts references.
#
# SCALE: a power of two. All else but BOUND is in units of it, so that no power of a reward is beyond the doubles.
# SHIFT, MEAN, SQUARE: the first reward, the mean, and the mean squared deviation.
# UNIT: the common unit of the rewards, 0 while all are equal, negative if they have none.
# FIRST, LAST: what follows holds at levels from FIRST up to, but not including, LAST.
# LOW, HIGH: the bound at the upper and lower end of the octave; beyond MOST_KEPT rewards over the normal quantile there.
# LUMP: the distance of values near which rewards crowd, or 0; COUNTED where subsets are counted, and LOW is the bound.
# FITTED: the pulls for which these were computed.
# LEVEL, BOUND: the bound at a level, which is 0 if the arm was pulled since.
SCALE, SHIFT, MEAN, SQUARE, UNIT, FIRST, LAST, LOW, HIGH, LUMP, FITTED, LEVEL, BOUND = range(13)
COUNTED = -1.0
# SCALE at first, and how many units of it a reward may have: one of more makes it larger.
LEAST_SCALE = 2.0**-1000
MOST_UNITS = 2.0**60
# The row of ``State.room`` that holds the octave of the last round's level, and the normal quantiles of its two ends.
OCTAVE = ROOM[0]
# What takes a power of two to the next number above it.
NEXT = 1.0 + 2.0**-52
# The schedule unless another one is given; of what is proved, levels that fall faster.
DEFAULT_ALPHA: Alpha = "1/(t+1)"


class Params(NamedTuple):
    """Schedule of the error probability; a noise scale, or infinity for none."""

    schedule: Schedule
    sigma: float


class State(NamedTuple):
    """Power sums and first rewards of each arm, and what follows from them."""

    order: Order
    pulls: Counts
    powers: Numbers
    first_rewards: Numbers
    facts: Path  # see SCALE
    room: Scratch  # to count subsets in; see OCTAVE


class Shared(NamedTuple):
    """Level of the round, its normal quantile, the place of that between those of the ends of the octave; the noise scale,
    and, if there is one, ``sqrt(2 log(1/alpha))``.
    """

    level: float
    z: float
    fraction: float
    sigma: float
    root_log: float


@jitable
def octave_of(level: float) -> int:
    """The ``k`` with ``2^-(k + 1) < level <= 2^-k``."""
    mantissa, exponent = math.frexp(level)  # 2^(exponent - 1) <= level < 2^exponent
    return 1 - exponent if mantissa == 0.5 else -exponent


@jitable
def shared_at(alpha: float, sigma: float, octave: Floats) -> Shared:
    """The level in all the forms that arms need."""
    level = min(alpha, 0.5)
    k = octave_of(level)
    if octave[0] != k:
        octave[0] = 0.0  # not valid until all is in place: online, an interrupt may come in between
        octave[1] = normal_quantile(math.ldexp(1.0, -k))
        octave[2] = normal_quantile(math.ldexp(1.0, -k - 1))
        octave[0] = k
    z = normal_quantile(level)
    fraction = min(max((z - octave[1]) / (octave[2] - octave[1]), 0.0), 1.0)
    return Shared(level, z, fraction, sigma, root_log(alpha) if sigma < math.inf else math.nan)


@jitable
def ascending(rewards: Floats) -> Floats:
    """A sorted copy, by insertion: few are kept, and finding their bound takes far longer."""
    out = rewards.copy()
    for i in range(1, len(out)):
        value = out[i]
        j = i
        while j > 0 and out[j - 1] > value:
            out[j] = out[j - 1]
            j -= 1
        out[j] = value
    return out


@jitable
def leading_unit(subsets: float) -> float:
    """The unit in which numbers of subsets are counted from this one on; see FEW_SUBSETS."""
    _, exponent = math.frexp(subsets / FEW_SUBSETS)
    return math.ldexp(1.0, max(exponent, 0))


@jitable
def least_level(subsets: float, n: int) -> float:
    """The lowest level at which so many subsets or more may be above."""
    if subsets == math.inf:
        return subsets
    unit = leading_unit(subsets)
    return math.ldexp(math.ceil(subsets / unit) * unit, -n)


@jitable
def bound_at(n: int, mean: float, sums: Floats, rewards: Floats, level: float) -> float:
    """Values of LOW and HIGH for an arm whose subsets are not counted."""
    z = normal_quantile(level - math.ldexp(1.0, -n))
    if n <= MOST_KEPT:
        return saddlepoint_index(rewards[:n], mean, z)
    return moment_quantile(n, central_moments(sums, n), z) / z


@jitable
def refit(facts: Floats, arm: int, n: int, sums: Floats, rewards: Floats, level: float, room: Floats) -> None:
    """Compute what the bound is read off anew, because the arm was pulled or the level has moved enough.

    FIRST comes last, and FITTED before it: online, an interrupt may come in between, and then all is computed once more.
    """
    firsts, lasts, lows, highs = facts[FIRST], facts[LAST], facts[LOW], facts[HIGH]
    lumps, fitted = facts[LUMP], facts[FITTED]
    n = int(n)  # math.ldexp takes no number of NumPy's
    least = math.ldexp(1.0, -n)
    first_before = firsts[arm]
    firsts[arm] = math.nan
    if level < least:  # the empty subset alone is too much
        lasts[arm] = least
        lows[arm] = math.inf
        lumps[arm] = COUNTED
        firsts[arm] = 0.0
        return
    mean = facts[MEAN][arm]
    pulls_before = fitted[arm]
    fitted[arm] = 0.0
    # Whether the rewards kept are not those of the last time.
    is_other = pulls_before < min(n, MOST_KEPT + 1) or lumps[arm] < 0.0
    y = rewards
    if is_other or n <= MOST_KEPT:
        y = ascending(rewards[: min(n, MOST_KEPT)])
    if n <= MOST_COUNTED or (n <= MOST_KEPT and (facts[UNIT][arm] >= 0.0 or level < 2.0 * least)):
        subsets = level / least
        step = leading_unit(subsets)
        x, fewest, too_many = counted_index(y, mean, math.floor(subsets / step) * step, room)
        if not math.isnan(x):
            lasts[arm] = least_level(too_many, n)
            lows[arm] = x
            lumps[arm] = COUNTED
            fitted[arm] = n
            firsts[arm] = least_level(fewest, n)
            return
    upper_end = math.ldexp(1.0, -octave_of(level))
    lower_end = 0.5 * upper_end
    lasts[arm] = upper_end * NEXT  # an octave holds its upper end, but not its lower
    is_next_octave = pulls_before == n and lumps[arm] >= 0.0 and first_before == lasts[arm]
    for end in (upper_end, lower_end):
        if end == lower_end or not is_next_octave:  # otherwise the upper end is where the lower was
            lows[arm] = highs[arm]
            highs[arm] = bound_at(n, mean, sums, rewards, end)
    if is_other:
        lumps[arm] = lump_gap(y)
    fitted[arm] = n
    firsts[arm] = lower_end * NEXT


@jitable
def update_bounds(state: State, shared: Shared, start: int, stop: int) -> None:
    """Bring the bounds of some arms to the level of the round: the sign-flip bound, or Hoeffding's if it is lower."""
    facts = state.facts
    level = shared.level
    for arm in range(start, stop):
        n = state.pulls[arm]
        if facts[LEVEL][arm] == level or n == 0:
            continue
        if not facts[FIRST][arm] <= level < facts[LAST][arm]:
            refit(facts, arm, n, state.powers[arm], state.first_rewards[arm], level, state.room)
        bound = facts[LOW][arm]
        lump = facts[LUMP][arm]
        if lump >= 0.0:
            bound += shared.fraction * (facts[HIGH][arm] - bound)
            mean = facts[MEAN][arm]
            width = bound - mean if n <= MOST_KEPT else distance(bound * shared.z, facts[SQUARE][arm], n)
            # Sums of rewards that have a unit, or crowd in lumps, jump: half a jump is what a smooth formula leaves out.
            bound = mean + (1.0 + MARGIN) * width + max(facts[UNIT][arm], lump) / n
        scale = facts[SCALE][arm]
        bound *= scale
        if shared.sigma < math.inf:
            bound = min(bound, scale * facts[MEAN][arm] + hoeffding_width(n, shared.sigma, shared.root_log))
        facts[BOUND][arm] = bound
        facts[LEVEL][arm] = level


def prepare(params: Params, state: State, round_: int) -> Shared:
    """The level in all the forms that arms need, and all bounds at this level."""
    shared = shared_at(error_probability(params.schedule, round_), params.sigma, state.room[OCTAVE])
    update_bounds(state, shared, 0, len(state.pulls))
    return shared


def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """The bound at the level of the round, which :func:`prepare` found."""
    return state.facts[BOUND][arm]


@jitable
def rescale(facts: Floats, arm: int, sums: Floats, rewards: Floats, reward: float) -> None:
    """Make SCALE large enough for a reward, and bring what is known of the arm to its units."""
    _, exponent = math.frexp(reward)
    share = facts[SCALE][arm] / math.ldexp(1.0, exponent - 1)
    facts[SCALE][arm] = math.ldexp(1.0, exponent - 1)
    facts[SHIFT][arm] *= share
    for row in (UNIT, LUMP):
        if facts[row][arm] > 0.0:
            facts[row][arm] *= share
    power = 1.0
    for k in range(len(sums)):
        power *= share
        sums[k] *= power
    for i in range(len(rewards)):
        rewards[i] *= share


@jitable
def describe(facts: Floats, arm: int, n: int, sums: Floats, reward: float) -> None:
    """Describe an arm by its rewards, the last one included."""
    shift = facts[SHIFT][arm]
    step = sums[0] / n
    facts[MEAN][arm] = shift + step
    facts[SQUARE][arm] = max(sums[1] / n - step * step, 0.0)
    unit = facts[UNIT][arm]
    if unit >= 0.0:
        gap = abs(reward - shift)
        unit = common_unit(unit, gap)
        facts[UNIT][arm] = unit if unit >= FINEST_UNIT * gap else -1.0
    if n <= MOST_KEPT + 1 or n > REFIT * facts[FITTED][arm]:
        facts[LAST][arm] = 0.0
    facts[LEVEL][arm] = 0.0


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into sums and memory."""
    if abs(reward) / MOST_UNITS > state.facts[SCALE][arm]:
        rescale(state.facts, arm, state.powers[arm], state.first_rewards[arm], reward)
    units = reward / state.facts[SCALE][arm]
    remember(state.pulls, state.powers, state.facts[SHIFT], state.first_rewards, arm, units)
    describe(state.facts, arm, state.pulls[arm], state.powers[arm], units)


KERNEL = Kernel("sign_flip_ucb", learn=learn, score=score, prepare=prepare)


class SignFlipUCB(Policy[Label]):
    r"""The exact upper bound for symmetric rewards as an index: no scale, no range, no correction.

    .. math:: U_\alpha(y) = \inf\{x : P_h(\text{mean of a random subset of } y > x) \le \alpha\}

    Each reward is in the subset with probability 1/2, and the empty subset counts as infinity. For rewards symmetric about
    their mean, of any scale and tails, the mean exceeds the bound with probability at most :math:`\alpha`, at every sample
    size. The Notes say how closely the index approximates the bound.

    Assumes rewards that are symmetric about their means. Prefer it if a bound must hold and no scale is known.

    Parameters
    ----------
    sigma
        A noise scale, if one is known: the index is then never above Hoeffding's. By default nothing is assumed.
    alpha, tau, horizon
        Schedule of the error probability, see :class:`bandstrap.UCB1`.
    proved
        Play an index that a theorem covers in full, see Notes: the self-normalised bound at the levels
        :math:`(t (1 + \log t))^{-2}`, which replace those of the default ``alpha``, or at ``alpha="1/T^2"`` or a number. By
        default false: the measured regret is lower.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    The bound is infinite while :math:`2^{-n} > \alpha_t`: every arm is pulled about :math:`\log_2 t` times, regardless of
    its rewards (unless ``sigma`` is given). It is the limit of :class:`bandstrap.MARS` for many subsets.

    State is constant in the horizon. The index is never below the bound if subsets are enumerated: up to 16 rewards, and up
    to 48 rewards of few values (any two values, most triples). Then rewards that do not lie on a lattice are rounded up to
    14 bits of their range, and the number of subsets down to 5 bits. This widens the bound by up to 1 %.

    Otherwise the index is an approximation, mostly within 0.3 % of exact: a saddlepoint approximation up to 48 rewards, and
    one from six power sums beyond. It is widened by 0.5 %, and by half a jump of the sums if rewards have a common unit or
    cluster near a few values. By exact enumeration, the miss probability is at most :math:`\alpha` from 1 to 200 rewards
    for fair coins and for the values -1, 0, 1. No excess was seen in samples of rewards near two values. With tails like a
    symmetric Weibull's with exponent 1/2, it may exceed :math:`\alpha` by up to a tenth from 49 rewards on.
    :func:`bandstrap.bounds.sign_flip` has no such limitations.

    With ``proved=True`` the index is

    .. math:: V_\alpha = \bar y + \sqrt{\frac{S}{n}} \sqrt{\frac{2 L}{n - 2 L}}, \qquad
        L = \log(1/\alpha), \quad S = \sum (y - \bar y)^2

    and infinite while :math:`n \le 2 L`. It is above :math:`U_\alpha`, also in floating point: rounding errors are added.
    Let the best arm be symmetric, about its mean or, without one, a centre from which gaps count; let the other arms have
    variances, and each reward be learned before the next choice. Then expected regret is at most
    :func:`bandstrap.theory.sign_flip_regret_bound` at every horizon. Arms are independent of each other unless the level is
    fixed. ``docs/sign-flip-theorem.md`` has the proof. The cost: an arm is pulled at least :math:`2 L` times, 40 in 2000
    rounds, instead of 11.

    Multiplying all rewards by a power of two, however small or large, changes no choice. Any other positive factor or shift
    has an effect only by rounding, which may break ties. Arms with rewards of 0 and 1 often have equal indices.

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
    indices_are_bounds = True

    def __init__(
        self,
        *,
        sigma: float | None = None,
        alpha: Alpha = DEFAULT_ALPHA,
        tau: float = 1.0,
        horizon: int | None = None,
        proved: bool = False,
        **online: Unpack[Online[Label]],
    ) -> None:
        owner = type(self).__name__
        self.sigma = None if sigma is None else self.positive(sigma, "sigma")
        self.set_schedule(alpha, tau, horizon)
        self.proved = check_flag(proved, "proved", owner)
        if self.proved:
            if self.sigma is not None:
                raise requirement("sigma", owner, "left out where 'proved' is true", self.sigma)
            if not is_number(alpha) and alpha not in (DEFAULT_ALPHA, "1/T^2"):
                rule = "'1/T^2', a number, or left out, where 'proved' is true"
                raise requirement("alpha", owner, rule, brief(alpha))
        self.kernel = self_normalised.KERNEL if self.proved else KERNEL
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params | self_normalised.FlipLevel:
        if self.proved:
            falls = self.alpha == DEFAULT_ALPHA
            return self_normalised.FlipLevel(0.0 if falls else -2.0 * math.log(self.schedule_for(horizon).value))
        return Params(self.schedule_for(horizon), math.inf if self.sigma is None else self.sigma)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State | self_normalised.DeviationSums:
        """State before the first reward: sums at zero, no bounds, and room to count subsets in."""
        if self.proved:
            return self_normalised.no_deviations(n_arms, order)
        facts = np.zeros((BOUND + 1, n_arms))
        facts[SCALE] = LEAST_SCALE
        return State(
            order=order,
            pulls=np.zeros(n_arms, dtype=np.int64),
            powers=np.zeros((n_arms, N_POWERS)),
            first_rewards=np.zeros((n_arms, MOST_KEPT)),
            facts=facts,
            room=np.zeros((OCTAVE + 1, ROOM[1])),
        )
