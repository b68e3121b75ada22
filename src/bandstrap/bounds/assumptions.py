"""Assumptions of bounds, each in one place: which distributions meet it, and which samples contradict it.

The tests of samples take a few microseconds for a thousand rewards, since every bound runs them: no draws, and no sorting
where a sum will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, chdtrc, ndtr, ndtri

from bandstrap.basics.arrays import Floats
from bandstrap.basics.distributions import KnownLaw, law_name
from bandstrap.bounds.bound import BOUNDS, ZERO_OR_ONE, AssumptionName, BoundOptions
from bandstrap.bounds.distributions import (
    ROUNDING,
    has_heavy_tail,
    has_quantiles,
    is_symmetric,
    is_two_valued,
    orlicz_mean,
    sub_gaussian_scale,
)
from bandstrap.bounds.oracle import ORACLES
from bandstrap.bounds.phi import WITH_PHI
from bandstrap.errors import check_sample, near_one

# A doubt is raised when data at least as odd would come up this rarely under the assumption.
SIGNIFICANCE = 0.01
# Below this many rewards the tests have no power worth a sentence.
FEWEST = 8
# Up to this many rewards Royston's approximation is accurate; of more, every second or third is looked at.
MOST_FOR_NORMALITY = 5000
# Where distances from the middle are cut, how far rewards of short tails are from it, both in half interquartile ranges,
# and how many values are few: chosen for the level at samples of 12 to 300 of fifteen symmetric distributions.
CUT = 5.0
FEW_HALVES = 3.0
FEW_VALUES = 5
# Sixth powers of numbers between this and its inverse are floats.
SMALLEST_SCALE = 1e-50


class Verdict(NamedTuple):
    """Verdict on an assumption holds: yes, no, or ``None`` if unknown; and the reason."""

    holds: bool | None
    why: str = ""


HOLDS = Verdict(holds=True)


@dataclass(frozen=True)
class Assumption:
    """An assumption that bounds make: a judgement on a distribution, and what in a sample speaks against it.

    All are given the options that the bound is called with, where ``sigma``, ``support`` and the like are.

    Attributes
    ----------
    name
        As bounds call it.
    of_law
        Whether a distribution meets it.
    contradicted_by
        A sentence on each feature of a sample that contradicts it, at the level ``SIGNIFICANCE``.
    """

    name: AssumptionName
    of_law: Callable[[KnownLaw, BoundOptions], Verdict]
    contradicted_by: Callable[[Floats, BoundOptions], list[str]]


def judge(name: str, options: BoundOptions, law: KnownLaw) -> Verdict:
    """Return whether the guarantee of the bound ``name`` covers this distribution: all that it, and the bound its phi
    names, assume.

    >>> from scipy import stats
    >>> judge("sign_flip", {}, stats.gamma(2))
    Verdict(holds=False, why='the distribution is not symmetric')
    """
    verdicts = [ASSUMPTIONS[each].of_law(law, options) for each in BOUNDS[name].assumes]
    if name in WITH_PHI:
        verdicts.append(judge_phi(options, law))
    nothing = Verdict(None, f"{name} proves nothing")
    return min(verdicts, key=lambda verdict: GRAVITY.index(verdict.holds), default=nothing)


# The first of these that is found decides.
GRAVITY = (False, None, True)


def judge_phi(options: BoundOptions, law: KnownLaw) -> Verdict:
    """The same for the preliminary width of a bound, if it has one."""
    phi = phi_told(options)
    if phi is None:
        return HOLDS
    if not isinstance(phi, str):
        return Verdict(None, "nothing is known of phi")
    return HOLDS if phi in ORACLES else judge(phi, options, law)  # an oracle is taken from the distribution itself


def phi_told(options: BoundOptions) -> object:
    """The preliminary width that these options name: Hoeffding's where they have a scale or a support alone."""
    phi = options.get("phi")
    has_scale = any(options.get(name) is not None for name in ("sigma", "support"))
    return "hoeffding" if phi is None and has_scale else phi


