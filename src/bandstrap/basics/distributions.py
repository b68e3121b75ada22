"""Frozen ``scipy.stats`` distributions: how to recognise one, to make one from its name, and to tell it from others."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.calls import parse_call
from bandstrap.errors import brief, requirement

# Everyday names of scipy.stats distributions.
DISTRIBUTION_NAMES = {
    "normal": "norm",
    "gaussian": "norm",
    "exponential": "expon",
    "student_t": "t",
    "truncated_normal": "truncnorm:a=-1,b=1",
}


class Law(Protocol):
    """Attributes of a frozen ``scipy.stats`` distribution that are always used."""

    def rvs(self, size: Any = ..., random_state: Any = ...) -> Any:
        """Draws."""

    def mean(self) -> Any:
        """Mean, which may not exist."""

    def support(self) -> Any:
        """Both ends."""


class KnownLaw(Law, Protocol):
    """Attributes of distributions that are known to SciPy. A distribution of the user's own may lack some of it: who
    asks has looked whether it is there.
    """

    dist: Any
    args: tuple[Any, ...]
    kwds: dict[str, Any]

    def median(self) -> float:
        """Median."""

    def std(self) -> float:
        """Standard deviation, which may not exist."""

    def cdf(self, y: ArrayLike, /) -> Floats:
        """Distribution function."""

    def ppf(self, probability: ArrayLike, /) -> Floats:
        """Quantiles from below."""

    def isf(self, probability: ArrayLike, /) -> Floats:
        """Quantiles from above."""

    def logpdf(self, y: ArrayLike, /) -> Floats:
        """Logarithm of the density, of a continuous distribution."""

    def logpmf(self, y: ArrayLike, /) -> Floats:
        """Logarithm of the probability, of a discrete distribution."""


def is_law(law: object) -> TypeGuard[KnownLaw]:
    """Return whether this is a frozen distribution of one number."""
    needed = ("rvs", "mean", "std", "support", "dist")
    return all(hasattr(law, name) for name in needed) and np.ndim(cast("Law", law).mean()) == 0


def law_name(law: object) -> str:
    """SciPy's name of the family; empty for distributions that are not SciPy's."""
    return str(getattr(getattr(law, "dist", None), "name", ""))


def law_content(law: KnownLaw) -> bytes:
    """Content that tells a distribution from others: name, moments, support and a few draws.

    Parameters are not enough: a user's own family may contain data, and the same distribution can be written in several
    ways.
    """
    with np.errstate(all="ignore"):  # SciPy's moments overflow on their way to a correct limit
        numbers = [law.mean(), law.std(), *law.support(), *law.rvs(size=64, random_state=np.random.default_rng(0))]
    return law_name(law).encode() + np.array(numbers, dtype="<f8").tobytes()


def law_called(text: str, parameter: str, owner: str, rule: str) -> KnownLaw:
    """A frozen distribution from its name with parameters, such as ``t:df=3``; ``rule`` is for refusals of unknown names.

    >>> float(law_called("geom:p=0.5", "delay", "simulate", "a law").mean())
    2.0
    """
    from scipy import stats

    call = parse_call(text)
    alias = parse_call(DISTRIBUTION_NAMES.get(call.name, call.name))
    family = getattr(stats, alias.name, None)
    if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
        raise requirement(parameter, owner, rule, brief(text))
    try:
        law = family(**alias.options | call.options)
        with np.errstate(all="ignore"):
            # The median last: of a binomial distribution of 1e300 coins, SciPy before 1.17 looks for it for ever.
            is_known = not (np.isnan(float(law.mean())) and np.isnan(float(law.median())))
    except (TypeError, ValueError, ArithmeticError):  # also of lists of parameters, whose means are not numbers
        shapes = family.shapes or "no shape parameter"
        rule = f"given with the parameters of {alias.name} ({shapes}; loc, scale)"
        raise requirement(parameter, owner, rule, brief(text)) from None
    if not is_known:
        rule = f"given with parameters inside the range of {alias.name}"
        raise requirement(parameter, owner, rule, brief(text))
    return cast("KnownLaw", law)
