"""The numbers of a folder as one table: a row for every panel, curve and place.

Nothing in it depends on who played, in what order, or how fast: the same experiment and seed give the same table.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandstrap.arrays import Floats
from bandstrap.engine.blocks import Played
from bandstrap.engine.result import standard_error
from bandstrap.errors import LARGEST_COUNT
from bandstrap.experiments.folder import FolderStore, Planned, PlannedCurve, PlannedPanel, Point
from bandstrap.experiments.grid import written
from bandstrap.experiments.store import Measured

if TYPE_CHECKING:
    from polars import DataFrame

BEFORE = ("panel", "curve")
AFTER = ("measure", "axis", "at", "replications", "mean", "standard_error", "median", "q90", "published")


class Columns(NamedTuple):
    """The columns of what is varied by grids, by its name, and the type that all values of each have."""

    columns: dict[str, str]
    types: dict[str, type]

    def kept(self, name: str, value: Any) -> Any:
        """A value as its column has it."""
        if value is None:
            return None
        kind = self.types[name]
        return written(tuple(value) if isinstance(value, list) else value) if kind is str else kind(value)


class Tidy(NamedTuple):
    """A table, and the curves that are not in it because they are not complete."""

    grids: Columns
    rows: list[dict[str, Any]]
    incomplete: list[tuple[str, str]]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [*BEFORE, *self.grids.columns.values(), *AFTER]

    def frame(self) -> DataFrame:
        """The table as a data frame."""
        import polars

        texts = dict.fromkeys((*BEFORE, "measure", "axis"), str)
        numbers = dict.fromkeys(AFTER, float) | {"replications": int}
        of_grids = {column: self.grids.types[name] for name, column in self.grids.columns.items()}
        kinds: Any = numbers | texts | of_grids
        return polars.DataFrame(self.rows, schema={name: kinds[name] for name in self.columns})


def tidy(planned: Planned, store: FolderStore, *, every_round: bool = False) -> Tidy:
    """The table of what a folder has, one curve in memory at a time.

    Of regret against rounds the last is given, or all that were recorded.
    """
    rows: list[dict[str, Any]] = []
    incomplete = []
    grids = columns_of_grids(planned)
    for panel in planned.panels:
        for curve in panel.curves:
            found = rows_of_curve(panel, curve, store, every_round=every_round)
            if found is None:
                incomplete.append((panel.name, curve.label))
                continue
            settings = panel.settings | curve.settings
            given = {column: grids.kept(name, settings.get(name)) for name, column in grids.columns.items()}
            head = {"panel": panel.name, "curve": curve.label, **given}
            rows += [head | {name: row[name] for name in AFTER} for row in found]
    return Tidy(grids, rows, incomplete)


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
    return Columns({name: f"grid.{name}" if name in (*BEFORE, *AFTER) else name for name in kinds}, kinds)


def rows_of_curve(
    panel: PlannedPanel, curve: PlannedCurve, store: FolderStore, *, every_round: bool
) -> list[dict[str, Any]] | None:
    """The rows of a curve; ``None`` if it is not complete."""
    rows = measured_rows(panel, curve, store) if panel.plot == "bounds" else played_rows(panel, curve, store)
    if rows is None:
        return None
    published = curve.published
    pairs = {rows[-1]["at"]: published} if isinstance(published, float) else dict(published or ())
    rows = [{**row, "axis": panel.axis, "published": pairs.get(row["at"])} for row in rows]
    return rows[-1:] if panel.plot == "regret" and not every_round else rows


def measured_rows(panel: PlannedPanel, curve: PlannedCurve, store: FolderStore) -> list[dict[str, Any]] | None:
    """A bound at each sample size."""
    rows = []
    for point in curve.points:
        found = store.read(point.about)
        if not isinstance(found, Measured):
            return None
        row, is_width = found.row, panel.show == "threshold"
        rows.append(
            {
                "measure": panel.show,
                "at": point.at,
                "replications": row.replications,
                "mean": row.mean_width if is_width else row.miss_rate,
                "standard_error": row.width_error if is_width else None,
                "median": row.median_width if is_width else None,
                "q90": None,
            }
        )
    return rows


def played_rows(panel: PlannedPanel, curve: PlannedCurve, store: FolderStore) -> list[dict[str, Any]] | None:
    """Regret at each recorded round, or at the horizon for each swept value."""
    columns = []
    for point in curve.points:
        regret = regret_of(point, store)
        if regret is None:
            return None
        columns.append(regret if panel.plot == "regret" else regret[:, -1:])
    places = curve.points[0].about["checkpoints"] if panel.plot == "regret" else [p.at for p in curve.points]
    values = np.concatenate(columns, axis=1)
    median, q90 = np.quantile(values, [0.5, 0.9], axis=0)
    numbers = zip(places, values.mean(axis=0), standard_error(values, axis=0), median, q90, strict=True)
    return [
        {
            "measure": "regret",
            "at": float(at),
            "replications": len(values),
            "mean": float(mean),
            "standard_error": None if math.isnan(error) else float(error),
            "median": float(middle),
            "q90": float(high),
        }
        for at, mean, error, middle, high in numbers
    ]


def regret_of(point: Point, store: FolderStore) -> Floats | None:
    """Regret of all replications at all recorded rounds; ``None`` if it is not complete."""
    whole = store.merged.load(point.about)
    if isinstance(whole, Played):
        return whole.regret
    parts = []
    for about in point.pieces():
        found = store.read(about)
        if not isinstance(found, Played):
            return None
        parts.append(found.regret)
    return np.concatenate(parts)
