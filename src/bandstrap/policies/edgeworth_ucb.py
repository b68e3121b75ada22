"""Edgeworth UCB: a studentized index, given no parameters, with the second-order terms that skewness and kurtosis
call for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, borrowing, inlined, jitable
from bandstrap.errors import check_flag, check_number
from bandstrap.policies.kernels.epochs import ArmSums
from bandstrap.policies.kernels.epochs import Params as EpochParams
from bandstrap.policies.online.epoch_policy import EpochOptions, EpochPolicy, KernelOfEpochs
from bandstrap.policies.online.policy import IndexBounds, Label
from bandstrap.policies.states.central_sums import (
    FOURTH,
    SECOND,
    SIXTH,
    THIRD,
    CentralSums,
    add_reward,
    mean_difference,
    no_sums,
)
from bandstrap.policies.states.epochs import DiscountedPulls, Epochs, OfAll, no_epochs
from bandstrap.policies.states.fields import Counts, Numbers, Order
from bandstrap.policies.studentized_ucb import (
    BORROWED,
    LEAST_FREEDOM,
    MOST_CAUTION,
    MOST_EXPONENT,
    VARIANCE,
    WEIGHT,
    State,
    borrowed_freedom,
    level_quantile,
    log_inverse_drawn_level,
    note_variance,
    score_in_rewards,
    signed_skewness,
    skewness_factor,
    survey,
)

# The level of an arm is this part of its share of the rounds, for caution = 1.
LEVEL_PART = 0.75
# With more rivals than these an arm's level grows as this power of their number; in 0.9.0 as their number.
FEW_RIVALS = 4.0
CROWDING = 1.2
# A gamma distribution has this many times its squared skewness as excess kurtosis.
GAMMA_KURTOSIS = 1.5
LOG_2 = math.log(2.0)

# What ``State.facts`` holds of the arms, one row each, besides WEIGHT, VARIANCE and NOISE of StudentizedUCB:
#
# SPREAD_PULLS: the pulls of an arm with any spread. CUBES, SIXTHS: sums of its standardised deviations to these powers.
# KURTOSIS_WEIGHT, KURTOSIS: for the pooled kurtosis, the arm's weight, which needs four rewards, and that times its excess.
# OWN_SKEWNESS: S3/S2, in the arm's unit.
# INVERSE_PULLS, LOG_PULLS: of its pulls.
SPREAD_PULLS, CUBES, SIXTHS, KURTOSIS_WEIGHT, KURTOSIS, OWN_SKEWNESS, INVERSE_PULLS, LOG_PULLS = range(3, 11)


class Params(NamedTuple):
    """Forced pulls over ``log(t/K)``, what the level is divided by, whether it is drawn, and whether the index is that of
    0.9.0.
    """

    exploration: float
    caution: float
    randomized: bool
    hall: bool


class Shared(NamedTuple):
    """Values shared by all arms in a round; variance and lent skewness are in powers of the unit."""

    least_pulls: float  # with fewer, an arm is pulled whatever it earns
    log_rounds: float  # less the logarithm of an arm's pulls, L
    freedom: float  # borrowed degrees of freedom, d0
    own_part: float  # 2/(2 + d0)
    best_first: float  # of the arm with the highest mean, as CentralSums has it
    best_step: float
    unit: float
    inverse_unit: float
    variance: float
    skewness: float  # coefficient, of all arms, shrunk
    evidence: float  # of skewness, from 0 to 1; for ``hall``
    lent_skewness: float  # S3/S2 of all arms, shrunk, for one that has no spread
    kurtosis: float  # excess, of all arms, none below 0
    lent_freedom: float  # for each unit of weight that an arm's variance has in the shared one


# --- the parts of the index -------------------------------------------------------------------------------------------


@jitable
def tempered_quantile(z: float, part: float, kurtosis: float) -> float:
    """``z/(1 + kurtosis (z^2 - 3)_+/(12 n))``, ``part = 1/n``: where tails are heavy, a mean that is far off has a large
    spread, too (Hall 1988).
    """
    excess = kurtosis * (z * z - 3.0)
    return z / (1.0 + excess * part / 12.0) if excess > 0.0 else z


@jitable
def log_level_rounds(round_: float, n_arms: int, caution: float, crowding: float) -> float:
    """``log(n/e)`` with the level ``e = 0.75 max(1, (K - 1)/4)^crowding n/(caution t)``."""
    return math.log(round_ * caution / (LEVEL_PART * max(1.0, (n_arms - 1) / FEW_RIVALS) ** crowding))


@jitable
def pooled_shape(facts: Floats) -> tuple[float, float, float]:
    """Shape of the standardised rewards of all arms: the coefficient of skewness, shrunk; the evidence, by which it
    was shrunk; and the excess kurtosis, not below 0.
    """
    pulls, cubes, sixths = facts[SPREAD_PULLS], facts[CUBES], facts[SIXTHS]
    weights, kurtoses = facts[KURTOSIS_WEIGHT], facts[KURTOSIS]
    n = g3 = g6 = weight = kurtosis = 0.0
    for k in range(len(pulls)):
        n += pulls[k]
        g3 += cubes[k]
        g6 += sixths[k]
        weight += weights[k]
        kurtosis += kurtoses[k]
    skewness = signed_skewness(n, g3, g6)
    evidence = skewness * n / g3 if skewness != 0.0 else 0.0
    return skewness, evidence, max(kurtosis, 0.0) / max(weight, 1.0)


# --- the kernel -------------------------------------------------------------------------------------------------------


@borrowing
def prepare(params: Params, state: State, round_: int) -> Shared:
    """Level, shared variance, borrowed degrees of freedom, and the shape of all rewards."""
    seen = survey(state)
    pooled = seen.pooled
    skewness, evidence, kurtosis = pooled_shape(state.facts)
    lent = signed_skewness(pooled.s2, pooled.s3, pooled.s6)
    # Of the kurtosis only as much as skewness accounts for: with all of it, symmetric heavy tails had a higher regret.
    noise = 1.0 + 0.5 * min(kurtosis, GAMMA_KURTOSIS * skewness * skewness)
    n_arms, crowding = len(state.pulls), CROWDING
    least_pulls = params.exploration * math.log(round_ / n_arms)
    if params.hall:
        noise, crowding = 1.0, 1.0
        least_pulls = 0.5 * params.exploration * math.log(round_)
        lent = max(lent, 0.0)
        if skewness <= 0.0:
            skewness = evidence = 0.0
    freedom = borrowed_freedom(pooled, seen.variance, BORROWED, noise, not params.hall)
    return Shared(
        least_pulls,
        log_level_rounds(float(round_), n_arms, params.caution, crowding),
        freedom,
        2.0 / (2.0 + freedom),
        seen.best_first,
        seen.best_step,
        seen.unit,
        1.0 / seen.unit,
        seen.variance,
        skewness,
        evidence,
        lent,
        kurtosis,
        freedom / max(pooled.weight, 1.0),
    )


@borrowing
def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """The index, less the highest mean, in units that all arms share; infinite for an arm that lacks pulls.

    ``randomized``, level and forced pulls are those of :class:`bandstrap.StudentizedUCB`.
    """
    n = float(state.pulls[arm])
    highest = max(shared.log_rounds - state.facts[LOG_PULLS][arm], LOG_2)
    log = log_inverse_drawn_level(highest, params.randomized, rng)
    if n < shared.least_pulls and log == highest:
        return math.inf
    unit = state.central.units[arm]
    share = 1.0 if unit == shared.unit else unit / shared.unit
    distance = mean_difference(state.central, arm, shared.best_first, shared.best_step) * shared.inverse_unit
    part = state.facts[INVERSE_PULLS][arm]
    z = level_quantile(log)
    own = state.central.sums[SECOND][arm]
    freedom = max(n - 1.0 + shared.freedom, LEAST_FREEDOM)
    inverse_freedom = 1.0 / freedom
    deviation = math.sqrt((share * share * own + shared.freedom * shared.variance) * inverse_freedom)
    tempered = tempered_quantile(z, part, shared.kurtosis * (n - 1.0) * inverse_freedom)
    factor = math.expm1(min(tempered * tempered * inverse_freedom, MOST_EXPONENT))
    skewness = shared.lent_skewness if own <= 0.0 else shared.skewness * deviation
    # The arm is one of those that it borrows from.
    owned = min((n - 1.0 + shared.lent_freedom * state.facts[WEIGHT][arm]) * inverse_freedom, 1.0)
    if params.hall:
        owned = 1.0
        if own > 0.0:
            skewness = max(skewness, shared.evidence * share * state.facts[OWN_SKEWNESS][arm])
    return (
        distance
        + deviation * math.sqrt(part * freedom * factor)
        + part * (shared.own_part * deviation * math.sqrt(2.0 * log) + skewness_factor(z, owned) * skewness)
    )


@jitable
def note_shape(central: CentralSums, facts: Floats, arm: int, n: int) -> None:
    """Note what follows from the sums of an arm of more than one reward."""
    sums = central.sums
    note_variance(facts, arm, n, sums[SECOND][arm])
    if facts[VARIANCE][arm] > 0.0:
        inverse = 1.0 / facts[VARIANCE][arm]
        facts[SPREAD_PULLS][arm] = float(n)
        facts[OWN_SKEWNESS][arm] = sums[THIRD][arm] / sums[SECOND][arm]
        facts[CUBES][arm] = sums[THIRD][arm] * inverse * math.sqrt(inverse)
        facts[SIXTHS][arm] = sums[SIXTH][arm] * inverse * inverse * inverse
        if n > 3:
            # m4/m2^2, less what that of normal rewards is on average
            share = inverse / (n - 1)
            excess = n * (sums[FOURTH][arm] * share * share) - 3.0 * (n - 1) / (n + 1)
            weight = facts[WEIGHT][arm]
            facts[KURTOSIS_WEIGHT][arm] = weight
            facts[KURTOSIS][arm] = weight * excess


@borrowing
def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Take the reward into the sums, and what follows from them."""
    add_reward(state.pulls, state.central, arm, reward)
    n = state.pulls[arm]
    state.facts[INVERSE_PULLS][arm] = 1.0 / n
    state.facts[LOG_PULLS][arm] = math.log(n)
    if n > 1:
        note_shape(state.central, state.facts, arm, n)