def contradictions(name: str, rewards: Floats, options: BoundOptions, *, in_order: bool = False) -> list[str]:
    """Features of a sample that contradict what the bound ``name`` assumes, one sentence each; usually none.

    The sample is one that the bound does not refuse. ``in_order`` says that the rewards are in the order in which the
    bound reads them, if it is a sequential one.
    """
    found = [
        sentence for each in BOUNDS[name].assumes for sentence in ASSUMPTIONS[each].contradicted_by(rewards, options)
    ]
    phi = phi_told(options) if name in WITH_PHI else None
    if isinstance(phi, str) and phi in BOUNDS:
        found += contradictions(phi, rewards, options)
    if in_order and BOUNDS[name].walks:
        found += trends(rewards)
    return list(dict.fromkeys(found))


def nothing(rewards: Floats, options: BoundOptions) -> list[str]:
    """Nothing contradicts what a bound checks of each reward, and refuses samples by."""
    return []


# --- symmetric, normal ------------------------------------------------------------------------------------------------


def symmetry_p_value(ordered: Floats) -> float:
    r"""P-value of a test of symmetry about an unknown centre, which heavy tails do not mislead.

    ``ordered`` are :func:`ascending` rewards.

    .. math:: t = \sum_i \psi(y_i - m) \Big/ \sqrt{\sum_i b_i^2}, \qquad b_i = \psi(y_i - m) - 2 p\, \chi(y_i - m)

    with ``m`` the mean of the middle half of the rewards, ``q`` half their interquartile range, ``psi`` the distance from
    ``m`` cut at ``5 q`` and ``chi`` the one cut at ``q``, and ``p`` the share of rewards within ``5 q``. ``2 chi`` is the
    influence of a reward on ``m``. Of symmetric rewards the ``b_i`` are symmetric, too, so that ``t`` has the tail of the
    normal distribution at most, however heavy theirs is. At 0.01 and 60 rewards 0.9 % of normal, 1.1 % of Cauchy and 94 %
    of exponential samples are rejected.

    Rewards of up to 5 values, and those within ``3 q`` of ``m``, say little of a middle half. A second test must then
    reject, too: the same ``t`` with cubes for ``psi`` and the mean for ``m``.

    Examples
    --------
    >>> from bandstrap.bounds.assumptions import ascending, symmetry_p_value
    >>> symmetry_p_value(ascending([1, 1, 1, 2, 2, 3, 9, 30, 80, 250])), symmetry_p_value(ascending(range(20)))
    (0.069, 1.0)
    """
    n = ordered.size
    quarter = n // 4
    distances = ordered - np.add.reduce(ordered[quarter : n - quarter]) / (n - 2 * quarter)
    half = float(distances[n - 1 - quarter] - distances[quarter]) / 2
    # Where more than half are equal, the mean distance is what there is of a scale.
    cut = CUT * (half or float(np.abs(distances).mean()))
    trimmed = np.minimum(np.maximum(distances, -cut), cut)
    within = np.searchsorted(distances, cut, side="right") - np.searchsorted(distances, -cut)
    influences = np.minimum(np.maximum(distances, -half), half)
    influences *= -within / (n - 2 * quarter)
    influences += trimmed
    t = self_normalised(np.add.reduce(trimmed), influences)
    p_value = float(2 * ndtr(-abs(t)))
    if p_value >= SIGNIFICANCE:
        return p_value
    if max(-distances[0], distances[-1]) <= FEW_HALVES * half or n_values(ordered) <= FEW_VALUES:
        distances = ordered - ordered.mean()
        cubes = distances**3
        t = self_normalised(cubes.sum(), cubes - 3 * (distances @ distances) / n * distances)
        p_value = max(p_value, float(2 * ndtr(-abs(t))))
    return p_value


