"""Facts about a ``scipy.stats`` distribution: mean, support, symmetry, tails, values."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.distributions import KnownLaw, law_name
from bandstrap.bounds.empirical import EmpiricalDistribution

# Distributions whose standard deviation is their sub-Gaussian scale: the normal distribution and, where they are
# symmetric, these bounded ones (Arbel, Marchal, Nguyen, ESAIM: Probability and Statistics 24, 2020; for truncated
# normal distributions Barreto, Marchal, Arbel, Statistics and Probability Letters 2025).
STRICTLY_SUB_GAUSSIAN = ("norm", "uniform", "beta", "truncnorm", "bernoulli")
# Tail probabilities at which quantiles are compared; odd numbers, where no distribution function of use has a step.
TAILS = np.geomspace(1.234567e-6, 0.4876543, 40)
# Pairs of tail probabilities between which a tail is seen to be heavy; of some distributions SciPy has no farther
# quantiles.
FAR_TAILS = ((1e-10, 1e-60), (1e-50, 1e-300))
# Relative rounding allowed when a distribution is compared with an assumption.
ROUNDING = 1e-6


def target(law: KnownLaw) -> float:
    """Value that a bound should cover: the mean or, where it does not exist, the median."""
    mean = float(law.mean())
    return mean if math.isfinite(mean) else float(law.median())


def has_mean(law: KnownLaw) -> bool:
    """Return whether the distribution has a finite mean."""
    return math.isfinite(float(law.mean()))


def law_support(law: KnownLaw) -> tuple[float, float] | None:
    """Both ends of the distribution, or ``None`` unless it has both."""
    low, high = (float(end) for end in law.support())
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def is_symmetric(law: KnownLaw) -> bool:
    """Return whether quantiles lie symmetrically about the target, to one part in a million; false if the
    distribution has no quantiles.

    >>> from scipy import stats
    >>> is_symmetric(stats.t(1)), is_symmetric(stats.binom(5, 0.5)), is_symmetric(stats.gamma(50))
    (True, True, False)
    """
    if not has_quantiles(law):
        return False
    below, above = np.asarray(law.ppf(TAILS)), np.asarray(law.isf(TAILS))
    return bool(np.all(np.abs(below + above - 2 * target(law)) <= ROUNDING * (above[0] - below[0])))


def has_quantiles(law: object) -> bool:
    """Return whether the distribution tells its quantiles, from both ends."""
    return hasattr(law, "ppf") and hasattr(law, "isf")


def is_two_valued(law: KnownLaw, values: tuple[float, float]) -> bool:
    """Return whether the distribution gives these two values and no others.

    >>> from scipy import stats
    >>> is_two_valued(stats.bernoulli(0.3), (0, 1)), is_two_valued(stats.binom(2, 0.3), (0, 2))
    (True, False)
    """
    return hasattr(law, "pmf") and bool(abs(float(np.sum(law.pmf(np.array(values)))) - 1) <= ROUNDING)


def has_heavy_tail(law: KnownLaw) -> bool:
    """Return whether a tail is seen to be heavier than that of any normal distribution; false if that cannot be told.

    ``-log P(y - mu > x) / x^2`` stays above some number for a sub-Gaussian distribution; here it is seen to fall to
    less than half as ``x`` goes from one far quantile to a farther one. For a normal distribution it falls by 10 %,
    for Laplace's to a sixth.

    >>> from scipy import stats
    >>> has_heavy_tail(stats.norm(5, 3)), has_heavy_tail(stats.laplace()), has_heavy_tail(stats.t(3))
    (False, True, True)
    """
    if not has_quantiles(law):
        return False
    centre = target(law)
    for quantile in (law.isf, law.ppf):
        for tails in FAR_TAILS:
            near, far = (abs(float(quantile(tail)) - centre) for tail in tails)
            if 0 < far < math.inf and math.log(tails[1]) / math.log(tails[0]) * (near / far) ** 2 < 0.5:
                return True
    return False


def deviation_is_scale(law: KnownLaw) -> bool:
    """Return whether the standard deviation is known to be a sub-Gaussian scale."""
    return law_name(law) in STRICTLY_SUB_GAUSSIAN and is_symmetric(law)


def sub_gaussian_scale(law: KnownLaw) -> float | None:
    """The smallest scale the distribution is known to have: its standard deviation, half the length of its support,
    or none.
    """
    if deviation_is_scale(law):
        return float(law.std())
    ends = law_support(law)
    return None if ends is None else ends[1] / 2 - ends[0] / 2


def orlicz_mean(law: KnownLaw, sigma: float, beta: float) -> float:
    r"""``E exp(|y - mu|^beta / sigma^beta)``, by quadrature or summation; infinite where it cannot be computed.

    >>> from scipy import stats
    >>> orlicz_mean(stats.norm(), math.sqrt(8 / 3), 2)
    2.0
    """
    from scipy.integrate import quad

    centre = target(law)
    low, high = (float(end) for end in law.support())

    def exponent(y: ArrayLike) -> Floats:
        return np.asarray(np.abs((np.asarray(y) - centre) / sigma) ** beta)

    if hasattr(law, "pmf"):
        if not (math.isfinite(low) and math.isfinite(high)):
            return math.inf
        values = law.values if isinstance(law, EmpiricalDistribution) else np.arange(low, high + 1)
        return float(np.sum(np.exp(np.minimum(exponent(values) + law.logpmf(values), 700.0))))
    if not hasattr(law, "logpdf"):
        return math.inf
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a divergent integral shows by its size
        found = [
            quad(lambda y: math.exp(min(float(exponent(y) + law.logpdf(y)), 700.0)), *ends, limit=200)[0]
            for ends in ((low, centre), (centre, high))
        ]
    total = math.fsum(found)
    return total if math.isfinite(total) else math.inf