KERNEL = Kernel("edgeworth_ucb", learn=learn, score=score, prepare=prepare)


# --- the same with epochs -----------------------------------------------------------------------------------------------


class EpochState(NamedTuple):
    """State of each arm: pulls, and the state of the index with discounted pulls and sums, in pieces.

    The index is shown means with ``shown_steps``, and effective pulls as INVERSE_PULLS and LOG_PULLS; degrees of freedom,
    variance and shape are of all rewards.
    """

    order: Order
    pulls: Counts
    weights: DiscountedPulls
    firsts: Numbers
    steps: Numbers
    units: Numbers
    sums: OfAll
    facts: OfAll
    shown_steps: OfAll
    epochs: Epochs


@inlined
def as_shown(state: EpochState) -> State:
    """The state that the index is shown."""
    shown = CentralSums(state.firsts, state.shown_steps, state.units, state.sums)
    return State(state.order, state.weights, shown, state.facts)


@jitable
def take_in(
    params: EpochParams, state: EpochState, arm: int, reward: float, round_: int, rng: np.random.Generator
) -> None:
    """Take the reward into the sums of its arm, and what follows from them."""
    central = CentralSums(state.firsts, state.steps, state.units, state.sums)
    learn(params.policy, State(state.order, state.weights, central, state.facts), arm, reward, round_, rng)