def self_normalised(total: float, terms: Floats) -> float:
    """A sum divided by the root of the sum of squares of its terms; 0 where all of them are 0."""
    size = math.sqrt(float(terms @ terms))
    return float(total) / size if size > 0 else 0.0


def n_values(ordered: Floats) -> int:
    """Number of different rewards, in ascending order."""
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))


def ascending(rewards: ArrayLike) -> Floats:
    """Rewards in ascending order, divided by a power of two where their squares might overflow or vanish."""
    ordered = np.sort(np.asarray(rewards, dtype=np.float64))
    largest = max(-ordered[0], ordered[-1])
    return ordered if SMALLEST_SCALE < largest < 1 / SMALLEST_SCALE else near_one(ordered)[0]


def binary_symmetry_p_value(count: int, n: int) -> float:
    """P-value of two equally likely values, of which one came ``count`` times: twice the smaller tail of a fair coin."""
    return min(1.0, 2 * float(bdtr(min(count, n - count), n, 0.5)))


def skew(rewards: Floats, options: BoundOptions) -> list[str]:
    """A test of symmetry; of rewards of two values that of a fair coin, which is exact."""
    return skew_of(ascending(rewards), rewards)


def skew_of(ordered: Floats, rewards: Floats) -> list[str]:
    """The same of rewards in ascending order, which may be scaled, and as they are."""
    if ordered.size < FEWEST or ordered[0] == ordered[-1]:
        return []
    lowest = int(ordered.searchsorted(ordered[0], side="right"))
    if ordered[lowest] == ordered[-1]:
        p_value = binary_symmetry_p_value(lowest, ordered.size)
        values = float(rewards.min()), float(rewards.max())
        advice = "; clopper_pearson is exact for them" if values == ZERO_OR_ONE else ""
        sentence = f"the rewards take two values, {values[0]:g} and {values[1]:g}, in unequal numbers"
        return [f"{sentence} (fair coin, p = {p_value:.2g}){advice}"] if p_value < SIGNIFICANCE else []
    p_value = symmetry_p_value(ordered)
    if p_value >= SIGNIFICANCE:
        return []
    quarter = ordered.size // 4
    direction = "right" if ordered.mean() > ordered[quarter : ordered.size - quarter].mean() else "left"
    return [f"the rewards look skewed to the {direction} (symmetry test, p = {p_value:.2g})"]


@cache
def normal_scores(n: int) -> Floats:
    """Blom's approximate means of ``n`` ordered standard normal numbers, of squares that add up to 1."""
    scores = ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    return np.asarray(scores / math.sqrt(float(scores @ scores)))


