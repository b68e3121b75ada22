"""What is known of a distribution, and whether it is what a bound assumes: the coverage lab's side of ``holds_for``."""

from __future__ import annotations

import math
import warnings
from typing import Any, Protocol

import numpy as np

from bandstrap.bounds.bound import BOUNDS

# Laws whose standard deviation is their sub-Gaussian scale: the normal law and, where they are symmetric, these bounded
# ones (Arbel, Marchal, Nguyen, ESAIM: Probability and Statistics 24, 2020; for truncated normal laws Barreto, Marchal,
# Arbel, Statistics and Probability Letters 2025).
STRICTLY_SUB_GAUSSIAN = ("norm", "uniform", "beta", "truncnorm", "bernoulli")
# Tail probabilities at which quantiles are compared; odd numbers, where no distribution function of use has a step.
TAILS = np.geomspace(1.234567e-6, 0.4876543, 40)
# Relative rounding allowed when a law is compared with an assumption.
ROUNDING = 1e-6


class Law(Protocol):
    """What a frozen ``scipy.stats`` distribution has and the lab always asks for."""

    def rvs(self, size: Any = ..., random_state: Any = ...) -> Any:
        """Draws."""
        ...

    def mean(self) -> Any:
        """Mean, which may not exist."""
        ...

    def support(self) -> Any:
        """Both ends."""
        ...


def law_name(law: Any) -> str:
    """SciPy's name of the family; empty for laws that are not SciPy's."""
    return str(getattr(getattr(law, "dist", None), "name", ""))


def target(law: Any) -> float:
    """What a bound should cover: the mean or, where it does not exist, the median."""
    mean = float(law.mean())
    return mean if math.isfinite(mean) else float(law.median())


def has_mean(law: Any) -> bool:
    """Whether the law has a finite mean."""
    return math.isfinite(float(law.mean()))


def law_support(law: Any) -> tuple[float, float] | None:
    """Both ends of the law, or ``None`` unless it has both."""
    low, high = (float(end) for end in law.support())
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def is_symmetric(law: Any) -> bool:
    """Whether quantiles lie symmetrically about the target, to one part in a million; false if the law has no quantiles.

    >>> from scipy import stats
    >>> is_symmetric(stats.t(1)), is_symmetric(stats.binom(5, 0.5)), is_symmetric(stats.gamma(50))
    (True, True, False)
    """
    if not hasattr(law, "ppf") or not hasattr(law, "isf"):
        return False
    below, above = np.asarray(law.ppf(TAILS)), np.asarray(law.isf(TAILS))
    return bool(np.all(np.abs(below + above - 2 * target(law)) <= ROUNDING * (above[0] - below[0])))


def deviation_is_scale(law: Any) -> bool:
    """Whether the standard deviation is known to be a sub-Gaussian scale."""
    return law_name(law) in STRICTLY_SUB_GAUSSIAN and is_symmetric(law)


def sub_gaussian_scale(law: Any) -> float | None:
    """The smallest scale the law is known to have: its standard deviation, half the length of its support, or none."""
    if deviation_is_scale(law):
        return float(law.std())
    ends = law_support(law)
    return None if ends is None else ends[1] / 2 - ends[0] / 2


def orlicz_mean(law: Any, sigma: float, beta: float) -> float:
    r"""``E exp(|y - mu|^beta / sigma^beta)``, by quadrature or summation; infinite where it cannot be computed.

    >>> from scipy import stats
    >>> orlicz_mean(stats.norm(), math.sqrt(8 / 3), 2)
    2.0
    """
    from scipy.integrate import quad

    centre = target(law)
    low, high = (float(end) for end in law.support())

    def exponent(y: Any) -> Any:
        return np.abs((y - centre) / sigma) ** beta

    if hasattr(law, "pmf"):
        if not (math.isfinite(low) and math.isfinite(high)):
            return math.inf
        values = np.arange(low, high + 1)
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


def unmet_assumption(name: str, options: dict[str, Any], law: Any) -> str:
    """Why the guarantee of the bound ``name`` does not cover this law; empty if it does."""
    assumes = BOUNDS[name].assumes
    if assumes == "normal":
        return "" if law_name(law) == "norm" else "the law is not normal"
    if assumes == "bounded":
        return _beyond_support(options["support"], law)
    if assumes == "sub-Gaussian":
        if "support" in options:
            return _beyond_support(options["support"], law)
        scale = sub_gaussian_scale(law)
        if scale is None:
            return "the law is not known to be sub-Gaussian"
        if scale > options["sigma"] * (1 + ROUNDING):
            return f"the law is not known to be sub-Gaussian of scale {options['sigma']:g}"
        return ""
    if assumes == "sub-Weibull":
        if orlicz_mean(law, options["sigma"], options["beta"]) > 2 * (1 + ROUNDING):
            return f"the psi_{options['beta']:g} norm of the law is not known to be at most {options['sigma']:g}"
        return "the law is not symmetric" if options.get("symmetric") and not is_symmetric(law) else ""
    if not is_symmetric(law):
        return "the law is not symmetric"
    return _unmet_by_phi(options, law)


def _unmet_by_phi(options: dict[str, Any], law: Any) -> str:
    """The same for the preliminary width of a bound, if it has one."""
    phi = options.get("phi")
    if phi is None:
        if "sigma" not in options and "support" not in options:
            return ""
        phi = "hoeffding"
    if phi in ("oracle", "oracle-adaptive"):  # which the lab takes from the law itself
        return ""
    if isinstance(phi, str):
        return unmet_assumption(phi, options, law)
    return "nothing is known of phi"


def _beyond_support(support: tuple[float, float], law: Any) -> str:
    low, high = (float(end) for end in law.support())
    slack = ROUNDING * (support[1] - support[0])
    if support[0] - slack <= low and high <= support[1] + slack:
        return ""
    return f"the law reaches beyond [{support[0]:g}, {support[1]:g}]"
