"""Environments from tables: rows that are classified, and rows with the reward of every arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.basics.calls import Call, fingerprint
from bandstrap.environments.contextual import CONTEXTUAL_ENVIRONMENTS, ContextualEnvironment
from bandstrap.environments.environment import LARGEST_NUMBER
from bandstrap.errors import InvalidInput, brief, requirement

if TYPE_CHECKING:
    import polars

# Levels of a category, and arms, that are no more than a mistake in the choice of a column.
MOST_LEVELS = 1000
# The largest feature, in size: that of a context.
LARGEST_FEATURE = 1e50


class TableEnvironment(ContextualEnvironment):
    """Rows of a table in random order; when all are used, they are shuffled again."""

    first_option: ClassVar[str | None] = "file"
    # The features of each row, and the rewards of all arms.
    features: Floats
    outcomes: Floats
    arms: tuple[str, ...]

    def keep(self, features: Floats, outcomes: Floats, arms: tuple[str, ...], about: Mapping[str, object]) -> None:
        """Keep what is played."""
        owner = type(self).__name__
        if len(arms) < 2:
            raise requirement("file", owner, "a table with at least two arms", f"{len(arms)} ({', '.join(arms)})")
        if features.shape[1] == 0:
            raise requirement("context", owner, "one column at least", "none")
        if len(features) == 0:
            raise requirement("file", owner, "a table with rows", "none")
        self.features, self.outcomes, self.arms = features, outcomes, arms
        self.dimension, self.n_arms = features.shape[1], len(arms)
        self.digest = fingerprint(features.tobytes(), outcomes.tobytes(), "\0".join(arms).encode())
        self._about = {key: value for key, value in about.items() if value is not None}
        self.check_world()

    def draw_contexts(self, n: int, rng: np.random.Generator) -> AnyArray:
        """Numbers of rows."""
        n_rows = len(self.features)
        return np.concatenate([rng.permutation(n_rows) for _ in range(-(-n // n_rows))])[:n]

    def draw_outcomes(self, seen: AnyArray, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """The rewards of the table, which are also the means."""
        rewards = self.outcomes[seen]
        return rewards, rewards, self.features[seen]

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest reward in the table."""
        return float(self.outcomes.min()), float(self.outcomes.max())

    @property
    def label(self) -> str:
        """Call that makes it, with a fingerprint of the data."""
        return str(Call(self.origin or self.name, self._about | {"digest": self.digest}))

    def check_digest(self, file: object, digest: str | None) -> None:
        """Refuse data that were edited after a fingerprint was taken."""
        if digest is not None and digest != self.digest:
            raise InvalidInput(
                f"{file} was edited after its digest {digest!r} was taken: its data now have {self.digest!r}."
            )


class ClassTable(TableEnvironment):
    """Rows with classes: the arms are the classes, and the reward is 1 for the right class."""

    def keep_classes(
        self, columns: Sequence[Sequence[str] | Floats], classes: Sequence[str], owner: str, about: Mapping[str, object]
    ) -> None:
        """Keep rows given by their columns, of text or of numbers, and by their classes."""
        arms = tuple(sorted(set(classes)))
        check_levels(arms, "label", owner)
        places = {arm: place for place, arm in enumerate(arms)}
        outcomes = np.zeros((len(classes), len(arms)))
        outcomes[np.arange(len(classes)), [places[one] for one in classes]] = 1.0
        self.keep(in_columns(columns, len(classes), owner), outcomes, arms, about)


class Classification(ClassTable):
    """A classification set as a bandit: the arms are the classes, and the reward is 1 for the right class.

    Parameters
    ----------
    file
        A CSV or Parquet file: ``classification:iris.csv,label=species``. A column of text is a category, with one feature
        per level. A column of numbers is one feature and may have missing values.
    label
        The column with the class.
    digest
        Fingerprint of the data, as in a label: a file edited since is refused.
    """

    def __init__(self, file: str | Path, *, label: str, digest: str | None = None) -> None:
        owner = type(self).__name__
        table = read_table(file, owner)
        check_columns(table, (label,), "label", owner)
        if table[label].null_count():
            raise requirement("label", owner, "a column without missing values", brief(label))
        classes = [str(value) for value in table[label].to_list()]
        self.keep_classes(columns_of(table.drop(label), owner), classes, owner, {"file": str(file), "label": label})
        self.check_digest(file, digest)


