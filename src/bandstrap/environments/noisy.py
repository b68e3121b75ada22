"""Mean plus symmetric noise: normal, mixed normal, truncated normal, logistic, Laplace, Student t, sub-Weibull."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from scipy.special import ndtr, ndtri

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.environments.environment import ArmOptions, Environment, NumberSequence
from bandstrap.errors import check_number, requirement


class NoiseOptions(ArmOptions, total=False):
    """Options of an environment of symmetric noise beside the means and its own parameters; see :class:`Noisy`."""

    scale: float


class Noisy(Environment):
    """Rewards are ``mean + scale * noise``.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.
    scale
        Factor of the noise.
    """

    def __init__(
        self, means: NumberSequence | None = None, *, scale: float = 1.0, **options: Unpack[ArmOptions]
    ) -> None:
        self.scale = self.checked_scale(scale)
        super().__init__(means, **options)

    def draw_noise(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """Noise of scale 1, symmetric about 0."""
        raise NotImplementedError

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """``mean + scale * noise``."""
        rewards: Floats = self.draw_noise((means.size, n), rng)
        rewards *= self.scale
        rewards += means[:, None]
        return rewards


class Gaussian(Noisy):
    """Normal noise of standard deviation ``scale``; means uniform in (-1, 1) unless given.

    Parameters
    ----------
    means, scale, n_arms, mean_range
        See :class:`bandstrap.environments.noisy.Noisy`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import Gaussian
    >>> means, rewards = Gaussian([0.0, 1.0], scale=0.5).tape(10_000, np.random.default_rng(0))
    >>> rewards.std(axis=1).round(1).tolist()
    [0.5, 0.5]
    """

    def draw_noise(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """Standard normal."""
        return rng.standard_normal(shape)


class ScaleMixture(Noisy):
    """Normal noise that is occasionally ``ratio`` times as wide; its standard deviation over all rewards is ``scale``.

    Each reward's noise is wide with probability ``share``, for every arm.

    Parameters
    ----------
    means, scale, n_arms, mean_range
        See :class:`bandstrap.environments.noisy.Noisy`.
    share
        Probability of wide noise, between 0 and 1.
    ratio
        Standard deviation of the wide noise, as a multiple of that of the narrow noise.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import ScaleMixture
    >>> means, rewards = ScaleMixture([0.0, 1.0]).tape(10_000, np.random.default_rng(0))
    >>> rewards.std(axis=1).round(1).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        means: NumberSequence | None = None,
        *,
        share: float = 0.1,
        ratio: float = 3.0,
        **options: Unpack[NoiseOptions],
    ) -> None:
        self.share = check_number(share, "share", type(self).__name__, above=0, below=1)
        self.ratio = self.checked_scale(ratio, "ratio")
        super().__init__(means, **options)

    def draw_noise(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """A normal of variance 1 on average."""
        narrow = 1 / np.sqrt(1 - self.share + self.share * self.ratio**2)
        noise = rng.standard_normal(shape)
        noise *= np.where(rng.random(shape) < self.share, narrow * self.ratio, narrow)
        return noise


class TruncatedNormal(Noisy):
    """Standard normal noise conditioned on [-1, 1], times ``scale``; its standard deviation is 0.5396 ``scale``.

    Parameters
    ----------
    means, scale, n_arms, mean_range
        See :class:`bandstrap.environments.noisy.Noisy`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import TruncatedNormal
    >>> means, rewards = TruncatedNormal([0.0, 1.0]).tape(10_000, np.random.default_rng(0))
    >>> rewards.std(axis=1).round(1).tolist()
    [0.5, 0.5]
    """

    def draw_noise(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """Normal between -1 and 1, by inversion."""
        low = float(ndtr(-1.0))
        noise: Floats = ndtri(low + (1 - 2 * low) * rng.random(shape))
        return noise

    @property
    def support(self) -> tuple[float, float]:
        """The range of the means, extended by ``scale`` on both sides."""
        low, high = (min(self.means), max(self.means)) if self.means else (self.mean_range or self.default_range)
        return low - self.scale, high + self.scale


class Logistic(Noisy):
    """Logistic noise with scale parameter ``scale`` (0.5 in the paper); standard deviation ``1.814 scale``.

    Parameters
    ----------
    means, scale, n_arms, mean_range
        See :class:`bandstrap.environments.noisy.Noisy`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import Logistic
    >>> means, rewards = Logistic([0.0, 1.0]).tape(10_000, np.random.default_rng(0))
    >>> rewards.std(axis=1).round(1).tolist()
    [0.9, 0.9]
    """

    def __init__(
        self, means: NumberSequence | None = None, *, scale: float = 0.5, **options: Unpack[ArmOptions]
    ) -> None:
        super().__init__(means, scale=scale, **options)

    def draw_noise(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """Standard logistic."""
        return rng.logistic(size=shape)


class Laplace(Noisy):
    """Laplace noise with scale parameter ``scale``; standard deviation ``1.414 scale``.

    Parameters
    ----------
    means, scale, n_arms, mean_range
        See :class:`bandstrap.environments.noisy.Noisy`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import Laplace
    >>> means, rewards = Laplace([0.0, 1.0], scale=0.5).tape(10_000, np.random.default_rng(0))
    >>> rewards.std(axis=1).round(1).tolist()
    [0.7, 0.7]
    """

    def draw_noise(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """Standard Laplace."""
        return rng.laplace(size=shape)


class StudentT(Noisy):
    """Student t noise with ``df`` degrees of freedom, times ``scale``.

    Parameters
    ----------
    means, scale, n_arms, mean_range
        See :class:`bandstrap.environments.noisy.Noisy`.
    df
        Degrees of freedom, more than 1: with 1 or fewer there is no mean, and regret would have no meaning. With 2 or
        fewer the variance is infinite, with the default it is 3.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import StudentT
    >>> means, rewards = StudentT([0.0, 1.0], df=5).tape(10_000, np.random.default_rng(0))
    >>> rewards.std(axis=1).round(1).tolist()
    [1.3, 1.3]
    """

    def __init__(
        self, means: NumberSequence | None = None, *, df: float = 3.0, **options: Unpack[NoiseOptions]
    ) -> None:
        self.df = check_number(df, "df", type(self).__name__, above=0)
        if self.df <= 1:
            raise requirement("df", type(self).__name__, "greater than 1, or there is no mean", self.df)
        super().__init__(means, **options)

    def draw_noise(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """Standard t."""
        return rng.standard_t(self.df, size=shape)


class SubWeibull(Noisy):
    """Symmetric noise with ``P(|noise| > x) = exp(-x^beta)``, times ``scale``; its psi norm is ``2^(1/beta) scale``.

    Parameters
    ----------
    means, scale, n_arms, mean_range
        See :class:`bandstrap.environments.noisy.Noisy`.
    beta
        Tail exponent, more than 0: 2 is as light as normal noise, 1 as Laplace; the default is heavier than both.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import SubWeibull
    >>> means, rewards = SubWeibull([0.0, 1.0]).tape(10_000, np.random.default_rng(0))
    >>> rewards.std(axis=1).round(1).tolist()
    [4.8, 4.8]
    """

    def __init__(
        self, means: NumberSequence | None = None, *, beta: float = 0.5, **options: Unpack[NoiseOptions]
    ) -> None:
        self.beta = check_number(beta, "beta", type(self).__name__, above=0)
        super().__init__(means, **options)

    def draw_noise(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """An exponential to the power ``1/beta``, with a random sign."""
        with np.errstate(over="ignore"):  # refused where rewards are checked
            size: Floats = rng.standard_exponential(shape) ** (1 / self.beta)
        return np.where(rng.random(shape) < 0.5, -size, size)
