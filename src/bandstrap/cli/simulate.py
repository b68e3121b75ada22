"""``bandstrap simulate``: policies side by side on one environment."""

from __future__ import annotations

import contextlib
import io
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bandstrap.cli.terminal import complain, print_table, write_csv
from bandstrap.cli.workers import Jobs, Kind, Scheduler
from bandstrap.engine.progress import tell
from bandstrap.engine.workers import workers
from bandstrap.errors import InvalidInput, check_count
from bandstrap.storage import check_folder, write_text

if TYPE_CHECKING:
    from bandstrap.engine.pool import Unfinished
    from bandstrap.experiments.folder import Folder, FolderStore
    from bandstrap.experiments.plan import AnyBlock, PanelPlan
    from bandstrap.experiments.run import PanelData

# What is written of policies that were played, and of an experiment in a file.
PLAYED = ("summary.csv", "result.parquet", "regret.png")
PICTURES = ("panels.png", "panels.svg")
DRAWN = ("plan.json", "summary.csv", *PICTURES)
# Where finished work is kept.
FOLDERS = ("blocks", "panels", "seconds", "runs")
# Panels and different curves of one picture.
MOST_PANELS = 24
MOST_LABELS = 40


def simulate(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="An experiment in a TOML file, instead of policies and an environment.", show_default=False
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy with options, such as bootstrapped_ucb:sigma=2, or a class in a file of your own, "
            "FILE.py:Class:key=value; may be given more than once."
        ),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            help="An environment with options, such as bernoulli:n_arms=10 or gaussian:means=(0,1), or data of your own, "
            "empirical:data.csv,arm=variant,reward=revenue; gaussian by default."
        ),
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Rounds per replication; 2000 by default.")] = None,
    replications: Annotated[int | None, typer.Option(help="Number of replications; 200 by default.")] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            help="Rounds that every reward is late by, or a law of them such as geom:p=0.005; 0 by default.",
            show_default=False,
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            help="Learn rewards at the ends of rounds BATCH, 2 BATCH, ... only; 1 by default.", show_default=False
        ),
    ] = None,
    lost: Annotated[
        float | None, typer.Option(help="Share of rewards that are never learned; 0 by default.", show_default=False)
    ] = None,
    choices: Annotated[
        bool,
        typer.Option(
            "--choices",
            help="Keep every choice of every replication in OUT, too; of a FILE those of all its panels, else of those "
            "that say so.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for tables, results and pictures; created if missing. A FILE resumes from there."),
    ] = None,
    jobs: Jobs = None,
    executor: Kind = "thread",
    scheduler: Scheduler = None,
) -> None:
    """Play policies against an environment and print their regret, or run the panels of an experiment in a file.

    Every policy meets the same rewards. The same seed gives the same numbers for any number of threads or processes.
    bandstrap init writes an example of a FILE, bandstrap check looks at one, and bandstrap status and results read OUT.
    """
    pool = workers(jobs, "bandstrap simulate", executor, scheduler)
    check_count(seed, "seed", "bandstrap simulate", at_least=0, at_most=None)
    if choices and out is None:
        raise InvalidInput("bandstrap simulate --choices needs --out, a folder to keep them in.")
    if out is not None:
        folders, files = ((), PLAYED) if file is None else ((*FOLDERS, "choices"), DRAWN)
        check_folder(out, "out", "bandstrap simulate", folders=folders, files=files)
    if file is not None:
        if policy or any(given is not None for given in (environment, horizon, replications, delay, batch, lost)):
            raise InvalidInput(
                "bandstrap simulate FILE takes policies, environment, horizon, replications, delay, batch and lost from "
                "the file."
            )
        simulate_file(file, seed, out, pool, choices=choices)
        return
    from bandstrap.engine.feedback import Feedback
    from bandstrap.engine.simulate import Interrupted
    from bandstrap.engine.simulate import simulate as run
    from bandstrap.names import NAMED_ENVIRONMENTS, NAMED_POLICIES, check_game, make

    if not policy:
        raise InvalidInput("bandstrap simulate needs a FILE or a --policy; bandstrap list policies shows them.")
    policies = [make(text, NAMED_POLICIES, "policy") for text in policy]
    world = make("gaussian" if environment is None else environment, NAMED_ENVIRONMENTS, "environment")
    horizon, replications = horizon if horizon is not None else 2000, replications if replications is not None else 200
    check_count(horizon, "horizon", "bandstrap simulate")
    check_count(replications, "replications", "bandstrap simulate")
    late: Any = {"delay": delay, "batch": batch, "lost": lost}
    late = {name: value for name, value in late.items() if value is not None}
    check_game(policies, world, horizon, Feedback(**late, owner="bandstrap simulate"))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    stopped: Interrupted | None = None
    try:
        with pool:
            sizes: Any = {"horizon": horizon, "replications": replications, "seed": seed, "choices": choices}
            result = run(policies, world, executor=pool, **sizes, **late)
    except Interrupted as interrupted:  # what was played is shown and kept
        stopped, result = interrupted, interrupted.result
        complain(f"stopped after {result.n_replications} of {replications} replications")
    tell("")
    rows = result.summary()
    title = f"Regret after {horizon} rounds of {result.environment}, {result.n_replications} replications, seed {seed}"
    print_table(list(rows[0]), [list(row.values()) for row in rows], title=title)
    if out is not None:
        tell("drawing")
        from bandstrap.plots.style import save_figure

        result.to_parquet(out / "result.parquet")
        write_rows(out / "summary.csv", rows)
        save_figure(result.plot(), out / "regret.png")
        complain(f"wrote summary.csv, result.parquet and regret.png to {out}")
    if stopped is not None:
        raise stopped


