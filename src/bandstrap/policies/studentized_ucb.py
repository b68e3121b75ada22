"""Studentized UCB: an index of bootstrap-t form that is given no parameters, and borrows from other arms what they
have alike.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, borrowing, jitable
from bandstrap.errors import check_flag, check_number, requirement
from bandstrap.multipliers.normal import rough_quantile_of_log
from bandstrap.policies.online.policy import IndexBounds, Label, Online, Policy
from bandstrap.policies.states.central_sums import (
    LEAST_UNIT,
    SECOND,
    SIXTH,
    THIRD,
    CentralSums,
    add_reward,
    mean_difference,
    mean_reward,
    no_sums,
    unit_for,
)
from bandstrap.policies.states.fields import Counts, Numbers, Order

# Of the level e, the part that the quantile is taken at; the rest is for the terms of order 1/n.
QUANTILE_PART = 0.9
LOG_QUANTILE_PART = math.log(QUANTILE_PART)
# What an arm's variance counts among others: its degrees of freedom, but no more than these, so that the arm that is pulled
# all the time does not decide on all.
MOST_WEIGHT = 20
# What is taken of the spread of variances before they are seen: a squared coefficient of variation, 0.5, which has the
# weight of ten degrees of freedom.
PRIOR_SPREAD = 0.5
PRIOR_WEIGHT = 10.0
# The fewest degrees of freedom, and the largest exponent, of the quantile: an arm pulled once has none of its own.
LEAST_FREEDOM = 0.5
MOST_EXPONENT = 50.0
# More caution than this is none: a level must stay a number.
MOST_CAUTION = 1e100
# Defaults: the most borrowed degrees of freedom, and the strength of the skewness term.
BORROWED = 50.0
SKEW = 1.0

# What ``State.facts`` holds of the arms, one row each, in powers of the arm's unit. For the shared variance: WEIGHT, w;
# VARIANCE, s^2; and NOISE, 2 w/(n - 1), where 2/(n - 1) is the variance of s^2/sigma^2 of normal rewards. For the arm's own
# index: DEVIATION, s; and SKEWNESS.
WEIGHT, VARIANCE, NOISE, DEVIATION, SKEWNESS = range(5)


class Params(NamedTuple):
    """Forced pulls over ``log t``, most borrowed degrees of freedom, strength of the skewness term, what the level is
    divided by, what it is multiplied by for each arm, whether it is drawn, whether forced pulls outgrow ``log t``, and
    whether the index is that of 0.9.0.
    """

    exploration: float
    borrowed: float
    skew: float
    caution: float
    crowd: float
    randomized: bool
    consistent: bool
    hall: bool


class State(NamedTuple):
    """State of each arm."""

    order: Order
    pulls: Counts
    central: CentralSums
    facts: Numbers  # see WEIGHT


class Pooled(NamedTuple):
    """Sums over arms, in powers of a unit: of ``w``, ``w^2``, ``w s^2``, ``w s^4``, ``2 w/(n - 1)`` and ``2 w^2/(n - 1)``;
    and of central sums.
    """

    weight: float
    squared_weights: float
    variances: float
    squared_variances: float
    noise: float
    weighted_noise: float
    s2: float
    s3: float
    s6: float


class Survey(NamedTuple):
    """Sums over arms, the unit that they and the shared variance are in, that variance, the most pulls of any arm, and the
    highest mean, as CentralSums has it.
    """

    pooled: Pooled
    unit: float
    variance: float
    most_pulls: float
    best_first: float
    best_step: float


class Shared(NamedTuple):
    """Values shared by all arms in a round; variance and skewness are in powers of the unit."""

    least_pulls: float  # with fewer, an arm is pulled whatever it earns
    most_pulls: float  # of any arm
    level_factor: float
    freedom: float  # borrowed degrees of freedom, d0
    own_part: float  # 2/(2 + d0)
    best_first: float  # of the arm with the highest mean, as CentralSums has it
    best_step: float
    unit: float
    inverse_unit: float
    variance: float
    skewness: float
    lent_freedom: float  # for each unit of weight that an arm's variance has in the shared one


# --- the parts of the index -------------------------------------------------------------------------------------------


@jitable
def forced_pulls(exploration: float, consistent: bool, round_: int) -> float:
    """``exploration log t``, or ``max(exploration, log log t) log t``."""
    log = math.log(round_)
    return (max(exploration, math.log(max(log, 1.0))) if consistent else exploration) * log


@jitable
def log_inverse_level(n: float, most: float, factor: float) -> float:
    """``L = log(1/e)`` of the level ``e = factor n/(n + n_max)``, which is at most 1/2."""
    return math.log(max((n + most) / (factor * n), 2.0))


@jitable
def log_inverse_drawn_level(log: float, randomized: bool, rng: np.random.Generator) -> float:
    """``log(1/max(e, U))`` with a uniform ``U`` if ``randomized``, else ``log(1/e)``: ``log(1/U)`` is exponential."""
    return min(log, rng.standard_exponential()) if randomized else log


@jitable
def level_quantile(log: float) -> float:
    """``z = Phi^-1(1 - 0.9 e)`` for ``L = log(1/e)``; 0 where ``0.9 e`` is more than 1/2, as only drawn levels are."""
    return max(rough_quantile_of_log(log - LOG_QUANTILE_PART), 0.0)


@jitable
def studentized_factor(z: float, freedom: float) -> float:
    """``exp(z^2/nu) - 1``: a squared quantile of Student's t over nu, approximately."""
    return math.expm1(min(z * z / freedom, MOST_EXPONENT))


