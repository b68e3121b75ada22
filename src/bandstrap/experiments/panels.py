"""Panels as their pictures and claims need them, read from a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.coverage import CoverageRow
from bandstrap.engine.simulator.result import mean, standard_error
from bandstrap.experiments.folder import Folder, FolderStore
from bandstrap.experiments.plan import CurvePlan, PanelPlan
from bandstrap.experiments.spec import Curve, Panel
from bandstrap.experiments.store import Measured


@dataclass(frozen=True, eq=False)
class CurveData:
    """Data of a curve."""

    curve: Curve
    # Rounds, swept values or sample sizes.
    places: Floats
    # One row per replication, one column per place; for bounds a single row of mean thresholds or miss rates.
    values: Floats
    rows: tuple[CoverageRow, ...]
    seconds: float

    @property
    def label(self) -> str:
        """Name in the legend."""
        return self.curve.label

    @property
    def mean(self) -> Floats:
        """Mean over replications at each place."""
        return mean(self.values, axis=0)

    @property
    def standard_error(self) -> Floats:
        """Standard error of the mean; NaN where there is one row."""
        return standard_error(self.values, axis=0)

    @property
    def n_replications(self) -> int:
        """Number of replications."""
        return len(self.values)

    @property
    def published(self) -> list[tuple[float, float]]:
        """Published values with their places; a single one belongs to the last place."""
        values = self.curve.published
        if values is None:
            return []
        return [(float(self.places[-1]), values)] if isinstance(values, float | int) else list(values)

    def summarised(self) -> CurveSummary:
        """Summary for a picture, in little memory."""
        return CurveSummary(
            self.curve,
            self.places,
            self.values[:0].copy(),
            self.rows,
            self.seconds,
            means=self.mean,
            errors=self.standard_error,
            count=self.n_replications,
        )

    def at(self, place: float | None = None) -> Floats:
        """Values of all replications at a place, on the line between its neighbours; by default the last."""
        if place is None:
            return self.values[:, -1]
        after = min(int(np.searchsorted(self.places, place)), self.places.size - 1)
        if after == 0 or self.places[after] <= place:
            return self.values[:, after]
        share = (place - self.places[after - 1]) / (self.places[after] - self.places[after - 1])
        before = self.values[:, after - 1]
        return before + share * (self.values[:, after] - before)


@dataclass(frozen=True, eq=False)
class CurveSummary(CurveData):
    """Summary of a curve for a picture: means and standard errors, the replications themselves forgotten."""

    means: Floats
    errors: Floats
    count: int

    @property
    def mean(self) -> Floats:
        """Mean over replications at each place."""
        return self.means

    @property
    def standard_error(self) -> Floats:
        """Standard error of the mean."""
        return self.errors

    @property
    def n_replications(self) -> int:
        """Number of replications."""
        return self.count


@dataclass(frozen=True, eq=False)
class PanelData:
    """Data of a panel."""

    panel: Panel
    curves: tuple[CurveData, ...]

    def __getitem__(self, label: str) -> CurveData:
        return next(curve for curve in self.curves if curve.label == label)

    @property
    def seconds(self) -> float:
        """Core-seconds spent on it."""
        return sum(curve.seconds for curve in self.curves)


def read_panels(plans: Iterable[PanelPlan], folder: Folder, *, summarised: bool = False) -> Iterator[PanelData]:
    """Panels that a folder has; one of which somebody has removed a part meanwhile is refused."""
    store = folder.store()
    for plan in plans:
        found = read_panel(plan, store, summarised=summarised)
        if found is None:
            raise folder.incomplete(plan.name)
        yield found


def read_panel(plan: PanelPlan, store: FolderStore, *, summarised: bool = False) -> PanelData | None:
    """A panel as a store has it; ``None`` if anything of it is missing. Nothing is run.

    Once ``summarised``, replications are forgotten, so that those of one curve at a time are in memory.
    """
    curves: list[CurveData] = []
    for curve in plan.curves:
        found = read_curve(plan.panel, curve, store)
        if found is None:
            return None
        curves.append(found.summarised() if summarised else found)
    return PanelData(plan.panel, tuple(curves))


def read_curve(panel: Panel, plan: CurvePlan, store: FolderStore) -> CurveData | None:
    """A curve, its points put together; ``None`` if anything of it is missing."""
    rows: list[CoverageRow] = []
    columns: list[Floats] = []
    seconds = 0.0
    places = np.array([0.0 if place is None else place for place in plan.places])
    for block in plan.blocks:
        found = store.whole(block)
        if found is None:
            return None
        seconds += found.seconds
        if isinstance(found, Measured):
            rows.append(CoverageRow(**found.row))
            columns.append(np.array([[rows[-1].mean_width if panel.show == "threshold" else rows[-1].miss_rate]]))
        elif plan.places == (None,):
            places = np.array(block.about["checkpoints"], dtype=np.float64)
            columns.append(found.regret)
        else:
            columns.append(found.regret[:, -1:])
    return CurveData(plan.curve, places, np.concatenate(columns, axis=1), tuple(rows), seconds)
