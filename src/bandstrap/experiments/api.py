"""Experiments from Python: :func:`run` one, ask for its :func:`status`, and read its :func:`results`.

The command line calls the same functions: ``bandstrap simulate``, ``bandstrap status`` and ``bandstrap results``.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Collection, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

from bandstrap.basics.display import Display, Displayed
from bandstrap.basics.storage import check_folder
from bandstrap.engine.work.executors import worker_count
from bandstrap.engine.work.pool import Unfinished
from bandstrap.engine.work.progress import tell
from bandstrap.engine.work.workers import ExecutorName, at_work
from bandstrap.errors import check_choice, check_count, check_flag, requirement
from bandstrap.experiments.cost import check_driver
from bandstrap.experiments.folder import Folder, Planned, PlannedPanel, planned
from bandstrap.experiments.folder_status import FolderStatus, replications_there, status_of
from bandstrap.experiments.panels import PanelData, read_panels
from bandstrap.experiments.plan import PanelPlan, plan_panel
from bandstrap.experiments.runner import run_plans
from bandstrap.experiments.spec import ExperimentSpec, prepared, read_experiment
from bandstrap.experiments.store import BlockStore
from bandstrap.experiments.tidy import GAME, Tidy, TidyRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from polars import DataFrame

# What a folder of results may hold beside the file of its plan.
FOLDERS = ("blocks", "panels", "seconds", "runs", "choices")
# Names of columns where room is scarce.
SHORT = {"replications": "runs", "standard_error": "s.e."}


@dataclass(frozen=True, eq=False)
class Results(Displayed, Sequence[TidyRow]):
    """Results of an experiment: a row per panel, curve and place, as in ``bandstrap results``.

    Attributes
    ----------
    title, seed
        Those of the experiment.
    columns
        Names of the columns, in their order.
    rows
        A dictionary for each row; ``None`` where a column does not apply.
    incomplete
        Panels and curves left out because they are not complete.
    unfinished
        Tasks that were given up in the run.
    panels
        Data of the pictures, if this is the result of a run.
    """

    title: str
    seed: int
    columns: tuple[str, ...]
    rows: tuple[TidyRow, ...]
    incomplete: tuple[tuple[str, str], ...] = ()
    unfinished: Unfinished | None = None
    panels: tuple[PanelData, ...] = ()
    _table: Tidy | None = None

    @overload
    def __getitem__(self, place: int) -> TidyRow: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[TidyRow]: ...
    def __getitem__(self, place: int | slice) -> TidyRow | Sequence[TidyRow]:
        """A row, or some."""
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return str(self)

    @property
    def heading(self) -> str:
        """Title, seed, and other values common to all rows."""
        shared = self._shared()
        said = [str(shared["measure"])] if "measure" in shared else []
        if said == ["regret"] and shared.get("axis") == "round" and "at" in shared:
            said = [f"regret after {shared['at']:g} rounds"]
        if "replications" in shared:
            said.append(f"{shared['replications']} replications")
        return f"{self.title}: {', '.join([*said, f'seed {self.seed}'])}"

    def _display(self) -> Display:
        """Table for a reader: columns that differ, by short names, below what all rows share."""
        if not self.rows:
            return Display([f"{self.title}: no complete curve yet"], {})
        hidden = {*GAME, *self._shared(), "axis", "round"}
        shown = [
            name for name in self.columns if name not in hidden and any(row[name] is not None for row in self.rows)
        ]
        axes = {row["axis"] for row in self.rows}
        names = SHORT | ({"at": axes.pop()} if len(axes) == 1 else {})
        return Display([self.heading], {names.get(name, name): [row[name] for row in self.rows] for name in shown})

    def _shared(self) -> TidyRow:
        """Columns that are equal in all rows."""
        different = {
            name: {repr(row[name]) for row in self.rows} for name in ("panel", "measure", "axis", "at", "replications")
        }
        different["panel"] |= {repr(panel) for panel, _ in self.incomplete}
        return {name: self.rows[0][name] for name, values in different.items() if len(values) == 1}

    def to_polars(self) -> DataFrame:
        """The rows as a data frame of polars, each column with a type of its own."""
        assert self._table is not None  # noqa: S101 - those who make one give it
        return self._table.frame(self.rows)

    def plot(self) -> Figure:
        """The panels in one picture, as ``bandstrap simulate FILE --out`` draws them; only for results of :func:`run`."""
        if not self.panels:
            raise requirement("panels", "Results.plot", "those of bandstrap.experiments.run", "none")
        from bandstrap.plots.panels import plot_panels

        return plot_panels(self.title, self.panels)


def run(
    experiment: str | Path | ExperimentSpec,
    out: str | Path | None = None,
    *,
    seed: int | None = None,
    choices: bool | None = None,
    executor: Executor | ExecutorName | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> Results:
    """Run an experiment, or the part that a folder still lacks, and return its results.

    Parameters
    ----------
    experiment
        A TOML file such as ``bandstrap init`` writes, or an :class:`ExperimentSpec`. Files named by an ``ExperimentSpec``
        are relative to the current folder.
    out
        Folder for all results, created if missing: a stopped or killed run resumes from there. By default nothing is kept.
    seed
        Seed of all random numbers; default: that of the file, or 0.
    choices
        Keep every choice of every replication; default: as in the file. It needs a folder.
    executor
        ``"thread"``, ``"process"``, ``"dask"``, ``"mpi"``, or any ``concurrent.futures.Executor``; by default threads.
    jobs, scheduler
        Number of workers, one per core by default, or the address of a dask scheduler; for executors by name.
    progress
        Show on standard error how far it is: a bar on a terminal, else a line now and then if it takes long.

    Returns
    -------
    Results
        The same rows as :func:`results` of the folder gives, and pictures (:meth:`Results.plot`).

    Raises
    ------
    Unfinished
        A task failed three times. Everything else is done and kept, in ``results`` of the error.
    KeyboardInterrupt
        After Ctrl-C. No finished block is lost; the same call resumes the run.

    Examples
    --------
    >>> from bandstrap.experiments import ExperimentSpec, run
    >>> small = ExperimentSpec.model_validate({
    ...     "title": "UCB on two arms", "horizon": 100, "replications": 10,
    ...     "panels": [{"name": "a", "environment": "gaussian:means=(0,1)",
    ...                 "curves": [{"label": "UCB", "policy": "ucb1"}]}]})
    >>> found = run(small, seed=1, progress=False)
    >>> [(row["curve"], row["round"], row["replications"]) for row in found]
    [('UCB', 100, 10)]
    """
    owner = "experiments.run"
    words: tuple[str, ...] = ()
    if isinstance(experiment, ExperimentSpec):
        spec = prepared(experiment, f"the experiment {experiment.title!r}", Path())
    elif isinstance(experiment, str | Path):
        spec, words = read_experiment(experiment), words_of_file(experiment, seed, choices=bool(choices))
    else:
        raise requirement("experiment", owner, "a TOML file or an Experiment", repr(experiment))
    if choices is not None:
        check_flag(choices, "choices", owner)
    if seed is not None:
        check_count(seed, "seed", owner, at_least=0, at_most=None)
    if out is None and choices:
        raise requirement("choices", owner, "given with 'out', a folder to keep them in", repr(choices))
    folder = None if out is None else Path(out)
    if folder is not None:
        check_folder(folder, "out", owner, folders=FOLDERS, files=("plan.json",))
    with at_work(executor, owner, jobs=jobs, scheduler=scheduler) as pool:
        found = run_experiment(spec, folder, pool, seed=seed, choices=choices, words=words, progress=progress)
    if found.unfinished is not None:
        found.unfinished.results = found
        raise found.unfinished
    return found


def run_experiments(
    plans: Sequence[PanelPlan], store: BlockStore, *, executor: Executor | None = None, progress: bool = True
) -> list[PanelData]:
    """Run plans with a store of blocks; deprecated: use :func:`run`."""
    warnings.warn("run_experiments is deprecated: use bandstrap.experiments.run.", DeprecationWarning, stacklevel=2)
    folder = Folder(store.folder.parent if store.folder.name == "blocks" else store.folder)
    ran = run_plans(plans, folder, planned("experiment", 0, (), plans), executor=executor, progress=progress)
    if ran.unfinished is not None:
        raise ran.unfinished
    return list(read_panels(plans, folder))


def words_of_file(path: str | Path, seed: int | None, *, choices: bool) -> tuple[str, ...]:
    """The command that goes on with a file's experiment, but for the folder."""
    return "simulate", str(path), *(() if seed is None else ("--seed", str(seed))), *(("--choices",) * choices)


