"""Run the study, cell by cell; what was finished before is read from its folder."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.basics.storage import NO_SEAL, read_sealed, seal, write_bytes
from bandstrap.bounds.coverage import CoverageRow, binomial_interval, measure, sample_blocks
from bandstrap.bounds.distributions import target
from bandstrap.bounds.resampling import N_RESAMPLES
from bandstrap.engine.simulator.parquet import read_about
from bandstrap.experiments.folder import CurvePoint, Folder, Planned, PlannedCurve, PlannedPanel
from bandstrap.experiments.runner import run_plans
from bandstrap.experiments.store import Measured
from study.laws import BY_NAME
from study.plan import AT_ONCE, CALLS, FEW, N_WIDTHS, SCIPY, Cell

FILE = "study.parquet"
COMMAND = "python -m study"

# The columns of the file, in their order; what each is stands on the page.
COLUMNS = {
    "law": str,
    "n": int,
    "alpha": float,
    "side": str,
    "bound": str,
    "assumption": str,
    "guarantee": float,
    "samples": int,
    "misses": int,
    "widths": int,
    "median_width": float,
    "mean_width": float,
    "exact_width": float,
}


def measure_cell(cell: Cell, only: Container[str] = (*CALLS, *SCIPY)) -> list[dict[str, Any]]:
    """The rows of a cell: all bounds, or some, on the same samples, some on more of them than others."""
    law = BY_NAME[cell.law].make()
    entries = list(cell.entries())
    most = max(samples for _, _, samples in entries)
    blocks = list(sample_blocks(law, cell.n, most, cell.seed))
    deviations = np.concatenate([target(law) - block.mean(axis=-1) for block in blocks])
    # What a bound of constant width needs that knows the distribution.
    exact = np.quantile(deviations if cell.side == "upper" else -deviations, 1 - cell.alpha, method="inverted_cdf")
    measured = scipy_rows(cell, target(law), blocks[0]) if cell.of_scipy else our_rows(cell, law, blocks, only)
    return [
        {
            "law": cell.law,
            "n": cell.n,
            "alpha": cell.alpha,
            "side": cell.side,
            "bound": row.bound,
            "assumption": row.assumption,
            "guarantee": row.guarantee,
            "samples": row.replications,
            "misses": row.misses,
            "widths": row.widths,
            "median_width": row.median_width,
            "mean_width": row.mean_width,
            "exact_width": float(exact),
        }
        for row in measured
        if row.bound in only
    ]


def our_rows(cell: Cell, law: Any, blocks: Sequence[Floats], only: Container[str]) -> Iterator[CoverageRow]:
    """What the coverage lab measures of our bounds."""
    for call, told, samples in cell.entries():
        if str(call) in only:
            yield measure(
                call,
                told,
                law,
                cell.n,
                cell.alpha,
                cell.side,
                samples,
                cell.seed,
                n_widths=N_WIDTHS.get(call.name),
                blocks=blocks,
                at_once=AT_ONCE.get(str(call)),
            )


def scipy_rows(cell: Cell, mean: float, rewards: Floats) -> Iterator[CoverageRow]:
    """What ``scipy.stats.bootstrap`` gives on the first of the samples; where it gives no number, no bound."""
    from scipy import stats

    bootstrap: Any = stats.bootstrap  # whose stubs have a kind of call for every kind of array
    samples = rewards[: min(FEW, cell.most)]
    for bound, method in SCIPY.items():
        ends = []
        for number, first in enumerate(range(0, len(samples), AT_ONCE["bca"])):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # of equal rewards, where it gives no number
                found = bootstrap(
                    (samples[first : first + AT_ONCE["bca"]],),
                    np.mean,
                    axis=-1,
                    vectorized=True,
                    n_resamples=N_RESAMPLES,
                    confidence_level=1 - cell.alpha,
                    alternative="less" if cell.side == "upper" else "greater",
                    method=method,
                    random_state=np.random.default_rng([cell.seed, cell.n, 2, number]),
                )
            interval = found.confidence_interval
            ends.append(interval.high if cell.side == "upper" else -interval.low)
        end = np.nan_to_num(np.concatenate(ends), nan=np.inf, posinf=np.inf)
        sign = 1.0 if cell.side == "upper" else -1.0
        width = end - sign * samples.mean(axis=-1)
        missed = int((end < sign * mean).sum())
        rate, low, high = missed / len(samples), *binomial_interval(missed, len(samples))
        yield CoverageRow(
            *(bound, cell.n, cell.alpha, len(samples), missed, rate, low, high),
            median_width=float(np.median(width)),
            guarantee=None,
            mean_width=float(width.mean()),
            widths=len(samples),
        )


@dataclass(frozen=True)
class StudyPanel:
    """The cells of one distribution: a panel of the study's folder."""

    name: str
    cells: tuple[Cell, ...]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def planned(self) -> PlannedPanel:
        """As the folder has it: a curve for each bound, level and side, of miss rates against sample sizes."""
        curves: dict[tuple[str, float, str], list[CurvePoint]] = {}
        for cell in self.cells:
            for bound, _ in cell.about["bounds"]:
                key = bound, cell.alpha, cell.side
                curves.setdefault(key, []).append(CurvePoint(at=float(cell.n), about=cell.about))
        return PlannedPanel(
            name=self.name,
            title=self.name,
            plot="bounds",
            show="miss rate",
            axis="sample size",
            settings={},
            curves=tuple(
                PlannedCurve(label=bound, settings={"side": side}, published=None, points=tuple(points))
                for (bound, _, side), points in curves.items()
            ),
        )


def run_study(
    cells: Sequence[Cell], out: Path, *, executor: Executor | None = None, progress: bool = True
) -> list[dict[str, Any]]:
    """Measure all cells and write ``study.parquet`` to a folder; the rows depend on the cells alone."""
    laws = dict.fromkeys(cell.law for cell in cells)
    panels = [StudyPanel(law, tuple(cell for cell in cells if cell.law == law)) for law in laws]
    seeds = sorted({cell.seed for cell in cells})
    words = (*COMMAND.split(), "--seed", str(seeds[0]))
    plan = Planned(
        title="Study of the bounds", seed=seeds[0], words=words, panels=tuple(panel.planned() for panel in panels)
    )
    ran = run_plans(panels, Folder(out), plan, executor=executor, progress=progress)
    if ran.unfinished is not None:
        raise ran.unfinished
    rows = []
    for cell in cells:
        found = ran.store.whole(cell)
        if not isinstance(found, Measured):
            raise Folder(out).incomplete(cell.law)
        rows += [{name: row[name] for name in COLUMNS} for row in found.row["rows"]]
    write_bytes(out / FILE, as_parquet(rows, {"command": COMMAND, "seed": seeds[0] if len(seeds) == 1 else seeds}))
    return rows


def as_parquet(rows: Iterable[dict[str, Any]], about: dict[str, Any]) -> bytes:
    """The file: rows in the order of the cells, and under a seal what it was made by."""
    import polars

    types = {str: polars.String, int: polars.Int64, float: polars.Float64}
    frame = polars.DataFrame(list(rows), schema={name: types[kind] for name, kind in COLUMNS.items()})
    content = io.BytesIO()
    metadata = {"bandstrap": json.dumps({**about, "seal": NO_SEAL})}
    frame.write_parquet(content, compression="zstd", compression_level=19, metadata=metadata)
    return seal(content.getvalue())


def read_study(path: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of a file, and what it was made by; :class:`bandstrap.basics.storage.Damaged` if a bit of it has changed."""
    import polars

    data = read_sealed(path)
    return polars.read_parquet(io.BytesIO(data)).to_dicts(), read_about(data)
