"""Arms given by distributions or by data: any SciPy distribution, or observed rewards."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.basics.calls import Call, Options, fingerprint
from bandstrap.basics.constructors import refuse_misfit
from bandstrap.basics.distributions import Law, is_law, law_content, law_name
from bandstrap.basics.tables import read_groups
from bandstrap.environments.environment import LARGEST_NUMBER, Environment
from bandstrap.errors import InvalidInput, brief, read_numbers, requirement, sample_mean


def as_laws(laws: object) -> tuple[object, ...]:
    """Distributions one after the other; none where they are not."""
    return tuple(laws) if isinstance(laws, Sequence) or (isinstance(laws, np.ndarray) and laws.ndim > 0) else ()


class OfDistributions(Environment):
    """Arms whose rewards are drawn from their own distributions, not from their means."""

    def draw_moved(
        self, means: Floats, traits: AnyArray, level: Floats, shift: Floats, rng: np.random.Generator
    ) -> Floats:
        """Rewards multiplied and shifted."""
        return self.draw_rewards(means, traits, level.size, rng) * level + shift

    def moved_support(self, factor: float, shift: float) -> tuple[float, float]:
        """The support multiplied and shifted."""
        low, high = self.support
        return factor * low + shift, factor * high + shift


class Arms(OfDistributions):
    """One frozen ``scipy.stats`` distribution per arm.

    Parameters
    ----------
    distributions
        The distributions of the arms' rewards, with finite means.

    Examples
    --------
    >>> from scipy import stats
    >>> from bandstrap.environments import Arms
    >>> Arms([stats.norm(0, 1), stats.gamma(2)]).means
    (0.0, 2.0)
    """

    is_called = False

    def __init__(self, distributions: Sequence[Law]) -> None:
        rule = f"a non-empty sequence of frozen scipy.stats distributions with means no larger than {LARGEST_NUMBER:g}"
        laws = [law for law in as_laws(distributions) if is_law(law)]
        if not laws or len(laws) < len(distributions):
            raise requirement("distributions", "Arms", rule, brief(distributions))
        self.distributions = tuple(laws)
        means = [float(law.mean()) for law in laws]
        if not all(abs(mean) <= LARGEST_NUMBER for mean in means):
            raise requirement("distributions", "Arms", rule, f"means {means}")
        super().__init__(means)

    @property
    def support(self) -> tuple[float, float]:
        """The hull of the distributions' supports."""
        ends = [law.support() for law in self.distributions]
        return float(min(low for low, _ in ends)), float(max(high for _, high in ends))

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """Rewards of each distribution."""
        return np.stack([self.distributions[arm].rvs(size=n, random_state=rng) for arm in traits])

    @property
    def label(self) -> str:
        """The distributions' names, and a fingerprint of the distributions themselves."""
        names = ",".join(law_name(law) for law in self.distributions)
        return f"arms:{names},digest={fingerprint(*map(law_content, self.distributions))}"


