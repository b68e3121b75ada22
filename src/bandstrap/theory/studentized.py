r"""Regret that is proved for ``StudentizedUCB(proved=True)`` and normal rewards of unknown, unequal variances.

An arm of standard deviation sigma that was pulled n times has, at level e, the index

.. math:: \mu + \sigma \frac{Z + b(n, e)\, W}{\sqrt n}

with independent ``Z``, standard normal, and ``W``, chi with ``n - 1`` degrees of freedom: ``Z`` is the error of the mean
and ``W^2 = S2/sigma^2``. All that is proved is about this variable. Lemmas and theorems are numbered as in
``docs/theorem.md``, where their proofs are. Deviations, here called shifts, are in units of the arm's standard deviation.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Literal, NamedTuple, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import FloatOrArray, as_number
from bandstrap.errors import check_choice, check_number, check_numbers, requirement
from bandstrap.multipliers.normal import ROUGHNESS

StudentizedForm = Literal["computed", "closed"]
FORMS: tuple[StudentizedForm, ...] = get_args(StudentizedForm)

# Constants of the policy: the part of the level its quantile is taken at, its largest exponent, and the pulls of each arm
# at the start.
QUANTILE_PART = 0.9
MOST_EXPONENT = 50.0
INITIAL_PULLS = 2

# Probability left out at each end of the chi distribution by quadrature, and put at 0 and at infinity: one of the two
# makes a result larger, the other smaller by no more than this part of it.
LEFT_OUT = 1e-15
FAR = 8.0  # what of a normal variable is beyond is left out likewise
NEGLIGIBLE = 1e-16
# The longest horizon: beyond, what is left out would count.
LONGEST = 1e9
# What a computed bound is raised by: more than ten times the error of quadrature, as measured by the tests.
MARGIN = 1e-6
# Pulls up to which blocks of pulls are single, and the ratio of their ends from there on. Finer blocks of the worse arm
# give smaller bounds and cost time; blocks of the better arm have a best size, because lemma 2 pays 2 for a block.
SINGLE_PULLS, PULLS_RATIO = 40, 1.03
SINGLE_BEST, BEST_RATIO, MOST_SINGLES = 6, 1.3, 10
# Probabilities, about, with which the index of the worse arm exceeds the values it is compared at.
COMMON_TAILS = [0.999, 0.98, 0.94, 0.88, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.13, 0.08, 0.04, 0.02]
TAILS = np.array([*COMMON_TAILS, 7e-3, 2e-3, 3e-4, 3e-5, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14])
# Where the closed form is proved, in forced pulls over log t.
LEAST_CLOSED, MOST_CLOSED = 0.08, 2.0
# Shares of the gap over which the closed form is minimised: theta, and eta as a part of (1 - theta)/2.
THETAS, ETAS = np.linspace(0.02, 0.98, 97)[:, None], np.linspace(0.02, 0.98, 49)


# --- the index and its two tails --------------------------------------------------------------------------------------


def multiplier(pulls: ArrayLike, level: ArrayLike, error: float = 0.0) -> Floats:
    r"""``b(n, e) = sqrt(exp(z^2/(n-1)) - 1) + sqrt(2 log(1/e)/(n (n-1)))``, what ``sqrt(S2/n)`` is multiplied by.

    ``z = Phi^-1(1 - 0.9 e) + error``. The policy's own ``z`` is within ``ROUGHNESS`` of the exact one. The value rises
    when ``n`` or ``e`` fall.
    """
    n, e = np.asarray(pulls, dtype=np.float64), np.minimum(level, 0.5)
    z = np.maximum(error - special.ndtri(QUANTILE_PART * e), 0.0)
    quantile = np.sqrt(np.expm1(np.minimum(z * z / (n - 1), MOST_EXPONENT)))
    return np.asarray(quantile + np.sqrt(-2 * np.log(e) / (n * (n - 1))))


class _Rule(NamedTuple):
    """Points of a chi variable, in rising order, and their weights: Gauss-Legendre in the logarithm."""

    points: Floats
    weights: Floats


@cache
def _legendre(size: int) -> tuple[Floats, Floats]:
    points, weights = np.polynomial.legendre.leggauss(size)
    return points, weights


@lru_cache(maxsize=4096)
def chi_rule(freedom: int) -> _Rule:
    """Quadrature for ``W``; what is left out at either end has a point of its own, at 0 and at infinity."""
    size = 256 if freedom < 2 else 128 if freedom < 4 else 80 if freedom < 16 else 40
    points, weights = _legendre(size)
    low = math.log(2 * special.gammaincinv(freedom / 2, LEFT_OUT)) / 2
    high = math.log(2 * special.gammainccinv(freedom / 2, LEFT_OUT)) / 2
    mode = math.log(freedom) / 2
    logs = low - mode + (high - low) * (points + 1) / 2
    mass = weights * np.exp(freedom * (logs - np.expm1(2 * logs) / 2))
    mass *= (1 - 2 * LEFT_OUT) / mass.sum()
    at = np.exp(mode + logs)
    return _Rule(np.concatenate([[0.0], at, [np.inf]]), np.concatenate([[LEFT_OUT], mass, [LEFT_OUT]]))


def lower_tail(freedom: int, start: ArrayLike, slope: ArrayLike) -> Floats:
    """``P(Z >= start + slope W)`` for a positive slope and ``W`` of ``freedom`` degrees: an index that is too low."""
    rule = chi_rule(freedom)
    line = np.asarray(start)[..., None] + np.asarray(slope)[..., None] * rule.points
    return np.asarray(special.ndtr(-line) @ rule.weights)


def upper_tail(freedom: int, value: ArrayLike, slope: float) -> Floats:
    """``P(Z + slope W >= value)`` for a positive slope: an index that is high.

    The variable of the smaller scale is integrated over second, in closed form, so that quadrature has no steps to meet.
    """
    v = np.asarray(value, dtype=np.float64)[..., None]
    if slope <= 1:
        rule = chi_rule(freedom)
        return np.asarray(special.ndtr(slope * rule.points - v) @ rule.weights)
    points, weights = _legendre(64)
    low, high = -FAR, np.clip(v, -FAR, FAR)
    at = low + (high - low) * (points + 1) / 2
    beyond = special.gammaincc(freedom / 2, np.square((v - at) / slope) / 2)
    inside = (high - low) / 2 * weights * np.exp(-np.square(at) / 2) / math.sqrt(2 * math.pi) * beyond
    return np.asarray(inside.sum(axis=-1) + special.ndtr(-high)[..., 0] + special.ndtr(-FAR))


# --- lemma 1: one sample size -----------------------------------------------------------------------------------------


def miss_probability(pulls: int, level: ArrayLike, shift: ArrayLike) -> Floats:
    """Lemma 1, left side: the probability that the index after ``pulls`` pulls is ``shift`` or more below the mean."""
    start, slope = np.broadcast_arrays(math.sqrt(pulls) * np.asarray(shift), multiplier(pulls, level, -ROUGHNESS))
    return lower_tail(pulls - 1, start, slope)


# --- lemma 2: a block of sample sizes ---------------------------------------------------------------------------------


def block_miss_bound(first: int, last: int, level: ArrayLike, shift: ArrayLike) -> Floats:
    """Lemma 2: bound on the probability that for some ``n`` from ``first`` to ``last`` the index is ``shift`` too low.

    ``level`` is that of the last, no smaller than those of the others.
    """
    slope = multiplier(last, level, -ROUGHNESS) * math.sqrt(first / last)
    start, slope = np.broadcast_arrays(math.sqrt(first) * np.asarray(shift), slope)
    return 2 * lower_tail(first - 1, start, slope)


def ever_miss_bound(
    others: ArrayLike, shift: ArrayLike, most_pulls: int, *, exploration: float = 0.25, caution: float = 1.0
) -> Floats:
    """Lemma 3: bound on the probability that an arm's index is ever ``shift`` too low while another has ``others`` pulls.

    The sum over blocks of pulls ``n`` of the arm, up to ``most_pulls``, at level ``n/(n + others)``; each block counts as a
    whole by lemma 2 or one by one by lemma 1, whichever is less. Fewer pulls than are forced do not occur.
    """
    pair = np.broadcast_arrays(np.asarray(others, dtype=np.float64), np.asarray(shift, dtype=np.float64))
    all_others, all_shifts = pair[0].ravel(), pair[1].ravel()
    total = np.where(all_shifts > 0, 0.0, 1.0)
    first = INITIAL_PULLS
    for last in blocks(INITIAL_PULLS, most_pulls, SINGLE_BEST, BEST_RATIO):
        # By lemma 2 without a bonus, all pulls from first on together have at most this probability.
        rest = 2 * special.ndtr(-math.sqrt(first) * all_shifts)
        going = np.flatnonzero((total < 1) & (rest > NEGLIGIBLE))
        if going.size == 0:
            break
        k, shifts = all_others[going], all_shifts[going]
        # n - exploration log(n + k + 1) rises with n from n + k + 1 >= exploration on: if the last is forced, all are.
        occurs = (last >= exploration * np.log(last + k + 1)) | (first + k + 1 < exploration)
        bound = np.full(going.size, np.inf)
        if last > first:
            level = np.minimum(last / (last + k), 0.5) / caution
            bound = block_miss_bound(first, last, level, shifts)
        if last - first < MOST_SINGLES:
            levels = [np.minimum(n / (n + k), 0.5) / caution for n in range(first, last + 1)]
            singles = [miss_probability(n, level, shifts) for n, level in enumerate(levels, start=first)]
            bound = np.minimum(bound, np.sum(singles, axis=0))
        total[going] += np.where(occurs, bound, 0.0)
        first = last + 1
    return np.minimum(total + NEGLIGIBLE, 1.0).reshape(pair[0].shape)


def blocks(first: int, last: int, single: int, ratio: float) -> list[int]:
    """Last members of blocks that make up ``first`` to ``last``, of one member each up to ``single``."""
    ends = []
    start = first
    while start <= last:
        end = start if start <= single else max(start, math.floor(start * ratio))
        ends.append(min(end, last))
        start = ends[-1] + 1
    return ends


# --- theorem 1: computed ----------------------------------------------------------------------------------------------


class PullOptions(TypedDict, total=False):
    """Parameters of a bound on pulls beside the two arms and the horizon."""

    n_arms: int
    caution: float
    exploration: float


class PullProbabilities(NamedTuple):
    """Bounds on the probabilities that an arm with ``k`` pulls is pulled again, for ``k`` from ``firsts`` to ``lasts``."""

    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    chances: Floats


def pull_chances(
    gap: float,
    scale: float,
    best_scale: float,
    horizon: int,
    *,
    n_arms: int = 2,
    caution: float = 1.0,
    exploration: float = 0.25,
) -> PullProbabilities:
    """Lemma 4, for an arm of standard deviation ``scale`` beside one that is better by ``gap``, in blocks of ``k``."""
    lasts = np.array(blocks(INITIAL_PULLS, horizon - 1, SINGLE_PULLS, PULLS_RATIO), dtype=np.int64)
    firsts = np.concatenate([[INITIAL_PULLS], lasts[:-1] + 1])
    # Of all arms together, when it is pulled, but for the initial pulls of arms that are neither it nor the one with most.
    pulls = max(horizon - 1 - INITIAL_PULLS * (n_arms - 2), 1)
    slopes = multiplier(firsts, np.minimum(firsts / pulls, 0.5) / caution, ROUGHNESS)
    values = np.empty((firsts.size, TAILS.size))
    tails = np.empty_like(values)
    for row, (last, slope) in enumerate(zip(lasts.tolist(), slopes.tolist(), strict=True)):
        rule = chi_rule(last - 1)
        mean = float(rule.points[:-1] @ rule.weights[:-1])
        spread = math.hypot(1.0, slope * math.sqrt(np.square(rule.points[:-1] - mean) @ rule.weights[:-1]))
        values[row] = slope * mean - spread * special.ndtri(TAILS)
        tails[row] = upper_tail(last - 1, values[row], slope)
    roots = np.sqrt(np.where(values >= 0, firsts[:, None], lasts[:, None]))
    shifts = (gap - scale * values / roots) / best_scale
    misses = ever_miss_bound(firsts[:, None], shifts, horizon, exploration=exploration, caution=caution)
    # The index lies between two values with a probability of the difference of their tails.
    between = -np.diff(tails, axis=1, prepend=1.0)
    chances = np.minimum((between * misses).sum(axis=1) + tails[:, -1], 1.0)
    chances[firsts < exploration * math.log(horizon)] = 1.0
    return PullProbabilities(firsts, lasts, chances)


def computed_pulls(gap: float, scale: float, best_scale: float, horizon: int, **options: Unpack[PullOptions]) -> float:
    """Theorem 1: bound on the expected pulls of an arm; ``options`` are those of :func:`pull_chances`."""
    if horizon <= INITIAL_PULLS:
        return float(horizon)
    firsts, lasts, chances = pull_chances(gap, scale, best_scale, horizon, **options)
    pulls = INITIAL_PULLS + float(chances @ (lasts - firsts + 1))
    return min(pulls * (1 + MARGIN), float(horizon))


def _computed_bound(means: Floats, scales: Floats, horizon: int, caution: float, exploration: float) -> float:
    options: PullOptions = {"n_arms": means.size, "caution": caution, "exploration": exploration}
    pulls = np.zeros(means.size)
    for arm in range(means.size):
        # Any better arm may stand for the best; one that is worse and not less noisy than another cannot do better.
        better = np.flatnonzero(means > means[arm])
        useful = [j for j in better if not np.any((means > means[j]) & (scales <= scales[j]))]
        bounds = [
            computed_pulls(gap, scales[arm], scale, horizon, **options)
            for gap, scale in {(means[j] - means[arm], scales[j]) for j in useful}
        ]
        pulls[arm] = min(bounds, default=0.0)
    return most_regret(means.max() - means, pulls, horizon)


def most_regret(gaps: Floats, pulls: Floats, horizon: int) -> float:
    """The most regret of as many pulls of each arm and ``horizon`` of all: those of the largest gaps first."""
    left, regret = float(horizon), 0.0
    for arm in np.argsort(-gaps):
        taken = min(left, pulls[arm])
        left -= taken
        regret += gaps[arm] * taken
    return regret


# --- theorem 2: closed form -------------------------------------------------------------------------------------------


def miss_sum_bound(shift: ArrayLike, horizon: float, exploration: float) -> Floats:
    r"""Lemma 5: bound on the sum over ``k`` of the probabilities that the best arm's index is ``shift`` too low.

    ``A = 1.2 sum_n exp(-n a) n (l + 0.943 l^1.5)`` with ``a = shift^2/2`` and ``l = min(n/c, log T)``. Each power ``p`` is
    summed by integral and maximum, ``sum n^p exp(-n a) <= Gamma(p+1)/a^(p+1) + (p/(e a))^p``, and the smaller of the sums
    with ``n/c`` and with ``log T`` is taken for either power of ``l``.
    """
    a = np.square(np.asarray(shift, dtype=np.float64)) / 2
    log = math.log(horizon)

    def series(p: float) -> Floats:
        return np.asarray(special.gamma(p + 1) / a ** (p + 1) + (p / (math.e * a)) ** p)

    first = np.minimum(series(2.0) / exploration, series(1.0) * log)
    second = np.minimum(series(2.5) / exploration**1.5, series(1.0) * log**1.5)
    return np.asarray(1.2 * (first + 0.943 * second))


def closed_pulls(
    gap: float, scale: float, best_scale: float, horizon: float, *, caution: float = 1.0, exploration: float = 0.25
) -> float:
    """Theorem 2: bound on the expected pulls of an arm, with the best of THETAS and ETAS."""
    ratio, log = gap / scale, math.log(caution * horizon)
    theta, eta = THETAS, ETAS * (1 - THETAS) / 2
    main = 2 * log / np.log1p(((1 - theta - 2 * eta) * ratio) ** 2 / (1 + eta))
    correction = np.sqrt(2 * log * (1 + eta)) / (eta * ratio)
    early = np.maximum(np.maximum(main, correction), exploration * math.log(horizon))
    deviations = 1 / (eta * ratio) ** 2 + 2 / (eta - np.log1p(eta))
    rest = miss_sum_bound(theta * gap / best_scale, horizon, exploration)
    return float(np.min(early + 2 + deviations + rest))


def _closed_bound(gaps: Floats, scales: Floats, horizon: int, caution: float, exploration: float) -> float:
    best = float(scales[gaps == 0].min())
    pulls = [
        min(closed_pulls(gap, scale, best, horizon, caution=caution, exploration=exploration), float(horizon))
        if gap > 0
        else 0.0
        for gap, scale in zip(gaps, scales, strict=True)
    ]
    return most_regret(gaps, np.array(pulls), horizon)


# --- the front door ---------------------------------------------------------------------------------------------------


def studentized_regret_bound(
    means: ArrayLike,
    scales: ArrayLike,
    horizon: ArrayLike,
    *,
    caution: float = 1.0,
    exploration: float = 0.25,
    form: StudentizedForm = "computed",
) -> FloatOrArray:
    r"""Upper bound on the expected regret of ``StudentizedUCB(proved=True)`` with normal rewards.

    Arm ``i`` is pulled for the ``k + 1``-st time with a probability of at most

    .. math:: p_k = P\left(U_k \ge \min_n V_n\right)

    with independent ``U_k``, its index after ``k`` pulls at level ``k/T``, and ``V_n``, the best arm's index after ``n``
    pulls at level ``n/(n + k)``. The bound is ``sum_i gap_i sum_k p_k`` with each ``p_k`` from above (``"computed"``), or

    .. math:: \sum_i \Delta_i \left[\max\left\{c \log T,\;
        \frac{2 \log T}{\log(1 + (1 - \theta - 2\eta)^2 \Delta_i^2 / ((1 + \eta) \sigma_i^2))},\;
        \frac{\sigma_i \sqrt{2 (1 + \eta) \log T}}{\eta \Delta_i}\right\} + 2 + \frac{\sigma_i^2}{\eta^2 \Delta_i^2}
        + \frac{2}{\eta - \log(1 + \eta)} + A\right]

    with :math:`A = 1.2 \sum_n n e^{-n a} (\ell_n + 0.943 \ell_n^{1.5})`, :math:`a = \theta^2 \Delta_i^2/(2 \sigma_*^2)`,
    :math:`\ell_n = \min(n/c, \log T)` and the best :math:`\theta` and :math:`\eta` for each arm (``"closed"``).

    Parameters
    ----------
    means
        Means of the arms, shape ``(n_arms,)``.
    scales
        Standard deviations of the rewards, greater than 0, one for all arms or one per arm.
    horizon
        Number of rounds ``T``, a number or an array, each at least 2 and at most ``10^9``.
    caution, exploration
        Parameters of the policy; the closed form needs a ``caution`` of at least 1, and an ``exploration`` from 0.08 to 2.
    form
        ``"computed"`` (default) adds up probabilities. ``"closed"`` is a formula, but far larger. It implies that regret
        divided by ``log T`` is asymptotically the least possible (:func:`lai_robbins_bound`) as long as
        ``2/log(1 + gap^2/sigma^2) >= exploration`` for all arms.

    Returns
    -------
    float or ndarray
        The bound, of the shape of ``horizon``. The bound is rounded up: in the computed form it is raised by a millionth,
        more than the error of quadrature.

    Notes
    -----
    The bound holds if each reward is learned before the next choice, but not for ``consistent=True``, which forces more
    pulls. ``docs/theorem.md`` has proofs, a comparison with measured regret, and non-normal rewards for which the bound
    fails.

    Examples
    --------
    >>> from bandstrap.theory import studentized_regret_bound
    >>> bound = studentized_regret_bound([1, 0], [1, 2], [200, 2000])
    >>> bool(bound[0] < bound[1] < studentized_regret_bound([1, 0], [1, 2], 2000, form="closed"))
    True

    References
    ----------
    .. [1] Cowan, Honda, Katehakis. Normal bandits of unknown means and variances. JMLR 18, 2018: a related index.
    """
    owner = "studentized_regret_bound"
    arms = check_numbers(means, "means", owner)
    if arms.ndim != 1 or arms.size == 0:
        raise requirement("means", owner, "of shape (n_arms,)", f"shape {arms.shape}")
    noise = check_numbers(scales, "scales", owner)
    if noise.shape not in ((), arms.shape):
        raise requirement("scales", owner, "one number, or one per arm", f"shape {noise.shape}")
    if (noise <= 0).any():
        raise requirement("scales", owner, "greater than 0", float(noise.min()))
    rounds = check_numbers(horizon, "horizon", owner, at_least=2)
    if (rounds > LONGEST).any():
        raise requirement("horizon", owner, f"at most {LONGEST:g}", float(rounds.max()))
    care = check_number(caution, "caution", owner, above=0)
    forced = check_number(exploration, "exploration", owner, at_least=0)
    check_choice(form, "form", owner, FORMS)
    noise = np.broadcast_to(noise, arms.shape)
    if form == "closed":
        if care < 1:
            raise requirement("caution", owner, "at least 1 in the closed form", care)
        if not LEAST_CLOSED <= forced <= MOST_CLOSED:
            rule = f"from {LEAST_CLOSED:g} to {MOST_CLOSED:g} in the closed form"
            raise requirement("exploration", owner, rule, forced)
        totals = [_closed_bound(arms.max() - arms, noise, math.ceil(t), care, forced) for t in rounds.flat]
    else:
        totals = [_computed_bound(arms, noise, math.ceil(t), care, forced) for t in rounds.flat]
    return as_number(np.reshape(totals, rounds.shape), rounds.shape)