@jitable
def mean(state: EpochState, arm: int, origin: float) -> float:
    """Mean of an arm, counted from the origin."""
    return (state.firsts[arm] - origin) + state.steps[arm]


@jitable
def squares(state: EpochState, arm: int) -> float:
    """Sum of an arm's squared deviations."""
    return state.sums[SECOND][arm] * state.units[arm] * state.units[arm]


@jitable
def show(state: EpochState, arm: int) -> None:
    """Show an arm as it is."""
    state.shown_steps[arm] = state.steps[arm]
    state.facts[INVERSE_PULLS][arm] = 1.0 / state.weights[arm]
    state.facts[LOG_PULLS][arm] = math.log(state.weights[arm])


@jitable
def show_swept(state: EpochState, arm: int, least: float) -> None:
    """Show an arm as it is when epochs are swept."""
    state.shown_steps[arm] = state.steps[arm] + (state.epochs.effects[arm] - state.epochs.relative[arm])
    state.facts[INVERSE_PULLS][arm] = state.epochs.inverse_weights[arm]
    state.facts[LOG_PULLS][arm] = -math.log(state.epochs.inverse_weights[arm])


@jitable
def discount(state: EpochState, arm: int, factor: float) -> None:
    """Multiply what an arm has, and say what follows from it."""
    state.weights[arm] *= factor
    for row in range(len(state.sums)):
        state.sums[row][arm] *= factor
    for row in range(len(state.facts)):
        state.facts[row][arm] = 0.0
    if state.weights[arm] > 1.0:
        central = CentralSums(state.firsts, state.steps, state.units, state.sums)
        note_shape(central, state.facts, arm, state.weights[arm])