class Empirical(OfDistributions):
    """Rewards drawn with replacement from observed rewards; the true means are those of the data.

    Parameters
    ----------
    rewards
        Observed rewards of each arm, by label.

    Notes
    -----
    On the command line and in an experiment's file the data are a CSV file: ``empirical:clicks.csv,arm=variant,
    reward=revenue`` (see :meth:`from_csv`).

    Examples
    --------
    >>> from bandstrap.environments import Empirical
    >>> Empirical({"old": [0, 0, 1], "new": [1, 2]}).means
    (0.3333333333333333, 1.5)
    """

    first_option: ClassVar[str | None] = "file"

    def __init__(self, rewards: Mapping[Any, ArrayLike]) -> None:
        if not isinstance(rewards, Mapping) or not rewards:
            raise requirement("rewards", "Empirical", "a non-empty mapping from arm to rewards", brief(rewards))
        self.rewards = {label: self._observed(label, values) for label, values in rewards.items()}
        # How a call names the data, where they come from a file.
        self._source: dict[str, str] = {}
        super().__init__([float(sample_mean(values)) for values in self.rewards.values()])

    def _observed(self, label: object, values: ArrayLike) -> Floats:
        """The rewards of an arm, checked."""
        rule = f"a non-empty row of finite numbers for arm {brief(label)}"
        rewards = read_numbers(values, "rewards", "Empirical", rule, kinds="biuf")
        if rewards.ndim != 1 or rewards.size == 0:
            raise requirement("rewards", "Empirical", rule, brief(values))
        if not np.isfinite(rewards).all():
            where = int(np.argmin(np.isfinite(rewards)))
            raise requirement("rewards", "Empirical", rule, f"{rewards[where]} at position {where}")
        largest = float(rewards[np.argmax(np.abs(rewards))])
        if abs(largest) > LARGEST_NUMBER:
            raise requirement("rewards", "Empirical", f"no larger than {LARGEST_NUMBER:g} in size", largest)
        return rewards

    @classmethod
    def from_csv(cls, file: str | Path, *, arm: str, reward: str, digest: str | None = None) -> Self:
        """Read observed rewards from a CSV file with a header line and one row per reward.

        Parameters
        ----------
        file
            Path of the file.
        arm
            Column that names the arm of a row; arms are numbered in order of appearance.
        reward
            Column with the rewards.
        digest
            Fingerprint of the data, as in a label: a file edited since is refused. By default any data are accepted.
        """
        columns: dict[str, object] = {"arm": arm, "reward": reward}
        for parameter, value in columns.items():
            if not isinstance(value, str):
                rule = "the name of a column; in a call, put quotes around a name that is a number"
                raise requirement(parameter, "Empirical.from_csv", rule, brief(value))
        if not isinstance(file, str | Path) or str(file) in ("", "-"):
            raise requirement("file", "Empirical.from_csv", "the path of a CSV file", brief(file))
        if arm == reward:
            raise requirement("reward", "Empirical.from_csv", "another column than 'arm'", brief(reward))
        groups = read_groups(Path(file), reward, arm)
        if not all(label.strip() for label in groups):
            raise InvalidInput(f"{file} has rows without an arm in column {arm!r}.")
        if len(groups) < 2:
            raise InvalidInput(
                f"{file} has a single arm in column {arm!r}, {next(iter(groups))!r}; at least two are needed."
            )
        made = cls(groups)
        if digest is not None and digest != made.digest:
            raise InvalidInput(
                f"{file} was edited after its digest {digest!r} was taken: its data now have {made.digest!r}."
            )
        made._source = {"file": str(file), "arm": arm, "reward": reward}
        return made

    @classmethod
    def from_call(cls, **options: Any) -> Self:
        """Build it from the options of a call, which name a file."""
        refuse_misfit("empirical", inspect.signature(cls.from_csv), (), options)
        return cls.from_csv(**options)

    @classmethod
    def call_parameters(cls) -> Options:
        """Names and defaults of the options of a call."""
        return {p.name: p.default for p in inspect.signature(cls.from_csv).parameters.values()}

    @property
    def digest(self) -> str:
        """Fingerprint of arms and rewards."""
        return fingerprint(
            *(
                part
                for label, values in self.rewards.items()
                for part in (str(label).encode(), values.astype("<f8").tobytes())
            )
        )

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest reward observed."""
        values = np.concatenate(list(self.rewards.values()))
        return float(values.min()), float(values.max())

    def draw_rewards(self, means: Floats, traits: AnyArray, n: int, rng: np.random.Generator) -> Floats:
        """Draws with replacement."""
        observed = [*self.rewards.values()]
        return np.stack([observed[arm][rng.integers(observed[arm].size, size=n)] for arm in traits])

    @property
    def label(self) -> str:
        """Origin of the data, or the number of arms, and a fingerprint of the data."""
        return str(Call(self.name, {**(self._source or {"n_arms": self.n_arms}), "digest": self.digest}))