@jitable
def borrowed_freedom(pooled: Pooled, variance: float, most: float, noise: float, is_fitted: bool) -> float:
    """``d0``: what the shared variance is worth to an arm, in degrees of freedom, judged by how alike variances are.

    ``d0 = clip(2/h - 1, 0, most)`` with, for ``W = sum w``,
    ``h = (sum w [(s^2/sbar^2 - 1)^2 - (1 - w/W) 2 noise/(n - 1)] + 10 * 0.5)/(W - sum w^2/W + 10)``; ``noise`` is 1 for
    variances of normal rewards, and ``1 + kappa/2`` for those of excess kurtosis ``kappa``. Unless ``is_fitted``, ``w/W``
    and ``w^2/W`` are left out, which make up for variances being nearer to their own mean than to the true one.
    """
    spread = pooled.squared_variances / (variance * variance) - 2.0 * pooled.variances / variance
    weight, lost, noises = pooled.weight, 0.0, pooled.noise
    if is_fitted and weight > 0.0:
        lost = pooled.squared_weights / weight
        noises -= pooled.weighted_noise / weight
    h = (spread + weight - noise * noises + PRIOR_WEIGHT * PRIOR_SPREAD) / (weight - lost + PRIOR_WEIGHT)
    if h * (most + 1.0) <= 2.0:
        return most
    return max(2.0 / h - 1.0, 0.0)


@jitable
def shrunk_skewness(s2: float, s3: float, s6: float) -> float:
    """``(S3/S2)_+ (1 - 2 S6/S3^2)_+``: ``S3^2/S6`` is a squared t-statistic, so symmetric heavy tails give almost 0."""
    if s3 <= 0.0 or s3 * s3 <= 2.0 * s6:
        return 0.0
    return s3 / s2 * (1.0 - 2.0 * s6 / (s3 * s3))


@jitable
def signed_skewness(s2: float, s3: float, s6: float) -> float:
    """``S3/S2 (1 - 2 S6/S3^2)_+``, of either sign."""
    return math.copysign(shrunk_skewness(s2, abs(s3), s6), s3)


@jitable
def skewness_factor(z: float, own: float) -> float:
    """``((3 w - 1) z^2 + 1)/6``: by what the quantile moves with a unit of skewness over ``sqrt(n)``, for a mean over a
    standard deviation whose square is the arm's own for a part ``w``; ``w = 1`` is Hall's.
    """
    return ((3.0 * own - 1.0) * z * z + 1.0) / 6.0


@jitable
def pool(state: State, unit: float) -> Pooled:
    """The sums over arms."""
    weights, variances, noises = state.facts[WEIGHT], state.facts[VARIANCE], state.facts[NOISE]
    sums, units = state.central.sums, state.central.units
    seconds, thirds, sixths = sums[SECOND], sums[THIRD], sums[SIXTH]
    weight = squares = first = second = noise = weighted = s2 = s3 = s6 = 0.0
    for k in range(len(weights)):
        share = 1.0 if units[k] == unit else units[k] / unit
        square = share * share
        cube = square * share
        variance = square * variances[k]
        weight += weights[k]
        squares += weights[k] * weights[k]
        first += weights[k] * variance
        second += weights[k] * variance * variance
        noise += noises[k]
        weighted += weights[k] * noises[k]
        s2 += square * seconds[k]
        s3 += cube * thirds[k]
        s6 += cube * (cube * sixths[k])
    return Pooled(weight, squares, first, second, noise, weighted, s2, s3, s6)


