"""Rewards of one's own as a distribution: draws with replacement, and their mean is the true one."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.calls import Call, fingerprint, parse_call
from bandstrap.basics.constructors import refuse_misfit
from bandstrap.basics.tables import read_groups
from bandstrap.errors import InvalidInput, brief, read_numbers, requirement, sample_mean

NAME = "empirical"
# The option that a first value without a key stands for.
FIRST_OPTION = {NAME: "file"}


class EmpiricalDistribution:
    """The distribution of a reward drawn from a sample with replacement; has what is asked of ``scipy.stats`` ones.

    Parameters
    ----------
    rewards
        The sample, of shape ``(n,)``.
    """

    def __init__(self, rewards: ArrayLike) -> None:
        rule = (
            "a frozen scipy.stats distribution, the name of one, or a list of rewards to draw from: finite "
            "numbers, at least two of them different"
        )
        checked = read_numbers(rewards, "distribution", "coverage", rule, kinds="biuf")
        if checked.ndim != 1 or not np.isfinite(checked).all() or np.unique(checked).size < 2:
            raise requirement("distribution", "coverage", rule, brief(rewards))
        self.rewards = np.sort(checked)
        self.values, counts = np.unique(self.rewards, return_counts=True)
        self.probabilities = counts / self.rewards.size

    def rvs(self, size: int | tuple[int, ...] | None = None, random_state: Any = None) -> Any:
        """Draws with replacement."""
        return self.rewards[np.random.default_rng(random_state).integers(self.rewards.size, size=size)]

    def mean(self) -> float:
        """The mean of the sample."""
        return float(sample_mean(self.rewards))

    def std(self) -> float:
        """The standard deviation of a draw."""
        return float(self.rewards.std())

    def median(self) -> float:
        """The median of the sample."""
        return float(np.median(self.rewards))

    def support(self) -> tuple[float, float]:
        """The smallest and the largest reward."""
        return float(self.rewards[0]), float(self.rewards[-1])

    def ppf(self, probability: ArrayLike) -> Floats:
        """The smallest reward that so large a share of the sample does not exceed."""
        n = self.rewards.size
        return self.rewards[np.clip(np.ceil(np.asarray(probability) * n).astype(np.int64) - 1, 0, n - 1)]

    def isf(self, probability: ArrayLike) -> Floats:
        """The largest reward that so large a share of the sample is not below."""
        n = self.rewards.size
        return self.rewards[np.clip(n - np.ceil(np.asarray(probability) * n).astype(np.int64), 0, n - 1)]

    def cdf(self, values: ArrayLike) -> Floats:
        """The share of the sample that does not exceed each of the values."""
        return np.searchsorted(self.rewards, np.asarray(values, dtype=np.float64), side="right") / self.rewards.size

    def pmf(self, values: ArrayLike) -> Floats:
        """The share of the sample that has each of the values."""
        wanted = np.asarray(values, dtype=np.float64)
        places = np.clip(np.searchsorted(self.values, wanted), 0, self.values.size - 1)
        return np.where(self.values[places] == wanted, self.probabilities[places], 0.0)

    def logpmf(self, values: ArrayLike) -> Floats:
        """The logarithm of that share."""
        with np.errstate(divide="ignore"):
            return np.log(self.pmf(values))

    @property
    def digest(self) -> str:
        """Fingerprint of the rewards, whatever their order."""
        return fingerprint(self.rewards.astype("<f8").tobytes())


def is_empirical(text: str) -> bool:
    """Return whether a text names a distribution of one's own data."""
    return text.partition(":")[0].strip() == NAME


def empirical_called(text: str) -> EmpiricalDistribution:
    """The distribution that ``empirical:FILE,reward=COLUMN`` names; data of another ``digest`` are refused."""
    options = parse_call(text, FIRST_OPTION).options
    refuse_misfit(NAME, inspect.signature(read_empirical), (), options)
    return read_empirical(**options)


def read_empirical(file: object, *, reward: object, digest: str | None = None) -> EmpiricalDistribution:
    """The rewards in a column of a CSV or Parquet file."""
    if not isinstance(reward, str):
        rule = "the name of a column; in a call, put quotes around a name that is a number"
        raise requirement("reward", NAME, rule, brief(reward))
    if not isinstance(file, str) or file in ("", "-"):
        raise requirement("file", NAME, "the path of a CSV or Parquet file", brief(file))
    (rewards,) = read_groups(Path(file), reward).values()
    made = EmpiricalDistribution(rewards)
    if digest not in (None, made.digest):
        raise InvalidInput(
            f"{file} was edited after its digest {digest!r} was taken: its data now have {made.digest!r}."
        )
    return made


def with_digest(text: str) -> str:
    """The same text with the digest of the data, if it names some: what is stored under it is then known to be of them."""
    if not is_empirical(text):
        return text
    options = parse_call(text, FIRST_OPTION).options | {"digest": empirical_called(text).digest}
    return str(Call(NAME, options))
