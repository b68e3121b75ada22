"""The distributions of the study, and what a bound is told of them beside what the coverage lab tells."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.coverage import resolve_distribution
from bandstrap.bounds.distributions import orlicz_mean

Kind = Literal["symmetric", "bounded", "skewed"]


@dataclass(frozen=True)
class StudiedLaw:
    """A distribution of the study.

    Attributes
    ----------
    name
        What tables call it.
    about
        What it is, in a few words.
    call
        The distribution as ``bandstrap coverage --distribution`` takes it; empty for those of this file.
    kind
        ``"symmetric"``, else ``"bounded"``, else ``"skewed"``.
    beta
        An exponent for which it is sub-Weibull; ``None`` for those whose psi norm nobody is given.
    """

    name: str
    about: str
    call: str
    kind: Kind
    beta: float | None = None

    def make(self) -> Any:
        """The distribution, with the methods of a frozen ``scipy.stats`` distribution."""
        return resolve_distribution(self.call) if self.call else OWN[self.name]()


class OftenZero:
    """0 with a probability, else a draw from another distribution of positive numbers.

    >>> from scipy import stats
    >>> law = OftenZero(0.9, stats.lognorm(1))
    >>> round(law.mean(), 4), float(law.ppf(0.9)), law.support()
    (0.1649, 0.0, (0.0, inf))
    """

    def __init__(self, zeros: float, others: Any) -> None:
        self.zeros, self.others = zeros, others

    def rvs(self, size: Any = None, random_state: Any = None) -> Floats:
        """Draws, by inversion: one uniform number each."""
        return self.ppf(np.random.default_rng(random_state).random(size))

    def ppf(self, probability: Any) -> Floats:
        """Quantiles."""
        share = (np.asarray(probability) - self.zeros) / (1 - self.zeros)
        return np.where(share > 0, self.others.ppf(np.maximum(share, 0.0)), 0.0)

    def isf(self, probability: Any) -> Floats:
        """Quantiles from above, which keep their digits in the far tail."""
        share = np.asarray(probability) / (1 - self.zeros)
        return np.where(share < 1, self.others.isf(np.minimum(share, 1.0)), 0.0)

    def median(self) -> float:
        """Median."""
        return float(self.ppf(0.5))

    def mean(self) -> float:
        """Mean."""
        return (1 - self.zeros) * float(self.others.mean())

    def std(self) -> float:
        """Standard deviation."""
        square = (1 - self.zeros) * (float(self.others.var()) + float(self.others.mean()) ** 2)
        return math.sqrt(square - self.mean() ** 2)

    def support(self) -> tuple[float, float]:
        """Both ends."""
        return 0.0, float(self.others.support()[1])


def skewed_ratings() -> Any:
    """One to five stars, half of them five."""
    from scipy import stats

    return stats.rv_discrete(name="skewed ratings", values=((1, 2, 3, 4, 5), (0.1, 0.05, 0.1, 0.25, 0.5)))()


def revenue() -> Any:
    """Nine visitors of ten buy nothing."""
    from scipy import stats

    return OftenZero(0.9, stats.lognorm(1))


OWN = {"skewed ratings": skewed_ratings, "revenue": revenue}

LAWS = (
    StudiedLaw("normal", "the normal distribution", "norm", "symmetric", beta=2.0),
    StudiedLaw("uniform", "on [0, 1]", "uniform", "symmetric"),
    StudiedLaw("Laplace", "double exponential", "laplace", "symmetric", beta=1.0),
    StudiedLaw("t(3)", "Student's t, 3 degrees of freedom", "t:df=3", "symmetric"),
    StudiedLaw("fair coin", "0 or 1, equally likely", "bernoulli:p=0.5", "symmetric"),
    StudiedLaw("ratings", "1 to 5, equally likely", "randint:low=1,high=6", "symmetric"),
    StudiedLaw("skewed ratings", "1 to 5 with probabilities 0.1, 0.05, 0.1, 0.25, 0.5", "", "bounded"),
    StudiedLaw("rare successes", "1 with probability 0.05, else 0", "bernoulli:p=0.05", "bounded"),
    StudiedLaw("beta(2, 5)", "on [0, 1], skewness 0.6", "beta:a=2,b=5", "bounded"),
    StudiedLaw("gamma(2)", "skewness 1.4", "gamma:a=2", "skewed", beta=1.0),
    StudiedLaw("exponential", "skewness 2", "expon", "skewed", beta=1.0),
    StudiedLaw("lognormal", "sigma = 1, skewness 6.2", "lognorm:s=1", "skewed"),
    StudiedLaw("Pareto(2.2)", "a variance, no skewness", "pareto:b=2.2", "skewed"),
    StudiedLaw("revenue", "0 with probability 0.9, else lognormal", "", "skewed"),
)
BY_NAME = {law.name: law for law in LAWS}


@functools.cache
def psi_norm(name: str) -> float:
    """The smallest ``sigma`` with ``E exp(|y - mu|^beta / sigma^beta) <= 2`` for a distribution with a ``beta``,
    rounded up.

    >>> round(psi_norm("normal") ** 2, 6)
    2.666667
    """
    studied = BY_NAME[name]
    if studied.beta is None:
        raise ValueError(f"nobody is given the psi norm of {name}")
    law, beta = studied.make(), studied.beta
    # Below, the mean grows without bound; the logarithm keeps the root in sight.
    root = brentq(
        lambda sigma: math.log(orlicz_mean(law, sigma, beta) / 2), 1.05 * float(law.std()), 20 * float(law.std())
    )
    return float(root) * (1 + 1e-9)
