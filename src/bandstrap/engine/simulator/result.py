"""Result of a simulation: regret of each policy at checkpoints, replication by replication."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from bandstrap.basics.arrays import ChoiceArray, Floats
from bandstrap.basics.display import Display, as_html
from bandstrap.basics.storage import check_seal, has_seal
from bandstrap.basics.text import visible
from bandstrap.engine.simulator.parquet import PlayedTable, read_about, read_table, write_table
from bandstrap.errors import InvalidInput, check_choice, check_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 3


class PolicyRow(TypedDict):
    """Final regret of one policy; see :class:`Statistics`."""

    policy: str
    mean: float
    standard_error: float
    median: float
    q90: float
    q95: float
    q99: float


class Statistics(NamedTuple):
    """Statistics over replications, one number for each column: the ones that every table of results has.

    The mean, its standard error (NaN for a single replication), the median, and three quantiles: the smallest value that
    90, 95 and 99 per cent of the replications do not exceed, NumPy's ``"inverted_cdf"``.
    """

    mean: Floats
    standard_error: Floats
    median: Floats
    q90: Floats
    q95: Floats
    q99: Floats

    @classmethod
    def of(cls, values: Floats) -> Statistics:
        """Statistics of values with one row for each replication.

        >>> Statistics.of(np.arange(1.0, 201).reshape(200, 1)).q95
        array([190.])
        """
        quantiles = np.quantile(values, (0.9, 0.95, 0.99), axis=0, method="inverted_cdf")
        return cls(mean(values, axis=0), standard_error(values, axis=0), np.median(values, axis=0), *quantiles)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The statistics of each column by name; ``None`` for a standard error that does not exist."""
        for numbers in zip(*self, strict=True):
            yield {
                name: None if math.isnan(number) else float(number)
                for name, number in zip(self._fields, numbers, strict=True)
            }


COLUMNS = tuple(PolicyRow.__annotations__)


class Summary(list[PolicyRow]):
    """Rows of a summary, one per policy; prints as a table."""

    def __str__(self) -> str:
        width = max(len("policy"), *(len(visible(row["policy"])) for row in self))
        lines = [f"{'policy':<{width}}" + "".join(f"{name:>16}" for name in COLUMNS[1:])]
        for row in self:
            policy, *numbers = row.values()
            lines.append(f"{visible(str(policy)):<{width}}" + "".join(f"{number:>16.2f}" for number in numbers))
        return "\n".join(lines)

    __repr__ = __str__


def rows_of_values(values: Floats, axis: int) -> Floats:
    """Values with those along an axis side by side: sums over them have the same bits wherever they come from."""
    return np.ascontiguousarray(np.moveaxis(values, axis, -1))


def mean(values: Floats, axis: int) -> Floats:
    """Mean along an axis."""
    return rows_of_values(values, axis).mean(axis=-1)


def standard_error(values: Floats, axis: int) -> Floats:
    """Standard error of the mean along an axis; NaN where there is only one value."""
    n = values.shape[axis]
    if n < 2:
        return np.full(np.delete(values.shape, axis), np.nan)
    return rows_of_values(values, axis).std(axis=-1, ddof=1) / np.sqrt(n)


@dataclass(frozen=True)
class Difference:
    """Paired difference of final regret, first policy minus second, with a confidence interval."""

    first: str
    second: str
    mean: float
    standard_error: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, eq=False)
