"""``bandstrap simulate``: policies side by side on one environment, or an experiment in a file."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bandstrap.basics.calls import Options
from bandstrap.basics.extras import MissingPackage, is_installed
from bandstrap.basics.storage import check_folder, write_text
from bandstrap.cli.results import print_results
from bandstrap.cli.terminal import complain, write_csv
from bandstrap.cli.workers import ExecutorOption, Jobs, Scheduler
from bandstrap.engine.work.progress import tell
from bandstrap.engine.work.workers import workers
from bandstrap.errors import InvalidInput, check_count

if TYPE_CHECKING:
    from bandstrap.experiments import ExperimentSpec, Results

PICTURES = ("panels.png", "panels.svg")
# What is written beside finished work.
FILES = ("plan.json", "summary.csv", *PICTURES)
# Panels and different curves of one picture.
MOST_PANELS = 24
MOST_LABELS = 40
# Options that a file has instead, by default; the name is that in Python and in TOML.
SIZES = {"horizon": 2000, "replications": 200}


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
            help="Delay of each reward in rounds: a number, or a distribution such as geom:p=0.005; 0 by default.",
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
            help="Keep every choice of every replication in OUT as well; with a FILE, for all panels.",
        ),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Seed of all random numbers; default: that of FILE, or 0.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for finished work, from which a stopped run resumes, and for a table and a picture."),
    ] = None,
    jobs: Jobs = None,
    executor: ExecutorOption = "thread",
    scheduler: Scheduler = None,
) -> None:
    """Play policies against an environment and print their regret, or run the panels of an experiment in a file.

    Every policy meets the same rewards. The same seed gives the same numbers for any number of threads or processes. To
    write an example of a FILE, use bandstrap init; to check one, bandstrap check; to read OUT, bandstrap status and
    results.
    """
    pool = workers(jobs, "bandstrap simulate", executor, scheduler)
    if seed is not None:
        check_count(seed, "seed", "bandstrap simulate", at_least=0, at_most=None)
    if choices and out is None:
        raise InvalidInput("bandstrap simulate --choices needs --out, a folder to keep them in.")
    from bandstrap.experiments.api import FOLDERS, Stopped, run_experiment, words_of_file
    from bandstrap.experiments.spec import read_experiment

    if out is not None:
        check_folder(out, "out", "bandstrap simulate", folders=FOLDERS, files=FILES)
    given = {"environment": environment, "horizon": horizon, "replications": replications}
    late = {"delay": delay, "batch": batch, "lost": lost}
    options = {name: value for name, value in (given | late).items() if value is not None}
    if file is not None:
        if policy or options:
            raise InvalidInput(
                "bandstrap simulate FILE takes policies, environment, horizon, replications, delay, batch and lost from "
                "the file."
            )
        experiment = read_experiment(file)
        words = words_of_file(file, seed, choices=choices)
    elif policy:
        experiment = experiment_of(policy, options)
        words = words_of_options(policy, options, seed, choices=choices)
    else:
        raise InvalidInput("bandstrap simulate needs a FILE or a --policy; bandstrap list policies shows them.")
    kept = True if choices else None  # where the file says so
    stopped: Stopped | None = None
    with pool:
        try:
            found = run_experiment(experiment, out, pool, seed=seed, choices=kept, words=words)
        except Stopped as interrupted:  # what was played is shown
            stopped, found = interrupted, interrupted.results
            complain(f"stopped after {found[0]['replications']} of {experiment.replications} replications")
    print_results(found)
    if out is not None and found.panels:
        tell("drawing")
        write_rows(out / "summary.csv", found)
        draw(found, out)
    if stopped is not None:
        raise stopped
    if found.unfinished is not None:
        mistake = found.unfinished.failed[0][1]
        if file is None and isinstance(mistake, InvalidInput):  # of a policy or an environment of one's own
            raise mistake
        lacking = list(dict.fromkeys(panel for panel, _ in found.incomplete))
        n = len(experiment.panels)
        complain(f"{len(lacking)} of {n} panels are not complete: {', '.join(lacking)}")
        raise found.unfinished


def experiment_of(policies: Sequence[str], options: Options) -> ExperimentSpec:
    """The experiment of one panel that policies and options on the command line stand for, checked."""
    from bandstrap.engine.simulator.blocks import BLOCK_SIZE
    from bandstrap.engine.simulator.feedback import Feedback, as_learned
    from bandstrap.engine.simulator.simulate import named_policies
    from bandstrap.experiments import Curve, ExperimentSpec, Panel
    from bandstrap.experiments.spec import check_replications
    from bandstrap.names import NAMED_ENVIRONMENTS, NAMED_POLICIES, check_game, make

    owner = "bandstrap simulate"
    made = [make(text, NAMED_POLICIES, "policy") for text in policies]
    text = options.get("environment", "gaussian")
    environment = make(text, NAMED_ENVIRONMENTS, "environment")
    sizes: Any = {name: check_count(options.get(name, usual), name, owner) for name, usual in SIZES.items()}
    late: Any = {name: options[name] for name in ("delay", "batch", "lost") if name in options}
    feedback = Feedback(**late, owner=owner)
    check_game(made, environment, sizes["horizon"], feedback)
    game = as_learned(environment.label, feedback)
    curves = [Curve(label=label, policy=call) for label, call in zip(named_policies(made)[0], policies, strict=True)]
    panel = Panel(name="regret", environment=text, curves=tuple(curves), **late)
    # Enough blocks for every core to have one; no number depends on them.
    size = min(BLOCK_SIZE, math.ceil(sizes["replications"] / (os.cpu_count() or 1)))
    experiment = ExperimentSpec(title=game, panels=(panel,), block_size=size, **sizes)
    check_replications(experiment.panels, experiment)
    return experiment


def words_of_options(policies: Sequence[str], options: Options, seed: int | None, *, choices: bool) -> tuple[str, ...]:
    """The command that goes on with what was asked for on the command line, but for the folder."""
    given = [("policy", text) for text in policies] + [*options.items()] + ([] if seed is None else [("seed", seed)])
    return (
        "simulate",
        *(word for name, value in given for word in (f"--{name}", str(value))),
        *(("--choices",) * choices),
    )


def draw(found: Results, out: Path) -> None:
    """Draw the panels in one picture, unless there are more than anybody could tell apart."""
    n_labels = len({curve.label for panel in found.panels for curve in panel.curves})
    if len(found.panels) > MOST_PANELS or n_labels > MOST_LABELS:
        for name in PICTURES:  # of fewer panels, from before
            (out / name).unlink(missing_ok=True)
        complain(
            f"wrote summary.csv to {out}; a picture shows at most {MOST_PANELS} panels and {MOST_LABELS} different curves"
        )
        return
    if not is_installed("matplotlib"):
        complain(f"wrote summary.csv to {out}; {MissingPackage('matplotlib', 'a picture')}")
        return
    from bandstrap.plots.style import save_figure

    figure = found.plot()
    for name in PICTURES:
        save_figure(figure, out / name)
    complain(f"wrote summary.csv, panels.png and panels.svg to {out}")


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write a CSV file, whole or not at all."""
    text = io.StringIO()
    write_csv(rows, text)
    write_text(path, text.getvalue())