class RewardTable(TableEnvironment):
    """Rows with a context and the reward of every arm.

    Parameters
    ----------
    file
        A CSV or Parquet file: ``rewards:visits.csv,arms=(red,blue),context=(device,age)``.
    arms
        The columns with the rewards, one for each arm.
    context
        The columns with the context; by default all others. See :class:`bandstrap.environments.Classification`.
    digest
        Fingerprint of the data, as in a label: a file edited since is refused.
    """

    name: ClassVar[str] = "rewards"

    def __init__(
        self,
        file: str | Path,
        *,
        arms: tuple[str, ...] | str,
        context: tuple[str, ...] | str | None = None,
        digest: str | None = None,
    ) -> None:
        owner = type(self).__name__
        table = read_table(file, owner)
        labels = names_of(arms)
        check_columns(table, labels, "arms", owner)
        seen = tuple(name for name in table.columns if name not in labels) if context is None else names_of(context)
        check_columns(table, seen, "context", owner)
        if {*seen} & {*labels}:
            raise requirement("context", owner, "made of other columns than 'arms'", brief(seen))
        outcomes = np.column_stack([numbers(table, name, "arms", owner) for name in labels])
        if not (np.abs(outcomes) <= LARGEST_NUMBER).all():
            raise requirement(
                "arms", owner, f"columns of numbers no larger than {LARGEST_NUMBER:g}, none missing", brief(labels)
            )
        about = {"file": str(file), "arms": labels, "context": None if context is None else seen}
        features = in_columns(columns_of(table.select(seen), owner), table.height, owner)
        self.keep(features, outcomes, labels, about)
        self.check_digest(file, digest)


def read_table(file: object, owner: str) -> polars.DataFrame:
    """A table from a CSV or a Parquet file."""
    import polars

    if not isinstance(file, str | Path) or str(file) in ("", "-") or not Path(file).is_file():
        raise requirement("file", owner, "the path of a CSV or Parquet file", brief(file))
    try:
        with Path(file).open("rb") as opened:
            is_parquet = opened.read(4) == b"PAR1"
        return polars.read_parquet(file) if is_parquet else polars.read_csv(file, infer_schema_length=None)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        reason = " ".join(str(error).split()) or "it is damaged"
        raise InvalidInput(f"{file} cannot be read as a table: {brief(reason)}.") from None


def names_of(columns: object) -> tuple[str, ...]:
    """Names of columns; one alone may stand without brackets, and in a call ``(a,b)`` is text."""
    if isinstance(columns, str):
        inside = columns[1:-1] if columns[:1] + columns[-1:] in ("()", "[]") else columns
        return tuple(part.strip() for part in inside.split(",") if part.strip())
    return tuple(str(column) for column in columns) if isinstance(columns, tuple | list) else (str(columns),)


def check_columns(table: polars.DataFrame, names: tuple[str, ...], parameter: str, owner: str) -> None:
    """Refuse columns that are not there, or named twice."""
    if not names or len({*names}) < len(names):
        raise requirement(parameter, owner, "one or more different columns", brief(names))
    for name in names:
        if name not in table.columns:
            raise requirement(parameter, owner, f"made of the columns {table.columns[:20]}", brief(name))


def check_levels(levels: tuple[str, ...], column: str, owner: str) -> None:
    """Refuse a column in which almost every row is another level."""
    if len(levels) > MOST_LEVELS:
        raise requirement(column, owner, f"a column with at most {MOST_LEVELS} different texts", len(levels))


def is_number_column(column: polars.Series) -> bool:
    """Return whether a column holds numbers, or truth values."""
    import polars

    return column.dtype.is_numeric() or column.dtype == polars.Boolean


def numbers(table: polars.DataFrame, name: str, parameter: str, owner: str) -> Floats:
    """A column of numbers; what is missing is NaN."""
    column = table[name]
    if not is_number_column(column):
        raise requirement(parameter, owner, "made of columns of numbers", f"{name!r}, which is {column.dtype}")
    return column.cast(float).fill_null(float("nan")).to_numpy().astype(np.float64)


def columns_of(table: polars.DataFrame, owner: str) -> list[list[str] | Floats]:
    """The columns of a table: numbers as they are, all else as text."""
    columns: list[list[str] | Floats] = []
    for name in table.columns:
        if is_number_column(table[name]):
            values = numbers(table, name, "context", owner)
            if (np.abs(values) > LARGEST_FEATURE).any():
                rule = f"made of numbers no larger than {LARGEST_FEATURE:g}"
                raise requirement("context", owner, rule, brief(name))
            columns.append(values)
        else:
            columns.append([str(value) for value in table[name].to_list()])
    return columns


def in_columns(columns: Sequence[Sequence[str] | Floats], n_rows: int, owner: str) -> Floats:
    """The features of rows: numbers as they are, a column for each level of a text."""
    features: list[Floats] = []
    for number, column in enumerate(columns):
        if isinstance(column, np.ndarray):
            features.append(column)
            continue
        levels = tuple(sorted(set(column)))
        check_levels(levels, f"column {number + 1}", owner)
        features += [np.array([float(text == level) for text in column]) for level in levels]
    return np.ascontiguousarray(np.column_stack(features)) if features else np.empty((n_rows, 0))


for _abstract in (TableEnvironment, ClassTable):
    del CONTEXTUAL_ENVIRONMENTS[_abstract.name]
