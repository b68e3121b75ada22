"""What bounds assume of rewards, each assumption in one place: which laws meet it, and which samples contradict it.

The tests of samples take a few microseconds for a thousand rewards, since every bound runs them: no draws, and no sorting
where a sum will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, chdtrc, ndtr

from bandstrap.arrays import Floats
from bandstrap.bounds.bound import BOUNDS, ZERO_OR_ONE, AssumptionName, is_walk
from bandstrap.bounds.laws import (
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
from bandstrap.laws import law_name

# A doubt is raised when data at least as odd would come up this rarely under the assumption.
SIGNIFICANCE = 0.01
# Below this many rewards the tests have no power worth a sentence.
FEWEST = 8
# Up to this many rewards the p-value of Shapiro and Wilk's test is accurate; of more, every second or third is looked at.
MOST_FOR_SHAPIRO = 5000
# Of this many, random signs tell enough.
MOST_FOR_FLIPS = 2000

Options = Mapping[str, Any]


class Verdict(NamedTuple):
    """Whether an assumption holds: yes, no, or ``None`` for what is not known; and why not."""

    holds: bool | None
    why: str = ""


HOLDS = Verdict(holds=True)


@dataclass(frozen=True)
class Assumption:
    """An assumption that bounds make: a judgement on a law, and what in a sample speaks against it.

    All are told the options that the bound is called with, where ``sigma``, ``support`` and the like are.

    Attributes
    ----------
    name
        As bounds call it.
    of_law
        Whether a law meets it.
    contradicted_by
        A sentence on each feature of a sample that contradicts it, at the level ``SIGNIFICANCE``.
    """

    name: AssumptionName
    of_law: Callable[[Any, Options], Verdict]
    contradicted_by: Callable[[Floats, Options], list[str]]


def judge(name: str, options: Options, law: Any) -> Verdict:
    """Whether the guarantee of the bound ``name`` covers this law: all that it, and the bound its phi names, assume.

    >>> from scipy import stats
    >>> judge("sign_flip", {}, stats.gamma(2))
    Verdict(holds=False, why='the law is not symmetric')
    """
    verdicts = [ASSUMPTIONS[each].of_law(law, options) for each in BOUNDS[name].assumes]
    if name in WITH_PHI:
        verdicts.append(judge_phi(options, law))
    nothing = Verdict(None, f"{name} proves nothing")
    return min(verdicts, key=lambda verdict: GRAVITY.index(verdict.holds), default=nothing)


# The first of these that is found decides.
GRAVITY = (False, None, True)


def judge_phi(options: Options, law: Any) -> Verdict:
    """The same for the preliminary width of a bound, if it has one."""
    phi = phi_told(options)
    if phi is None:
        return HOLDS
    if not isinstance(phi, str):
        return Verdict(None, "nothing is known of phi")
    return HOLDS if phi in ORACLES else judge(phi, options, law)  # an oracle is taken from the law itself


def phi_told(options: Options) -> Any:
    """The preliminary width that these options name: Hoeffding's where they have a scale or a support alone."""
    phi = options.get("phi")
    has_scale = any(options.get(name) is not None for name in ("sigma", "support"))
    return "hoeffding" if phi is None and has_scale else phi


def contradictions(name: str, rewards: Floats, options: Options, *, in_order: bool = False) -> list[str]:
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
    if in_order and is_walk(name, options):
        found += trends(rewards)
    return list(dict.fromkeys(found))


def nothing(rewards: Floats, options: Options) -> list[str]:
    """Nothing contradicts what a bound checks of each reward, and refuses samples by."""
    return []


# --- symmetric, normal ------------------------------------------------------------------------------------------------


def symmetry_p_value(sample: ArrayLike) -> float:
    r"""P-value of the test of symmetry of Miao, Gel and Gastwirth.

    ``sqrt(n) (mean - median) / J`` with ``J = sqrt(pi/2) mean|y - median|`` is about ``N(0, pi/2 - 1)`` for normal
    rewards, and the robust scale keeps it near that for other symmetric ones.

    Examples
    --------
    >>> from bandstrap.bounds.assumptions import symmetry_p_value
    >>> symmetry_p_value([1, 1, 1, 2, 2, 3, 9, 30, 80, 250])
    0.0012

    References
    ----------
    .. [1] Miao, Gel, Gastwirth. A new test of symmetry about an unknown median. Random Walk, Sequential Analysis and
       Related Topics, 2006.
    """
    rewards, _ = near_one(check_sample(sample, "symmetry_p_value").ravel())
    median = float(np.median(rewards))
    spread = math.sqrt(math.pi / 2) * float(np.abs(rewards - median).mean())
    if spread == 0:
        return 1.0
    statistic = math.sqrt(rewards.size) * (float(rewards.mean()) - median) / spread
    return float(2 * ndtr(-abs(statistic) / math.sqrt(math.pi / 2 - 1)))