class Result:
    """Pseudo-regret of policies in each replication.

    Attributes
    ----------
    policies
        Names, in the order given to ``simulate``.
    environment
        The environment's label, with any delay, batches or losses of rewards.
    horizon, seed
        As given.
    checkpoints
        Rounds at which regret was recorded; the last is the horizon.
    replications
        Numbers of the replications played; all of them unless the run was interrupted.
    regret
        Pseudo-regret, shape ``(policy, replication, checkpoint)``.
    pulls
        Pulls of each arm, shape ``(policy, replication, arm)``.
    choices
        The arm of each round, shape ``(policy, replication, round)``, with ``choices=True``; else ``None``.
    """

    policies: tuple[str, ...]
    environment: str
    horizon: int
    seed: int
    checkpoints: NDArray[np.int64]
    replications: NDArray[np.int64]
    regret: Floats
    pulls: NDArray[np.int64]
    choices: ChoiceArray | None = None

    def __repr__(self) -> str:
        return f"{self._title}\n{self.summary()}"

    def _repr_html_(self) -> str:
        rows = self.summary()
        columns = {name: [dict(row)[name] for row in rows] for name in COLUMNS}
        return as_html(Display([self._title], columns))

    @property
    def _title(self) -> str:
        about = f"{self.horizon} rounds of {self.environment}, {self.n_replications} replications, seed {self.seed}"
        return f"Regret after {about}"

    @property
    def n_replications(self) -> int:
        """Replications played."""
        return int(self.replications.size)

    @property
    def mean(self) -> Floats:
        """Mean regret, shape ``(policy, checkpoint)``."""
        return mean(self.regret, axis=1)

    @property
    def standard_error(self) -> Floats:
        """Standard error of the mean, shape ``(policy, checkpoint)``; NaN for a single replication."""
        return standard_error(self.regret, axis=1)

    def quantile(self, probability: float) -> Floats:
        """Quantile of regret over replications, shape ``(policy, checkpoint)``.

        It is the smallest value that at least this share of replications does not exceed, as in :meth:`summary`.
        """
        check_number(probability, "probability", "Result.quantile", above=0, below=1)
        return np.quantile(self.regret, probability, axis=1, method="inverted_cdf")

    def final(self, policy: str) -> Floats:
        """Regret at the horizon, one number per replication."""
        check_choice(policy, "policy", "Result.final", self.policies)
        return self.regret[self.policies.index(policy), :, -1]

    def summary(self) -> Summary:
        """Final regret, one row per policy: mean, standard error, median and 90, 95 and 99 % quantiles."""
        final = Statistics.of(self.regret[:, :, -1].T)
        return Summary(
            PolicyRow(policy=name, **dict(zip(Statistics._fields, map(float, numbers), strict=True)))  # type: ignore[typeddict-item]
            for name, *numbers in zip(self.policies, *final, strict=True)
        )

    def difference(self, first: str, second: str, confidence: float = 0.95) -> Difference:
        """Mean difference of final regret, paired by replication, with Student's t interval."""
        check_number(confidence, "confidence", "Result.difference", above=0, below=1)
        gaps = self.final(first) - self.final(second)
        n = gaps.size
        mean = float(gaps.mean())
        error = float(standard_error(gaps, axis=0))
        reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * error if n > 1 else float("nan")
        return Difference(first, second, mean, error, mean - reach, mean + reach, confidence)

    def plot(self) -> Figure:
        """Mean regret over rounds, with bands of two standard errors."""
        from bandstrap.plots.regret import plot_regret

        return plot_regret(self)

    def to_parquet(self, path: str | Path) -> None:
        """Write everything to one Parquet file, completely or not at all."""
        about = {
            "format": FORMAT,
            "policies": list(self.policies),
            "environment": self.environment,
            "horizon": self.horizon,
            "seed": self.seed,
            "checkpoints": self.checkpoints.tolist(),
        }
        table = PlayedTable(self.policies, self.replications, self.regret, self.pulls, self.choices)
        write_table(Path(path), table, about)

    @classmethod
    def from_parquet(cls, path: str | Path) -> Result:
        """Read a file from :meth:`to_parquet`; a damaged file is refused."""
        path = Path(path)
        if not path.is_file():
            raise InvalidInput(f"{path} is not a file.")
        try:
            data = path.read_bytes()
            refuse_format(path, None if has_seal(data) else unsealed_format(data))
            check_seal(data)
            about = read_about(data)
            refuse_format(path, about["format"])
        except OSError as error:
            raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
        except InvalidInput:
            raise
        except (ValueError, KeyError):
            raise InvalidInput(f"{path} is not a result written by bandstrap, or is damaged.") from None
        table = read_table(data)
        return cls(
            policies=tuple(table.policies),
            environment=about["environment"],
            horizon=about["horizon"],
            seed=about["seed"],
            checkpoints=np.array(about["checkpoints"], dtype=np.int64),
            replications=table.replications,
            regret=table.regret,
            pulls=table.pulls,
            choices=table.choices,
        )

    def __iter__(self) -> Iterator[PolicyRow]:
        """Rows of :meth:`summary`."""
        return iter(self.summary())


def unsealed_format(data: bytes) -> int | None:
    """The number of a format from before there were checksums, found without parsing what nothing vouches for."""
    found = re.search(rb'\{"format": ([12]), "', data)
    return int(found[1]) if found else None


def refuse_format(path: Path, written: int | None) -> None:
    """Refuse a file whose format is known and not the one that is read."""
    if written not in (None, FORMAT):
        raise InvalidInput(f"{path} was written in format {written}; this version reads {FORMAT}.")