class Stopped(KeyboardInterrupt):
    """An experiment of one panel was stopped; ``results`` has the replications that all its curves have played."""

    def __init__(self, results: Results) -> None:
        super().__init__("stopped")
        self.results = results


def run_experiment(
    experiment: ExperimentSpec,
    out: Path | None,
    pool: Executor,
    *,
    seed: int | None = None,
    choices: bool | None = None,
    words: Sequence[str] = (),
    progress: bool = True,
) -> Results:
    """:func:`run`, of an experiment that was checked, on workers that are there; what was given up is not raised."""
    seed = experiment.seed if seed is None else seed
    if out is None:
        choices = False
    plans = [plan_panel(panel, experiment, seed, choices=choices) for panel in experiment.panels]
    check_driver(plans, worker_count(pool))
    with ExitStack() as stack:
        place = out
        if place is None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        folder = Folder(place)
        now = planned(experiment.title, seed, words, plans)
        try:
            ran = run_plans(plans, folder, now, executor=pool, progress=progress)
        except KeyboardInterrupt:
            partial = so_far(folder, now)
            if partial is None:
                raise
            raise Stopped(partial) from None
        tell("reading", shown=progress)
        complete = [plan for plan in plans if plan.name not in ran.incomplete]
        panels = tuple(read_panels(complete, folder, summarised=True))
        table = Tidy(now, ran.store)
        rows = tuple(row for curve in table.curves() for row in curve)
    tell("", shown=progress)
    return Results(
        experiment.title, seed, tuple(table.columns), rows, tuple(table.incomplete), ran.unfinished, panels, table
    )