def simulate_file(path: Path, seed: int, out: Path | None, pool: Executor, *, choices: bool = False) -> None:
    """Run an experiment; print the end of every curve, and keep pictures and numbers in a folder if there is one."""
    from bandstrap.engine.executors import worker_count
    from bandstrap.experiments.cost import check_driver
    from bandstrap.experiments.folder import Folder, planned
    from bandstrap.experiments.plan import plan_panel
    from bandstrap.experiments.spec import read_experiment

    experiment = read_experiment(path)
    kept = False if out is None else True if choices else None  # with None, where the file says so
    plans = [plan_panel(panel, experiment, seed, choices=kept) for panel in experiment.panels]
    with contextlib.ExitStack() as stack:
        stack.enter_context(pool)
        check_driver(plans, worker_count(pool))
        place = out
        if place is None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        folder = Folder(place)
        words = ["simulate", str(path), *(["--seed", str(seed)] if seed else []), *(["--choices"] if choices else [])]
        plan = planned(experiment.title, seed, words, plans)
        change = folder.begin(plan)
        if change:
            complain(f"{out}: {change}")
        run = PanelsOfRun(plans, folder)
        panels = list(run.play(pool))
        if not folder.plan.is_file():  # somebody has emptied the folder meanwhile
            folder.begin(plan)
    rows = [row for panel in panels for row in rows_of(panel)]
    if rows:
        print_table(list(rows[0]), [list(row.values()) for row in rows], title=f"{experiment.title}, seed {seed}")
    if rows and out is not None:
        tell("drawing")
        write_rows(out / "summary.csv", rows)
        draw(experiment.title, panels, out)
    run.check_finished()