@jitable
def survey(state: State) -> Survey:
    """Look at all arms: how many pulls, which mean is highest, and what variance they share."""
    pulls, central = state.pulls, state.central
    most = 0
    unit = LEAST_UNIT
    low = math.inf
    high = -math.inf
    best = 0
    for k in range(len(pulls)):
        most = max(most, pulls[k])
        unit = max(unit, central.units[k])
        mean = mean_reward(central, k)
        low = min(low, mean)
        if mean > high:
            high = mean
            best = k
    pooled = pool(state, unit)
    if pooled.variances > 0.0:
        variance = pooled.variances / pooled.weight
    elif high > low:  # no arm has had two different rewards: the range of means is the scale
        unit = unit_for(high - low)
        scale = (high - low) / unit
        variance = scale * scale
    else:  # all rewards are equal: with any scale the arm pulled least has the highest index
        unit = 1.0
        variance = 1.0
    return Survey(pooled, unit, variance, float(most), central.firsts[best], central.steps[best])


@jitable
def note_variance(facts: Floats, arm: int, n: int, s2: float) -> None:
    """Contribution of an arm of more than one reward to the shared variance."""
    weight = float(min(n - 1, MOST_WEIGHT))
    facts[WEIGHT][arm] = weight
    facts[VARIANCE][arm] = s2 / (n - 1)
    facts[NOISE][arm] = 2.0 * weight / (n - 1)


# --- the kernel -------------------------------------------------------------------------------------------------------


@borrowing
def prepare(params: Params, state: State, round_: int) -> Shared:
    """Level, shared variance, borrowed degrees of freedom and pooled skewness."""
    seen = survey(state)
    pooled = seen.pooled
    freedom = borrowed_freedom(pooled, seen.variance, params.borrowed, 1.0, not params.hall)
    skewness = signed_skewness(pooled.s2, pooled.s3, pooled.s6)
    return Shared(
        forced_pulls(params.exploration, params.consistent, round_),
        seen.most_pulls,
        max(1.0, params.crowd * len(state.pulls)) / params.caution,
        freedom,
        2.0 / (2.0 + freedom),
        seen.best_first,
        seen.best_step,
        seen.unit,
        1.0 / seen.unit,
        seen.variance,
        max(skewness, 0.0) if params.hall else skewness,
        freedom / max(pooled.weight, 1.0),
    )


@borrowing
def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """The index, less the highest mean, in units that all arms share; infinite for an arm that lacks pulls.

    ``randomized``, its level is ``max(e, U)``, and an arm that lacks pulls is forced on a round only if ``U`` is at most
    ``e``: all rounds until its next reward comes would be too many.
    """
    n = float(state.pulls[arm])
    highest = log_inverse_level(n, shared.most_pulls, shared.level_factor)
    log = log_inverse_drawn_level(highest, params.randomized, rng)
    if n < shared.least_pulls and log == highest:
        return math.inf
    unit = state.central.units[arm]
    share = 1.0 if unit == shared.unit else unit / shared.unit
    distance = mean_difference(state.central, arm, shared.best_first, shared.best_step) * shared.inverse_unit
    squares = share * share * state.central.sums[SECOND][arm] + shared.freedom * shared.variance
    freedom = max(n - 1.0 + shared.freedom, LEAST_FREEDOM)
    z = level_quantile(log)
    factor = studentized_factor(z, freedom)
    own_part = shared.own_part * share * state.facts[DEVIATION][arm] * math.sqrt(2.0 * log)
    if params.hall:
        skewness = (2.0 / 3.0) * log * max(share * state.facts[SKEWNESS][arm], shared.skewness)
    else:
        # The arm is one of those that it borrows from.
        owned = min((n - 1.0 + shared.lent_freedom * state.facts[WEIGHT][arm]) / freedom, 1.0)
        skewness = skewness_factor(z, owned) * shared.skewness
    part = 1.0 / n
    return distance + math.sqrt(part * squares * factor) + part * (own_part + params.skew * skewness)