def normality_p_value(ordered: Floats) -> float:
    r"""P-value of the test of normality of Shapiro and Francia; ``ordered`` are :func:`ascending` rewards.

    ``1 - W`` is the share of the variance that the regression of ordered rewards on normal scores leaves. Its logarithm is
    about normal, of a mean and a deviation that Royston gives for 5 to 5000 rewards; of more, every second or third is
    taken.

    Examples
    --------
    >>> from bandstrap.bounds.assumptions import ascending, normality_p_value
    >>> normality_p_value(ascending([1, 1, 1, 2, 2, 3, 9, 30, 80, 250]))
    0.0002

    References
    ----------
    .. [1] Shapiro, Francia. An approximate analysis of variance test for normality. JASA 67, 1972.
    .. [2] Royston. A toolkit for testing for non-normality in complete and censored samples. The Statistician 42, 1993.
    """
    some = ordered[:: -(-ordered.size // MOST_FOR_NORMALITY)]
    distances = some - np.add.reduce(some) / some.size
    explained = float(normal_scores(some.size) @ distances) ** 2 / float(distances @ distances)
    u = math.log(some.size)
    v = math.log(u)
    # Of rewards that are the scores themselves, nothing is left but rounding.
    z = math.log(max(1 - explained, 1e-16)) - (-1.2725 + 1.0521 * (v - u))
    return float(ndtr(-z / (1.0308 - 0.26758 * (v + 2 / u))))


def not_normal(rewards: Floats, options: BoundOptions) -> list[str]:
    """A test of normality; where it rejects and one of symmetry does, too, that is what is told."""
    ordered = ascending(rewards)
    if ordered.size < FEWEST or ordered[0] == ordered[-1]:
        return []
    p_value = normality_p_value(ordered)
    if p_value >= SIGNIFICANCE:
        return []
    sentence = f"the rewards do not look normal (Shapiro and Francia's test, p = {p_value:.2g})"
    return skew_of(ordered, rewards) or [sentence]


def symmetric_law(law: KnownLaw, options: BoundOptions) -> Verdict:
    """Symmetry about the mean, or about the median where there is none."""
    if not has_quantiles(law):
        return Verdict(None, "nothing is known of the distribution's quantiles")
    return HOLDS if is_symmetric(law) else Verdict(holds=False, why="the distribution is not symmetric")


def normal_law(law: KnownLaw, options: BoundOptions) -> Verdict:
    """The normal family."""
    return HOLDS if law_name(law) == "norm" else Verdict(holds=False, why="the distribution is not normal")


# --- bounded, sub-Gaussian, sub-Weibull -------------------------------------------------------------------------------


def bounded_law(law: KnownLaw, options: BoundOptions) -> Verdict:
    """A distribution inside the support that was given."""
    support = options["support"]
    low, high = (float(end) for end in law.support())
    slack = ROUNDING * (support[1] - support[0])
    if support[0] - slack <= low and high <= support[1] + slack:
        return HOLDS
    return Verdict(holds=False, why=f"the distribution reaches beyond [{support[0]:g}, {support[1]:g}]")


def sub_gaussian_law(law: KnownLaw, options: BoundOptions) -> Verdict:
    """A distribution known to have the scale that was given, or the support."""
    if options.get("support") is not None:
        return bounded_law(law, options)
    scale = sub_gaussian_scale(law)
    if scale is None and has_heavy_tail(law):
        return Verdict(holds=False, why="the distribution is not sub-Gaussian")
    if scale is None:
        return Verdict(None, "the distribution is not known to be sub-Gaussian")
    if scale <= options["sigma"] * (1 + ROUNDING):
        return HOLDS
    why = f"sub-Gaussian of scale {options['sigma']:g}"
    # The standard deviation is at most the scale.
    if float(law.std()) > options["sigma"] * (1 + ROUNDING):
        return Verdict(holds=False, why=f"the distribution is not {why}")
    return Verdict(None, f"the distribution is not known to be {why}")


def above_scale(rewards: Floats, options: BoundOptions) -> list[str]:
    """A standard deviation that is larger than ``sigma``, by the test for normal rewards."""
    sigma = options.get("sigma")
    if sigma is None or rewards.size < FEWEST:
        return []
    n = rewards.size
    if SMALLEST_SCALE < sigma < 1 / SMALLEST_SCALE:
        with np.errstate(over="ignore", invalid="ignore"):
            distances = rewards - np.add.reduce(rewards) / n
            # What is not above its mean does not come up rarely.
            if distances @ distances <= (n - 1) * sigma * sigma:
                return []
    near, exponent = near_one(rewards)  # so that squares neither overflow nor vanish
    digits, power = math.frexp(sigma)
    with np.errstate(over="ignore"):
        ratio = np.ldexp(near.std() / digits, exponent - power)
        p_value = float(chdtrc(n - 1, n * ratio**2))
    if p_value >= SIGNIFICANCE:
        return []
    deviation = float(np.ldexp(near.std(ddof=1), exponent))
    return [f"their standard deviation, {deviation:.3g}, is above sigma = {sigma:g}"]


def sub_weibull_law(law: KnownLaw, options: BoundOptions) -> Verdict:
    """A psi norm of at most sigma, by quadrature; symmetry where that was claimed."""
    if orlicz_mean(law, options["sigma"], options["beta"]) > 2 * (1 + ROUNDING):
        norm = f"the psi_{options['beta']:g} norm of the distribution"
        return Verdict(None, f"{norm} is not known to be at most {options['sigma']:g}")
    return symmetric_law(law, options) if options.get("symmetric") else HOLDS


def skew_if_symmetric(rewards: Floats, options: BoundOptions) -> list[str]:
    """A test of symmetry where that was claimed; of the tails of a distribution a sample tells too little to
    contradict anything.
    """
    return skew(rewards, options) if options.get("symmetric") else []


# --- binary -----------------------------------------------------------------------------------------------------------


def binary_law(law: KnownLaw, options: BoundOptions) -> Verdict:
    """A distribution of the two values that were given, by default 0 and 1."""
    values = options.get("support", ZERO_OR_ONE)
    if is_two_valued(law, values):
        return HOLDS
    return Verdict(holds=False, why=f"the distribution has other values than {values[0]:g} and {values[1]:g}")


# --- order ------------------------------------------------------------------------------------------------------------


def trend_p_value(sample: ArrayLike) -> float:
    """P-value of a test that rewards neither rise nor fall along the sample, by their rank correlation with their place.

    In a random order the rank correlation, equal rewards sharing their mean rank, has mean 0 and variance ``1/(n - 1)``;
    its distribution is taken for normal.

    Examples
    --------
    >>> from bandstrap.bounds.assumptions import trend_p_value
    >>> trend_p_value([1, 1, 2, 3, 3, 5, 8, 13]), trend_p_value([3, 1, 8, 2, 5, 1, 13, 3])
    (0.0089, 0.5447)

    References
    ----------
    .. [1] Spearman. The proof and measurement of association between two things. American Journal of Psychology 15, 1904.
    """
    rho, n = rank_correlation(check_sample(sample, "trend_p_value").ravel())
    return float(2 * ndtr(-abs(rho) * math.sqrt(n - 1)))


def rank_correlation(rewards: Floats) -> tuple[float, int]:
    """Spearman's correlation of rewards with their place, 0 if they are all equal; and how many they are."""
    n = rewards.size
    order = np.argsort(rewards)
    ordered = rewards[order]
    ranks = np.arange(n) - (n - 1) / 2
    if (ordered[1:] == ordered[:-1]).any():
        _, counts = np.unique(ordered, return_counts=True)
        ranks = np.repeat(np.cumsum(counts) - (counts + n) / 2, counts)
    places = np.arange(n) - (n - 1) / 2
    size = math.sqrt(float(ranks @ ranks) * float(places @ places))
    return (float(ranks @ places[order]) / size if size > 0 else 0.0), n


def trends(rewards: Floats) -> list[str]:
    """A trend along the sample, which contradicts what a sequential bound assumes."""
    if rewards.size < FEWEST:
        return []
    p_value = trend_p_value(rewards)
    if p_value >= SIGNIFICANCE:
        return []
    rho, _ = rank_correlation(rewards)
    way = "rise" if rho > 0 else "fall"
    seen = f"the rewards {way} along the sample (rank correlation {rho:.2f}, p = {p_value:.2g})"
    return [f"{seen}; the bound reads them in this order, for which it does not hold"]


ASSUMPTIONS: dict[AssumptionName, Assumption] = {
    each.name: each
    for each in (
        Assumption("bounded", bounded_law, nothing),
        Assumption("symmetric", symmetric_law, skew),
        Assumption("sub-Gaussian", sub_gaussian_law, above_scale),
        Assumption("sub-Weibull", sub_weibull_law, skew_if_symmetric),
        Assumption("normal", normal_law, not_normal),
        Assumption("binary", binary_law, nothing),
    )
}
