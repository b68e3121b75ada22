"""Options of commands that hand out work: what kind of workers, and how many."""

from __future__ import annotations

from typing import Annotated

import typer

from bandstrap.engine.work.workers import ExecutorName

Jobs = Annotated[int | None, typer.Option(help="Number of threads, processes or ranks; all cores by default.")]
ExecutorOption = Annotated[
    ExecutorName,
    typer.Option(
        "--executor",
        help="Threads, processes (for policies in plain Python), dask (a cluster, see --scheduler) or MPI (under mpiexec).",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Address of a dask scheduler, such as tcp://10.0.0.1:8786; without one, --executor dask starts --jobs "
        "workers on this machine.",
        show_default=False,
    ),
]
