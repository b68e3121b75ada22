"""``bandstrap check``: an experiment in a file, looked at without running it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from bandstrap.basics.text import duration
from bandstrap.cli.files import Format
from bandstrap.cli.terminal import FORMATS, print_table, say, write_records
from bandstrap.errors import check_choice

# Names of columns on a terminal.
SHORT = {"replications": "runs", "bytes_of_choices": "choices (bytes)", "core_seconds": "core s"}


def check(
    file: Annotated[Path, typer.Argument(help="An experiment in a TOML file; bandstrap init writes an example.")],
    timing: Annotated[
        bool, typer.Option(help="Play a short replication of every curve to estimate the total time.")
    ] = True,
    format: Format = "table",  # noqa: A002 - the flag's name
) -> None:
    """Check an experiment in a file, and print what running it will cost.

    Every policy, environment and bound in the file is built once, so mistakes show now. Times are for one core of this
    machine, without compiling. Policies that slow down as rewards accumulate take longer.
    """
    check_choice(format, "format", "bandstrap check", FORMATS)
    from bandstrap.engine.work.memory import gigabytes
    from bandstrap.experiments.cost import check_driver, cost_of, peak_memory
    from bandstrap.experiments.plan import plan_panel
    from bandstrap.experiments.spec import read_experiment

    experiment = read_experiment(file)
    plans = [plan_panel(panel, experiment, 0) for panel in experiment.panels]
    cores = os.cpu_count() or 1
    check_driver(plans, cores)
    costs = cost_of(plans, timed=timing)
    rows = [
        {
            "panel": cost.panel,
            "curves": cost.curves,
            "replications": cost.replications,
            "decisions": cost.decisions,
            "blocks": cost.blocks,
            "bytes": cost.n_bytes,
            "bytes_of_choices": cost.bytes_of_choices,
            "core_seconds": cost.seconds,
        }
        for cost in costs
    ]
    if format != "table":
        write_records(rows, format)
        return
    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    columns = [SHORT.get(name, name) for name in shown]
    print_table(columns, [[row[name] for name in shown] for row in rows], title=experiment.title)
    disk, memory = sum(cost.n_bytes for cost in costs), peak_memory(plans, cores)
    say(f"in all {sum(cost.decisions for cost in costs):,} decisions, about {gigabytes(disk)} on the disk")
    chosen = sum(cost.bytes_of_choices for cost in costs)
    if chosen:
        say(f"choices are kept: {gigabytes(chosen)} more, before compression")
    say(f"about {gigabytes(memory)} of memory beside Python's own, with {cores} worker{'s' * (cores != 1)}")
    if timing:
        total = sum(cost.seconds or 0.0 for cost in costs)
        on_all = f", {duration(total / cores)} on the {cores} of this machine" if cores > 1 else ""
        say(f"{duration(total)} of one core{on_all}")