class PanelsOfRun:
    """The panels of an experiment, played and put together one by one."""

    def __init__(self, plans: Sequence[PanelPlan], folder: Folder) -> None:
        self._plans, self._folder = plans, folder
        self._given_up: Unfinished | None = None
        self._incomplete: list[str] = []

    def play(self, pool: Executor) -> Iterator[PanelData]:
        """Play what the folder lacks, each panel merged when it is complete, and give what a picture of each shows."""
        from bandstrap.engine.executors import worker_count
        from bandstrap.experiments.merging import Merging
        from bandstrap.experiments.runs import Run

        with Run(self._folder.runs, worker_count(pool)) as run:
            store = self._folder.store(run)
            missing = [block for plan in self._plans for block in plan if not store.has(block)]
            for file in (*store.merged.damaged, *store.choices.damaged):
                complain(f"{file} is damaged; what it had of this plan is played again")
            with Merging(self._folder, self._plans, missing) as merging:
                self._store_blocks(missing, store, pool, merging.done)
                tell("merging")
            for plan in self._plans:
                tell(f"reading {plan.name}")
                found = self._read(plan, merging.store)
                if found is None and self._given_up is None:  # somebody has removed blocks meanwhile
                    self._store_blocks(plan, store, pool)
                    found = self._read(plan, merging.store)
                if found is not None:
                    yield found
                elif self._given_up is not None:
                    self._incomplete.append(plan.name)
                else:
                    raise InvalidInput(
                        f"blocks of the panel {plan.name!r} were removed from {self._folder.path} meanwhile: run it again."
                    )

    def _store_blocks(
        self,
        blocks: Iterable[AnyBlock],
        store: FolderStore,
        pool: Executor,
        done: Callable[[AnyBlock], None] = lambda _: None,
    ) -> None:
        from bandstrap.engine.pool import Unfinished
        from bandstrap.experiments.run import store_blocks

        try:
            store_blocks(blocks, store, executor=pool, done=done)
        except Unfinished as error:
            self._given_up = error

    def _read(self, plan: PanelPlan, store: FolderStore) -> PanelData | None:
        """What a picture of a panel shows, once it is merged; ``None`` if anything of it is missing."""
        from bandstrap.experiments.run import read_summary

        return read_summary(plan, store) if self._folder.merge(plan, store) else None

    def check_finished(self) -> None:
        """Name the panels that lack what was given up, and why."""
        if self._incomplete:
            n = len(self._plans)
            complain(f"{len(self._incomplete)} of {n} panels are not complete: {', '.join(self._incomplete)}")
        if self._given_up is not None:
            raise self._given_up


def rows_of(panel: PanelData) -> list[dict[str, Any]]:
    """The rows of a panel in the table that is printed."""
    return [
        {
            "panel": panel.panel.name,
            "curve": curve.label,
            "at": float(place),
            "mean": float(mean),
            "standard_error": None if math.isnan(error) else float(error),
            "published": dict(curve.published).get(float(place)),
        }
        for curve in panel.curves
        for place, mean, error in last_points(panel, curve)
    ]


def draw(title: str, panels: Sequence[PanelData], out: Path) -> None:
    """Draw the panels in one picture, unless there are more than anybody could tell apart."""
    if len(panels) > MOST_PANELS or len({curve.label for panel in panels for curve in panel.curves}) > MOST_LABELS:
        for name in PICTURES:  # of fewer panels, from before
            (out / name).unlink(missing_ok=True)
        complain(
            f"wrote summary.csv to {out}; a picture shows at most {MOST_PANELS} panels and {MOST_LABELS} different curves"
        )
        return
    from bandstrap.plots.panels import plot_panels
    from bandstrap.plots.style import save_figure

    figure = plot_panels(title, panels)
    for name in PICTURES:
        save_figure(figure, out / name)
    complain(f"wrote summary.csv, panels.png and panels.svg to {out}")


def last_points(panel: Any, curve: Any) -> list[tuple[float, float, float]]:
    """Every point of a curve, or the last one of regret against rounds, with its standard error."""
    points = list(zip(curve.places, curve.mean, curve.standard_error, strict=True))
    return points[-1:] if panel.panel.plot == "regret" else points


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a CSV file, whole or not at all."""
    text = io.StringIO()
    write_csv(rows, text)
    write_text(path, text.getvalue())
