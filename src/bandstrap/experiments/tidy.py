"""The numbers of a folder as one table: a row for every panel, curve and place.

Nothing in it depends on who played, in what order, or how fast: the same experiment and seed give the same table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandstrap.engine.simulator.blocks import Played
from bandstrap.engine.simulator.parquet import write_frames
from bandstrap.engine.simulator.result import Statistics
from bandstrap.errors import LARGEST_COUNT
from bandstrap.experiments.folder import CurvePoint, FolderStore, Planned, PlannedCurve, PlannedPanel
from bandstrap.experiments.grid import written
from bandstrap.experiments.lanes import SeriesAbout
from bandstrap.experiments.store import Measured

if TYPE_CHECKING:
    from polars import DataFrame

BEFORE = ("panel", "curve")
# What was played, or measured, spelled so that it can be again.
GAME = ("policy", "environment", "feedback", "horizon", "alpha", "seed")
AFTER = ("measure", "axis", "at", "round", "replications", *Statistics._fields, "published")
CHOICES = ("axis", "at", "replication", "choices")
# Bytes of choices that are written at a time.
AT_A_TIME = 2**24
# And rows of a table.
ROWS_AT_A_TIME = 2**16

TidyRow = dict[str, Any]


class Columns(NamedTuple):
    """The columns of what is varied by grids, by its name, and the type that all values of each have."""

    columns: dict[str, str]
    types: dict[str, type]
    # That of seeds, which may be longer than a column of numbers holds.
    seed: type

    def schema(self) -> dict[str, type]:
        """The type of every column that a table may have."""
        texts = dict.fromkeys((*BEFORE, *GAME, "measure", "axis"), str)
        numbers = dict.fromkeys(AFTER, float) | dict.fromkeys(("horizon", "round", "replications", "replication"), int)
        of_grids = {column: self.types[name] for name, column in self.columns.items()}
        return numbers | texts | {"horizon": int, "alpha": float, "seed": self.seed} | of_grids

    def head(self, panel: PlannedPanel, curve: PlannedCurve) -> TidyRow:
        """Columns of a row about its panel and its curve."""
        settings = panel.settings | curve.settings
        given = {column: self.kept(name, settings.get(name)) for name, column in self.columns.items()}
        return {"panel": panel.name, "curve": curve.label, **given}

    def game(self, about: SeriesAbout) -> TidyRow:
        """Columns about the game or the measurement."""
        game = (
            about.get("policy", about.get("bound")),
            about.get("environment", about.get("distribution")),
            about.get("feedback"),
            about.get("horizon"),
            about.get("alpha"),
            self.seed(about["seed"]),
        )
        return dict(zip(GAME, game, strict=True))

    def kept(self, name: str, value: object) -> Any:
        """A value as its column has it."""
        if value is None:
            return None
        kind = self.types[name]
        return written(as_tuples(value)) if kind is str else kind(value)


def as_tuples(value: object) -> object:
    """A value of a grid as it was given: JSON knows lists alone.

    >>> as_tuples([[1, 0], [0, 1]])
    ((1, 0), (0, 1))
    """
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


class Tidy:
    """The table of what a folder has, one curve in memory at a time.

    Of regret against rounds the last is given, or all that were recorded.
    """

    def __init__(self, planned: Planned, store: FolderStore, *, every_round: bool = False) -> None:
        self._planned, self._store, self._every_round = planned, store, every_round
        self._grids = columns_of_grids(planned)
        # Curves that were left out because they are not complete.
        self.incomplete: list[tuple[str, str]] = []

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [*BEFORE, *self._grids.columns.values(), *GAME, *AFTER]

    def curves(self) -> Iterator[list[TidyRow]]:
        """The rows of each complete curve."""
        self.incomplete.clear()
        for panel in self._planned.panels:
            for curve in panel.curves:
                found = rows_of_curve(panel, curve, self._store, every_round=self._every_round)
                if found is None:
                    self.incomplete.append((panel.name, curve.label))
                    continue
                head = self._grids.head(panel, curve)
                yield [head | self._grids.game(row["about"]) | {name: row[name] for name in AFTER} for row in found]

    def frame(self, rows: Sequence[TidyRow]) -> DataFrame:
        """Rows as a data frame."""
        import polars

        kinds = self._grids.schema()
        schema = {name: kinds[name] for name in self.columns}
        return polars.DataFrame({name: [row[name] for row in rows] for name in schema}, schema=schema)

    def write(self, path: Path, curves: Iterable[list[TidyRow]]) -> None:
        """Write curves to a Parquet file, whole or not at all."""
        write_frames(path, map(self.frame, curves), ROWS_AT_A_TIME)


def columns_of_grids(planned: Planned) -> Columns:
    """One column for each name, with numbers if all its values are numbers, else with texts."""
    found: dict[str, set[type]] = {}
    for panel in planned.panels:
        for settings in (panel.settings, *(curve.settings for curve in panel.curves)):
            for name, value in settings.items():
                is_long = isinstance(value, int) and abs(value) > LARGEST_COUNT  # for a column of numbers
                found.setdefault(name, set()).add(str if is_long else type(value))
    kinds: dict[str, type] = {}
    for name, types in found.items():
        numbers = float if types == {int, float} else next(iter(types)) if len(types) == 1 else str
        kinds[name] = numbers if numbers in (bool, int, float) else str
    taken = {*BEFORE, *GAME, *AFTER, *CHOICES}
    seeds = {point.about["seed"] for panel in planned.panels for curve in panel.curves for point in curve.points}
    columns = {name: f"grid.{name}" if name in taken else name for name in kinds}
    return Columns(columns, kinds, int if all(seed <= LARGEST_COUNT for seed in seeds) else str)


def rows_of_curve(
    panel: PlannedPanel, curve: PlannedCurve, store: FolderStore, *, every_round: bool
) -> list[TidyRow] | None:
    """The rows of a curve; ``None`` if it is not complete."""
    rows = measured_rows(panel, curve, store) if panel.plot == "bounds" else played_rows(panel, curve, store)
    if rows is None:
        return None
    published = curve.published
    pairs = {rows[-1]["at"]: published} if isinstance(published, float) else dict(published or ())
    rows = [{**row, "axis": panel.axis, "published": pairs.get(row["at"])} for row in rows]
    return rows[-1:] if panel.plot == "regret" and not every_round else rows


def measured_rows(panel: PlannedPanel, curve: PlannedCurve, store: FolderStore) -> list[TidyRow] | None:
    """A bound at each sample size; where a measurement has several, the one that the curve is called after."""
    rows = []
    for point in curve.points:
        found = store.read(point.about)
        if not isinstance(found, Measured):
            return None
        several = found.row.get("rows")
        row = found.row if several is None else next(each for each in several if each["bound"] == curve.label)
        is_width = panel.show == "threshold"
        rows.append(
            {
                "about": {"bound": curve.label, **point.about},
                "measure": panel.show,
                "at": point.at,
                "round": None,
                "replications": row["replications"],
                **dict.fromkeys(Statistics._fields),
                "mean": row["mean_width"] if is_width else row["miss_rate"],
                "standard_error": row["width_error"] if is_width else None,
                "median": row["median_width"] if is_width else None,
            }
        )
    return rows


def played_rows(panel: PlannedPanel, curve: PlannedCurve, store: FolderStore) -> list[TidyRow] | None:
    """Regret at each recorded round, or at the horizon for each swept value."""
    columns = []
    for point in curve.points:
        found = store.whole_of(point.about, point.pieces())
        if not isinstance(found, Played):
            return None
        columns.append(found.regret if panel.plot == "regret" else found.regret[:, -1:])
    abouts = [point.about for point in curve.points]
    rounds = [about["horizon"] for about in abouts]
    places: Sequence[Any] = [point.at for point in curve.points]
    if panel.plot == "regret":
        places = rounds = abouts[0]["checkpoints"]
        abouts *= len(rounds)
    values = curve.factor * np.concatenate(columns, axis=1)
    return [
        {"about": about, "measure": "regret", "at": float(at), "round": round_, "replications": len(values), **numbers}
        for about, at, round_, numbers in zip(abouts, places, rounds, Statistics.of(values).rows(), strict=True)
    ]


class ChoicesTable(NamedTuple):
    """A row for every replication of every curve whose choices are there, and the curves of which some are missing."""

    grids: Columns
    points: list[tuple[PlannedPanel, PlannedCurve, CurvePoint]]
    store: FolderStore
    incomplete: list[tuple[str, str]]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [*BEFORE, *self.grids.columns.values(), *GAME, *CHOICES]

    def frames(self, n_bytes: int = AT_A_TIME) -> Iterator[DataFrame]:
        """The table, some rows at a time, so that memory does not grow with their number."""
        import polars

        kinds = self.grids.schema() | {"choices": polars.List(self.kind())}
        schema: Any = {name: kinds[name] for name in self.columns}
        for panel, curve, point in self.points:
            axis = panel.axis if panel.plot == "sweep" else None
            head = self.grids.head(panel, curve) | self.grids.game(point.about) | {"axis": axis, "at": point.at}
            for first, array in self.store.choices.read(point.about):
                size = max(1, n_bytes // array[0].nbytes)
                for start in range(0, len(array), size):
                    rows = array[start : start + size]
                    numbers = np.arange(first + start, first + start + len(rows))
                    frame = polars.DataFrame({"replication": numbers, "choices": polars.Series(rows).arr.to_list()})
                    given = [polars.lit(value, dtype=schema[name]).alias(name) for name, value in head.items()]
                    yield frame.with_columns(given).select(self.columns).cast(schema)

    def kind(self) -> Any:
        """The type that all arms fit into."""
        import polars

        found = {self.store.choices.kind(point.about) for *_, point in self.points}
        return next(kind for kind in (polars.UInt32, polars.UInt16, polars.UInt8) if kind in found)

    def lines(self) -> Iterator[str]:
        """The table as CSV, which has no lists: a line for every round, some lines at a time."""
        import polars

        for number, frame in enumerate(self.frames(AT_A_TIME // 64)):
            rounds = polars.int_ranges(1, polars.col("choices").list.len() + 1).alias("round")
            long = frame.with_columns(rounds).explode("round", "choices").rename({"choices": "arm"})
            yield long.select([*self.columns[:-1], "round", "arm"]).write_csv(include_header=number == 0)

    def write(self, path: Path) -> None:
        """Write a Parquet file, whole or not at all."""
        longest = max(point.about["horizon"] for *_, point in self.points)
        write_frames(path, self.frames(), max(1, AT_A_TIME // longest))


def choices_table(planned: Planned, store: FolderStore) -> ChoicesTable:
    """The choices that a folder has."""
    points, incomplete = [], []
    for panel in planned.panels:
        for curve in panel.curves:
            if not panel.choices:
                continue
            if all(store.choices.is_whole(point.about) for point in curve.points):
                points += [(panel, curve, point) for point in curve.points]
            else:
                incomplete.append((panel.name, curve.label))
    return ChoicesTable(columns_of_grids(planned), points, store, incomplete)