def so_far(folder: Folder, plan: Planned) -> Results | None:
    """The replications that all curves of a single panel have played; ``None`` of others, or if there are none."""
    if len(plan.panels) > 1 or plan.panels[0].plot != "regret":
        return None
    n = replications_there(folder, plan.panels[0])
    if n == 0:
        return None
    return results_of(plan.model_copy(update={"panels": (cut(plan.panels[0], n),)}), folder)


def cut(panel: PlannedPanel, n: int) -> PlannedPanel:
    """A panel of its first replications alone."""
    curves = [
        curve.model_copy(
            update={
                "points": tuple(
                    point.model_copy(update={"about": point.about | {"last": min(n, point.about["last"])}})
                    for point in curve.points
                )
            }
        )
        for curve in panel.curves
    ]
    return panel.model_copy(update={"curves": tuple(curves)})


def status(folder: str | Path) -> FolderStatus:
    """Progress of the experiment in a folder, as ``bandstrap status`` shows it; no result is read."""
    return status_of(Folder(Path(folder)))


def results(folder: str | Path, *, curves: bool = False, panels: str | Collection[str] | None = None) -> Results:
    """Results of the experiment in a folder so far: the rows of ``bandstrap results``.

    Parameters
    ----------
    folder
        Folder written by :func:`run`, ``bandstrap simulate``, ``paper``, ``league`` or ``python -m study``.
    curves
        Regret at every recorded round, in the column ``round``, instead of only at the last.
    panels
        Name of a panel, or several; all by default.
    """
    home = Folder(Path(folder))
    return results_of(chosen_panels(home.read(), panels, "experiments.results"), home, curves=curves)


def results_of(plan: Planned, folder: Folder, *, curves: bool = False) -> Results:
    """The rows of a plan that a folder has."""
    table = Tidy(plan, folder.store(), every_round=curves)
    rows = tuple(row for curve in table.curves() for row in curve)
    return Results(plan.title, plan.seed, tuple(table.columns), rows, tuple(table.incomplete), _table=table)


def chosen_panels(plan: Planned, panels: str | Collection[str] | None, owner: str) -> Planned:
    """A plan with some of its panels; all by default."""
    if not panels:
        return plan
    names = [panel.name for panel in plan.panels]
    wanted = {check_choice(name, "panels", owner, names) for name in ([panels] if isinstance(panels, str) else panels)}
    return plan.model_copy(update={"panels": tuple(panel for panel in plan.panels if panel.name in wanted)})
