"""``bandstrap paper``: every figure and every claim of the paper."""

from __future__ import annotations

import time
from concurrent.futures import Executor
from pathlib import Path
from typing import Annotated

import typer

from bandstrap.basics.extras import need
from bandstrap.basics.storage import check_folder
from bandstrap.cli.terminal import complain, print_table, say
from bandstrap.cli.workers import ExecutorOption, Jobs, Scheduler
from bandstrap.engine.work.workers import workers
from bandstrap.errors import InvalidInput, check_count


def paper(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            help="Figures to run, 1 to 7; theorems for all checks of the theory, or some of them: theorem1 to theorem4, "
            "miss_rates, remark3, close_races. All by default.",
            show_default=False,
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            help="Replications per curve, 200 by default as in the paper; slow curves have proportionally fewer."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 2019,
    jobs: Jobs = None,
    executor: ExecutorOption = "thread",
    scheduler: Scheduler = None,
    out: Annotated[
        Path, typer.Option(help="Folder for report.html, claims.json, the figures and finished blocks.")
    ] = Path("paper-results"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Use a tenth of the replications, for a first look in a minute.")
    ] = False,
    ablations: Annotated[
        bool,
        typer.Option(
            "--ablations",
            help="Vary the paper's settings instead, and write ablations.html and ablations.json; takes minutes longer.",
        ),
    ] = False,
) -> None:
    """Reproduce the paper: redraw its figures, check its claims, and write a report.

    A run that was stopped resumes where it was; finished parts are not computed again. The report shows everything in the
    folder with the same seed and replications, so running one figure again keeps the others.
    """
    need("bandstrap paper", "matplotlib", "jinja2")
    from bandstrap.experiments.api import FOLDERS
    from bandstrap.paper.reproduce import FULL, QUICK

    if quick and replications is not None:
        raise InvalidInput("bandstrap paper takes --quick or --replications, not both.")
    if ablations and figure:
        raise InvalidInput("bandstrap paper takes figures or --ablations, not both.")
    given = FULL if replications is None else replications
    wanted = QUICK if quick else check_count(given, "replications", "bandstrap paper", at_least=2)
    check_count(seed, "seed", "bandstrap paper", at_least=0, at_most=None)
    files = ("ablations.json", "ablations.html") if ablations else ("claims.json", "report.html")
    check_folder(out, "out", "bandstrap paper", folders=(*FOLDERS, "figures"), files=("plan.json", *files))
    start = time.perf_counter()
    with workers(jobs, "bandstrap paper", executor, scheduler) as pool:
        if ablations:
            ablate_paper(out, seed, wanted, pool)
        else:
            reproduce_paper(figure or [], out, seed, wanted, pool)
    complain(f"{time.perf_counter() - start:.0f} s")


def ablate_paper(out: Path, seed: int, replications: int, executor: Executor) -> None:
    """Vary the paper's settings, and say where to read about it."""
    from bandstrap.paper.ablations.run import ablate

    for each in ablate(out, seed=seed, replications=replications, executor=executor):
        say(each.chapter.experiment.title)
    say(f"ablations: {out / 'ablations.html'}")


def reproduce_paper(figures: list[str], out: Path, seed: int, replications: int, executor: Executor) -> None:
    """Reproduce figures, and print the verdicts on what they are asked for."""
    from bandstrap.paper.reproduce import reproduce

    found = reproduce(figures, out, seed=seed, replications=replications, executor=executor)
    rows = [(claim.where, f"{'(ours) ' * claim.ours}{claim.says}", finding.shown) for claim, finding in found.answers]
    if rows:
        print_table(("where", "the paper says", "verdict"), rows)
    say(found.summary)
    for claim, finding in found.undecided:
        say(f"undecided: {claim.name} found nothing, but has little power: {finding.power.detects}")
    if found.kept:
        say(f"kept from earlier runs: {found.kept}")
    if found.gaps:
        say(found.gaps)
    say(f"report: {out / 'report.html'}")
    if found.unfinished is not None:
        raise found.unfinished