SUMS = ArmSums(as_shown, take_in, mean, squares, show, show_swept, discount)


class EdgeworthUCB(EpochPolicy[Label]):
    r"""A studentized index with Edgeworth's terms for skewness and kurtosis; no parameters to set: start with this one.

    The arm with the highest index is pulled:

    .. math:: \bar y + s \sqrt{\frac{\nu}{n} \bigl(e^{\min(\zeta^2/\nu,\, 50)} - 1\bigr)}
        + \frac{1}{n} \Bigl(\frac{2}{2 + d_0} s \sqrt{2 L} + \frac{(3 \omega - 1) z^2 + 1}{6} \lambda\Bigr)

    with :math:`n` rewards of the arm, their mean :math:`\bar y` and central sums :math:`S_p = \sum (y - \bar y)^p`.

    - **Level**: :math:`e = \min\bigl(\frac12, \frac{3}{4 c} \max(1, \frac{K - 1}{4})^{6/5} \frac{n}{t}\bigr)` with K arms,
      the ``caution`` c, and round t, which is 1 more than the number of rewards learned. :math:`L = \log(1/e)`, and
      :math:`z = \Phi^{-1}(1 - 0.9 e)`, rounded as Notes say. An arm with most of the pulls has level :math:`e = 1/2` and
      almost no bonus.
    - **Variance**: :math:`s^2 = (S_2 + d_0 \bar s^2)/\nu` with :math:`\nu = \max(n - 1 + d_0, \frac12)`. The mean of the
      arms' variances is :math:`\bar s^2 = \sum w v/\sum w`, with :math:`v = S_2/(n - 1)` and :math:`w = \min(n - 1, 20)`,
      over arms of two rewards or more. The more similar the variances, the more degrees of freedom the arm borrows:
      :math:`d_0 = 2/h - 1`, between 0 and 50, with :math:`W = \sum w` and

      .. math:: h = \frac{\sum w \bigl[(v/\bar s^2 - 1)^2
          - (1 - \frac wW) \frac{2 + \min(\kappa, 1.5 \gamma^2)}{n - 1}\bigr] + 5}{W - \sum w^2/W + 10} ,

      and 50 where :math:`h \le 0`. This is the estimate of DerSimonian and Laird, shrunk towards 1/2, because a few
      variances are nearer to their own mean than to the true one. Variances of skewed rewards differ more by chance than
      those of normal ones; 1.5 squared skewnesses are the excess kurtosis of a gamma distribution. The first root is a
      quantile of Student's t, approximately.
    - **Skewness**: :math:`\lambda = \gamma s` makes up for skewness. If rewards are right-skewed, mean and spread of few
      rewards are often too small together, as far as the spread is the arm's own. With a borrowed spread, the mean is less
      often too low. The arm's own part of the variance is :math:`\omega = \min\bigl(1, (n - 1 + d_0 w/\sum w)/\nu\bigr)`;
      Hall's factor, :math:`(2 z^2 + 1)/6`, is that of :math:`\omega = 1`. The skewness of all arms, of either sign, is
      :math:`\gamma = \frac{G_3}{N} (1 - 2 G_6/G_3^2)_+`, with :math:`G_p = \sum S_p/v^{p/2}` and :math:`N = \sum n` over
      the arms with two different rewards; :math:`G_3^2/G_6` is a squared t-statistic. It is 0 where :math:`G_3 = 0`. An arm
      of equal rewards has :math:`\lambda = \frac{S_3}{S_2} (1 - 2 S_6/S_3^2)_+`, with each :math:`S_p` summed over all
      arms.
    - **Kurtosis**: :math:`\zeta = z / \bigl(1 + \frac{n - 1}{\nu} \frac{\kappa}{12 n} (z^2 - 3)_+\bigr)`, since with heavy
      tails, samples with extreme means also have a large spread. The excess, in which that of normal rewards is 0 on
      average, is :math:`\kappa = \bigl(\sum w [n S_4/S_2^2 - 3 \frac{n - 1}{n + 1}]\bigr)_+ / \sum w` over the arms with
      four rewards or more, two of them different; 0 if there are none.

    Assumes a finite variance, and needs no parameters. Prefer it if in doubt, and ``randomized`` if rewards come late.

    Parameters
    ----------
    caution
        The level, up to 1/2, is divided by this number. The default 1 balances the mean of the regret and its worst
        runs. Over 22 environments of 2000 rounds, 2 gave a mean 8 % higher and a 99th percentile 8 % lower, 0.75 a mean
        3 % lower and a 99th percentile 6 % higher (``python -m benchmarks flagship``).
    exploration
        Every arm is pulled at least ``exploration * log(t/K)`` times. The default, 0.5, keeps an arm from being given up
        after two rewards that happen to be alike. It requires a third pull after 55 rounds per arm, and a fourth after 404.
    randomized
        For rewards that come late or in batches: draw the levels, as in :class:`bandstrap.StudentizedUCB`. Off by default;
        then the arm with the highest index gets all pulls until the next reward comes.
    hall
        Play the index of 0.9.0. There :math:`\omega = 1`, and the level has no power. :math:`h` has :math:`2/(n - 1)`, and
        neither :math:`w/W` nor :math:`\sum w^2/W`. Each arm has at least ``exploration/2 * log(t)`` pulls. The skewness is
        :math:`\lambda = \eta \max(s G_3/N, S_3/S_2)` with the evidence :math:`\eta = (1 - 2 G_6/G_3^2)_+`, and 0 unless
        :math:`G_3 > 0`. For an arm of equal rewards :math:`\lambda` is not below 0. Off by default, and deprecated: the
        next minor release removes it.
    epochs, epoch_length, discount
        See :class:`bandstrap.policies.online.epoch_policy.EpochPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Nothing is proved about this policy: its constants were chosen by experiment. :class:`bandstrap.StudentizedUCB` has a
    setting with a theorem.

    An arm of zeros and ones with very few ones may be given up. After 19,000 rounds, an arm with one success in 78 has an
    index below another arm's mean of 1/16. The index of 0.9.0, which used the arm's own skewness too, was above it.

    Every arm is pulled twice at the start. Afterwards one with fewer than ``exploration * log(t/K)`` rewards has an
    infinite index. Ties are broken in an order of the arms that is drawn once.

    With :math:`q = \sqrt{2 \log(1/(0.9 e))}`,

    .. math:: z = \max\Bigl(0, q - \frac{2.515517 + 0.802853 q + 0.010328 q^2}{1 + 1.432788 q + 0.189269 q^2 + 0.001308 q^3}
        \Bigr)

    is within 0.00045 of the quantile (Abramowitz and Stegun). While no arm has had two different rewards, the range of the
    means replaces :math:`\bar s`. While all rewards are equal, 1 replaces it; then the arm pulled least is next, unless
    levels are drawn.

    ``randomized``, each arm draws a uniform :math:`U` in each round, and :math:`\max(e, U)` takes the place of :math:`e` in
    :math:`L` and :math:`z`. An index is then infinite only if also :math:`U \le e`.

    It takes constant memory and keeps no rewards. It draws random numbers only for the tie-breaking order, and for levels
    if ``randomized``.

    Multiplying all rewards by a power of two, however small or large, changes no choice. Any other positive factor or shift
    has an effect only by rounding, which may break ties. Arms with rewards of 0 and 1 often have equal indices.

    See Also
    --------
    bandstrap.StudentizedUCB : the same without kurtosis, with each arm's own or all arms' skewness and another level.
    bandstrap.BootstrappedUCBPlus : a multiplier bootstrap in place of Student's t.

    Examples
    --------
    >>> from bandstrap import EdgeworthUCB
    >>> policy = EdgeworthUCB(arms=["a", "b"], rng=0)
    >>> policy.update(["a", "b"] * 5, [0.1, 1.0, 0.3, 1.2, 0.2, 0.9, 0.1, 1.1, 0.2, 1.0])
    >>> policy.select()
    'b'
    >>> policy.table()
    arm  pulls  mean  upper bound
      a      5  0.18     0.207843
      b      5  1.04      1.07122

    References
    ----------
    .. [1] Hall. Theoretical comparison of bootstrap confidence intervals. Annals of Statistics 16, 1988: the polynomials in
       :math:`z` that belong to skewness and kurtosis of a studentized mean.
    .. [2] Smyth. Linear models and empirical Bayes methods for assessing differential expression in microarray experiments.
       Statistical Applications in Genetics and Molecular Biology 3, 2004: borrowed degrees of freedom.
    .. [3] Abramowitz, Stegun. Handbook of Mathematical Functions, 1964: formula 26.2.23.
    """

    kernel = KernelOfEpochs(KERNEL, SUMS)
    indices_are_bounds = True
    name = "edgeworth_ucb"
    n_initial = 2

    def __init__(
        self,
        *,
        caution: float = 1.0,
        exploration: float = 0.5,
        randomized: bool = False,
        hall: bool = False,
        **online: Unpack[EpochOptions[Label]],
    ) -> None:
        self.caution = check_number(caution, "caution", type(self).__name__, above=0, below=MOST_CAUTION)
        self.exploration = self.not_negative(exploration, "exploration")
        self.randomized = check_flag(randomized, "randomized", type(self).__name__)
        self.hall = check_flag(hall, "hall", type(self).__name__)
        if self.hall:
            message = "EdgeworthUCB(hall=True), the index of 0.9.0, goes with the next minor release."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params | EpochParams:
        return self.with_epochs(Params(self.exploration, self.caution, self.randomized, self.hall))

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State | EpochState:
        """State before the first reward: all at zero."""
        pulls, central, facts = np.zeros(n_arms, dtype=np.int64), no_sums(n_arms), np.zeros((LOG_PULLS + 1, n_arms))
        if not self.has_epochs:
            return State(order, pulls, central, facts)
        weights, steps = np.zeros(n_arms), np.zeros(n_arms)
        return EpochState(order, pulls, weights, *central, facts, steps, no_epochs(n_arms))

    def in_rewards(self, score: float, shared: Any) -> float:
        """See :func:`score_in_rewards`; infinite for an arm that lacks pulls."""
        return score_in_rewards(score, shared)

    def bounds(self) -> dict[Hashable, IndexBounds]:
        """Per arm: pulls, mean and index, the upper bound that the next choice compares; of costs the lower one.

        The index is infinite for an arm that lacks pulls, and so comes first, and NaN for a retired arm. Nothing changes:
        if ``randomized``, levels are drawn from a copy of the policy's generator.
        """
        return self._index_bounds()