def flipped_symmetry_p_value(sample: ArrayLike, n_flips: int = 999, seed: int = 0) -> float:
    """The same by random signs: how often is ``|mean - median| / mean|y - median|`` as large once signs are drawn anew?

    Signs of the distances from the median make samples that are symmetric and as heavy-tailed as this one, so that this
    p-value also holds where there is no variance: of Cauchy samples of 60 rewards it rejects 1 % at 0.01, and the normal
    approximation 50 %.

    Examples
    --------
    >>> from bandstrap.bounds.assumptions import flipped_symmetry_p_value
    >>> flipped_symmetry_p_value([1, 1, 1, 2, 2, 3, 9, 30, 80, 250])
    0.023
    """
    rewards, _ = near_one(check_sample(sample, "flipped_symmetry_p_value").ravel())
    some = rewards[:: -(-rewards.size // MOST_FOR_FLIPS)]
    centred = some - np.median(some)
    if not centred.any():
        return 1.0
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(n_flips, some.size))
    # Signs that are all flipped give the same number but for its rounding.
    as_large = skewness(signs * np.abs(centred)) >= (1 - 1e-12) * skewness(centred)
    return float((1 + as_large.sum()) / (n_flips + 1))


def skewness(rows: Floats) -> Floats:
    """``|mean - median| / mean|y - median|`` along the last axis; 0 where all are equal."""
    medians = np.median(rows, axis=-1, keepdims=True)
    spread = np.abs(rows - medians).mean(axis=-1)
    difference = np.abs((rows - medians).mean(axis=-1))
    return np.divide(difference, spread, out=np.zeros_like(spread), where=spread > 0)


def binary_symmetry_p_value(rewards: Floats) -> float:
    """P-value of two equally likely values, for rewards of two values: twice the smaller tail of a fair coin."""
    n, highest = rewards.size, int((rewards == rewards.max()).sum())
    return min(1.0, 2 * float(bdtr(min(highest, n - highest), n, 0.5)))


def skew(rewards: Floats, options: Options) -> list[str]:
    """A test of symmetry; of rewards of two values that of a fair coin, which is exact."""
    if rewards.size < FEWEST or rewards.min() == rewards.max():
        return []
    values = np.unique(rewards)
    p_value = binary_symmetry_p_value(rewards) if values.size == 2 else symmetry_p_value(rewards)
    if p_value < SIGNIFICANCE and values.size > 2:  # heavy tails alone may be the reason
        p_value = max(p_value, flipped_symmetry_p_value(rewards))
    if p_value >= SIGNIFICANCE:
        return []
    if values.size == 2:
        advice = "; clopper_pearson is exact for them" if values.tolist() == [0.0, 1.0] else ""
        sentence = f"the rewards are of two values, {values[0]:g} and {values[1]:g}, and not equally many of each"
        return [f"{sentence} (fair coin, p = {p_value:.2g}){advice}"]
    scaled, _ = near_one(rewards)
    direction = "right" if scaled.mean() > np.median(scaled) else "left"
    return [f"the rewards look skewed to the {direction} (symmetry test, p = {p_value:.2g})"]


def not_normal(rewards: Floats, options: Options) -> list[str]:
    """A test of symmetry, and one of the normal law itself, by Shapiro and Wilk."""
    found = skew(rewards, options)
    if found or rewards.size < FEWEST or rewards.min() == rewards.max():
        return found
    from scipy.stats import shapiro

    scaled, _ = near_one(rewards)
    some = scaled[:: -(-scaled.size // MOST_FOR_SHAPIRO)]
    p_value = float(shapiro(some).pvalue)
    if p_value >= SIGNIFICANCE:
        return []
    return [f"the rewards do not look normal (Shapiro and Wilk's test, p = {p_value:.2g})"]


def symmetric_law(law: Any, options: Options) -> Verdict:
    """Symmetry about the mean, or about the median where there is none."""
    if not has_quantiles(law):
        return Verdict(None, "nothing is known of the law's quantiles")
    return HOLDS if is_symmetric(law) else Verdict(holds=False, why="the law is not symmetric")


def normal_law(law: Any, options: Options) -> Verdict:
    """The normal family."""
    return HOLDS if law_name(law) == "norm" else Verdict(holds=False, why="the law is not normal")


# --- bounded, sub-Gaussian, sub-Weibull -------------------------------------------------------------------------------


def bounded_law(law: Any, options: Options) -> Verdict:
    """A law inside the support that was told."""
    support = options["support"]
    low, high = (float(end) for end in law.support())
    slack = ROUNDING * (support[1] - support[0])
    if support[0] - slack <= low and high <= support[1] + slack:
        return HOLDS
    return Verdict(holds=False, why=f"the law reaches beyond [{support[0]:g}, {support[1]:g}]")


def sub_gaussian_law(law: Any, options: Options) -> Verdict:
    """A law known to have the scale that was told, or the support."""
    if options.get("support") is not None:
        return bounded_law(law, options)
    scale = sub_gaussian_scale(law)
    if scale is None and has_heavy_tail(law):
        return Verdict(holds=False, why="the law is not sub-Gaussian")
    if scale is None:
        return Verdict(None, "the law is not known to be sub-Gaussian")
    if scale <= options["sigma"] * (1 + ROUNDING):
        return HOLDS
    why = f"sub-Gaussian of scale {options['sigma']:g}"
    # The standard deviation is at most the scale.
    if float(law.std()) > options["sigma"] * (1 + ROUNDING):
        return Verdict(holds=False, why=f"the law is not {why}")
    return Verdict(None, f"the law is not known to be {why}")


def above_scale(rewards: Floats, options: Options) -> list[str]:
    """A standard deviation that is larger than ``sigma``, by the test for normal rewards."""
    sigma = options.get("sigma")
    if sigma is None or rewards.size < FEWEST:
        return []
    n = rewards.size
    scaled, exponent = near_one(rewards)  # so that squares neither overflow nor vanish
    digits, power = math.frexp(sigma)
    with np.errstate(over="ignore"):
        ratio = np.ldexp(scaled.std() / digits, exponent - power)
        p_value = float(chdtrc(n - 1, n * ratio**2))
    if p_value >= SIGNIFICANCE:
        return []
    deviation = float(np.ldexp(scaled.std(ddof=1), exponent))
    return [f"their standard deviation, {deviation:.3g}, is above sigma = {sigma:g}"]


def sub_weibull_law(law: Any, options: Options) -> Verdict:
    """A psi norm of at most sigma, by quadrature; symmetry where that was claimed."""
    if orlicz_mean(law, options["sigma"], options["beta"]) > 2 * (1 + ROUNDING):
        norm = f"the psi_{options['beta']:g} norm of the law"
        return Verdict(None, f"{norm} is not known to be at most {options['sigma']:g}")
    return symmetric_law(law, options) if options.get("symmetric") else HOLDS


def skew_if_symmetric(rewards: Floats, options: Options) -> list[str]:
    """A test of symmetry where that was claimed; of the tails of a law a sample tells too little to contradict anything."""
    return skew(rewards, options) if options.get("symmetric") else []


# --- binary -----------------------------------------------------------------------------------------------------------


def binary_law(law: Any, options: Options) -> Verdict:
    """A law of the two values that were told, by default 0 and 1."""
    values = options.get("support", ZERO_OR_ONE)
    if is_two_valued(law, values):
        return HOLDS
    return Verdict(holds=False, why=f"the law has other values than {values[0]:g} and {values[1]:g}")


# --- order ------------------------------------------------------------------------------------------------------------


def trend_p_value(sample: ArrayLike) -> float:
    """P-value of a test that rewards neither rise nor fall along the sample, by their rank correlation with their place.

    In a random order the rank correlation, equal rewards sharing their mean rank, has mean 0 and variance ``1/(n - 1)``;
    its law is taken for normal.

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
    _, which, counts = np.unique(rewards, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[which]
    ranks = ranks - ranks.mean()
    places = np.arange(rewards.size) - (rewards.size - 1) / 2
    size = math.sqrt(float(ranks @ ranks) * float(places @ places))
    return (float(ranks @ places) / size if size > 0 else 0.0), rewards.size


def trends(rewards: Floats) -> list[str]:
    """A trend along the sample, which a bound that walks through it cannot bear."""
    if rewards.size < FEWEST:
        return []
    p_value = trend_p_value(rewards)
    if p_value >= SIGNIFICANCE:
        return []
    rho, _ = rank_correlation(rewards)
    way = "rise" if rho > 0 else "fall"
    seen = f"the rewards {way} along the sample (rank correlation {rho:.2f}, p = {p_value:.2g})"
    return [f"{seen}, and the bound, which reads them in their order, does not hold for such an order"]


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