@borrowing
def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into the sums, and what follows from them."""
    add_reward(state.pulls, state.central, arm, reward)
    facts, sums = state.facts, state.central.sums
    n = state.pulls[arm]
    if n > 1:
        note_variance(facts, arm, n, sums[SECOND][arm])
        facts[DEVIATION][arm] = math.sqrt(facts[VARIANCE][arm])
        facts[SKEWNESS][arm] = shrunk_skewness(sums[SECOND][arm], sums[THIRD][arm], sums[SIXTH][arm])


KERNEL = Kernel("studentized_ucb", learn=learn, score=score, prepare=prepare)


def score_in_rewards(score: float, shared: Any) -> float:
    """A score, which counts units from the highest mean on, in those of rewards."""
    return float(shared.best_first + shared.best_step + shared.unit * score)


class StudentizedUCB(Policy[Label]):
    r"""A studentized (bootstrap-t) index without parameters to set: no scale, no range, no shape of the rewards.

    The arm with the highest index is pulled:

    .. math:: \bar y + \sqrt{\frac{S_2 + d_0 \bar s^2}{n} \bigl(e^{\min(z^2/\nu,\, 50)} - 1\bigr)}
        + \frac{1}{n} \Bigl(\frac{2}{2 + d_0} s \sqrt{2 L} + b \frac{(3 \omega - 1) z^2 + 1}{6} \kappa\Bigr)

    with :math:`n` rewards of the arm, their mean :math:`\bar y`, central sums :math:`S_p = \sum (y - \bar y)^p` and
    variance :math:`s^2 = S_2/(n - 1)`, 0 for one reward.

    - **Level**: :math:`e = n/(n + n_{\max})` of an arm beside the one pulled most, :math:`L = \log(1/e)`, and
      :math:`z = \Phi^{-1}(1 - 0.9 e)`, rounded as Notes say. The arm with the most pulls has level :math:`e = 1/2` and
      almost no bonus. With ``caution`` c, ``crowd`` r and K arms,
      :math:`e = \min(\frac12, \max(1, r K)/c \cdot n/(n + n_{\max}))`.
    - **Variance**: the first root is a quantile of Student's t with :math:`\nu = \max(n - 1 + d_0, \frac12)` degrees of
      freedom, approximately, times the standard error. The mean of the arms' variances is
      :math:`\bar s^2 = \sum w s^2/\sum w`, with :math:`w = \min(n - 1, 20)`, over arms of two rewards or more. The more
      similar the variances, the more degrees of freedom the arm borrows: :math:`d_0 = 2/h - 1`, between 0 and ``borrowed``,
      with :math:`W = \sum w` and :math:`h = \bigl(\sum w [(s^2/\bar s^2 - 1)^2 - (1 - \frac wW) \frac{2}{n - 1}] +
      5\bigr)/(W - \sum w^2/W + 10)`, and ``borrowed`` where :math:`h \le 0`.
    - **Skewness**: :math:`\kappa = \frac{S_3}{S_2} (1 - 2 S_6/S_3^2)_+`, of either sign, with each :math:`S_p` summed over
      all arms; 0 where :math:`S_3 = 0`. It corrects for skewness to second order once there is evidence:
      :math:`S_3^2/S_6` is a squared t-statistic of the third moment. The part of the standard deviation that is the arm's
      own is :math:`\omega = \min\bigl(1, (n - 1 + d_0 w/\sum w)/\nu\bigr)`. The strength b is ``skew``.

    Assumes a finite variance, and needs no parameters. Prefer it for a theorem (``proved=True``, normal rewards), or
    ``randomized`` for rewards that come late; otherwise :class:`bandstrap.EdgeworthUCB` has a little less regret.

    Parameters
    ----------
    exploration
        Every arm is pulled at least ``exploration * log(t)`` times. The default, 0.25, keeps an arm from being given up
        after a few bad rewards. It requires a third pull after 3,000 rounds.
    borrowed
        The most degrees of freedom taken from other arms, 50 by default. With 0 every arm is judged by its own variance
        alone, at the cost of more exploration while it has few rewards.
    skew
        Strength of the skewness term. The default 1 is the second-order correction; with 0.5 exponential and lognormal
        rewards cost less on average, and more in the worst runs.
    caution
        The level, up to 1/2, is divided by this number. The default 1 favours the mean of the regret. With 2 the mean is 1
        to 8 % higher after 2000 rounds, and the worst runs mostly cost less.
    crowd
        With ``K`` arms the level is multiplied by ``max(1, crowd * K)``, and at most 1/2. The default 0 has no effect. With
        fifty arms and more, 0.2 has a quarter less regret at first, but more disastrous runs later.
    proved
        Play the setting that a theorem covers, see Notes: ``borrowed`` and ``skew`` are 0. By default false: measured
        regret is lower with ``borrowed`` and ``skew``, unless variances are far apart.
    consistent
        Pull every arm at least ``max(exploration, log(log(t))) * log(t)`` times, in the setting of ``proved``, which it
        implies. Pulls of worse arms are then of that order for all sub-Gaussian rewards, see Notes. By default false.
    randomized
        For rewards that come late or in batches: in every round each arm has the level :math:`\max(e, U)` instead of
        :math:`e`, with its own uniform :math:`U`. Off by default, when the arm with the highest index gets all pulls until
        the next reward comes.
    hall
        Play the index of 0.9.0. There 2/3 L replaces the factor of :math:`\kappa`. :math:`\kappa` is the larger of the
        arm's own and that of all arms, if positive, and ``h`` has neither :math:`w/W` nor :math:`\sum w^2/W`. Off by
        default, and deprecated: the next minor release removes it.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Two statements are proved for ``proved=True`` without ``consistent``, and for any number of arms. They need normal
    rewards of unknown variances, equal or not, each learned before the next choice. First, expected regret is at most
    :func:`bandstrap.theory.studentized_regret_bound`, at every horizon. There ``crowd`` counts as a ``caution`` divided by
    ``max(1, crowd * K)``. Second, ``limsup R_T/log T`` is at most
    ``sum_i gap_i max(exploration, 2/log(1 + gap_i^2/sigma_i^2))``, for ``exploration`` from 0.08 to 2, ``caution`` of at
    least 1 and no ``crowd``. No consistent policy can be below this sum unless the maximum is ``exploration``.
    ``docs/theorem.md`` has the proof. For other rewards, such as 0 and 1, that setting may give up the best arm and have
    regret in almost every round. Nothing is proved about the default, whose constants were chosen by experiment.

    With ``consistent=True`` no best arm is given up. For sub-Gaussian rewards of any scales, a worse arm is pulled at most
    ``log(log(T)) log(T)`` times on average, plus a number that does not depend on ``T`` (known from [5]_). The price is the
    best constant for normal rewards, and measured regret: ``docs/theorem.md`` has both. The bound and the limit above do
    not hold for it: at large gaps it pulls more often.

    With ``randomized``, an arm's index is its bound at a random level. In the same way, a draw of Thompson sampling is a
    posterior quantile at a random level. But without skewness it is at most the index at level :math:`e` and, because
    :math:`z \ge 0`, at least the mean. An arm that lacks pulls is forced on a round with probability :math:`e` only. Mean
    regret as ::

        bandstrap simulate --policy studentized_ucb --policy studentized_ucb:randomized=true --policy gaussian_ts \
            --policy gaussian_ts_unknown_variance --horizon 4000 --delay 200

    prints it is 187.8, 172.9, 187.8 and 196.4. Of each, 140 come from the first 200 rounds, before any reward. With
    ``--batch 100`` in place of the delay, mean regret is 131.2, 96.1, 106.9 and 109.9. With rewards at once it is 51.4,
    51.5, 65.4 and 84.8. At once, over thirteen environments, drawn levels cost 1 % on average, 7 % at the 95th percentile
    and 5 to 20 % at the 99th.

    Every arm is pulled twice at the start. Afterwards one with fewer than ``exploration * log(t)`` rewards has an infinite
    index in round t, which is 1 more than the number of rewards learned. Ties are broken in an order of the arms that is
    drawn once.

    With :math:`q = \sqrt{2 \log(1/(0.9 e))}`,

    .. math:: z = \max\Bigl(0, q - \frac{2.515517 + 0.802853 q + 0.010328 q^2}{1 + 1.432788 q + 0.189269 q^2 + 0.001308 q^3}
        \Bigr)

    is within 0.00045 of the quantile (Abramowitz and Stegun). While no arm has had two different rewards, the range of the
    means replaces :math:`\bar s`. While all rewards are equal, 1 replaces it; then the arm pulled least is next, unless
    ``borrowed`` is 0 or levels are drawn.

    It takes constant memory and keeps no rewards. It draws random numbers only for the tie-breaking order, and for levels
    if ``randomized``.

    Multiplying all rewards by a power of two, however small or large, changes no choice. Another positive factor, or a
    shift, changes them by rounding only, which may break ties: arms with rewards of 0 and 1 often have equal indices.

    See Also
    --------
    bandstrap.BootstrappedUCBPlus : a multiplier bootstrap in place of Student's t; lower mean regret on skewed rewards,
        such as exponential ones, with runs that never find the best arm.
    bandstrap.SignFlipUCB : a proved bound, also without a scale.
    bandstrap.MOSS : where a noise scale is known and arms are many.

    Examples
    --------
    >>> from bandstrap import StudentizedUCB
    >>> policy = StudentizedUCB(arms=["a", "b"], rng=0)
    >>> policy.update(["a", "b"] * 5, [0.1, 1.0, 0.3, 1.2, 0.2, 0.9, 0.1, 1.1, 0.2, 1.0])
    >>> policy.select()
    'b'

    References
    ----------
    .. [1] Hall. Theoretical comparison of bootstrap confidence intervals. Annals of Statistics 16, 1988: the second-order
       terms.
    .. [2] Smyth. Linear models and empirical Bayes methods for assessing differential expression in microarray experiments.
       Statistical Applications in Genetics and Molecular Biology 3, 2004: borrowed degrees of freedom.
    .. [3] Jin, Xu, Shi, Xiao, Gu. MOTS: minimax optimal Thompson sampling. ICML 2021: draws cut at an upper bound.
    .. [4] Abramowitz, Stegun. Handbook of Mathematical Functions, 1964: formula 26.2.23.
    .. [5] Ashutosh, Nair, Kagrecha, Jagannathan. Bandit algorithms: letting go of logarithmic regret for statistical
       robustness. AISTATS 2021.
    """

    kernel = KERNEL
    indices_are_bounds = True
    name = "studentized_ucb"
    n_initial = 2

    def __init__(
        self,
        *,
        exploration: float = 0.25,
        borrowed: float = BORROWED,
        skew: float = SKEW,
        caution: float = 1.0,
        crowd: float = 0.0,
        proved: bool = False,
        randomized: bool = False,
        consistent: bool = False,
        hall: bool = False,
        **online: Unpack[Online[Label]],
    ) -> None:
        owner = type(self).__name__
        self.exploration = self.not_negative(exploration, "exploration")
        self.borrowed = self.not_negative(borrowed, "borrowed")
        self.skew = self.not_negative(skew, "skew")
        self.consistent = check_flag(consistent, "consistent", owner)
        self.proved = check_flag(proved, "proved", owner) or self.consistent
        word = "consistent" if self.consistent else "proved"
        if self.proved:
            for name, value, default in (("borrowed", self.borrowed, BORROWED), ("skew", self.skew, SKEW)):
                if value not in (0.0, default):
                    raise requirement(name, owner, f"0, or left out, where '{word}' is true", value)
            self.borrowed = self.skew = 0.0
        self.caution = check_number(caution, "caution", owner, above=0, below=MOST_CAUTION)
        self.crowd = self.not_negative(crowd, "crowd")
        self.randomized = check_flag(randomized, "randomized", owner)
        self.hall = check_flag(hall, "hall", owner)
        if self.hall:
            message = "StudentizedUCB(hall=True), the index of 0.9.0, goes with the next minor release."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        if self.proved and self.randomized:
            raise requirement("randomized", owner, f"false, or left out, where '{word}' is true", True)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(
            self.exploration,
            self.borrowed,
            self.skew,
            self.caution,
            self.crowd,
            self.randomized,
            self.consistent,
            self.hall,
        )

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: all at zero."""
        return State(order, np.zeros(n_arms, dtype=np.int64), no_sums(n_arms), np.zeros((SKEWNESS + 1, n_arms)))

    def in_rewards(self, score: float, shared: Any) -> float:
        """See :func:`score_in_rewards`; infinite for an arm that lacks pulls."""
        return score_in_rewards(score, shared)

    def bounds(self) -> dict[Hashable, IndexBounds]:
        """Per arm: pulls, mean and index, the upper bound that the next choice compares; of costs the lower one.

        The index is infinite for an arm that lacks pulls, and so comes first, and NaN for a retired arm. Nothing changes:
        if ``randomized``, levels are drawn from a copy of the policy's generator.
        """
        return self._index_bounds()
