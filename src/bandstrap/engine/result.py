"""What a simulation found: regret of each policy at checkpoints, replication by replication."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from bandstrap.errors import Floats, InvalidInput, check_choice, check_number
from bandstrap.storage import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 1


class Row(TypedDict):
    """Final regret of one policy: mean, standard error, median and 95 % and 99 % quantiles."""

    policy: str
    mean: float
    standard_error: float
    median: float
    q95: float
    q99: float


COLUMNS = tuple(Row.__annotations__)


class Summary(list[Row]):
    """Rows of a summary, one a policy; prints as a table."""

    def __str__(self) -> str:
        width = max(len("policy"), *(len(row["policy"]) for row in self))
        lines = [f"{'policy':<{width}}" + "".join(f"{name:>16}" for name in COLUMNS[1:])]
        for row in self:
            policy, *numbers = row.values()
            lines.append(f"{policy:<{width}}" + "".join(f"{number:>16.2f}" for number in numbers))
        return "\n".join(lines)

    __repr__ = __str__


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
    """Pseudo-regret of policies over replications.

    Attributes
    ----------
    policies
        Names, in the order given to ``simulate``.
    environment
        The environment's label.
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
    """

    policies: tuple[str, ...]
    environment: str
    horizon: int
    seed: int
    checkpoints: NDArray[np.int64]
    replications: NDArray[np.int64]
    regret: Floats
    pulls: NDArray[np.int64]

    def __repr__(self) -> str:
        about = f"{self.horizon} rounds of {self.environment}, {self.n_replications} replications, seed {self.seed}"
        return f"Regret after {about}\n{self.summary()}"

    @property
    def n_replications(self) -> int:
        """Replications played."""
        return int(self.replications.size)

    @property
    def mean(self) -> Floats:
        """Mean regret, shape ``(policy, checkpoint)``."""
        return self.regret.mean(axis=1)

    @property
    def standard_error(self) -> Floats:
        """Standard error of the mean, shape ``(policy, checkpoint)``; NaN for a single replication."""
        n = self.n_replications
        if n < 2:
            return np.full_like(self.mean, np.nan)
        return self.regret.std(axis=1, ddof=1) / np.sqrt(n)

    def quantile(self, probability: float) -> Floats:
        """Quantile of regret over replications, shape ``(policy, checkpoint)``."""
        check_number(probability, "probability", "Result.quantile", above=0, below=1)
        return np.quantile(self.regret, probability, axis=1)

    def final(self, policy: str) -> Floats:
        """Regret at the horizon, one number a replication."""
        check_choice(policy, "policy", "Result.final", self.policies)
        return self.regret[self.policies.index(policy), :, -1]

    def summary(self) -> Summary:
        """Final regret, a row a policy: mean, standard error, median and 95 % and 99 % quantiles."""
        median, q95, q99 = (self.quantile(p)[:, -1] for p in (0.5, 0.95, 0.99))
        return Summary(
            Row(
                policy=name,
                mean=float(self.mean[i, -1]),
                standard_error=float(self.standard_error[i, -1]),
                median=float(median[i]),
                q95=float(q95[i]),
                q99=float(q99[i]),
            )
            for i, name in enumerate(self.policies)
        )

    def difference(self, first: str, second: str, confidence: float = 0.95) -> Difference:
        """Mean difference of final regret, paired by replication, with Student's t interval."""
        check_number(confidence, "confidence", "Result.difference", above=0, below=1)
        gaps = self.final(first) - self.final(second)
        n = gaps.size
        mean = float(gaps.mean())
        error = float(gaps.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
        reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * error if n > 1 else float("nan")
        return Difference(first, second, mean, error, mean - reach, mean + reach, confidence)

    def plot(self) -> Figure:
        """Mean regret over rounds, with bands of two standard errors."""
        from bandstrap.plots.regret import plot_regret

        return plot_regret(self)

    def to_parquet(self, path: str | Path) -> None:
        """Write everything to one Parquet file, whole or not at all."""
        import polars

        frame = polars.DataFrame(
            [
                {"policy": name, "replication": int(r), "regret": self.regret[p, i], "pulls": self.pulls[p, i]}
                for p, name in enumerate(self.policies)
                for i, r in enumerate(self.replications)
            ],
            schema={
                "policy": polars.String,
                "replication": polars.Int64,
                "regret": polars.List(polars.Float64),
                "pulls": polars.List(polars.Int64),
            },
        )
        about = {
            "format": FORMAT,
            "policies": list(self.policies),
            "environment": self.environment,
            "horizon": self.horizon,
            "seed": self.seed,
            "checkpoints": self.checkpoints.tolist(),
        }
        with whole_file(Path(path)) as temporary:
            frame.write_parquet(temporary, metadata={"bandstrap": json.dumps(about)})

    @classmethod
    def from_parquet(cls, path: str | Path) -> Result:
        """Read what :meth:`to_parquet` wrote."""
        import polars

        path = Path(path)
        if not path.is_file():
            raise InvalidInput(f"{path} is not a file.")
        try:
            about = json.loads(polars.read_parquet_metadata(path)["bandstrap"])
            frame = polars.read_parquet(path)
            if about["format"] != FORMAT:
                raise InvalidInput(f"{path} was written in format {about['format']}; this version reads {FORMAT}.")
            names = tuple(about["policies"])
            checkpoints = np.array(about["checkpoints"], dtype=np.int64)
            place = {name: i for i, name in enumerate(names)}
            frame = frame.with_columns(frame["policy"].replace_strict(place).alias("place")).sort(
                "place", "replication"
            )
            replications = frame["replication"].to_numpy().reshape(len(names), -1)
            regret = np.array(frame["regret"].to_list(), dtype=np.float64)
            pulls = np.array(frame["pulls"].to_list(), dtype=np.int64)
            if (replications != replications[0]).any() or regret.shape[1] != checkpoints.size:
                raise ValueError
            shape = replications.shape
            return cls(
                policies=names,
                environment=about["environment"],
                horizon=about["horizon"],
                seed=about["seed"],
                checkpoints=checkpoints,
                replications=replications[0].astype(np.int64),
                regret=regret.reshape(*shape, -1),
                pulls=pulls.reshape(*shape, -1),
            )
        except InvalidInput:
            raise
        except (polars.exceptions.PolarsError, KeyError, IndexError, ValueError, TypeError, OSError):
            raise InvalidInput(f"{path} is not a result written by bandstrap, or is damaged.") from None

    def __iter__(self) -> Iterator[Row]:
        """Rows of :meth:`summary`."""
        return iter(self.summary())
